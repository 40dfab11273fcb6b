"""The drawn picture of the rules that choose a token."""

from collections.abc import Sequence

from companion.pictures import LABEL, SMALL, Canvas, picture

PROBABILITIES = (0.40, 0.25, 0.15, 0.10, 0.06, 0.04)
"""Of six tokens, the most probable first."""
RULES = (("none", 0), ("temperature", 0.5), ("temperature", 2), ("top-k", 2), ("top-p", 0.85), ("min-p", 0.3))
"""What each panel does, and with which number."""


@picture
def sampling_rules(wide: bool, probabilities: Sequence[float] = PROBABILITIES) -> Canvas:
    """Draw what temperature, top-k, top-p and min-p make of one distribution.

    Args:
        probabilities: six, which sum to 1, the largest first.

    Returns:
        The picture.

    Raises:
        ValueError: they are not six, do not sum to 1, or are not in this order.
    """
    ordered = list(probabilities) == sorted(probabilities, reverse=True)
    if len(probabilities) != 6 or abs(sum(probabilities) - 1) > 1e-9 or not ordered:
        raise ValueError(
            f"the picture shows six probabilities, the largest first: got {tuple(probabilities)}. Sort them."
        )
    panels = [after(rule, value, probabilities) for rule, value in RULES]
    left = [sum(p > 0 for p in panel) for panel in panels]
    labels = {
        "title": "One distribution, five rules",
        "desc": (
            f"Six tokens have the probabilities {', '.join(f'{p:.2f}' for p in probabilities)}. "
            f"Temperature 0.5 raises the first to {panels[1][0]:.2f}, temperature 2 lowers it to {panels[2][0]:.2f}, "
            f"and no token is lost. Top-k with 2 keeps {left[3]} tokens, top-p with 0.85 keeps {left[4]}, min-p with "
            f"0.3 keeps {left[5]}; what is left is divided by its sum."
        ),
        "none": "the model",
        "temperature": "temperature",
        "top-k": "top-k",
        "top-p": "top-p",
        "min-p": "min-p",
    }
    columns, across, width, step = (3, 232, 24, 32) if wide else (2, 168, 20, 24)
    c = Canvas("sampling-rules", wide, 160 * (6 // columns) + 8, labels["title"], labels["desc"])
    for i, ((rule, value), panel) in enumerate(zip(RULES, panels, strict=True)):
        x, y = (24 if wide else 16) + across * (i % columns), 160 * (i // columns)
        c.text(x, y + 16, labels[rule] + f" {value}" * bool(value), LABEL, "start", strong=True)
        for j, p in enumerate(panel):
            c.bar(x + step * j, y + 56, width, 88, p, "attention" if i else "ink", upright=True)
            c.text(
                x + step * j + width / 2, y + 44, f"{100 * p:.0f}" if p else "–", SMALL, tone="ink" if p else "muted"
            )
    return c


def after(rule: str, value: float | int, probabilities: Sequence[float]) -> list[float]:
    """Apply one rule to a distribution, and divide by the sum.

    Args:
        rule: the first of a pair of ``RULES``.
        value: its number.
        probabilities: the largest first.

    Returns:
        The new probabilities; 0 for a token that is out.
    """
    if rule == "temperature":
        kept = [p ** (1 / value) for p in probabilities]
    elif rule == "top-k":
        kept = [p * (i < value) for i, p in enumerate(probabilities)]
    elif rule == "top-p":
        kept = [p * (sum(probabilities[:i]) < value) for i, p in enumerate(probabilities)]
    elif rule == "min-p":
        kept = [p * (p >= value * probabilities[0]) for p in probabilities]
    else:
        kept = list(probabilities)
    return [p / sum(kept) for p in kept]
