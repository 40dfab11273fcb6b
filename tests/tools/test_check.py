"""`check_claim` and `cite_claim`: what each verdict needs, what is refused, and what is shown."""

import math
import re

import nbformat
import numpy as np
import pytest
import torch

from companion.book import check, notebooks
from companion.book.cases import Result, values_of
from companion.book.check import ClaimError, check_claim, cite_claim
from companion.book.claims import Ledger, read_ledger
from companion.book.measured_output import MEASURED, differences
from companion.book.model import VERDICTS, Claim

pytestmark = pytest.mark.usefixtures("shape_checks_off")


def entry(name, verdict="holds", basis="derived", **more):
    return Claim(name, "one", f"A claim that {name}.", verdict, basis=basis, documents=1, evidence="None.", **more)


@pytest.fixture(autouse=True)
def small_ledger(monkeypatch):
    """One entry a verdict, named after it, and four more: with parts, cited, without a basis, dropped."""
    open_ones = ("unsupported", "disputed")
    entries = [entry(name, name, "cited" if name in open_ones else "derived") for name in VERDICTS]
    parts = (entry("whole/left"), entry("whole/right", "unsupported", "cited"))
    entries += [
        entry("whole", "holds-with-conditions", "", parts=parts),
        entry("quoted", "wrong", "cited", correct="Not so, by half."),
        entry("gone", "unsupported", "", dropped="No use."),
    ]
    monkeypatch.setattr(check, "read_ledger", lambda: Ledger(tuple(entries)))


def settle(name, inside, outside=None, **more):
    """Claim that the numbers given as cases are above 1."""
    cases = {"outside": {f"out {case}": case for case in outside}} if outside else {}
    check_claim(name, float, lambda value: value > 1, inside={f"in {case}": case for case in inside}, **cases, **more)


@pytest.mark.parametrize(
    ("verdict", "inside", "outside"),
    [("holds", (2, 3), ()), ("wrong", (0, 1), ()), ("outdated", (0,), ()), ("holds-with-conditions", (2, 3), (0, 1))],
)
def test_each_case_must_agree_with_the_verdict(verdict, inside, outside, capsys):
    settle(verdict, inside, outside)
    assert f"{verdict.replace('-', ' ').capitalize()}, derived.\n" in capsys.readouterr().out
    for place in range(len(inside)):
        turned = [3 - case if index == place else case for index, case in enumerate(inside)]
        turned = [0 if case == 1 and verdict.startswith("holds") else case for case in turned]
        with pytest.raises(ClaimError, match=rf"^{verdict}: the ledger says '{verdict}', for which the statement must"):
            settle(verdict, turned, outside)
    for place in range(len(outside)):
        with pytest.raises(ClaimError, match="must be True inside and False outside, but the cell found"):
            settle(verdict, inside, [5 if index == place else case for index, case in enumerate(outside)])
    assert capsys.readouterr().out == ""  # a disagreement is not shown as if it were settled


def test_a_disagreement_carries_its_numbers():
    with pytest.raises(
        ClaimError, match=r"in 2 \(inside\): 2, so it is True, in 0.25 \(inside\): 0.25, so it is False"
    ):
        settle("holds", (2, 0.25))


@pytest.mark.parametrize(
    ("verdict", "cases"),
    [
        ("holds", {}),
        ("holds", {"inside": {}}),
        ("holds", {"inside": [2]}),
        ("holds", {"inside": {"a": 2}, "outside": {"b": 0}}),
        ("wrong", {"inside": {"a": 0}, "outside": {"b": 2}}),
        ("holds-with-conditions", {"inside": {"a": 2}}),
        ("holds-with-conditions", {"outside": {"a": 0}}),
        ("holds-with-conditions", {"inside": {"a": 2}, "outside": {}}),
    ],
)
def test_a_verdict_needs_its_cases_and_no_others(verdict, cases):
    needed = "inside and outside" if verdict == "holds-with-conditions" else "inside"
    with pytest.raises(
        ValueError, match=rf"verdict '{verdict}' needs cases, by their names, {needed}: got '{verdict}'"
    ):
        check_claim(verdict, float, lambda value: value > 1, **cases)


def test_a_case_lies_on_one_side():
    with pytest.raises(ValueError, match=r"a case lies on one side: got a on both\. Rename or remove one"):
        check_claim("holds-with-conditions", float, lambda value: value > 1, inside={"a": 2, "b": 3}, outside={"a": 0})


# --- values ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (2, {"": (2,)}),
        (np.float64(0.5), {"": (0.5,)}),
        (torch.tensor(3), {"": (3,)}),
        ((1, 2.5), {"": (1, 2.5)}),
        (torch.tensor([1, 2]), {"": (1, 2)}),
        ({"a": torch.tensor(1), 8: (2, 3)}, {"a": (1,), "8": (2, 3)}),
        ("raises RuntimeError", {"": ("raises RuntimeError",)}),
    ],
)
def test_a_value_is_a_number_or_a_few_with_names(value, found):
    assert values_of("here", value) == found


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (True, r"here: a value is a number: got True\. Show the numbers that decide"),
        (torch.tensor(True), "a value is a number: got True"),
        (None, "a value is a number: got None"),
        ({"a": {"b": 1}}, r"a value is a number: got \{'b': 1\}"),
        (" ", "a value is a number: got ' '"),
        (math.nan, r"a value is finite: got nan\. Return a text that says what happened"),
        (torch.tensor(-math.inf), "a value is finite: got -inf"),
        ({}, r"a case has 1 to 8 numbers: got 0\. Reduce them"),
        (range(9), "a value is a number: got range"),
        (torch.zeros(9), "a case has 1 to 8 numbers: got 9"),
    ],
)
def test_what_a_reader_cannot_read_is_no_value(value, message):
    with pytest.raises(ValueError, match=message):
        values_of("here", value)


def test_all_cases_have_values_of_the_same_names():
    with pytest.raises(ValueError, match=r"'holds': all cases have values of the same names: got a \(inside\): x 1"):
        check_claim("holds", lambda case: case, lambda value: True, inside={"a": {"x": 1}, "b": {"y": 1}})


@pytest.mark.parametrize("answer", [1, None, torch.ones(2).bool(), "yes"])
def test_an_answer_is_one_truth(answer):
    with pytest.raises(ValueError, match=r"says, for 'a', is one truth value: got .*Compare, then reduce"):
        check_claim("holds", float, lambda value: answer, inside={"a": 1})


def undecided_at_two(value):
    return "undecided" if value == 2 else value > 2


def test_a_case_that_decides_nothing_is_shown_and_does_not_count(capsys):
    check_claim("holds", float, undecided_at_two, inside={"a tie": 2, "clear": 3})
    assert re.search(r"a tie +2 +undecided\n", capsys.readouterr().out)
    for cases in ({"inside": {"a": 2}, "outside": {"b": 1}}, {"inside": {"a": 3}, "outside": {"b": 2}}):
        with pytest.raises(ClaimError, match="so it is undecided"):  # nothing decides on one side
            check_claim("holds-with-conditions", float, undecided_at_two, **cases)
    with pytest.raises(ValueError, match="not so of all values within the tolerance"):
        check_claim("holds", float, undecided_at_two, inside={"a": 2.5, "b": 3}, within=0.5)


@pytest.mark.parametrize("answer", [True, np.bool_(True), torch.ones(2).bool().all()])
def test_an_answer_may_be_of_numpy_or_torch(answer, capsys):
    check_claim("holds", float, lambda value: answer, inside={"a": 1})
    assert "holds" in capsys.readouterr().out


def test_a_statement_that_changes_within_the_tolerance_settles_nothing():
    settle("holds", (1.5,), within=0.4)
    with pytest.raises(ValueError, match=r"in 1\.5 \(inside\): 1\.5, so it is True, but not so of all values within"):
        settle("holds", (1.5,), within=0.6)
    with pytest.raises(ValueError, match=r"0\.5, so it is False, but not so of all values within"):
        settle("wrong", (0.5,), within=0.6)
    with pytest.raises(ClaimError):  # a disagreement comes first
        settle("holds", (0.9,), within=0.6)
    for value, says in (
        ({"a": 2, "b": (1, 5)}, lambda value: value["b"][1] > 4.9),
        ([5, 2], lambda value: value[0] > 4.9),
    ):
        check_claim(
            "holds", lambda case: case, says, inside={"x": value}, within={"a": 9, "b": 0.05} if "a" in value else 0.05
        )
        with pytest.raises(ValueError, match="but not so of all values within"):
            check_claim(
                "holds", lambda case: case, says, inside={"x": value}, within={"b": 0.2} if "a" in value else 0.2
            )


# --- what is cited, and what has no entry ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["unsupported", "disputed", "quoted", "whole/right"])
def test_what_is_cited_is_not_measured(name, capsys):
    with pytest.raises(ValueError, match=rf"cited cannot be measured: got '{name}'.*Use cite_claim"):
        settle(name, (2,))
    cite_claim(name, "who1999what", "nobody measured it")
    assert capsys.readouterr().out.endswith("who1999what: nobody measured it\n")


@pytest.mark.parametrize("name", ["holds", "wrong", "whole/left"])
def test_what_is_measured_or_derived_is_not_cited(name):
    with pytest.raises(ValueError, match=rf"a source settles what is cited: got '{name}', basis 'derived'. Use check"):
        cite_claim(name, "who1999what", "so they say")


def test_a_claim_with_parts_is_settled_part_by_part(capsys):
    settle("whole/left", (2,))
    assert "Holds, derived." in capsys.readouterr().out
    for whole in (lambda: settle("whole", (2,)), lambda: cite_claim("whole", "who1999what", "so")):
        with pytest.raises(ValueError, match=r"settled part by part: got 'whole'\. Settle whole/left, whole/right"):
            whole()


@pytest.mark.parametrize("settle", [lambda name: settle(name, (2,)), lambda name: cite_claim(name, "x", "x")])
def test_a_claim_has_an_entry(settle):
    with pytest.raises(ValueError, match=r"got 'hold'\. Did you mean holds"):
        settle("hold")
    with pytest.raises(ValueError, match=r"got 'zzz'\. Add an entry to the claims\.yml of its chapter first"):
        settle("zzz")
    with pytest.raises(ValueError, match=r"a dropped claim stands in the ledger and nowhere else: got 'gone'"):
        settle("gone")


def test_an_empty_text_is_refused():
    with pytest.raises(ValueError, match="bibkey is a text that a reader can check: got ''"):
        cite_claim("disputed", "", "so they say")
    with pytest.raises(ValueError, match=r"says is a text that a reader can check: got '\\n'"):
        cite_claim("disputed", "who1999what", "\n")


# --- what is shown ---------------------------------------------------------------------------------------------------


def shown(monkeypatch, *given, **more):
    """Give the output of a call of `check_claim`, as a notebook stores it."""
    found = []
    monkeypatch.setattr(check, "_show", found.append)
    check_claim(*given, **more)
    return found[0]._repr_mimebundle_()


def test_the_plain_text_has_cases_values_and_verdict(monkeypatch):
    cases = {"inside": {"ten": 10, "a thousand": 1000}, "outside": {"one": 1}}
    bundle = shown(
        monkeypatch,
        "holds-with-conditions",
        lambda case: {"n": case, "share": -1 / (3 * case), "pair": (case * 12.34, "odd")},
        lambda value: value["n"] > 1,
        **cases,
        evidence="Five words of   evidence.",
    )
    assert bundle["text/plain"] == (
        "Case        n      share      pair         The claim\n"
        "Inside the conditions\n"
        "ten         10     −0.0333    123, odd     holds\n"
        "a thousand  1,000  −0.000333  12,340, odd  holds\n"
        "Outside them\n"
        "one         1      −0.333     12.3, odd    fails\n"
        "Holds with conditions, derived.\n"
        "Five words of evidence."
    )
    assert set(bundle) == {"text/plain", "text/html"}


def test_the_table_of_the_site_has_a_heading_for_each_side_and_a_name_for_each_value(monkeypatch):
    bundle = shown(monkeypatch, "holds-with-conditions", float, lambda x: x > 1, inside={"a < b": 2}, outside={"c": 0})
    html = bundle["text/html"]
    assert '<th colspan="3" scope="rowgroup">Inside the conditions</th>' in html
    assert (
        '<tr class="fails"><th scope="row">c</th><td data-name="Measured">0</td><td data-name="The claim">fails</td>'
        in html
    )
    assert "a &lt; b" in html
    assert '<span class="verdict verdict-holds-with-conditions">holds with conditions</span>' in html
    assert '<span class="basis">derived</span>' in html
    assert "Outside" not in shown(monkeypatch, "holds", float, lambda x: x > 1, inside={"a": 2})["text/html"]


def test_what_is_right_follows_the_table():
    assert "Right is: Not so, by half." in repr(Result.of(entry("x", "wrong", "cited", correct="Not so,\nby half.")))
    conditions = Result.of(entry("x", "holds-with-conditions", conditions="Small & x."))
    assert "Conditions: Small & x." in repr(conditions)
    assert "<p>Conditions: Small &amp; x.</p>" in conditions.html()


def test_a_part_is_said_in_the_words_of_the_ledger(monkeypatch):
    bundle = shown(monkeypatch, "whole/left", float, lambda x: x > 1, inside={"a": 2})
    assert bundle["text/plain"].startswith("A claim that whole/left.\nCase")
    assert "<p><em>A claim that whole/left.</em></p>" in bundle["text/html"]
    whole = shown(monkeypatch, "holds", float, lambda x: x > 1, inside={"a": 2})
    assert "A claim that" not in whole["text/plain"] + whole["text/html"]


def test_values_with_a_tolerance_are_stored_for_the_comparison(monkeypatch):
    cases = {"inside": {"low": 2, "high": 3}}
    bundle = shown(monkeypatch, "holds", lambda x: x / 3, lambda x: x > 0.5, **cases, within=0.1)
    assert bundle[MEASURED]["values"] == [[["low"], 0.666667], [["high"], 1.0]]
    assert bundle[MEASURED]["within"] == {"": 0.1}
    assert bundle["text/plain"].endswith("On another machine: within 0.1.")
    named = shown(
        monkeypatch, "holds", lambda x: {"a": x, "b": [x, 1]}, lambda x: x["a"] > 1, **cases, within={"a": 0.5, "b": 0}
    )
    assert named[MEASURED]["values"][:2] == [[["low", "a"], 2], [["low", "b"], [2, 1]]]
    assert named["text/plain"].endswith("On another machine: a within 0.5, b equal.")
    for stored in (bundle, named):
        assert Result.read(stored[MEASURED]).bundle() == stored


def test_stored_values_of_a_claim_are_kept_while_a_run_agrees_with_them(monkeypatch):
    def run(value):
        data = shown(monkeypatch, "holds", float, lambda x: x > 1, inside={"low": value}, within=0.1)
        cell = nbformat.v4.new_code_cell("check", outputs=[nbformat.v4.new_output("display_data", data)])
        return nbformat.v4.new_notebook(cells=[cell])

    assert notebooks.keep_measured(run(2.05), run(2)).cells[0].outputs == run(2).cells[0].outputs
    assert notebooks.keep_measured(run(2.2), run(2)).cells[0].outputs == run(2.2).cells[0].outputs


def test_each_value_has_a_tolerance_or_none_has():
    with pytest.raises(ValueError, match="low, b: each value has one tolerance: got 0"):
        check_claim("holds", lambda x: {"a": x, "b": 1}, lambda x: True, inside={"low": 2}, within={"a": 0.5})


def test_a_later_run_is_compared_by_its_values_and_by_the_letters_of_all_else(monkeypatch):
    def run(low, high=3, says=lambda x: x > 1, evidence="so"):
        return shown(
            monkeypatch, "holds", float, says, inside={"low": low, "high": high}, evidence=evidence, within=0.1
        )[MEASURED]

    assert differences(run(2), run(2.05)) == []
    assert differences(run(2), run(2.2)) == ["low: it has [2.0], and a run gives [2.2], which is not within 0.1"]
    assert len(differences(run(2), run(2, evidence="otherwise"))) == 1


def test_the_ledger_is_read_from_the_files_of_the_chapters(tmp_path):
    text = "- {id: NAME, claim: C., verdict: holds, basis: cited, documents: 1, evidence: E.}\n"
    (tmp_path / "_toc.yml").write_text("parts:\n- chapters:\n  - file: book/two/index.ipynb\n", "utf8")
    for chapter in ("one", "two"):
        folder = tmp_path / "companion" / "chapters" / chapter
        folder.mkdir(parents=True)
        (folder / "claims.yml").write_text(text.replace("NAME", f"of-{chapter}"), "utf8")
    assert [(claim.id, claim.chapter) for claim in read_ledger(tmp_path).claims] == [
        ("of-two", "two"),
        ("of-one", "one"),
    ]
    assert len(read_ledger().claims) > 100
