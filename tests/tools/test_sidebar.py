"""The tree of pages that is made once is, on every page, the one that Sphinx makes for it."""

import re

import pytest

from tests.tools.small import SmallBook

TREE = "```{toctree}\n:titlesonly:\n:caption: Chapters\nabout\none/index\none/more\nhttps://example.org\n```\n"
TEXTS = {
    "book/index.md": f"# Book\n\n{TREE}",
    "book/about.md": "# About\n",  # written first
    "book/one/index.md": "# One & all\n\n```{toctree}\n:titlesonly:\nfirst\ndeep/second\n```\n",
    "book/one/first.md": "# First\n\n## A section\n\n## Another\n",
    "book/one/deep/second.md": "# Second *part*\n\n```{toctree}\n:titlesonly:\nthird\n```\n",
    "book/one/deep/third.md": "# Third\n",
    "book/one/more.md": "# More\n",
    "book/outside.md": "---\norphan: true\n---\n# Outside\n",
}
SIDEBAR = '\nhtml_sidebars = {"**": ["globaltoc.html"]}\nhtml_theme_options = {"globaltoc_collapse": False}\n'
PAGES = [name.removeprefix("book/").removesuffix(".md") for name in TEXTS]


@pytest.fixture(scope="module")
def books(tmp_path_factory):
    """Build the same book with Sphinx's tree and with ours."""
    made = []
    for parts in ([], ["sidebar"]):
        book = SmallBook(tmp_path_factory.mktemp("book"), parts, TEXTS)
        config = book.folder / "conf.py"
        book.write("conf.py", config.read_text("utf8") + SIDEBAR)
        assert not [line for line in book.warnings() if "orphan" not in line]
        made.append(book)
    return made


def tree(html):
    """Cut the tree out of a page."""
    return re.search(r'<div class="sphinxsidebarwrapper">.*?</div>', html, re.DOTALL)[0]


@pytest.mark.parametrize("page", PAGES)
def test_is_the_tree_of_sphinx(books, page):
    theirs, ours = (tree(book.html(page)) for book in books)
    assert theirs.count("<li") >= 6
    assert ours == theirs


def test_marks_the_way_to_a_page(books):
    """The comparison would say nothing if no page were marked."""
    assert [tree(books[1].html(page)).count("current") for page in ("one/deep/third", "outside")] == [7, 0]
