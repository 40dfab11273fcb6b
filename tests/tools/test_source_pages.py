"""Links to the package's source, and the pages of the site that they lead to."""

import ast
import json
import re

import pytest

from companion.book.site import search_file
from companion.book.site.source_pages import caught_in, definitions, find, library, summary
from companion.book.topics import TOPICS
from tests.tools.small import ROOT, SmallBook, notebook

TEXT = "# One\n\nSee {source}`the function <companion.attention.attention>` and {source}`companion.masks`.\n"
PAGES = {
    "book/index.md": "# Home\n\n```{toctree}\none/index\n```\n",
    "book/one/index.ipynb": notebook(TEXT),
}


@pytest.mark.parametrize(
    ("name", "path", "first"),
    [
        ("companion.attention.attention", "companion/attention.py", "def attention("),
        ("companion.measure.files.Row.value", "companion/measure/files.py", "def value("),
        ("companion.masks", "companion/masks.py", '"""'),
        ("companion.measure", "companion/measure/__init__.py", '"""'),
    ],
)
def test_a_name_is_found_where_it_is_defined(name, path, first):
    found, line = find(name)
    assert found == path
    lines = (ROOT / path).read_text("utf8").splitlines()
    assert lines[line - 1].strip().startswith(first)


def test_the_line_is_that_of_the_definition():
    path, line = find("companion.attention.attention_weights")
    tree = ast.parse((ROOT / path).read_text("utf8"))
    assert line == next(node.lineno for node in tree.body if getattr(node, "name", "") == "attention_weights")


def test_public_classes_and_functions_are_listed_with_their_lines(tmp_path):
    (tmp_path / "one.py").write_text(
        "import os\n\n\ndef _own(): ...\n\n\n@cache\ndef mask(): ...\n\n\nclass Layer:\n    def of(self): ...\n"
    )
    assert definitions("one.py", tmp_path) == [("mask", 8), ("Layer", 11)]
    (anchor, title, _, text, *_), *entries = search_file.in_source("companion/attention.py")
    assert (anchor, title) == ("", "companion.attention")
    assert text.startswith("Scaled dot-product attention: ")
    assert [entry[1] for entry in entries] == ["attention_weights", "attention"]
    for anchor, title, *_ in entries:
        assert anchor == f"line-{find(f'companion.attention.{title}')[1]}"


def test_the_search_finds_definitions_of_the_library_alone(tmp_path):
    text = TEXT + "\n{source}`companion.book.toc`\n"
    book = SmallBook(tmp_path, ["source_pages", "search"], {**PAGES, "book/one/index.ipynb": notebook(text)})
    assert book.warnings() == []
    script = (tmp_path / "_build/html/_static/search-data.js").read_text("utf8")
    data = json.loads(script.removeprefix("window.bookSearchData = ").removesuffix(";\n"))
    found = {
        (data["pages"][page][1], title)
        for kind, page, _, title, *_ in zip(*data["columns"].values(), strict=True)
        if data["kinds"][kind] == "source"
    }
    assert ("companion/attention.py", "attention") in found
    assert {path for path, _ in found} == {"companion/attention.py", "companion/masks.py"}


def test_a_module_is_told_by_its_first_paragraph_and_its_chapter(tmp_path):
    (tmp_path / "one.py").write_text(
        '"""Turn pairs, as :mod:`two` does:\n``x`` alone. Chapter: book/attention.\n\nMore.\n"""'
    )
    assert summary("one.py", tmp_path) == ("Turn pairs, as ``two`` does: ``x`` alone.", "attention")
    (tmp_path / "two.py").write_text('"""Rows that *may* be seen.\n\nChapters: book/training, book/generation.\n"""')
    assert summary("two.py", tmp_path) == ("Rows that may be seen.", "training")


def test_one_page_lists_the_whole_library_by_chapter_with_links_to_its_source(tmp_path):
    texts = {
        "book/index.md": "# Home\n\n```{toctree}\none\n```\n",
        "book/one.md": "# All\n\n```{package-modules}\n```\n",
    }
    book = SmallBook(tmp_path, ["source_pages"], texts)
    assert book.warnings() == []
    page = book.html("one")
    titles = re.findall("<h2>([^<]+)", page)
    assert [title for title in TOPICS.values() if title in titles] == titles[:-1]
    assert titles[-1] == "Everywhere"
    line = find("companion.positional.rotary.rotate")[1]
    assert f'href="../source/companion/positional/rotary.html#line-{line}"' in page
    listed = set(re.findall(r'href="\.\./source/(companion/[^"#]*)\.html"', page))
    assert listed == {path.removesuffix(".py") for path in library()}
    assert not [path for path in listed if path.startswith(("companion/book", "companion/chapters"))]


def test_a_test_can_be_linked_to_and_is_no_module(tmp_path):
    text = (
        "# One\n\n{source}`one <tests.library.test_masks>` {source}`two <tests.library.parity.test_patterns>` {more}\n"
    )
    linked = text.replace("{more}", "{source}`companion.masks`")
    book = SmallBook(tmp_path, ["source_pages", "search"], {**PAGES, "book/one/index.ipynb": notebook(linked)})
    assert book.warnings() == []
    pages = tmp_path / "_build/html/source/tests/library"
    assert "Tests of <a" in (pages / "test_masks.html").read_text("utf8")
    assert "Tests of" not in (pages / "parity/test_patterns.html").read_text("utf8")
    assert 'href="../../source/tests/library/parity/test_patterns.html"' in book.html("one/index")
    assert "tests/library" not in (tmp_path / "_build/html/_static/search-data.js").read_text("utf8")


def test_a_name_that_the_package_does_not_have_is_refused():
    with pytest.raises(ValueError, match=r"names what a module defines: attention\.py has no 'attend'"):
        find("companion.attention.attend")
    with pytest.raises(ValueError, match=r"names a module of the package, or what it defines: got 'torch\.nn'"):
        find("torch.nn")


def test_a_link_leads_to_the_line_on_a_page_of_the_site(tmp_path):
    book = SmallBook(tmp_path, ["source_pages"], PAGES)
    assert book.warnings() == []
    links = re.findall(r'<a class="reference internal" href="(\.\./\.\./source[^"]*)">([^<]*)', book.html("one/index"))
    line = find("companion.attention.attention")[1]
    assert links == [
        (f"../../source/companion/attention.html#line-{line}", "the function"),
        ("../../source/companion/masks.html", "companion.masks"),
    ]
    page = (tmp_path / "_build/html/source/companion/attention.html").read_text("utf8")
    assert f'id="line-{line}"' in page or f'name="line-{line}"' in page
    assert "<h1>companion/<wbr>attention.py</h1>" in page
    assert not (tmp_path / "_build/html/source/companion/norm.html").exists()


def test_the_page_of_a_module_leads_to_the_list_of_modules_and_to_its_chapter(tmp_path):
    texts = {
        "book/index.md": "# Home\n\n```{toctree}\npackage\nattention/index\n```\n",
        "book/package.md": "# All\n\n{source}`companion.masks` and {source}`companion.norm`\n",
        "book/attention/index.md": "# Attention\n",
    }
    book = SmallBook(tmp_path, ["source_pages"], texts)
    assert book.warnings() == []
    pages = tmp_path / "_build/html/source/companion"
    assert '<a href="../../book/package.html">The package, module by module</a>' in (pages / "norm.html").read_text(
        "utf8"
    )
    chapter = '<a href="../../book/attention/index.html">Attention</a>'
    assert chapter in (pages / "masks.html").read_text("utf8")
    assert chapter not in (pages / "norm.html").read_text("utf8")


def test_a_module_leads_back_to_the_pages_that_link_to_it(tmp_path):
    pages = {
        "book/index.md": "# Home\n\n```{toctree}\none/index\none/other\nattention/index\n```\n",
        "book/one/other.ipynb": notebook("# Other & <more>\n\n{source}`companion.masks`\n"),
        "book/attention/index.ipynb": notebook("# Attention\n\n{source}`companion.masks`\n"),
    }
    book = SmallBook(tmp_path, ["source_pages"], PAGES | pages)
    assert book.warnings() == []
    source = tmp_path / "_build/html/source/companion"
    one = '<a href="../../book/one/index.html">One</a>'
    other = '<a href="../../book/one/other.html">Other &amp; &lt;more&gt;</a>'
    assert f"<p>Used on {one}, {other}</p>" in (source / "masks.html").read_text("utf8"), "not on its chapter's list"
    assert f"<p>Used on {one}</p>" in (source / "attention.html").read_text("utf8")


def test_a_page_that_no_longer_links_takes_its_source_page_along(tmp_path):
    book = SmallBook(tmp_path, ["source_pages"], PAGES)
    assert book.warnings() == []
    book.write("book/one/index.ipynb", notebook("# One\n\nSee {source}`companion.masks`.\n"))
    (tmp_path / "_build/html/source/companion/attention.html").unlink()
    assert book.warnings() == []
    assert not (tmp_path / "_build/html/source/companion/attention.html").exists()


def test_a_link_to_nothing_is_warned_of(tmp_path):
    texts = PAGES | {"book/one/index.ipynb": notebook("# One\n\n{source}`companion.nothing.here`\n")}
    (warning,) = SmallBook(tmp_path, ["source_pages"], texts).warnings()
    assert "{source} names" in warning


def test_a_module_leads_to_the_tests_that_catch_its_faults_and_they_to_it(tmp_path):
    book = SmallBook(tmp_path, ["source_pages"], PAGES)
    assert book.warnings() == []
    source = tmp_path / "_build/html/source"
    names = caught_in()["companion/masks.py"]
    assert "tests/library/test_masks.py" in names
    links = [f'<a href="../{name.removesuffix(".py")}.html"><code>{name}</code></a>' for name in names]
    assert f"<p>Tested in {', '.join(links)}</p>" in (source / "companion/masks.html").read_text("utf8")
    page = (source / "tests/library/test_masks.html").read_text("utf8")
    assert '<p>Tests of <a href="../../companion/masks.html"><code>companion/masks.py</code></a></p>' in page
    assert "<h1>tests/<wbr>library/<wbr>test_<wbr>masks.py</h1>" in page
    linked = set(names) | set(caught_in()["companion/attention.py"])
    made = {path.relative_to(source).as_posix() for path in (source / "tests").rglob("*.html")}
    assert made == {f"{name.removesuffix('.py')}.html" for name in linked}


def test_tests_are_read_from_all_files_of_faults_and_each_is_a_file(tmp_path):
    folder = tmp_path / "tests" / "mutants"
    folder.mkdir(parents=True)
    (folder / "a.yml").write_text("- file: x.py\n  tests: tests/b.py book/page.ipynb\n- file: y.py\n")
    (folder / "b.yml").write_text("- file: x.py\n  tests: tests/a.py\n")
    assert caught_in(tmp_path) == {"x.py": ["tests/a.py", "tests/b.py"], "y.py": []}
    ours = caught_in()
    assert all((ROOT / test).is_file() for path in library() for test in ours.get(path, ()))
