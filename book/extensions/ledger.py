"""The ledger on the site: anchors on the cells that settle a claim, and the page that lists every claim.

The ledger is ``book/claims.yml``. A cell settles a claim by ``check_claim("id", …)`` or ``cite_claim("id", …)``; this
extension finds those calls in the stored notebooks and gives pages

* an anchor and a label ``claim-<id>`` on each such cell, so that ``{ref}`text <claim-id>``` works everywhere,
* the directive ``{ledger-table}``: counts, then every claim with its verdict, its evidence and a link to its cell,
* the role ``{ledger-count}`attention wrong```: the number of entries that have all the words said,
  or ``total`` and ``documents``, the numbers of claims and of documents that the ledger starts from,
* the role ``{verdict}`wrong```: the word as a badge.

It warns, which fails a build with ``-W``, where a call names an unknown claim, and where a claim of a finished chapter
(one whose notebook is in the table of contents) is not settled exactly once.
"""

import ast
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path

import yaml
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole
from sphinx.util.nodes import set_source_info

log = logging.getLogger(__name__)

VERDICTS = {
    "holds": "True as stated.",
    "holds-with-conditions": "True under conditions that the documents leave out, and false without them.",
    "wrong": "False. The entry says what is right.",
    "unsupported": "No evidence is given for it, and none was found.",
    "outdated": "It was true once.",
    "disputed": "The documents, or the sources, contradict each other.",
}
KINDS = ("math", "measurement", "code", "history-fact", "opinion")
_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_MAGIC = re.compile(r"^\s*[%!]")


@dataclass(frozen=True)
class Claim:
    """One entry of the ledger."""

    id: str
    chapter: str
    claim: str
    verdict: str
    kind: str
    documents: int
    evidence: str
    conditions: str = ""
    correct: str = ""
    dropped: str = ""


@dataclass(frozen=True)
class Ledger:
    """The file ``book/claims.yml``: ``total`` claims stand in ``documents`` source documents."""

    total: int
    documents: int
    claims: tuple[Claim, ...]


@dataclass(frozen=True)
class Settlement:
    """A call that settles a claim: in which cell, by which function, and by which source if it cites one."""

    claim_id: str
    function: str
    cell: int
    bibkey: str = ""


def parse_ledger(text: str) -> Ledger:
    """Read a ledger and refuse one whose entries are not complete.

    Raises:
        ValueError: a field is missing, unknown, or not what it must be; the message names the entry.
    """
    data = yaml.safe_load(text)
    if not isinstance(data, dict) or set(data) != {"total", "documents", "claims"}:
        raise ValueError(
            "the ledger is a mapping of total, documents and claims: got something else. See book/claims.yml."
        )
    claims = tuple(_claim(entry, data["documents"]) for entry in data["claims"])
    twice = [claim_id for claim_id, count in Counter(claim.id for claim in claims).items() if count > 1]
    if twice:
        raise ValueError(f"a claim has one entry in the ledger: got two of {', '.join(twice)}. Remove one.")
    if len(claims) > data["total"]:
        raise ValueError(
            f"the ledger has at most total={data['total']} entries: got {len(claims)}. Correct one of them."
        )
    return Ledger(data["total"], data["documents"], claims)


def _claim(entry: dict, documents: int) -> Claim:
    known = {field.name for field in fields(Claim)}
    name = entry.get("id", "?")
    optional = {"conditions", "correct", "dropped"}
    wrong = [f"no field {field}" for field in sorted(known - optional - set(entry))]
    wrong += [f"an unknown field {field}" for field in sorted(set(entry) - known)]
    texts = known - {"documents"}
    wrong += [f"an empty {field}" for field in sorted(texts & set(entry)) if not str(entry[field] or "").strip()]
    if wrong:
        raise ValueError(f"entry {name} of the ledger has {', '.join(wrong)}. CONTRIBUTING.md lists the fields.")
    claim = Claim(**entry)
    if not _ID.fullmatch(claim.id):
        wrong.append(f"id {claim.id!r}, which is not lower-case words joined by hyphens")
    if claim.verdict not in VERDICTS:
        wrong.append(f"verdict {claim.verdict!r}, which is none of {', '.join(VERDICTS)}")
    if claim.kind not in KINDS:
        wrong.append(f"kind {claim.kind!r}, which is none of {', '.join(KINDS)}")
    if type(claim.documents) is not int or not 1 <= claim.documents <= documents:
        wrong.append(f"documents {claim.documents!r}, which is not a number from 1 to {documents}")
    for field, verdicts in (("conditions", ["holds-with-conditions"]), ("correct", ["wrong", "outdated"])):
        if (claim.verdict in verdicts) != bool(getattr(claim, field)):
            needed = "needs" if claim.verdict in verdicts else "has no"
            wrong.append(f"verdict {claim.verdict}, which {needed} {field}")
    if wrong:
        raise ValueError(f"entry {name} of the ledger has {'; '.join(wrong)}.")
    return claim


def read_ledger(path: Path) -> Ledger:
    """Read and check a ledger file."""
    return parse_ledger(path.read_text("utf8"))


def calls(source: str) -> list[ast.Call]:
    """Find the calls of ``check_claim`` and ``cite_claim`` in a cell's source, in order."""
    plain = "\n".join("pass" if _MAGIC.match(line) else line for line in source.splitlines())
    if "_claim" not in plain:
        return []
    found = [node for node in ast.walk(ast.parse(plain)) if isinstance(node, ast.Call)]
    found = [node for node in found if _name(node) in ("check_claim", "cite_claim")]
    return sorted(found, key=lambda node: (node.lineno, node.col_offset))


def _name(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


def argument(call: ast.Call, position: int, name: str) -> ast.expr | None:
    """Return an argument of a call, given by position or by name."""
    if len(call.args) > position:
        return call.args[position]
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def _text(node: ast.expr | None) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def settlements(cells: Iterable[Mapping]) -> list[Settlement]:
    """List what the code cells of a notebook settle; an id that is not a literal text comes back empty."""
    found = []
    for index, cell in enumerate(cells):
        if cell["cell_type"] == "code":
            source = cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])
            for call in calls(source):
                bibkey = _text(argument(call, 1, "bibkey")) if _name(call) == "cite_claim" else ""
                found.append(Settlement(_text(argument(call, 0, "claim_id")), _name(call), index, bibkey))
    return found


def problems(claims: Iterable[Claim], settled: Mapping[str, list[Settlement]]) -> list[str]:
    """Say what is wrong between the ledger and the calls in the finished chapters.

    Args:
        claims: the ledger's entries.
        settled: the settlements of each finished chapter.
    """
    entries = {claim.id: claim for claim in claims}
    places: dict[str, list[str]] = {}
    found = []
    for chapter, items in settled.items():
        for item in items:
            place = f"{chapter}, cell {item.cell}"
            if not item.claim_id:
                found.append(f"{place}: {item.function} takes the claim's id as a literal text")
            elif item.claim_id not in entries:
                found.append(f"{place}: {item.function} names {item.claim_id}, which is not in the ledger")
            places.setdefault(item.claim_id, []).append(place)
    for claim in entries.values():
        where = places.get(claim.id, [])
        if claim.dropped and where:
            found.append(f"{claim.id} is dropped, but settled in {'; '.join(where)}")
        elif len(where) > 1:
            found.append(f"{claim.id} is settled more than once: {'; '.join(where)}")
        elif not where and not claim.dropped and claim.chapter in settled:
            found.append(f"{claim.id} is not settled, though its chapter {claim.chapter} is finished")
    return found


def count(ledger: Ledger, words: str) -> int:
    """Count entries by chapter, verdict or both, or return ``total`` or ``documents``.

    Raises:
        ValueError: a word is none of these.
    """
    if words in ("total", "documents"):
        return getattr(ledger, words)
    matching = list(ledger.claims)
    for word in words.split():
        chapters = {claim.chapter for claim in ledger.claims}
        if word in VERDICTS:
            matching = [claim for claim in matching if claim.verdict == word]
        elif word in chapters:
            matching = [claim for claim in matching if claim.chapter == word]
        elif word != "all":
            raise ValueError(
                f"a count is of all, total, documents, a chapter ({', '.join(sorted(chapters))}) or a verdict "
                f"({', '.join(VERDICTS)}): got {word!r}."
            )
    return len(matching)


# --- Sphinx ----------------------------------------------------------------------------------------------------------


def _ledger(env: BuildEnvironment) -> Ledger:
    """Read the ledger for the page being read, which is read again when the ledger changes."""
    path = Path(env.srcdir, env.config.ledger_file)
    env.note_dependency(str(path))
    return read_ledger(path)


def _notebook(env: BuildEnvironment, docname: str) -> dict | None:
    """Load the notebook behind a page; None for a page that is not a notebook."""
    path = Path(env.doc2path(docname))
    return json.loads(path.read_text("utf8")) if path.suffix == ".ipynb" else None


def mark_cells(app: Sphinx, doctree: nodes.document) -> None:
    """Put an anchor, a label and classes on each cell that settles a claim."""
    env = app.env
    docname = env.docname
    notebook = _notebook(env, docname)
    if notebook is None:
        return
    settled = settlements(notebook["cells"])
    env.ledger_settled[docname] = settled
    if not settled:
        return
    claims = {claim.id: claim for claim in _ledger(env).claims}
    boxes = {box["cell_index"]: box for box in doctree.findall(nodes.container) if box.get("nb_element") == "cell_code"}
    for item in settled:
        claim, box = claims.get(item.claim_id), boxes.get(item.cell)
        if claim is None:
            continue  # reported once all pages are read
        if box is None:
            log.warning("the cell that settles %s is not on the page", claim.id, location=docname, type="ledger")
            continue
        label = f"claim-{claim.id}"
        box["ids"].append(label)
        box["classes"].extend(name for name in ("claim-cell", f"verdict-{claim.verdict}") if name not in box["classes"])
        env.get_domain("std").note_hyperlink_target(label, docname, label, claim.claim)


def check(app: Sphinx, env: BuildEnvironment) -> None:
    """Warn about every disagreement between the ledger and the chapters, on each build."""
    ledger = read_ledger(Path(env.srcdir, env.config.ledger_file))
    settled = {docname.rsplit("/", 1)[-1]: items for docname, items in sorted(env.ledger_settled.items())}
    for problem in problems(ledger.claims, settled):
        log.warning("%s: %s", env.config.ledger_file, problem, type="ledger")


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


class LedgerTable(SphinxDirective):
    """The directive ``{ledger-table}``: counts, then a section a chapter with its claims."""

    def run(self) -> list[nodes.Node]:
        """Return the nodes."""
        ledger = _ledger(self.env)
        self.env.note_dependency(str(Path(self.env.srcdir, "_toc.yml")))
        titles, settled = self._chapters()
        chapters = list(dict.fromkeys(claim.chapter for claim in ledger.claims))
        result = [*self._counts(ledger, chapters, titles)]
        for chapter in chapters:
            title = titles.get(chapter, chapter.replace("-", " ").capitalize())
            section = nodes.section("", ids=[f"ledger-chapter-{chapter}"], names=[])
            heading = nodes.title(title, title)
            set_source_info(self, section)
            set_source_info(self, heading)
            section += heading
            section.extend(
                self._entry(claim, ledger.documents, titles, settled.get(claim.id))
                for claim in ledger.claims
                if claim.chapter == chapter
            )
            result.append(section)
        return result

    def _chapters(self) -> tuple[dict[str, str], dict[str, tuple[str, Settlement]]]:
        """Read titles and settlements from the notebooks of the book, and make this page depend on them."""
        titles, settled = {}, {}
        for docname in sorted(self.env.found_docs):
            notebook = _notebook(self.env, docname)
            if notebook is None:
                continue
            self.env.note_dependency(self.env.doc2path(docname))
            name = docname.rsplit("/", 1)[-1]
            text = "\n".join("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown")
            title = re.search(r"^# (.+)$", text, re.MULTILINE)
            titles[name] = title[1].strip() if title else name
            settled |= {item.claim_id: (name, item) for item in settlements(notebook["cells"])}
        return titles, settled

    def _counts(self, ledger: Ledger, chapters: list[str], titles: Mapping[str, str]) -> list[nodes.Node]:
        """Two tables: what each verdict means and how often it stands, and the verdicts of each chapter."""
        meanings = [["Verdict", "Meaning", "Claims"]]
        meanings += [[f"{{verdict}}`{name}`", text, str(count(ledger, name))] for name, text in VERDICTS.items()]
        rows = [["Chapter", *(f"{{verdict}}`{name}`" for name in VERDICTS), "all"]]
        for chapter in chapters:
            numbers = [str(count(ledger, f"{chapter} {name}")) for name in VERDICTS]
            title = titles.get(chapter, chapter.replace("-", " ").capitalize())
            rows.append([title, *numbers, str(count(ledger, chapter))])
        if len(chapters) > 1:
            rows.append(["All", *(str(count(ledger, name)) for name in VERDICTS), str(len(ledger.claims))])
        return [*self._table(meanings, "ledger-verdicts"), *self._table(rows, "ledger-chapters")]

    def _table(self, rows: list[list[str]], name: str) -> list[nodes.Node]:
        lines = ["```{list-table}", ":header-rows: 1", f":class: ledger-counts {name}", ""]
        for row in rows:
            lines += [f"{'  -' if number else '* -'} {cell}" for number, cell in enumerate(row)]
        box = nodes.container()
        self.state.nested_parse(StringList([*lines, "```"], source=self.get_source_info()[0]), 0, box)
        return box.children

    def _entry(
        self, claim: Claim, documents: int, titles: Mapping[str, str], place: tuple[str, Settlement] | None
    ) -> nodes.container:
        """One claim: what it says, the verdict, where it is settled, what is right, the evidence."""
        label = f"ledger-{claim.id}"
        box = nodes.container(ids=[label], classes=["ledger-entry", f"verdict-{claim.verdict}"])
        self.env.get_domain("std").note_hyperlink_target(label, self.env.docname, label, claim.claim)
        facts = [f"{{verdict}}`{claim.verdict}`", f"in {claim.documents} of {documents} documents"]
        if place:
            chapter, item = place
            source = f"{{cite:t}}`{item.bibkey}`, cited in a" if item.bibkey else ""
            link = f"{{ref}}`cell in {titles[chapter]} <claim-{claim.id}>`"
            facts.append(f"settled by {source} {link}" if source else f"settled by a {link}")
        elif claim.dropped:
            facts.append("not taken up")
        else:
            facts.append("its chapter is not finished")
        box += self._paragraph(claim.claim, "ledger-claim")
        box += self._paragraph(" · ".join(facts), "ledger-facts")
        for word, text in (
            ("Right is", claim.correct),
            ("Conditions", claim.conditions),
            ("Evidence", claim.evidence),
            ("Left out", claim.dropped),
        ):
            if text:
                box += self._paragraph(f"**{word}:** {text}", "ledger-detail")
        return box

    def _paragraph(self, text: str, name: str) -> nodes.paragraph:
        text = " ".join(text.split())
        children, messages = self.state.inline_text(text, self.lineno)
        paragraph = nodes.paragraph(text, "", *children, *messages, classes=[name])
        set_source_info(self, paragraph)
        return paragraph


def _start(app: Sphinx) -> None:
    if not hasattr(app.env, "ledger_settled"):
        app.env.ledger_settled = {}


def _purge(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    env.ledger_settled.pop(docname, None)


def _merge(app: Sphinx, env: BuildEnvironment, docnames: Iterable[str], other: BuildEnvironment) -> None:
    env.ledger_settled.update({name: other.ledger_settled[name] for name in docnames if name in other.ledger_settled})


def setup(app: Sphinx) -> dict[str, object]:
    """Register the directive, the roles and the steps of the build."""
    app.add_config_value("ledger_file", "book/claims.yml", "env", str)
    app.add_directive("ledger-table", LedgerTable)
    app.add_role("ledger-count", CountRole())
    app.add_role("verdict", VerdictRole())
    app.add_css_file("css/ledger.css")
    app.connect("builder-inited", _start)
    app.connect("env-purge-doc", _purge)
    app.connect("env-merge-info", _merge)
    app.connect("doctree-read", mark_cells)
    app.connect("env-updated", check)
    return {"version": "1", "env_version": 1, "parallel_read_safe": True, "parallel_write_safe": True}
