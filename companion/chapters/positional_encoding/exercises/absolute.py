"""Exercises on sines and cosines: ``encode-positions`` and ``shift-matrix``."""

import torch
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs

F32, F64 = torch.float32, torch.float64


def _encoding(positions: Tensor, d_model: int) -> Tensor:
    pair = torch.arange(d_model // 2, dtype=positions.dtype)
    turned = positions[:, None] * 10000.0 ** -(2 * pair / d_model)
    return torch.stack((turned.sin(), turned.cos()), dim=-1).flatten(-2)


def _odd_rates(positions: Tensor, d_model: int) -> Tensor:
    each = torch.arange(d_model, dtype=positions.dtype)
    turned = positions[:, None] * 10000.0 ** -(each / d_model)
    return torch.where(each % 2 == 0, turned.sin(), turned.cos())


def _encoding_cases() -> list[Case]:
    draw = RandomInputs(21)

    def anywhere(t: int, dtype: torch.dtype) -> Tensor:
        return (draw.normal(t).abs() * 50).round().to(dtype)

    return [
        Case((torch.tensor([0.0, 1.0], dtype=F64), 4), "the example"),
        Case((torch.arange(3, dtype=F64), 2), "one pair"),
        Case((torch.arange(5, dtype=F32), 6)),
        Case((torch.arange(7, dtype=F64), 12)),
        Case((anywhere(5, F64), 8), "positions in any order"),
        Case((anywhere(3, F64) + 5000, 10), "far positions"),
        Case((torch.tensor([3.0], dtype=F32), 16), "one position"),
        Case((torch.tensor([0.5, -1.25, 2.75, -3.0, 41.5], dtype=F64), 8), "fractions and negative positions"),
    ]


SINUSOIDAL_ENCODING = Exercise(
    name="encode-positions",
    title="Compute the sinusoidal encoding",
    chapter="positional-encoding",
    level=1,
    place=1,
    minutes=15,
    same_dtype=True,
    reference=_encoding,
    cases=_encoding_cases,
    tested="one pair, one position, positions in any order, far out, negative and between whole ones, both dtypes",
    hints=(
        "How many different angles does one position have? Write the angles of position 1 for width 4 on paper first.",
        "Make a table of angles with one row a position and one column a pair. The exponent of pair i has 2i in it, "
        "and "
        "the whole width below.",
        "Sine and cosine of one angle become neighbours. Put the two tables on a new last axis, then let the last two "
        "axes become one.",
    ),
    mistakes=(
        Mistake(
            "halves",
            (Edit("torch.stack(", "torch.cat("), Edit(".flatten(-2)", "")),
            "All your sines come first, then all cosines. In the paper a sine stands beside the cosine of its angle.",
        ),
        Mistake(
            "cosine-first",
            Edit("turned.sin(), turned.cos()", "turned.cos(), turned.sin()"),
            "Sine and cosine are exchanged: the even features hold the sines, so position 0 begins with 0.",
        ),
        Mistake(
            "exponent-without-two",
            Edit("2 * pair", "pair"),
            "Your pairs rotate too fast, the later the pair the more: the exponent of pair i is 2i over the width, not "
            "i.",
        ),
        Mistake(
            "own-rate-for-cosines",
            _odd_rates,
            "Your cosines have angles of their own. A sine and the cosine beside it share one angle.",
        ),
        Mistake(
            "one-rate",
            Edit("2 * pair", "0 * pair"),
            "All your pairs rotate equally fast. Each pair has a frequency of its own.",
        ),
        Mistake(
            "base-1000",
            Edit("10000.0", "1000.0"),
            "Your slow pairs are too fast: the base is not the one of the paper.",
        ),
        Mistake(
            "exponent-doubled",
            Edit("2 * pair / d_model", "4 * pair / d_model"),
            "Your rates fall twice as fast. Pair i has the exponent 2i/d: if your range already counts 0, 2, 4, do "
            "not double it again.",
        ),
        Mistake(
            "last-rate-one-over-base",
            Edit("2 * pair / d_model", "pair / max(d_model // 2 - 1, 1)"),
            "You spread the exponents from 0 to 1 with both ends, as some old code does. In the paper the exponent "
            "is 2i/d, which stays below 1.",
        ),
    ),
)


def _shift(k: int, d_model: int) -> Tensor:
    pair = torch.arange(d_model // 2, dtype=F64)
    turned = k * 10000.0 ** -(2 * pair / d_model)
    cos, sin = turned.cos(), turned.sin()
    blocks = torch.stack((cos, -sin, sin, cos), dim=-1)
    return torch.block_diag(*blocks.unflatten(-1, (2, 2)))


def _shift_cases() -> list[Case]:
    return [
        Case((1, 2), "the example"),
        Case((3, 4)),
        Case((0, 6), "a step of 0"),
        Case((-2, 4), "a step back"),
        Case((17, 10)),
        Case((1000, 12), "a long step"),
        Case((5, 8)),
    ]


SHIFT_MATRIX = Exercise(
    name="shift-matrix",
    title="Build the matrix of a step",
    chapter="positional-encoding",
    level=2,
    place=4,
    minutes=20,
    reference=_shift,
    cases=_shift_cases,
    tested="steps forward, back, of 0 and of 1000, widths 2 to 12",
    hints=(
        "One pair first. Write the two addition theorems as a row times a matrix of two by two.",
        "Each pair has such a block, with its own angle k times its frequency. Outside the blocks all entries are 0.",
        "`torch.block_diag` puts blocks on a diagonal. Check the sign with width 2: a step of 1 from position 0, "
        "which is "
        "the row (0, 1), must give a positive sine.",
    ),
    mistakes=(
        Mistake(
            "transposed",
            Edit("turned.sin()", "-turned.sin()"),
            "Your matrix rotates the other way. It is that for columns, or for a step back. Here encodings are rows.",
        ),
        Mistake(
            "halves",
            Edit(
                "torch.block_diag(*blocks.unflatten(-1, (2, 2)))",
                "torch.cat((torch.cat((cos.diag(), -sin.diag()), 1), torch.cat((sin.diag(), cos.diag()), 1)))",
            ),
            "Your matrix pairs a feature with one half the width away. Sine and cosine are neighbours here, so the "
            "blocks "
            "stand on the diagonal.",
        ),
        Mistake(
            "one-rate",
            Edit("2 * pair", "0 * pair"),
            "All your blocks rotate by the same angle. Each pair has its own frequency.",
        ),
        Mistake(
            "reflection",
            Edit("(cos, -sin, sin, cos)", "(cos, sin, sin, -cos)"),
            "Your blocks are reflections, with determinant -1. A step of 0 must be the identity.",
        ),
        Mistake(
            "power-of-one-step",
            lambda k, d_model: k * _shift(1, d_model),
            "You multiplied the matrix of one step by k. Steps are done one after the other: that adds the angles, and "
            "leaves the lengths alone.",
        ),
        Mistake(
            "exponent-without-two",
            Edit("2 * pair", "pair"),
            "Pair i turns with the exponent 2i/d; you left the 2 out.",
        ),
        Mistake(
            "transposed-blocks",
            Edit("(cos, -sin, sin, cos)", "(sin, cos, cos, -sin)"),
            "Each block is a rotation, with the cosine on its diagonal; yours has the sine there.",
        ),
    ),
)
