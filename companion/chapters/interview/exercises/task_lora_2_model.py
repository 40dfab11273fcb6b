"""Second stage of LoRA on a given model: ``lora-model``, adapters in the place of maps."""

from collections.abc import Callable, Collection, Sequence

import torch
from torch import Tensor, nn

from companion.chapters.interview.exercises.task_lora_1_layer import _fill, _layer, _linear, see_that_it_trains
from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs
from companion.practice.trial import Refusal, tensor

F32, F64 = torch.float32, torch.float64
Answer = Callable[..., object]


class _Norm(nn.LayerNorm):
    """A norm whose shift has the name of one of an adapter's matrices."""

    def __init__(self, like: Tensor) -> None:
        super().__init__(len(like), bias=False, dtype=like.dtype)
        self.b = nn.Parameter(torch.zeros_like(like))

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) + self.b


class _Block(nn.Module):
    def __init__(self, w_q: nn.Linear, w_v: Tensor, up: Tensor, down: Tensor) -> None:
        super().__init__()
        self.norm = _Norm(w_v[:, 0])
        self.w_q, self.w_v = w_q, _linear(w_v, torch.full_like(w_v[:, 0], 0.1))
        self.ffn = nn.Sequential(_linear(up, None), nn.Tanh(), _linear(down, None))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.w_v(self.w_q(self.norm(x)).tanh())
        return x + self.ffn(x)


class _Model(nn.Module):
    """A model as the trials hand it over: a table, blocks, and a head that may share the table."""

    def __init__(
        self, table: Tensor, w_q: Tensor, w_v: Tensor, up: Tensor, down: Tensor, *, tied: bool, shared: bool
    ) -> None:
        super().__init__()
        self.table = nn.Embedding(*table.shape, dtype=table.dtype)
        self.table.weight = nn.Parameter(table.clone())
        maps = [_linear(w, None) for w in w_q]
        maps = maps[:1] * len(maps) if shared else maps
        self.blocks = nn.ModuleList(_Block(*parts) for parts in zip(maps, w_v, up, down, strict=True))
        self.head = _linear(table.flip(0), None)
        if tied:
            self.head.weight = self.table.weight

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.table(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def _made(
    table: Tensor, w_q: Tensor, w_v: Tensor, up: Tensor, down: Tensor, *, tied: bool, shared: bool, deep: bool
) -> nn.Module:
    """Make a model, alone or within five others."""
    model = _Model(table, w_q, w_v, up, down, tied=tied, shared=shared)
    for _ in range(5 * deep):
        model = nn.Sequential(model)
    return model


def _add(model: nn.Module, names: Collection[str], rank: int, alpha: float) -> list[str]:
    model.requires_grad_(False)
    made, found = {}, []
    for path, parent in list(model.named_modules()):
        for name, child in list(parent._modules.items()):
            if name in names and isinstance(child, nn.Linear):
                if child not in made:
                    made[child] = _layer(child, rank, alpha)
                setattr(parent, name, made[child])
                found.append(f"{path}.{name}".lstrip("."))
    return found


def _adapters(model: nn.Module) -> dict[str, nn.Module]:
    """List the adapters by name, one that stands at several places each time."""
    every = model.named_modules(remove_duplicate=False)
    return {name: module for name, module in every if hasattr(module, "a") and hasattr(module, "b")}


def _fill_all(model: nn.Module, rank: int) -> None:
    """Put numbers that all differ into the matrices of all adapters."""
    for number, module in enumerate(dict.fromkeys(_adapters(model).values())):
        weight = module.base.weight
        places = torch.arange(1, rank * sum(weight.shape) + 1, dtype=F64) + 100 * number
        numbers = places.sin().to(weight)
        a, b = numbers.split([rank * weight.shape[1], rank * weight.shape[0]])
        _fill(module, a.view(rank, -1), b.view(-1, rank))


def _add_trial(
    answer: Answer,
    tokens: Tensor,
    table: Tensor,
    w_q: Tensor,
    w_v: Tensor,
    up: Tensor,
    down: Tensor,
    tied: bool,
    shared: bool,
    deep: bool,
    names: Sequence[str],
    rank: int,
    alpha: float,
) -> tuple[object, ...]:
    """Compare the names, what is trained, the output at the start, and the output with matrices that are put in."""
    model = _made(table, w_q, w_v, up, down, tied=tied, shared=shared, deep=deep)
    before = model(tokens).detach()
    found = answer(model, set(names), rank, alpha)
    if not isinstance(found, list | tuple) or not all(isinstance(name, str) for name in found):
        raise Refusal(f"Your function returned a {type(found).__name__}; a list of names is expected.")
    see_that_it_trains(model)
    start = tensor(model(tokens), *before.shape)
    trained = ", ".join(sorted(name for name, p in model.named_parameters() if p.requires_grad)) or "nothing"
    same = (start - before).abs().max() <= 1e-6 * before.abs().max()
    adapters = sorted(_adapters(model))
    _fill_all(model, rank)
    return sorted(found), adapters, trained, same, model(tokens).detach()


def _model_arguments(
    draw: RandomInputs, t: int, vocab: int, d: int, n_layers: int, dtype: torch.dtype, scale: float = 1.0
) -> tuple[Tensor, ...]:
    """Draw the tokens and the weights of a model."""
    tokens = (vocab * draw.normal(2, t).abs().clamp(max=0.999)).long()
    sizes = (vocab, d), (n_layers, d, d), (n_layers, d, d), (n_layers, d + 2, d), (n_layers, d, d + 2)
    table, *rest = (draw.normal(*size, dtype=dtype, scale=0.7 * d**-0.5) for size in sizes)
    return tokens, scale * table, *rest


def _cases() -> list[Case]:
    draw = RandomInputs(192)

    def model(*sizes: int, dtype: torch.dtype, scale: float = 1.0, **how: bool) -> tuple:
        flags = (how.get(name, False) for name in ("tied", "shared", "deep"))
        return *_model_arguments(draw, *sizes, dtype, scale), *flags

    both = ("w_q", "w_v")
    return [
        Case((*model(1, 2, 2, 1, dtype=F64), ("w_q",), 1, 1.0), "one map"),
        Case((*model(2, 3, 3, 2, dtype=F64), both, 2, 4.0), "two maps in each block"),
        Case((*model(3, 4, 6, 1, dtype=F32, scale=3.0), ("w_v",), 1, 0.5), "a bias"),
        Case((*model(2, 3, 3, 2, dtype=F64), ("w_k",), 2, 1.0), "a name that nothing has"),
        Case(
            (*model(2, 4, 3, 1, dtype=F64), ("head", "w", "q", "base"), 2, 0.5),
            "a map of the model itself, parts of a name, and the name `base`",
        ),
        Case((*model(2, 4, 3, 2, dtype=F64), ("table", "norm", "ffn", "w_q"), 1, 2.0), "names that are no linear map"),
        Case((*model(2, 4, 3, 2, dtype=F64), ("0", "2"), 2, 2.0), "places of a sequence"),
        Case((*model(2, 4, 3, 1, dtype=F64, deep=True), both, 2, 2.0), "a model within others"),
        Case((*model(3, 5, 3, 2, dtype=F64, shared=True), both, 2, 3.0), "one map at two places"),
        Case((*model(3, 5, 4, 1, dtype=F64, tied=True), ("head", "w_q"), 2, 5.0), "a head that shares the table"),
        Case((*model(3, 5, 4, 2, dtype=F64, scale=1e4), both, 3, 6.0), "large numbers"),
    ]


MODEL = Exercise(
    name="lora-model",
    title="Adapt a given model",
    chapter="task-lora",
    topic="post-training",
    level=2,
    place=2,
    minutes=12,
    reference=_add,
    cases=_cases,
    trial=_add_trial,
    returns=("names", "places of adapters", "what is trained", "whether the start is unchanged", "output"),
    tested="names, places, what is trained, outputs; nested, shared and tied maps, names of other modules, both dtypes",
    hints=(
        "Two things: everything is frozen, and some maps are replaced. What do you need, besides a map, to put "
        "something else in its place?",
        "Its parent and its name there. `named_modules` gives every module with its path; the children of each are "
        "the candidates. Make a list before you change anything.",
        "The name is compared whole, and the child has to be a linear map. Remember which map got which adapter, so "
        "that one map at two places gets one adapter.",
    ),
    mistakes=(
        Mistake(
            "rest-not-frozen",
            Edit("    model.requires_grad_(False)\n", ""),
            "The rest of the model is still trained: tables, norms, other maps. Freeze everything but the adapters.",
        ),
        Mistake(
            "adapters-frozen",
            Edit("    return found", "    model.requires_grad_(False)\n    return found"),
            "Your adapters are frozen too, so nothing is trained. Freeze before you add them.",
        ),
        Mistake(
            "part-of-a-name",
            Edit("if name in names and", "if any(part in name for part in names) and"),
            "You adapt maps whose names only contain a name that is asked for. Compare whole names.",
        ),
        Mistake(
            "every-map",
            Edit(
                "name in names and ",
                "",
            ),
            "You adapt every linear map. Only those with the given names get an adapter.",
        ),
        Mistake(
            "one-level",
            Edit("list(model.named_modules())", '[("", model)]'),
            "You look at the children of the model alone. The maps stand deeper, too.",
        ),
        Mistake(
            "first-of-a-name",
            Edit(
                "if name in names and isinstance",
                "if name in names and not any(x.split('.')[-1] == name for x in found) and isinstance",
            ),
            "You adapt the first map of each name only. Every block has one.",
        ),
        Mistake(
            "one-adapter-for-all",
            Edit(
                "if child not in made:",
                "made = {child: made[next(iter(made))]} if made else made\n                if child not in made:",
            ),
            "All places share one adapter, with the weights of the first map.",
        ),
        Mistake(
            "two-for-one-map",
            Edit("if child not in made:", "if True:"),
            "A map that stands at two places gets two adapters in your answer, and the places no longer agree.",
        ),
        Mistake(
            "short-names",
            Edit('f"{path}.{name}".lstrip(".")', "name"),
            "You return the names within the parents. The whole path is asked for, such as blocks.0.w_q.",
        ),
    ),
)
