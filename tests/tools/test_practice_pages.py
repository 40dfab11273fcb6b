"""The pages to practise on, made of a small book: the texts of the mock interview, live labs, and the flash cards."""

import hashlib
import json
import re
from io import BytesIO
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup
from docutils import nodes
from fontTools.ttLib import TTFont
from sphinx.errors import ExtensionError

from companion.book import stable
from companion.book.site import mathjax
from companion.book.site.live_lab import addresses
from tests.tools.small import SmallBook, notebook

ROOT = Path(__file__).parents[2]

TEXT = r"""# Chapter one

(sec-one)=
## A section

::::{interview-question} Why $\sqrt{d_k}$?
:name: q-why
:kind: derive
:level: 2
:topic: one
:evidence: sec-one
:::{short}
It is always $s$, {cite:p}`who1999what`.
:::
:::{full}
$$ a = b $$

See {ref}`there <sec-one>`.
:::
:::{follow-ups}
1. **And $t$?** It is exactly $u$, no more.
2. **Then?** Nothing follows from it here.
:::
:::{common-mistake}
The wrong one of the two.
:::
::::

::::{interview-question} What else?
:name: q-else
:kind: concept
:level: 1
:topic: attention
:evidence: sec-one
:::{short}
This and no other thing.
:::
:::{full}
That is all there is.
:::
:::{follow-ups}
1. **More?** No, that is all there is.
:::
:::{common-mistake}
Everything else that one hears.
:::
::::
"""
EASY = TEXT[TEXT.index("::::{interview-question} What else?") :]
EASY = EASY.replace("q-else", "q-easy").replace(":topic: attention", ":topic: one").replace("else", "easy")
TEXT += "\n" + EASY
LAB = """```{mock-stage}
Without JavaScript.
```

A formula outside: $x$.

:::{live-lab}
It asks.
:::

```{mock-interview}
```
"""
CARDS = "# Cards\n\n{card-count}`cards`, {card-count}`questions`, {card-count}`follow-ups`.\n\n```{card-files}\n```\n"
PARTS = ("mathjax", "questions_page", "live_lab", "exercises_here", "mock_page", "cards_page")
DRILL = {"name": "twice", "title": "Twice", "topic": "attention", "tier": 2, "kind": "write", "minutes": 15}
TEXTS = "_build/html/_static/mock"
NAMES = ("q-else", "q-easy", "q-why")
INDEX = "(sec-how-to-run)=\n# Home\n\n```{toctree}\none/index\nlab/index\nexercises\ncards\nrefs\n```\n"


def lab(tags, text):
    """The page of a live lab: a cell with an output, and the text behind it."""
    new = nbformat.v4
    output = new.new_output("execute_result", {"text/plain": "Lab()"}, execution_count=1)
    cell = new.new_code_cell("Lab()", execution_count=1, outputs=[output], metadata={"tags": tags})
    return notebook("# Lab", cell, text)


def exercise():
    """The page of an exercise: a stub, its hints, a solution and a count of what was solved."""
    new = nbformat.v4

    def cell(source, said):
        output = new.new_output("stream", name="stdout", text=said)
        return new.new_code_cell(source, execution_count=1, outputs=[output])

    return notebook(
        "# Exercises\n\n(exr-twice)=\n## Twice\n\nReturn twice the number.",
        cell('def mine(x):\n    ...\n\n\ncheck_exercise("twice", mine)', "Twice: not answered yet."),
        cell('hint("twice")', "Hint 1 of 3"),
        cell('check_exercise("twice", solution, record=False)', "Twice: correct (7 cases)."),
        cell('status("exercises")', "exercises: 0 of 1 solved"),
    )


def small(folder):
    texts = {
        "book/exercises.ipynb": exercise(),
        "book/index.md": INDEX,
        "book/one/index.ipynb": notebook(TEXT),
        "book/lab/index.ipynb": lab(["live-lab", "remove-output"], LAB),
        "book/cards.md": CARDS,
        "book/refs.md": "# References\n\n```{bibliography}\n```\n",
        "companion/chapters/interview/forty.yml": "- title: One\n  questions: [q-easy]\n",
        "book/interview/drills.json": json.dumps([DRILL]),
    }
    return SmallBook(folder, PARTS, texts)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    book = small(tmp_path_factory.mktemp("book"))
    assert book.build() == (0, "")
    return book


@pytest.fixture
def book(tmp_path):
    return small(tmp_path)


def texts(book):
    """The texts of the questions, each in a script of its own."""
    found = []
    for name in NAMES:
        script = (book.folder / TEXTS / f"{name}.js").read_text("utf8")
        assert script.startswith("window.mockText = ")
        found.append(json.loads(script.removeprefix("window.mockText = ").removesuffix(";\n")))
    return BeautifulSoup("".join(found), "html.parser")


def test_the_page_has_what_a_draw_needs_by_topic_in_the_order_of_the_index_the_easier_first(built):
    page = BeautifulSoup(built.html("lab/index"), "html.parser")
    place = page.select_one(".mock-texts[hidden]")
    assert json.loads(place.script.string) == [
        {"name": "q-else", "kind": "concept", "level": "1", "topic": "attention", "further": "1"},
        {"name": "q-easy", "kind": "concept", "level": "1", "topic": "one", "further": "1", "sheet": "yes"},
        {"name": "q-why", "kind": "derive", "level": "2", "topic": "one", "further": "2"},
    ]
    assert not page.select(".mock-question, .mock-asked")
    scripts = [(built.folder / TEXTS / f"{name}.js").read_bytes() for name in NAMES]
    assert place["data-folder"] == "../../_static/mock"
    assert place["data-version"] == hashlib.sha256(b"".join(scripts)).hexdigest()[:8]


def test_a_script_has_the_texts_of_each_question(built):
    boxes = texts(built).select(".mock-question")
    assert [box["data-name"] for box in boxes] == ["q-else", "q-easy", "q-why"]
    parts = [part["data-part"] for part in boxes[2].select("[data-part]")]
    assert parts == ["short", "full", "mistake", "follow-up", "answer", "follow-up", "answer", "evidence"]


def test_links_and_citations_in_the_texts_lead_to_their_pages(built):
    text = "".join(map(str, texts(built).select("[data-topic=one]")))
    assert 'href="../one/index.html#q-why"' in text
    assert text.count('href="../one/index.html#sec-one"') == 3  # in an answer, and twice as evidence
    assert 'href="../refs.html#' in text


def test_formulas_are_set_in_the_texts_as_elsewhere(built):
    page = BeautifulSoup(built.html("lab/index"), "html.parser")
    found = [*page.select(".math:has(> mjx-container)"), *texts(built).select(".math:has(> mjx-container)")]
    assert {one["data-tex"] for one in found} == {"x", r"\sqrt{d_k}", "s", "a = b", "t", "u"}
    assert "mathjax.css" in str(page)
    assert not re.search(r"<script[^>]*mathjax", str(page))


def test_a_formula_that_mathjax_cannot_read_ends_the_build():
    made, style = mathjax.typeset([("x^2", False), (r"\frac{a}{b}", True)])
    assert {tex: 'display="true"' in html for (tex, _), html in made.items()} == {"x^2": False, r"\frac{a}{b}": True}
    assert "mjx-frac" in style
    for wrong in (r"\nosuchword", "a & b", r"\frac{a"):
        with pytest.raises(ExtensionError, match="MathJax cannot read a formula: .*" + re.escape(wrong)):
            mathjax.typeset([(wrong, False)])


def test_fonts_have_the_letters_that_the_style_sheet_shows_and_no_others():
    _, css = mathjax.typeset([(r"\alpha + x", False)])
    used = mathjax.letters(css)
    assert used >= {ord("+"), ord("x"), ord("α")}
    assert ord("y") not in used
    folder = mathjax.mathjax_folder() / mathjax.FONTS
    for name, has in (("Main-Regular", {ord("+")}), ("Math-Italic", {ord("x"), ord("α")}), ("Zero", None)):
        font = folder / f"MathJax_{name}.woff"
        data = mathjax.with_letters(font, used)
        assert data.startswith(b"wOF2")
        letters = set(TTFont(BytesIO(data)).getBestCmap() or {})
        assert letters == (set(TTFont(font).getBestCmap()) if has is None else letters & used)
        assert has is None or has <= letters


def test_a_formula_stays_with_the_stops_and_brackets_that_touch_it(tmp_path):
    text = "# Home\n\nOf $n$. Then $x$, with ($y$), and $z$ alone; at the end $w$. Twice $n$. No $a$-b.\n"
    book = SmallBook(tmp_path, ("mathjax",), {"book/index.md": text})
    assert book.build() == (0, "")
    page = BeautifulSoup(book.html("index"), "html.parser")
    for formula in page.select(".math"):
        formula.replace_with(f"${formula['data-tex']}$")
    assert [kept.get_text() for kept in page.select("span.kept")] == ["$n$.", "$x$,", "($y$),", "$w$.", "$n$."]
    assert text.split("\n")[2] in page.get_text()


def test_several_equations_of_a_block_are_aligned():
    block = nodes.math_block("", "a = b\n\nc \\\\ d", nowrap=False)
    parts = r"\begin{split}c \\ d\end{split}"
    assert mathjax.formula(block) == (rf"\begin{{aligned}}a = b\\{parts}\end{{aligned}}", True)
    assert mathjax.formula(nodes.math_block("", "a = b", nowrap=True)) == ("a = b", True)
    assert mathjax.formula(nodes.math("", " x ")) == ("x", False)


def test_only_the_page_of_the_interview_loads_its_scripts(built):
    assert "js/store.js" in built.html("one/index")  # which has questions to rate
    for name in ("vocabulary", "store", "practice", "mock-storage", "session", "mock-lists", "mock-report", "mock"):
        assert len(re.findall(rf'<script defer="defer" src="[^"]*js/{name}\.js', built.html("lab/index"))) == 1
        assert "js/mock.js" not in built.html("one/index")
    assert "css/mock.css" in built.html("lab/index")
    assert "css/mock.css" not in built.html("one/index")


def test_without_javascript_the_stage_says_what_to_do(built):
    stage = re.search(r'<div class="mock-stage[^"]*">(.*?)</div>', built.html("lab/index"), re.DOTALL)[1]
    assert "Without JavaScript." in stage


def test_a_live_lab_is_a_box_and_its_output_is_not_on_the_page(built):
    page = built.html("lab/index")
    assert "<p>It asks.</p>" in page
    assert "To try it, open" in page
    assert "book/lab/index.ipynb" in page
    assert "cell_output" not in page


def test_an_exercise_on_the_page_says_what_can_be_done_there_and_pretends_no_judge(built):
    main = BeautifulSoup(built.html("exercises"), "html.parser").find("div", role="main")
    ways = {way["href"] for way in main.find_all("a", string="a copy of the book")}
    assert ways == {"index.html#sec-how-to-run"}, "the section that says where to get one"
    page = main.get_text()
    assert 'check_exercise("twice", mine)' in page
    assert "not answered yet" not in page
    assert "To have your code checked, open book/exercises.ipynb in Jupyter, in a copy of the book." in page
    assert "Hint 1 of 3" in page
    assert "hint" not in page.replace("hints", "")
    assert "Twice: correct (7 cases)." in page
    assert "0 of 1 solved" not in page
    assert "To count what you have solved, open book/exercises.ipynb in Jupyter, in a copy of the book." in page


def test_an_exercise_on_the_page_says_its_level_and_its_minutes_under_its_title(built):
    page = BeautifulSoup(built.html("exercises"), "html.parser")
    assert page.select_one("#exr-twice > h2 + p, #twice > h2 + p").get_text() == "Core, about 15 minutes."


def test_the_notebook_of_a_live_lab_stores_its_name_and_a_still_picture_stands_behind_it():
    cells = json.loads((ROOT / "book" / "architecture" / "a-translator-trained-on-this-page.ipynb").read_text("utf8"))[
        "cells"
    ]
    (at,) = (i for i, cell in enumerate(cells) if "live-lab" in cell["metadata"].get("tags", []))
    assert [list(output["data"]) for output in cells[at]["outputs"]] == [["text/plain"]]
    assert cells[at]["outputs"][0]["data"]["text/plain"][0].startswith("TrainingLab(d_model=64, ")
    assert "{numref}`fig-training-lab`" in "".join(cells[at + 1]["source"])
    assert cells[at + 2]["metadata"]["mystnb"]["figure"]["name"] == "fig-training-lab"
    assert [next(iter(output["data"])) for output in cells[at + 2]["outputs"]] == ["image/svg+xml"]


@pytest.mark.parametrize(
    ("tags", "text", "warning"),
    [
        (["live-lab"], LAB, "a live lab's output is dead on the page: give its cell the tag remove-output too"),
        (
            ["live-lab", "remove-output"],
            LAB.replace(":::{live-lab}\nIt asks.\n:::", ""),
            "1 cells have the tag live-lab, 0 directives {live-lab} stand for them",
        ),
        ([], LAB, "0 cells have the tag live-lab, 1 directives {live-lab} stand for them"),
    ],
)
def test_a_live_lab_that_would_be_dead_on_the_page_is_a_warning(book, tags, text, warning):
    book.write("book/lab/index.ipynb", lab(tags, text))
    assert warning in book.build()[1]


def test_a_live_lab_links_to_binder_and_colab_where_the_address_is_known():
    options = {"repository_url": "https://github.com/owner/name", "repository_branch": "main"}
    assert addresses(options, "book/lab") == {
        "Binder": "https://mybinder.org/v2/gh/owner/name/main?urlpath=lab/tree/book/lab.ipynb",
        "Google Colab": "https://colab.research.google.com/github/owner/name/blob/main/book/lab.ipynb",
    }
    assert addresses({"repository_url": ""}, "book/lab") == {}


def test_the_page_of_the_cards_counts_them_and_offers_both_files(built):
    page = built.html("cards")
    assert "7, 3, 4." in page
    links = re.findall(r'<a href="([^"]+)" download="([^"]+)">', page)
    assert [name for _, name in links] == ["transformers-tested.apkg", "transformers-tested.csv"]
    for link, name in links:
        path = (built.page("cards").parent / link).resolve()
        assert path.name == name
        assert path.stat().st_size > 500
        assert f"{path.stat().st_size / 1000:.0f} kB" in page


def test_a_role_with_another_word_and_a_question_that_is_no_card_stop_the_build(book):
    book.write("book/cards.md", "# Cards\n\n{card-count}`decks`\n")
    status, said = book.build()
    assert status != 0
    assert "card-count knows cards, questions, follow-ups: got 'decks' in book/cards" in said
    book.write("book/cards.md", CARDS)
    bad = TEXT.replace("That is all there is.", "```{list-table}\n* - x\n```")
    book.write("book/one/index.ipynb", notebook(bad))
    status, said = book.build()
    assert status != 0
    assert "flash cards: one/index, q-else: a card shows text" in said
    short = TEXT.replace("No, that is all there is.", "No.", 1)
    book.write("book/one/index.ipynb", notebook(short))
    status, said = book.build()
    assert status != 0
    assert "flash cards: an answer on a card has at least 5 words: got one/index, q-else, follow-up 1: 'No.'" in said


def live_notebook(other=False):
    """A notebook as the kernel leaves it: a live lab of two models, and perhaps a figure of its own."""
    new, view, state = nbformat.v4, "application/vnd.jupyter.widget-view+json", {}

    def cell(model, child, tags):
        state[model] = {"model_name": "BoxModel", "state": {"children": [f"IPY_MODEL_{child}"]}}
        state[child] = {"model_name": "Other", "state": {}}
        data = {view: {"model_id": model}, "text/plain": "Figure()"}
        outputs = [new.new_output("execute_result", data, execution_count=1)]
        return new.new_code_cell("Figure()", execution_count=1, metadata={"tags": tags}, outputs=outputs)

    cells = [cell("a" * 32, "b" * 32, ["live-lab", "remove-output"])]
    cells += [cell("c" * 32, "d" * 32, [])] * other
    widgets = {"application/vnd.jupyter.widget-state+json": {"state": state}}
    return new.new_notebook(cells=cells, metadata={"widgets": widgets})


def test_of_a_live_lab_the_text_is_stored_and_no_model(maker):
    stored = maker.stable(live_notebook(), "lab")
    assert stored.cells[0].outputs[0].data == {"text/plain": "Figure()"}
    assert "widgets" not in stored.metadata


def test_a_figure_beside_a_live_lab_keeps_its_models(maker):
    stored = maker.stable(live_notebook(other=True), "lab")
    assert len(stored.metadata.widgets[stable.WIDGET_STATE].state) == 2
    assert list(stored.cells[1].outputs[0].data) == [stable.WIDGET_VIEW, "text/plain"]
