"""Every drawn picture of the book, and the engine that draws them: what the style asks for, read from the SVG."""

import ast
import inspect
import os
import re
import subprocess
import sys
from collections import Counter
from html import unescape
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest

from companion import pictures
from companion.book import toc
from companion.pictures import Canvas, Picture, drawing, picture, stylesheet
from companion.pictures.__main__ import main
from tests.tools.layout import elements, read
from tests.tools.small import ROOT, SmallBook, notebook

FOUND = pictures.pictures()
DRAWN = {name: make() for name, make in FOUND.items()}
LAYOUTS = {canvas.name: canvas for drawn in DRAWN.values() for canvas in (drawn.wide, drawn.narrow)}
each = pytest.mark.parametrize("name", FOUND)
each_layout = pytest.mark.parametrize("canvas", LAYOUTS.values(), ids=LAYOUTS)
DESC = "One sees a box. It holds a word."
LIMIT = 16_000  # bytes of a layout
STYLE = re.compile(r"<style>(.*?)</style>")


def words(texts):
    return Counter(word for text in texts for word in re.findall(r"[^\W\d_]{2,}|\d+(?:\.\d+)?", text.words))


def blank(wide=True, height=80, **changes):
    return Canvas(**{"name": "blank", "wide": wide, "height": height, "title": "A box", "desc": DESC} | changes)


# ---- Every picture of the book


def test_there_are_pictures_of_several_chapters():
    homes = {make.__module__.split(".")[2] for make in FOUND.values()}
    assert {"attention", "multi_head", "add_norm", "architecture"} <= homes


@each
def test_a_picture_is_called_like_its_function_and_asks_for_nothing(name):
    drawn = DRAWN[name]
    assert (drawn.wide.name, drawn.narrow.name) == (name.replace("_", "-"), name.replace("_", "-") + "-narrow")
    assert (drawn.wide.width, drawn.narrow.width) == (720, 344)
    assert getattr(pictures, name) is FOUND[name]
    assert "wide" not in inspect.signature(FOUND[name]).parameters


def test_no_two_ids_of_the_book_are_the_same():
    layouts = [canvas for drawn in DRAWN.values() for canvas in (drawn.wide, drawn.narrow)]
    ids = [found for canvas in layouts for found in re.findall(r'\bid="([^"]+)"', canvas.svg())]
    assert len(ids) >= 4 * len(FOUND)
    assert [found for found, times in Counter(ids).items() if times > 1] == []


@each_layout
def test_what_a_drawing_refers_to_is_its_own(canvas):
    svg = canvas.svg()
    used = re.findall(r"url\(#([^)]+)\)", svg) + re.findall(r'aria-\w+="([^"]+)"', svg)
    assert set(used) <= set(re.findall(r'\bid="([^"]+)"', svg))
    assert all(found.startswith(f"{canvas.name}-") for found in used)


@each_layout
def test_a_layout_is_light_and_lies_on_its_canvas(canvas):
    texts, points = read(canvas.svg())
    corners = points + [corner for text in texts for corner in (text.box[:2], text.box[2:])]
    assert len(canvas.svg().encode()) <= LIMIT
    assert [
        corner for corner in corners if not (0 <= corner[0] <= canvas.width and 0 <= corner[1] <= canvas.height)
    ] == []
    assert canvas.height - max(y for _, y in corners) <= 24


@each_layout
def test_no_two_texts_overlap_and_no_line_runs_through_one(canvas):
    texts, points = read(canvas.svg())
    assert len(texts) > 5
    assert [(one.said, other.said) for one, other in combinations(texts, 2) if one.overlaps(other)] == []
    crossed = {text.said: point for text in texts if not text.halo for point in points if text.holds(point)}
    assert crossed == {}


@each
def test_both_layouts_say_the_same(name):
    """The narrow one may leave out texts of second rank, which are muted, and no others."""
    wide, narrow = (read(canvas.svg())[0] for canvas in (DRAWN[name].wide, DRAWN[name].narrow))
    assert set(words(narrow)) <= set(words(wide))
    first = [words([text for text in texts if not text.muted]) for texts in (wide, narrow)]
    assert set(first[0]) == set(first[1])


@each
def test_the_words_of_a_picture_stand_in_one_dictionary(name):
    make = FOUND[name]
    tree = ast.parse(inspect.getsource(make.__wrapped__))
    (labels,) = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and ast.unparse(node.targets[0]) == "labels"
        and isinstance(node.value, ast.Dict)
    ]
    assert {"title", "desc"} <= {key.value for key in labels.keys}
    said = [node.value for node in ast.walk(labels) if isinstance(node, ast.Constant)]
    said += [str(parameter.default) for parameter in inspect.signature(make).parameters.values()]
    known = set(re.findall(r"[^\W\d_]{2,}", " ".join(map(str, said))))
    assert {word for word in words(read(DRAWN[name].wide.svg())[0]) if word.isalpha()} <= known


@each_layout
def test_the_words_for_a_drawing_name_no_colour_and_no_figure(canvas):
    said = f"{canvas.title} {canvas.desc}".lower()
    assert not re.search(r"\b(blue|amber|green|plum|red|gr[ea]y|colou?rs?|figure|picture|diagram)\b", said)
    assert canvas.title[0].isupper()
    assert not canvas.title.endswith(".")


@each_layout
def test_a_drawing_uses_no_class_without_a_rule_and_no_colour(canvas):
    root, found = elements(canvas.svg())
    used = set().union({*root.get("class").split()}, *(classes for _, _, classes in found))
    assert used - set(re.findall(r"\.([\w-]+)", stylesheet())) <= {"f-ink", "f-line", "fig-wide"}
    assert not re.search(r"#[0-9a-f]{3,6}\b|rgb\(", re.sub(r"url\(#[^)]*\)", "", canvas.svg()))


def test_a_picture_is_the_same_in_every_process():
    code = "from companion.pictures import pictures\nfor make in pictures().values(): print(make()._repr_html_())"
    runs = [
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            check=True,
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"},
        ).stdout.decode()
        for seed in ("1", "2")
    ]
    assert runs[0] == runs[1]
    assert runs[0].split() == "\n".join(drawn._repr_html_() for drawn in DRAWN.values()).split()


@each
def test_the_parts_of_a_picture_are_the_same_in_both_layouts(name):
    parts = [
        (
            sorted(set(re.findall(r'data-part="([^"]+)"', canvas.svg()))),
            re.findall(r'data-page="([^"]+)"', canvas.svg()),
        )
        for canvas in (DRAWN[name].wide, DRAWN[name].narrow)
    ]
    assert parts[0] == parts[1]
    assert all(re.fullmatch(r"[a-z-]+/[a-z-]+", page) for page in parts[0][1])


# ---- A picture in a notebook


def test_a_picture_carries_both_layouts_its_rules_and_its_words():
    drawn = DRAWN["four_masks"]
    bundle = drawn._repr_mimebundle_(include=None, exclude=None)
    assert bundle == {"text/html": drawn._repr_html_(), "text/plain": drawn.text}
    assert drawn.text == f"Four masks. {drawn.wide.desc}"
    head, _, rest = drawn._repr_html_().partition("</style>")
    assert head == f'<div class="fig-pair"><style>{stylesheet()}'
    shown = f'<div class="fig-drawn" style="display:none">{drawn.wide.svg()}{drawn.narrow.svg()}</div></div>'
    assert unescape(rest) == f'<p class="fig-words">{drawn.text}</p>' + unescape(shown)


def test_the_rules_show_the_drawing_and_hide_its_words_and_reach_nothing_else():
    sheet = stylesheet()
    assert ".fig-words{display:none}" in sheet
    assert ".fig-drawn{display:block !important}" in sheet
    assert sheet.count("{") == sheet.count("}")
    selectors = [rule.strip() for rule in re.findall(r"([^{}]+)\{[^{}]*\}", sheet)]
    assert len(selectors) > 30
    assert [one for one in selectors for part in re.split(r",(?![^(]*\))", one) if ".fig" not in part] == []


def test_the_rules_know_the_dark_themes_of_the_site_and_of_the_notebooks():
    ((hosts, rules),) = re.findall(r"@media screen\{:is\(\s*(.*?)\s*\)\s*\.fig\{([^}]*)\}", stylesheet())
    assert set(re.split(r",\s*", hosts)) == {
        '[data-theme="dark"]',
        '[data-jp-theme-light="false"]',
        'html[theme="dark"]',
        '[data-vscode-theme-kind="vscode-dark"]',
        '[data-vscode-theme-kind="vscode-high-contrast"]',
    }
    assert rules.startswith("--fig-ink:")


def luminance(colour):
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def themes():
    """The colours of the sheet: light, dark, and light as changed for print."""
    light, dark, paper = (
        dict(re.findall(r"--fig-([\w-]+):(#\w+)", block))
        for block in re.findall(r"\{((?:--fig-[\w-]+:#\w+;?)+)", stylesheet())
    )
    return {"light": light, "dark": dark, "print": light | paper}


@pytest.mark.parametrize("theme", ["light", "dark", "print"])
def test_text_has_contrast_on_every_ground_and_every_tone_on_the_paper(theme):
    colours = themes()[theme]
    grounds = [name for name in colours if name.endswith("ground")]
    assert len(grounds) == 5
    pairs = [(text, ground) for text in ("ink", "muted") for ground in (*grounds, "paper")]
    pairs += [(tone, "paper") for tone in ("query", "key", "value", "attention")]
    weak = {pair: contrast(*(colours[name] for name in pair)) for pair in pairs}
    assert {pair: ratio for pair, ratio in weak.items() if ratio < 4.5} == {}


def test_a_page_of_all_pictures_has_each_id_once(tmp_path, capsys):
    assert main([str(tmp_path / "all.html")]) == 0
    page = (tmp_path / "all.html").read_text("utf8")
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert page.count("<svg") == 8 * len(FOUND)
    assert main([]) == 2
    assert "one argument" in capsys.readouterr().err


# ---- Finding them


def test_a_name_that_no_picture_has_is_refused_with_those_that_there_are():
    with pytest.raises(AttributeError, match=r"no picture 'four_mask': there are .*four_masks"):
        _ = pictures.four_mask
    assert set(FOUND) <= set(dir(pictures))


def test_a_chapter_has_a_file_of_pictures_or_a_folder_of_them(tmp_path, monkeypatch):
    one, other = tmp_path / "pictures.py", tmp_path / "pictures"
    one.touch()
    other.mkdir()
    (other / "flow.py").touch()
    homes = {"pictures.py": {"add-norm": one}, "pictures": {"multi-head": other}}
    monkeypatch.setattr(toc, "chapter_files", homes.get)

    def module(name):
        make, imported = picture(blank), picture(blank)
        make.__name__, make.__module__ = name.rpartition(".")[2], name
        return SimpleNamespace(make=make, imported=imported)

    monkeypatch.setattr(pictures.importlib, "import_module", module)
    found = {name: make.__module__ for name, make in pictures.pictures().items()}
    assert found == {
        "flow": "companion.chapters.multi_head.pictures.flow",
        "pictures": "companion.chapters.add_norm.pictures",
    }
    (other / "pictures.py").touch()
    with pytest.raises(ValueError, match=r"a picture has its name alone: .* repeats pictures\. Rename one"):
        pictures.pictures()


# ---- The engine


def test_a_function_that_draws_one_layout_becomes_a_picture_of_both():
    @picture
    def squares(wide: bool, n: int = 3) -> Canvas:
        """Draw squares."""
        canvas = blank(wide)
        canvas.text(8, 8, f"n = {n}")
        return canvas

    drawn = squares(n=5)
    assert isinstance(drawn, Picture)
    assert (drawn.wide.wide, drawn.narrow.wide) == (True, False)
    assert ">n = 5</text>" in drawn.wide.svg()
    assert str(inspect.signature(squares)) == f"(n: int = 3) -> {Picture.__module__}.Picture"
    assert squares.__doc__ == "Draw squares."


def test_the_example_of_the_readme_draws_a_picture_by_the_rules():
    (code,) = re.findall(
        r"```python\n(.*?)```", (Path(drawing.__file__).parent / "README.md").read_text("utf8"), re.DOTALL
    )
    names = {"picture": picture, "Canvas": Canvas}
    exec(code, names)
    drawn = names["two_words"](weight=0.2)
    for canvas in (drawn.wide, drawn.narrow):
        texts, points = read(canvas.svg())
        assert [text.said for text in texts] == ["cat", "sat", "0.2"]
        assert not any(text.holds(point) for text in texts for point in points)


def test_a_formula_has_letters_in_italics_and_signs_above_and_below():
    canvas = blank()
    canvas.text(8, 8, "a < $d_{kk}^2$ x")
    assert canvas.svg().endswith(
        'a &lt; <tspan class="f-m">d</tspan><tspan class="f-12" dy="4">kk</tspan>'
        '<tspan class="f-12" dy="-10">2</tspan><tspan dy="6"> x</tspan></text></svg>'
    )


def test_lines_of_a_text_stand_around_its_middle_and_break_where_they_may():
    canvas = blank()
    canvas.text(8, 40, "Masked self-attention", wrap=12)
    (first, second), _ = read(canvas.svg())
    assert (first.said, second.said) == ("Masked self-", "attention")
    middle = sum(box[side] for box in (first.box, second.box) for side in (1, 3)) / 4
    assert middle == pytest.approx(40, abs=2)


def test_coordinates_have_two_decimals_at_most():
    assert [pictures.number(value) for value in (1 / 3, 2.0, -0.001, 100, 0.5)] == ["0.33", "2", "0", "100", "0.5"]


def test_arrows_turn_with_round_corners_and_end_where_they_point():
    canvas = blank()
    canvas.arrow((8, 8), (40, 8), (40, 60), tone="key")
    svg = canvas.svg()
    assert '<path d="M8 8L32 8Q40 8 40 16L40 54" class="f-line f-key"/>' in svg
    assert '<path d="M40 60L36.5 53 43.5 53z" class="f-head f-key"/>' in svg


def test_a_bar_is_filled_from_the_left_or_from_below():
    canvas = blank()
    canvas.bar(0, 0, 40, 8, 0.25)
    canvas.bar(0, 20, 8, 40, 0.25, upright=True)
    filled = [element for _, element, classes in elements(canvas.svg())[1] if "f-full" in classes]
    assert [[element.get(key) for key in ("x", "y", "width", "height")] for element in filled] == [
        ["0", "0", "10", "8"],
        ["0", "50", "8", "10"],
    ]


def test_a_mask_is_full_where_a_query_may_look_and_hatched_elsewhere():
    canvas = blank()
    canvas.mask(0, 0, [[True, False], [True, True]], 10, 2, focus=1)
    paths = {
        tuple(sorted(classes)): element.get("d") for tag, element, classes in elements(canvas.svg())[1] if tag == "path"
    }
    assert paths == {
        ("f-attention", "f-full", "f-pale"): "M1 1h8v8h-8z",
        ("f-attention", "f-full"): "M1 11h8v8h-8zM11 11h8v8h-8z",
        ("f-cell", "f-soft"): "M11 1h8v8h-8z",
    }
    assert 'style="fill:url(#blank-muted)"' in canvas.svg()


def test_keys_are_hatched_and_values_dotted():
    canvas = blank()
    for tone in ("query", "key", "value"):
        canvas.vector(0, 0, ["a", "b"], tone)
    assert re.findall(r'<pattern id="([^"]+)"', canvas.svg()) == ["blank-key", "blank-value"]
    assert canvas.svg().count('fill="url(#blank-key)"') == 1


def test_a_part_names_its_page_without_a_link():
    canvas = blank()
    with canvas.part("masks", "Masks & more", "attention/masks"):
        canvas.box(0, 0, 40, 40)
    with canvas.part("rest", "Rest"):
        pass
    assert '<a data-page="attention/masks"><g data-part="masks"><title>Masks &amp; more</title>' in canvas.svg()
    assert canvas.svg().endswith('</g></a><g data-part="rest"><title>Rest</title></g></svg>')
    assert "href" not in canvas.svg()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "Four masks"}, r"lower-case words with hyphens: got 'Four masks'\. Write four-masks"),
        ({"height": 81}, r"a multiple of 8: got 81\. Move the last shape"),
        ({"height": 0}, r"a multiple of 8: got 0"),
        (
            {"title": "one two three four five six seven eight nine"},
            r"one to 8 words: got 'one .*Say what the picture is",
        ),
        ({"title": " "}, r"one to 8 words: got ' '"),
        ({"desc": "One sentence."}, r"two to five sentences: got 'One sentence\.'\. Say what one sees"),
        ({"desc": "No end. No stop"}, r"two to five sentences"),
        ({"desc": "A. B. C. D. E. F."}, r"two to five sentences"),
    ],
)
def test_a_canvas_refuses_what_the_style_forbids(change, message):
    with pytest.raises(ValueError, match=message):
        blank(**change)


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda c: c.text(0, 0, "a", size=14), r"one of the sizes \(12, 13, 15, 16, 22\): got 14\. Use one"),
        (lambda c: c.text(0, 0, "a", anchor="left"), r"start, middle or end: got 'left'\. Use one"),
        (lambda c: c.text(0, 0, "$d_k"), r"come in pairs: got '\$d_k'\. Close the formula"),
        (lambda c: c.text(0, 0, "a", tone="blue"), r"one of ink, muted, .*: got 'blue'\. Name what the shape means"),
        (lambda c: c.box(0, 0, 8, 8, tone="red"), r"got 'red'\. Name what the shape means"),
        (lambda c: c.vector(0, 0, [], "key"), r"at least one value: got none\. Pass an empty text"),
        (lambda c: c.bar(0, 0, 8, 8, 1.2), r"a share from 0 to 1: got 1\.2\. Divide by the whole"),
        (lambda c: c.mask(0, 0, [[True], [True, False]]), r"have one length: got \[1, 2\]\. Pad the short ones"),
        (lambda c: c.mask(0, 0, []), r"have one length: got \[\]"),
        (lambda c: c.arrow((0, 0)), r"two points or more, each apart from the next: got \(\(0, 0\),\)\. Move one"),
        (lambda c: c.arrow((0, 0), (8, 8), (8, 8)), r"two points or more, each apart"),
        (lambda c: c.arrow((0, 0), (0, 6)), r"longer than its head of 7: got 6\. Move it"),
        (lambda c: c.node(0, 0, "-"), r"one of the signs \+, ×, ·, or none: got '-'\."),
    ],
)
def test_a_shape_refuses_what_the_style_forbids(draw, message):
    with pytest.raises(ValueError, match=message):
        draw(blank())


# ---- The site

FIGURE = {"tags": ["remove-input"], "mystnb": {"figure": {"name": "fig-parts", "caption": "Two $d_k$ parts."}}}


ASKED = """
::::{interview-question} Draw both parts.
:name: q-parts
:kind: concept
:level: 1
:topic: attention
:picture: one/page two-parts
:evidence: fig-parts
:::{short}
Two boxes.
:::
:::{full}
Drawn so.
:::
:::{follow-ups}
1. **And?** So.
:::
:::{common-mistake}
Three.
:::
::::
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    @picture
    def two_parts(wide):
        canvas = blank(wide, name="two-parts")
        for part, page in (("here", "one/page"), ("there", "two/page"), ("nowhere", "three/page")):
            with canvas.part(part, part.capitalize(), page):
                canvas.box(0, 0, 40, 40, part)
        return canvas

    data = two_parts()._repr_mimebundle_()
    output = nbformat.v4.new_output("execute_result", data=data, execution_count=1)
    cell = nbformat.v4.new_code_cell("two_parts()", execution_count=1, outputs=[output], metadata=FIGURE)
    pages = {
        "book/index.md": "# Home\n\n```{toctree}\none/page\ntwo/page\ntwo/asked\n```\n\n{numref}`fig-parts`\n\n"
        "```{picture} one/page two-parts\n```\n",
        "book/two/asked.md": f"# Asked\n\n{ASKED}",
        "book/one/page.ipynb": notebook("# One\n", cell),
        "book/two/page.md": "# Two\n",
    }
    book = SmallBook(tmp_path_factory.mktemp("book"), ["pictures", "questions_page"], pages)
    assert book.warnings() == []
    return book


def test_the_site_shows_a_picture_as_a_numbered_figure(site):
    page = site.html("one/page")
    (figure,) = re.findall(r'<figure[^>]*id="fig-parts">.*?</figure>', page, re.DOTALL)
    assert figure.count("<svg") == 2
    assert re.search(r'<div class="[^"]*\bfig-pair\b[^"]*"><svg', figure)
    assert '<span class="caption-number">Fig. 1 </span>' in figure
    assert "two_parts()" not in page
    assert '<a class="reference internal" href="one/page.html#fig-parts">' in site.html("index")


def test_the_site_has_the_rules_once_and_the_words_in_the_drawing(site):
    page = site.html("one/page")
    assert "@container" not in page
    assert "fig-words" not in page
    assert len(re.findall(r'<link[^>]*href="../../_static/picture\.css', page)) == 1
    assert "picture.css" not in site.html("two/page")
    assert (site.folder / "_build/html/_static/picture.css").read_text("utf8") == drawing.SHEET.read_text("utf8")


def test_a_part_is_a_link_to_a_page_that_there_is(site):
    page = site.html("one/page")
    assert re.findall(r'<a href="([^"]*)"><g data-part="(\w+)">', page) == [("../two/page.html", "there")] * 2
    assert "data-page" not in page
    assert page.count('role="group"') == 2
    assert page.count('data-part="nowhere"') == 2


def test_a_page_without_cells_shows_a_picture_of_another_page(site):
    """Its parts are links from where it is shown."""
    home = site.html("index")
    assert home.count("<svg") == 2
    page = site.html("one/page")
    assert page.count("<style") == page.count("<svg") > 0  # for a drawing that is saved alone
    assert all(
        rule.startswith("svg:root") for style in STYLE.findall(page) for rule in re.findall(r"[^{}]+(?={)", style)
    )
    assert "<style" not in home, "the front page has to be light"
    links = [("one/page.html", "here"), ("two/page.html", "there")]
    assert re.findall(r'<a href="([^"]*)"><g data-part="(\w+)">', home) == links * 2
    assert home.count('href="_static/picture.css') + home.count('href="../_static/picture.css') == 1


def test_a_question_shows_its_picture_above_the_answer_on_the_whiteboard(site):
    answer = site.html("two/asked").partition('class="question-full')[2]
    picture, text = answer.split("Drawn so.", 1)
    assert picture.count("<svg") == 2
    assert "<svg" not in text


@pytest.mark.parametrize("wrong", ["one/page two-pars", "two/page two-parts", "one/pag two-parts"])
def test_a_picture_that_the_page_does_not_show_is_refused(tmp_path, wrong):
    cell = nbformat.v4.new_code_cell("None", execution_count=1, outputs=[nbformat.v4.new_output("stream", text="1")])
    pages = {
        "book/index.md": f"# Home\n\n```{{toctree}}\none/page\ntwo/page\n```\n\n```{{picture}} {wrong}\n```\n",
        "book/one/page.ipynb": notebook("# One\n", cell),
        "book/two/page.md": "# Two\n",
    }
    (warning,) = SmallBook(tmp_path, ["pictures"], pages).warnings()
    assert f"a picture on it: got {wrong.split()[0]} and {wrong.split()[1]}." in warning


def test_every_part_of_a_picture_opens_a_page_of_the_book():
    pages = {toc.page(file) for file in toc.files()}
    named = {name: set(re.findall(r'data-page="([^"]*)"', shown.wide.svg())) for name, shown in DRAWN.items()}
    assert {name: found - pages for name, found in named.items() if found - pages} == {}
    assert len(named["transformer_map"]) >= 5


def test_a_drawing_without_a_link_stays_an_image(site):
    assert 'role="img"' in DRAWN["transformer_map"].wide.svg()
    assert 'role="img"' not in site.html("one/page")


def test_the_sheet_is_where_the_site_looks_for_it():
    from companion.book.site import pictures as part

    assert Path(part.SHEET) == drawing.SHEET
