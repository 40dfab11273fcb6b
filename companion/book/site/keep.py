"""How a reader cites the book, keeps the whole site or all that it is made from, and reports an error.

The directive ``{cite-the-book}`` shows BibTeX made from ``CITATION.cff``, so that there is no second copy of it.
``{whole-site}`words``` links to the packed site, and ``{project}`words``` to the packed sources, notebooks and package,
which are written when all pages are. ``{report-error}`words``` links to where errors are reported: it stands inside
``{only} repository``, since without an address there is no such place.
"""

import fnmatch
import re
import zipfile
from pathlib import Path

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective, SphinxRole

from companion.book.site import launch, sharing

FILE = "CITATION.cff"
PACKED = {"whole-site": "", "project": "-project"}  # classes of links, and how the names of their files end
_LINK = re.compile(rf'<a class="[^"]*\b(?:{"|".join(PACKED)})\b[^"]*"[^>]*>(.*?)</a>', re.DOTALL)
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


class PackedFile(SphinxRole):
    """The roles ``{whole-site}`` and ``{project}``."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return a link from the page to a file in the root of the site."""
        address = "../" * self.env.docname.count("/") + packed(self.env.app, self.name)
        return [nodes.reference("", self.text, refuri=address, internal=True, classes=[self.name])], []


class ReportError(SphinxRole):
    """The role ``{report-error}``."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return a link to the list of issues, or the words alone where the repository is not known."""
        repository = launch.repository(Path(self.env.app.confdir))
        if repository is None:
            return [nodes.Text(self.text)], []
        return [nodes.reference("", self.text, refuri=f"{repository}/issues", internal=False)], []


def packed(app: Sphinx, role: str) -> str:
    """Name the file that a role links to."""
    return f"{slug(app.config.html_title)}{PACKED[role]}.zip"


def sources(root: Path, built: Path) -> list[Path]:
    """List the files of a project, without what was built and what ``.gitignore`` names."""
    ignored = root / ".gitignore"
    names = [".git", *(ignored.read_text("utf8").replace("/", "").split() if ignored.exists() else ())]
    files = [path for path in sorted(root.rglob("*")) if path.is_file() and not path.is_relative_to(built)]
    inside = {path: path.relative_to(root).parts for path in files}
    return [path for path in files if not any(fnmatch.fnmatch(one, name) for one in inside[path] for name in names)]


def pack(app: Sphinx, error: Exception | None) -> None:
    """Pack what the front page offers: the built site, in whose copy the words are no links, and the project."""
    front = Path(app.outdir, f"{app.config.root_doc}.html")
    if error or app.builder.format != "html":
        return
    targets = {role: Path(app.outdir, packed(app, role)) for role in PACKED}
    offered = {role for role in PACKED if re.search(rf'<a class="[^"]*\b{role}\b', front.read_text("utf8"))}
    for target in targets.values():
        target.unlink(missing_ok=True)
    if "whole-site" in offered:
        changed = {front: _LINK.sub(r"\1", front.read_text("utf8")).encode("utf8")}
        files = [path for path in sorted(Path(app.outdir).rglob("*")) if path.is_file() and path.name != ".buildinfo"]
        write(targets["whole-site"], Path(app.outdir), files, changed)
    if "project" in offered:
        root = Path(app.confdir)
        write(targets["project"], root, sources(root, Path(app.outdir).parent), {})


def write(target: Path, root: Path, files: list[Path], changed: dict[Path, bytes]) -> None:
    """Write an archive with a folder of its own name; the same files give the same bytes."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in files:
            packed_file = zipfile.ZipInfo(f"{target.stem}/{path.relative_to(root).as_posix()}", _LONG_AGO)
            packed_file.external_attr = (path.stat().st_mode & 0o777) << 16  # scripts stay executable
            archive.writestr(packed_file, changed.get(path) or path.read_bytes(), zipfile.ZIP_DEFLATED)


def setup(app: Sphinx) -> dict[str, object]:
    """Register the directive and the roles, and pack behind ``lean_styles``, which is the last to change a page."""
    app.add_directive("cite-the-book", CiteTheBook)
    for role in PACKED:
        app.add_role(role, PackedFile())
    app.add_role("report-error", ReportError())
    app.connect("build-finished", pack, priority=950)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
