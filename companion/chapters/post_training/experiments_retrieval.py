"""Finding passages of this book for its interview questions, and answering from passages with small readers."""

from companion.chapters.post_training.reader import ANSWERS, TRAININGS, share
from companion.chapters.post_training.search import CHUNKS, WAYS, approximate, recall, recall_for_words
from companion.measure import Experiment

SEEDS = {way: (0, 1, 2) if "trained vectors" in way else (0,) for way in WAYS}
"""Of each search: only training draws anything."""
RETRIEVAL = [
    *(
        Experiment("passages found", "%", recall, {"way": way, "at": at}, "median", SEEDS[way])
        for way in WAYS
        for at in (1, 5, 20, 0)
    ),
    *(
        Experiment("answers handed over", "%", recall_for_words, {"kind": kind, "budget": budget}, "median", (0,))
        for kind in CHUNKS
        for budget in (200, 500, 1000, 2000, 4000)
    ),
    *(
        Experiment("nearest sentences", "%", approximate, {"probes": probes, "what": what}, "median")
        for probes in (1, 2, 4, 8, 16)
        for what in ("found", "compared")
    ),
    *(
        Experiment("answers after a change", "%", share, {"training": training, **given, "answer": answer}, "median")
        for training in TRAININGS
        for given in ({"passages": 0, "found": False}, {"passages": 8, "found": True}, {"passages": 8, "found": False})
        for answer in ANSWERS
    ),
    *(
        Experiment("answers among many", "%", share, given | {"found": True, "answer": "passage"}, "median")
        for given in ({"training": t, "passages": n} for t in TRAININGS[1:] for n in (1, 4, 16, 32, 64))
    ),
]
