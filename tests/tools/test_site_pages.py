"""What the pages of claims, questions and quiz make of a small book: anchors, links, tables, folds, warnings."""

import re
from html.parser import HTMLParser

import nbformat
import pytest
from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx import addnodes
from sphinx.application import Sphinx

from companion.book.site.html import element
from companion.book.site.questions_page import join_folds, lead_to_code
from tests.tools.small import SmallBook, contents, notebook, plain

LEDGER = """
- {id: sum-one, claim: "Rows sum to $1$.", verdict: holds, basis: derived, documents: 3, evidence: Computed.}
- {id: too-wide, claim: It is wide., verdict: wrong, basis: derived, documents: 1, evidence: Seen.,
   correct: No.}
- {id: who-knows, claim: It helps., verdict: unsupported, basis: cited, documents: 2, evidence: None.}
- {id: left-out, claim: A joke., verdict: unsupported, documents: 1, evidence: None.,
   dropped: It says nothing.}
"""
QUESTION = r"""
::::{interview-question} Why $\sqrt{d_k}$?
:name: q-why
:kind: derive
:level: 2
:topic: one
:evidence: claim-sum-one, eq-one, sec-one, fig-one
:::{short}
The short one.
:::
:::{full}
See {eq}`eq-one`.
:::
:::{follow-ups}
1. **And then?** Nothing.
:::
:::{common-mistake}
The wrong one.
:::
::::
"""
TEXT = r"""# Chapter one

(sec-one)=
## A section

$$ a = b $$ (eq-one)

```{figure} dot.png
:name: fig-one

A dot
```
"""
PAGES = {
    "index": "# Home\n\n```{toctree}\none/index\nledger\n```\n\n"
    "{ref}`There <claim-sum-one>`, {ref}`claim-too-wide`, {ref}`q-why`,\n"
    "{ref}`ledger-left-out`. {ledger-count}`one unsupported` of {ledger-count}`total`. {verdict}`holds`\n",
    "ledger": "# Ledger\n\n```{ledger-table}\n```\n\n```{bibliography}\n```\n",
}
CELLS = (
    'check_claim("sum-one", x.all(), "so")',
    'check_claim("too-wide", x.any(), "so")',
    'cite_claim("who-knows", "who1999what", "so")',
)
DOT = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)


class Page(HTMLParser):
    """The elements of a page that have an id, links by their text, and the text inside `<summary>`."""

    def __init__(self, path):
        super().__init__()
        self.text = path.read_text("utf8")
        self.classes, self.links, self.summary, self._open = {}, {}, "", []
        self.feed(self.text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if "id" in attributes:
            self.classes[attributes["id"]] = (tag, set((attributes.get("class") or "").split()))
        self._open.append((tag, attributes.get("href")))

    def handle_endtag(self, tag):
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data):
        href = next((href for _, href in reversed(self._open) if href), None)
        if href:
            self.links[" ".join(data.split())] = href
        if any(tag == "summary" for tag, _ in self._open):
            self.summary += data


def chapter(cells, text):
    """A notebook with a text and with cells of code."""
    made = [nbformat.v4.new_code_cell(source, execution_count=number) for number, source in enumerate(cells, 1)]
    return notebook(text, *made)


def small(folder, *more, **texts):
    """A book of one chapter and its ledger; more parts of the site, and other texts by names of pages."""
    pages = {f"book/{name}.md": text for name, text in (PAGES | texts).items()}
    pages |= {
        "book/one/index.ipynb": chapter(CELLS, TEXT + QUESTION),
        "companion/chapters/one/claims.yml": LEDGER,
    }
    book = SmallBook(folder, ["claims_page", "questions_page", *more], pages)
    (folder / "book" / "one" / "dot.png").write_bytes(DOT)
    return book


def opened(book, name):
    return Page(book.page(name))


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    book = small(tmp_path_factory.mktemp("book"))
    assert book.warnings() == []
    return book


def test_a_cell_that_settles_a_claim_has_its_anchor_and_its_verdict(built):
    anchors = {name: value for name, value in opened(built, "one/index").classes.items() if name.startswith("claim-")}
    assert set(anchors) == {"claim-sum-one", "claim-too-wide", "claim-who-knows"}
    assert {"cell", "claim-cell", "verdict-wrong"} <= anchors["claim-too-wide"][1]
    assert {"cell", "claim-cell", "verdict-unsupported"} <= anchors["claim-who-knows"][1]


def test_other_pages_refer_to_claims_questions_and_entries(built):
    page = opened(built, "index")
    links = page.links
    assert links["There"] == "one/index.html#claim-sum-one"
    assert links["It is wide."] == "one/index.html#claim-too-wide"
    assert links["A joke."] == "ledger.html#ledger-left-out"
    (question,) = re.findall(r'<a [^>]*href="one/index.html#q-why".*?</a>', page.text, re.DOTALL)
    assert " ".join(plain(question).split()) == r"Why \(\sqrt{d_k}\) ?", "its formula is set, as in the title"


def test_numbers_and_verdicts_are_written_by_roles(built):
    text = opened(built, "index").text
    assert "1 of 222." in text
    assert '<span class="verdict verdict-holds">holds</span>' in text


def test_the_ledger_lists_each_claim_with_verdict_evidence_and_link(built):
    page = opened(built, "ledger")
    assert {"ledger-sum-one", "ledger-too-wide", "ledger-who-knows", "ledger-left-out"} <= set(page.classes)
    assert "verdict-wrong" in page.classes["ledger-too-wide"][1]
    words = plain(page.text)
    assert "It is wide. wrong · derived · in 1 of 5 documents · settled by a cell in Chapter one Right is: No." in words
    assert (
        "unsupported · cited · in 2 of 5 documents · settled by Who [ 1999 ] , cited in a cell in Chapter one" in words
    )
    assert "in 1 of 5 documents · not taken up Left out: It says nothing. Evidence: None." in words
    assert 'href="one/index.html#claim-too-wide"' in page.text
    assert r"Rows sum to \(1\) ." in words


def rows(page):
    """The rows of all tables of a page, as texts."""
    found = re.findall(r"<tr.*?</tr>", page.text, re.DOTALL)
    return [[plain(cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.DOTALL)] for row in found]


def test_the_ledger_counts_by_verdict_and_chapter(built):
    found = rows(opened(built, "ledger"))
    assert ["holds", "True as stated.", "1"] in found
    assert ["Chapter one", "1", "0", "1", "1", "0", "0", "3"] in found


def test_follow_ups_that_are_seldom_asked_are_folded_and_keep_their_numbers(tmp_path):
    more = "1. **And then?** Nothing.\n2. **And before?** Little.\n3. **Ever?** Never."
    text = TEXT + QUESTION.replace("1. **And then?** Nothing.", more).replace(
        ":topic: one\n", ":topic: one\n:rare: {}\n"
    )

    def page(rare):
        book = SmallBook(
            tmp_path / str(rare),
            ["questions_page"],
            {
                "book/index.md": "# Home\n\n```{toctree}\none\n```\n",
                "book/one.ipynb": notebook(text.replace("{}", str(rare)).replace("claim-sum-one, ", "")),
            },
        )
        (tmp_path / str(rare) / "book" / "dot.png").write_bytes(DOT)
        return book

    book = page(2)
    assert book.warnings() == []
    shown = book.html("one").partition("Follow-ups")[2]
    before, fold = shown.split('<details class="question-rare">', 1)
    assert "And then?" in before
    assert "And before?" not in before
    assert plain(fold.partition("</details>")[0]) == "Asked less often (2) And before? Little. Ever? Never."
    assert 'start="2"' in fold
    (warning,) = page(3).warnings()
    assert "rare follow-ups are fewer than all 3: got 3." in warning


WITH_PARTS = """
- {id: sum-one, claim: Rows sum to 1., verdict: holds, basis: derived, documents: 3, evidence: Computed.}
- id: too-wide
  claim: It is wide and long.
  verdict: holds-with-conditions
  documents: 1
  conditions: Its length.
  evidence: Seen.
  parts:
  - {id: wide, text: It is wide., verdict: wrong, basis: measured, correct: "No, narrow.",
     turn: {name: n, old: a, new: b}}
  - {id: long, text: It is long., verdict: holds, basis: cited}
- {id: left-out, claim: A joke., verdict: unsupported, basis: cited, documents: 1, evidence: None., dropped: Nothing.}
"""


@pytest.fixture(scope="module")
def with_claims(tmp_path_factory):
    """A small book whose chapter settles its claims on a page of their own."""
    book = small(
        tmp_path_factory.mktemp("book"), index=PAGES["index"].replace("one/index", "one/index\none/claims\ntwo/index")
    )
    book.write("companion/chapters/one/claims.yml", WITH_PARTS)
    listed = contents("book/one/index.ipynb", "book/one/claims.ipynb", "book/two/index.ipynb")
    listed = listed.replace("- chapters:", "- caption: Chapters\n  chapters:")
    book.write("_toc.yml", listed + contents("book/ledger.md").split("parts:\n")[1])
    book.write("book/two/index.ipynb", notebook("# Chapter two"))
    book.write("book/one/index.ipynb", chapter([], TEXT + QUESTION))
    cells = [
        "# What is said\n\n```{claims-table}\n```\n",
        "## Rows",
        nbformat.v4.new_code_cell('check_claim("sum-one", f, g)'),
        "## Width",
        nbformat.v4.new_code_cell('check_claim("too-wide/wide", f, g)'),
        nbformat.v4.new_code_cell('cite_claim("too-wide/long", "who1999what", "so")'),
    ]
    book.write("book/one/claims.ipynb", notebook(*cells))
    assert book.warnings() == []
    return book


def test_a_page_of_claims_has_a_table_that_leads_to_a_section_for_each(with_claims):
    page = opened(with_claims, "one/claims")
    assert rows(page) == [
        ["Claim", "Verdict", "Basis"],
        ["Rows sum to 1.", "holds", "derived"],
        ["It is wide and long.", "holds with conditions", "measured, cited"],
    ]
    assert page.links["It is wide and long."] == "#claim-too-wide"
    assert re.findall(r'<span id="claim-too-wide"></span><h2>(.*?)<', page.text) == ["Width"]
    assert page.text.count('id="claim-too-wide"') == 1
    cells = re.findall(r'<div class="([^"]*claim-cell[^"]*)"', page.text)
    verdicts = [set(classes.split()) & {"verdict-holds", "verdict-wrong"} for classes in cells]
    assert verdicts == [{"verdict-holds"}, {"verdict-wrong"}, {"verdict-holds"}]


def test_the_ledger_tells_what_claims_and_their_parts_rest_on(with_claims):
    page = opened(with_claims, "ledger")
    words = plain(page.text)
    assert "Rows sum to 1. holds · derived · in 3 of 5 documents · settled by a cell in Chapter one" in words
    assert "holds with conditions · measured · cited · in 1 of 5 documents · settled by a cell in Chapter one" in words
    assert "It is wide. wrong · measured It is long. holds · cited Conditions: Its length. Evidence:" in words, (
        "what is right is said once, for the whole"
    )
    assert ["measured", "An experiment settles it, which could have come out the other way.", "1"] in rows(page)
    assert ["cited", "Numbers or words of somebody else settle it.", "0"] in rows(page)
    assert "Chapters without a claim: Chapter two." in words


def test_a_question_is_folded_under_its_text(built):
    page = opened(built, "one/index")
    assert page.classes["q-why"] == ("details", {"interview-question"})
    assert " ".join(page.summary.split()) == r"Why \(\sqrt{d_k}\)? derive solid"
    headings = re.findall(r'<h3 class="[^"]*rubric[^"]*">(.*?)</h3>', page.text)
    assert headings == ["Short answer", "On the whiteboard", "Follow-ups", "Common wrong answer", "Shown in"]
    evidence = re.search(r'<ul class="question-evidence.*?</ul>', page.text, re.DOTALL)[0]
    found = re.findall(r'href="([^"]+)"', evidence)
    assert found == ["#claim-sum-one", "#equation-eq-one", "#claim-sum-one", "#fig-one"]  # the code, where it is
    assert r"Rows sum to \(1\) . holds" in plain(evidence), "a claim is shown with its verdict"


def asked(name):
    link = addnodes.pending_xref("", nodes.inline("", name), reftarget="sec-here")
    other = addnodes.pending_xref("", nodes.inline("", name), reftarget="sec-there")
    shown = nodes.bullet_list(classes=["question-evidence"])
    shown += [nodes.list_item("", nodes.paragraph("", "", to)) for to in (other, link)]
    return element("details", "interview-question", shown, id=name)


def test_shown_in_leads_to_the_code_below_a_question_and_not_to_the_section_that_it_stands_in():
    cells = [nodes.container(nb_element="cell_code") for _ in range(2)]
    questions = [asked("q-none"), asked("q-one")]
    section = nodes.section("", nodes.title("", "Here"), *questions, nodes.paragraph("", "See:"), *cells)
    section["names"].append("sec-here")
    document = nodes.document(None, None)
    document += section
    lead_to_code(object.__new__(Sphinx), document)
    targets = [[to["reftarget"] for to in box.findall(addnodes.pending_xref)] for box in questions]
    assert targets == [["sec-there", "sec-here"], ["sec-there"]], "only a question with code of its own leads there"
    (to,) = document.findall(nodes.reference)
    assert (to["refid"], to.astext()) == ("code-q-one", "the code below this answer")
    assert [cell["ids"] for cell in cells] == [["code-q-one"], []]


def folded(name, *below, words="Show the code"):
    fold = HideCodeCellNode("", nodes.paragraph("", name), prompt_show=words)
    return nodes.container("", fold, *below, nb_element="cell_code", ids=[name])


def test_cells_that_are_folded_whole_side_by_side_share_a_fold_and_keep_their_anchors():
    document = nodes.document(None, None)
    document += [
        folded("a"),
        folded("b"),
        nodes.paragraph("", "See:"),
        folded("c"),
        folded("d"),
        folded("e", words="Hint"),
    ]
    document += [folded("f", nodes.paragraph("", "shown")), folded("g")]
    join_folds(document)
    cells = [box for box in document.children if box.get("nb_element")]
    assert [box["ids"] for box in cells] == [["a", "b"], ["c", "d"], ["e"], ["f"], ["g"]]
    assert [[text.astext() for text in box[0]] for box in cells] == [["a", "b"], ["c", "d"], ["e"], ["f"], ["g"]]


def test_every_text_of_a_question_and_of_the_ledger_can_be_translated(tmp_path):
    book = small(tmp_path)
    assert book.warnings("gettext") == []
    folder = tmp_path / "_build" / "gettext" / "book"
    messages = {
        name: set(re.findall(r'^msgid "(.*)"$', (folder / path).read_text("utf8"), re.MULTILINE))
        for name, path in (("one", "one/index.pot"), ("ledger", "ledger.pot"))
    }
    assert {r"Why $\\sqrt{d_k}$?", "Short answer", "The short one.", "The wrong one."} <= messages["one"]
    assert {"It is wide.", "**Evidence:** Seen.", "True as stated."} <= messages["ledger"]


def test_a_page_that_is_not_read_again_keeps_its_links_and_a_changed_ledger_its_counts(tmp_path):
    book = small(tmp_path)
    assert book.warnings() == []
    book.write("book/index.md", PAGES["index"] + "\nMore.\n")
    assert book.warnings() == []
    assert opened(book, "index").links["There"] == "one/index.html#claim-sum-one"
    book.write("companion/chapters/one/claims.yml", LEDGER.replace("verdict: wrong", "verdict: outdated"))
    assert book.warnings() == []
    assert "verdict-outdated" in opened(book, "one/index").classes["claim-too-wide"][1]
    assert ["outdated", "It was true once.", "1"] in rows(opened(book, "ledger"))


def test_a_book_that_contradicts_its_ledger_is_not_built_without_warnings(tmp_path):
    book = small(tmp_path)
    cells = [CELLS[0], CELLS[0], 'check_claim("too-wied", x.any(), "so")', CELLS[2]]
    incomplete = QUESTION.replace("q-why", "q-how").replace("level: 2", "level: 9")
    book.write("book/one/index.ipynb", chapter(cells, TEXT + QUESTION.replace("fig-one", "fig-two") + incomplete))
    book.write("book/index.md", PAGES["index"] + "{ledger-count}`one worng` {verdict}`maybe`\n")
    warnings = "\n".join(book.warnings())
    for message in (
        "one/index, cell 3: check_claim names too-wied, which is not in the ledger",
        "sum-one is settled more than once: one/index, cell 1; one/index, cell 2",
        "too-wide is not settled, though its chapter one is finished",
        "undefined label: 'claim-too-wide'",
        "fig-two",
        "got 'worng'",
        "got 'maybe'",
        "level is 1, 2 or 3: got 9",
    ):
        assert message in warnings, message


ITEMS = r"""
- id: quiz-which
  topic: one
  level: 1
  kind: choice
  question: |
    Which holds of $x$? See {ref}`sec-one`.
  link: claim-too-wide
  options:
  - {text: The `first`., right: true, why: "It does: $x = 1$."}
  - {text: The second., why: It does not.}
  - {text: The third., why: Neither.}
- id: quiz-number
  topic: one
  level: 2
  kind: number
  question: How many bytes?
  link: sec-one
  answer: 2**20
  key: 1048576
  unit: bytes
  why: Twenty doublings.
  wrong:
  - {answer: 2 * 20, key: 40, why: A product.}
- id: quiz-order
  topic: one
  level: 3
  kind: order
  question: In order?
  link: fig-one
  steps:
  - {text: Begin., why: It is the start.}
  - {text: Go on., why: It is the middle.}
  - {text: End., why: It is the end.}
- id: quiz-bug
  topic: one
  level: 3
  kind: bug
  question: Which line?
  link: sec-one
  code: |
    x = 1
    y = x + 2
    z = y
  options:
  - {line: 3, why: A name.}
  - {line: 2, right: true, why: A product was meant.}
  - {line: 1, why: A start.}
  repair: {line: 2, text: "y = x * 2"}
  shows: z == 3
"""


@pytest.fixture
def with_quiz(tmp_path):
    """A small book with a page of the quiz."""
    index = PAGES["index"].replace("ledger\n```", "ledger\nquiz\n```")
    book = small(tmp_path, "quiz_page", index=index, quiz="# Quiz\n\n```{quiz}\n```\n")
    book.write("companion/chapters/one/quiz.yml", ITEMS)
    return book


def test_the_quiz_is_a_list_with_folded_answers(with_quiz):
    assert with_quiz.warnings() == []
    page = opened(with_quiz, "quiz")
    assert {"quiz-which", "quiz-number", "quiz-order", "quiz-bug", "quiz-topic-one"} <= set(page.classes)
    words = plain(page.text)
    for text in (
        r"One, 1 basic choose Which holds of \(x\) ? See A section .",
        "The first . The second. The third.",
        r"Answer and reasons Right. It does: \(x = 1\) . Not right. It does not. Not right. Neither.",
        "Shown in: the test of “It is wide”",
        "1,048,576 bytes Twenty doublings. Wrong numbers, and where they come from 40 bytes: A product.",
        "Begin. It is the start. Go on. It is the middle. End. It is the end.",
        "Line 1: x = 1 Line 2: y = x + 2 Line 3: z = y",
        "Right. A product was meant. Repaired: y = x * 2",
    ):
        assert text in words, f"{text!r} is not in {words}"
    assert "In order? Begin. Go on. End." not in words
    assert page.links["the test of “It is wide”"] == "one/index.html#claim-too-wide"
    assert 'data-key="1048576"' in page.text
    assert "js/quiz.js" in page.text
    assert "js/quiz.js" not in opened(with_quiz, "index").text


def test_every_text_of_the_quiz_can_be_translated(with_quiz):
    assert with_quiz.warnings("gettext") == []
    text = (with_quiz.folder / "_build" / "gettext" / "book" / "quiz.pot").read_text("utf8")
    messages = set(re.findall(r'^msgid "(.*)"$', text, re.MULTILINE))
    expected = {"One", "How many bytes?", "The second.", "It does not.", "Go on.", "It is the middle.", "A product."}
    assert expected | {"Answer and reasons", "Right.", "Twenty doublings."} <= messages


def test_an_item_of_the_quiz_that_breaks_a_rule_or_leads_nowhere_fails_the_build(with_quiz):
    name = "companion/chapters/one/quiz.yml"
    with_quiz.write(name, ITEMS.replace("text: Go on.", 'text: "Go {ref}`on <sec-one>`."'))
    warned = "\n".join(with_quiz.warnings())
    assert "quiz-order: an option or a step is one paragraph without a link" in warned, warned
    with_quiz.write(name, ITEMS.replace("link: sec-one", "link: sec-two", 1))
    assert any("sec-two" in line for line in with_quiz.warnings())
    with_quiz.write(name, ITEMS.replace("level: 2", "level: 7"))
    assert any("one/quiz.yml, line 13, quiz-number: level is 1, 2 or 3: got 7" in line for line in with_quiz.warnings())
