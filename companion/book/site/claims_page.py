"""The ledger on the site: anchors on the cells that settle a claim, and the pages that list claims.

* an anchor and a label ``claim-<id>`` on each such cell, so that ``{ref}`text <claim-id>``` works everywhere; on a
  chapter's page of claims it is the section around the cell that gets them,
* the directive ``{claims-table}``, for a page of claims: the claims of its chapter with verdict, basis and a link,
* the directive ``{ledger-table}``: counts, then every claim with its verdict, its evidence and a link to its cell,
* the role ``{ledger-count}`attention wrong```: the number of entries that have all the words said, ``measured`` too,
  or ``total`` and ``documents``, the numbers of claims and of documents that the ledger starts from,
* the role ``{verdict}`wrong```: the word as a badge.

It warns, which fails a build with ``-W``, where a call names an unknown claim, and where a claim of a finished chapter
(one with a notebook in the table of contents) is not settled exactly once.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole
from sphinx.util.nodes import set_source_info

from companion.book import toc
from companion.book.claims import Ledger, Settlement, count, ledger_files, problems, read_ledger, settled_in
from companion.book.entries import markdown
from companion.book.model import BASES, DOCUMENTS, VERDICTS, Claim
from companion.book.site.html import element, table, target

log = logging.getLogger(__name__)


def _ledger(env: BuildEnvironment) -> Ledger:
    """Read the ledger for the page being read, which is read again when the ledger changes."""
    for path in ledger_files(Path(env.srcdir)).values():
        env.note_dependency(str(path))
    return read_ledger(Path(env.srcdir))


def _notebook(env: BuildEnvironment, docname: str) -> Path | None:
    """Return the notebook behind a page; None for a page that is not a notebook."""
    path = Path(env.doc2path(docname))
    return path if path.suffix == ".ipynb" else None


def mark_cells(app: Sphinx, doctree: nodes.document) -> None:
    """Put an anchor, a label and classes on each cell that settles a claim."""
    env = app.env
    docname = env.docname
    notebook = _notebook(env, docname)
    if notebook is None:
        return
    settled = settled_in(notebook)
    env.ledger_settled[docname] = settled
    if not settled:
        return
    claims = {piece.id: (claim, piece) for claim in _ledger(env).claims for piece in claim.pieces}
    boxes = {box["cell_index"]: box for box in doctree.findall(nodes.container) if box.get("nb_element") == "cell_code"}
    for item in settled:
        if item.claim_id not in claims:
            continue  # reported once all pages are read
        (claim, piece), box = claims[item.claim_id], boxes.get(item.cell)
        if box is None:
            log.warning("the cell that settles %s is not on the page", piece.id, location=docname, type="ledger")
            continue
        box["classes"].extend(name for name in ("claim-cell", f"verdict-{piece.verdict}") if name not in box["classes"])
        place = _section(box) if docname.endswith("/claims") else box
        label = f"claim-{claim.id}"
        if label not in place["ids"]:
            place["ids"].append(label)
            place["verdict"] = place.get("verdict", claim.verdict)  # of the first, whose label leads to the section
            target(env, label, claim.claim)


def tell_verdicts(app: Sphinx, doctree: nodes.document) -> None:
    """Put the verdict behind each claim that a question shows: without it a refuted claim reads as if it held."""
    lists = [box for box in doctree.findall(nodes.bullet_list) if "question-evidence" in box["classes"]]
    links = [to for box in lists for to in box.findall(addnodes.pending_xref) if to["reftarget"].startswith("claim-")]
    verdicts = {f"claim-{claim.id}": claim.verdict for claim in _ledger(app.env).claims} if links else {}
    for to in links:
        if to["reftarget"] in verdicts:  # another is reported as a link that leads nowhere
            to.parent += [nodes.Text(" "), verdict_badge(verdicts[to["reftarget"]])]


def _section(node: nodes.Node) -> nodes.section:
    while not isinstance(node, nodes.section):
        node = node.parent
    return node


def check(app: Sphinx, env: BuildEnvironment) -> None:
    """Warn about every disagreement between the ledger and the chapters, on each build."""
    settled: dict[str, list[Settlement]] = {}
    for docname, items in sorted(env.ledger_settled.items()):
        settled[toc.page(docname)] = items
    for problem in problems(read_ledger(Path(env.srcdir)).claims, settled):
        log.warning("claims: %s", problem, type="ledger")


def verdict_badge(verdict: str) -> nodes.inline:
    """Return the verdict's word, with the classes that give it a sign and a colour."""
    return nodes.inline("", verdict.replace("-", " "), classes=["verdict", f"verdict-{verdict}"])


class VerdictRole(SphinxRole):
    """The role ``{verdict}`wrong```."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the badge."""
        if self.text not in VERDICTS:
            message = self.inliner.reporter.error(f"a verdict is one of {', '.join(VERDICTS)}: got {self.text!r}")
            return [], [message]
        return [verdict_badge(self.text)], []


class CountRole(SphinxRole):
    """The role ``{ledger-count}`attention wrong```."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the number."""
        try:
            return [nodes.Text(str(count(_ledger(self.env), self.text)))], []
        except ValueError as error:
            return [], [self.inliner.reporter.error(str(error))]


class ClaimsTable(SphinxDirective):
    """The directive ``{claims-table}``: the claims of the page's chapter, each with a link to its section."""

    def run(self) -> list[nodes.Node]:
        """Return the nodes."""
        chapter = toc.chapter(self.env.docname)
        rows = [["Claim", "Verdict", "Basis"]]
        rows += [
            [
                f"{{ref}}`{_line(claim.claim)} <claim-{claim.id}>`",
                f"{{verdict}}`{claim.verdict}`",
                ", ".join(claim.bases),
            ]
            for claim in _ledger(self.env).claims
            if claim.chapter == chapter and not claim.dropped
        ]
        return table(self, rows, "claims-table")


class LedgerTable(SphinxDirective):
    """The directive ``{ledger-table}``: counts, then a section a chapter with its claims."""

    def run(self) -> list[nodes.Node]:
        """Return the nodes."""
        ledger = _ledger(self.env)
        self.env.note_dependency(str(Path(self.env.srcdir, "_toc.yml")))
        titles, settled = self._chapters()
        chapters = list(dict.fromkeys(claim.chapter for claim in ledger.claims))
        result = [*self._counts(ledger, chapters, titles), element("div", "ledger-filter")]
        for chapter in chapters:
            title = titles.get(chapter, chapter.replace("-", " ").capitalize())
            section = nodes.section("", ids=[f"ledger-chapter-{chapter}"], names=[])
            heading = nodes.title(title, title)
            set_source_info(self, section)
            set_source_info(self, heading)
            section += heading
            section.extend(
                self._entry(claim, title, [settled[piece.id] for piece in claim.pieces if piece.id in settled])
                for claim in ledger.claims
                if claim.chapter == chapter
            )
            result.append(section)
        return result

    def _chapters(self) -> tuple[dict[str, str], dict[str, Settlement]]:
        """Read titles and settlements from the notebooks of the book, and make this page depend on them."""
        titles, settled = {}, {}
        for docname in sorted(self.env.found_docs, key=lambda name: (not name.endswith("/index"), name)):
            notebook = _notebook(self.env, docname)
            if notebook is None:
                continue
            self.env.note_dependency(self.env.doc2path(docname))
            name = toc.chapter(docname)
            title = re.search(r"^# (.+)$", markdown(notebook), re.MULTILINE)
            titles.setdefault(name, title[1].strip() if title else name)
            settled |= {item.claim_id: item for item in settled_in(notebook)}
        return titles, settled

    def _counts(self, ledger: Ledger, chapters: list[str], titles: Mapping[str, str]) -> list[nodes.Node]:
        """Three tables: verdicts and bases with their meaning, the verdicts of each chapter; and who has no claims."""
        meanings = [["Verdict", "Meaning", "Claims"]]
        meanings += [[f"{{verdict}}`{name}`", text, str(count(ledger, name))] for name, text in VERDICTS.items()]
        bases = [["Basis", "Meaning", "Claims, each by the strongest of its parts"]]
        bases += [[name, text, str(count(ledger, name))] for name, text in BASES.items()]
        rows = [["Chapter", *(f"{{verdict}}`{name}`" for name in VERDICTS), "all"]]
        for chapter in chapters:
            numbers = [str(count(ledger, f"{chapter} {name}")) for name in VERDICTS]
            title = titles.get(chapter, chapter.replace("-", " ").capitalize())
            rows.append([title, *numbers, str(count(ledger, chapter))])
        if len(chapters) > 1:
            rows.append(["All", *(str(count(ledger, name)) for name in VERDICTS), str(count(ledger, "all"))])
        every = dict.fromkeys(map(toc.chapter, toc.files(Path(self.env.srcdir), "Chapters")))
        without = [titles[name] for name in every if name not in chapters and name in titles]
        return [
            *table(self, meanings, "ledger-counts ledger-verdicts"),
            *table(self, bases, "ledger-counts ledger-bases"),
            *table(self, rows, "ledger-counts ledger-chapters listed"),
            *(
                [self._paragraph(f"Chapters without a claim: {', '.join(without)}.", "ledger-without")]
                if without
                else []
            ),
        ]

    def _entry(self, claim: Claim, title: str, settled: list[Settlement]) -> nodes.container:
        """One claim: what it says, the verdict, where it is settled, its parts, what is right, the evidence."""
        label, bases = f"ledger-{claim.id}", [f"basis-{name}" for name in claim.bases]
        box = nodes.container(ids=[label], classes=["ledger-entry", f"verdict-{claim.verdict}", *bases])
        target(self.env, label, claim.claim)
        facts = [f"{{verdict}}`{claim.verdict}`", *claim.bases, f"in {claim.documents} of {DOCUMENTS} documents"]
        if settled:
            sources = " and ".join(dict.fromkeys(f"{{cite:t}}`{item.bibkey}`" for item in settled if item.bibkey))
            link = f"{{ref}}`cell in {title} <claim-{claim.id}>`"
            cited = all(item.bibkey for item in settled)
            facts.append(f"settled by {sources}, cited in a {link}" if cited else f"settled by a {link}")
        else:
            facts.append("not taken up" if claim.dropped else "its chapter is not finished")
        box += self._paragraph(claim.claim, "ledger-claim")
        box += self._paragraph(" · ".join(facts), "ledger-facts")
        for part in claim.parts:
            box += self._paragraph(f"{part.claim} {{verdict}}`{part.verdict}` · {part.basis}", "ledger-part")
        given = {"Right is": claim.correct, "Conditions": claim.conditions, "Left out": claim.dropped}
        box.extend(self._paragraph(f"**{word}:** {text}", "ledger-detail") for word, text in given.items() if text)
        box += self._paragraph(f"**Evidence:** {claim.evidence}", "ledger-detail")
        return box

    def _paragraph(self, text: str, name: str) -> nodes.paragraph:
        text = _line(text)
        children, messages = self.state.inline_text(text, self.lineno)
        paragraph = nodes.paragraph(text, "", *children, *messages, classes=[name])
        set_source_info(self, paragraph)
        return paragraph


def _line(text: str) -> str:
    return " ".join(text.split())


def _start(app: Sphinx) -> None:
    if not hasattr(app.env, "ledger_settled"):
        app.env.ledger_settled = {}


def _purge(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    env.ledger_settled.pop(docname, None)


def _merge(app: Sphinx, env: BuildEnvironment, docnames: Iterable[str], other: BuildEnvironment) -> None:
    env.ledger_settled.update({name: other.ledger_settled[name] for name in docnames if name in other.ledger_settled})


def setup(app: Sphinx) -> dict[str, object]:
    """Register the directive, the roles and the steps of the build."""
    app.add_directive("claims-table", ClaimsTable)
    app.add_directive("ledger-table", LedgerTable)
    app.add_role("ledger-count", CountRole())
    app.add_role("verdict", VerdictRole())
    app.add_css_file("css/ledger.css")
    app.connect("builder-inited", _start)
    app.connect("env-purge-doc", _purge)
    app.connect("env-merge-info", _merge)
    app.connect("doctree-read", mark_cells)
    app.connect("doctree-read", tell_verdicts)
    app.connect("env-updated", check)
    return {"version": "1", "env_version": 1, "parallel_read_safe": True, "parallel_write_safe": True}
