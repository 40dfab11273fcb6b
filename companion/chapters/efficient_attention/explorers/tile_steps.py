"""A derivation that moves: a softmax over tiles of keys, with a running maximum, sum and output.

Milakov and Gimelshein (2018), Algorithm 3; Dao et al. (2022), Algorithm 1. Chapter: book/efficient-attention.
"""

import math
import operator
from collections.abc import Sequence

import torch

from companion.efficient import online_softmax_sum
from companion.explorers.base import Numbers, Title, Whole
from companion.explorers.steps import StepsExplorer, shown

MOST = 12  # keys that the figure has room for
_SIGNS = {"×": operator.mul, "+": operator.add, "/": operator.truediv}


class TileSteps(StepsExplorer):
    """Take a row of scores tile by tile: when the maximum rises, what was summed is rescaled; then the tile is added.

    Args:
        scores: of one query, 2 to 12, each from -4 to 4; one decimal of them is kept.
        values: one number a key, from -9 to 9; one decimal is kept.
        tile: keys in a tile, fewer than there are.

    Raises:
        ValueError: the lists differ in length, a number lies outside its range, or one tile holds all.
    """

    _js = ("steps.js", "tile_steps.js")

    scores = Numbers(fixed=True)
    values = Numbers(fixed=True)
    stages = Numbers(words=True, fixed=True)
    tile = Whole(4, 1, MOST - 1, fixed=True)
    label = Title("A softmax over tiles, step by step")

    def __init__(self, scores: Sequence[float], values: Sequence[float], tile: int = 4, **traits: object) -> None:
        inside = all(abs(s) <= 4 for s in scores) and all(abs(v) <= 9 for v in values)
        if not (len(scores) == len(values) and 1 <= tile < len(scores) <= MOST and inside):
            raise ValueError(
                f"2 to {MOST} scores from -4 to 4 have one value each from -9 to 9, in tiles of fewer: got scores "
                f"{scores}, values {values}, tile {tile}. Shift or shrink the scores: only differences count."
            )
        scores, values = ([round(float(x), 1) for x in numbers] for numbers in (scores, values))
        stages = _stages(scores, values, tile)
        sentences = [_sentence(stages, k, len(scores), tile) for k in range(len(stages))]
        super().__init__(scores=scores, values=values, tile=tile, stages=stages, sentences=sentences, **traits)


def _stages(scores: Sequence[float], values: Sequence[float], tile: int) -> list[list]:
    """List the stages: what happens, in which tile, and maximum, sum and output after it."""
    row, column = (torch.tensor(numbers, dtype=torch.float64) for numbers in (scores, values))
    tiles = [*zip(row[None].split(tile, dim=1), column[:, None].split(tile), strict=True)]
    stages = [["start", 0, None, 0.0, 0.0]]
    for n in range(1, len(tiles) + 1):
        output, log_sum = online_softmax_sum(tiles[:n])
        peak = row[: n * tile].max().item()
        total = math.exp(log_sum.item() - peak)
        _, _, old, last_total, last_output = stages[-1]
        if old is not None and peak > old:
            factor = math.exp(old - peak)
            stages.append(["rescale", n - 1, peak, factor * last_total, factor * last_output])
        stages.append(["add", n - 1, peak, total, output.item() * total])
    return [*stages, ["end", len(tiles) - 1, *stages[-1][2:]]]


def _equation(left: float, sign: str, right: float, result: float) -> str:
    """Write an equation with the fewest decimals, two or more, with which it is right as it is written."""

    def error(digits: int) -> float:
        return abs(_SIGNS[sign](round(left, digits), round(right, digits)) - round(result, digits))

    digits = next((d for d in range(2, 7) if error(d) <= 0.5 * 10**-d), 6)
    numbers = [shown(x, digits) for x in (left, right, result)]
    second = f"({numbers[1]})" if right < 0 else numbers[1]
    return f"{numbers[0]} {sign} {second} = {numbers[2]}"


def _sentence(stages: list[list], k: int, keys: int, tile: int) -> str:
    """Say what changed from the stage before."""
    kind, n, peak, total, output = stages[k]
    _, _, old, last_total, last_output = stages[k - 1]
    if kind == "start":
        return (
            f"One query has {keys} scores s; each key has a value v, here one number. Keys come {tile} at a time, and "
            "three numbers are kept: the largest score m, the sum ℓ of the terms e^(s − m), and o, the sum of these "
            "terms times their values."
        )
    if kind == "rescale":
        second = f"({shown(peak, 1)})" if peak < 0 else shown(peak, 1)
        factor = f"e^({shown(old, 1)} − {second}) = {shown(math.exp(old - peak), 3)}"
        return (
            f"Tile {n + 1} has a score of {shown(peak, 1)}, above m = {shown(old, 1)}. All terms so far contain the "
            f"old m, so ℓ and o are multiplied by {factor}: ℓ goes from {shown(last_total, 3)} to {shown(total, 3)}, "
            f"o from {shown(last_output, 3)} to {shown(output, 3)}."
        )
    if kind == "end":
        return (
            f"After the last tile the output is o / ℓ: {_equation(output, '/', total, output / total)}. The short "
            f"lines mark the weights of the ordinary softmax over all {keys} scores at once: they and the output are "
            "the same."
        )
    if old is None:
        return (
            f"Tile 1: the largest score is m = {shown(peak, 1)}. The terms e^(s − m) of its keys add up to "
            f"ℓ = {shown(total)}, and each times its value to o = {shown(output)}."
        )
    before = (
        "Then the terms of the tile itself are added, with the new m"
        if stages[k - 1][0] == "rescale"
        else f"Tile {n + 1} has no score above m = {shown(peak, 1)}, so nothing is rescaled. Its terms are added"
    )
    return (
        f"{before}: ℓ = {_equation(last_total, '+', total - last_total, total)} and "
        f"o = {_equation(last_output, '+', output - last_output, output)}."
    )
