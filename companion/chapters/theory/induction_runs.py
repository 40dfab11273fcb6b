"""What is measured of the models of attention alone, with three seeds: Elhage et al. (2021), Olsson et al. (2022).

Chapter: book/theory/what-heads-compute.
"""

from companion.chapters.theory.induction import (
    NOTED,
    AttentionOnly,
    loss_by_layer,
    loss_without,
    matched,
    measure,
    run,
)
from companion.measure import Experiment


def _previous_head(model: AttentionOnly) -> int:
    return int(measure(model)["previous"][0].argmax())


def path_loss(seed: int, hidden: str) -> float:
    """Train a model and hide its head for the previous token from one path: :func:`loss_without`.

    Args:
        seed: of :func:`run`.
        hidden: ``"queries"``, ``"keys"``, ``"values"``, or ``"nothing"``.

    Returns:
        Nats a token.
    """
    model, _ = run(2, seed)
    return loss_without(model, _previous_head(model), hidden) if hidden != "nothing" else loss_by_layer(model)[-1]


def matched_share(seed: int, circuit: str) -> float:
    """Train a model and read its circuits: :func:`matched`.

    Args:
        seed: of :func:`run`.
        circuit: ``"QK"`` or ``"OV"``.

    Returns:
        The mean share of its two heads.
    """
    model, _ = run(2, seed)
    return float(matched(model, _previous_head(model))[("QK", "OV").index(circuit)].mean())


def copied_loss(seed: int, n_layers: int, step: int) -> float:
    """Read the loss of a run in the later copies.

    Args:
        seed: of the run.
        n_layers: of attention.
        step: one of ``NOTED``.

    Returns:
        Nats a token.
    """
    return float(run(n_layers, seed)[1][step]["loss"])


def largest_score(seed: int, n_layers: int, step: int, pattern: str) -> float:
    """Read the largest score of a head of a run.

    Args:
        seed: of the run.
        n_layers: of attention.
        step: one of ``NOTED``.
        pattern: ``"previous"`` or ``"induction"``.

    Returns:
        A mean weight, between 0 and 1.
    """
    return float(run(n_layers, seed)[1][step][pattern].max())


INDUCTION = [
    *(
        Experiment("loss on what was seen", "nats", copied_loss, {"n_layers": n, "step": step}, "median")
        for n in (1, 2)
        for step in NOTED
    ),
    *(
        Experiment("largest score", "weight", largest_score, {"n_layers": 2, "step": step, "pattern": kind}, "median")
        for kind in ("previous", "induction")
        for step in NOTED
    ),
    *(
        Experiment("loss with one path hidden", "nats", path_loss, {"hidden": hidden}, "median")
        for hidden in ("nothing", "queries", "keys", "values")
    ),
    *(Experiment("tokens that circuits match", "share", matched_share, {"circuit": c}, "median") for c in ("QK", "OV")),
]
"""The plan: models of one and of two layers, as they learn, and what connects the two layers."""
