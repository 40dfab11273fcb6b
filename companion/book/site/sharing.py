"""What a shared link shows, and what a search engine is told: title, description and picture of each page.

The description of a page is its first sentences. Sizes and words of these tags are those of the Open Graph protocol
(https://ogp.me) and of Twitter's cards. A picture, a canonical link, a sitemap and ``robots.txt`` need an absolute
address, so they are there only where the address of the site is known: ``BOOK_ADDRESS`` (``make book ADDRESS=...``),
else ``[project.urls] Homepage`` in pyproject.toml. ``404.html`` works in any folder, since it finds the root itself.

sphinxext-opengraph was looked at: its description holds TeX and code and ends within a sentence, and without an address
it names pages by relative ones.
"""

import json
import os
import re
import tomllib
from collections.abc import Iterable, Iterator
from html import escape, unescape
from pathlib import Path
from urllib.parse import urlsplit

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ConfigError

VARIABLE = "BOOK_ADDRESS"
IMAGE = "img/share.png"  # below the static files; made by scripts/share_image.py
IMAGE_SIZE = (1200, 630)
LONGEST = 200  # characters of a description
_VIEWPORT = re.compile(r'\s*<meta name="viewport"[^>]*>')


def address(root: Path) -> str:
    """Return the site's address with a slash at its end, or an empty text when nobody has said it.

    Args:
        root: the folder with pyproject.toml.

    Raises:
        ConfigError: an address is given but is none.
    """
    given = os.environ.get(VARIABLE, "").strip()
    project = root / "pyproject.toml"
    if not given and project.exists():
        given = tomllib.loads(project.read_text("utf8")).get("project", {}).get("urls", {}).get("Homepage", "").strip()
    parts = urlsplit(given)
    if given and (parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment):
        raise ConfigError(
            f"The site's address begins with https:// and names a host: got {given!r}. "
            f"Correct {VARIABLE}, or [project.urls] Homepage in pyproject.toml."
        )
    return given.rstrip("/") + "/" if given else ""


def description(doctree: nodes.document) -> str:
    """Return the first sentences of a page, at most ``LONGEST`` characters; an empty text where it has none."""
    said = ""
    for paragraph in doctree.findall(nodes.paragraph):
        if not isinstance(paragraph.parent, nodes.section | nodes.document):
            continue  # of a box, a list, a cell
        for sentence in re.split(r"(?<=[.?!]) +(?=[A-Z])", _plain(paragraph)):
            longer = f"{said} {sentence}".strip()
            if len(longer) > LONGEST:
                return said or f"{sentence[: LONGEST - 2].rpartition(' ')[0]} …"
            said = longer
        if len(said) > LONGEST // 2:
            break
    return said


def _plain(paragraph: nodes.paragraph) -> str:
    """Return the words of a paragraph, formulas as they are read."""

    def words(node: nodes.Node) -> Iterator[str]:
        for child in node.children:
            if isinstance(child, nodes.math):
                yield spoken(child.astext())
            elif isinstance(child, nodes.Text):
                yield child.astext()
            elif not isinstance(child, nodes.raw | nodes.image):
                yield from words(child)

    return " ".join("".join(words(paragraph)).split())


def spoken(tex: str) -> str:
    r"""Write a short formula without the signs of TeX: ``\sqrt{d_k}`` is ``√d_k``."""
    text = re.sub(r"\\(?:text|mathrm|operatorname)\{([^}]*)\}", r"\1", tex).replace(r"\sqrt", "√")
    text = re.sub(r"\\d?frac\{([^{}]*)\}\{([^{}]*)\}", r"\1/\2", text.replace(r"\times", "×").replace(r"\cdot", "·"))
    text = text.replace(r"\top", "T").replace(r"\infty", "∞").replace("-", "−").replace(r"\,", " ")
    return re.sub(r"\\[a-zA-Z]+|[{}\\]", "", text)


def set_address(app: Sphinx, config: Config) -> None:
    """Let Sphinx name the canonical address of each page, where the address is known."""
    config.html_baseurl = address(Path(app.confdir))


def add_tags(app: Sphinx, pagename: str, templatename: str, context: dict, doctree: nodes.document | None) -> None:
    """Add the tags of a page to its head, and leave one viewport."""
    context["one_viewport"] = lambda head: _VIEWPORT.sub("", head)
    if doctree is None:
        return
    root, home = app.config.html_baseurl, pagename == app.config.root_doc
    book = app.config.html_title
    title = re.sub(r"<[^>]+>", "", context.get("title") or book)
    title = book if home else f"{title} – {book}"
    about = description(doctree)
    tags = {"name": {"twitter:card": "summary_large_image" if root else "summary"}, "property": {}}
    tags["name"] |= {"description": about} if about else {}
    tags["property"] = {"og:title": title, "og:type": "website" if home else "article", "og:site_name": book}
    tags["property"] |= {"og:description": about} if about else {}
    if root:
        width, height = IMAGE_SIZE
        tags["property"] |= {
            "og:url": root + app.builder.get_target_uri(pagename),
            "og:image": f"{root}_static/{IMAGE}",
            "og:image:width": width,
            "og:image:height": height,
            "og:image:alt": "The map of the Transformer: encoder left, decoder right.",
        }
    lines = [
        f'<meta {kind}="{name}" content="{escape(str(value))}"/>'
        for kind, named in tags.items()
        for name, value in named.items()
    ]
    above = [] if home else [parent["title"] for parent in context.get("parents") or []] + [context["title"]]
    where = root + app.builder.get_target_uri(pagename) if root else ""
    lines.append(f"<style>html {{ {paper([book, *above], where)} }}</style>")
    context["metatags"] = _VIEWPORT.sub("", context.get("metatags") or "") + "\n    " + "\n    ".join(lines)


def paper(titles: Iterable[str], where: str) -> str:
    """Name the book, the chapter and the page, and its address where it is known, for the margins of paper."""
    named = {"head": " · ".join(re.sub(r"<[^>]+>", "", title) for title in titles), "address": where}
    texts = ((name, json.dumps(unescape(text), ensure_ascii=False)) for name, text in named.items() if text)
    return " ".join(f"--book-{name}: {text};" for name, text in texts)


def missing_page(app: Sphinx) -> Iterator[tuple[str, dict, str]]:
    """Make the page for an address that leads nowhere."""
    yield "404", {"base": urlsplit(app.config.html_baseurl).path}, "404.html"


def write_lists(app: Sphinx, error: Exception | None) -> None:
    """Write the sitemap and robots.txt, where the address is known."""
    root = app.config.html_baseurl
    if error or not root or app.builder.format != "html":
        return
    listed = sorted(root + app.builder.get_target_uri(name) for name in app.env.found_docs)
    lines = [f"  <url><loc>{escape(one)}</loc></url>" for one in listed]
    head = '<?xml version="1.0" encoding="utf-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
    Path(app.outdir, "sitemap.xml").write_text("\n".join([head, *lines, "</urlset>", ""]), "utf8")
    Path(app.outdir, "robots.txt").write_text(f"User-agent: *\nAllow: /\nSitemap: {root}sitemap.xml\n", "utf8")


def setup(app: Sphinx) -> dict[str, object]:
    """Register the tags, the page and the lists."""
    app.setup_extension("companion.book.site.theme")
    app.connect("config-inited", set_address)
    app.connect("html-page-context", add_tags)
    app.connect("html-collect-pages", missing_page)
    app.connect("build-finished", write_lists)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
