"""Beam search written once more, plainly: every text is read anew from its beginning, so that any switch may be off."""

import math

import torch

from companion.chapters.architecture import translator
from companion.generate.search import length_penalty
from companion.transformer import Transformer


@torch.no_grad()
def searched(model: Transformer, source: list[int], width: int, start: int = 1, end: int = 2) -> tuple[list, list]:
    """Search with beams.

    Args:
        model: an encoder and a decoder.
        source: tokens of the sentence.
        width: how many texts are kept.
        start: the token before a text.
        end: the token that finishes a text.

    Returns:
        The best texts as ``tokens`` and ``score``, the best first; and for each length its candidates, the best first.
    """
    memory = model.encode(torch.tensor([source]))
    alive, done, steps = [((), 0.0)], [], []
    while alive and len(steps) < translator.MOST:
        length = len(steps) + 1
        found = []
        for text, worth in alive:
            log_p = model.decode(torch.tensor([[start, *text]]), memory)[0, -1].log_softmax(-1)
            found += [((*text, token), worth + more, more) for token, more in enumerate(log_p.tolist())]
        best = sorted(found, key=lambda entry: -entry[1])[: 2 * width]
        over = [text[-1] == end or length == translator.MOST for text, _, _ in best]
        scores = [
            worth / length_penalty(length, 0.6) if ends else None
            for (_, worth, _), ends in zip(best, over, strict=True)
        ]
        alive = [(text, worth) for (text, worth, _), ends in zip(best, over, strict=True) if not ends][:width]
        steps.append(
            [
                {"tokens": list(text), "log_probability": worth, "p": math.exp(more)}
                | {"score": score, "kept": (text, worth) in alive}
                for (text, worth, more), score in zip(best, scores, strict=True)
            ]
        )
        done = sorted([*done, *(node for node in steps[-1] if node["score"] is not None)], key=lambda t: -t["score"])
        done = done[:width]
        hope = alive[0][1] / length_penalty(translator.MOST, 0.6) if alive else -math.inf
        if len(done) == width and done[-1]["score"] >= hope:
            break
    return done, steps
