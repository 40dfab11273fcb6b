"""Last stage of LoRA on a given model: ``lora-merge``, and the task of all three stages."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from companion.chapters.interview.exercises.task_lora_1_layer import LAYER, _Adapter, _linear, see_that_it_trains
from companion.chapters.interview.exercises.task_lora_2_model import MODEL, _add, _cases, _fill_all, _made
from companion.practice.definition import Edit, Exercise, Mistake
from companion.practice.task import Task
from companion.practice.trial import Refusal

Answer = Callable[..., object]


def _merge(model: nn.Module) -> nn.Module:
    made = {}
    for parent in list(model.modules()):
        for name, child in list(parent._modules.items()):
            if hasattr(child, "a") and hasattr(child, "b"):
                if child not in made:
                    weight = (child.base.weight + child.scale * child.b @ child.a).detach()
                    made[child] = _linear(weight, child.base.bias)
                setattr(parent, name, made[child])
    return model


def _in_place(model: nn.Module) -> nn.Module:
    for parent in list(model.modules()):
        for name, child in list(parent._modules.items()):
            if isinstance(child, _Adapter):
                with torch.no_grad():
                    child.base.weight += child.scale * child.b @ child.a
                setattr(parent, name, child.base)
    return model


def _in_place_once(model: nn.Module) -> nn.Module:
    made = {}
    for parent in list(model.modules()):
        for name, child in list(parent._modules.items()):
            if isinstance(child, _Adapter):
                if child not in made:
                    with torch.no_grad():
                        child.base.weight += child.scale * child.b @ child.a
                    made[child] = child.base
                setattr(parent, name, made[child])
    return model


def _kind(module: nn.Module) -> str:
    """Name the class of a module; a linear map may be of a class made from ``nn.Linear``."""
    return "Linear" if isinstance(module, nn.Linear) else type(module).__name__


def _merge_trial(
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
    """Compare the modules in the places of adapters, the number of parameters, the output and all weights."""
    model = _made(table, w_q, w_v, up, down, tied=tied, shared=shared, deep=deep)
    places = tuple(f"{place}." for place in _add(model, names, rank, alpha))
    _fill_all(model, rank)
    merged = answer(model)
    if merged is not model:
        raise Refusal("Your function returned something else; the model itself is expected, changed in place.")
    see_that_it_trains(model)
    modules = model.named_modules(remove_duplicate=False)
    kinds = [f"{name}: {_kind(module)}" for name, module in modules if f"{name}.".startswith(places)]
    weights = model.state_dict()
    distinct = len(list(model.parameters()))
    return "; ".join(sorted(kinds)), distinct, model(tokens).detach(), [weights[name] for name in sorted(weights)]


MERGE = Exercise(
    name="lora-merge",
    title="Merge the adapters",
    chapter="task-lora",
    topic="post-training",
    level=2,
    place=3,
    minutes=8,
    reference=_merge,
    cases=_cases,
    trial=_merge_trial,
    returns=("modules", "number of parameters", "output", "weights by name"),
    tested="modules, outputs and all weights; no adapter, biases, shared and tied maps, large numbers, both dtypes",
    hints=(
        "Which single matrix does the work of the base and of the change? Mind the order of the two small ones, and "
        "check it by the shapes.",
        "The way back is the way there: parent, name, a new map in place of the adapter. The bias goes along.",
        "The base may share its weight with another module, a table for instance. So make a new weight and leave the "
        "old one as it is; and one adapter at two places becomes one map.",
    ),
    mistakes=(
        Mistake(
            "in-place",
            _in_place,
            "You add the change to the weight of the base in place. Whoever shares it, as a table does, is changed "
            "too; and an adapter at two places is added twice.",
            also=(_in_place_once,),
        ),
        Mistake(
            "two-for-one-adapter",
            Edit("if child not in made:", "if True:"),
            "An adapter that stands at two places becomes two maps in your answer. It becomes one.",
        ),
        Mistake(
            "no-scale",
            Edit("child.scale * ", ""),
            "The scale is missing where you merge, so the output changes.",
        ),
        Mistake(
            "only-the-change",
            Edit("child.base.weight + child.scale * child.b @ child.a", "child.scale * child.b @ child.a"),
            "Your map has the change alone. Add it to the weight of the base.",
        ),
        Mistake(
            "base-alone",
            Edit("(child.base.weight + child.scale * child.b @ child.a)", "child.base.weight"),
            "You put the base back and lose what was learned.",
        ),
        Mistake(
            "subtracted",
            Edit("weight + child.scale", "weight - child.scale"),
            "You subtract the change.",
        ),
        Mistake(
            "bias-lost",
            Edit("_linear(weight, child.base.bias)", "_linear(weight, None)"),
            "The bias of the base has disappeared.",
        ),
        Mistake(
            "transposed",
            Edit(
                "child.scale * child.b @ child.a", "child.scale * (child.a.mT @ child.b.mT).view_as(child.base.weight)"
            ),
            "The change is transposed: with a square map no shape tells. `b` comes first.",
        ),
        Mistake(
            "one-level",
            Edit("list(model.modules())", "[model]"),
            "You look at the children of the model alone. Adapters stand deeper, too.",
        ),
    ),
)

LORA_ON_A_MODEL = Task(
    name="lora-on-a-model",
    title="Add LoRA to a given model",
    stages=(LAYER, MODEL, MERGE),
)
