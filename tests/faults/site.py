"""Faults of the built site, planted in a copy of `_build/html`; the site tests look at that copy (`BOOK_SITE`)."""

import re

from faults import Fault

CHAPTER = "_build/html/book/attention.html"
INDEX = "_build/html/book/index.html"
STYLE = "_build/html/_static/css/book.css"


def pages(test: str) -> tuple[str, ...]:
    return (f"tests/site/test_site.py::test_{test}",)


def browser(test: str) -> tuple[str, ...]:
    return (f"tests/site/test_site_browser.py::test_{test}",)


def without_alternative_text(page: str) -> str:
    return re.sub(r'(<img )alt="[^"]*"', r"\1", page, count=1)


def in_the_article(addition: str) -> tuple[str, str]:
    return "</article>", f"{addition}</article>"


FAULTS = [
    Fault(
        "a page loads a style sheet from a CDN",
        CHAPTER,
        "</head>",
        '<link rel="stylesheet" href="https://cdn.jsdelivr.net/npm/katex/dist/katex.min.css"></head>',
        pages("no_page_loads_anything_from_another_host"),
    ),
    Fault(
        "a page loads a script from a CDN without naming the protocol",
        INDEX,
        "</head>",
        '<script src="//unpkg.com/mermaid"></script></head>',
        pages("no_page_loads_anything_from_another_host"),
    ),
    Fault(
        "a style sheet imports a font from another host",
        STYLE,
        tests=pages("no_style_sheet_loads_anything_from_another_host"),
        edit=lambda text: "@import url(https://fonts.googleapis.com/css2?family=Inter);\n" + text,
    ),
    Fault(
        "an explorer fetches from another host",
        "_build/html/_static/light/SoftmaxExplorer.*.js",
        tests=pages("no_script_of_a_page_asks_another_host"),
        edit=lambda text: text + '\nfetch("https://example.org/count");\n',
    ),
    Fault(
        "an image has no alternative text",
        CHAPTER,
        tests=pages("every_image_has_a_text_that_describes_it"),
        edit=without_alternative_text,
    ),
    Fault(
        "the alternative text of an image is its file name",
        CHAPTER,
        tests=pages("every_image_has_a_text_that_describes_it"),
        edit=lambda text: re.sub(r'(<img )alt="[^"]*"', r'\1alt="../_images/3896f3f1.png"', text, count=1),
    ),
    Fault(
        "a link leads nowhere",
        INDEX,
        *in_the_article('<a href="positional.html">next</a>'),
        pages("every_internal_link_and_anchor_resolves"),
    ),
    Fault(
        "a link leads to an anchor that is not there",
        INDEX,
        *in_the_article('<a href="attention.html#claim-no-such">claim</a>'),
        pages("every_internal_link_and_anchor_resolves"),
    ),
    Fault(
        "a page loads a script that is not there",
        CHAPTER,
        "</head>",
        '<script src="../_static/gone.js"></script></head>',
        pages("every_file_that_a_page_loads_is_there"),
    ),
    Fault(
        "an id stands twice on a page",
        INDEX,
        *in_the_article('<p id="twin"></p><p id="twin"></p>'),
        pages("an_id_stands_once_on_a_page"),
    ),
    Fault(
        "a page has two headings of the first level",
        INDEX,
        *in_the_article("<h1>Again</h1>"),
        pages("every_page_has_a_language_a_title_and_one_heading"),
    ),
    Fault(
        "MathJax is not the published file",
        "_build/html/_static/mathjax/tex-*.js",
        tests=pages("mathjax_is_the_file_that_its_authors_published"),
        edit=lambda text: text + " ",
    ),
    Fault(
        "a chapter weighs a megabyte",
        CHAPTER,
        tests=pages("a_chapter_weighs_less_than_250_kb"),
        edit=lambda text: text.replace(
            "</article>", "".join(f"<!-- {n * n * 7919 % 1000003:x} -->" for n in range(99999)) + "</article>"
        ),
    ),
    Fault(
        "a page writes to the console",
        INDEX,
        *in_the_article("<script>console.warn('left over')</script>"),
        browser("the_console_is_empty"),
    ),
    Fault(
        "a script asks another host when the page is open",
        INDEX,
        *in_the_article("<script>new Image().src = ['https:', '', 'example.org', 'pixel'].join('/')</script>"),
        browser("no_page_asks_another_host"),
    ),
    Fault(
        "text is too pale to read",
        INDEX,
        *in_the_article('<p style="color: #bbb; background: #fff">Pale words that nobody can read.</p>'),
        browser("axe_finds_nothing"),
    ),
    Fault(
        "a page is wider than a phone",
        INDEX,
        *in_the_article('<div style="width: 3000px">wide</div>'),
        browser("no_page_is_wider_than_the_window"),
    ),
    Fault(
        "a figure throws when it is drawn",
        "_build/html/_static/light/AttentionWalk.*.js",
        "const $default = {",
        'throw new Error("broken");\nconst $default = {',
        browser("formulas_are_set_and_explorers_drawn"),
    ),
]
