"""The rule of speculative decoding: what the browser shows is what PyTorch gives, and adds up to the target."""

import itertools
import math
import re

import pytest
import torch

from companion import generate
from companion.chapters.generation.explorers.acceptance_rule import DRAFTS
from companion.explorers import AcceptanceRule
from tests.site.browser import assert_shows, moves, number, put, tensor, tour
from tests.tools.traits import assert_takes_and_refuses

HIGH, TOPS = 152, (0.4, 0.6, 0.8, 1.0)


def rows_of(target, draft, mix):
    """Give q, p, what is accepted, the residual, and what is drawn from it, from their definitions."""
    p = tensor(target)
    q = (1 - mix / 10) * tensor(draft) + mix / 10 * p
    accepted = q * torch.where(q > 0, p / q, 0).clamp(max=1)
    rest = (p - q).clamp(min=0)
    rest[rest < 1e-12] = 0  # what rounding left
    residual = rest / rest.sum() if rest.any() else rest
    return torch.stack([q, p, accepted, residual, (1 - accepted.sum()) * residual])


def check(root, values):
    drafts = values["drafts"]
    cases = [*itertools.product(range(len(drafts)), (0, 3, 9, 10), (1, 4, 8))]
    stops = [moves(draft=draft, mix=mix, guesses=guesses) for draft, mix, guesses in cases]
    if len(drafts) == 1:
        stops = [stop[1:] for stop in stops]
    for got, (draft, mix, guesses) in zip(tour(root, stops), cases, strict=True):
        where = (draft, mix, guesses)
        rows = rows_of(values["target"], drafts[draft], mix)
        want = torch.cat([rows, (rows[2] + rows[4])[None]])
        torch.testing.assert_close(want[5], want[1], rtol=0, atol=1e-12)
        exact = tensor([float(x) for x in got["data"]["rows"].split()]).view(6, -1)
        torch.testing.assert_close(exact, want, rtol=0, atol=6e-8, msg=lambda m, where=where: f"{where}: {m}")
        cells = got["cells"]["rule"]
        if mix == 10:
            assert set(cells[3]) == {"–"}, where
            cells[3] = ["0.000"] * len(cells[0])
        whole = torch.cat([want, want.sum(-1, keepdim=True)], -1)
        assert_shows(cells, whole, where, digits=3)
        for _, p, accepted, _, redrawn, total in zip(*cells, strict=True):
            assert round(1000 * number(accepted)) + round(1000 * number(redrawn)) == round(1000 * number(p)), where
            assert total == p, where
        rate = rows[2].sum().item()
        pass_ = generate.expected_tokens(min(1.0, rate), guesses)
        assert [number(text) for text in got["weights"]] == [
            pytest.approx(rate, abs=5.1e-4),
            pytest.approx(pass_, abs=5.1e-3),
        ], where
        assert float(got["data"]["pass"]) == pytest.approx(pass_, abs=1e-6), where
        assert f"with {guesses} guess{'es' * (guesses > 1)} " in got["lead"], where
        assert f"A pass gives {pass_:.2f} tokens with {guesses} guess" in got["words"], where
        if mix == 10:
            assert "no guess is refused" in got["words"], where
        else:
            told = [number(x) for x in re.findall(r"(?:probability|refused with) ([\d.]+\d)", got["words"])]
            assert told == pytest.approx([rate, 1 - rate], abs=5.1e-4), where
        q, p, accepted, _, redrawn = rows
        parts = torch.stack([accepted, q - accepted, accepted, redrawn], -1)
        most = max(*values["target"], *drafts[draft])
        top = min(one for one in TOPS if most <= one)
        assert [number(text) for text in got["ticks"][:3]] == [0, top / 2, top], where
        torch.testing.assert_close(
            tensor(got["bars"]).view(-1, 4) / (HIGH - 46) * top, parts, rtol=0, atol=1e-3 * top, msg=str(where)
        )
    put(root, mix=3)
    says = root.evaluate("root => [...root.querySelectorAll('.ex-hit')].map(n => n.getAttribute('aria-label'))")
    q, p, accepted, _, redrawn = rows_of(values["target"], drafts[-1], 3)
    for j, text in enumerate(says):
        told = [number(x) for x in re.findall(r"\d\.\d+", text)]
        want = tensor([q[j], p[j], accepted[j], redrawn[j], p[j]])
        assert told == pytest.approx(want.tolist(), abs=5.1e-4), text
        assert text.startswith(f"“{values['tokens'][j]}”: "), text


CHECKS = {"AcceptanceRule": check}


def made():
    drafts = {"even": [0.25] * 4, "sure": [0.0, 0.0, 1.0, 0.0]}
    return [AcceptanceRule(["a", "b", "c", "d"], [0.61, 0.07, 0.32, 0.0], drafts, draft=1, mix=4, guesses=3)]


@pytest.mark.parametrize(
    ("name", "good", "bad", "rule"),
    [
        ("draft", 3, 4, "draft is a whole number from 0 to 3: got 4"),
        ("mix", 10, 11, "mix is a whole number from 0 to 10: got 11"),
        ("mix", 5, 0.5, "mix is a whole number from 0 to 10: got 0.5. Round it"),
        ("guesses", 1, 0, "guesses is a whole number from 1 to 8: got 0"),
    ],
)
def test_what_a_reader_sets_is_taken_or_refused(name, good, bad, rule):
    assert_takes_and_refuses(AcceptanceRule(), name, good, bad, rule)


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ({"tokens": ["a"]}, "2 to 5 tokens and 1 to 6 drafts: got 1 tokens and 4 drafts. Leave some out"),
        ({"tokens": [*"abcdef"]}, "got 6 tokens"),
        ({"drafts": {}}, "got 5 tokens and 0 drafts"),
        ({"target": [0.4, 0.3, 0.2, 0.1]}, "the target has a probability for each of 5 tokens"),
        ({"target": [0.4, 0.3, 0.2, 0.1, 0.1]}, r"in whole per cent that sum to 100: got \[0.4, 0.3, 0.2, 0.1, 0.1\]"),
        ({"target": [0.4, 0.3, 0.3, 0.1, -0.1]}, "the target has a probability"),
        ({"target": [0.4, 0.3, 0.3, math.nan, math.inf]}, "the target has a probability"),
        ({"drafts": {"mine": [0.005, 0.995, 0, 0, 0]}}, "mine has a probability .* Round them to two decimals"),
    ],
)
def test_what_is_no_distribution_in_whole_per_cent_is_refused(given, rule):
    with pytest.raises(ValueError, match=rule):
        AcceptanceRule(**given)


@pytest.mark.parametrize("draft", range(len(DRAFTS)))
@pytest.mark.parametrize("mix", [0, 3, 10])
def test_what_is_accepted_and_what_is_redrawn_make_up_the_target(draft, mix):
    figure = AcceptanceRule(draft=draft, mix=mix)
    rows = figure.rows()
    torch.testing.assert_close(rows[:5], rows_of(figure.target, [*DRAFTS.values()][draft], mix), rtol=0, atol=1e-12)
    torch.testing.assert_close(rows[5], rows[1], rtol=0, atol=1e-12)
    assert rows[3].sum() == pytest.approx(0 if mix == 10 else 1)


def test_the_package_draws_from_the_residual_and_accepts_as_the_figure_says():
    """Of 4,000 rounds with one guess, the shares of what is accepted and of what is redrawn, within 4 deviations."""
    figure = AcceptanceRule(draft=3, mix=2)
    q, p, accepted, _, redrawn, _ = figure.rows()
    g, found = torch.Generator().manual_seed(0), torch.zeros(2, 5)
    for _ in range(4000):
        guess = torch.multinomial(q, 1, generator=g)
        new = generate.verify(torch.stack([p, p]), q[None], guess, generator=g)
        found[int(len(new) == 1), int(new[0])] += 1
    for got, want in zip(found / 4000, (accepted, redrawn), strict=True):
        assert ((got - want).abs() <= 4 * (want * (1 - want) / 4000).sqrt() + 1e-9).all()


def test_the_drafts_have_their_order_where_a_notebook_sorts_names():
    figure = AcceptanceRule()
    assert figure.names == [*DRAFTS]
    assert figure.drafts == [[*row] for row in DRAFTS.values()]


def test_the_page_is_right_about_the_drafts():
    rates = [AcceptanceRule(draft=draft).rows()[2].sum().item() for draft in range(4)]
    assert rates == pytest.approx([0.55, 0.7, 0.4, 0.6])
    assert generate.expected_tokens(0.55, 4) == pytest.approx(2.11, abs=0.005)
