"""The small GPT, opened and run in the browser: its sampling, its cache, its attention. Chapter: book/generation."""

from typing import Any

import torch

from companion.chapters.training import small_gpt
from companion.explorers.base import Choice, ModelExplorer, Numbers, Real, Text, Title, Whole

PROMPT = "ROMEO:\nMy l"
MOST = 64  # characters that it generates
FIRST = 8  # characters whose probabilities are shown
START = {
    **{"step": 0, "prompt": PROMPT, "series": 0, "temperature": 1.0},
    **{"top_k": len(small_gpt.symbols()), "top_p": 1.0, "layer": 2, "head": 1},
}
# Of each thing to try: the name of its button, what differs from the start, and what to do there.
TRIES = (
    (
        "temperature",
        {"step": 30},
        "Thirty characters at temperature 1. Move the temperature to 0.1, then to 2. Each position keeps its random "
        "number: how much of the text stays?",
    ),
    (
        "top-p",
        {"prompt": "ROMEO:\nMy lord, ", "top_p": 0.9},
        "A word begins, and top-p is 0.9. Read below how many characters can be drawn, then press “next character” "
        "several times: within a word there are fewer, and at the next word more again.",
    ),
    (
        "a head that looks far back",
        {"series": 1, "step": 60},
        "Layer 2, head 1 puts most of its weight on the end of a line (↵), however far back it is. Choose another "
        "head or layer: it looks at the last few characters.",
    ),
    (
        "the cache",
        {},
        "The strip at the foot of the figure: one pass has read the beginning. Press “next character”: one column is "
        "new. Then add a character to the beginning, and at last change its first one. Which columns stay the same?",
    ),
)


class GlassGPT(ModelExplorer):
    """Let the book's small GPT continue a text in the browser: what it draws from, what it looks at, what it caches.

    The picture before the model is opened, the probabilities after one beginning, is computed here. Everything after
    that is computed in the browser, from the released weights in eight bits.
    """

    _js = ("tensors.js", "gpt_model.js", "opened.js", "gpt.js")
    _weights = small_gpt.WEIGHTS

    still = Numbers(words=True, fixed=True, digits=3)
    tries = Numbers(
        [{"title": title, "state": START | state, "text": text} for title, state, text in TRIES], words=True, fixed=True
    )
    prompt = Text(PROMPT, small_gpt.symbols(), 48, help="what the model reads first")
    step = Whole(0, 0, MOST, help="how many characters have been generated")
    series = Whole(0, 0, 99, help="which series of random numbers")
    temperature = Real(1.0, 0.1, 2.0, help="what the logits are divided by")
    top_k = Whole(65, 1, 65, help="how many of the most probable characters may be drawn")
    top_p = Real(1.0, 0.05, 1.0, help="the share of the probability whose characters may be drawn")
    layer = Choice((0, 1, 2), 2, help="which layer's attention")
    head = Choice((0, 1, 2, 3), 1, help="which head's")
    label = Title("The small GPT, one character at a time")

    def __init__(self, **traits: object) -> None:
        super().__init__(still=_still(), **traits)

    def _about(self) -> str:
        return f"{len(small_gpt.symbols())} characters"


@torch.no_grad()
def _still() -> dict[str, Any]:
    model = small_gpt.load_packed()
    best, tokens = model(small_gpt.encode(PROMPT)[None])[0, -1].softmax(-1).topk(FIRST)
    return {"prompt": PROMPT, "best": [[small_gpt.symbols()[k], p] for k, p in zip(tokens, best.tolist(), strict=True)]}
