"""The pages to practise on, made of a small book: the lists of the mock interview, live labs, and the flash cards."""

import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

EXTENSIONS = Path(__file__).parents[2] / "book" / "extensions"
CONFIG = """
extensions = ["myst_nb", "sphinxcontrib.bibtex", "questions", "live_lab", "mock_page", "cards"]
bibtex_bibfiles = ["book/references.bib"]
nb_execution_mode = "off"
myst_enable_extensions = ["colon_fence", "dollarmath"]
root_doc = "book/index"
exclude_patterns = ["_build"]
html_theme = "basic"
html_theme_options = {}
suppress_warnings = ["config.cache"]
nitpicky = True
html_static_path = ["book/assets"]
"""
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
SOURCE = "@article{who1999what, author = {Who, A.}, title = {What}, journal = {J}, year = {1999}, doi = {10.1000/1}}\n"


def notebook(path, *cells):
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number}"
    made = nbformat.v4.new_notebook(cells=list(cells), metadata={"language_info": {"name": "python"}})
    path.write_text(json.dumps(made), "utf8")


class Book:
    """A small book in a folder."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "book" / "assets").mkdir(parents=True)
        (folder / "conf.py").write_text(CONFIG, "utf8")
        (folder / "_toc.yml").write_text("- file: book/one.ipynb\n- file: book/lab.ipynb\n", "utf8")
        (folder / "book" / "references.bib").write_text(SOURCE, "utf8")
        (folder / "book" / "index.md").write_text("# Home\n\n```{toctree}\none\nlab\ncards\nrefs\n```\n", "utf8")
        (folder / "book" / "refs.md").write_text("# References\n\n```{bibliography}\n```\n", "utf8")
        (folder / "book" / "cards.md").write_text(CARDS, "utf8")
        notebook(folder / "book" / "one.ipynb", nbformat.v4.new_markdown_cell(TEXT))
        self.write_lab(["live-lab", "remove-output"], LAB)

    def write_lab(self, tags, text):
        new = nbformat.v4
        output = new.new_output("execute_result", {"text/plain": "Lab()"}, execution_count=1)
        cell = new.new_code_cell("Lab()", execution_count=1, outputs=[output], metadata={"tags": tags})
        heading = new.new_markdown_cell("# Lab")
        notebook(self.folder / "book" / "lab.ipynb", heading, cell, new.new_markdown_cell(text))

    def build(self, *options):
        """Build, and return the exit status with the warnings."""
        command = [sys.executable, "-W", "ignore", "-m", "sphinx", "-q", "-E", "-n", *options, ".", "_build"]
        environment = os.environ | {"PYTHONPATH": str(EXTENSIONS), "NO_COLOR": "1", "SOURCE_DATE_EPOCH": "1800000000"}
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=120)
        return done.returncode, done.stderr

    def page(self, name):
        return (self.folder / "_build" / "book" / f"{name}.html").read_text("utf8")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    book = Book(tmp_path_factory.mktemp("book"))
    assert book.build() == (0, "")
    return book


@pytest.fixture
def book(tmp_path):
    return Book(tmp_path)


@pytest.fixture(scope="module")
def lab():
    """`book/extensions/live_lab.py`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(EXTENSIONS))
        yield importlib.import_module("live_lab")


def test_the_lists_hold_each_question_by_topic_in_the_order_of_the_index_the_easier_first(built):
    page = built.page("lab")
    found = re.findall(r'<details class="mock-(topic|question)" ([^>]*)>', page)
    data = [(kind, dict(re.findall(r'data-(\w+)="([^"]*)"', text))) for kind, text in found]
    assert data == [
        ("topic", {"topic": "attention", "title": "Attention"}),
        ("question", {"name": "q-else", "kind": "concept", "level": "1", "topic": "attention"}),
        ("topic", {"topic": "one", "title": "One"}),
        ("question", {"name": "q-easy", "kind": "concept", "level": "1", "topic": "one"}),
        ("question", {"name": "q-why", "kind": "derive", "level": "2", "topic": "one"}),
    ]
    parts = re.findall(r'data-part="([\w-]+)"', page.split('<details class="mock-question"')[3])
    assert parts == ["short", "full", "mistake", "follow-up", "answer", "follow-up", "answer", "evidence"]


def test_links_and_citations_in_the_lists_lead_to_their_pages(built):
    page = built.page("lab").split('<details class="mock-topic"')[2]
    assert 'href="one.html#q-why"' in page
    assert page.count('href="one.html#sec-one"') == 3  # in a whiteboard answer, and as evidence of both questions
    assert 'href="refs.html#' in page


def test_formulas_in_the_lists_wait_and_others_do_not(built):
    page = built.page("lab")
    waiting = re.findall(r'class="(math[\w-]*) notranslate nohighlight">\s*\\[\[(](.*?)\\[\])]', page)
    assert {text.strip(): kind for kind, text in waiting} == {
        "x": "math",
        r"\sqrt{d_k}": "math-waiting",
        "s": "math-waiting",
        "a = b": "math-waiting",
        "t": "math-waiting",
        "u": "math-waiting",
    }
    assert "mathjax" in page.lower()


def test_only_the_page_of_the_interview_loads_its_scripts(built):
    assert "js/store.js" in built.page("one")  # which has questions to rate
    for name in ("store", "mock-parts", "mock-kept", "mock-history", "mock-hold", "mock-report", "mock", "mock-coding"):
        assert len(re.findall(rf'<script defer="defer" src="[^"]*js/{name}\.js', built.page("lab"))) == 1
        assert "js/mock.js" not in built.page("one")
    assert "css/mock.css" in built.page("lab")
    assert "css/mock.css" not in built.page("one")


def test_without_javascript_the_stage_says_what_to_do(built):
    stage = re.search(r'<div class="mock-stage[^"]*">(.*?)</div>', built.page("lab"), re.DOTALL)[1]
    assert "Without JavaScript." in stage


def test_a_live_lab_is_a_box_and_its_output_is_not_on_the_page(built):
    page = built.page("lab")
    assert "<p>It asks.</p>" in page
    assert "Run it at home: open" in page
    assert "book/lab.ipynb" in page
    assert "cell_output" not in page


def test_the_notebook_of_a_live_lab_stores_its_name_and_a_still_picture_stands_behind_it():
    cells = json.loads((EXTENSIONS.parent / "architecture.ipynb").read_text("utf8"))["cells"]
    (at,) = (i for i, cell in enumerate(cells) if "live-lab" in cell["metadata"].get("tags", []))
    assert [list(output["data"]) for output in cells[at]["outputs"]] == [["text/plain"]]
    assert cells[at]["outputs"][0]["data"]["text/plain"][0].startswith("TrainingLab(d_model=64, ")
    assert "{numref}`fig-training-lab`" in "".join(cells[at + 1]["source"])
    assert cells[at + 2]["metadata"]["mystnb"]["figure"]["name"] == "fig-training-lab"
    assert [next(iter(output["data"])) for output in cells[at + 2]["outputs"]] == ["image/png"]


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
    book.write_lab(tags, text)
    assert warning in book.build()[1]


def test_a_live_lab_links_to_binder_and_colab_where_the_address_is_known(lab):
    options = {"repository_url": "https://github.com/owner/name", "repository_branch": "main"}
    assert lab.addresses(options, "book/lab") == {
        "Binder": "https://mybinder.org/v2/gh/owner/name/main?urlpath=lab/tree/book/lab.ipynb",
        "Google Colab": "https://colab.research.google.com/github/owner/name/blob/main/book/lab.ipynb",
    }
    assert lab.addresses({"repository_url": ""}, "book/lab") == {}


def test_the_page_of_the_cards_counts_them_and_offers_both_files(built):
    page = built.page("cards")
    assert "7, 3, 4." in page
    links = re.findall(r'<a href="([^"]+)" download="([^"]+)">', page)
    assert [name for _, name in links] == ["transformers-tested.apkg", "transformers-tested.csv"]
    for link, name in links:
        path = (built.folder / "_build" / "book" / link).resolve()
        assert path.name == name
        assert path.stat().st_size > 500
        assert f"{path.stat().st_size / 1000:.0f} kB" in page


def test_a_role_with_another_word_and_a_question_that_is_no_card_stop_the_build(book):
    (book.folder / "book" / "cards.md").write_text("# Cards\n\n{card-count}`decks`\n", "utf8")
    status, said = book.build()
    assert status != 0
    assert "card-count knows cards, questions, follow-ups: got 'decks' in book/cards" in said
    (book.folder / "book" / "cards.md").write_text(CARDS, "utf8")
    bad = TEXT.replace("That is all there is.", "```{list-table}\n* - x\n```")
    notebook(book.folder / "book" / "one.ipynb", nbformat.v4.new_markdown_cell(bad))
    status, said = book.build()
    assert status != 0
    assert "flash cards: one, q-else: a card shows text" in said
    short = TEXT.replace("No, that is all there is.", "No.", 1)
    notebook(book.folder / "book" / "one.ipynb", nbformat.v4.new_markdown_cell(short))
    status, said = book.build()
    assert status != 0
    assert "flash cards: an answer on a card has at least 5 words: got one, q-else, follow-up 1: 'No.'" in said


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
    assert len(stored.metadata.widgets[maker.WIDGET_STATE].state) == 2
    assert list(stored.cells[1].outputs[0].data) == [maker.WIDGET_VIEW, "text/plain"]
