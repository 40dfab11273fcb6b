"""Each claim of a finished chapter is settled exactly once, by a measurement or by a source that can be found."""

import re
from pathlib import Path

import nbformat
import pytest
from pybtex.database import parse_string

from companion.book import claims
from companion.book.model import Turn

BOOK = Path(__file__).parents[2] / "book"


def read(chapter):
    return nbformat.reads((BOOK / f"{chapter}.ipynb").read_text("utf8"), as_version=4)


# --- each claim is settled once --------------------------------------------------------------------------------------

ENTRY = {
    "id": "a-b",
    "chapter": "one",
    "claim": "C.",
    "verdict": "holds",
    "basis": "cited",
    "documents": 2,
    "evidence": "E.",
}


def entry(**changes):
    return claims.Claim(**{**ENTRY, **changes})


def test_each_claim_of_a_finished_chapter_is_settled_once(chapters):
    settled = {}
    for page in chapters:
        settled[page] = claims.settlements(read(page).cells)
    assert claims.problems(claims.read_ledger().claims, settled) == []


def test_settlements_are_found_by_function_id_and_source():
    cells = [
        {"cell_type": "markdown", "source": 'check_claim("text", x, "")'},
        {
            "cell_type": "code",
            "source": ["%matplotlib inline\n", 'check_claim(\n    "a", x, "")\n', 'cite_claim("b", "k", "")'],
        },
        {"cell_type": "code", "source": 'cite_claim(claim_id="c", bibkey="k", says="")\ncheck_claim(name, x, "")'},
    ]
    assert [(item.claim_id, item.function, item.cell, item.bibkey) for item in claims.settlements(cells)] == [
        ("a", "check_claim", 1, ""),
        ("b", "cite_claim", 1, "k"),
        ("c", "cite_claim", 2, "k"),
        ("", "check_claim", 2, ""),
    ]


def test_a_claim_that_is_not_settled_or_twice_or_unknown_is_seen():
    entries = [entry(), entry(id="other", chapter="two"), entry(id="gone", dropped="No use.")]
    once = claims.Settlement("a-b", "cite_claim", 3)
    assert claims.problems(entries, {"one/claims": [once]}) == []
    assert claims.problems(entries, {"one/claims": []}) == ["a-b is not settled, though its chapter one is finished"]
    again = claims.Settlement("a-b", "cite_claim", 5)
    assert claims.problems(entries, {"one/claims": [once, again]}) == [
        "a-b is settled more than once: one/claims, cell 3; one/claims, cell 5"
    ]
    unknown = [once, claims.Settlement("a-c", "check_claim", 4), claims.Settlement("", "cite_claim", 6)]
    assert claims.problems(entries, {"one/claims": unknown}) == [
        "one/claims, cell 4: check_claim names a-c, which is not in the ledger",
        "one/claims, cell 6: cite_claim takes the claim's id as a literal text",
    ]
    dropped = [once, claims.Settlement("gone", "cite_claim", 7)]
    assert claims.problems(entries, {"one/claims": dropped}) == ["gone is dropped, but settled in one/claims, cell 7"]


def test_a_claim_is_settled_on_the_page_of_its_chapter_by_what_its_basis_needs():
    parts = tuple(entry(id=f"whole/{name}", basis=name) for name in ("measured", "derived", "cited"))
    entries = [entry(), entry(id="whole", basis="", parts=parts)]
    calls = {"measured": "check_claim", "derived": "check_claim", "cited": "cite_claim"}
    good = [claims.Settlement(part.id, calls[part.basis], 2) for part in parts]
    good += [claims.Settlement("a-b", "cite_claim", 3)]
    assert claims.problems(entries, {"one/claims": good}) == []
    assert claims.problems(entries, {"one/claims": good[:3], "one/index": good[3:]}) == [
        "one/index, cell 3: a-b is settled beside the page one/claims"
    ]
    turned = [claims.Settlement(item.claim_id, calls["derived"], item.cell) for item in good[2:]]
    assert claims.problems(entries, {"one/claims": good[:2] + turned}) == [
        "one/claims, cell 2: whole/cited has basis cited, which needs cite_claim: got check_claim",
        "one/claims, cell 3: a-b has basis cited, which needs cite_claim: got check_claim",
    ]
    whole = [claims.Settlement("whole", "check_claim", 1), *good]
    assert claims.problems(entries, {"one/claims": whole}) == [
        "one/claims, cell 1: check_claim names whole, which is not in the ledger"
    ]
    assert claims.problems(entries[1:], {"one/claims": good[:2]}) == [
        "whole/cited is not settled, though its chapter one is finished"
    ]


def wording_problems(entries, texts):
    """Hold what pages of claims say to the ledger: each claim in its words, which tables show without markup."""
    found = []
    for claim in entries:
        if claim.chapter not in texts or claim.dropped:
            continue
        said = " ".join(claim.claim.split())
        if f"**Said:** {said}" not in " ".join(texts[claim.chapter].split()):
            found.append(f"the page of {claim.chapter} does not say: {said}")
        shown = [text for one in (claim, *claim.parts) for text in (one.claim, one.conditions, one.correct)]
        found += [
            f"{claim.id} has markup, which its tables show: {text}" for text in shown if re.search(r"[$`*{}]", text)
        ]
    return found


def test_a_page_of_claims_says_each_claim_as_the_ledger_does():
    texts = {chapter: (BOOK / chapter / "claims.md").read_text("utf8") for chapter in claims.ledger_files()}
    assert wording_problems(claims.read_ledger().claims, texts) == []


def test_another_wording_and_markup_are_seen():
    page = {"one": "## C\n\n**Said:** It is\nso.\n"}
    assert wording_problems([entry(claim="It is so."), entry(chapter="two"), entry(dropped="No.")], page) == []
    assert wording_problems([entry(claim="It was so.")], page) == ["the page of one does not say: It was so."]
    marked = "a-b has markup, which its tables show: At $x$."
    assert wording_problems([entry(claim="It is so.", conditions="At $x$.")], page) == [marked]
    assert wording_problems([entry(claim="It is so.", parts=(entry(correct="At $x$."),))], page) == [marked]


# --- the file --------------------------------------------------------------------------------------------------------


def text_of(*entries):
    """Write entries as the file of a chapter."""
    lines = []
    for number, changes in enumerate(entries):
        fields = {name: value for name, value in {**ENTRY, "id": f"e{number}", **changes}.items() if name != "chapter"}
        lines.append("- {" + ", ".join(f"{key}: {value}" for key, value in fields.items() if value is not None) + "}")
    return "\n".join(lines)


TURN = "{name: n, old: o, new: p}"
PARTS = """[{id: a-a, text: A., verdict: holds, basis: derived},
  {id: b-b, text: B., verdict: wrong, basis: cited, correct: R.}]"""


def test_the_ledger_is_complete():
    assert claims.read_ledger().claims


def test_a_good_ledger_is_read():
    conditions = {"verdict": "holds-with-conditions", "conditions": "Small x."}
    found = claims.parse_claims(text_of({}, conditions, {"verdict": "wrong", "correct": "R."}), "one")
    assert [claim.conditions for claim in found] == ["", "Small x.", ""]
    assert {claim.chapter for claim in found} == {"one"}


def test_a_claim_rests_on_something_or_its_parts_do():
    whole = {"basis": None, "parts": PARTS, "verdict": "holds-with-conditions", "conditions": "A alone."}
    found = claims.parse_claims(text_of({"basis": "measured", "turn": TURN}, whole, {"verdict": "disputed"}), "one")
    assert [claim.bases for claim in found] == [("measured",), ("derived", "cited"), ("cited",)]
    assert found[0].turn == Turn("n", "o", "p")
    assert [(part.id, part.claim, part.verdict, part.correct) for part in found[1].pieces] == [
        ("e1/a-a", "A.", "holds", ""),
        ("e1/b-b", "B.", "wrong", "R."),
    ]
    assert found[2].pieces == (found[2],)


@pytest.mark.parametrize(
    ("parts", "whole"),
    [
        ("holds holds", "holds"),
        ("wrong wrong wrong", "wrong"),
        ("unsupported unsupported", "unsupported"),
        ("holds wrong", "holds-with-conditions"),
        ("unsupported holds", "holds-with-conditions"),
        ("holds-with-conditions wrong", "holds-with-conditions"),
        ("unsupported wrong", "wrong"),
        ("outdated wrong disputed", "wrong"),
        ("disputed outdated", "outdated"),
        ("unsupported disputed", "disputed"),
    ],
)
def test_a_verdict_follows_from_those_of_the_parts(parts, whole):
    assert claims.verdict_of(parts.split()) == whole


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"evidence": None}, "claims of one, entry e0: a claim has id, claim, verdict, documents, evidence, basis"),
        ({"evidence": None}, "this one misses evidence"),
        ({"remark": "x"}, "has an unknown remark"),
        ({"claim": "''"}, "claim is a text: got ''"),
        ({"id": "Not_So"}, "id is lower-case words joined by hyphens: got 'Not_So'"),
        ({"verdict": "true-ish"}, "verdict is one of holds, holds-with-conditions, wrong"),
        ({"kind": "math"}, "has an unknown kind"),
        ({"documents": 6}, "documents is a number from 1 to 5: got 6"),
        ({"documents": "true"}, "documents is a number from 1 to 5: got True"),
        ({"verdict": "holds-with-conditions"}, "verdict holds-with-conditions, which needs conditions"),
        ({"verdict": "wrong"}, "verdict wrong, which needs correct"),
        ({"verdict": "outdated"}, "verdict outdated, which needs correct"),
        ({"correct": "R."}, "verdict holds, which has no correct"),
        ({"conditions": "C."}, "verdict holds, which has no conditions"),
        ({"basis": None}, "a claim has a basis or parts: got none of them"),
        ({"basis": "guessed"}, "basis is one of measured, derived, cited: got 'guessed'"),
        ({"basis": "measured"}, "basis measured, which needs turn"),
        ({"basis": "derived", "turn": TURN}, "basis derived, which has no turn"),
        (
            {"basis": "measured", "turn": "{name: n, old: o}"},
            "a turn has name, old, new, file, after: this one misses new",
        ),
        (
            {"basis": "derived", "verdict": "disputed"},
            "verdict disputed, which only a source settles: got basis derived",
        ),
        ({"basis": None, "parts": "[]"}, "parts is a list of at least 2: got []"),
        ({"basis": "derived", "parts": PARTS}, "got basis and parts"),
        (
            {"basis": None, "parts": PARTS, "verdict": "wrong", "correct": "R."},
            "verdict wrong, but from its parts follows holds-with-cond",
        ),
        (
            {"basis": None, "parts": PARTS.replace("b-b", "a-a")},
            "entry e0: each entry has a name of its own: got e0/a-a twice",
        ),
        (
            {"basis": None, "parts": PARTS.replace(", correct: R.", "")},
            "entry e0, part b-b: verdict wrong, which needs correct",
        ),
        (
            {"basis": None, "parts": PARTS.replace("derived", "measured")},
            "entry e0, part a-a: basis measured, which needs turn",
        ),
        ({"basis": None, "parts": PARTS.replace("text", "claim")}, "a part has id, text, verdict, basis"),
    ],
)
def test_an_entry_that_is_not_complete_is_refused(changes, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        claims.parse_claims(text_of(changes), "one")


def test_an_entry_without_an_id_is_named_by_its_line():
    with pytest.raises(ValueError, match=r"claims of one, line 2: .*this one misses id"):
        claims.parse_claims(text_of({}, {"id": None}), "one")


def test_a_ledger_with_a_doubled_entry_or_too_many_is_refused():
    with pytest.raises(ValueError, match=r"the ledger: each entry has a name of its own: got same twice"):
        claims.ledger([entry(id="same"), entry(id="same", chapter="two")])
    with pytest.raises(ValueError, match="at most total=1 entries: got 2"):
        claims.ledger([entry(), entry(id="other")], total=1)
    with pytest.raises(ValueError, match="claims of one: the file is a list of entries"):
        claims.parse_claims("claims: []", "one")


def test_counts_are_by_chapter_and_verdict():
    found = claims.ledger(
        [entry(id="a"), entry(id="b", chapter="two"), entry(id="c", verdict="wrong", correct="R.")], total=9
    )
    words = ("total", "documents", "all", "holds", "one", "one holds", "one wrong", "two wrong")
    assert [claims.count(found, word) for word in words] == [9, 5, 3, 2, 2, 1, 1, 0]
    dropped = claims.ledger([*found.claims, entry(id="d", dropped="No use.")], total=9)
    assert [claims.count(dropped, word) for word in words] == [9, 5, 3, 2, 2, 1, 1, 0]
    with pytest.raises(ValueError, match=r"a chapter \(one, two\), a verdict .*, a basis .*got 'three'"):
        claims.count(found, "three holds")


def test_a_claim_counts_under_the_strongest_basis_of_its_parts():
    parts = (entry(id="whole/a", basis="cited"), entry(id="whole/b", basis="measured"))
    found = claims.ledger([entry(), entry(id="b", basis="cited"), entry(id="whole", parts=parts)])
    assert [claims.count(found, word) for word in ("measured", "derived", "cited", "one cited")] == [1, 0, 2, 2]


# --- sources ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bibliography():
    return parse_string((BOOK / "references.bib").read_text("utf8"), "bibtex").entries


def is_isbn(text):
    """Whether a text is an ISBN of 10 or 13 digits with a right check digit."""
    digits = [
        10 if sign == "X" else int(sign) for sign in re.sub(r"[\s-]", "", text.upper()) if sign.isdigit() or sign == "X"
    ]
    if len(digits) == 13:
        return sum(digit * (1, 3)[place % 2] for place, digit in enumerate(digits)) % 10 == 0
    return len(digits) == 10 and sum(digit * (10 - place) for place, digit in enumerate(digits)) % 11 == 0


def locator_problems(key, fields):
    """Say what keeps a reader from finding a source: no locator, or one that has not the form of its kind."""
    forms = {
        "doi": r"10\.\d{4,9}/\S+",
        "eprint": r"\d{4}\.\d{4,5}(v\d+)?|[a-z-]+(\.[A-Z]{2})?/\d{7}",
        "url": r"https?://[^\s/]+\.[^\s/]+(/\S*)?",
    }
    fields = {name.lower(): value for name, value in fields.items()}
    given = [name for name in (*forms, "isbn") if fields.get(name)]
    if not given:
        return [f"{key} has no doi, eprint, url or isbn"]
    found = [
        f"{key}: {name} {fields[name]!r} has not its form"
        for name in forms
        if name in given and not re.fullmatch(forms[name], fields[name])
    ]
    if "isbn" in given and not is_isbn(fields["isbn"]):
        found.append(f"{key}: isbn {fields['isbn']!r} has not its form")
    if "eprint" in given and fields.get("archiveprefix", "").lower() != "arxiv":
        found.append(f"{key}: an eprint needs archiveprefix = {{arXiv}}")
    address = fields.get("url", "")
    for host, name in (("arxiv.org/abs/", "eprint"), ("doi.org/", "doi")):
        if host in address and fields.get(name, address.split(host)[1]) != address.split(host)[1]:
            found.append(f"{key}: its url and its {name} name two works")
    return found


def test_each_source_can_be_found(bibliography):
    assert bibliography
    found = [locator_problems(key, dict(entry.fields)) for key, entry in bibliography.items()]
    assert [problem for problems in found for problem in problems] == []


def test_each_cited_source_is_in_the_bibliography(chapter, bibliography):
    cited = [item for item in claims.settlements(read(chapter).cells) if item.function == "cite_claim"]
    assert [item for item in cited if item.bibkey not in bibliography] == []


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"title": "T"}, "k has no doi, eprint, url or isbn"),
        ({"doi": "https://doi.org/10.1/x"}, "k: doi 'https://doi.org/10.1/x' has not its form"),
        ({"eprint": "arXiv:1706.03762", "archiveprefix": "arXiv"}, "k: eprint 'arXiv:1706.03762' has not its form"),
        ({"eprint": "1706.03762"}, "k: an eprint needs archiveprefix = {arXiv}"),
        ({"url": "example"}, "k: url 'example' has not its form"),
        ({"isbn": "978-0-306-40615-8"}, "k: isbn '978-0-306-40615-8' has not its form"),
        (
            {"eprint": "1706.03762", "archiveprefix": "arXiv", "url": "https://arxiv.org/abs/1706.03763"},
            "k: its url and its eprint name two works",
        ),
        ({"doi": "10.1000/a", "url": "https://doi.org/10.1000/b"}, "k: its url and its doi name two works"),
    ],
)
def test_a_source_that_cannot_be_found_is_seen(fields, message):
    assert locator_problems("k", fields) == [message]


@pytest.mark.parametrize(
    "fields",
    [
        {"doi": "10.1162/neco.1997.9.8.1735"},
        {"Eprint": "1706.03762", "archivePrefix": "arXiv", "url": "https://arxiv.org/abs/1706.03762"},
        {"url": "https://example.org/a/b?c=d"},
        {"isbn": "978-0-306-40615-7"},
        {"isbn": "0-306-40615-2"},
    ],
)
def test_a_source_that_can_be_found_is_let_through(fields):
    assert locator_problems("k", fields) == []


# --- boxes -----------------------------------------------------------------------------------------------------------


def box_problems(ids, texts):
    """Hold the boxes *Often said, not so*: at most four lines, and a link to the claim's section."""
    found = []
    for page, text in texts.items():
        for match in re.finditer(
            r"^:::\{admonition\} Often said, not so\n:class: often-said\n(.*?)^:::$", text, re.M | re.S
        ):
            lines = match[1].strip().splitlines()
            links = re.findall(r"<claim-([a-z0-9-]+)>", match[1])
            if len(lines) > 4:
                found.append(f"{page}: a box has {len(lines)} lines, more than 4")
            if len(links) != 1 or links[0] not in ids:
                found.append(f"{page}: a box links to the section of one claim, and this one to {links or 'none'}")
        if re.search(r"\} Often said, not so\n(?!:class: often-said\n)", text):
            found.append(f"{page}: a box is not of class often-said")
        if text.count("class: often-said") > 1:
            found.append(f"{page}: a page has at most one box")
    return found


def test_each_box_is_short_and_leads_to_its_claim(chapters):
    texts = {page: (BOOK / f"{page}.md").read_text("utf8") for page in chapters}
    assert box_problems({claim.id for claim in claims.read_ledger().claims}, texts) == []


def test_a_box_that_is_long_or_leads_nowhere_is_seen():
    link = "It is said ({ref}`tested <claim-a>`)."
    good = f":::{{admonition}} Often said, not so\n:class: often-said\n\n{link}\n:::\n"
    assert box_problems({"a"}, {"one": good}) == []
    assert box_problems({"b"}, {"one": good}) == ["one: a box links to the section of one claim, and this one to ['a']"]
    assert box_problems({"a"}, {"one": good.replace(link, "So.")}) == [
        "one: a box links to the section of one claim, and this one to none"
    ]
    long = good.replace(link, "\n".join([*"1234", link]))
    assert box_problems({"a"}, {"one": long}) == ["one: a box has 5 lines, more than 4"]
    assert box_problems({"a"}, {"one": good + good}) == ["one: a page has at most one box"]
    assert box_problems({"a"}, {"one": good.replace("often-said", "tip")}) == ["one: a box is not of class often-said"]
