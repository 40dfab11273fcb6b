"""Print a table of the pages of the chapters, and what breaks their rules.

    python -m companion.book.pages [CHAPTER ...]

The breaches are those of the chapters with an index, and of those that are named. Seconds, megabytes and
screens stand in the table where the tests of the notebooks and of the site have left them in ``_build/pages``.
"""

import argparse
import sys
from collections.abc import Iterable

from companion.book import toc
from companion.book.pages import READ, Page, chapter_pages, indexed, read_page, rules

HEAD = ("page", "kind", "words", "cells", "measured", "pictures", "minutes", "seconds", "MB", "screens")


def table(pages: Iterable[Page]) -> list[list[str]]:
    """Write a row for each page, one for each chapter with its sums, and one for all."""
    chapters: dict[str, list[Page]] = {}
    for page in pages:
        chapters.setdefault(toc.chapter(page.name), []).append(page)
    rows = [[*HEAD]]
    for chapter, own in chapters.items():
        rows += map(_row, own)
        rows.append([chapter, "core + deeper", *_sums(own)])
    return [*rows, ["the book", "core + deeper", *_sums([page for own in chapters.values() for page in own])]]


def _row(page: Page) -> list[str]:
    words = str(page.words) if page.kind in (*READ, "questions") else ""
    minutes = str(page.minutes) if page.kind in READ else ""
    ran = [f"{page.ran[key]:.{digits}f}" if key in page.ran else "" for key, digits in rules.MEASURED.items()]
    return [page.name, page.kind, words, str(len(page.code)), str(page.measurements), str(page.pictures), minutes, *ran]


def _sums(pages: Iterable[Page]) -> list[str]:
    core, deeper = rules.core_and_deeper(pages)
    sums = [f"{sum(page.words for page in core)} + {sum(page.words for page in deeper)}", "", "", ""]
    return [*sums, f"{sum(page.minutes for page in core)} + {sum(page.minutes for page in deeper)}", "", "", ""]


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("chapters", nargs="*", metavar="CHAPTER", help="(default: all)")
    named = parser.parse_args(arguments).chapters
    every = [chapter for chapter in toc.chapters() if chapter_pages(chapter)]
    if unknown := sorted(set(named) - set(every)):
        print(f"no pages of {', '.join(unknown)}: the chapters are {', '.join(every)}", file=sys.stderr)
        return 1
    pages = [read_page(name) for chapter in named or every for name in chapter_pages(chapter)]
    rows = table(pages)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = zip(row, widths, ("<", "<", *">>>>>>>>"), strict=True)
        print("  ".join(f"{cell:{side}{width}}" for cell, width, side in cells).rstrip())
    bound = named or indexed()
    found = [f"{page.name}: {one}" for page in pages if toc.chapter(page.name) in bound for one in rules.breaches(page)]
    found += rules.book_breaches(pages) if set(rules.CHAPTERS) <= {*indexed()} and not named else []
    if found:
        print("", *found, sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
