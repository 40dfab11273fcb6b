"""`check_claim` with a truth, and `cite_claim`, in a chapter without a page of claims: what is needed and printed."""

import numpy as np
import pytest
import torch

from companion.book import check, first_edition
from companion.book.check import ClaimError, check_claim, cite_claim
from companion.book.claims import Ledger
from companion.book.model import VERDICTS, Claim

pytestmark = pytest.mark.usefixtures("shape_checks_off")


@pytest.fixture(autouse=True)
def small_ledger(monkeypatch):
    """One entry a verdict, named after it, and two more: a fact of history and a dropped claim."""

    def entry(name, claim, verdict, kind="math", dropped=""):
        return Claim(name, "one", claim, verdict, kind=kind, documents=1, evidence="None.", dropped=dropped)

    entries = [entry(name, f"A claim that {name}.", name) for name in VERDICTS]
    entries.append(entry("fact", "It was so.", "wrong", "history-fact"))
    entries.append(entry("gone", "A joke.", "unsupported", "opinion", dropped="No use."))
    monkeypatch.setattr(check, "read_ledger", lambda: Ledger(tuple(entries)))


@pytest.mark.parametrize(("verdict", "needed"), [("holds", True), ("wrong", False), ("outdated", False)])
def test_a_measurement_must_agree_with_the_verdict(verdict, needed, capsys):
    check_claim(verdict, needed, "1 of 1")
    assert f"Measured   {needed}\n" in capsys.readouterr().out
    with pytest.raises(
        ClaimError, match=rf"^{verdict}: the ledger says '{verdict}', which needs {needed}.*{not needed}"
    ):
        check_claim(verdict, not needed, "1 of 1")
    assert capsys.readouterr().out == ""  # a disagreement is not printed as if it were settled


def test_a_disagreement_carries_its_evidence():
    with pytest.raises(ClaimError, match=r"Evidence: the sum is 3\."):
        check_claim("holds", False, "the sum is 3.")


@pytest.mark.parametrize(("inside", "outside"), [(True, True), (False, False), (False, True)])
def test_conditions_need_a_case_inside_that_holds_and_one_outside_that_fails(inside, outside):
    check_claim("holds-with-conditions", True, "both cases", outside=False)
    with pytest.raises(ClaimError, match=rf"inside: True, outside: False.*inside: {inside}, outside: {outside}"):
        check_claim("holds-with-conditions", inside, "both cases", outside=outside)


def test_conditions_need_a_case_outside_them():
    with pytest.raises(ValueError, match=r"needs a case outside them too: got outside=None\. Measure one"):
        check_claim("holds-with-conditions", True, "one case")


@pytest.mark.parametrize("verdict", ["holds", "wrong", "outdated"])
def test_only_conditions_have_an_outside(verdict):
    with pytest.raises(ValueError, match=rf"only for a claim that holds with conditions: got it for '{verdict}'"):
        check_claim(verdict, verdict == "holds", "one case", outside=False)


@pytest.mark.parametrize("verdict", ["unsupported", "disputed"])
def test_what_no_cell_can_settle_is_cited(verdict, capsys):
    with pytest.raises(ValueError, match=rf"cannot be measured: got '{verdict}'.*Use cite_claim"):
        check_claim(verdict, True, "none")
    cite_claim(verdict, "who1999what", "nobody measured it")
    assert "Source     who1999what: nobody measured it\n" in capsys.readouterr().out


def test_a_fact_of_history_may_be_measured_or_cited(capsys):
    check_claim("fact", False, "the table has no such row")
    cite_claim("fact", "who1999what", "the table has no such row")
    assert capsys.readouterr().out.count("Verdict    wrong\n") == 2


@pytest.mark.parametrize("verdict", ["holds", "holds-with-conditions", "wrong", "outdated"])
def test_what_a_cell_can_measure_is_not_cited(verdict):
    with pytest.raises(ValueError, match=rf"'{verdict}', kind 'math'.*Measure it with check_claim"):
        cite_claim(verdict, "who1999what", "so they say")


@pytest.mark.parametrize(
    "value", [True, np.bool_(True), np.ones(3).all(), torch.tensor(True), torch.ones(3).bool().all()]
)
def test_one_truth_of_python_numpy_or_torch_is_a_measurement(value, capsys):
    check_claim("holds", value, "computed")
    assert "Measured   True\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("value", "named"),
    [
        (1, "int"),
        (1.0, "float"),
        ("True", "str"),
        (None, "NoneType"),
        (torch.tensor(1), r"Tensor of shape \(\)"),
        (torch.tensor([True]), r"Tensor of shape \(1,\)"),
        (np.array([True, True]), r"ndarray of shape \(2,\)"),
    ],
)
def test_a_number_or_an_array_is_no_measurement(value, named):
    with pytest.raises(ValueError, match=rf"measured is one truth value: got {named}\. Compare, then reduce"):
        check_claim("holds", value, "computed")
    with pytest.raises(ValueError, match=r"outside is one truth value: got int"):
        check_claim("holds-with-conditions", True, "computed", outside=0)


def test_an_empty_text_is_refused():
    with pytest.raises(ValueError, match="evidence is a text that a reader can check: got ' '"):
        check_claim("holds", True, " ")
    with pytest.raises(ValueError, match="bibkey is a text"):
        cite_claim("disputed", "", "so they say")
    with pytest.raises(ValueError, match="says is a text"):
        cite_claim("disputed", "who1999what", "\n")


def test_what_is_printed_is_plain_and_wrapped(capsys):
    check_claim("holds-with-conditions", True, "a number " * 20, outside=False)
    assert capsys.readouterr().out == (
        "Claim      holds-with-conditions: A claim that holds-with-conditions.\n"
        "Verdict    holds-with-conditions\n"
        "Measured   inside: True, outside: False\n"
        "Evidence   a number a number a number a number a number a number a number a number a\n"
        "           number a number a number a number a number a number a number a number a\n"
        "           number a number a number a number\n"
    )


def test_a_truth_is_refused_where_the_chapter_has_a_page_of_claims(monkeypatch):
    monkeypatch.setattr(first_edition, "converted", lambda: {"one"})
    with pytest.raises(ValueError, match=r"the chapter one has a page of claims.*got a bool for 'holds'.*Give measure"):
        check_claim("holds", True, "so")
