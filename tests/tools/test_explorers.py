"""Every explorer without a browser: what all have in common, and what the static page refuses.

Those tried here are the ones that ``tests/chapters/CHAPTER/explorers_in_browser.py`` makes, one of each class.
"""

import functools
import inspect
import json
import math
import pydoc
import re
from pathlib import Path

import pytest

from companion.book.site import explorers as static_explorers
from companion.explorers import base, explorers
from tests.site.checks import MODULES

SHARED = Path(base.__file__).parent
each = pytest.mark.parametrize(
    ("place", "name"), [(place, name) for place, module in MODULES.items() for name in module.CHECKS]
)


@functools.cache
def made(place, again=0):
    """One explorer of each class of a chapter, by the name of its class."""
    return {type(explorer).__name__: explorer for explorer in MODULES[place].made()}


@pytest.fixture
def explorer(place, name):
    return made(place)[name]


def test_a_cell_that_shows_an_explorer_can_be_copied():
    """The import of ``explorers`` stands in this cell or in one above it that the page shows."""
    tried, lost = 0, []
    for path in sorted((SHARED.parents[1] / "book").glob("*/*.ipynb")):
        cells = [cell for cell in json.loads(path.read_text("utf8"))["cells"] if cell["cell_type"] == "code"]
        tagged = [({*cell["metadata"].get("tags", [])}, "".join(cell["source"])) for cell in cells]
        shown = [source for tags, source in tagged if not tags & {"remove-cell", "remove-input", "live-lab"}]
        uses = [place for place, source in enumerate(shown) if re.search(r"^explorers\.[A-Z]", source, re.MULTILINE)]
        tried += len(uses)
        if uses and not any("from companion import explorers\n" in source for source in shown[: uses[0] + 1]):
            lost.append(path.name)
    assert tried > 20
    assert lost == []


def test_every_explorer_of_the_package_is_tried_here():
    assert {name for module in MODULES.values() for name in module.CHECKS} == set(explorers())


@each
def test_a_repr_has_sizes_and_no_address_and_stays_the_same(place, name):
    first, second = made(place)[name], made(place, again=1)[name]
    assert first is not second
    assert repr(first) == repr(second)
    assert re.fullmatch(r"\w+\([\w =,:]*\)", repr(first))


@each
def test_an_explorer_holds_the_shared_helpers_and_its_own_files(explorer):
    cls = type(explorer)
    folder = Path(inspect.getfile(cls)).parent
    names = [cls._js] if isinstance(cls._js, str) else cls._js
    homes = [folder if (folder / name).exists() else SHARED for name in names]  # arithmetic that chapters share
    own = [(home / name).read_text("utf8") for home, name in zip(homes, names, strict=True)]
    whole = "\n".join([(SHARED / "shared.js").read_text("utf8"), *own])
    if isinstance(explorer, base.ModelExplorer):  # without its comments
        whole = "".join(line for line in whole.splitlines(keepends=True) if not line.lstrip().startswith("//"))
    assert explorer._esm == whole
    sheets = [folder / cls._sheet] if cls._sheet else [home / name for home, name in zip(homes, names, strict=True)]
    sheets = [sheet.with_suffix(".css") for sheet in sheets]
    styles = [sheet.read_text("utf8") for sheet in (SHARED / "explorer.css", *sheets) if sheet.exists()]
    assert explorer._css == "\n".join(styles)
    shared = bool({"opened.js", "steps.js"} & {*names})  # those with a style that chapters share
    assert len(styles) == 1 + bool(cls._sheet) + shared + (folder / f"{Path(names[-1]).stem}.css").exists()


def test_a_style_of_its_own_follows_the_shared_one(tmp_path):
    shared = (SHARED / "explorer.css").read_text("utf8")
    assert base._style(tmp_path / "mine.css") == shared
    (tmp_path / "mine.css").write_text(".ex-mine {}", "utf8")
    assert base._style(tmp_path / "mine.css") == shared + "\n.ex-mine {}"


@each
def test_a_script_has_one_default_export_no_import_and_no_html_from_data(explorer):
    script = explorer._esm
    assert len(re.findall(r"^export\b", script, re.MULTILINE)) == 1
    assert script.rstrip().endswith("export default { render };")
    assert not re.search(r"\bimport\b\s*[({\"'*]|^import\b", script, re.MULTILINE)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", script)


@each
def test_an_explorer_becomes_a_figure_of_the_static_page(explorer):
    key, script, place = static_explorers.figure({"state": json.loads(json.dumps(explorer.get_state()))}, "0")
    assert key.startswith(f"{type(explorer).__name__}.")
    assert script.startswith("LightWidgets.define(")
    assert f'aria-label="Interactive figure: {explorer.label}"' in place


@each
def test_the_numbers_of_a_figure_do_not_change_once_it_is_made(explorer):
    fixed = [name for name, trait in explorer.traits().items() if getattr(trait, "fixed", False)]
    assert fixed
    for name in fixed:
        with pytest.raises(ValueError, match=f"{name} is fixed when the figure is made.*Make a new"):
            setattr(explorer, name, getattr(explorer, name))


@each
def test_the_signature_and_the_docstring_have_each_argument_with_its_default(explorer):
    cls = type(explorer).__mro__[1]  # anywidget gives each explorer a class of its own
    arguments = inspect.signature(cls).parameters
    moved = {trait: value for trait, value in explorer.traits().items() if hasattr(value, "fixed") and not value.fixed}
    assert set(moved) <= set(arguments)
    documented = re.split("\n\n|$", cls.__doc__.split("\nArgs:\n")[1])[0]
    assert re.findall(r"^    (\w+): ", documented, re.MULTILINE) == list(arguments)
    said = pydoc.render_doc(cls, renderer=pydoc.plaintext)
    for argument, trait in moved.items():
        shown = arguments[argument]
        assert shown.kind is shown.KEYWORD_ONLY or trait.help == ""
        if trait.help:
            assert shown.default == trait.default_value
            assert f"{argument}: {type(shown.default).__name__} = {shown.default!r}" in said
            assert trait.help in " ".join(said.replace("|", " ").split())


@each
def test_an_argument_that_an_explorer_does_not_have_is_refused(explorer):
    cls = type(explorer).__mro__[1]
    fixed = next(name for name, trait in explorer.traits().items() if getattr(trait, "fixed", False))
    needed = {name: None for name, one in inspect.signature(cls).parameters.items() if one.default is one.empty}
    for name in {"colour", "layout", "comm", fixed} - set(inspect.signature(cls).parameters):
        with pytest.raises(TypeError, match=rf"{cls.__name__}: got an unexpected.*'{name}'. It takes .*label"):
            cls(**needed, **{name: 1})


@each
def test_a_title_is_text(explorer):
    with pytest.raises(ValueError, match=r"label is the figure's title: got 3\. Write it in quotes"):
        explorer.label = 3


@each
def test_an_explorer_stays_small_on_the_page(explorer):
    assert len(json.dumps(explorer.get_state())) < 100_000


# ---- What the static page refuses


def state(**changes):
    script = "const x = 1;\nexport default { render() {} };\n"
    return {"state": {"_esm": script, "_anywidget_id": "companion.explorers.Demo", "label": "a < b"} | changes}


def test_a_figure_carries_its_values_escaped_and_works_as_a_classic_script():
    key, script, place = static_explorers.figure(state(note="</script>", _css="p {}"), "0a")
    assert re.fullmatch(r"Demo\.[0-9a-f]{8}", key)
    assert "export" not in script
    assert "const $default = { render() {} };" in script
    assert script.rstrip().endswith("return $default;\n});")
    assert json.loads(re.search(r"json\">(.*?)</script>", place)[1])["values"] == {
        "label": "a < b",
        "note": "</script>",
    }
    assert 'role="figure" aria-label="Interactive figure: a &lt; b"' in place
    assert "<noscript>" in place


def test_a_figure_that_says_how_high_it_will_be_gets_its_room():
    _, _, place = static_explorers.figure(state(room=[391, 607]), "0")
    assert ' style="--room: 391px; --narrow-room: 607px" ' in place
    assert "style" not in static_explorers.figure(state(), "0")[2]


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ({"model_name": "IntSliderModel", "state": {"value": 1}}, "IntSliderModel is a plain ipywidget.*live lab cell"),
        (state(file=["own.1a2b", "20 kB"]), "Demo opens a model that only its notebook has: make it a live lab"),
        ({}, "the notebook holds no state for it: run `make notebooks`"),
        (state(x=[[0.5, math.nan]]), r"not finite at x\[0\]\[1\]: pass null and the mask"),
        (state(x={"a": ["-Infinity"]}), r"not finite at x\.a\[0\]"),
        (state(x="NaN"), "not finite at x:"),
        (state(_esm="import a from 'b';\nexport default {};"), "Demo: its JavaScript needs exactly one.*no imports"),
        (state(_esm="const a = await import('b');\nexport default {};"), "no imports"),
        (state(_esm="export * from 'b';\nexport default {};"), "no imports and no export lists"),
        (state(_esm="const a = 1;"), "exactly one `export default`"),
        (state(_esm="export default {};\nexport default {};"), "exactly one `export default`"),
    ],
)
def test_what_would_be_dead_on_the_page_is_refused(entry, why):
    with pytest.raises(static_explorers.Unshowable, match=why):
        static_explorers.figure(entry, "0")


def test_masked_entries_and_ordinary_words_pass():
    _, _, place = static_explorers.figure(state(x=[None, 0.5, True, "Nan", "nan bread"], y={"z": 3}), "0")
    assert '"x":[null,0.5,true,"Nan","nan bread"]' in place


@pytest.mark.usefixtures("shape_checks_off")  # the application here is not one of Sphinx
def test_a_page_without_a_figure_leaves_no_script_of_an_earlier_build(tmp_path):
    class App:
        builder = type("Builder", (), {"format": "html"})
        outdir = tmp_path

    environment = type("Environment", (), {"static_explorers": {"page": {"Demo.1": "// one", "Demo.2": "// two"}}})
    static_explorers.on_updated(App, environment)
    folder = tmp_path / "_static" / "light"
    assert sorted(path.name for path in folder.iterdir()) == ["Demo.1.js", "Demo.2.js", "mount.js"]
    environment.static_explorers = {"page": {"Demo.2": "// two"}}
    static_explorers.on_updated(App, environment)
    assert sorted(path.name for path in folder.iterdir()) == ["Demo.2.js", "mount.js"]
    environment.static_explorers = {}
    static_explorers.on_updated(App, environment)
    assert list(folder.iterdir()) == []
