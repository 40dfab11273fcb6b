"""Show explorers (anywidget figures) on the built page without a kernel, require.js or another host.

MyST-NB leaves two things behind after it has read a notebook: a raw ``<script type="...widget-view+json">`` for each
output, and the state of all widgets among the page's script files. This extension replaces the first by a ``<div>``
that holds the figure's own values, drops the second, and writes the JavaScript of each explorer class once to
``_static/light/``. Scripts are classic and deferred, because browsers block module files on ``file://``.

What the page could not show is a warning, so that a build with ``-W`` fails: a plain ipywidget, a view whose state was
not stored, JavaScript with imports, and values that are not finite.
"""

import hashlib
import json
import math
import re
from collections.abc import Iterable
from html import escape
from pathlib import Path

from docutils import nodes
from myst_nb.sphinx_ import NbMetadataCollector
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

from companion.book import toc

VIEW = "application/vnd.jupyter.widget-view+json"
MOUNT = toc.CHECKOUT / "companion" / "explorers" / "mount.js"
FOLDER = "light"  # below _static
_LEFT_OUT = {"layout", "tabbable", "tooltip"}
_WORDS_FOR_NUMBERS = {"NaN", "Infinity", "-Infinity"}  # how a kernel stores them
_DEFAULT = re.compile(r"^export\s+default\s+", re.MULTILINE)
_NAMED = re.compile(r"^export\s+(?=(?:async\s+)?function\b|const\b|let\b|class\b)", re.MULTILINE)
_MODULE = re.compile(r"^\s*(?:import\b(?!\s*[(.])|export\b)|\bimport\s*\(", re.MULTILINE)

log = logging.getLogger(__name__)


class Unshowable(ValueError):
    """A widget that the built page cannot show; the message says why and what to do."""


def classic(esm: str, css: str, key: str) -> str:
    """Turn an ES module with one ``export default`` into a script that registers itself with the mount script."""
    body, found = _DEFAULT.subn("const $default = ", _NAMED.sub("", esm))
    if found != 1 or _MODULE.search(body):
        raise Unshowable(
            "its JavaScript needs exactly one `export default`, no imports and no export lists: "
            "put shared code into companion/explorers/shared.js"
        )
    head = f"LightWidgets.define({json.dumps(key)}, {json.dumps(css)}, function () {{"
    return f'{head} "use strict";\n{body.rstrip()}\nreturn $default;\n}});\n'


def not_finite(value: object, path: str = "") -> str | None:
    """Name the first entry that is NaN or infinite, as a number or as the word that a kernel stores for it."""
    if isinstance(value, dict):
        found = (not_finite(v, f"{path}.{k}" if path else str(k)) for k, v in value.items())
    elif isinstance(value, list):
        found = (not_finite(v, f"{path}[{i}]") for i, v in enumerate(value))
    else:
        bad = (
            value in _WORDS_FOR_NUMBERS
            if isinstance(value, str)
            else not (not isinstance(value, float) or math.isfinite(value))
        )
        return path if bad else None
    return next((name for name in found if name), None)


def figure(entry: dict, model_id: str) -> tuple[str, str, str]:
    """Make of a stored widget its key, its script and its place on the page.

    Raises:
        Unshowable: it is not an explorer, or its code or its values do not work on a static page.
    """
    state = entry.get("state")
    if state is None:
        raise Unshowable("the notebook holds no state for it: run `make notebooks`")
    if "_esm" not in state:
        name = entry.get("model_name", "a widget")
        raise Unshowable(
            f"{name} is a plain ipywidget, which is dead without a kernel: make it an explorer, or a live lab cell "
            "whose output the page leaves out"
        )
    name = state.get("_anywidget_id", "Explorer").rsplit(".", 1)[-1]
    values = {k: v for k, v in state.items() if not k.startswith("_") and k not in _LEFT_OUT}
    bad = not_finite(values)
    if bad:
        raise Unshowable(f"{name} stores a value that is not finite at {bad}: pass null and the mask instead")
    if str(values.get("file", [""])[0]).startswith("own."):
        raise Unshowable(
            f"{name} opens a model that only its notebook has: make it a live lab, whose output the page leaves out"
        )
    esm, css = state["_esm"], state.get("_css", "")
    key = f"{name}.{hashlib.sha256((esm + chr(0) + css).encode()).hexdigest()[:8]}"
    try:
        script = classic(esm, css, key)
    except Unshowable as error:
        raise Unshowable(f"{name}: {error}") from None
    stored = {"values": values, "buffers": entry.get("buffers", [])}
    data = json.dumps(stored, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    label = escape(f"Interactive figure: {values.get('label') or name}", quote=True)
    room = ' style="--room: {}px; --narrow-room: {}px"'.format(*values["room"]) if "room" in values else ""
    place = (
        f'<div class="light-widget" role="figure" aria-label="{label}" data-widget="{key}"{room} '
        f'data-model="{model_id}">'
        f'<script type="application/json">{data}</script>'
        f"<noscript><p>{label}. It needs JavaScript, which is switched off here; the text and the other outputs do "
        "not.</p></noscript></div>"
    )
    return key, script, place


def on_read(app: Sphinx, doctree: nodes.document) -> None:
    """Replace every widget view of a page, and register the scripts that its figures need."""
    env, doc = app.env, app.env.docname
    env.static_explorers.pop(doc, None)
    views = [box for box in doctree.findall(nodes.container) if box.get("mime_type") == VIEW and box.children]
    files = NbMetadataCollector.get_js_files(env, doc)
    stored = files.get("ipywidgets_state")
    for name in [name for name in files if name.startswith("ipywidgets_")]:
        del files[name]
    if not views:
        return
    state = json.loads(stored[1]["body"])["state"] if stored else {}
    files["explorer_mount"] = (f"{FOLDER}/mount.js", {"defer": "defer"})
    for box in views:
        raw = box.children[0]
        model_id = json.loads(re.search(r">(.*)</script>", raw.astext(), re.DOTALL)[1])["model_id"]
        try:
            key, script, place = figure(state.get(model_id, {}), model_id)
        except Unshowable as error:
            log.warning("figure left out: %s", error, location=(doc, box.line), type="static_explorers")
            box.children = []  # MyST-NB then drops this output
            continue
        env.static_explorers.setdefault(doc, {})[key] = script
        files[f"explorer_{key}"] = (f"{FOLDER}/{key}.js", {"defer": "defer"})
        node = nodes.raw("", place, format="html")
        node.parent = box
        box.children = [node]


def on_updated(app: Sphinx, env: BuildEnvironment) -> None:
    """Write the scripts of all pages, and remove those that no page uses any more."""
    if app.builder.format != "html":
        return
    folder = Path(app.outdir, "_static", FOLDER)
    wanted = {f"{key}.js": script for scripts in env.static_explorers.values() for key, script in scripts.items()}
    if wanted:
        wanted["mount.js"] = MOUNT.read_text("utf8")
        folder.mkdir(parents=True, exist_ok=True)
    if folder.is_dir():
        for old in folder.iterdir():
            if old.name not in wanted:
                old.unlink()
    for name, text in wanted.items():
        (folder / name).write_text(text, "utf8")


def setup(app: Sphinx) -> dict[str, object]:
    """Register with Sphinx."""

    def start(app: Sphinx) -> None:
        if not hasattr(app.env, "static_explorers"):
            app.env.static_explorers = {}

    def merge(app: Sphinx, env: BuildEnvironment, docs: Iterable[str], other: BuildEnvironment) -> None:
        env.static_explorers.update({doc: other.static_explorers[doc] for doc in docs if doc in other.static_explorers})

    app.connect("builder-inited", start)
    app.connect("env-purge-doc", lambda app, env, doc: env.static_explorers.pop(doc, None))
    app.connect("env-merge-info", merge)
    app.connect("doctree-read", on_read)
    app.connect("env-updated", on_updated)
    return {"version": "1", "env_version": 3, "parallel_read_safe": True, "parallel_write_safe": True}
