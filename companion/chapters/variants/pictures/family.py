"""One block, what the models of the chapter read, and what comes out of it."""

from companion.pictures import LABEL, SMALL, TITLE, Canvas, picture

PAGES = {
    "bert": "variants/bert",
    "gpt": "variants/gpt",
    "t5": "variants/text-to-text",
    "vit": "variants/images",
    "clip": "variants/images-and-words",
    "evoformer": "variants/proteins",
}
"""The rows of the picture, and the page that each of them opens."""


@picture
def one_block(wide: bool) -> Canvas:
    """Draw six kinds of inputs, the block that all of them go through, and what comes out."""
    labels = {
        "title": "One block, six kinds of inputs",
        "desc": (
            "Six rows go through one stack of blocks. BERT reads words, some of them hidden, and gives the hidden "
            "words; GPT reads the words so far and gives the next word; T5 reads a task with its words and gives an "
            "answer in words. ViT and DETR read patches of an image and give a class or objects; CLIP and LLaVA read "
            "an image with words and give a score or an answer. AlphaFold reads pairs of amino acids and gives the "
            "shape of a protein."
        ),
        "block": "blocks",
        "bert": ("BERT", "masked words", "hidden words"),
        "gpt": ("GPT", "words so far", "next word"),
        "t5": ("T5", "task and words", "answer in words"),
        "vit": ("ViT, DETR", "image patches", "class, or objects"),
        "clip": ("CLIP, LLaVA", "image and words", "score, or answer"),
        "evoformer": ("AlphaFold", "amino acid pairs", "shape of a protein"),
        "read": "reads",
        "given": "gives",
    }
    pitch, high = (48, 32) if wide else (64, 32)
    top = 32 if wide else 40
    end = top + pitch * len(PAGES)
    c = Canvas("one-block", wide, end, labels["title"], labels["desc"])
    first, across = (136, 184) if wide else (4, 124)
    middle, between = (360, 120) if wide else (148, 48)
    last = 720 - across - 8 if wide else 344 - across - 4
    c.text(first + across / 2, 20 if wide else 12, labels["read"], SMALL, tone="muted")
    c.text(last + across / 2, 20 if wide else 12, labels["given"], SMALL, tone="muted")
    c.box(middle, 8, between, end - 16, bold=True, tone="attention")
    c.text(middle + between / 2, end / 2 + 5, labels["block"], LABEL if wide else 12)
    for i, (row, page) in enumerate(PAGES.items()):
        name, read, given = labels[row]
        y = top + pitch * i
        centre = y + high / 2
        with c.part(row, f"{name}: {read}, {given}", page):
            if wide:
                c.text(8, centre, name, TITLE, "start", strong=True)
            else:
                c.text(first, y - 8, name, SMALL, "start", strong=True)
            size = SMALL if wide else 12
            c.box(first, y, across, high, read, size=size)
            c.box(last, y, across, high, given, size=size)
            c.arrow((first + across, centre), (middle - 2, centre))
            c.arrow((middle + between, centre), (last - 2, centre))
    return c
