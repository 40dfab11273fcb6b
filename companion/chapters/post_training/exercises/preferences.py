"""Exercise on pairs of answers: ``masked-dpo-loss``."""

import torch
import torch.nn.functional as F
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs


def _masked_dpo_loss(policy: Tensor, reference: Tensor, tokens: Tensor, said: Tensor, beta: float) -> Tensor:
    sums = []
    for logits in (policy, reference):
        log_p = logits[..., :-1, :].log_softmax(dim=-1)
        log_p = log_p.gather(-1, tokens[..., 1:, None])[..., 0]
        sums.append(torch.where(said[..., 1:], log_p, 0.0).sum(dim=-1))
    chosen, rejected = sums[0] - sums[1]
    return -F.logsigmoid(beta * (chosen - rejected)).mean()


def _cases() -> list[Case]:
    draw = RandomInputs(71)

    def drawn(pairs: int, length: int, vocab: int, beta: float, *, size: float = 1.0, dtype: str = "float64") -> tuple:
        policy, reference = (
            size * draw.normal(2, pairs, length, vocab).to(getattr(torch, dtype)) for _ in ("policy", "reference")
        )
        tokens = (vocab * draw.normal(2, pairs, length).abs()).long() % vocab
        start = 1 + (7 * draw.normal(pairs).abs()).long() % (length - 2)  # both answers follow one prompt
        end = start + 1 + (9 * draw.normal(2, pairs).abs()).long() % (length - start - 1)
        position = torch.arange(length)
        said = (position >= start[None, :, None]) & (position <= end[..., None])
        return policy, reference, tokens, said, beta

    same, gaps = drawn(2, 5, 4, 0.5), drawn(2, 5, 4, 0.5)
    policy, one = torch.tensor([0.0, -120.0]).expand(2, 1, 2, 2).clone(), torch.ones(1, 2, dtype=torch.long)
    far = policy, torch.zeros(2, 1, 2, 2), torch.stack([one, 0 * one]), torch.stack([one, one]).bool(), 1.0
    return [
        Case(drawn(1, 3, 2, 1.0), "one pair, three tokens"),
        Case((same[0], same[0], *same[2:]), "the policy is the reference"),
        Case(drawn(1, 6, 5, 0.1), "one pair, beta = 0.1"),
        Case(drawn(3, 8, 6, 0.3), "three pairs of different lengths"),
        Case(drawn(4, 11, 7, 0.5, dtype="float32"), "float32"),
        Case(drawn(2, 16, 9, 0.05), "long answers"),
        Case(drawn(5, 9, 3, 0.2), "five pairs, three tokens to choose from"),
        Case(drawn(3, 7, 5, 0.01, size=1000.0), "logits beyond 1000"),
        Case(
            (*gaps[:3], torch.tensor([0, 1, 0, 1, 1]).bool().expand_as(gaps[3]).clone(), gaps[4]), "answers with gaps"
        ),
        Case(far, "a rejected answer that is far more probable"),
    ]


MASKED_DPO_LOSS = Exercise(
    name="masked-dpo-loss",
    title="Compute the DPO loss from logits and a token mask",
    chapter="post-training",
    level=2,
    place=3,
    minutes=20,
    reference=_masked_dpo_loss,
    gradients=("policy",),
    cases=_cases,
    tested="one pair and several, all lengths, gaps, equal policy and reference, both dtypes, large logits",
    hints=(
        "Four numbers are needed for each pair: the log-probability of each answer under each of the two models.",
        "Which position predicts token t? Shift the tokens and the mask in the same way.",
        "The log-probability of an answer is a sum over its own tokens, without those of the prompt and the padding.",
    ),
    mistakes=(
        Mistake(
            "mean-over-tokens",
            Edit(".sum(dim=-1))", ".sum(dim=-1) / said[..., 1:].sum(dim=-1))"),
            "You take the mean over the tokens of an answer. The log-probability of an answer is their sum.",
        ),
        Mistake(
            "no-shift",
            Edit("logits[..., :-1, :]", "logits[..., 1:, :]"),
            "You read the logits at the position of the token itself. Those of the position before predict it.",
        ),
        Mistake(
            "mask-not-shifted",
            Edit("said[..., 1:]", "said[..., :-1]"),
            "You shift the tokens and not the mask, so that it counts the token after each one that it should.",
        ),
        Mistake(
            "prompt-counts",
            Edit("torch.where(said[..., 1:], log_p, 0.0)", "log_p"),
            "You count all tokens. The prompt and the padding do not belong to the answer.",
        ),
        Mistake(
            "swapped",
            Edit("chosen - rejected", "rejected - chosen"),
            "You prefer the rejected answer: swap the two.",
        ),
        Mistake(
            "no-reference",
            Edit("sums[0] - sums[1]", "sums[0]"),
            "You compare the answers under the policy alone. Each is measured against the reference.",
        ),
        Mistake(
            "no-beta",
            Edit("beta * (chosen - rejected)", "(chosen - rejected)"),
            "You left out beta.",
        ),
        Mistake(
            "beta-outside",
            Edit("F.logsigmoid(beta * (chosen - rejected))", "beta * F.logsigmoid(chosen - rejected)"),
            "You multiply the loss by beta. It multiplies the margin, inside the sigmoid.",
        ),
        Mistake(
            "log-of-sigmoid",
            Edit("F.logsigmoid(beta * (chosen - rejected))", "torch.sigmoid(beta * (chosen - rejected)).log()"),
            "The sigmoid of a very negative margin is 0, and its logarithm infinite. `F.logsigmoid` computes both in "
            "one step.",
        ),
        Mistake(
            "sum-over-pairs",
            Edit(").mean()", ").sum()"),
            "You added the losses of the pairs. Their mean is asked for.",
        ),
        Mistake(
            "logits-as-they-are",
            Edit(".log_softmax(dim=-1)", ""),
            "You added logits. The log-probability of a token is its logit in the log-softmax over the vocabulary.",
        ),
        Mistake(
            "probabilities-added",
            Edit(".log_softmax(dim=-1)", ".softmax(dim=-1)"),
            "You added probabilities of tokens. The probability of an answer is their product: add logarithms.",
        ),
    ),
)
