"""The drawn pictures of the chapter: one step of training, what is read and predicted, two decays, bits of numbers."""

from collections.abc import Mapping, Sequence

from companion.pictures import LABEL, SMALL, TITLE, Canvas, picture

ROW = ("<s>", "the", "cat", "sat", "</s>")
FORMATS = {
    "float32": (8, 23),
    "bfloat16": (8, 7),
    "float16": (5, 10),
    "fp8, E5M2": (5, 2),
    "fp8, E4M3": (4, 3),
}
"""Bits of the exponent and of the fraction; one more is the sign."""


@picture
def training_step(wide: bool) -> Canvas:
    """Draw one step of training, with the page on which each part is explained."""
    labels = {
        "title": "One step of training",
        "desc": (
            "Data give a batch of tokens, which the model reads to give logits. The loss compares them with the tokens "
            "that really came next. Going backward gives a gradient. The optimiser, AdamW, turns it into a change of "
            "the parameters, scaled by a learning rate that a schedule sets, and the next step begins. The losses of "
            "all steps make the curve, which tells whether the run is sound."
        ),
        "data": "data",
        "data-sub": "a batch",
        "model": "model",
        "model-sub": "logits",
        "loss": "loss",
        "loss-sub": "one number",
        "gradient": "gradient",
        "gradient-sub": "clip, add up",
        "adamw": "optimiser",
        "adamw-sub": "Adam, AdamW",
        "rate": "learning rate",
        "rate-sub": "warm-up, decay",
        "curve": "loss curve",
        "curve-sub": "read it",
        "new": "new parameters",
    }
    places = {
        "data": (16, 24) if wide else (16, 8),
        "model": (208, 24) if wide else (192, 8),
        "loss": (400, 24) if wide else (192, 112),
        "curve": (576, 24) if wide else (16, 112),
        "gradient": (400, 152) if wide else (192, 216),
        "adamw": (208, 152) if wide else (192, 320),
        "rate": (16, 152) if wide else (16, 320),
    }
    pages = {
        "data": "training/when-data-are-few",
        "model": "training/a-small-gpt",
        "loss": "training/the-loop-and-the-loss",
        "curve": "training/the-clinic",
        "gradient": "training/large-batches-small-numbers",
        "adamw": "training/adam-and-adamw",
        "rate": "training/the-learning-rate",
    }
    c = Canvas("training-step", wide, 232 if wide else 400, labels["title"], labels["desc"])
    drawn = {}
    for name, (x, y) in places.items():
        with c.part(name, labels[name], pages[name]):
            drawn[name] = c.box(x, y, 128, 56, labels[name], labels[f"{name}-sub"], bold=name == "loss")
    with c.wires():
        if wide:
            pairs = [("data", "model"), ("model", "loss"), ("loss", "curve"), ("rate", "adamw")]
            for first, second in pairs:
                (x, y), (end, _) = drawn[first].right, drawn[second].left
                c.arrow((x, y), (end - 2, y))
            c.arrow(drawn["loss"].bottom, (464, 150), tone="attention")
            c.arrow(drawn["gradient"].left, (338, 180), tone="attention")
            c.arrow(drawn["adamw"].top, (272, 82), tone="attention")
            c.text(284, 116, labels["new"], SMALL, "start", "muted")
        else:
            c.arrow(drawn["data"].right, (190, 36))
            c.arrow(drawn["model"].bottom, (256, 110))
            c.arrow(drawn["loss"].left, (146, 140))
            c.arrow(drawn["loss"].bottom, (256, 214), tone="attention")
            c.arrow(drawn["gradient"].bottom, (256, 318), tone="attention")
            c.arrow(drawn["rate"].right, (190, 348))
            c.arrow(drawn["adamw"].right, (336, 348), (336, 36), (322, 36), tone="attention")
            c.text(320, 392, labels["new"], SMALL, "end", "muted")
    return c


@picture
def read_and_predict(wide: bool, row: Sequence[str] = ROW) -> Canvas:
    """Draw one row of tokens used twice: all but the last are read, all but the first are predicted.

    Args:
        row: from the start symbol to the end symbol, three to six tokens.

    Returns:
        The picture.

    Raises:
        ValueError: there are fewer than three tokens, or more than six.
    """
    if not 3 <= len(row) <= 6:
        raise ValueError(f"the picture has room for three to six tokens: got {len(row)}. Take another row.")
    steps = [f"after {' '.join(row[: i + 1])} comes {row[i + 1]}" for i in range(len(row) - 1)]
    labels = {
        "title": "One row is read and predicted",
        "desc": (
            f"The row {' '.join(row)} is used twice. The model reads all but the last token and has to predict all but "
            f"the first: {', '.join(steps)}. An arrow leads from each token that is read to the one that it has to "
            "predict."
        ),
        "reads": "reads",
        "predicts": "predicts",
    }
    step, left, w = (128, 112, 96) if wide else (64, 84, 56)
    c = Canvas("read-and-predict", wide, 136, labels["title"], labels["desc"])
    c.text(left - 16, 32, labels["reads"], SMALL, "end", "muted")
    c.text(left - 16, 104, labels["predicts"], SMALL, "end", "muted")
    for i in range(len(row) - 1):
        upper = c.box(left + step * i, 16, w, 32, row[i], size=SMALL)
        lower = c.box(left + step * i, 88, w, 32, row[i + 1], tone="attention", size=SMALL)
        c.arrow(upper.bottom, (lower.top[0], 86), tone="attention")
    return c


@picture
def two_decays(wide: bool) -> Canvas:
    """Draw where weight decay enters: inside Adam as an L2 term, or beside it, as in AdamW."""
    labels = {
        "title": "Decay inside Adam, and beside it",
        "desc": (
            "Two ways of a weight through one step. In Adam with an L2 term, a share of the weight is added to the "
            "gradient, and the sum goes through the division by the root of its mean square, so the decay is divided "
            "too. In AdamW the gradient alone is divided, and the share of the weight is subtracted beside it."
        ),
        "inside": "Adam with decay",
        "beside": "AdamW",
        "gradient": "gradient",
        "divide": "divide",
        "step": "step",
        "decay": "decay",
        "decayed": "weight",
    }
    c = Canvas("two-decays", wide, 208 if wide else 432, labels["title"], labels["desc"])
    for k, name in enumerate(("inside", "beside")):
        x, y = (16 + 368 * k, 0) if wide else (16, 224 * k)
        c.text(x, y + 20, labels[name], TITLE, "start", strong=True)
        gradient = c.box(x, y + 56, 88, 40, labels["gradient"], size=SMALL)
        divide = c.box(x + 128, y + 56, 112, 40, labels["divide"], size=SMALL)
        step = c.box(x + 272, y + 56, 40, 40, labels["step"], size=SMALL)
        c.arrow(gradient.right, (divide.x - 2, y + 76))
        c.arrow(divide.right, (step.x - 2, y + 76))
        decay = c.box(x, y + 152, 88, 40, labels["decayed"], labels["decay"], tone="attention", size=SMALL)
        if name == "inside":
            c.arrow((decay.x + 88, y + 172), (x + 108, y + 172), (x + 108, y + 78), tone="attention")
        else:
            c.arrow((decay.x + 88, y + 172), (x + 292, y + 172), (x + 292, y + 98), tone="attention")
    return c


@picture
def float_bits(wide: bool, formats: Mapping[str, tuple[int, int]] = FORMATS) -> Canvas:
    """Draw the bits of number formats: sign, exponent, fraction.

    Args:
        formats: bits of exponent and fraction by name; with the sign, at most 32 together.

    Returns:
        The picture.

    Raises:
        ValueError: a format has more than 32 bits, or a part has none.
    """
    for name, (exponent, fraction) in formats.items():
        if min(exponent, fraction) < 1 or 1 + exponent + fraction > 32:
            raise ValueError(
                f"a sign, exponent and fraction have 3 to 32 bits together: {name} has 1, {exponent} and {fraction}."
            )
    counts = {name: f"1 + {e} + {f} = {1 + e + f} bits" for name, (e, f) in formats.items()}
    labels = {
        "title": "The bits of five number formats",
        "desc": "Each row is one number, from left to right one bit for the sign, then exponent and fraction. "
        + ", ".join(
            f"{name} has {e} bits for the exponent and {f} for the fraction" for name, (e, f) in formats.items()
        )
        + ".",
        "sign": "sign",
        "exponent": "exponent: range",
        "fraction": "fraction: digits",
    }
    cell, left, row = (14, 256, 40) if wide else (9, 16, 64)
    c = Canvas("float-bits", wide, 48 + row * len(formats), labels["title"], labels["desc"])
    for text, tone, x in (
        ("sign", "ink", left if wide else 16),
        ("exponent", "attention", left + 56 if wide else 72),
        ("fraction", "soft", left + 224 if wide else 208),
    ):
        c.vector(x, 12, [""], tone, 12, 12)
        c.text(x + 20, 18, labels[text], SMALL, "start")
    for i, (name, (exponent, fraction)) in enumerate(formats.items()):
        y = 40 + row * i
        c.text(16, y + (12 if wide else 8), name, LABEL, "start")
        c.text(left - 16 if wide else 328, y + (12 if wide else 8), counts[name], SMALL, "end", "muted")
        x, y = left, y if wide else y + 24
        for bits, tone in ((1, "ink"), (exponent, "attention"), (fraction, "soft")):
            c.vector(x, y, [""] * bits, tone, cell)
            x += bits * cell
    return c
