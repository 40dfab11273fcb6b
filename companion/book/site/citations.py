"""Two sources that a reader would see under one name have a letter after the year, as in "Liu et al. [2020a]"."""

from pybtex.backends.plaintext import Backend
from pybtex.plugin import register_plugin
from sphinx.application import Sphinx

from companion.book.citations import tell_apart


def on_start(app: Sphinx) -> None:
    """Tell the sources apart before any page cites them."""
    tell_apart(app.env.get_domain("cite").bibdata.data.entries)


def setup(app: Sphinx) -> dict[str, object]:
    """Register with Sphinx."""
    # Known by name, it isn't looked for in all installed packages at each citation: a seventh of the time of a build.
    register_plugin("pybtex.backends", "plaintext", Backend, force=True)
    app.connect("builder-inited", on_start)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
