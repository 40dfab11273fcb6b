"""A Transformer that is a table, in three stages."""

from collections.abc import Sequence

from companion.pictures import LABEL, SMALL, Canvas, picture

INPUT, CODES, IDS, OUTPUT = (0.8, 0.3), (3, 5), (28.12, 44.12), (0.375, 0.875)
"""Two numbers, their codes with four levels, the numbers of their contexts, and what the table of sorting returns."""


@picture
def three_stages(
    wide: bool,
    numbers: Sequence[float] = INPUT,
    codes: Sequence[float] = CODES,
    ids: Sequence[float] = IDS,
    output: Sequence[float] = OUTPUT,
) -> Canvas:
    """Draw two numbers on their way through quantisation, contextual mapping and look-up.

    Args:
        numbers: the input.
        codes: of its tokens.
        ids: what attention makes of the codes.
        output: the entries of the table.

    Returns:
        The picture.
    """
    rows = [[f"{value:g}" for value in values] for values in (numbers, codes, ids, output)]
    labels = {
        "title": "A Transformer that looks up a table",
        "desc": (
            f"The input {' and '.join(rows[0])} goes through three stages. A feed-forward network turns each number "
            f"into the code of its cell and position, {' and '.join(rows[1])}. Attention adds what it reads of the "
            f"whole sequence, so that the tokens have {' and '.join(rows[2])}. A second network looks these up and "
            f"returns {' and '.join(rows[3])}."
        ),
        "numbers": "input",
        "codes": "codes",
        "ids": "contexts",
        "output": "output",
        "quantise": "quantise",
        "quantise-sub": "FFN, each token",
        "mix": "map contexts",
        "mix-sub": "attention, all tokens",
        "look": "look up",
        "look-sub": "FFN, each token",
    }
    c = Canvas("three-stages", wide, 160 if wide else 480, labels["title"], labels["desc"])
    for k, name in enumerate(("numbers", "codes", "ids", "output")):
        x, y = (16 + 200 * k, 56) if wide else (104, 32 + 132 * k)
        if wide:
            c.text(x + 32, y - 24, labels[name], SMALL, tone="muted")
            for i, value in enumerate(rows[k]):
                c.vector(x, y + 48 * i, [value], "soft", 72, 32)
        else:
            c.text(x - 12, y + 16, labels[name], SMALL, "end", "muted")
            c.vector(x, y, rows[k], "soft", 72, 32)
    for k, name in enumerate(("quantise", "mix", "look")):
        tone, bold = ("attention", True) if name == "mix" else ("ink", False)
        if wide:
            x = 100 + 200 * k
            c.arrow((x, 96), (x + 104, 96), tone=tone, width=2.5 if bold else 0)
            c.text(x + 50, 76, labels[name], SMALL, tone=tone, strong=bold)
            c.text(x + 50, 120, labels[f"{name}-sub"], SMALL, tone="muted", wrap=11)
        else:
            y = 68 + 132 * k
            c.arrow((176, y), (176, y + 92), tone=tone, width=2.5 if bold else 0)
            c.text(192, y + 36, labels[name], LABEL, "start", tone, strong=bold)
            c.text(192, y + 58, labels[f"{name}-sub"], SMALL, "start", "muted")
    return c
