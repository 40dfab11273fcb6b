"""Eight numbers stored in fp8, with one scale and with two."""

from companion.pictures import LABEL, Canvas, picture

NUMBERS = (0.0007, -0.0012, 0.002, 0.0004, 310.0, -95.0, 24.0, 448.0)
ONE_SCALE = (0.0, -0.00195, 0.00195, 0.0, 320.0, -96.0, 24.0, 448.0)
TWO_SCALES = (0.00071, -0.00114, 0.002, 0.00039, 320.0, -96.0, 24.0, 448.0)
"""What comes back from E4M3, to the digits that are drawn, with one scale for all and one for each four."""


@picture
def block_scales(wide: bool) -> Canvas:
    """Draw eight numbers, and what is left of them under one scale and under a scale for each block of four."""
    labels = {
        "title": "One scale, or one for each block",
        "desc": (
            "Three rows of eight numbers. The first row has four numbers of about a thousandth, then four from 24 to "
            "448. The second row, read back from fp8 with one scale, has two zeros and twice 0.00195 in place of the "
            "small four. The third row, with one scale for each four, has all eight to within a few per cent."
        ),
        "numbers": "numbers",
        "one": "one scale",
        "two": "two scales",
    }
    c = Canvas("block-scales", wide, 176 if wide else 336, labels["title"], labels["desc"])
    rows = (("numbers", NUMBERS, "soft"), ("one", ONE_SCALE, "soft"), ("two", TWO_SCALES, "attention"))
    for i, (name, numbers, tone) in enumerate(rows):
        y = 16 + (56 if wide else 104) * i
        c.text(16, y + (16 if wide else 8), labels[name], LABEL, "start", strong=name == "two")
        for block in (0, 1):
            x, top = (136 + 288 * block, y) if wide else (16, y + 24 + 36 * block)
            cell = 68 if wide else 76
            values = [f"{number:g}" for number in numbers[4 * block : 4 * block + 4]]
            c.vector(x, top, values, tone, cell, 32)
    return c
