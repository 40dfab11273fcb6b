"""The drawn pictures of work: two layers of equal work, and one product."""

from collections.abc import Sequence

from companion import cost
from companion.pictures import LABEL, SMALL, TITLE, Canvas, picture

EQUAL = {"n": 1024, "d": 512}  # an attention layer and an LSTM layer take equally many FLOPs at n = 2 d
PRODUCT = (3, 4, 5)  # rows, inner size and columns of the product that is drawn


@picture
def equal_work(wide: bool, n: int = EQUAL["n"], d: int = EQUAL["d"]) -> Canvas:
    """Draw what an attention layer and an LSTM layer of equal work differ in.

    Args:
        n: positions; twice the width.
        d: width.

    Returns:
        The picture.

    Raises:
        ValueError: the work is not equal at these sizes.
    """
    attention, lstm = cost.self_attention_layer(n, d), cost.recurrent_layer(n, d, gates=4)
    if attention.flops != lstm.flops:
        raise ValueError(f"the two layers take equally many FLOPs at n = 2 d: got n={n} and d={d}. Change one.")
    labels = {
        "title": "Two layers of equal work",
        "desc": (
            f"An attention layer and an LSTM layer on {n:,} positions of width {d}. "
            f"Both take {attention.flops / 1e9:.1f} billion operations. "
            f"Attention takes 1 sequential step, the LSTM {n:,}. "
            f"The longest path is 1 in attention and {n:,} in the LSTM. "
            f"Attention multiplies {n:,} rows by a matrix at once; the LSTM's state is one row, but its "
            "input products, half the work, can be batched."
        ),
        "work": "operations",
        "flops": f"{attention.flops / 1e9:.1f} billion",
        "steps": "sequential steps",
        "path": "longest path",
        "rows": "rows per product",
        "attention": "attention",
        "lstm": "LSTM",
    }
    rows = {
        "work": (1, 1, labels["flops"], labels["flops"]),
        "steps": (1 / n, 1, "1", f"{n:,}"),
        "path": (1 / n, 1, "1", f"{n:,}"),
        "rows": (1, 1 / n, f"{n:,}", "1"),
    }
    top, step, width = (48, 40, 152) if wide else (48, 64, 68)
    c = Canvas("equal-work", wide, top + step * len(rows) + (0 if wide else 8), labels["title"], labels["desc"])
    for k, kind in enumerate(("attention", "lstm")):
        x = (184 + 272 * k) if wide else (16 + 168 * k)
        c.text(x, 20, labels[kind], TITLE, "start", strong=True)
        for i, (name, row) in enumerate(rows.items()):
            y = top + step * i + (0 if wide else 24)
            if k == 0:
                c.text(16, y + 12 if wide else y - 16, labels[name], LABEL if wide else SMALL, "start")
            c.bar(x, y, width, 24, row[k], "attention" if name != "work" else "ink")
            c.text(x + width + 8, y + 12, row[2 + k], SMALL, "start")
    return c


@picture
def one_product(wide: bool, sizes: Sequence[int] = PRODUCT) -> Canvas:
    """Draw a matrix product, and what one of its entries takes.

    Args:
        sizes: rows, inner size and columns, each at most 5.

    Returns:
        The picture.

    Raises:
        ValueError: a matrix is larger than there is room.
    """
    a, b, columns = sizes
    if max(sizes) > 5:
        raise ValueError(f"the picture has room for sizes up to 5: got {tuple(sizes)}. Draw a smaller product.")
    labels = {
        "title": "One entry of a matrix product",
        "desc": (
            f"A matrix of {a} rows and {b} columns times one of {b} rows and {columns} columns gives one of {a} rows "
            f"and {columns} columns. One entry of the result is a row of the first, times a column of the second: {b} "
            f"multiplications and {b} additions, {2 * b} FLOPs. The {a * columns} entries take "
            f"{cost.matmul_flops(a, b, columns)}."
        ),
        "entry": f"one entry: {2 * b} FLOPs",
        "all": f"{a * columns} entries: {cost.matmul_flops(a, b, columns)} FLOPs",
    }
    cell, gap, left = (32, 56, 64) if wide else (18, 24, 14)
    top = 40
    c = Canvas("one-product", wide, (top + cell * b + 64 + 7) // 8 * 8, labels["title"], labels["desc"])
    x, lit_row, lit_column = left, 1, 2
    for index, (rows, wide_by) in enumerate(((a, b), (b, columns), (a, columns))):
        c.text(x + cell * wide_by / 2, 20, f"{rows} × {wide_by}", SMALL)
        for i in range(rows):
            for j in range(wide_by):
                lit = (i == lit_row, j == lit_column, (i, j) == (lit_row, lit_column))[index]
                c.vector(x + cell * j, top + cell * i, [""], "attention" if lit else "ink", cell - 4, cell - 4)
        if index < 2:
            c.text(x + cell * wide_by + gap / 2 - 2, top + cell * a / 2, "×="[index], LABEL)
        x += cell * wide_by + gap
    right = x - gap
    c.text(right, top + cell * b + 16, labels["entry"], SMALL, "end", "attention", strong=True)
    c.text(right, top + cell * b + 40, labels["all"], SMALL, "end")
    return c
