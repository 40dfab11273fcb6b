"""How a reader cites the book, keeps the whole site, and reports an error.

The directive ``{cite-the-book}`` shows BibTeX made from ``CITATION.cff``, so that there is no second copy of it.
``{whole-site}`words``` links to the packed site, which is written when all pages are, and ``{report-error}`words``` to
where errors are reported: it stands inside ``{only} repository``, since without an address there is no such place.
"""

import re
import zipfile
from pathlib import Path

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective, SphinxRole

from companion.book.site import launch, sharing

FILE = "CITATION.cff"
LINK = "whole-site"  # the class of the link to the packed site
_LINK = re.compile(rf'<a class="[^"]*\b{LINK}\b[^"]*"[^>]*>(.*?)</a>', re.DOTALL)
_LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the date of every packed file: the same pages give the same bytes


def slug(title: str) -> str:
    """Turn a title into a name of a file: "Transformers, tested" is ``transformers-tested``."""
    return "-".join(re.findall(r"[a-z0-9]+", title.lower()))


def bibtex(citation: dict, year: str, url: str = "") -> str:
    """Write an entry of BibTeX.

    Args:
        citation: what ``CITATION.cff`` says.
        year: of a book without ``date-released``.
        url: of the book; one in the file comes first.

    Returns:
        The entry.
    """
    authors = [
        f"{{{one['name']}}}" if "name" in one else f"{one['family-names']}, {one['given-names']}"
        for one in citation["authors"]
    ]
    fields = {
        "title": f"{{{citation['title']}}}",
        "author": " and ".join(authors),
        "year": str(citation.get("date-released", year))[:4],
        "note": f"Version {citation['version']}",
        "url": citation.get("url") or url,
    }
    lines = [f"  {name} = {{{words}}}," for name, words in fields.items() if words]
    return "\n".join([f"@misc{{{slug(citation['title'])},", *lines, "}"])


class CiteTheBook(SphinxDirective):
    """The directive ``{cite-the-book}``, without options or content."""

    def run(self) -> list[nodes.Node]:
        """Return the entry as a block of code, which has a button that copies it."""
        path = Path(self.env.srcdir, FILE)
        self.env.note_dependency(str(path))
        root = Path(self.env.app.confdir)
        found = re.search(r"\d{4}", self.config.copyright)
        url = sharing.address(root) or launch.repository(root) or ""
        entry = bibtex(yaml.safe_load(path.read_text("utf8")), found[0] if found else "", url)
        return [nodes.literal_block(entry, entry, language="bibtex")]


class WholeSite(SphinxRole):
    """The role ``{whole-site}``."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return a link from the page to the root of the site."""
        address = "../" * self.env.docname.count("/") + packed(self.env.app)
        return [nodes.reference("", self.text, refuri=address, internal=True, classes=[LINK])], []


class ReportError(SphinxRole):
    """The role ``{report-error}``."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return a link to the list of issues, or the words alone where the repository is not known."""
        repository = launch.repository(Path(self.env.app.confdir))
        if repository is None:
            return [nodes.Text(self.text)], []
        return [nodes.reference("", self.text, refuri=f"{repository}/issues", internal=False)], []


def packed(app: Sphinx) -> str:
    """Name the packed site."""
    return f"{slug(app.config.html_title)}.zip"


def pack(app: Sphinx, error: Exception | None) -> None:
    """Pack the built site if its front page offers that; in the copy its words are no link."""
    front = Path(app.outdir, f"{app.config.root_doc}.html")
    if error or app.builder.format != "html" or not _LINK.search(front.read_text("utf8")):
        return
    target = Path(app.outdir, packed(app))
    target.unlink(missing_ok=True)
    files = [path for path in sorted(Path(app.outdir).rglob("*")) if path.is_file() and path.name != ".buildinfo"]
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in files:
            content = path.read_bytes()
            if path == front:
                content = _LINK.sub(r"\1", content.decode("utf8")).encode("utf8")
            name = f"{target.stem}/{path.relative_to(app.outdir).as_posix()}"
            archive.writestr(zipfile.ZipInfo(name, _LONG_AGO), content, zipfile.ZIP_DEFLATED)


def setup(app: Sphinx) -> dict[str, object]:
    """Register the directive and the roles, and pack behind ``lean_styles``, which is the last to change a page."""
    app.add_directive("cite-the-book", CiteTheBook)
    app.add_role("whole-site", WholeSite())
    app.add_role("report-error", ReportError())
    app.connect("build-finished", pack, priority=950)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
