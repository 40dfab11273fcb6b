"""Last stage of a mixture-of-experts layer: ``experts-balance``, and the task of all four stages."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from companion.chapters.interview.exercises.task_experts_1_choice import CHOICE
from companion.chapters.interview.exercises.task_experts_2_places import PLACES
from companion.chapters.interview.exercises.task_experts_3_layer import LAYER_OF_EXPERTS
from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs
from companion.practice.task import Task
from companion.practice.trial import gradients, tensor

F32, F64 = torch.float32, torch.float64
Answer = Callable[..., object]


def _balance(logits: Tensor, k: int) -> Tensor:
    n_experts = logits.shape[1]
    chosen = logits.topk(k, dim=-1).indices
    share = F.one_hot(chosen, n_experts).to(logits).mean(dim=(0, 1))
    return n_experts * (share * logits.softmax(dim=-1).mean(dim=0)).sum()


def _balance_trial(answer: Answer, logits: Tensor, k: int) -> tuple[Tensor, ...]:
    """Compare the loss and its gradient."""
    leaf = logits.clone().requires_grad_()
    loss = tensor(answer(leaf, k))
    return loss.detach(), *gradients(loss, [leaf])


def _balance_cases() -> list[Case]:
    draw = RandomInputs(184)
    by_hand = torch.tensor([[3.0, 1.0], [3.0, 1.0], [1.0, 3.0]]).log()
    return [
        Case((by_hand, 1), "the example"),
        Case((draw.normal(4, 3), 1)),
        Case((draw.normal(5, 4, dtype=F32), 2), "two experts a token"),
        Case((draw.normal(6, 3), 3), "all experts: even shares"),
        Case((draw.normal(7, 4) - 3 * torch.arange(4.0, dtype=F64), 1), "an uneven router"),
        Case((draw.normal(4, 4), 2), "as many tokens as experts"),
        Case((draw.normal(6, 5, scale=1e3), 2), "logits in the thousands"),
        Case((draw.normal(64, 16, dtype=F32), 4), "many experts"),
    ]


BALANCE = Exercise(
    name="experts-balance",
    title="Balance the load",
    chapter="task-experts",
    topic="scaling",
    level=2,
    place=4,
    minutes=10,
    reference=_balance,
    cases=_balance_cases,
    trial=_balance_trial,
    returns=("loss", "gradient of the logits"),
    tolerance={F64: 1e-6, F32: 1e-5},  # a count over a count is a float32
    tested="the loss and its gradient; one and several choices, uneven routers, large logits, both dtypes",
    hints=(
        "Two vectors with one entry an expert: the share of all choices, and the probability averaged over the tokens. "
        "Each of them sums to 1.",
        "A count has no gradient. Through which of the two does the router learn?",
        "Multiply the two vectors, add up, and multiply by the number of experts: with even shares that gives 1.",
    ),
    mistakes=(
        Mistake(
            "first-choices",
            Edit("topk(k, dim=-1)", "topk(1, dim=-1)"),
            "You count first choices alone. The shares are of all k choices of each token.",
        ),
        Mistake(
            "not-shared",
            Edit(".mean(dim=(0, 1))", ".sum(dim=1).mean(dim=0)"),
            "You add over the k choices of a token, so your loss is k times as large. The shares sum to 1.",
        ),
        Mistake(
            "no-factor",
            Edit("n_experts * (share", "(share"),
            "The number of experts is missing, or a mean takes it away again: with even shares the loss is 1.",
        ),
        Mistake(
            "probabilities-twice",
            Edit("(share * ", "(logits.softmax(dim=-1).mean(dim=0) * "),
            "You multiply the mean probability by itself. One of the two is the share of the choices made.",
        ),
        Mistake(
            "no-gradient",
            Edit("logits.softmax(dim=-1).mean(dim=0)", "logits.detach().softmax(dim=-1).mean(dim=0)"),
            "The loss is right, and no gradient reaches the router: the probabilities are cut off.",
        ),
        Mistake(
            "over-tokens",
            Edit("logits.softmax(dim=-1)", "logits.softmax(dim=0)"),
            "You take the softmax over the tokens. A token's probabilities sum to 1.",
        ),
        Mistake(
            "probabilities-of-the-chosen",
            Edit(
                "logits.softmax(dim=-1).mean(dim=0)",
                "(logits.softmax(dim=-1) * F.one_hot(chosen, n_experts).sum(dim=1)).mean(dim=0)",
            ),
            "You average the probabilities of chosen experts only. Each expert is averaged over all tokens.",
            also=(
                Edit(
                    "logits.softmax(dim=-1).mean(dim=0)",
                    "logits.masked_fill(F.one_hot(chosen, n_experts).sum(dim=1) == 0, -torch.inf)"
                    ".softmax(dim=-1).mean(dim=0)",
                ),
            ),
        ),
        Mistake(
            "shares-twice",
            Edit("logits.softmax(dim=-1).mean(dim=0)", "(share + 0 * logits.sum())"),
            "You multiplied the shares with themselves. They are counts, through which no gradient goes.",
        ),
        Mistake(
            "sum-over-tokens",
            Edit("logits.softmax(dim=-1).mean(dim=0)", "logits.softmax(dim=-1).sum(dim=0)"),
            "You add the probabilities of the tokens. Their average is asked for.",
        ),
        Mistake(
            "counts-for-shares",
            Edit(".mean(dim=(0, 1))", ".sum(dim=(0, 1))"),
            "You take counts. Divide by the number of all choices.",
        ),
    ),
)

EXPERT_LAYER = Task(
    name="expert-layer",
    title="Write a mixture-of-experts layer",
    stages=(CHOICE, PLACES, LAYER_OF_EXPERTS, BALANCE),
)
