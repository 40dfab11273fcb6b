"""The pages of a chapter keep the rules of their kind, and each rule is seen to find what breaks it."""

from pathlib import Path

import nbformat
import pytest

from companion.book import pages, toc
from companion.book.pages import Page, __main__, rules
from tests.tools.small import contents, notebook

ROOT = Path(__file__).parents[2]
GLOSSARY = (
    "# Glossary\n\n```{glossary}\n:sorted:\n\nattention\n  What it is.\n\nquery\n  What it is.\n\nloss\n  L.\n```\n"
)
CORE = """# Masks

What may a token see? **Attention** needs to know.

## A section

Words.

## In short

One sentence. Two, with a formula $a_i$. Three!

## Quick questions

:::{dropdown} Which?
This.
:::

:::{dropdown} How?
So.
:::

## Where to go next

- {doc}`index` is next.
"""
ASKED = "# Q\n\nOne.\n\n::::{{interview-question}} Two?\n:name: q-x\n:::{{short}}\n{}\n:::\n::::\n"
INDEX = """# Attention

What is it?

:::{chapter-pages}
:::

## Ten sentences for revision

""" + "".join(f"{number}. A sentence.\n" for number in range(1, 11))


# --- the book ---------------------------------------------------------------------------------------------------------


def test_what_an_exercise_trains_is_said_in_words():
    found = sorted((ROOT / "book").glob("*/exercises.md"))
    trained = [line for path in found for line in path.read_text("utf8").splitlines() if line.startswith("Trains: ")]
    assert len(trained) > 80
    assert not [line for line in trained if line.startswith("Trains: {eq}")], "the number of an equation says nothing"


def every_page():
    return [pages.read_page(name) for chapter in toc.chapters() for name in pages.chapter_pages(chapter)]


def test_pages_of_the_second_edition_keep_the_rules_of_their_kind():
    bound = [page for page in every_page() if toc.chapter(page.name) in pages.indexed()]
    assert {page.name: found for page in bound if (found := rules.breaches(page))} == {}


def test_the_chapters_together_keep_their_number_of_words(capsys):
    """Asserted as soon as all of them have the form, and printed before."""
    with capsys.disabled():
        print("\n" + "\n".join("  ".join(row[:6]) for row in __main__.table(every_page()) if row[1] == "core + deeper"))
    found = rules.book_breaches(every_page())
    assert found == [] or not set(rules.CHAPTERS) <= set(pages.indexed()), found


def test_what_the_book_assumes_is_recalled_on_one_short_page():
    page = pages.read_page("before-you-begin")
    assert page.words <= 1200
    assert page.pictures == 1
    assert rules.unknown_terms(page.text) + rules.private_words(pages.prose(page.text)) == []


def test_the_words_are_bounded_of_the_eight_chapters_on_the_transformer_itself():
    """Those on what came later, as ``generation`` among them, do not count: the bound is that of the first path."""
    listed = dict.fromkeys(toc.chapter(name) for name in map(toc.page, toc.files(ROOT, "Chapters")))
    assert [chapter for chapter in listed if chapter in rules.CHAPTERS] == list(rules.CHAPTERS)
    assert len(rules.CHAPTERS) == 8
    assert "generation" not in rules.CHAPTERS


# --- kinds ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def root(tmp_path):
    """A book with a chapter that has an index, whose pages keep the rules, and one that has none yet."""
    made = {
        "attention/deeper-gradients": notebook("# Deeper\n\nMore."),
        "attention/claims": notebook("# Claims"),
        "attention/masks": notebook(first(), CORE, drawing("image/png", ""), figure("Four *words* of $d_k$.")),
        "attention/index": notebook(first(), INDEX, drawing("text/html", '<div class="fig-pair"></div>')),
        "history/questions": notebook(first(), "# History"),
    }
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "glossary.md").write_text(GLOSSARY, "utf8")
    for name, text in made.items():
        path = tmp_path / "book" / f"{name}.ipynb"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf8")
    (tmp_path / "_toc.yml").write_text(contents(*(f"book/{name}.ipynb" for name in [*made, "interview/quiz"])), "utf8")
    return tmp_path


def first():
    return nbformat.v4.new_code_cell("# for Colab", metadata={"tags": ["remove-cell"]})


def drawing(kind, data):
    return nbformat.v4.new_code_cell("draw()\n\nshow()", outputs=[nbformat.v4.new_output("display_data", {kind: data})])


def figure(caption):
    return nbformat.v4.new_code_cell("x", metadata={"tags": ["hide-input"], "mystnb": {"figure": {"caption": caption}}})


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("attention/index", "index"),
        ("attention/core", "core"),
        ("attention/deeper", "core"),
        ("attention/deeper-x", "deeper"),
        ("attention/questions", "questions"),
        ("attention/questions-masks", "questions"),
        ("attention/exercises-masks", "core"),
        ("attention/exercises", "exercises"),
        ("attention/claims", "claims"),
        ("interview/index", ""),
        ("interview/exercises", ""),
        ("glossary", ""),
    ],
)
def test_the_kind_of_a_page_is_told_by_its_name(name, kind):
    assert pages.kind(name) == kind


def test_the_pages_of_a_chapter_are_listed_by_kind_and_one_with_an_index_keeps_the_rules(root):
    names = pages.chapter_pages("attention", root)
    assert names == [f"attention/{name}" for name in ("index", "masks", "deeper-gradients", "claims")]
    assert pages.chapter_pages("interview", root) == []
    assert pages.indexed(root) == ["attention"]


# --- what is counted --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("## Two words", "Two words"),
        ("*One* **two** _three_ – 4.", "One two three 4."),
        ("$a + b$ and\n$$\nc = d\n$$ (eq-x)\nend", "formula and end"),
        ("`f(a, b)` and ``g `h` i``", "code and code"),
        ("```python\nnot = this\n```\nbut", "but"),
        ("```{code-cell} ipython3\nnot = this\n```\nbut", "but"),
        ("(sec-x)=\n% a comment\nbut", "but"),
        (":::{admonition} A title\n:class: often-said\n\nIts text.\n:::", "A title Its text."),
        ("::::{a} Out\n:::{b} In\ntext\n:::\nmore\n::::\nend", "Out In text more end"),
        (":::{list-table} A table\n:header-rows: 1\n\n* - One\n  - $x$\n:::", "A table One formula"),
        ("```{figure} dot.png\n:name: fig-x\n\nA caption\n```", "A caption"),
        ("{doc}`words of it <x>`, {term}`head`, {term}`heads <head>`, {cite:p}`who`", "words of it, head, heads, link"),
        ("[a link](https://example.org)", "a link"),
        ("One.\n::::{interview-question} Two?\n:::{short}\nThree.\n:::\n::::\nFour.", "One. Four."),
    ],
)
def test_the_words_that_are_read_are_counted(text, words):
    assert pages.prose(text) == words


def test_captions_count_and_code_that_is_hidden_takes_no_time(root):
    page = pages.read_page("attention/masks", root)
    assert page.words == len(pages.prose(CORE).split()) + len(["Four", "words", "of", "formula"])
    assert (len(page.code), page.lines, page.pictures) == (2, 2, 1)
    assert page.minutes == 1
    assert Page("a/b", "word " * 1000, (), 90, 0).minutes == 5 + 3


def test_pictures_and_displayed_formulas_take_half_a_minute_each():
    text = "word " * 1000 + "\n\n$$\na = b\n$$ (eq-a)\n\nword $x$\n\n$$\nc\n$$\n"
    assert Page("a/b", text, (), 0, 2).minutes == 5 + 2


def test_pictures_of_all_kinds_count(root):
    data = ["image/png", "image/svg+xml", "application/vnd.jupyter.widget-view+json", "text/plain"]
    text = "```{figure} a.svg\nA figure\n```\n"
    (root / "book/attention/masks.ipynb").write_text(
        notebook(first(), text, *(drawing(one, "") for one in data)), "utf8"
    )
    assert pages.read_page("attention/masks", root).pictures == 4


def test_what_runs_left_is_read_with_the_page(root):
    for run, text in (("run", '{"seconds": 3.5, "megabytes": 200}'), ("screens", '{"screens": 9.25}')):
        path = root / "_build" / "pages" / run / "attention" / "masks.json"
        path.parent.mkdir(parents=True)
        path.write_text(text, "utf8")
    assert pages.read_page("attention/masks", root).ran == {"seconds": 3.5, "megabytes": 200, "screens": 9.25}
    row = __main__.table([pages.read_page("attention/masks", root)])[1]
    assert row[-3:] == ["3.5", "200", "9.2"]


# --- the rules --------------------------------------------------------------------------------------------------------


def test_pages_that_keep_the_rules_have_no_breach(root):
    for name in pages.chapter_pages("attention", root):
        assert rules.breaches(pages.read_page(name, root), root) == []


def page(name="attention/masks", text=CORE, code=(), lines=0, pictures=1):
    return Page(name, text, tuple(code), lines, pictures)


@pytest.mark.parametrize(
    ("spoiled", "breach"),
    [
        (page(text=CORE + "word " * (2501 - page().words)), "2501 words, at most 2500"),
        (page(code=["x"] * 31), "31 cells, at most 30"),
        (page(lines=600), "21 minutes, at most 18"),
        (page(code=["inspect.getsource(f)"]), "it prints source by inspect.getsource: show plain code, and"),
        (page("attention/exercises", code=["print(getsource(f))"]), "it prints source by inspect.getsource"),
        (page("attention/questions", "# Q", code=["x = 1"], lines=1), "its cells stand open: fold the evidence"),
        (page("attention/questions-x", ASKED.format("word " * 17_498)), "17501 words with the answers, at most 17500"),
        (page(pictures=0), "it has no picture"),
        (page("attention/index", INDEX, pictures=0), "it has no picture"),
        (page(text=CORE.replace("see?", "see.")), "it does not open with the question that it answers"),
        (page(text=CORE.replace("Attention", "Attending")), "**Attending** is in bold, and not in the glossary"),
        (page("attention/deeper-x", "# A\n\n**Softmax**"), "**Softmax** is in bold, and not in the glossary"),
        (
            page(text=CORE + "\n## More\n"),
            "its last sections are Quick questions, Where to go next, More, not In short",
        ),
        (page(text=CORE.replace("Three!", "")), "In short has 2 sentences, not three to five"),
        (page(text=CORE.replace("Three!", "A. B. C. D.")), "In short has 6 sentences"),
        (page(text=CORE.replace(":::{dropdown} How?", ":::{note}")), "Quick questions has 1, not two or three"),
        (page(text=CORE.replace("{doc}`index`", "That")), "Where to go next links to no page"),
        (
            page("attention/index", INDEX.replace("{chapter-pages}", "{pages}")),
            "it lists no pages: use {chapter-pages}",
        ),
        (page("attention/index", INDEX.replace("10. A", "A")), "Ten sentences for revision has 9"),
        (page("attention/index", "# A\n\nWhat?\n"), "its last section is not Ten sentences for revision"),
        (page("attention/index", INDEX + "\n## What you need\n\nIt.\n"), "its last section is not Ten"),
    ],
)
def test_each_breach_of_a_rule_is_found(root, spoiled, breach):
    found = rules.breaches(spoiled, root)
    assert any(one.startswith(breach) for one in found), found


@pytest.mark.parametrize(
    ("sentence", "breach"),
    [
        ("Join the heads.", "Join the heads.” has join: say concatenate"),
        ("In all the texts here.", "“In all the texts here."),
        ("These made tasks are.", "has made tasks: say synthetic task"),
        ("Weights as drawn are.", "has as drawn: say at initialisation"),
        ("The document says.", "has document: the page is about the thing, and not about what was read"),
        ("All five documents.", "has documents"),
    ],
)
def test_words_that_are_not_for_all_pages_are_found_on_core_pages_only(root, sentence, breach):
    spoiled = CORE.replace("Words.", sentence)
    assert any(breach in one for one in rules.breaches(page(text=spoiled), root))
    assert rules.breaches(page("attention/deeper-x", spoiled), root) == []


def test_the_ordinary_sense_of_such_a_word_is_let_through():
    assert rules.private_words("Updates take place in place, cut off late; packed documents need a mask.") == []
    assert rules.private_words("Replace, adjoin, endearing, shortcut, underwriting, context") == []


def test_bold_words_that_are_no_terms_need_no_entry(root):
    text = "**Step 1: look.** **Queries** and the **loss**.\n\n:::{admonition} Box\n**Said:** a. **In fact** b.\n:::\n"
    assert rules.unknown_terms(text, root) == []
    assert rules.unknown_terms(text.replace("loss", "gain"), root) == ["gain"]


def test_words_of_the_chapters_are_bounded_together():
    core, deeper = page(text="word " * 36_000), page("attention/deeper-x", "word " * 10_000)
    assert rules.book_breaches([core, deeper]) == []
    assert rules.book_breaches([core, deeper, page("generation/index", "word " * 9)]) == []
    assert rules.book_breaches([core, deeper, page("add-norm/deeper-y", "word")]) == [
        "46001 words on core and deeper pages, at most 46000"
    ]
    assert rules.book_breaches([core, page("attention/index", "word")]) == ["36001 words on core pages, at most 36000"]


def test_no_chapter_is_text_alone(capsys):
    """Each page that is read shows code but for an index, and each chapter measures something."""
    read = [pages.read_page(name) for chapter in pages.indexed() for name in pages.chapter_pages(chapter)]
    assert [page.name for page in read if page.kind in ("core", "deeper") and not page.lines] == []
    measured = dict.fromkeys(pages.indexed(), 0)
    for page in read:
        measured[toc.chapter(page.name)] += page.measurements
    with capsys.disabled():
        print("\nmeasurements:", ", ".join(f"{chapter} {number}" for chapter, number in measured.items()))
    assert min(measured.values()) >= 3


def test_cells_that_measure_are_counted():
    code = ["show_measured(x)", "y = results('a', 'b')", "my_results(2)", "check_claim('a')", "print(1)"]
    assert page(code=code).measurements == 3


# --- the table --------------------------------------------------------------------------------------------------------


def test_the_table_has_a_row_for_each_page_and_sums(root):
    read = [pages.read_page(name, root) for name in pages.chapter_pages("attention", root)]
    rows = __main__.table(read)
    assert rows[0] == list(__main__.HEAD)
    assert rows[2] == ["attention/masks", "core", str(read[1].words), "2", "0", "1", "1", "", "", ""]
    assert rows[4][:6] == ["attention/claims", "claims", "", "0", "0", "0"]
    words = f"{read[0].words + read[1].words} + {read[2].words}"
    assert rows[-1] == ["the book", "core + deeper", words, "", "", "", "2 + 1", "", "", ""]


def test_the_command_prints_the_table_and_the_breaches_of_named_chapters(capsys):
    assert __main__.main(["generation"]) == 0
    assert capsys.readouterr().out.startswith("page ")
    assert __main__.main(["nowhere"]) == 1
    assert "no pages of nowhere: the chapters are history, attention" in capsys.readouterr().err
