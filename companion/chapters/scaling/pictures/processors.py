"""The drawn pictures of many processors: four ways to divide a model, and the order of work in a pipeline."""

from companion.pictures import LABEL, SMALL, Canvas, picture

LAYERS, STAGES, PARTS = 4, 4, 4
"""Layers of the divided model; stages of the pipeline and parts of its batch."""


@picture
def four_divisions(wide: bool) -> Canvas:
    """Draw which parameters and which rows of a batch each of two processors has."""
    labels = {
        "title": "Four ways to divide a model",
        "desc": (
            "Two processors in each of four panels, with four layers each. Data parallel: both keep all of each layer; "
            "the first reads the odd rows and the second the even ones. FSDP: each keeps half of each layer, and reads "
            "rows as before. Tensor parallel: each keeps half of each layer and reads all rows. Pipeline parallel: the "
            "first keeps layers 1 and 2, the second layers 3 and 4, and all rows pass through both."
        ),
        "data": "data",
        "sharded": "FSDP",
        "tensor": "tensor",
        "pipeline": "pipeline",
        "first": "odd rows",
        "second": "even rows",
        "all": "all rows",
        "layer": "layer",
    }
    c = Canvas("four-divisions", wide, 216 if wide else 424, labels["title"], labels["desc"])
    for i, name in enumerate(("data", "sharded", "tensor", "pipeline")):
        x, y = (16 + 176 * i, 8) if wide else (16 + 168 * (i % 2), 8 + 212 * (i // 2))
        c.group(x, y, 160 if wide else 144, 200)
        c.text(x + (80 if wide else 72), y + 20, labels[name], LABEL, strong=True)
        for p in range(2):
            left, width = (x + 12 + 72 * p, 64) if wide else (x + 8 + 68 * p, 60)
            rows = ("first", "second")[p] if name in ("data", "sharded") else "all"
            c.text(left + width / 2, y + 44, labels[rows], SMALL)
            for layer in range(LAYERS):
                top = y + 64 + 32 * layer
                if name in ("sharded", "tensor"):
                    half = width / 2
                    c.bar(left, top, half, 24, 1 - p)
                    c.bar(left + half, top, half, 24, p)
                else:
                    c.bar(left, top, width, 24, name == "data" or layer // 2 == p)
    return c


@picture
def pipeline_schedule(wide: bool) -> Canvas:
    """Draw which microbatch each stage works on, in GPipe's order."""
    slots = PARTS + STAGES - 1
    labels = {
        "title": "A pipeline of four stages",
        "desc": (
            f"Each row is a stage, each column a slot of time. Microbatches 1 to {PARTS} go forward: stage 1 begins in "
            f"the first slot, and each further stage one slot later. After {slots} slots they come back in reverse "
            f"order: stage {STAGES} begins, and each stage before it one slot later. Each stage works in "
            f"{2 * PARTS} of {2 * slots} slots."
        ),
        "forward": "forward",
        "backward": "backward",
        "waits": "waits",
        "stage": "stage",
    }
    x, cell = (88, 44) if wide else (72, 19)
    c = Canvas("pipeline-schedule", wide, 200, labels["title"], labels["desc"])
    for stage in range(STAGES):
        y = 12 + 36 * stage
        c.text(16, y + 14, f"{labels['stage']} {stage + 1}", SMALL, "start")
        work = {stage + part: (part + 1, "attention") for part in range(PARTS)}
        last = 2 * slots - 1 - stage
        work |= {last - part: (part + 1, "ink") for part in range(PARTS)}
        for slot in range(2 * slots):
            if slot in work:
                c.vector(x + cell * slot, y, [work[slot][0]], work[slot][1], cell, 28)
            else:
                c.bar(x + cell * slot + 1, y + 1, cell - 2, 26, 0)
    left, step = (88, 160) if wide else (16, 112)
    for i, (name, tone) in enumerate((("forward", "attention"), ("backward", "ink"), ("waits", ""))):
        if tone:
            c.vector(left + step * i, 168, [""], tone, 20, 20)
        else:
            c.bar(left + step * i, 168, 20, 20, 0)
        c.text(left + step * i + 28, 178, labels[name], SMALL, "start")
    return c
