"""Exercise on groups of answers: ``grpo-loss``."""

import torch
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs


def _grpo_loss(log_p: Tensor, old: Tensor, rewards: Tensor, said: Tensor, clip: float) -> Tensor:
    centred = rewards - rewards.mean(dim=1, keepdim=True)
    deviation = rewards.std(dim=1, keepdim=True)
    advantage = (centred / (deviation + 1e-6))[..., None]
    ratio = (log_p - old).masked_fill(~said, 0.0).exp()  # inf - inf would be NaN, in the gradient too
    near = ratio.clamp(1 - clip, 1 + clip)
    gain = torch.minimum(ratio * advantage, near * advantage)
    mean = gain.masked_fill(~said, 0.0).sum(dim=-1) / said.sum(dim=-1)
    return -mean.mean()


def _cases() -> list[Case]:
    draw = RandomInputs(83)

    def drawn(
        prompts: int,
        group: int,
        length: int,
        rewards: Tensor | None = None,
        *,
        clip: float = 0.2,
        scale: float = 0.3,
        worth: float = 1.0,
        dtype: str = "float64",
    ) -> tuple:
        old = -draw.normal(prompts, group, length).abs()
        log_p = old + scale * draw.normal(prompts, group, length)
        ends = 1 + (5 * draw.normal(prompts, group).abs()).long() % length
        said = torch.arange(length) < ends[..., None]
        rewards = worth * draw.normal(prompts, group) if rewards is None else rewards.double()
        kind = getattr(torch, dtype)
        return log_p.to(kind), old.to(kind), rewards.to(kind), said, clip

    split = torch.tensor([[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 1]])
    gaps = drawn(2, 3, 5)
    log_p, old, rewards, said, clip = drawn(1, 2, 3, torch.tensor([[1, 0]]), dtype="float32")
    said = torch.tensor([True, True, False]).expand_as(said).clone()
    never = old.masked_fill(~said, -torch.inf)
    sure = log_p.clone()
    sure[..., 0] = 0.0
    return [
        Case(drawn(1, 2, 3, torch.tensor([[1, 0]])), "one prompt, two answers"),
        Case(drawn(2, 4, 5, torch.ones(2, 4)), "all answers right"),
        Case(drawn(2, 5, 3, torch.eye(5)[:2], scale=0.0), "the policy is the one that sampled"),
        Case(drawn(3, 4, 6, split), "one, two and four of four right"),
        Case(drawn(3, 7, 9, scale=1.0), "ratios far from 1, other rewards"),
        Case(drawn(2, 3, 11, clip=0.05), "clip 0.05"),
        Case(drawn(4, 6, 8, dtype="float32"), "float32"),
        Case(drawn(2, 8, 4, worth=1000.0), "rewards beyond 1000"),
        Case(
            (*gaps[:3], torch.tensor([0, 1, 0, 1, 1]).bool().expand_as(gaps[3]).clone(), gaps[4]), "answers with gaps"
        ),
        Case((log_p, never, rewards, said, clip), "padding that was impossible"),
        Case((log_p.masked_fill(~said, -torch.inf), never, rewards, said, clip), "padding that is impossible"),
        Case((sure, old, rewards, said, clip), "tokens that the policy is sure of"),
    ]


GRPO_LOSS = Exercise(
    name="grpo-loss",
    title="Compute the advantages and the clipped loss of GRPO",
    chapter="post-training",
    level=2,
    place=4,
    minutes=20,
    reference=_grpo_loss,
    gradients=("log_p",),
    cases=_cases,
    tested="equal rewards, advantages of both signs, ratios in and outside the clip, gaps, infinite padding, "
    "both dtypes, large rewards",
    hints=(
        "Which answers is an answer compared with? One row of the rewards is one group.",
        "The ratio is one number a token, the advantage one an answer. What must its shape be?",
        "Multiply the ratio and the clipped one by the advantage, take the smaller, and average each answer by itself.",
    ),
    mistakes=(
        Mistake(
            "mean-over-all",
            Edit("rewards.mean(dim=1, keepdim=True)", "rewards.mean()"),
            "You subtract the mean over all groups. The baseline is the mean of the answers to the same prompt.",
            also=(
                (
                    Edit("rewards.mean(dim=1, keepdim=True)", "rewards.mean()"),
                    Edit("rewards.std(dim=1, keepdim=True)", "rewards.std()"),
                ),
            ),
        ),
        Mistake(
            "divided-by-n",
            Edit("rewards.std(dim=1, keepdim=True)", "rewards.std(dim=1, keepdim=True, correction=0)"),
            "You divide the squares by the size of the group. The standard deviation asked for divides by one less.",
        ),
        Mistake(
            "not-divided",
            Edit("centred / (deviation + 1e-6)", "centred"),
            "You left out the division by the standard deviation.",
        ),
        Mistake(
            "no-epsilon",
            Edit("deviation + 1e-6", "deviation"),
            "A group with equal rewards gives 0 / 0. Its advantages are 0: add 1e-6 to the deviation.",
        ),
        Mistake(
            "ratio-of-logarithms",
            Edit("(log_p - old).masked_fill(~said, 0.0).exp()", "log_p / old"),
            "You divide logarithms. The ratio of probabilities is the exponential of the difference of logarithms.",
        ),
        Mistake(
            "ratio-inverted",
            Edit("(log_p - old)", "(old - log_p)"),
            "Your ratio is the old probability over the new one: turn it round.",
        ),
        Mistake(
            "clip-on-the-wrong-side",
            Edit("torch.minimum", "torch.maximum"),
            "You take the larger of the two gains, which keeps a gain beyond the clip. Take the smaller one.",
        ),
        Mistake(
            "always-clipped",
            Edit("torch.minimum(ratio * advantage, near * advantage)", "near * advantage"),
            "You always take the clipped ratio. Where the change was for the worse, the ratio itself must count.",
        ),
        Mistake(
            "padding-counts",
            (
                Edit(".masked_fill(~said, 0.0).exp()", ".exp()"),
                Edit("gain.masked_fill(~said, 0.0).sum(dim=-1) / said.sum(dim=-1)", "gain.mean(dim=-1)"),
            ),
            "You average over the padding too. Only the tokens of the answer count.",
            also=(Edit(".sum(dim=-1) / said.sum(dim=-1)", ".mean(dim=-1)"),),
        ),
        Mistake(
            "zero-times-infinity",
            (
                Edit(".masked_fill(~said, 0.0).exp()", ".exp()"),
                Edit("gain.masked_fill(~said, 0.0)", "(gain * said)"),
            ),
            "You multiply what stands at padding by 0, and infinity times 0 is NaN. Replace it, with `masked_fill` for "
            "example.",
        ),
        Mistake(
            "mean-over-tokens",
            Edit("mean.mean()", "gain[said].mean()"),
            "You average over all tokens, so long answers weigh more. Here each answer has a mean of its own first.",
        ),
        Mistake(
            "wrong-sign",
            Edit("-mean.mean()", "mean.mean()"),
            "The objective is to be maximised, so the loss is its negative.",
        ),
        Mistake(
            "across-prompts",
            (
                Edit("rewards.mean(dim=1, keepdim=True)", "rewards.mean(dim=0, keepdim=True)"),
                Edit("rewards.std(dim=1, keepdim=True)", "rewards.std(dim=0, keepdim=True)"),
            ),
            "You compare answers to different prompts, along the first axis. A group is a row of the rewards.",
        ),
        Mistake(
            "sum-over-tokens",
            Edit(" / said.sum(dim=-1)", ""),
            "You add over the tokens of an answer, so long answers weigh more. Divide by their number.",
        ),
        Mistake(
            "ratio-of-answers",
            Edit("masked_fill(~said, 0.0).exp()", "masked_fill(~said, 0.0).sum(dim=-1, keepdim=True).exp()"),
            "You have one ratio for a whole answer. Each token has its own, which is clipped by itself.",
        ),
    ),
)
