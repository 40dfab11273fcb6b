"""The drawn picture of the page *Before you begin*: a matrix product, rows times columns."""

from collections.abc import Sequence

from companion.pictures import BOLD, LABEL, SMALL, Canvas, Number, picture

ROWS = ((1, 2), (0, 1), (3, 0))
MATRIX = ((2, 0, 1, 1), (1, 3, 0, -1))
PICKED = (0, 1)  # the row and the column that meet in the entry that is worked out


@picture
def matrix_product(
    wide: bool,
    rows: Sequence[Sequence[Number]] = ROWS,
    matrix: Sequence[Sequence[Number]] = MATRIX,
    picked: tuple[int, int] = PICKED,
) -> Canvas:
    """Draw a matrix product: each entry is the dot product of a row on the left and a column above.

    Args:
        rows: of the left matrix, three of width 2.
        matrix: the right one, two rows of width 4.
        picked: the row and the column of the entry that is worked out.

    Returns:
        The picture.
    """
    i, j = picked
    columns = list(zip(*matrix, strict=True))
    product = [[sum(a * b for a, b in zip(row, column, strict=True)) for column in columns] for row in rows]
    terms = " + ".join(f"{a:g} · {b:g}" for a, b in zip(rows[i], columns[j], strict=True))
    labels = {
        "title": "A matrix product, rows times columns",
        "desc": (
            f"The matrix X with {len(rows)} rows of {len(rows[0])} numbers is on the left, the matrix W with "
            f"{len(matrix)} rows of {len(matrix[0])} above. Their product lies where the rows of X meet the columns of "
            f"W. Row {i + 1} of X and column {j + 1} of W give its entry there: {terms} = {product[i][j]:g}."
        ),
        "left": "$X$",
        "right": "$W$",
        "product": "$X$$W$",
        "entry": f"{terms} = {product[i][j]:g}",
        "shapes": [f"{len(one)} × {len(one[0])}" for one in (rows, matrix, product)],
    }
    c = Canvas("matrix-product", wide, 280, labels["title"], labels["desc"])
    cell, x, across = (48, 152, 344) if wide else (36, 32, 160)
    top, below, height = 32, 144, 36
    width, wider, tall = cell * len(rows[0]), cell * len(matrix[0]), height * len(rows)
    drawn = (
        (x, below, rows, below + tall + 16),
        (across, top, matrix, top - 16),
        (across, below, product, below + tall + 16),
    )
    for (left, upper, numbers, beside), shape in zip(drawn, labels["shapes"], strict=True):
        for index, values in enumerate(numbers):
            written = [f"{value:g}".replace("-", "−") for value in values]
            c.vector(left, upper + height * index, written, "ink", cell, height, LABEL)
        c.text(left + cell * len(numbers[0]) / 2, beside, shape, SMALL, tone="muted")
    c.text(x - 12, below + tall / 2, labels["left"], LABEL, "end", strong=True)
    c.text(across - 12, top + height, labels["right"], LABEL, "end", strong=True)
    c.text(across + wider + 8, below + tall / 2, labels["product"], LABEL, "start", strong=True)
    # The row, the column, and the entry where they meet.
    column, row = across + cell * j, below + height * i
    for left, upper, w, h in (
        (x, row, width, height),
        (column, top, cell, height * len(matrix)),
        (column, row, cell, height),
    ):
        c.add(f'<rect x="{left}" y="{upper}" width="{w}" height="{h}" rx="3" class="f-line f-attention f-bold"/>')
    c.arrow((x + width, row + height / 2), (across - 2, row + height / 2), tone="attention", width=BOLD)
    ends = (top + height * len(matrix), below - 2)
    c.arrow((column + cell / 2, ends[0]), (column + cell / 2, ends[1]), tone="attention", width=BOLD)
    c.text(x + width / 2 + 8 * (not wide), below - 24, labels["entry"], LABEL, tone="attention", strong=True)
    return c
