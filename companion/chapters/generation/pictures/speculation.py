"""The drawn picture of speculative decoding."""

from collections.abc import Sequence

from companion.pictures import SMALL, TITLE, Canvas, picture

ROUNDS = (
    (("to", "be", "and", "a"), 2, "or"),
    (("not", "to", "be", "that"), 4, "is"),
    (("the", "man", "was", "in"), 1, "question"),
)
"""For each pass the guesses, how many of them are accepted, and the token that the model adds."""


@picture
def draft_and_verify(wide: bool, rounds: Sequence[tuple[Sequence[str], int, str]] = ROUNDS) -> Canvas:
    """Draw three rounds of guessing and checking along the time, above them plain decoding.

    Args:
        rounds: three, each of four guesses, the number that is accepted, and the token of the model's own.

    Returns:
        The picture.

    Raises:
        ValueError: there are not three rounds of four guesses.
    """
    if len(rounds) != 3 or any(len(guesses) != 4 or not 0 <= kept <= 4 for guesses, kept, _ in rounds):
        raise ValueError(f"the picture has room for three rounds of four guesses: got {rounds}. Change them.")
    texts = [[*guesses[:kept], own] for guesses, kept, own in rounds]
    flat = [token for text in texts for token in text]
    labels = {
        "title": "Draft and verify along the time",
        "desc": (
            "Above, plain decoding: six passes of the model, one after the other, give six tokens. Below, in the same "
            "time, three rounds: a draft makes four short guesses, then one pass of the model checks them. "
            f"The rounds give {', '.join(str(len(text)) for text in texts)} tokens, {len(flat)} together: the accepted "
            "guesses and one token of the model's own. What comes after a refused guess is thrown away."
        ),
        "plain": "plain decoding",
        "speculative": "speculative decoding",
        "pass": "pass",
        "time": "time",
    }
    guess, passing, left, row = (24, 96, 72, 24) if wide else (13, 52, 16, 24)
    size, whole = 4 * guess + passing, 3 * (4 * guess + passing)
    c = Canvas("draft-and-verify", wide, 344, labels["title"], labels["desc"])
    c.text(left, 16, labels["plain"], TITLE, "start", strong=True)
    for i in range(6):
        drawn = c.box(left + passing * i, 32, passing, 32, labels["pass"], size=SMALL)
        c.text(drawn.bottom[0], 80, flat[i], SMALL)
    c.text(left, 120, labels["speculative"], TITLE, "start", strong=True)
    for i, (guesses, kept, own) in enumerate(rounds):
        x = left + size * i
        for k in range(4):
            c.box(x + guess * k, 136, guess, 32, tone="muted", radius=3)
        c.box(x + 4 * guess, 136, passing, 32, labels["pass"], size=SMALL)
        w = size - 16
        for k, token in enumerate(guesses):
            tone = "attention" if k < kept else "muted" if k == kept else "soft"
            sign = "✓" if k < kept else "✗" if k == kept else "·"
            c.box(x, 184 + row * k, w, row - 4, f"{sign} {token}", tone=tone, size=SMALL, radius=3)
        c.box(x, 184 + row * 4, w, row - 4, own, tone="attention", bold=True, size=SMALL, radius=3)
    c.arrow((left, 320), (left + whole, 320), tone="muted")
    c.text(left + whole, 336, labels["time"], SMALL, "end", "muted")
    return c
