"""The drawn picture of the chapter: one pass of the model for each token, and the page on each part."""

from companion.pictures import SMALL, Canvas, picture


@picture
def generation_loop(wide: bool) -> Canvas:
    """Draw the loop of generating text, with the page on which each part is explained."""
    labels = {
        "title": "Generating text, token by token",
        "desc": (
            "Requests go into the model, many at once. The model reads its weights and the KV cache and gives logits, "
            "from which a rule chooses the next token. That token goes into the model again, until the text ends. A "
            "draft can guess tokens ahead, which the model then checks together."
        ),
        "requests": "requests",
        "requests-sub": "many at once",
        "model": "model",
        "model-sub": "logits",
        "choose": "choose",
        "choose-sub": "next token",
        "draft": "draft",
        "draft-sub": "guesses ahead",
        "cache": "KV cache",
        "cache-sub": "keys, values",
        "weights": "weights",
        "weights-sub": "8 or 4 bits",
        "again": "again",
    }
    places = {
        "draft": (16, 8),
        "requests": (16, 120 if wide else 104),
        "model": (264, 120) if wide else (192, 104),
        "choose": (544, 120) if wide else (192, 224),
        "weights": (184, 232) if wide else (192, 8),
        "cache": (352, 232) if wide else (16, 224),
    }
    pages = {
        "requests": "generation/serving",
        "model": "architecture/the-whole-model-on-one-page",
        "choose": "generation/greedy-sampling-beam",
        "weights": "generation/quantised-weights",
        "cache": "generation/smaller-caches",
        "draft": "generation/speculative-decoding",
    }
    c = Canvas("generation-loop", wide, 304 if wide else 296, labels["title"], labels["desc"])
    drawn = {}
    for name, (x, y) in places.items():
        with c.part(name, f"{labels[name]}: {labels[f'{name}-sub']}", pages[name]):
            drawn[name] = c.box(x, y, 136, 56, labels[name], labels[f"{name}-sub"], bold=name == "model")
    with c.wires():
        if wide:
            c.arrow(drawn["requests"].right, (262, 148))
            c.arrow(drawn["draft"].right, (296, 36), (296, 118))
            c.arrow(drawn["model"].right, (542, 148))
            c.arrow(drawn["choose"].top, (612, 64), (364, 64), (364, 118))
            c.text(488, 48, labels["again"], SMALL, tone="muted")
            c.arrow((296, 232), (296, 178))
            c.arrow((376, 232), (376, 178))
        else:
            c.arrow(drawn["draft"].right, (172, 36), (172, 114), (190, 114))
            c.arrow(drawn["requests"].right, (190, 132))
            c.arrow(drawn["cache"].right, (172, 252), (172, 150), (190, 150))
            c.arrow(drawn["weights"].bottom, (260, 102))
            c.arrow((216, 160), (216, 222))
            c.arrow((304, 224), (304, 162))
            c.text(260, 192, labels["again"], SMALL, tone="muted")
    return c
