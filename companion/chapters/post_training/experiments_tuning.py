"""Fine-tuning runs that take longer than a page may: loss masks, end tokens, and adapters of several ranks."""

from functools import cache

from torch import Tensor

from companion.chapters.post_training import fine_tuning
from companion.lora import add_lora
from companion.measure import Experiment
from companion.seeding import seeded
from companion.transformer import DecoderOnly

WAYS = {"answers only": {}, "all tokens": {"mask": False}, "no end token": {"end": False}, "with text": {"text": 8}}
"""What the loss counts; the last adds eight pieces of the text of pre-training to each batch."""
LONG = ("answers only", "all tokens")
AT = (100, 200, 400, 800)
RATES = {1: 5e-3, 4: 5e-3, 16: 2e-3}
"""Learning rates by rank, the better of these two in a first run with 100 questions."""
ALL = ("w_q", "w_k", "w_v", "w_o", "w_1", "w_2")


@cache
def tuned(seed: int, way: str) -> dict[int, dict[str, float]]:
    """Fine-tune all parameters, and test the model on its way.

    Args:
        seed: of new rows and batches.
        way: one of ``WAYS``.

    Returns:
        After each number of steps in ``AT`` the scores, and the bits on the text of pre-training.
    """
    _, test = fine_tuning.pairs()
    model, found = fine_tuning.base(seed), {}

    def note(step: int) -> None:
        if step in AT:
            found[step] = fine_tuning.scores(model, test) | {"bits": fine_tuning.bits_on_text(model)}

    fine_tuning.tune(model, AT[-1] if way in LONG else 400, seed=seed, after=note, **WAYS[way])
    return found


def by_steps(seed: int, way: str, steps: int, quantity: str) -> float:
    """Fine-tune, and return one number.

    Args:
        seed: of new rows and batches.
        way: one of ``WAYS``.
        steps: one of ``AT``.
        quantity: a key of what :func:`tuned` notes.

    Returns:
        The number.
    """
    return tuned(seed, way)[steps][quantity]


def adapted(rank: int, seed: int) -> DecoderOnly:
    """Give the base adapters on all maps of its layers, and let the three new rows of its table learn too.

    Args:
        rank: of the adapters; alpha is twice the rank.
        seed: of the adapters and the new rows.

    Returns:
        A model whose other parameters do not change: the gradient of the old rows is zero.
    """
    model = fine_tuning.base(seed)
    with seeded(seed):
        add_lora(model, rank, 2 * rank, ALL)
    table = model.embedding.token.weight.requires_grad_(True)

    def new_rows_only(grad: Tensor) -> Tensor:
        grad = grad.clone()
        grad[: -len(fine_tuning.NAMES)] = 0
        return grad

    table.register_hook(new_rows_only)
    return model


@cache
def with_rank(seed: int, rank: int) -> dict[str, float]:
    """Fine-tune adapters for 400 steps.

    Args:
        seed: of adapters, new rows and batches.
        rank: of the adapters.

    Returns:
        Scores, and the bits on the text of pre-training.
    """
    _, test = fine_tuning.pairs()
    model = fine_tuning.tune(adapted(rank, seed), 400, rate=RATES[rank], seed=seed)
    return fine_tuning.scores(model, test) | {"bits": fine_tuning.bits_on_text(model)}


def by_rank(seed: int, rank: int, quantity: str) -> float:
    """Fine-tune adapters, and return one number.

    Args:
        seed: of adapters, new rows and batches.
        rank: of the adapters.
        quantity: a key of what :func:`with_rank` returns.

    Returns:
        The number.
    """
    return with_rank(seed, rank)[quantity]


TUNING = [
    *(
        Experiment("answers, right", "share", by_steps, {"way": way, "steps": steps, "quantity": "right"}, "median")
        for way in LONG
        for steps in AT
    ),
    *(
        Experiment(f"answers, {quantity}", unit, by_steps, {"way": way, "steps": 400, "quantity": quantity}, "median")
        for quantity, unit in {"begins": "share", "ends": "share", "bits": "bits"}.items()
        for way in WAYS
    ),
    *(
        Experiment(f"adapters, {quantity}", unit, by_rank, {"rank": rank, "quantity": quantity}, "median")
        for quantity, unit in {"right": "share", "bits": "bits"}.items()
        for rank in RATES
    ),
]
"""Answers, and what is forgotten, by what the loss counts and by the rank of adapters."""
