"""A tile of attention between the large memory and the one on the chip."""

from companion.pictures import LABEL, SMALL, TITLE, Canvas, picture

BLOCKS, QUERIES, KEYS = 4, 2, 1
"""Blocks of positions, and the blocks of queries and of keys that are on the chip."""


@picture
def flash_tiles(wide: bool, blocks: int = BLOCKS) -> Canvas:
    """Draw which blocks are on the chip, and what goes in and out.

    Args:
        blocks: of queries, and of keys.

    Returns:
        The picture.
    """
    labels = {
        "title": "One tile between two memories",
        "desc": (
            f"The large memory holds queries Q, keys K, values V and the output O with its log-sum-exp L, each in "
            f"{blocks} blocks. Block {QUERIES + 1} of Q has been read to the chip and stays there, with its O and L. "
            f"Block {KEYS + 1} of K and V is read, and the tile of scores is computed on the chip, which it never "
            "leaves. O and L are written once, after the last block of keys."
        ),
        "hbm": "Large memory",
        "hbm-sub": "HBM",
        "sram": "On the chip",
        "sram-sub": "SRAM",
        "stay": "stay for a pass",
        "go": "read each time",
        "tile": "score tile",
        "tile-sub": "never leaves",
    }
    width, height = (304, 232) if wide else (328, 208)
    c = Canvas("flash-tiles", wide, 264 if wide else 512, labels["title"], labels["desc"])
    size = TITLE if wide else LABEL
    c.group(8, 16, width, height, labels["hbm"], labels["hbm-sub"])
    tones = {"Q": "query", "K": "key", "V": "value", "O": "ink", "L": "ink"}
    step, side, top = (56, 40, 84) if wide else (60, 40, 84)
    for k, (name, tone) in enumerate(tones.items()):
        x = 28 + step * k + (0 if wide else 2)
        c.text(x + side / 2, top - 14, f"${name}$", LABEL, strong=True)
        held = KEYS if name in "KV" else QUERIES
        for block in range(blocks):
            y = top + 28 * block
            c.box(x, y, side, 24, tone=tone if block == held else "soft", radius=3)
            if block == held:
                c.text(x + side / 2, y + 12, f"${name}_{'j' if name in 'KV' else 'i'}$", SMALL)
    left, up = (424, 16) if wide else (8, 288)
    c.group(left, up, 288 if wide else 328, 232 if wide else 208, labels["sram"], labels["sram-sub"])
    x, y = left + 20, up + (68 if wide else 56)
    c.box(x, y, 60, 28, "$Q_i$", tone="query", radius=3)
    c.box(x + 64, y, 60, 28, "$O_i$, $L_i$", radius=3)
    c.text(x, y + 44, labels["stay"], SMALL, "start", "muted")
    c.box(x, y + 72, 60, 28, "$K_j$", tone="key", radius=3)
    c.box(x + 64, y + 72, 60, 28, "$V_j$", tone="value", radius=3)
    c.text(x, y + 116, labels["go"], SMALL, "start", "muted")
    tile = c.box(x + 148, y + 16, 112, 76, labels["tile"], labels["tile-sub"], tone="attention", bold=True, size=size)
    c.arrow((x + 126, y + 14), (x + 137, y + 14), (x + 137, y + 40), (tile.x - 2, y + 40), radius=4)
    c.arrow((x + 126, y + 86), (x + 137, y + 86), (x + 137, y + 68), (tile.x - 2, y + 68), radius=4)
    if wide:
        right, start = 8 + width + 2, left - 2
        c.arrow((right, 112), (start, 112), tone="query", label="$Q_i$", off=(0, -14))
        c.arrow((right, 164), (start, 164), tone="ink", label="$K_j$, $V_j$", off=(0, -14))
        c.arrow((start, 212), (right, 212), label="$O_i$, $L_i$", off=(0, -14))
    else:
        low, high = 226, 286
        c.arrow((48, low), (48, high), tone="query", label="$Q_i$", off=(8, 0), anchor="start")
        c.arrow((148, low), (148, high), label="$K_j$, $V_j$", off=(8, 0), anchor="start")
        c.arrow((268, high), (268, low), label="$O_i$, $L_i$", off=(8, 0), anchor="start")
    return c
