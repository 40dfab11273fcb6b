"""Two encoders, and the table of similarities of what they give."""

from companion.pictures import SMALL, Canvas, picture

IMAGES = ("3", "5", "2")
TEXTS = ("three", "five", "two")


@picture
def two_towers(wide: bool) -> Canvas:
    """Draw three images and their texts, two encoders, and nine similarities with the diagonal marked."""
    labels = {
        "title": "Two towers and their similarities",
        "desc": (
            "Three images, of a 3, a 5 and a 2, go through an image encoder and become the vectors u1, u2 and u3. The "
            "texts three, five and two go through a text encoder and become v1, v2 and v3. A table has the product of "
            "each u with each v. On its diagonal are the three pairs that belong together; these scores should be "
            "large, and the six others small."
        ),
        "image": ("image", "encoder"),
        "text": "text encoder",
        "own": "own pair: large",
        "other": "others: small",
    }
    c = Canvas("two-towers", wide, 352 if wide else 344, labels["title"], labels["desc"])
    left, pitch, cell = (312, 104, 88) if wide else (148, 66, 60)
    tower, vector = (112, 232) if wide else (48, 130)
    width = 88 if wide else 60
    top, step, high = 152, 56, 44
    c.box(left, 64, 2 * pitch + cell, 36, labels["text"])
    c.box(tower, top, width, 2 * step + high, *labels["image"])
    for j, text in enumerate(TEXTS):
        middle = left + j * pitch + cell / 2
        c.box(left + j * pitch, 8, cell, 32, text)
        c.arrow((middle, 42), (middle, 62))
        c.arrow((middle, 102), (middle, 118))
        c.text(middle, 138, f"$v_{j + 1}$")
    for i, image in enumerate(IMAGES):
        y = top + i * step
        middle = y + high / 2
        side = 36 if wide else 32
        c.box(tower - (96 if wide else 46), middle - side / 2, side, side, image, radius=0)
        c.arrow((tower - (58 if wide else 12), middle), (tower - 2, middle))
        c.arrow((tower + width + 2, middle), (vector - (14 if wide else 10), middle))
        c.text(vector, middle + 5, f"$u_{i + 1}$")
        for j in range(len(TEXTS)):
            own = {"tone": "attention", "bold": True} if i == j else {"tone": "muted"}
            size = SMALL if wide else 12
            c.box(left + j * pitch, y, cell, high, f"$u_{i + 1}$ · $v_{j + 1}$", size=size, **own)
    end = top + 3 * step + 12
    c.text(left, end, labels["own"], SMALL, "start", tone="attention")
    c.text(left + 2 * pitch + cell, end, labels["other"], SMALL, "end", tone="muted")
    return c
