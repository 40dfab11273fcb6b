"""Exercises on the heads as parts of a sum: ``head-contributions`` and ``prune-heads``."""

import torch
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs

F32, F64 = torch.float32, torch.float64


def _contributions(heads: Tensor, w_o: Tensor) -> Tensor:
    return heads @ w_o.unflatten(0, (heads.shape[1], -1))


def _contribution_cases() -> list[Case]:
    draw = RandomInputs(15)

    def layer(batch: int, n_heads: int, t: int, d_v: int, d: int, dtype: torch.dtype, scale: float = 1.0) -> tuple:
        return draw.normal(batch, n_heads, t, d_v, dtype=dtype, scale=scale), draw.normal(n_heads * d_v, d, dtype=dtype)

    by_hand = torch.tensor([[[[2.0]], [[3.0]]]]), torch.tensor([[1.0, 0.0], [1.0, 1.0]])
    return [
        Case(by_hand, "the example"),
        Case(layer(1, 2, 1, 2, 3, F64)),
        Case(layer(1, 1, 2, 3, 2, F32), "one head"),
        Case(layer(2, 3, 5, 2, 7, F32)),
        Case(layer(2, 3, 2, 2, 6, F64), "joined as wide as the model"),
        Case(layer(3, 2, 3, 5, 4, F64), "wider joined than the model"),
        Case(layer(2, 3, 7, 3, 9, F64, 1e3), "large numbers"),
        Case((draw.normal(2, 5, 3, 4).transpose(1, 2), draw.normal(7, 12).mT), "transposed views"),
    ]


HEAD_CONTRIBUTIONS = Exercise(
    name="head-contributions",
    title="Split the output into what each head brings",
    chapter="multi-head",
    level=2,
    place=5,
    minutes=20,
    reference=_contributions,
    cases=_contribution_cases,
    tested="one head, joined features narrower and wider than the model, transposed views, float32 and float64",
    hints=(
        "Joining and multiplying is a sum over the joined features. Which rows of the matrix does the first head meet?",
        "Cut the rows of the matrix into as many blocks as there are heads, each as high as a head is wide. Then each "
        "head "
        "has a matrix of its own.",
        "With the blocks in one tensor, (n_heads, d_v, d_model), a single matrix product does all heads: its leading "
        "axes "
        "take part by broadcasting. Sum your result over the heads and compare it with the joined product.",
    ),
    mistakes=(
        Mistake(
            "summed",
            lambda heads, w_o: _contributions(heads, w_o).sum(dim=1),
            "You returned the sum over the heads, which is the output of the layer. Keep the heads apart.",
        ),
        Mistake(
            "first-block",
            lambda heads, w_o: heads @ w_o[: heads.shape[-1]],
            "Every head is multiplied by the rows of the first. Each has rows of its own.",
        ),
        Mistake(
            "interleaved-rows",
            lambda heads, w_o: heads @ w_o.unflatten(0, (-1, heads.shape[1])).transpose(0, 1),
            "You dealt the rows out like cards. The rows of one head stand together, as its features do in the joined "
            "vector.",
        ),
        Mistake(
            "averaged",
            lambda heads, w_o: _contributions(heads, w_o) / heads.shape[1],
            "You divided by the number of heads. The heads are added, not averaged.",
        ),
        Mistake(
            "blocks-reversed",
            lambda heads, w_o: heads @ w_o.unflatten(0, (heads.shape[1], -1)).flip(0),
            "The blocks of rows come in the wrong order: the first rows belong to the first head.",
        ),
    ),
)


def _columns(w: Tensor, n_heads: int, keep: Tensor) -> Tensor:
    return w.unflatten(1, (n_heads, -1))[:, keep].flatten(1)


def _prune(
    w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, n_heads: int, keep: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    inner = [_columns(w, n_heads, keep) for w in (w_q, w_k, w_v)]
    return (*inner, _columns(w_o.T, n_heads, keep).T)


def _prune_cases() -> list[Case]:
    draw = RandomInputs(16)

    def layer(
        d: int, n_heads: int, d_k: int, d_v: int, keep: list[int], dtype: torch.dtype, scale: float = 1.0
    ) -> tuple:
        w_q, w_k = (draw.normal(d, n_heads * d_k, dtype=dtype, scale=scale) for _ in range(2))
        w_v, w_o = draw.normal(d, n_heads * d_v, dtype=dtype), draw.normal(n_heads * d_v, d, dtype=dtype)
        return w_q, w_k, w_v, w_o, n_heads, torch.tensor(keep)

    row = torch.tensor([[1.0, 2.0, 3.0, 4.0]])
    by_hand = row, 10 * row, 20 * row, row.T, 2, torch.tensor([1])
    return [
        Case(by_hand, "the example"),
        Case(layer(2, 2, 2, 2, [0], F64)),
        Case(layer(3, 2, 1, 2, [0, 1], F32), "nothing removed"),
        Case(layer(5, 3, 2, 4, [0, 2], F32)),
        Case(layer(6, 3, 2, 2, [1], F64), "joined as wide as the model"),
        Case(layer(4, 5, 3, 2, [1, 3, 4], F64), "joined wider than the model"),
        Case(layer(8, 4, 2, 2, [3, 0], F64, 1e3), "in another order"),
    ]


PRUNE_HEADS = Exercise(
    name="prune-heads",
    title="Remove heads from the matrices",
    chapter="multi-head",
    level=2,
    place=6,
    minutes=20,
    reference=_prune,
    cases=_prune_cases,
    tested="one head kept, all kept, another order, joined features wider than the model, float32 and float64",
    returns=("w_q", "w_k", "w_v", "w_o"),
    hints=(
        "Four matrices, and a head has a place in each. Where do the features of head 1 stand in the queries, and "
        "where in "
        "the joined vector?",
        "In the first three a head is a block of columns, because they are multiplied from the right. In the last it "
        "is a "
        "block of the other kind.",
        "Cut the axis of the joined heads into (n_heads, width), pick along the axis of the heads with `keep`, and "
        "lay the "
        "two axes together again. The widths of keys and values may differ.",
    ),
    mistakes=(
        Mistake(
            "output-untouched",
            Edit("_columns(w_o.T, n_heads, keep).T", "w_o"),
            "The output matrix still has the rows of the heads that are gone: the joined vector no longer fits it.",
        ),
        Mistake(
            "others-kept",
            Edit(
                "    inner =",
                "    keep = torch.tensor([head for head in range(n_heads) if head not in keep], dtype=torch.long)\n"
                "    inner =",
            ),
            "You removed the heads that were to be kept.",
        ),
        Mistake(
            "old-order",
            Edit("    inner =", "    keep = keep.sort().values\n    inner ="),
            "You left the heads in their old order. They come in the order of `keep`.",
        ),
        Mistake(
            "interleaved",
            Edit("(n_heads, -1))[:, keep]", "(-1, n_heads))[:, :, keep]", of=_columns),
            "You dealt the columns out like cards. The columns of one head stand together.",
        ),
        Mistake(
            "set-to-zero",
            Edit(
                "w.unflatten(1, (n_heads, -1))[:, keep]",
                "(w.unflatten(1, (n_heads, -1)) * torch.isin(torch.arange(n_heads), keep)[:, None])",
                of=_columns,
            ),
            "The heads are silent, but still there: the matrices have their old sizes, and the work is the same.",
        ),
        Mistake(
            "output-columns",
            Edit(
                "_columns(w_o.T, n_heads, keep).T",
                "(_columns(w_o.T, n_heads, keep).T if w_o.shape[1] % n_heads else _columns(w_o, n_heads, keep))",
            ),
            "You cut the columns of the output matrix. They are the features of the model; a head is a block of rows "
            "there.",
        ),
        Mistake(
            "output-rows-interleaved",
            Edit("_columns(w_o.T, n_heads, keep).T", "w_o.unflatten(0, (-1, n_heads))[:, keep].flatten(0, 1)"),
            "In `w_o` you took every h-th row. The rows of a head stand together, as its columns do in the other "
            "three.",
        ),
        Mistake(
            "columns-interleaved",
            (
                Edit("(n_heads, -1))[:, keep]", "(-1, n_heads))[:, :, keep]", of=_columns),
                Edit("_columns(w_o.T, n_heads, keep).T", "w_o.unflatten(0, (n_heads, -1))[keep].flatten(0, 1)"),
            ),
            "In the first three matrices you took every h-th column. The columns of a head stand together.",
        ),
        Mistake(
            "one-width",
            Edit(
                "    inner =",
                "    inner_width = w_q.shape[1]\n    w_v, w_o = w_v[:, :inner_width], w_o[:inner_width]\n    inner =",
            ),
            "You cut `w_v` and `w_o` by the width of the queries. Values may have a width of their own: divide the "
            "size of each matrix by the number of heads.",
        ),
    ),
)
