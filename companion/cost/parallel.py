r"""What several processors hold, send and wait for.

Memory: Rajbhandari et al. (2020), section 3.1 and Figure 1. Rings: Patarasuk and Yuan (2009). Pipelines:
Huang et al. (2019), section 2.3.

Chapter: book/scaling.
"""

from companion.checks import check_sizes

PASSES = {"all-reduce": 2, "all-gather": 1, "reduce-scatter": 1}


def zero_bytes(parameters: int, processes: int, stage: int) -> float:
    """Count the bytes of the state of mixed precision with Adam that each process holds.

    A parameter has 2 bytes of weight, 2 of gradient, and 12 of weight and moments in float32.

    >>> [zero_bytes(7_500_000_000, 64, stage) / 1e9 for stage in range(4)]
    [120.0, 31.40625, 16.640625, 1.875]

    Args:
        parameters: of the model.
        processes: among which the state is divided.
        stage: 0 divides nothing, 1 the 12 bytes, 2 the gradients too, 3 the weights too.

    Returns:
        Bytes on average, without activations.

    Raises:
        ValueError: there is no such stage.
    """
    check_sizes(parameters=parameters, processes=processes)
    if stage not in range(4):
        raise ValueError(f"ZeRO has the stages 1 to 3, and 0 divides nothing: got {stage}. Use one of these.")
    divided = (0, 12, 14, 16)[stage]
    return parameters * (16 - divided + divided / processes)


def ring_bytes(size: int, processes: int, kind: str = "all-reduce") -> int:
    """Count the bytes that each process sends in an exchange around a ring.

    >>> ring_bytes(1000, 4), ring_bytes(1000, 4, "all-gather")
    (1500, 750)

    Args:
        size: bytes of the whole tensor.
        processes: how many there are.
        kind: ``"all-reduce"``, ``"all-gather"`` or ``"reduce-scatter"``; a ``"send"`` sends what there is.

    Returns:
        Bytes, rounded down if the tensor does not divide.

    Raises:
        ValueError: there is no such exchange.
    """
    check_sizes(processes=processes)
    check_sizes(0, size=size)
    if kind == "send":
        return size
    if kind not in PASSES:
        raise ValueError(f"an exchange is one of {', '.join([*PASSES, 'send'])}: got {kind!r}. Use one of these.")
    return PASSES[kind] * size * (processes - 1) // processes


def bubble(stages: int, parts: int) -> float:
    r"""Return the share of time that a processor of a pipeline waits, :math:`(p - 1) / (m + p - 1)`.

    >>> bubble(4, 4), bubble(4, 16)
    (0.42857142857142855, 0.15789473684210525)

    Args:
        stages: p, processors that each hold some layers.
        parts: m, of the batch.

    Returns:
        Time of waiting over the whole time, if all stages take equally long.
    """
    check_sizes(stages=stages, parts=parts)
    return (stages - 1) / (parts + stages - 1)
