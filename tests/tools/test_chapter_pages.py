"""The pages of a chapter with their minutes: the path, what goes deeper, what is beside it; the chapters."""

import re

import pytest

from tests.tools.small import SmallBook, contents, notebook, plain

INDEX = "# One\n\n```{toctree}\nmasks\nroot\ndeeper-x\nclaims\nquestions\n```\n\n:::{chapter-pages}\n:::\n"
PAGES = {
    "book/index.md": "# Home\n\n```{toctree}\none/index\n```\n",
    "book/one/index.ipynb": notebook(INDEX),
    "book/one/claims.ipynb": notebook("# Claims"),
    "book/one/deeper-x.ipynb": notebook("# Deeper\n\n" + "word " * 800),
    "book/one/root.ipynb": notebook("# The root\n\n" + "word " * 600),
    "book/one/masks.ipynb": notebook("# Masks\n\n" + "word " * 1400),
    "book/one/questions.ipynb": notebook("# Questions"),
}

LONGER = " to read; trying the figures and working the examples takes longer."


def small(folder, **changed):
    texts = PAGES | {f"book/one/{name}.ipynb": text for name, text in changed.items()}
    return SmallBook(folder, ["chapter_pages"], texts)


def listed(book):
    found = re.search(r'<div class="chapter-pages">.*?</div>', book.html("one/index"), re.DOTALL)[0]
    return re.findall(r'<a [^>]*href="([^"]+)"', found), plain(found)


def test_the_pages_are_listed_with_their_minutes_the_path_first(tmp_path):
    """The table of contents lists them in another order of kinds, and the root before the masks."""
    book = small(tmp_path)
    assert book.warnings() == []
    links, words = listed(book)
    assert links == [f"{name}.html" for name in ("root", "masks", "deeper-x", "questions", "claims", "whole-chapter")]
    assert words == (
        f"The root , 3 min Masks , 7 min With this page, the path takes about 11 minutes{LONGER} "
        "To go deeper; no later page needs these: Deeper , 4 min "
        "Beside the path: Questions : from basic to hard, with folded answers "
        "Claims : a verdict on each statement, and its evidence "
        "The whole chapter on one page , to print, or to read in one go"
    )


def test_the_minutes_are_those_of_the_pages_as_they_are_now(tmp_path):
    book = small(tmp_path)
    assert book.warnings() == []
    book.write("book/one/masks.ipynb", notebook("# Masks\n\n" + "word " * 2000))
    assert book.warnings() == []
    assert "Masks , 10 min" in listed(book)[1]


def test_the_words_of_the_list_can_be_translated(tmp_path):
    book = small(tmp_path)
    assert book.warnings("gettext") == []
    text = (tmp_path / "_build" / "gettext" / "book" / "one" / "index.pot").read_text("utf8")
    assert f'msgid "With this page, the path takes about 11 minutes{LONGER}"' in text


def test_a_chapter_that_has_only_its_index_lists_nothing(tmp_path):
    book = small(tmp_path, index=notebook("# One\n\n:::{chapter-pages}\n:::\n"))
    for name in ("masks", "root", "deeper-x", "claims", "questions"):
        (tmp_path / "book" / "one" / f"{name}.ipynb").unlink()
    book.write("_toc.yml", contents("book/one/index.ipynb"))
    assert book.warnings() == []
    assert listed(book) == ([], "")


@pytest.mark.parametrize(("kinds", "words"), [(("deeper-x",), "To go deeper"), (("claims", "questions"), "Beside")])
def test_what_a_chapter_does_not_have_is_not_announced(tmp_path, kinds, words):
    book = small(tmp_path)
    book.write("_toc.yml", contents(*(f"book/one/{name}.ipynb" for name in ("index", "root", "masks"))))
    for name in kinds:
        (tmp_path / "book" / "one" / f"{name}.ipynb").unlink()
    book.write("book/one/index.ipynb", notebook(re.sub("|".join(f"{name}\n" for name in kinds), "", INDEX)))
    assert book.warnings() == []
    assert words not in listed(book)[1]


def chapters(book, caption):
    book.write("book/index.md", PAGES["book/index.md"] + f"\n```{{chapters}} {caption}\n```\n")
    return book.warnings()


def test_the_chapters_of_a_part_are_listed_with_the_minutes_of_their_core_pages(tmp_path):
    """An index counts as a core page, here with 200 words; what goes deeper, and the part of others, do not count."""
    book = small(tmp_path)
    book.write("book/one/root.ipynb", notebook("# The root\n\n" + "word " * 9000))
    book.write("book/two/questions.md", "---\norphan: true\n---\n\n# Others\n")
    part = "- caption: {}\n  chapters:\n  - file: {}\n"
    listing = "root: book/index\nparts:\n" + part.format("Read", "book/one/index.ipynb")
    sections = "".join(f"    - file: book/one/{name}.ipynb\n" for name in ("root", "masks", "deeper-x"))
    book.write("_toc.yml", f"{listing}    sections:\n{sections}" + part.format("Look", "book/two/questions.md"))
    for name in ("claims", "questions"):
        (tmp_path / "book" / "one" / f"{name}.ipynb").unlink()
    shown = INDEX.replace("claims\nquestions\n", "")
    book.write("book/one/index.ipynb", notebook(shown + "\n" + "word " * 200))
    assert chapters(book, "Read") == []
    found = re.search(r'<div class="chapters">.*?</div>', book.html("index"), re.DOTALL)[0]
    assert re.findall(r'<a [^>]*href="([^"]+)"', found) == ["one/index.html"]
    assert plain(found) == f"One , 53 min All core pages together take about 1 hours{LONGER}"


def test_the_last_core_page_leads_to_the_next_chapter_and_all_others_to_the_page_after_them(tmp_path):
    book = small(tmp_path)
    book.write("book/two/index.md", "# *Two*\n")
    home = PAGES["book/index.md"].replace("one/index\n", "one/index\ntwo/index\n")
    book.write("book/index.md", home)
    inside = INDEX.replace("masks\nroot\n", "root\nmasks\n")
    book.write("book/one/index.ipynb", notebook(inside))
    names = ("index", "root", "masks", "deeper-x", "claims", "questions")
    files = [f"book/one/{name}.ipynb" for name in names]
    book.write("_toc.yml", contents(*files, "book/two/index.md"))
    assert book.warnings() == []
    found = [re.search(r'<link rel="next" title="(.*?)" href="(.*?)"', book.html(f"one/{name}")) for name in names]
    assert [(match[1], match[2]) for match in found] == [
        ("The root", "root.html"),
        ("Masks", "masks.html"),
        ("Two", "../two/index.html"),
        ("Claims", "claims.html"),
        ("Questions", "questions.html"),
        ("Two", "../two/index.html"),
    ]
    back = re.search(r'<link rel="prev" title="(.*?)" href="(.*?)"', book.html("two/index"))
    assert (back[1], back[2]) == ("Masks", "../one/masks.html")
    assert 'rel="prev" title="Deeper"' in book.html("one/claims")


def test_the_last_core_page_of_the_last_chapter_leads_to_the_page_after_it(tmp_path):
    book = small(tmp_path)
    assert book.warnings() == []
    assert 'rel="next" title="Deeper"' in book.html("one/root")


def test_a_part_that_the_book_does_not_have_is_refused(tmp_path):
    (warning,) = chapters(small(tmp_path), "Reed")
    assert "a part of the book has a caption in _toc.yml: got 'Reed'." in warning
