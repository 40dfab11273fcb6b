"""Two sources that a reader would see under one name have a letter after the year, as in "Liu et al. [2020a]"."""

from sphinx.application import Sphinx

from companion.book.citations import tell_apart


def on_start(app: Sphinx) -> None:
    """Tell the sources apart before any page cites them."""
    tell_apart(app.env.get_domain("cite").bibdata.data.entries)


def setup(app: Sphinx) -> dict[str, object]:
    """Register with Sphinx."""
    app.connect("builder-inited", on_start)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
