"""Exercises on masks: ``causal-mask``, ``padding-mask``."""

import torch
from torch import Tensor

from companion.practice.definition import Case, Exercise, Mistake

BOOL = torch.bool


def _causal_mask(t_q: int, t_k: int) -> Tensor:
    query = torch.arange(t_k - t_q, t_k)[:, None]  # the last query stands at the last key
    return torch.arange(t_k) <= query


def _lower(t_q: int, t_k: int, diagonal: int) -> Tensor:
    return torch.ones(t_q, t_k, dtype=BOOL).tril(diagonal)


def _causal_cases() -> list[Case]:
    sizes = {
        (2, 3): "the example",
        (1, 1): "",
        (3, 3): "as many keys as queries",
        (1, 7): "one query, as in generation with a cache",
        (5, 7): "two keys in a cache",
        (3, 11): "eight keys in a cache",
        (13, 13): "as many keys as queries",
        (600, 700): "a long text",
    }
    return [Case(pair, note) for pair, note in sizes.items()]


CAUSAL_MASK = Exercise(
    name="causal-mask",
    title="Build a causal mask",
    chapter="attention",
    level=1,
    place=3,
    minutes=10,
    reference=_causal_mask,
    cases=_causal_cases,
    tested="as many keys as queries, more keys than queries, one query, one key",
    hints=(
        "Draw the grid for two queries and three keys. The last query stands at the last key: where does the first?",
        "Give each query its position among the keys. With t_k - t_q keys in the past, query i does not stand at "
        "position i. A query sees its own position.",
        "One comparison of query positions with key positions fills the whole grid, if one of them is a column. "
        "Check two corners: the last query sees every key, and with as many keys as queries the first sees key 0 only.",
    ),
    mistakes=(
        Mistake(
            "strict",
            lambda t_q, t_k: _lower(t_q, t_k, t_k - t_q - 1),
            "No query sees its own position. With as many keys as queries the first row is then empty, and its softmax "
            "has nothing to divide by.",
        ),
        Mistake(
            "one-ahead",
            lambda t_q, t_k: _lower(t_q, t_k, t_k - t_q + 1),
            "Each query sees one position too many: the token it is to predict. Training loss falls to almost nothing "
            "and generation fails.",
        ),
        Mistake(
            "hides-where-true",
            lambda t_q, t_k: ~_lower(t_q, t_k, t_k - t_q),
            "Your mask is `True` where the query must not look. Here `True` means that it may: every entry is the "
            "opposite.",
        ),
        Mistake(
            "looks-ahead",
            lambda t_q, t_k: torch.ones(t_q, t_k, dtype=BOOL).triu(t_k - t_q),
            "You kept the upper triangle: each query sees itself and the future. The last row should allow every key, "
            "and yours hides the past.",
            also=(lambda t_q, t_k: torch.ones(t_q, t_k, dtype=BOOL).triu(),),
        ),
        Mistake(
            "top-left",
            lambda t_q, t_k: _lower(t_q, t_k, 0),
            "You set the first query at the first key. With a cache it is the last query that stands at the last key; "
            "your last row does not allow the last key. `is_causal=True` of scaled_dot_product_attention aligns as "
            "you did.",
        ),
        Mistake(
            "square",
            lambda t_q, t_k: _lower(t_q, t_q, 0),
            "Your mask is square over the queries. Two axes of a mask are always query by key.",
            also=(lambda t_q, t_k: _lower(t_k, t_k, 0),),
        ),
        Mistake(
            "keys-by-queries",
            lambda t_q, t_k: _lower(t_q, t_k, t_k - t_q).mT,
            "Rows and columns are exchanged: a row belongs to a query, a column to a key.",
            also=(lambda t_q, t_k: _lower(t_k, t_q, 0),),
        ),
        Mistake(
            "zeros-and-ones",
            lambda t_q, t_k: _lower(t_q, t_k, t_k - t_q).float(),
            "Your mask holds numbers. Handed to scaled_dot_product_attention, a float mask of 0 and 1 is added to the "
            "scores and hides nothing. Ask for booleans: `dtype=torch.bool`, or a comparison.",
            also=(
                lambda t_q, t_k: _lower(t_q, t_k, t_k - t_q).double(),
                lambda t_q, t_k: _lower(t_q, t_k, t_k - t_q).long(),
                lambda t_q, t_k: _lower(t_q, t_k, 0).float(),
            ),
        ),
        Mistake(
            "additive",
            lambda t_q, t_k: torch.zeros(t_q, t_k).masked_fill(~_lower(t_q, t_k, t_k - t_q), -torch.inf),
            "You built an additive mask of 0 and -inf. The exercise asks for the boolean one, `True` = may look.",
            also=(lambda t_q, t_k: torch.full((t_q, t_k), -torch.inf).triu(1),),
        ),
    ),
)


def _padding_mask(lengths: Tensor, t_k: int) -> Tensor:
    return torch.arange(t_k) < lengths[:, None, None]


def _padding_cases() -> list[Case]:
    cases = {
        ((3, 1), 3): "the example",
        ((1,), 1): "one token",
        ((2, 5, 3), 7): "no sentence fills the batch",
        ((5, 0), 5): "an empty sentence",
        ((3, 3), 3): "nothing to hide",
        ((1, 2, 3), 3): "as many sentences as keys",
        ((7, 2, 11, 5, 3), 13): "",
    }
    return [Case((torch.tensor(lengths), t_k), note) for (lengths, t_k), note in cases.items()]


PADDING_MASK = Exercise(
    name="padding-mask",
    title="Build a padding mask",
    chapter="attention",
    level=1,
    place=4,
    minutes=10,
    reference=_padding_mask,
    cases=_padding_cases,
    tested="no, some and only padding, a batch wider than its longest sentence, as many sentences as keys",
    hints=(
        "Key j of sentence b is real when j is below the length of b. Both j and the lengths are vectors: how do they "
        "meet in one grid?",
        "The result has three axes. The middle one, of size 1, stands for all queries, since padding is the same for "
        "each of them. Indexing with None adds an axis.",
        "One comparison of positions with lengths fills the whole mask. Write the shape of each beside it: which axes "
        "are missing? Positions count from 0, so a sentence of length 1 keeps position 0 only.",
    ),
    mistakes=(
        Mistake(
            "two-axes",
            lambda lengths, t_k: torch.arange(t_k) < lengths[:, None],
            "Your mask is (batch, t_k). Two axes mean query by key, so sentence b's row would be read as query b's row "
            "of every sentence; with as many queries as sentences nothing even complains.",
        ),
        Mistake(
            "off-by-one",
            lambda lengths, t_k: torch.arange(t_k) <= lengths[:, None, None],
            "One pad too many is visible: positions count from 0, so a sentence of length 1 has position 0 only. Sum "
            "your mask over its last axis and compare with the lengths.",
        ),
        Mistake(
            "last-token-lost",
            lambda lengths, t_k: torch.arange(1, t_k + 1) < lengths[:, None, None],
            "The last real token of each sentence is hidden. Sum your mask over its last axis and compare with the "
            "lengths.",
        ),
        Mistake(
            "true-for-padding",
            lambda lengths, t_k: torch.arange(t_k) >= lengths[:, None, None],
            "Your mask is `True` on the padding, as `key_padding_mask` of nn.MultiheadAttention wants it. Here `True` "
            "means: may look.",
        ),
        Mistake(
            "queries-hidden",
            lambda lengths, t_k: torch.arange(t_k)[:, None] < lengths[:, None, None],
            "You masked query rows, (batch, t, 1). A real token then still looks at every pad, and a pad row has no "
            "key left. It is the keys that have to be hidden.",
        ),
        Mistake(
            "keys-and-queries",
            lambda lengths, t_k: (
                (torch.arange(t_k) < lengths[:, None, None]) & (torch.arange(t_k)[:, None] < lengths[:, None, None])
            ),
            "You hid the rows of the pads as well. The number of queries need not be t_k (think of cross-attention), "
            "and a row with no key gives NaN in many implementations. Hide keys only.",
        ),
        Mistake(
            "longest-sentence",
            lambda lengths, t_k: torch.arange(int(lengths.max())) < lengths[:, None, None],
            "Your mask is as wide as the longest sentence. The batch may be padded further: its width is t_k.",
        ),
        Mistake(
            "padded-left",
            lambda lengths, t_k: torch.arange(t_k) >= t_k - lengths[:, None, None],
            "You kept the last positions of each sentence. The padding of this exercise stands at the end.",
        ),
        Mistake(
            "zeros-and-ones",
            lambda lengths, t_k: (torch.arange(t_k) < lengths[:, None, None]).float(),
            "Your mask holds numbers. A float mask is added to the scores and hides nothing: return booleans.",
            also=(
                lambda lengths, t_k: (torch.arange(t_k) < lengths[:, None, None]).long(),
                lambda lengths, t_k: (torch.arange(t_k) < lengths[:, None, None]).int(),
            ),
        ),
    ),
)
