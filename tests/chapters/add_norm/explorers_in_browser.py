"""The explorers of the chapter on residuals and norms: what the browser shows is what the package gives."""

import itertools
import math
import re

import torch

from companion.chapters.add_norm.explorers.norms import (
    DEPTHS,
    FLOOR,
    NORM_PLACEMENTS,
    NORMS,
    SCALES,
    SIGNALS,
    depth_signals,
)
from companion.explorers import DepthExplorer, NormExplorer
from tests.site.browser import CELLS, assert_right_as_shown, number, put, tensor

NAMES = ("post-norm", "pre-norm", "no residual")


def check_norms(root, values):
    model = NormExplorer(values["x"], values["lengths"])
    rows = [f"{'ABC'[b]} {i + 1}" for b in range(len(model.x)) for i in range(len(model.x[0]))]
    hidden = [i >= length for length in model.lengths for i in range(len(model.x[0]))]
    corners = "root => [...root.querySelectorAll('.ex-corner')].map(c => c.textContent)"
    assert root.evaluate(corners) == ["token", "token"]
    for norm, masked, first in itertools.product(NORMS, (True, False), (-8.0, 0.5, 8.0)):
        model.norm, model.masked, model.first = norm, masked, first
        put(root, norm=norm, masked=masked, first=first)
        where = f"{norm}, masked {masked}, {first}"
        want = model.results().flatten(0, 1)
        changed = ((want - model.results(moved=False).flatten(0, 1)).abs() > 1e-9).flatten().tolist()
        found = root.evaluate(CELLS, "y")
        assert len(found) == want.numel(), where
        for (label, digits, words, _), y, moved, (row, k) in zip(
            found,
            want.flatten().tolist(),
            changed,
            itertools.product(range(len(rows)), range(want.shape[1])),
            strict=True,
        ):
            assert label.startswith(f"result {rows[row]}, f{k + 1}: "), where
            assert abs(number(label.split(": ")[1].split(",")[0]) - y) <= 0.0051, (where, label, y)
            assert label.endswith("changed") == moved, (where, label)
            assert f"changed {sum(changed)} of {len(changed)} results" in words, where
            out = masked and norm == "batch" and hidden[row]
            assert ("is padding and left out: 0." in digits) == out, (where, digits)
            if not out:
                assert_right_as_shown(digits.split(": ")[1].removesuffix(". "), where)
            counted = len(hidden) - (sum(hidden) if masked else 0)
            over = f"over f{k + 1} of {counted} tokens" if norm == "batch" else f"features of {rows[row]}"
            assert out or over in words, (where, words)
        hatched = root.evaluate(
            "root => [...root.querySelectorAll('[data-matrix=x] .ex-cell')].map(c => c.classList.contains('ex-hidden'))"
        )
        assert hatched == [masked and row for row in hidden for _ in range(want.shape[1])], where


def amount(text):
    """Read a number as the figure writes it: plain, as a power of ten, or below one."""
    digits, _, power = (
        text.removeprefix("below ").removeprefix("< ").partition("10")
        if "10" in text and text[-1] in "⁰¹²³⁴⁵⁶⁷⁸⁹"
        else (text, "", "")
    )
    plain = power.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))
    return float(digits.rstrip("× ") or 1) * 10 ** int(plain or 0)


def check_depth(root, values):
    for depth, scale in itertools.product(DEPTHS, SCALES):
        measured = [depth_signals(placement, depth, scale) for placement in NORM_PLACEMENTS]
        for signal in SIGNALS:
            put(root, depth=DEPTHS.index(depth), scale=SCALES.index(scale), signal=SIGNALS.index(signal))
            where = f"{signal}, {depth} layers, scale {scale}"
            found = root.evaluate(
                "root => [...root.querySelectorAll('.ex-point')].map(p => { tools.look(p);"
                " const digits = root.querySelector('.ex-digits').textContent;"
                " return [p.getAttribute('aria-label'), digits, Number(p.getAttribute('cy'))]; })"
            )
            want = [max(value, 10.0**FLOOR) for m in measured for value in m[signal]]
            assert len(found) == len(want), where
            for place, ((label, digits, _), value) in enumerate(zip(found, want, strict=True)):
                placement, layer = divmod(place, depth)
                assert label.startswith(f"{NAMES[placement]}, layer {layer + 1}: "), (where, label)
                assert digits.startswith(f"{NAMES[placement]}, layer {layer + 1} of {depth}: "), (where, digits)
                shown = amount(label.split(": ")[1])
                assert math.isclose(shown, value, rel_tol=0.08), (where, label, value)
                assert label.split(": ")[1] in digits
            # The drawing, read by the powers of ten on its axis.
            ticks = root.evaluate(
                "root => [...root.querySelectorAll('.ex-plot text')].filter(t => t.textContent.startsWith('10'))"
                ".map(t => [t.textContent, Number(t.getAttribute('y')) - 4])"
            )
            (low, y_low), (high, y_high) = ((math.log10(amount(text)), y) for text, y in (ticks[0], ticks[-1]))
            assert y_high < y_low, where  # what is larger stands higher
            levels = low + (tensor([y for _, _, y in found]) - y_low) / (y_high - y_low) * (high - low)
            torch.testing.assert_close(
                levels, tensor(want).log10(), rtol=0, atol=0.03 + 0.004 * (high - low), msg=where
            )
            table = root.evaluate(
                "root => [...root.querySelectorAll('[data-placement]')]"
                ".map(r => [...r.children].map(c => c.textContent))"
            )
            for (name, first, last, ratio), words, m in zip(table, NAMES, measured, strict=True):
                ends = [max(m[signal][k], 10.0**FLOOR) for k in (0, -1)]
                assert name == words
                assert all(
                    math.isclose(amount(t), v, rel_tol=0.08) for t, v in zip((first, last), ends, strict=True)
                ), where
                unknown = min(ends) <= 1.01 * 10.0**FLOOR
                assert ratio == "–" if unknown else math.isclose(amount(ratio), ends[0] / ends[1], rel_tol=0.08), where
            words = root.query_selector(".ex-readout").inner_text()
            assert re.search(
                rf"from the first layer to the last: post-norm {re.escape(table[0][1].replace('< ', 'below '))} to",
                words,
            ), where


def made():
    return [
        NormExplorer(
            [
                [[1.0, 2.0, 4.0], [0.5, -3.0, 2.0]],
                [[-1.0, 0.0, 7.0], [2.0, 2.0, 2.0]],
                [[3.0, 1.0, 1.0], [0.0, 0.0, 0.0]],
            ],
            [2, 2, 1],
            norm="rms",
            masked=False,
            first=-4.0,
        ),
        DepthExplorer(depth=12, scale=2.0, signal="tokens"),
    ]


CHECKS = {"NormExplorer": check_norms, "DepthExplorer": check_depth}
