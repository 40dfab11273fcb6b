"""Exercises on what goes into a model and out of it: ``shift-target``, ``pool-mean`` and ``model-masks``."""

import torch
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs

F32, F64 = torch.float32, torch.float64


def _shift(target: Tensor, start: int) -> Tensor:
    return torch.cat([torch.full_like(target[:, :1], start), target[:, :-1]], dim=1)


def _shift_cases() -> list[Case]:
    def rows(*given: list[int]) -> Tensor:
        return torch.tensor(given)

    return [
        Case((rows([5, 6, 7, 2]), 1), "the example"),
        Case((rows([4, 2]), 1), "one word"),
        Case((rows([2]), 1), "the end symbol alone"),
        Case((rows([3, 4, 5, 6, 2], [8, 9, 2, 0, 0]), 1), "two sentences, padding"),
        Case((rows([7, 7, 7, 2], [9, 3, 5, 2], [3, 2, 0, 0]), 11), "another start symbol"),
        Case((rows([6, 6, 6, 6, 6, 2]), 1), "the same word again and again"),
        Case((rows([1, 3, 2], [4, 1, 2]), 1), "the start symbol as a word"),
    ]


def _inserted(target: Tensor, start: int) -> Tensor:
    return torch.cat([torch.full_like(target[:, :1], start), target], dim=1)


SHIFT_TARGET = Exercise(
    name="shift-target",
    title="Shift the target right",
    chapter="architecture",
    level=1,
    place=1,
    minutes=10,
    reference=_shift,
    cases=_shift_cases,
    tested="one word, an end symbol alone, padding, another start symbol",
    hints=(
        "Write the two rows one below the other: what is written at each step, and what was written before it. What "
        "stands at the first place of the second row?",
        "The result has as many columns as the target. One column comes in at the front, so one has to go at the end.",
        "`torch.cat` along the positions joins a column of start symbols, (batch, 1), to the target without its last "
        "column. `torch.full_like` of a slice makes the column.",
    ),
    mistakes=(
        Mistake(
            "not-shifted",
            lambda target, start: target.clone(),
            "The target goes in as it is, so the decoder reads the very word that it is to write.",
        ),
        Mistake(
            "shifted-left",
            lambda target, start: torch.cat([target[:, 1:], torch.full_like(target[:, :1], start)], dim=1),
            "You shifted to the left: the decoder would read the next word. The start symbol goes in front.",
        ),
        Mistake(
            "rolled",
            lambda target, start: target.roll(1, dims=1),
            "You rolled the row: its last token comes round to the front. The start symbol belongs there.",
        ),
        Mistake(
            "one-too-long",
            _inserted,
            "The start symbol is in front, but nothing was dropped: the decoder would read one token more than it "
            "generates. The last token is generated and never read.",
        ),
        Mistake(
            "first-overwritten",
            lambda target, start: torch.cat([torch.full_like(target[:, :1], start), target[:, 1:]], dim=1),
            "The start symbol took the place of the first word, and the others did not move.",
        ),
        Mistake(
            "first-row",
            lambda target, start: torch.cat([torch.full_like(target[:1], start), target.roll(1, 1)[1:]]),
            "You wrote the start symbol over the whole first row. It stands in the first column: `[:, 0]`.",
        ),
    ),
)


def _pool(x: Tensor, lengths: Tensor) -> Tensor:
    real = torch.arange(x.shape[1]) < lengths[:, None]
    return (x * real[..., None]).sum(dim=1) / lengths[:, None]


def _pool_cases() -> list[Case]:
    draw = RandomInputs(21)

    def batch(*lengths: int, t: int, d: int, dtype: torch.dtype, scale: float = 1.0) -> tuple:
        return draw.normal(len(lengths), t, d, dtype=dtype, scale=scale), torch.tensor(lengths)

    by_hand = torch.tensor([[[1.0, 2.0], [3.0, 4.0], [9.0, 9.0]]]), torch.tensor([2])
    return [
        Case(by_hand, "the example"),
        Case(batch(3, t=3, d=2, dtype=F64), "no padding"),
        Case(batch(1, t=4, d=3, dtype=F32), "one word"),
        Case(batch(5, 2, 3, t=5, d=7, dtype=F64)),
        Case(batch(2, 1, t=7, d=1, dtype=F64), "one feature, much padding"),
        Case(batch(3, 1, 2, t=3, d=5, dtype=F32), "as many sentences as positions"),
        Case(batch(2, 4, t=4, d=2, dtype=F64, scale=1e3), "large numbers, as many features as sentences"),
        Case((torch.tensor([[[0.0], [2.0], [7.0]]], dtype=F32), torch.tensor([2])), "a real position of zeros"),
        Case((torch.tensor([[[1.0], [3.0], [1e30]]], dtype=F32), torch.tensor([2])), "a pad of 1e30, float32"),
    ]


POOL_MEAN = Exercise(
    name="pool-mean",
    title="Average the real positions",
    chapter="architecture",
    level=1,
    place=3,
    minutes=10,
    reference=_pool,
    cases=_pool_cases,
    tested="no padding, one word, as many sentences as positions, zeros at a real position, a huge number "
    "in the padding, float32 and float64",
    hints=(
        "A mean is a sum and a count. Which positions belong in the sum of each sentence, and what is the count "
        "of each?",
        "Compare `torch.arange(t)` with the lengths to get True and False for each sentence and position. The lengths "
        "need an axis more for that.",
        "Before it meets (batch, t, d), the mask needs an axis at its end, and the lengths one before they divide "
        "(batch, d).",
    ),
    mistakes=(
        Mistake(
            "over-all",
            lambda x, lengths: x.mean(dim=1),
            "You averaged over all positions, padding among them.",
        ),
        Mistake(
            "divided-by-t",
            lambda x, lengths: _pool(x, lengths) * lengths[:, None] / x.shape[1],
            "The sum is right, but you divided by the padded length. Each sentence has its own count.",
        ),
        Mistake(
            "not-divided",
            lambda x, lengths: _pool(x, lengths) * lengths[:, None],
            "That is the sum of the real positions. A mean divides by their number.",
        ),
        Mistake(
            "last-position",
            lambda x, lengths: x[torch.arange(len(x)), lengths - 1],
            "You took the last real position alone, instead of the mean of all real ones.",
        ),
        Mistake(
            "padding-only",
            lambda x, lengths: (
                (x * ~(torch.arange(x.shape[1]) < lengths[:, None])[..., None]).sum(1) / lengths[:, None]
            ),
            "Your mask is turned round: what you add up is the padding.",
        ),
        Mistake(
            "one-pad-too-many",
            Edit("< lengths", "<= lengths"),
            "You count the first position after the sentence. Positions begin at 0: those below the length are real.",
        ),
        Mistake(
            "one-too-few",
            Edit("< lengths[:, None]", "< lengths[:, None] - 1"),
            "The last real position is missing from your sum. Positions begin at 0: all below the length are real.",
        ),
        Mistake(
            "padding-summed",
            Edit("(x * real[..., None])", "x"),
            "You divided by the right number, and the padding is still in the sum.",
        ),
        Mistake(
            "all-tokens",
            Edit("/ lengths[:, None]", "/ lengths.sum()"),
            "You divided by the number of tokens of the whole batch. Each sentence has a length of its own.",
        ),
    ),
)


def _masks(source_lengths: Tensor, t: int) -> tuple[Tensor, Tensor, Tensor]:
    real = torch.arange(int(source_lengths.max())) < source_lengths[:, None, None]
    causal = torch.ones(t, t, dtype=torch.bool).tril()
    return real, causal, real.clone()


def _strict(source_lengths: Tensor, t: int) -> tuple[Tensor, Tensor, Tensor]:
    encoder, _, cross = _masks(source_lengths, t)
    return encoder, torch.ones(t, t, dtype=torch.bool).tril(-1), cross


MODEL_MASKS = Exercise(
    name="model-masks",
    title="Build the three masks of a model",
    chapter="architecture",
    level=2,
    place=4,
    minutes=20,
    reference=_masks,
    cases=lambda: [
        Case((torch.tensor([2, 1]), 2), "the example"),
        Case((torch.tensor([3]), 2), "no padding"),
        Case((torch.tensor([3, 5, 1]), 4)),
        Case((torch.tensor([2, 3, 1]), 3), "as many sentences as positions"),
        Case((torch.tensor([4, 2]), 1), "one target word"),
        Case((torch.tensor([2, 7]), 5), "a target shorter than the source"),
        Case((torch.tensor([1, 1, 1]), 3), "one source word each"),
        Case((torch.tensor([1, 2]), 2), "the lengths of the example, swapped"),
    ],
    tested="no padding, as many sentences as positions, one target word, a source longer than the target",
    returns=("encoder", "decoder", "cross"),
    hints=(
        "For each of the three ask: which are the keys, and which of them may a query look at? Two of the three have "
        "the same keys.",
        "The source lengths decide the keys of the encoder and of the cross-attention. The decoder's own mask does not "
        "know the lengths; it compares positions with positions.",
        "An axis of size 1 stands for all queries: `lengths[:, None, None]` compared with a range has the shape "
        "(batch, 1, t_source). `tril` of ones makes the decoder's mask; mind the diagonal.",
    ),
    mistakes=(
        Mistake(
            "strict",
            _strict,
            "Your decoder hides each position from itself, so the first one has no key. Its diagonal is allowed.",
        ),
        Mistake(
            "no-axis-for-queries",
            lambda lengths, t: (_masks(lengths, t)[0][:, 0], _masks(lengths, t)[1], _masks(lengths, t)[2][:, 0]),
            "Your padding masks are (batch, t_source). Two axes mean query by key; an axis that stands for all "
            "queries is missing.",
        ),
        Mistake(
            "inverted",
            lambda lengths, t: tuple(~mask for mask in _masks(lengths, t)),
            "All three are turned round. True means: may look.",
        ),
        Mistake(
            "cross-causal",
            lambda lengths, t: (*_masks(lengths, t)[:2], _masks(lengths, t)[0][..., :1] & _masks(lengths, t)[1]),
            "Your cross-attention is causal. Every target position may read the whole source.",
        ),
        Mistake(
            "decoder-open",
            lambda lengths, t: (_masks(lengths, t)[0], torch.ones(t, t, dtype=torch.bool), _masks(lengths, t)[2]),
            "Your decoder sees the future: nothing hides later positions.",
        ),
        Mistake(
            "upper-triangle",
            lambda lengths, t: (_masks(lengths, t)[0], _masks(lengths, t)[1].mT.clone(), _masks(lengths, t)[2]),
            "Your decoder looks forward and not back: the triangle is the upper one.",
        ),
        Mistake(
            "cross-unmasked",
            lambda lengths, t: (*_masks(lengths, t)[:2], torch.ones_like(_masks(lengths, t)[2])),
            "The padding of the source is hidden in the encoder and not in the cross-attention. The memory has a "
            "vector at each padding position, too.",
        ),
        Mistake(
            "one-pad-too-many",
            Edit("< source_lengths", "<= source_lengths"),
            "Your masks show the first pad. Positions begin at 0: those below the length are real.",
        ),
        Mistake(
            "queries-spelled-out",
            lambda source_lengths, t: (*_masks(source_lengths, t)[:2], _masks(source_lengths, t)[2].expand(-1, t, -1)),
            "You repeated the mask of the cross-attention for each target position. One row, on an axis of its own, "
            "stands for all queries.",
        ),
        Mistake(
            "target-length",
            lambda source_lengths, t: (
                torch.arange(t) < source_lengths[:, None, None],
                _masks(source_lengths, t)[1],
                torch.arange(t) < source_lengths[:, None, None],
            ),
            "Encoder and cross-attention look at the source. Their last axis is as long as the longest source "
            "sentence, not as the target.",
        ),
    ),
)
