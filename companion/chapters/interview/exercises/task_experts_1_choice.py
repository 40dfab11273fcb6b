"""First stage of a mixture-of-experts layer: ``experts-choice``, which experts a token uses and with which weights."""

from collections.abc import Callable

import torch
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs
from companion.practice.trial import gradients, several, tensor

F32, F64 = torch.float32, torch.float64
Answer = Callable[..., object]


def _choice(logits: Tensor, k: int) -> tuple[Tensor, Tensor]:
    top, chosen = logits.topk(k, dim=-1)
    return chosen, top.softmax(dim=-1)


def _choice_trial(answer: Answer, logits: Tensor, k: int) -> tuple[object, ...]:
    """Compare both results, and the gradient through the weights."""
    leaf = logits.clone().requires_grad_()
    chosen, weights = several(answer(leaf, k), "chosen", "weights")
    weights = tensor(weights, len(logits), k)
    return chosen, weights.detach(), *gradients(weights, [leaf])


def _choice_cases() -> list[Case]:
    draw = RandomInputs(181)
    by_hand = torch.tensor([[1.0, 4.0, 3.0]]).log()
    off = draw.normal(5, 6)
    off[:, 2], off[3, :3] = -torch.inf, -torch.inf
    return [
        Case((by_hand, 2), "the example"),
        Case((draw.normal(3, 4), 1), "one expert a token"),
        Case((draw.normal(5, 4, dtype=F32), 2)),
        Case((draw.normal(3, 3), 3), "all experts"),
        Case((draw.normal(4, 4), 3), "as many tokens as experts"),
        Case((draw.normal(6, 5, scale=1e3), 2), "logits in the thousands"),
        Case((draw.normal(6, 5) - 3e4, 3), "logits far below 0"),
        Case((torch.tensor([[-3e20, -1e20, -2e20]], dtype=F64), 2), "logits of -1e20"),
        Case((off, 3), "experts that are switched off: -inf"),
        Case((torch.tensor([[1.0, 1.0 + 1e-9, 0.0]], dtype=F64), 1), "logits that are equal in float32"),
        Case((draw.normal(40, 16, dtype=F32), 4), "many experts"),
    ]


CHOICE = Exercise(
    name="experts-choice",
    title="Choose the experts",
    chapter="task-experts",
    topic="scaling",
    level=1,
    place=1,
    minutes=8,
    same_dtype=True,
    reference=_choice,
    cases=_choice_cases,
    trial=_choice_trial,
    returns=("chosen", "weights", "gradient of the logits"),
    tested="one expert and all, gradients, logits in the thousands and far below 0, experts switched off, both dtypes",
    hints=(
        "Which function of PyTorch gives the k largest entries of each row, in order, and where they stand?",
        "Dividing the probabilities of the chosen experts by their sum cancels the sum over all experts.",
        "What remains is a softmax over the chosen logits alone, which no large logit makes overflow.",
    ),
    mistakes=(
        Mistake(
            "not-divided",
            Edit("top.softmax(dim=-1)", "logits.softmax(dim=-1).gather(-1, chosen)"),
            "Your weights are the probabilities among all experts. Divide by the sum over the chosen ones.",
        ),
        Mistake(
            "softmax-twice",
            Edit("top.softmax(dim=-1)", "logits.softmax(dim=-1).gather(-1, chosen).softmax(dim=-1)"),
            "You take a softmax of probabilities. They are to be divided by their sum.",
        ),
        Mistake(
            "weights-detached",
            Edit("top.softmax(dim=-1)", "top.detach().softmax(dim=-1)"),
            "The weights are right, and no gradient reaches the logits: they are cut off.",
        ),
        Mistake(
            "least-probable",
            Edit("topk(k, dim=-1)", "topk(k, dim=-1, largest=False)"),
            "You take the experts with the smallest logits.",
        ),
        Mistake(
            "sorted-by-number",
            Edit(
                "return chosen, top.softmax(dim=-1)",
                """chosen, order = chosen.sort(dim=-1)
    return chosen, top.gather(-1, order).softmax(dim=-1)""",
            ),
            "Your experts stand in the order of their numbers. The most probable comes first.",
        ),
        Mistake(
            "over-tokens",
            Edit("top.softmax(dim=-1)", "top.softmax(dim=0)"),
            "You take the softmax over the tokens. The weights of one token sum to 1.",
            also=(
                Edit(
                    "return chosen, top.softmax(dim=-1)",
                    "top = logits.softmax(dim=-1).gather(-1, chosen)\n"
                    "    return chosen, top / top.sum(dim=0, keepdim=True)",
                ),
            ),
        ),
        Mistake(
            "equal-weights",
            Edit("top.softmax(dim=-1)", "torch.ones_like(top) / k"),
            "All experts of a token have the same weight in your answer. The more probable one counts more.",
        ),
        Mistake(
            "no-shift",
            Edit("top.softmax(dim=-1)", "top.exp() / top.exp().sum(dim=-1, keepdim=True)"),
            "Your exponentials overflow, or are all 0. Subtract the largest logit first, or use `softmax`.",
        ),
        Mistake(
            "logits-divided",
            Edit("top.softmax(dim=-1)", "top / top.sum(dim=-1, keepdim=True)"),
            "You divided logits by their sum. The weights are probabilities: take a softmax first.",
        ),
    ),
)
