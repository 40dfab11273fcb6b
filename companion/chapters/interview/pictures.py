"""The drawn picture of the tables: what fits on one card."""

from collections.abc import Mapping, Sequence

from companion.cost import RELEASED, released_memory
from companion.pictures import SMALL, Canvas, picture

CARDS = (24, 40, 80, 141)
"""Memory of a card, in GB of 10^9 bytes."""
CONTEXT = 8192
"""Tokens in the cache of a model that is served."""
PLAN = {"GPT-2 XL": (0,), "Llama 3 8B": (16, 8, 4, 0), "Mixtral 8x7B": (16, 8, 4), "Llama 3 70B": (16, 8, 4)}
"""What is drawn: for each model the bits of its weights when it is served, and 0 for training."""


@picture
def what_fits_on_a_card(
    wide: bool, plan: Mapping[str, Sequence[int]] = PLAN, cards: Sequence[int] = CARDS, t: int = CONTEXT
) -> Canvas:
    """Draw the memory that models need to be served and trained, against that of single cards.

    Args:
        plan: for each model the bits of its weights when it is served, and 0 for training.
        cards: their memory in GB, rising.
        t: tokens in the cache of a model that is served.

    Returns:
        The picture.
    """
    needs = {
        (name, bits): released_memory(RELEASED[name], **({"bits": bits, "t": t} if bits else {"training": True}))
        for name, ways in plan.items()
        for bits in ways
    }
    largest = max(need.total for need in needs.values())
    labels = {
        "title": "What fits on one card",
        "desc": (
            f"Bars of memory beside the sizes of cards, {', '.join(map(str, cards))} GB. "
            + ". ".join(
                f"{name} takes "
                + ", ".join(
                    f"{needs[name, bits].total / 1e9:.1f} GB " + (f"in {bits} bits" if bits else "in training")
                    for bits in ways
                )
                for name, ways in plan.items()
            )
            + "."
        ),
        "parts": ("weights", "gradients", "AdamW", "cache"),
        "bits": "{} bits",
        "train": "training",
        "card": "{} GB",
    }
    rows, groups = len(needs), len(plan)
    left, step, between, top = (200, 24, 16, 64) if wide else (76, 24, 32, 88)
    scale = ((624 if wide else 264) - left) / largest
    height = top + step * rows + between * (groups - wide) + 8
    c = Canvas("what-fits-on-a-card", wide, height, labels["title"], labels["desc"])
    tones = ("attention", "soft", "ink", "key")
    for k, part in enumerate(labels["parts"]):
        x, y = (left + 116 * k, 8) if wide else (8 + 168 * (k % 2), 8 + 24 * (k // 2))
        c.vector(x, y, [""], tones[k], 16, 16)
        c.text(x + 24, y + 8, part, SMALL, "start")
    y = top
    for name, ways in plan.items():
        y += 0 if wide else between
        c.text(*((8, y + 10) if wide else (8, y - 14)), name, SMALL, "start", strong=True)
        for bits in ways:
            need = needs[name, bits]
            c.text(left - 8, y + 10, labels["bits"].format(bits) if bits else labels["train"], SMALL, "end")
            x = left
            for part, tone in zip((need.weights, need.gradients, need.optimizer, need.cache), tones, strict=True):
                if part:
                    c.vector(x, y, [""], tone, scale * part, 20)
                x += scale * part
            c.text(c.width - 8, y + 10, labels["card"].format(f"{need.total / 1e9:.1f}"), SMALL, "end")
            y += step
        y += between * wide
    for card in cards:
        x = left + scale * card * 1e9
        c.arrow((x, top - 8), (x, height - 4), tone="muted", head=False)
        c.text(x, top - 20, labels["card"].format(card) if card == cards[-1] else str(card), SMALL, strong=True)
    return c
