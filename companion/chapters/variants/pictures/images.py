"""A digit that becomes a sequence of patches, and object queries with what they are matched to."""

from companion.pictures import LABEL, SMALL, Canvas, Number, number, picture

DIGIT = ("00243000", "02324100", "00033000", "00043000", "00003300", "00000220", "00211420", "00233200")
"""The fourth digit of the book, its numbers rounded."""
PATCH = 2
SAID = ("3", "none", "none", "8", "3", "none")
"""What six queries say."""
OBJECTS = {"8": 3, "3": 0}
"""The objects, and the queries they are matched with; a second query says 3 too, and is told to say none."""


def _pixels(c: Canvas, x: Number, y: Number, rows: tuple[str, ...], cell: Number) -> None:
    """Draw pixels with four strengths of ink."""
    for level in "1234":
        path = "".join(
            f"M{number(x + j * cell)} {number(y + i * cell)}h{number(cell)}v{number(cell)}h-{number(cell)}z"
            for i, row in enumerate(rows)
            for j, value in enumerate(row)
            if value == level
        )
        c.add(f'<path d="{path}" class="f-full f-ink" style="opacity:{int(level) / 4}"/>' if path else "")


@picture
def patches_as_tokens(wide: bool) -> Canvas:
    """Draw a digit, its patches in a row behind the class token, and the encoder that reads them."""
    labels = {
        "title": "A digit as a sequence of patches",
        "desc": (
            "An image of 8 by 8 pixels shows a handwritten 3. Lines divide it into 16 squares of 2 by 2 pixels. The "
            "squares stand in a row, the first row of the image first, behind a class token. All 17 go into an "
            "encoder with their positions, 0 to 16. Only the output of the class token is read, and it says 3."
        ),
        "image": "8 × 8 pixels",
        "patches": "16 patches",
        "positions": "+ positions",
        "class": "class",
        "encoder": "encoder",
        "answer": "3",
    }
    c = Canvas("patches-as-tokens", wide, 208 if wide else 344, labels["title"], labels["desc"])
    side, per = 16, len(DIGIT) // PATCH
    x, y = (8, 56) if wide else (108, 8)
    _pixels(c, x, y, DIGIT, side)
    lines = "".join(
        f"M{x + i * side * PATCH} {y}v{8 * side}M{x} {y + i * side * PATCH}h{8 * side}" for i in range(per + 1)
    )
    c.add(f'<path d="{lines}" class="f-line f-muted"/>')
    c.text(x + 4 * side, y + 8 * side + 16, labels["image"], SMALL, tone="muted")
    cell, pitch = (10, 30) if wide else (7, 19)
    left, row = (192, 152) if wide else (10, 300)
    wide_token = PATCH * cell
    encoder, answer = (80, 16) if wide else (232, 176)
    right = left + (per**2) * pitch + wide_token
    if wide:
        c.arrow((x + 8 * side + 8, row + cell), (left - 12, row + cell), tone="muted")
    c.box(left - 4, encoder, right - left + 8, 40, labels["encoder"])
    outline = []
    for k in range(per**2 + 1):
        at = left + k * pitch
        middle = at + wide_token / 2
        if k == 0:
            c.box(at, row, wide_token, wide_token, tone="attention", radius=3)
        else:
            i, j = divmod(k - 1, per)
            part = tuple(line[PATCH * j : PATCH * j + PATCH] for line in DIGIT[PATCH * i : PATCH * i + PATCH])
            _pixels(c, at, row, part, cell)
            outline.append(f"M{number(at)} {row}h{wide_token}v{wide_token}h-{wide_token}z")
        tone = "attention" if k == 0 else "muted"
        c.arrow((middle, row - 2), (middle, encoder + 42), tone=tone)
    c.add(f'<path d="{"".join(outline)}" class="f-line f-muted"/>')
    first = left + wide_token / 2
    c.text(left - 2, row + wide_token + 16, labels["class"], SMALL, "start", tone="attention")
    c.text((left + pitch + right) / 2, row + wide_token + 16, labels["patches"], SMALL, tone="muted")
    c.text(right, row + wide_token + 16, labels["positions"], SMALL, "end", tone="muted")
    c.arrow((first, encoder - 2), (first, answer + 26), tone="attention", width=2.5)
    c.box(first - 12, answer, 24, 24, labels["answer"], tone="attention", bold=True, size=LABEL)
    return c


@picture
def object_queries(wide: bool) -> Canvas:
    """Draw what six queries say, and the two objects that are matched with two of them."""
    labels = {
        "title": "Queries matched with objects",
        "desc": (
            "An image with two digits, an 8 and a 3, goes through an encoder. A decoder has six learned queries as "
            "its input and reads the encoder's output. The queries say: 3, none, none, 8, 3, none. The object 8 is "
            "matched with the fourth query and the object 3 with the first. The fifth, which says 3 too, and the "
            "others have no object, and must say none."
        ),
        "image": "image",
        "encoder": "encoder",
        "decoder": "decoder",
        "queries": "6 queries",
        "said": "said",
        "objects": "objects",
    }
    c = Canvas("object-queries", wide, 272 if wide else 440, labels["title"], labels["desc"])
    size, step = 28, 40
    cells = {(0, 2): "8", (1, 0): "3"}
    x, y = 8, 96 if wide else 8
    for i in range(3):
        for j in range(3):
            c.box(x + j * size, y + i * size, size, size, cells.get((i, j), ""), radius=0)
    c.text(x + 1.5 * size, y + 3 * size + 16, labels["image"], SMALL, tone="muted")
    across = y + 1.5 * size
    c.arrow((x + 3 * size + 2, across), (126, across))
    c.box(128, across - 20, 88, 40, labels["encoder"])
    if wide:
        left, top = 264, 32
        c.arrow((218, across), (left - 2, across))
    else:
        left, top = 8, 200
        c.arrow((172, across + 22), (172, 168), (120, 168), (120, top - 2), tone="ink")
    c.box(left, top, 112, 6 * step - 12, labels["decoder"], labels["queries"])
    out = left + 112 + (40 if wide else 24)
    far = out + (176 if wide else 120)
    c.text(out + 32, top - 16, labels["said"], SMALL, tone="muted")
    c.text(far + 20, top - 16, labels["objects"], SMALL, tone="muted")
    matched = {query: name for name, query in OBJECTS.items()}
    for k, said in enumerate(SAID):
        middle = top + k * step + 14
        c.arrow((left + 114, middle), (out - 2, middle), tone="muted")
        c.box(out, middle - 14, 64, 28, said, tone="attention" if k in matched else "ink", size=LABEL)
    for k, (name, query) in enumerate(OBJECTS.items()):
        middle = top + (1.5 + 2 * k) * step + 14
        c.box(far, middle - 20, 40, 40, name, tone="attention")
        start = top + query * step + 14
        c.add(f'<path d="M{out + 66} {number(start)}L{far - 2} {number(middle)}" class="f-line f-attention f-bold"/>')
    return c
