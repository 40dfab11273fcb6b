"""A draw to repair: ``debug-top-p``."""

import torch
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs

F32, F64 = torch.float32, torch.float64


def _broken_draw(scores: Tensor, p: float, u: Tensor) -> Tensor:
    ranked = scores.softmax(dim=-1).sort(dim=-1, descending=True)
    kept = ranked.values * (ranked.values.cumsum(dim=-1) <= p)
    sums = kept.cumsum(dim=-1)
    return (sums / sums[:, -1:] <= u[:, None]).sum(dim=-1)


def _draw(scores: Tensor, p: float, u: Tensor) -> Tensor:
    ranked, order = scores.softmax(dim=-1).sort(dim=-1, descending=True)
    kept = ranked * (ranked.cumsum(dim=-1) - ranked < p)
    sums = kept.cumsum(dim=-1)
    rank = (sums / sums[:, -1:] <= u[:, None]).sum(dim=-1)  # the last of the sums is 1, also after rounding
    return order.gather(-1, rank[:, None])[:, 0]


CROSSING = Edit("ranked.cumsum(dim=-1) - ranked < p", "ranked.cumsum(dim=-1) <= p")
RANK = Edit("order.gather(-1, rank[:, None])[:, 0]", "rank")


def _in_order(scores: Tensor, p: float, u: Tensor) -> Tensor:
    """Draw from the nucleus in the order of the tokens, which is another token for the same u."""
    ranked, order = scores.softmax(dim=-1).sort(dim=-1, descending=True)
    kept = torch.zeros_like(ranked).scatter(-1, order, ranked * (ranked.cumsum(-1) - ranked < p))
    sums = kept.cumsum(-1)
    return (sums / sums[:, -1:] <= u[:, None]).sum(-1)


def _draw_cases() -> list[Case]:
    draw = RandomInputs(86)
    generator = torch.Generator().manual_seed(87)

    def batch(n: int, vocab: int, p: float, dtype: torch.dtype, scale: float = 1.0) -> tuple:
        u = torch.rand(n, generator=generator, dtype=torch.float64).to(dtype)
        return draw.normal(n, vocab, dtype=dtype, scale=scale), p, u

    by_hand = torch.tensor([[0.2, 0.5, 0.3]]).log(), 0.9, torch.tensor([0.75])
    halves = torch.tensor([2.0, 4.0, 1.0, 1.0], dtype=F64).log().expand(3, -1).clone()
    border = halves.float(), 0.5, torch.tensor([0.1, 0.6, 0.9])
    equal = halves, 1.0, torch.tensor([0.1, 0.5, 0.6], dtype=F64)
    largest = (
        torch.tensor([[4.0, 2.0, 1.0]]).log(),
        0.6,
        torch.tensor([1 - 2**-24]),
    )  # thirds do not sum to 1 in float32
    return [
        Case(by_hand, "the example"),
        Case(batch(2, 3, 0.8, F64)),
        Case(batch(9, 5, 0.5, F32)),
        Case(batch(12, 4, 0.05, F64), "less than the first token has"),
        Case(batch(20, 7, 0.9, F32)),
        Case(batch(30, 11, 0.7, F64)),
        Case(batch(15, 6, 1.0, F64), "everything"),
        Case(batch(9, 8, 0.9, F64, 1e3), "large scores"),
        Case(border, "the sum reaches p exactly"),
        Case(equal, "a draw equal to a running sum"),
        Case(largest, "the largest draw below 1"),
    ]


DEBUG_TOP_P = Exercise(
    name="debug-top-p",
    title="Repair a draw from the nucleus",
    chapter="debugging",
    level=2,
    place=5,
    minutes=15,
    topic="generation",
    reference=_draw,
    broken=_broken_draw,
    cases=_draw_cases,
    tested="small and full p, a sum that is exactly p, draws that equal a sum or nearly 1, large scores, both dtypes",
    hints=(
        "There are two faults. Draw many times and count the tokens. A model with one likely token shows the first: "
        "which number does the function give for it?",
        "What comes out is a place in sorted order. The sort also gave the tokens that stand at these places. Then "
        "take p below the probability of the first token and look at `kept`.",
        "The token with which the sum reaches p has to stay. Compare the sum before each token with p instead of the "
        "sum with it.",
    ),
    mistakes=(
        Mistake(
            "as-given",
            (CROSSING, RANK),
            "This does what the code as given does. Try it on a vocabulary of three with known probabilities.",
        ),
        Mistake(
            "place-in-sorted-order",
            RANK,
            "The nucleus is right now. What you return is still a place in sorted order and not a token.",
        ),
        Mistake(
            "crossing-token-dropped",
            CROSSING,
            "You return tokens now. The token with which the sum reaches p is still dropped, and with a small p "
            "none is left.",
        ),
        Mistake(
            "one-more-at-the-border",
            Edit("ranked < p", "ranked <= p"),
            "Where the tokens kept so far have exactly p, they are enough. You kept one more.",
        ),
        Mistake(
            "not-divided",
            Edit("sums / sums[:, -1:]", "sums"),
            "The kept probabilities no longer sum to 1, so a large u falls beyond them.",
        ),
        Mistake(
            "most-probable",
            lambda scores, p, u: scores.argmax(dim=-1),
            "You return the most probable token. The draw u has no effect.",
        ),
        Mistake(
            "in-token-order",
            _in_order,
            "You draw from the right distribution, but in the order of the vocabulary. The statement goes through the "
            "tokens from the most probable on, and the same u then gives another token.",
        ),
        Mistake(
            "sum-that-equals-the-draw",
            Edit("<= u[:, None]", "< u[:, None]"),
            "You stop where the running sum equals the draw. The token is the first at which it is above.",
        ),
        Mistake(
            "draw-times-p",
            Edit("sums / sums[:, -1:] <= u[:, None]", "sums <= p * u[:, None]"),
            "You scaled the draw by p. What is kept has p or more together: divide by its own sum.",
        ),
    ),
)
