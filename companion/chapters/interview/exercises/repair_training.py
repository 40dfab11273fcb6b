"""Training code to repair: ``debug-label-shift`` and ``debug-training-step``."""

import torch
import torch.nn.functional as F
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs

F32, F64 = torch.float32, torch.float64


def _broken_loss(scores: Tensor, tokens: Tensor, padding: int) -> Tensor:
    real = tokens != padding
    losses = F.cross_entropy(scores.mT, tokens, reduction="none")
    return (losses * real).mean()


def _loss(scores: Tensor, tokens: Tensor, padding: int) -> Tensor:
    says, wanted = scores[:, :-1], tokens[:, 1:]
    real = wanted != padding
    losses = F.cross_entropy(says.mT, wanted, reduction="none")
    return losses.masked_fill(~real, 0.0).sum() / real.sum()


SHIFT = "scores[:, :-1], tokens[:, 1:]"
MEAN_OF_ALL = Edit("losses.masked_fill(~real, 0.0).sum() / real.sum()", "(losses * real).mean()")


def _loss_cases() -> list[Case]:
    draw = RandomInputs(83)
    generator = torch.Generator().manual_seed(84)

    def batch(
        lengths: list[int], vocab: int, dtype: torch.dtype, scale: float = 1.0, t: int = 0, padding: int = 0
    ) -> tuple:
        t = t or max(lengths)
        tokens = torch.randint(1, vocab, (len(lengths), t), generator=generator)
        tokens[torch.arange(t) >= torch.tensor(lengths)[:, None]] = 0
        return draw.normal(len(lengths), t, vocab, dtype=dtype, scale=scale), (tokens + padding) % vocab, padding

    by_hand = (
        torch.log(torch.tensor([[[1.0, 1.0, 2.0], [2.0, 1.0, 1.0], [1.0, 1.0, 6.0]]])),
        torch.tensor([[1, 2, 0]]),
        0,
    )
    return [
        Case(by_hand, "the example"),
        Case(batch([3], 4, F64), "no padding"),
        Case(batch([2, 4], 5, F32)),
        Case(batch([5, 3, 2], 7, F64)),
        Case(batch([4, 4, 4], 6, F32), "no padding"),
        Case(batch([3, 2], 5, F64, t=6), "padding at the end of each row"),
        Case(batch([5, 7], 11, F64, 1e3), "large scores"),
        Case(batch([6, 3, 2], 5, F64, padding=3), "another token for padding"),
        Case((draw.normal(1, 3, 3, dtype=F64), torch.tensor([[1, 0, 2]]), 0), "a gap"),
        Case((torch.zeros(1, 2, 3), torch.tensor([[0, 1]]), 0), "padding in front"),
    ]


DEBUG_LABEL_SHIFT = Exercise(
    name="debug-label-shift",
    title="Repair a loss that rewards copying",
    chapter="debugging",
    level=1,
    place=3,
    minutes=15,
    topic="training",
    reference=_loss,
    gradients=("scores",),
    broken=_broken_loss,
    cases=_loss_cases,
    tested="no padding, padding at the end, in front and inside, another token for it, large scores, both dtypes",
    hints=(
        "There are two faults. Which token has the model read when it gives the scores at place i, and which one "
        "should it be asked for? Try a model whose scores point at the token it reads.",
        "Two slices mend the first fault: the scores lack their last place, the targets their first. Then repeat one "
        "row with more padding after it; the loss must stay.",
        "A mean over all places divides by the padding too. Divide the sum by the number of places whose target is "
        "real.",
    ),
    mistakes=(
        Mistake(
            "as-given",
            (Edit(SHIFT, "scores, tokens"), MEAN_OF_ALL),
            "This does what the code as given does. A model that copies its input has a loss near 0 with it.",
        ),
        Mistake(
            "not-shifted",
            Edit(SHIFT, "scores, tokens"),
            "The mean is right now, and the targets still are the tokens that the model has just read.",
            also=(Edit(SHIFT, "scores[:, :-1], tokens[:, :-1]"),),
        ),
        Mistake(
            "divided-by-all",
            MEAN_OF_ALL,
            "The targets are right now. The sum is still divided by all places, so padding makes the loss smaller.",
        ),
        Mistake(
            "backwards",
            Edit(SHIFT, "scores[:, 1:], tokens[:, :-1]"),
            "You shifted the wrong way: the model is asked for the token before the one that it reads.",
        ),
        Mistake(
            "rolled",
            Edit(SHIFT, "scores, tokens.roll(-1, dims=1)"),
            "`roll` brings the first token round to the last place. Drop a place instead.",
        ),
        Mistake(
            "mask-of-what-is-read",
            Edit("real = wanted", "real = tokens[:, :-1]"),
            "Your mask follows the tokens that are read. The place that reads the last real token has padding as its "
            "target.",
        ),
        Mistake(
            "summed",
            Edit(" / real.sum()", ""),
            "Your loss is a sum. It is the mean over the places whose next token is real.",
        ),
        Mistake(
            "mean-of-rows",
            Edit(
                "losses.masked_fill(~real, 0.0).sum() / real.sum()",
                "(losses.masked_fill(~real, 0.0).sum(dim=1) / real.sum(dim=1)).mean()",
            ),
            "You averaged each row and then the rows: a token of a short row then counts more.",
        ),
        Mistake(
            "both-must-be-real",
            Edit("real = wanted != padding", "real = (wanted != padding) & (tokens[:, :-1] != padding)"),
            "You leave out places that have read padding. What is asked for decides, wherever padding stands.",
        ),
    ),
)


def _broken_steps(w: Tensor, x: Tensor, y: Tensor, real: Tensor, rate: float, max_norm: float) -> Tensor:
    w = w.clone().requires_grad_()
    for batch, wanted, counts in zip(x, y, real, strict=True):
        errors = (batch @ w - wanted) ** 2
        (errors * counts).mean().backward()
        with torch.no_grad():
            w -= rate * w.grad
            w.grad *= (max_norm / w.grad.norm()).clamp(max=1.0)
    return w.detach()


def _steps(w: Tensor, x: Tensor, y: Tensor, real: Tensor, rate: float, max_norm: float) -> Tensor:
    w = w.clone().requires_grad_()
    for batch, wanted, counts in zip(x, y, real, strict=True):
        errors = (batch @ w - wanted) ** 2
        ((errors * counts).sum() / counts.sum()).backward()
        with torch.no_grad():
            w.grad *= (max_norm / w.grad.norm()).clamp(max=1.0)
            w -= rate * w.grad
        w.grad = None
    return w.detach()


NOT_CLEARED = Edit("        w.grad = None\n", "")
CLIP = "            w.grad *= (max_norm / w.grad.norm()).clamp(max=1.0)\n"
MOVE = "            w -= rate * w.grad\n"
SHORT_MOVE = "            w -= rate * w.grad * (max_norm / w.grad.norm()).clamp(max=1.0)\n"
TOO_LATE = Edit(CLIP + MOVE, MOVE + CLIP)
PADDING_COUNTED = Edit("(errors * counts).sum() / counts.sum()", "(errors * counts).mean()")


def _step_cases() -> list[Case]:
    draw = RandomInputs(85)

    def data(steps: int, n: int, d: int, max_norm: float, dtype: torch.dtype, scale: float = 1.0) -> tuple:
        real = torch.arange(n) < 1 + torch.arange(steps)[:, None] % n
        y = draw.normal(steps, n, dtype=dtype, scale=scale)
        return draw.normal(d, dtype=dtype), draw.normal(steps, n, d, dtype=dtype), y, real, 0.1, max_norm

    x, y = torch.ones(1, 2, 1), torch.tensor([[3.0, 9.0]])
    by_hand = torch.tensor([1.0]), x, y, torch.tensor([[True, False]]), 0.5, 2.0
    short = torch.zeros(1, dtype=F64), x.double(), torch.full((1, 2), 1e-4, dtype=F64), by_hand[3], 1.0, 1e-5
    return [
        Case(by_hand, "the example"),
        Case(data(1, 2, 3, 100.0, F64), "one step, never too long"),
        Case(data(2, 3, 2, 0.5, F32)),
        Case(data(3, 4, 3, 1.0, F64)),
        Case(data(4, 3, 5, 100.0, F32), "never too long"),
        Case(data(5, 4, 3, 0.3, F64)),
        Case(data(6, 5, 4, 2.0, F64, 1e3), "large targets"),
        Case((by_hand[0], x, torch.tensor([[0.0, 3.0]]), torch.tensor([[False, True]]), 0.5, 2.0), "padding in front"),
        Case((by_hand[0], x, torch.tensor([[0.0, 3.0]]), torch.tensor([[True, True]]), 0.5, 2.0), "a real target of 0"),
        Case((by_hand[0], x, torch.tensor([[1.0, 3.0]]), by_hand[3], 0.5, 2.0), "a gradient of 0"),
        Case(short, "a short gradient that is still too long"),
    ]


DEBUG_TRAINING_STEP = Exercise(
    name="debug-training-step",
    title="Repair a training loop",
    chapter="debugging",
    level=2,
    place=4,
    minutes=25,
    topic="training",
    reference=_steps,
    broken=_broken_steps,
    cases=_step_cases,
    tolerance={F64: 1e-6, F32: 1e-5},  # the clipping of torch adds 1e-6 to the norm
    tested="one step and several, gradients long, short and 0, padding in front and of several amounts, both dtypes",
    hints=(
        "There are three faults. Take one step on one batch and compare with a pencil. Then two steps: after the "
        "second, is the gradient that of the second batch?",
        "There is one fault in each of loss, gradient and order of lines. Repeat the rows of a batch as padding: the "
        "step must stay the same.",
        "Divide the summed errors by the count of real places; clear the gradient in each step, before it is made or "
        "after it is used; and shorten it before the weights move.",
    ),
    mistakes=(
        Mistake(
            "as-given",
            (NOT_CLEARED, TOO_LATE, PADDING_COUNTED),
            "This does what the code as given does. Begin with a single step and a batch that has padding.",
        ),
        Mistake(
            "gradient-not-cleared",
            NOT_CLEARED,
            "`backward` adds to the gradient that is there, and it is never cleared: step two still walks along batch "
            "one.",
            also=((NOT_CLEARED, Edit(CLIP + MOVE, SHORT_MOVE)),),
        ),
        Mistake(
            "clipped-too-late",
            TOO_LATE,
            "The gradient is shortened after the weights have moved, where it does nothing.",
            also=(Edit(CLIP, ""),),
        ),
        Mistake(
            "averaged-over-padding",
            PADDING_COUNTED,
            "The loss is still an average over all places. With more padding the steps get smaller.",
        ),
        Mistake(
            "only-cleared",
            (TOO_LATE, PADDING_COUNTED),
            "The gradient is cleared now. Two faults are left: what the loss divides by, and when the gradient is "
            "shortened.",
        ),
        Mistake(
            "only-the-mean",
            (NOT_CLEARED, TOO_LATE),
            "The loss is right now. Two faults are left, both in what happens to the gradient and when.",
        ),
        Mistake(
            "only-the-clipping",
            (NOT_CLEARED, PADDING_COUNTED),
            "The order of clipping and moving is right now. Two faults are left: what the loss divides by, and which "
            "batches are in the gradient.",
        ),
        Mistake(
            "summed",
            Edit(" / counts.sum()", ""),
            "Your loss is a sum. It is the mean over the real places.",
        ),
        Mistake(
            "entries-clipped",
            Edit(CLIP, "            w.grad.clamp_(-max_norm, max_norm)\n"),
            "You clip each entry. The length of the whole gradient is limited, so that its direction stays.",
        ),
        Mistake(
            "always-shortened",
            Edit(".clamp(max=1.0)", ""),
            "You give every gradient the length `max_norm`. A shorter one stays as it is.",
        ),
        Mistake(
            "step-shortened",
            Edit(
                CLIP + MOVE,
                "            change = rate * w.grad\n"
                "            w -= change * (max_norm / change.norm()).clamp(max=1.0)\n",
            ),
            "You limit the length of the step. The gradient is limited, before the rate multiplies it.",
        ),
        Mistake(
            "uphill",
            Edit("w -= rate", "w += rate"),
            "You move along the gradient, which makes the loss larger.",
        ),
    ),
)
