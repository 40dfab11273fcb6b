"""Third stage of a mixture-of-experts layer: ``experts-layer``, buffers of a fixed size, and back."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from companion.chapters.interview.exercises.task_experts_1_choice import _choice
from companion.chapters.interview.exercises.task_experts_2_places import _places
from companion.practice.budget import Budget
from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs
from companion.practice.trial import gradients, tensor

F32, F64 = torch.float32, torch.float64
Answer = Callable[..., object]
LONG = 96
"""Tokens of the case on which work is counted."""


def _layer(x: Tensor, logits: Tensor, w_up: Tensor, w_down: Tensor, k: int, capacity: int) -> Tensor:
    chosen, weights = _choice(logits, k)
    place = _places(chosen, len(w_up), capacity)
    token, rank = (place >= 0).nonzero(as_tuple=True)
    expert, slot = chosen[token, rank], place[token, rank]
    buffer = x.new_zeros(len(w_up), capacity, x.shape[1])
    buffer[expert, slot] = x[token]
    made = F.relu(buffer @ w_up) @ w_down
    return torch.zeros_like(x).index_add(0, token, weights[token, rank, None] * made[expert, slot])


def _everywhere(x: Tensor, logits: Tensor, w_up: Tensor, w_down: Tensor, k: int, capacity: int) -> Tensor:
    chosen, weights = _choice(logits, k)
    kept = weights * (_places(chosen, len(w_up), capacity) >= 0)
    made = F.relu(x @ w_up) @ w_down
    return torch.einsum("te,etd->td", torch.zeros_like(logits).scatter(1, chosen, kept), made)


def _layer_trial(
    answer: Answer, x: Tensor, logits: Tensor, w_up: Tensor, w_down: Tensor, k: int, capacity: int
) -> tuple[Tensor, ...]:
    """Compare the output and the gradients of all four tensors; where work is counted, the forward pass alone."""
    leaves = [one.clone().requires_grad_() for one in (x, logits, w_up, w_down)]
    with torch.set_grad_enabled(len(x) < LONG):
        output = tensor(answer(*leaves, k, capacity), *x.shape)
    return (output,) if len(x) >= LONG else (output.detach(), *gradients(output, leaves))


def _layer_cases() -> list[Case]:
    draw = RandomInputs(183)

    def layer(
        t: int, d: int, d_ff: int, n_experts: int, k: int, capacity: int, *, dtype: torch.dtype = F64, skew: float = 0.0
    ) -> tuple:
        logits = draw.normal(t, n_experts, dtype=dtype) - skew * torch.arange(n_experts, dtype=dtype)
        w_up = draw.normal(n_experts, d, d_ff, dtype=dtype) / d**0.5
        return draw.normal(t, d, dtype=dtype), logits, w_up, draw.normal(n_experts, d_ff, d, dtype=dtype), k, capacity

    one = torch.ones(2, 1, 1)
    by_hand = torch.tensor([[1.0], [2.0]]), torch.tensor([[3.0, 1.0], [1.0, 1.0 / 3]]).log()
    by_hand = *by_hand, one, torch.tensor([[[4.0]], [[8.0]]]), 2, 1
    nothing = by_hand[0], torch.tensor([[1000.0, 0.0], [math.log(3), 0.0]]), *by_hand[2:]
    x, *rest = layer(7, 3, 5, 4, 2, 3, skew=1.0)
    return [
        Case(by_hand, "the example"),
        Case(layer(5, 3, 4, 3, 1, 5), "one expert a token, room for all"),
        Case(layer(5, 4, 3, 3, 3, 5, dtype=F32), "all experts, room for all"),
        Case(layer(6, 3, 4, 4, 2, 3, dtype=F32), "a capacity that may be reached"),
        Case(layer(8, 2, 3, 4, 2, 2, skew=2.0), "an uneven router that drops many"),
        Case(layer(6, 3, 2, 3, 1, 1, skew=4.0), "tokens that no expert takes"),
        Case(layer(4, 3, 5, 9, 3, 1), "more experts than tokens"),
        Case(nothing, "a choice of weight 0, which takes a slot"),
        Case((1e3 * x, *rest), "large inputs"),
        Case(layer(LONG, 8, 128, 12, 2, 20), "many tokens: work is counted"),
    ]


def _layer_budget(x: Tensor, logits: Tensor, w_up: Tensor, w_down: Tensor, k: int, capacity: int) -> Budget:
    """Allow the forward pass through full buffers twice, and twice the masks of tokens by slots that may fill them."""
    t, (n, d, d_ff) = len(x), w_up.shape
    return Budget(work=4 * n * capacity * d * (d_ff + t)) if t >= LONG else Budget()


LAYER_OF_EXPERTS = Exercise(
    name="experts-layer",
    title="Fill the buffers, and bring the outputs back",
    chapter="task-experts",
    topic="scaling",
    level=3,
    place=3,
    minutes=20,
    reference=_layer,
    cases=_layer_cases,
    trial=_layer_trial,
    returns=("output", *(f"gradient for {name}" for name in ("x", "logits", "w_up", "w_down"))),
    budget=_layer_budget,
    tested="outputs and gradients; dropped tokens, uneven routers, work, both dtypes",
    hints=(
        "Bring the kept choices into four lists of one length: token, rank, expert, slot. With them a buffer of shape "
        "(experts, capacity, d) is filled by one assignment.",
        "Two batched products treat all experts at once. An empty slot holds zeros and gives zeros, since there is no "
        "bias.",
        "On the way back pick the outputs by expert and slot, multiply by the weights, and add them to the rows of "
        "their tokens. A token may come twice, so add, do not assign: `index_add` does.",
    ),
    mistakes=(
        Mistake(
            "all-pairs",
            _everywhere,
            "The numbers are right, and every expert computed every token. Then more experts cost more, which a layer "
            "of experts is to avoid.",
        ),
        Mistake(
            "unweighted",
            Edit("weights[token, rank, None] * ", ""),
            "The outputs of a token's experts are added without their weights.",
        ),
        Mistake(
            "weights-detached",
            Edit("weights[token, rank, None]", "weights.detach()[token, rank, None]"),
            "The output is right, and no gradient reaches the router: the weights are cut off.",
        ),
        Mistake(
            "weights-of-the-kept",
            Edit(
                "weights[token, rank, None]",
                "(weights / (weights * (place >= 0)).sum(dim=-1, keepdim=True))[token, rank, None]",
            ),
            "You divide the weights by the sum over the choices that were kept. A dropped choice adds nothing, and the "
            "others keep their weights.",
        ),
        Mistake(
            "nothing-dropped",
            (
                Edit("_places(chosen, len(w_up), capacity)", "_places(chosen, len(w_up), len(x))"),
                Edit("x.new_zeros(len(w_up), capacity, x.shape[1])", "x.new_zeros(len(w_up), len(x), x.shape[1])"),
            ),
            "No choice is dropped in your answer: the capacity has no effect.",
        ),
        Mistake(
            "input-where-dropped",
            Edit(
                "torch.zeros_like(x).index_add",
                "torch.where((place >= 0).any(dim=-1, keepdim=True), 0.0, x).index_add",
            ),
            "A token that no expert takes keeps its input. The layer gives 0 there; the residual around it does that.",
        ),
        Mistake(
            "overwritten",
            Edit(
                "torch.zeros_like(x).index_add(0, token, weights[token, rank, None] * made[expert, slot])",
                "torch.zeros_like(x).index_put((token,), weights[token, rank, None] * made[expert, slot])",
            ),
            "The second expert of a token overwrites the first one. Add up.",
        ),
        Mistake(
            "rank-for-expert",
            Edit("chosen[token, rank], place", "rank, place"),
            "You use the rank of a choice in place of the number of its expert.",
        ),
        Mistake(
            "no-relu",
            Edit("F.relu(buffer @ w_up)", "(buffer @ w_up)"),
            "The ReLU between the two maps is missing.",
        ),
        Mistake(
            "weights-not-divided",
            Edit("weights[token, rank, None] *", "logits.softmax(dim=-1)[token, expert, None] *"),
            "You weigh with the probabilities among all experts. Those of the chosen ones are divided by their sum.",
        ),
        Mistake(
            "residual-added",
            Edit("torch.zeros_like(x).index_add", "x.index_add"),
            "You added the input. The residual is not part of this layer.",
        ),
    ),
)
