"""The explorers of the chapter on multi-head attention: what the browser shows is what the package gives."""

import itertools
import re

import pytest
import torch

from companion.chapters.multi_head.explorers.heads import HEADS, LENGTHS, QUANTITIES, WIDTHS
from companion.explorers import HeadGrid, HeadSizes, HeadSwitches
from tests.site.browser import CELLS, number, put, tensor, value_of


def check_sizes(root, values):
    model = HeadSizes()
    sizes = itertools.product((64, 768, 4096), (1, 4, 64), (1, 4, 32), (128, 32768))
    for d_model, n_heads, n_kv_heads, t in sizes:
        if n_kv_heads > n_heads:
            continue
        model.d_model, model.n_heads, model.n_kv_heads, model.t = d_model, n_heads, n_kv_heads, t
        places = {"d_model": WIDTHS.index(d_model), "t": LENGTHS.index(t)}
        put(root, **places, n_heads=HEADS.index(n_heads), n_kv_heads=HEADS.index(n_kv_heads))
        where = repr(model)
        columns = [model.numbers(), model.numbers(single=True)]
        wanted = [column[name] for name in QUANTITIES for column in columns]
        for (label, worked, _, _), number_wanted in zip(root.evaluate(CELLS, "numbers"), wanted, strict=True):
            made, _, printed = worked.rpartition(" = ")
            assert printed == f"{number_wanted:,}", (where, label)
            assert label.endswith(f": {number_wanted:,}"), (where, label)
            assert value_of(made) == number_wanted, (where, worked)
        strips = root.evaluate("root => [...root.querySelectorAll('.ex-strip')].map(n => n.childElementCount)")
        assert strips == [n_heads, n_kv_heads], where
        colours = root.evaluate("root => [...root.querySelector('.ex-strip').children].map(n => n.className)")
        assert [bool(c) for c in colours] == [(i * n_kv_heads // n_heads) % 2 == 1 for i in range(n_heads)], where

    check_heads_move_together(root)


def check_heads_move_together(root):
    """Never more key-value heads than query heads, and as many where no heads share."""
    read = "root => ['n_heads', 'n_kv_heads'].map(n => +root.querySelector(`[data-trait=${n}]`).value)"
    for before, moved, after in (
        ((8, 8), {"n_heads": 64}, (64, 64)),
        ((64, 64), {"n_heads": 4}, (4, 4)),
        ((16, 2), {"n_heads": 32}, (32, 2)),
        ((16, 8), {"n_heads": 4}, (4, 4)),
        ((8, 2), {"n_kv_heads": 32}, (32, 32)),
        ((8, 8), {"n_kv_heads": 1}, (8, 1)),
    ):
        put(root, n_heads=HEADS.index(before[0]), n_kv_heads=HEADS.index(before[1]))
        put(root, **{name: HEADS.index(value) for name, value in moved.items()})
        shown = tuple(HEADS[place] for place in root.evaluate(read))
        strips = root.evaluate("root => [...root.querySelectorAll('.ex-strip')].map(n => n.childElementCount)")
        assert shown == tuple(strips) == after, (before, moved)


def check_grid(root, values):
    for e, example in enumerate(values["examples"]):
        if len(values["examples"]) > 1:
            put(root, example=e)
        weights, keys = tensor(example["weights"]), example["keys"]
        for key, word in enumerate(keys):
            put(root, key=key)
            found = root.evaluate(CELLS, "heads")
            want = [(i, j) for i in range(len(weights)) for j in range(len(weights[0]))]
            large = int((weights[:, :, key] > 0.5).sum())
            for (label, digits, words, side), (i, j) in zip(found, want, strict=True):
                weight = weights[i, j, key].item()
                assert label.startswith(f"layer {i}, head {j}: ")
                assert number(label.rsplit(" ", 1)[1]) == pytest.approx(weight, abs=5.1e-4)
                assert digits.startswith(f"Layer {i}, head {j}: {example['query']} → {word} ")
                assert words.endswith(f"above 0.5 in {large}.")
                mean = number(re.search(r"mean ([\d.]+)", words)[1])
                assert mean == pytest.approx(weights[:, :, key].mean().item(), abs=5.1e-4)
                best = keys[int(weights[i, j].argmax())]
                assert side.startswith(f"layer {i}, head {j}: {example['query']} looks at{best}")


def check_switches(root, values):
    tasks, n = values["tasks"], values["n_heads"]
    for r, run in enumerate(values["runs"]):
        if len(values["runs"]) > 1:
            put(root, run=r)
        for on in range(2**n):
            put(root, **{f"on__{i}": bool(on >> i & 1) for i in range(n)})
            subsets = [on, *(on ^ (1 << i) for i in range(n))]
            found = root.evaluate(CELLS, "scores")
            want = [(t, c, run["scores"][subset][t]) for t in range(len(tasks)) for c, subset in enumerate(subsets)]
            for (label, digits, words, _), (t, c, score) in zip(found, want, strict=True):
                assert number(label.rsplit(" ", 1)[1].rstrip("%")) == pytest.approx(100 * score, abs=0.51)
                assert f"{tasks[t]} {label.rsplit(' ', 1)[1]}" in digits
                switched = "off" if c and on >> (c - 1) & 1 else "on"
                assert digits.startswith(f"Head {c - 1} switched {switched}: " if c else "Now: ")
                heads = ", ".join(f"head {i}" for i in range(n) if on >> i & 1)
                assert (f"On: {heads}." if heads else "No head is on.") in words


CHECKS = {
    "HeadSizes": check_sizes,
    "HeadGrid": check_grid,
    "HeadSwitches": check_switches,
}


def made():
    generator = torch.Generator().manual_seed(3)
    letters = list("abcdefghij")
    return [
        HeadSizes(d_model=768, n_heads=16, n_kv_heads=4, t=512),
        HeadGrid(
            [
                {
                    "title": f"{layers} layers",
                    "query": "it",
                    "keys": letters[:n],
                    "weights": torch.randn(layers, heads, n, generator=generator).mul(3).softmax(-1),
                }
                for layers, heads, n in ((2, 3, 7), (4, 12, 5))
            ],
            key=4,
        ),
        HeadSwitches(
            [{"title": f"run {r}", "scores": torch.rand(8, 2, generator=generator)} for r in range(2)],
            ["letters", "digits"],
            chance=0.25,
            run=1,
            on=5,
        ),
    ]
