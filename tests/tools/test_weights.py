"""The weights of the chapters as classic scripts of the site."""

import base64
import re

import pytest

from companion.book import weights
from tests.tools.small import SmallBook, plain


def chapter(root, content):
    folder = root / "companion" / "chapters" / "demo" / "weights"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "small.safetensors").write_bytes(content)
    (root / "_toc.yml").write_text(
        "format: jb-book\nroot: README\nparts:\n- caption: c\n  chapters:\n  - file: book/demo/index.ipynb\n", "utf8"
    )


def test_the_weights_of_each_chapter_become_a_script_that_keeps_their_bytes(tmp_path):
    content = bytes(range(256)) * 3
    chapter(tmp_path, content)
    weights.write(tmp_path / "_static", tmp_path)
    (script,) = (tmp_path / "_static" / "weights").iterdir()
    assert re.fullmatch(r"small\.[0-9a-f]{8}\.js", script.name)
    name, text = re.fullmatch(
        r'\(window\.LightWeights \?\?= \{\}\)\["(.*)"\] = "(.*)";\n', script.read_text("utf8")
    ).groups()
    assert f"{name}.js" == script.name
    assert base64.b64decode(text, validate=True) == content


def test_new_weights_get_a_new_name_and_the_old_script_goes(tmp_path):
    chapter(tmp_path, b"old")
    weights.write(tmp_path / "_static", tmp_path)
    (old,) = (tmp_path / "_static" / "weights").iterdir()
    chapter(tmp_path, b"new")
    weights.write(tmp_path / "_static", tmp_path)
    (new,) = (tmp_path / "_static" / "weights").iterdir()
    assert new.name != old.name


def test_the_translator_is_small_enough_to_open_on_a_page():
    (text,) = [text for name, text in weights.scripts().items() if name.startswith("translator.")]
    assert len(text) < 300_000


def test_a_page_says_the_size_of_what_it_loads_and_of_nothing_else(tmp_path):
    book = SmallBook(tmp_path, ["weights"], {"book/index.md": "# Home\n\n{model-size}`small` it is.\n"})
    chapter(tmp_path, bytes(180_000))
    assert book.warnings() == []
    assert "240 kB it is." in plain(book.html("index"))
    (text,) = weights.scripts(tmp_path).values()
    assert len(text) == pytest.approx(240_000, abs=5000)
    book.write("book/index.md", "# Home\n\n{model-size}`large` it is.\n")
    _, said = book.build("-E")
    assert "names one file of weights of the chapters: got large, which is 0" in said
