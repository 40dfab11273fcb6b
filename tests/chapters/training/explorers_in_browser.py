"""The explorers of the chapter on training: what the browser shows is what the package gives."""

import itertools

import pytest

from companion.chapters.training.explorers.training import BETAS, PEAKS, ROWS, TOTALS, WARMUPS, WIDTHS
from companion.explorers import AdamSteps, CurveClinic, ScheduleExplorer
from tests.site.browser import number, put, tour


def check_schedule(root, values):
    model = ScheduleExplorer()
    for kind, warmup, total in itertools.product(("root", "cosine"), (1, 4000, 16_000), (20_000, 300_000)):
        model.kind, model.warmup, model.total = kind, warmup, total
        put(root, kind=kind, warmup=WARMUPS.index(warmup), total=TOTALS.index(total))
        sizes = (
            [("d_model", w, WIDTHS) for w in (64, 4096)]
            if kind == "root"
            else [("peak", p, PEAKS) for p in (1e-5, 3e-3)]
        )
        for name, value, offered in sizes:
            setattr(model, name, value)
            put(root, **{name: offered.index(value)})
            (got,) = tour(root, [[]])
            where = (kind, warmup, total, value)
            steps = model.marks()
            assert [int(step) for step in got["data"]["marks"].split()] == steps, where
            wanted = [model.rate(step) for step in steps]
            rates = [float(rate) for rate in got["data"]["rates"].split()]
            assert rates == pytest.approx(wanted, rel=1e-9, abs=1e-18), where
            for (shown, share), rate in zip(got["cells"]["rates"], wanted, strict=True):
                assert number(shown) == pytest.approx(rate, rel=5.1e-3, abs=1e-15), where
                assert number(share) == pytest.approx(rate / model.rate(warmup), abs=5.1e-4), where
            assert f"after {100 * warmup / total:.1f}% of the steps" in got["words"], where
            assert f"at step {warmup:,}," in got["words"], where


def check_adam(root, values):
    model = AdamSteps(values["gradients"])
    for beta_1, beta_2, power, correct in itertools.product((0.0, 0.9), BETAS, (-3, 0, 3), (True, False)):
        model.beta_1, model.beta_2, model.factor, model.correct = beta_1, beta_2, 10.0**power, correct
        put(root, beta_1=beta_1, beta_2=BETAS.index(beta_2), factor=power, correct=correct)
        (got,) = tour(root, [[]])
        where, numbers = (beta_1, beta_2, power, correct), model.numbers()
        steps = [float(step) for step in got["data"]["steps"].split()]
        assert steps == pytest.approx(numbers["step"], abs=1e-7), where
        for name, texts in zip(ROWS, zip(*got["cells"]["steps"], strict=True), strict=True):
            for text, wanted in zip(texts, numbers[name], strict=True):
                assert number(text.replace("e−", "e-")) == pytest.approx(wanted, rel=0.051, abs=1e-12), (where, name)
                if 1e-3 <= abs(wanted) < 1e5:
                    assert number(text) == pytest.approx(wanted, rel=5.1e-3), (where, name)
        sizes = [round(abs(step), 6) for step in numbers["step"]]
        assert f"the longest, step {sizes.index(max(sizes)) + 1}," in got["words"], where


def check_clinic(root, values):
    model = CurveClinic(values["curves"], values["causes"], lines=values["lines"], every=values["every"])
    for c, curve in enumerate(values["curves"]):
        model.curve = c
        put(root, curve=str(c))
        drawn = root.evaluate("root => [...root.querySelectorAll('.ex-point')].map(n => n.getAttribute('aria-label'))")
        losses = [*curve["train"], *curve["new"]]
        assert [number(label.rpartition(": ")[2]) for label in drawn] == pytest.approx(losses, abs=5.1e-3)
        heights = root.evaluate("root => [...root.querySelectorAll('.ex-point')].map(n => +n.getAttribute('cy'))")
        top = values["top"]
        assert heights == pytest.approx([204 - 194 * min(loss, top) / top for loss in losses], abs=0.06)
        for g, (name, looks) in enumerate(values["causes"]):
            model.guess = g
            put(root, guess=g + 1)
            (got,) = tour(root, [[]])
            assert got["data"]["right"] == str(model.right()).lower()
            told = (
                f"Yes, {name}. {curve['sign']}"
                if model.right()
                else f"Look again. Where {name}, the picture is another: {looks}"
            )
            assert told in got["words"], (c, name)
        put(root, guess=0)


CHECKS = {"ScheduleExplorer": check_schedule, "AdamSteps": check_adam, "CurveClinic": check_clinic}


def made():
    run = {"train": [2.5, 1.0, 0.5], "new": [2.0, 6.0, 1.5], "cause": 1, "sign": "It falls."}
    return [
        ScheduleExplorer(kind="cosine", d_model=1024, warmup=2000, total=50_000, peak=1e-3),
        AdamSteps([1.0, -2.0, 30.0, 0.5], beta_1=0.5, beta_2=0.99, factor=10.0, correct=False),
        CurveClinic([run | {"title": "A"}, run | {"title": "B", "cause": 0}], lines=[2.08, 0.66], curve=1, guess=2),
    ]
