"""The file of the search: what it holds beside the places of the pages, and its form.

``_static/search-data.js`` is a classic script, since a page that was opened from a folder may fetch nothing. It holds

* ``pages``: address, title and chapter of each page,
* ``terms``: the words of each term of ``terms.yml``,
* ``columns``: of each place its kind, the number of its page, anchor, title, the numbers of its terms, text, and the
  follow-ups of a question. For a question, an exercise and a reference its terms are those that lead to it, for others
  those that it is called. An anchor that follows from the title is written as 1 (``anchor_of``),
* ``words``: what the texts leave out, in their order, each as what it adds to the one before, behind a capital for the
  number of letters that it shares with that one, and ``where``: for each of these words the places that have it, each
  as the distance from the one before, in one sign or two (``sign``).

Columns, words that are written once, and these short forms take a quarter less when they are compressed.
"""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator

from pybtex.backends.plaintext import Backend
from pybtex.database import Entry
from pybtex.richtext import Text
from sphinx.environment import BuildEnvironment

from companion.book.citations import names
from companion.book.model import Term
from companion.book.site import source_pages

KINDS = ("page", "section", "term", "question", "exercise", "claim", "formula", "source", "reference")
COLUMNS = ("kind", "page", "anchor", "title", "terms", "text", "asks")
_FOR_INDEX = {"term": "term-", "formula": "formula-"}  # what anchors of a kind begin with
SMALL, BASE, FIRST = 60, 92, "#"  # how many distances have one sign; the signs that there are, and the first
MOST_NAMES = 8  # of the authors of a reference


def modules(env: BuildEnvironment, address: Callable[[str], str]) -> Iterator[tuple[list[str], list[list]]]:
    """Yield each module of the library: its page, and the entries on it."""
    for path in source_pages.modules(env):
        if not path.startswith(source_pages.ABOVE_THE_LIBRARY):
            yield [address(source_pages.page_of(path)), path, ""], in_source(path)


def in_source(path: str) -> list[list]:
    """Make the entries of a module: what it is; of a class or function the name alone, since all pages load them."""
    module = ["", source_pages.dotted(path), [], source_pages.summary(path)[0], [], ""]
    return [module, *([f"line-{line}", name, [], "", [], ""] for name, line in source_pages.definitions(path))]


def sources(env: BuildEnvironment, order: list[str], known: tuple[Term, ...]) -> list[list]:
    """Make the entries of the bibliography, what most pages cite first: title, the terms in it, authors and year."""
    if "cite" not in env.domains:
        return []
    domain, plain = env.get_domain("cite"), Backend()
    in_title = [(number, pattern(term)) for number, term in enumerate(known)]
    cited = Counter(key for _, key in {(ref.docname, to.key) for ref in domain.citation_refs for to in ref.targets})
    made = []
    for one in sorted(domain.citations, key=lambda one: -cited[one.key]):
        entry = domain.bibdata.data.entries[one.key]
        title = Text.from_latex(entry.fields["title"]).render(plain).replace("$", "")  # O(n^2), which the search sets
        terms = [number for number, found in in_title if found.search(title)]
        page = order.index(one.bibliography_key.docname)
        made.append([KINDS.index("reference"), page, one.citation_id, title, terms, told(entry), [], ""])
    return made


def told(entry: Entry) -> str:
    """Name the authors of a source, at most ``MOST_NAMES``, and its year."""
    people = names(entry.persons)
    named = [name for name in people[:MOST_NAMES] if name != "others"]
    return ", ".join([*named, *(["et al."] if len(named) < len(people) else []), entry.fields["year"]])


def pattern(term: Term) -> re.Pattern:
    """Return what finds the names of a term that are more than one word, which a title has for no other reason."""
    long = [
        re.escape(name).replace(r"\ ", "[ -]").replace("isation", "i[sz]ation")
        for name in (term.name, *term.aliases)
        if " " in name
    ]
    return re.compile(rf"\b(?:{'|'.join(long) or '(?!)'})\b", re.IGNORECASE)


def anchor_of(kind: str, title: str) -> str:
    """Return the anchor that Sphinx makes of a title; of a term's, of its first name, with its capitals."""
    named = title.partition(", ")[0] if kind == "term" else title.lower()
    plain = unicodedata.normalize("NFKD", named).encode("ascii", "ignore").decode()
    return _FOR_INDEX.get(kind, "") + re.sub("[^A-Za-z0-9]+", "-", plain).strip("-")


def sign(distance: int) -> str:
    """Write a distance as a sign, or as two where it is not small."""
    first, second = (distance, None) if distance < SMALL else divmod(distance - SMALL, BASE)
    return chr(ord(FIRST) + first) if second is None else chr(ord(FIRST) + SMALL + first) + chr(ord(FIRST) + second)


def front(words: list[str]) -> str:
    """Write sorted words without the beginnings that they share with the ones before: ``mask, masks`` as AmaskEs."""
    made, last = [], ""
    for word in words:
        many = next((n for n, (by, to) in enumerate(zip(last[:25], word, strict=False)) if by != to), len(last[:25]))
        made.append(f"{chr(ord('A') + many)}{word[many:]}")
        last = word
    return "".join(made)


def script(data: dict, entries: list[list]) -> str:
    """Return the script that defines ``bookSearchData``.

    Args:
        data: what it holds beside the entries.
        entries: a value for each of the columns, and behind them the words that the text leaves out.
    """
    places: dict[str, list[int]] = {}
    for number, entry in enumerate(entries):
        for word in entry[-1].split():
            places.setdefault(word, []).append(number)
    words = sorted(places)
    steps = ["".join(sign(to - by) for by, to in zip([0, *places[word]], places[word], strict=False)) for word in words]
    columns = dict(zip(COLUMNS, zip(*entries, strict=True), strict=False))
    columns["anchor"] = [
        1 if anchor and anchor == anchor_of(KINDS[kind], title) else anchor
        for kind, anchor, title in zip(columns["kind"], columns["anchor"], columns["title"], strict=True)
    ]
    packed = {**data, "columns": columns, "words": front(words), "where": " ".join(steps)}
    return f"window.bookSearchData = {json.dumps(packed, ensure_ascii=False, separators=(',', ':'))};\n"
