"""The explorers of the chapter on the whole architecture: what the browser shows is what the package gives."""

import itertools
import re

import pytest
import torch

from companion.chapters.architecture.explorers.architecture import (
    LAYERS,
    MODELS,
    PARTS,
    PLACES,
    STACKS,
    VOCABULARIES,
    WIDTHS,
    T,
)
from companion.explorers import ParameterCounter, TranslatorView, VisibilityExplorer
from tests.site.browser import CELLS, number, put, tensor, value_of

STATES = """(root, name) => [...root.querySelectorAll(`[data-matrix="${name}"] .ex-cell`)].map((cell) => [
  cell.textContent, cell.classList.contains("ex-hidden"), cell.classList.contains("ex-minus"),
  cell.getAttribute("aria-label")])"""


def check_visibility(root, values):
    fresh = VisibilityExplorer()  # computed again, here
    for name, length in itertools.product(MODELS, range(1, T + 1)):
        put(root, length=length, model_kind=MODELS.index(name))
        tables = fresh.reach[name][length - 1]
        words = [f"x{k + 1}" if name == "decoder-only" or k < length else "pad" for k in range(T)]
        pair = "source" in tables
        goals = [f"y{k + 1}" for k in range(T)] if pair else words
        if name == "decoder-only":
            goals = [f"x{k + 2}" for k in range(T)]
        read = ["<s>", *goals[:-1]] if pair and name != "not shifted" else goals if pair else words
        columns = {"source": words, "target": read}
        for place, rows in tables.items():
            cells = root.evaluate(STATES, place)
            want = [(i, j) for i in range(T) for j in range(T)]
            assert len(cells) == len(want)
            for (text, hidden, orange, label), (i, j) in zip(cells, want, strict=True):
                seen = rows[i][j] == "1"
                where = (name, length, place, i, j)
                leak = columns[place][j] == "pad" and goals[i] != "pad"
                answer = name == "not shifted" and place == "target" and i == j
                assert (text == "●") == seen, where
                assert hidden != seen, where
                assert label.startswith(f"{goals[i]} {'depends' if seen else 'does not depend'} on {columns[place][j]}")
                assert orange == (leak or answer), where
                assert label.endswith("a fault") == (seen and (leak or answer)), where
        for i in range(T):
            put(root, output=i)
            said = root.query_selector(".ex-readout").text_content()
            assert said.startswith(f"Output {i + 1} "), said
            named = [
                ", ".join(word for word, bit in zip(columns[place], rows[i], strict=True) if bit == "1")
                for place, rows in tables.items()
            ]
            assert all(
                f"{part}{end}" in said for part, end in zip(named, [";", "."] if pair else ["."], strict=True)
            ), said
            faulty = (name == "no source mask" and length < T) or name == "not shifted"
            assert ("A fault" in said) == faulty, (name, length, said)


def check_parameters(root, values):
    model = ParameterCounter()
    sizes = itertools.product(STACKS, (64, 4096), (1, 96), (1, 8), (1_000, 128_000), (True, False))
    for kind, d_model, n_layers, ratio, vocab, tied in sizes:
        model.kind, model.d_model, model.n_layers = kind, d_model, n_layers
        model.ratio, model.vocab, model.tied = ratio, vocab, tied
        put(root, kind=STACKS.index(kind), d_model=WIDTHS.index(d_model), n_layers=LAYERS.index(n_layers))
        put(root, ratio=ratio, vocab=VOCABULARIES.index(vocab), tied=tied)
        numbers = model.numbers()
        total, found = sum(numbers.values()), root.evaluate(CELLS, "parts")
        for k, part in enumerate(PARTS):
            where = (repr(model), ratio, tied, part)
            (label, worked, words, _), (share, _, _, _) = found[2 * k], found[2 * k + 1]
            made, _, printed = worked.rpartition(" = ")
            assert printed == f"{numbers[part]:,}", where
            assert value_of(made) == numbers[part], where
            assert label.endswith(f": {numbers[part]:,}"), where
            shown = number(share.rpartition(": ")[2].rstrip("%"))
            want = 100 * numbers[part] / total
            assert shown == pytest.approx(want, rel=0.051), where
            assert words.endswith(f"of all {total:,}."), where


def check_translator(root, values):
    heads = list(itertools.product(range(values["n_layers"]), range(values["n_heads"])))
    for s, given in enumerate(values["sentences"]):
        if len(values["sentences"]) > 1:
            put(root, sentence=s)
        source, target = given["source"], given["target"]
        read = ["<s>", *target[:-1]]
        for p, place in enumerate(PLACES):
            put(root, place=place)
            queries, keys = source if place == "encoder" else target, read if place == "decoder" else source
            for layer, head in heads:
                chosen = {"layer": layer} if values["n_layers"] > 1 else {}
                put(root, **chosen, **({"head": head} if values["n_heads"] > 1 else {}))
                rows = [[float(w) for w in row.split()] for row in values["weights"][s][p][layer][head]]
                weights = tensor(rows)
                assert weights.shape == (len(queries), len(keys))
                torch.testing.assert_close(weights.sum(-1), torch.ones(len(queries)).double(), rtol=0, atol=0.06)
                cells = root.evaluate(CELLS, "weights")
                want = list(itertools.product(range(len(queries)), range(len(keys))))
                for (label, digits, words, side), (i, j) in zip(cells, want, strict=True):
                    assert label == f"{queries[i]} to {keys[j]}: {rows[i][j]:.2f}"
                    assert digits == f"{queries[i]} → {keys[j]}: {rows[i][j]:.2f}. "
                    best = keys[int(weights[i].argmax())]
                    opening = (
                        f"{queries[i]} looks at"
                        if place == "encoder"
                        else f"reading {read[i]}, writing {queries[i]}: looks at"
                    )
                    assert side.startswith(opening)
                    if (weights[i] == weights[i].max()).sum() == 1:
                        assert side.startswith(opening + best)
                    if place == "cross" and given["links"][i]:
                        linked = sum(rows[i][k] for k in given["links"][i])
                        assert number(re.search(r"weight ([\d.]+)\.$", words)[1]) == pytest.approx(linked, abs=0.0051)
                    assert ("links" in words) == (place == "cross")
                outlined = root.evaluate(
                    "root => [...root.querySelectorAll('[data-matrix=weights] .ex-from')]"
                    ".map(c => [+c.dataset.i, +c.dataset.j])"
                )
                marked = [[i, k] for i, link in enumerate(given["links"]) for k in link] if place == "cross" else []
                assert sorted(outlined) == sorted(marked), (s, place)


CHECKS = {
    "VisibilityExplorer": check_visibility,
    "ParameterCounter": check_parameters,
    "TranslatorView": check_translator,
}


def made():
    generator = torch.Generator().manual_seed(5)

    def sentence(s, t):
        sizes = {"encoder": (s, s), "decoder": (t, t), "cross": (t, s)}
        scores = {name: 2 * torch.randn(2, 3, *shape, generator=generator) for name, shape in sizes.items()}
        scores["decoder"] = scores["decoder"].masked_fill(~torch.ones(t, t, dtype=torch.bool).tril(), -torch.inf)
        words = {"source": list("abcdefghij")[:s], "target": list("ABCDEFGHIJ")[:t]}
        links = [(k % s,) if k % 3 else (k % s, (k + 1) % s) if k else () for k in range(t)]
        return words | {"links": links} | {name: x.softmax(-1) for name, x in scores.items()}

    return [
        VisibilityExplorer(model_kind="not shifted", length=4, output=1),
        ParameterCounter(kind="decoder-only", d_model=768, n_layers=12, vocab=50_000),
        TranslatorView([sentence(3, 4), sentence(9, 7)], sentence=1, place="decoder", layer=1, head=2),
    ]
