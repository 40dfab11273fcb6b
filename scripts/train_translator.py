"""Train the book's translator, keep it in eight bits, and measure what it does.

    .venv/bin/python -m scripts.train_translator

The weights go to companion/chapters/architecture/weights, the numbers to measurements/translator. A run on another
processor may give other weights; packing the same ones gives the same bytes.
"""

import sys
from pathlib import Path

from companion import tasks
from companion.chapters.architecture import translator
from companion.measure import Row, one_thread, save
from companion.packed import packed
from companion.transformer import Transformer

ROOT = Path(__file__).resolve().parent.parent
NAME = "sentences right"


def rows(trained: Transformer) -> list[Row]:
    """Translate the unseen sentences: before the rounding, after it, and with each part left out.

    Args:
        trained: the model before the rounding.

    Returns:
        One row each, the percentage of the sentences in which every word is right; and for each head of
        cross-attention and kind of word, how often it looks where the grammar points.
    """
    found = [Row(NAME, "%", [translator.percent_right(trained)], {"weights": "float32", "left out": "none"})]
    model, _ = translator.load()
    for name, change in translator.switches(model).items():
        with translator.switched(model, **change):
            right = translator.percent_right(model)
        found.append(Row(NAME, "%", [right], {"weights": "int8", "left out": name}))
    for (kind, layer, head), percent in translator.looks(model).items():
        found.append(Row("looks at its source", "%", [percent], {"predicts": kind, "layer": layer, "head": head}))
    return found


def main() -> int:
    """Train, write and measure."""
    with one_thread():
        model = translator.train()
        about = {"words": translator.words(), "start": tasks.START, "end": tasks.END, "most": translator.MOST}
        translator.WEIGHTS.write_bytes(packed(model, about))
        found = rows(model)
    print(*(f"{row.settings}: {row.value:.1f}%" for row in found), sep="\n")
    print(
        "Written:", translator.WEIGHTS, save(ROOT / "measurements", "translator", "scripts/train_translator.py", found)
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
