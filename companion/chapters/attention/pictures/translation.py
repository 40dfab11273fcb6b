"""What a translator into French has to know."""

from companion.pictures import BOLD, LABEL, SMALL, Canvas, picture


@picture
def article_and_noun(wide: bool) -> Canvas:
    """Draw which English words decide a French word: an article needs two."""
    labels = {
        "title": "Which words decide la?",
        "desc": (
            "The French words la souris noire voit above the English words the black mouse sees. A line leads from "
            "each French word to the English word that it translates: souris to mouse, noire to black, voit to sees. "
            "Two lines lead from la: one to the, one to mouse, because mouse is feminine in French."
        ),
        "english": "the black mouse sees",
        "french": "la souris noire voit",
        "writes": "writes",
        "reads": "reads",
        "why": "feminine",
    }
    c = Canvas("article-and-noun", wide, 176, labels["title"], labels["desc"])
    english, french = labels["english"].split(), labels["french"].split()
    step, w, left = (136, 96, 156) if wide else (72, 64, 64)
    top, bottom = 16, 120
    middles = [left + step * i for i in range(4)]
    if wide:
        c.text(left - 84, top + 16, labels["writes"], SMALL, "end", "muted")
        c.text(left - 84, bottom + 16, labels["reads"], SMALL, "end", "muted")
        c.text(left - 56, top + 16, "$Q$", LABEL, "end", "query", strong=True)
        c.text(left - 56, bottom + 16, "$K$", LABEL, "end", "key", strong=True)
    else:
        c.text(8, top + 16, "$Q$", LABEL, "start", "query", strong=True)
        c.text(8, bottom + 16, "$K$", LABEL, "start", "key", strong=True)
    for i, j in ((1, 2), (2, 1), (3, 3)):
        c.arrow((middles[i], top + 32), (middles[j], bottom - 2), tone="muted")
    c.arrow((middles[0] - 8, top + 32), (middles[0] - 8, bottom - 2), tone="attention", width=BOLD)
    c.arrow((middles[0] + 8, top + 32), (middles[2] - 16, bottom - 2), tone="attention", width=BOLD)
    for i in range(4):
        c.box(middles[i] - w / 2, top, w, 32, french[i], tone="query", bold=i == 0, size=LABEL if wide else SMALL)
        c.box(middles[i] - w / 2, bottom, w, 32, english[i], tone="key", size=LABEL if wide else SMALL)
    c.text(middles[2], bottom + 46, labels["why"], SMALL, tone="muted")
    return c
