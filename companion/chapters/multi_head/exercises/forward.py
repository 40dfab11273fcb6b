"""Exercise on the whole layer: ``multi-head``."""

import math

import torch
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs

F32, F64 = torch.float32, torch.float64


def _cut(x: Tensor, n_heads: int) -> Tensor:
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)


def _multi_head(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, n_heads: int, mask: Tensor | None = None
) -> Tensor:
    query, key, value = (_cut(x @ w, n_heads) for w in (w_q, w_k, w_v))
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask[:, None], -torch.inf)
    output = scores.softmax(dim=-1) @ value
    return output.transpose(1, 2).flatten(2) @ w_o


def _cases() -> list[Case]:
    draw = RandomInputs(14)

    def layer(
        batch: int,
        t: int,
        d: int,
        n_heads: int,
        d_k: int,
        d_v: int,
        dtype: torch.dtype,
        *,
        masked: bool = False,
        scale: float = 1.0,
    ) -> tuple:
        x = draw.normal(batch, t, d, dtype=dtype, scale=scale)
        w_q, w_k = (draw.normal(d, n_heads * d_k, dtype=dtype, scale=1 / scale**0.5) for _ in range(2))
        w_v, w_o = draw.normal(d, n_heads * d_v, dtype=dtype), draw.normal(n_heads * d_v, d, dtype=dtype)
        mask = draw.mask(batch, t, t)
        return x, w_q, w_k, w_v, w_o, n_heads, mask if masked else None

    eye, one = torch.eye(2), torch.ones(1, 1)
    far = torch.tensor([[[1e10], [-2e10]]]), one, one, one, one, 1, torch.tensor([[[True, True], [True, False]]])
    by_hand = torch.tensor([[[math.log(3.0), 0.0], [0.0, 0.0]]]), eye, eye, eye, eye, 2, None
    return [
        Case(by_hand, "the example"),
        Case(layer(1, 2, 4, 2, 2, 2, F64)),
        Case(layer(1, 3, 5, 1, 3, 2, F32), "one head"),
        Case(layer(2, 5, 7, 3, 2, 4, F64), "heads that do not divide the width"),
        Case(layer(2, 5, 7, 3, 2, 4, F32, masked=True), "a mask"),
        Case(layer(3, 3, 5, 3, 2, 1, F64, masked=True), "a mask, as many heads as sentences"),
        Case(layer(1, 4, 6, 4, 3, 2, F32), "as many heads as positions"),
        Case(layer(2, 3, 5, 2, 4, 3, F64, scale=1e3), "large numbers"),
        Case(far, "scores far from 0, the largest hidden"),
        Case(layer(2, 5, 7, 3, 2, 4, F32, masked=True), "the same sizes, another mask"),
    ]


MULTI_HEAD = Exercise(
    name="multi-head",
    title="Write the multi-head layer",
    chapter="multi-head",
    level=2,
    place=4,
    minutes=25,
    reference=_multi_head,
    gradients=("x", "w_q", "w_k", "w_v", "w_o"),
    cases=_cases,
    tested="one head, heads that do not divide the width, masks, as many heads as sentences, a large hidden score, "
    "both dtypes",
    hints=(
        "Five steps: project, cut into heads, attend, join, project. Write the shape after each of them beside your "
        "code before you run it.",
        "To cut, view (batch, t, h d) as (batch, t, h, d) and exchange the two middle axes; to join, exchange them "
        "again and flatten the last two. In the middle, matrix products take the axes of batch and heads along by "
        "themselves: only the last two matter.",
        "Each head scales by the root of its own width. A mask is for queries and keys of a sentence; the scores have "
        "one "
        "axis more, between the batch and the queries, and the mask must have it too.",
    ),
    mistakes=(
        Mistake(
            "no-heads",
            Edit("x.unflatten(-1, (n_heads, -1)).transpose(1, 2)", "x[:, None]", of=_cut),
            "This is one wide head: the projections are right, but nothing is cut into heads.",
        ),
        Mistake(
            "scale-of-all-heads",
            Edit("query.shape[-1]", "w_q.shape[1]"),
            "You scaled by the width of all heads together. Each head's scores are sums over its own width only.",
        ),
        Mistake(
            "scale-of-model",
            Edit("query.shape[-1]", "x.shape[-1]"),
            "You scaled by the width of the model. Each head's scores are sums over its own width.",
        ),
        Mistake(
            "scale-of-model-over-heads",
            Edit("query.shape[-1]", "x.shape[-1] / n_heads"),
            "You took d_model over the number of heads for the width of a head. Here the width follows from the "
            "columns of `w_q`.",
        ),
        Mistake(
            "view-only",
            Edit(
                "x.unflatten(-1, (n_heads, -1)).transpose(1, 2)", "x.reshape(len(x), n_heads, x.shape[1], -1)", of=_cut
            ),
            "Your heads hold whole positions instead of a part of each: the cut only gave the numbers another shape. "
            "Two axes have to change places.",
        ),
        Mistake(
            "joined-by-view",
            Edit("output.transpose(1, 2).flatten(2)", "output.reshape(*x.shape[:2], -1)"),
            "The heads are joined without bringing them after the positions first, so positions and heads are mixed "
            "up.",
        ),
        Mistake(
            "no-output-projection",
            Edit(" @ w_o", ""),
            "The heads are joined, but the last matrix is missing: nothing mixes them.",
        ),
        Mistake(
            "over-queries",
            Edit("softmax(dim=-1)", "softmax(dim=-2)"),
            "Your softmax runs over the queries. Each query has one distribution over the keys.",
        ),
        Mistake(
            "over-heads",
            Edit("softmax(dim=-1)", "softmax(dim=1)"),
            "Your softmax runs over the heads, so they compete. Each head has its own distribution over the keys.",
        ),
        Mistake(
            "mask-ignored",
            Edit(".masked_fill(~mask[:, None], -torch.inf)", ""),
            "The mask has no effect yet.",
        ),
        Mistake(
            "mask-inverted",
            Edit("~mask", "mask"),
            "The mask is read the other way round: True means that the query may look.",
        ),
        Mistake(
            "renormalised",
            (
                Edit(".masked_fill(~mask[:, None], -torch.inf)", ""),
                Edit(
                    "    output = scores.softmax(dim=-1)",
                    "    weights = scores.softmax(dim=-1) * (1 if mask is None else mask[:, None])\n"
                    "    output = weights / weights.sum(dim=-1, keepdim=True)",
                ),
            ),
            "You hid keys after the softmax and divided by what was left. In this case a hidden score is so large that "
            "it took all the weight: nothing is left to divide by. Hide scores, not weights.",
        ),
        Mistake(
            "finite-stand-in",
            Edit("-torch.inf", "-1e4"),
            "You hid keys with a negative number that is not large enough: here a score that may be seen lies below "
            "it. Hide them with -inf.",
            also=(Edit(".masked_fill(~mask[:, None], -torch.inf)", " + ~mask[:, None] * -1e4"),),
        ),
        Mistake(
            "mask-without-head-axis",
            Edit("mask[:, None]", "mask"),
            "Your mask has no axis for the heads. It meets scores with one axis more, and its first axis, the "
            "sentences, "
            "is read as the heads: it raises, or where the two are equally many hides the wrong keys in silence.",
        ),
        Mistake(
            "no-scale",
            Edit(" / math.sqrt(query.shape[-1])", ""),
            "You did not scale the scores: each head divides by the root of its own width.",
        ),
        Mistake(
            "width-not-root",
            Edit("math.sqrt(query.shape[-1])", "query.shape[-1]"),
            "You divided the scores by the width of a head itself. Divide by its root.",
        ),
        Mistake(
            "mask-after-softmax",
            (
                Edit(".masked_fill(~mask[:, None], -torch.inf)", ""),
                Edit("scores.softmax(dim=-1) @", "(scores.softmax(dim=-1) * (1 if mask is None else mask[:, None])) @"),
            ),
            "You applied the mask after the softmax. The hidden positions had taken their share already, so the "
            "weights of a query sum to less than 1.",
        ),
        Mistake(
            "averaged",
            Edit("softmax(dim=-1) @ value", "softmax(dim=-1) @ value / n_heads"),
            "You divided by the number of heads. Heads are joined side by side, and `w_o` sums what they bring: "
            "nothing is averaged.",
        ),
    ),
)
