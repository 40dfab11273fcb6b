"""The four questions of the chapter."""

from companion.pictures import SMALL, TITLE, Canvas, picture

TOKENS = ["A", "B", "C", "A"]
"""A sequence that a circuit continues with the token after the first A."""


@picture
def four_questions(wide: bool) -> Canvas:
    """Draw what the first pages of the chapter ask."""
    labels = {
        "title": "Four questions about a Transformer",
        "desc": (
            "Four panels. Any function: a smooth curve and the steps that approximate it. Any program: a tape with a "
            "head above its third cell. Which rule: three points, and two curves through them that differ where there "
            f"is no point. Which algorithm: the tokens {' '.join(TOKENS)}, and an arrow from the last one to the "
            "token after the first A."
        ),
        "function": "Any function?",
        "function-sub": "one pass, one length",
        "program": "Any program?",
        "program-sub": "generated tokens",
        "rule": "Which rule?",
        "rule-sub": "of those that fit",
        "heads": "Which algorithm?",
        "heads-sub": "what heads compute",
    }
    pages = {
        "function": "theory/any-function",
        "program": "theory/turing-complete",
        "rule": "theory/inductive-bias",
        "heads": "theory/what-heads-compute",
    }
    c = Canvas("four-questions", wide, 184 if wide else 368, labels["title"], labels["desc"])
    for k, name in enumerate(pages):
        x, y = (16 + 180 * k, 16) if wide else (8 + 176 * (k % 2), 16 + 184 * (k // 2))
        with c.part(name, f"{labels[name]} {labels[f'{name}-sub']}", pages[name]):
            c.text(x, y + 8, labels[name], TITLE if wide else SMALL, "start", strong=True)
            c.text(x, y + 32, labels[f"{name}-sub"], SMALL, "start", "muted")
            low = y + 144
            if name == "function":
                c.add(
                    f'<path d="M{x} {low - 8}C{x + 48} {low - 8} {x + 64} {low - 88} {x + 136} {low - 80}" '
                    'class="f-line f-ink"/>'
                )
                steps = "".join(f"H{x + 34 * (i + 1)}V{low - height}" for i, height in enumerate((36, 64, 80)))
                c.add(f'<path d="M{x} {low - 12}{steps}H{x + 136}" class="f-line f-attention"/>')
            elif name == "program":
                c.vector(x, low - 40, ["1", "0", "1", "_"], "ink", 34, 32)
                c.arrow((x + 85, low - 80), (x + 85, low - 42), tone="attention")
            elif name == "rule":
                c.add(f'<path d="M{x} {low - 24}L{x + 136} {low - 80}" class="f-line f-ink"/>')
                wave = f"M{x + 20} {low - 32}C{x + 40} {low - 100} {x + 48} {low + 4} {x + 68} {low - 52}"
                wave += f"S{x + 96} {low - 8} {x + 116} {low - 72}"
                c.add(f'<path d="{wave}" class="f-line f-muted"/>')
                for dx, dy in ((20, 32), (68, 52), (116, 72)):
                    c.node(x + dx, low - dy, "", "attention", 5)
            else:
                c.vector(x, low - 40, TOKENS, "ink", 34, 32)
                c.arrow(
                    (x + 119, low - 42), (x + 119, low - 68), (x + 51, low - 68), (x + 51, low - 42), tone="attention"
                )
    return c
