"""First stage of LoRA on a given model: ``lora-layer``, a frozen linear map with a change of low rank."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs
from companion.practice.trial import Refusal, gradients, tensor

F32, F64 = torch.float32, torch.float64
Answer = Callable[..., object]
DRAWN = 20
"""Numbers of which it is not by chance, whatever they are drawn from, that all rows or two draws are equal."""


class _Adapter(nn.Module):
    def __init__(self, base: nn.Linear, rank: int, alpha: float) -> None:
        super().__init__()
        self.base = base.requires_grad_(False)
        self.scale = alpha / rank
        self.a = nn.Parameter(torch.randn(rank, base.in_features).to(base.weight) / base.in_features**0.5)
        self.b = nn.Parameter(torch.zeros(base.out_features, rank).to(base.weight))

    def forward(self, x: Tensor) -> Tensor:
        return self.base(x) + self.scale * (x @ self.a.mT @ self.b.mT)


def _layer(base: nn.Linear, rank: int, alpha: float) -> nn.Module:
    return _Adapter(base, rank, alpha)


def _linear(weight: Tensor, bias: Tensor | None) -> nn.Linear:
    """Make a linear map with this weight and this bias."""
    made = nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None, dtype=weight.dtype)
    made.weight = nn.Parameter(weight.clone())
    made.bias = None if bias is None else nn.Parameter(bias.clone())
    return made


def _fill(module: object, a: Tensor, b: Tensor) -> None:
    """Put numbers into the two matrices of an adapter."""
    for name, new in (("a", a), ("b", b)):
        old = getattr(module, name, None)
        if not isinstance(old, nn.Parameter) or old.shape != new.shape:
            got = tuple(old.shape) if isinstance(old, Tensor) else type(old).__name__
            raise Refusal(f"`{name}` of your module is {got}; a parameter of shape {tuple(new.shape)} is expected.")
        if old.dtype != new.dtype:
            raise Refusal(f"`{name}` of your module is {old.dtype}; it has the dtype of the base, {new.dtype}.")
        with torch.no_grad():
            old.copy_(new)


def _see_that_it_is_drawn(module: nn.Module, again: object, like: Tensor) -> None:
    """Refuse an `a` in which entries are copied, and one that a second layer has too."""
    drawn, other = (getattr(made, "a", None) for made in (module, again))
    if not isinstance(drawn, Tensor) or drawn.shape != like.shape or len(like) == 1 or like.numel() < DRAWN:
        return
    if not drawn.any():  # another mistake, told by the gradient
        return
    if (drawn == drawn[:1]).all():
        raise Refusal("All rows of your `a` are equal, and they stay so in training: the change then has rank 1.")
    if (drawn == drawn[:, :1]).all():
        raise Refusal("All columns of your `a` are equal: each entry is drawn by itself.")
    if isinstance(other, Tensor) and torch.equal(drawn, other):
        raise Refusal("A second layer of yours has the same `a`. It is drawn anew for each layer.")


def see_that_it_trains(model: nn.Module) -> None:
    """Refuse a model of which a part was switched to evaluation mode.

    Args:
        model: what the answer returned or changed.

    Raises:
        Refusal: a module of it is not in training mode.
    """
    if not all(module.training for module in model.modules()):
        raise Refusal("Your function switched modules to evaluation mode, and dropout would be off in training.")


def _layer_trial(
    answer: Answer, x: Tensor, weight: Tensor, bias: Tensor | None, a: Tensor, b: Tensor, alpha: float
) -> tuple[Tensor, ...]:
    """Compare the output at the start, then output and gradients with matrices that are put in, and what is trained."""
    base = _linear(weight, bias)
    module = answer(base, len(a), alpha)
    if not isinstance(module, nn.Module):
        raise Refusal(f"Your function returned a {type(module).__name__}; a module is expected.")
    if getattr(module, "base", None) is not base or not isinstance(getattr(module, "scale", None), int | float):
        raise Refusal("Your module lacks `base`, the map that was given, or the number `scale`.")
    _see_that_it_is_drawn(module, answer(_linear(weight, bias), len(a), alpha), a)
    shape = *x.shape[:-1], len(weight)
    start = tensor(module(x), *shape)
    trained = {name: p for name, p in module.named_parameters() if p.requires_grad}
    reached = (
        tensor(torch.autograd.grad(start.sum(), module.b, allow_unused=True)[0], *b.shape) if "b" in trained else b
    )
    empty = torch.tensor(isinstance(getattr(module, "b", None), Tensor) and not module.b.any())
    _fill(module, a, b)
    leaf = x.clone().requires_grad_()
    output = tensor(module(leaf), *shape)
    found = gradients(output, (leaf, module.a, module.b))
    see_that_it_trains(module)
    if (tensor(module.eval()(x), *shape) - output).abs().max() > 1e-4 * output.abs().max():
        raise Refusal("In evaluation mode, after `module.eval()`, your module gives another output than in training.")
    return (
        torch.tensor(float(module.scale)),
        torch.tensor(sorted(p.numel() for p in trained.values())),
        empty,
        (start - base(x)).abs().max() <= 1e-6 * base(x).abs().max(),
        reached.count_nonzero() > 0,
        output.detach(),
        *found,
        base.weight.detach(),
    )


def _layer_cases() -> list[Case]:
    draw = RandomInputs(191)

    def layer(
        shape: tuple[int, ...],
        d_in: int,
        d_out: int,
        rank: int,
        alpha: float,
        dtype: torch.dtype,
        *,
        bias: bool = True,
        scale: float = 1.0,
    ) -> tuple:
        x, weight = draw.normal(*shape, d_in, dtype=dtype, scale=scale), draw.normal(d_out, d_in, dtype=dtype)
        a, b = draw.normal(rank, d_in, dtype=dtype), draw.normal(d_out, rank, dtype=dtype)
        return x, weight, draw.normal(d_out, dtype=dtype) if bias else None, a, b, alpha

    one = torch.ones(1, 1)
    by_hand = 2 * one, 5 * one, None, torch.ones(2, 1), torch.tensor([[3.0, 1.0]]), 1.0
    return [
        Case(by_hand, "the example"),
        Case(layer((1,), 2, 3, 1, 1.0, F64), "rank 1"),
        Case(layer((3, 2), 4, 4, 2, 8.0, F32), "a square map"),
        Case(layer((3,), 5, 3, 3, 0.5, F64), "the largest rank"),
        Case(layer((), 5, 7, 2, 6.0, F64), "a single vector"),
        Case(layer((3, 2, 4), 3, 5, 2, 16.0, F64, bias=False), "no bias, two leading axes"),
        Case(layer((4,), 6, 6, 4, 4.0, F64), "alpha equal to the rank"),
        Case(layer((3,), 5, 7, 3, 6.0, F64, scale=1e3), "large inputs"),
    ]


LAYER = Exercise(
    name="lora-layer",
    title="Adapt one layer",
    chapter="task-lora",
    topic="post-training",
    level=2,
    place=1,
    minutes=10,
    reference=_layer,
    cases=_layer_cases,
    trial=_layer_trial,
    returns=(
        "scale",
        "sizes of what is trained",
        "whether b is zero at the start",
        "whether the output at the start is that of the base",
        "whether a gradient reaches b at the start",
        "output",
        *(f"gradient for {name}" for name in ("x", "a", "b")),
        "weight of the base",
    ),
    tested="start, outputs, gradients, what is trained; rank 1 and largest, with and without bias, both dtypes",
    hints=(
        "At the start the module gives what the base gives, and still has to learn. Which of the two matrices can be "
        "zero, and what happens if both are?",
        "The base is frozen: its weight and its bias take no gradient, but one flows through it to x. The product of "
        "the two small matrices need never be formed.",
        "`a` is drawn, `b` is zero. Alpha over the rank multiplies the branch alone. New parameters are float32 unless "
        "they are told the dtype of the base.",
    ),
    mistakes=(
        Mistake(
            "not-divided-by-rank",
            Edit("alpha / rank", "alpha", of=_Adapter),
            "You multiply by alpha and do not divide by the rank.",
        ),
        Mistake("no-scale", Edit("alpha / rank", "1.0", of=_Adapter), "Alpha has no effect."),
        Mistake(
            "all-scaled",
            Edit(
                "self.base(x) + self.scale * (x @ self.a.mT @ self.b.mT)",
                "self.scale * (self.base(x) + x @ self.a.mT @ self.b.mT)",
                of=_Adapter,
            ),
            "You scale the output of the base as well. The factor belongs to the change alone.",
        ),
        Mistake(
            "base-trained",
            Edit("base.requires_grad_(False)", "base", of=_Adapter),
            "The base is trained too. Freeze its parameters.",
        ),
        Mistake(
            "bias-trained",
            Edit(
                "self.base = base.requires_grad_(False)",
                "self.base = base\n        base.weight.requires_grad_(False)",
                of=_Adapter,
            ),
            "The bias of the base is trained. Freeze it with the weight.",
        ),
        Mistake(
            "base-missing",
            Edit("self.base(x) + ", "", of=_Adapter),
            "Your output is the change alone. The base still does its work.",
        ),
        Mistake(
            "bias-missing",
            Edit("self.base(x) +", "x @ self.base.weight.mT +", of=_Adapter),
            "The bias of the base has disappeared.",
        ),
        Mistake(
            "both-zero",
            Edit("torch.randn(rank", "torch.zeros(rank", of=_Adapter),
            "`a` is zero at the start, so no gradient reaches `b`; with both zero nothing is ever learned. Draw `a`.",
        ),
        Mistake(
            "interchanged",
            (
                Edit("torch.randn(rank", "torch.zeros(rank", of=_Adapter),
                Edit("torch.zeros(base.out_features", "torch.randn(base.out_features", of=_Adapter),
            ),
            "`a` is zero and `b` is drawn at the start. It is the other way round: `b` begins as zero.",
        ),
        Mistake(
            "not-the-base-at-the-start",
            Edit("torch.zeros(base.out_features", "torch.ones(base.out_features", of=_Adapter),
            "At the start your module does not give what the base gives. `b` begins as zero.",
        ),
        Mistake(
            "base-under-no-grad",
            Edit("self.base(x) + ", "self.base(x).detach() + ", of=_Adapter),
            "No gradient flows through the base to x, so layers below would learn from the change alone. Freezing "
            "concerns the parameters.",
        ),
    ),
)
