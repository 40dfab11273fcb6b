"""What stays of a library's style sheet."""

import pytest
from sphinx.errors import ExtensionError

from companion.book.site import lean_styles


def may_be(name):
    return name in {"used", "also"} or name.startswith("made-")


@pytest.mark.parametrize(
    "css",
    [
        ".used{color:red}",
        "p{color:red}",
        "#id>p:hover{color:red}",
        ".used .also::before{color:red}",
        ".made-by-script{color:red}",
        "p:not(.unused){color:red}",
        "@media (width<9px){.used{color:red}}",
        "@font-face{font-family:x}",
        "@keyframes turn{to{rotate:9deg}}",
        ":root{--x:1}",
    ],
)
def test_a_rule_that_may_match_stays(css):
    assert lean_styles.lean(css, may_be) == css


@pytest.mark.parametrize(
    ("css", "left"),
    [
        (".unused{color:red}", ""),
        (".used .unused{color:red}", ""),
        (".used.unused>p{color:red}p{color:red}", "p{color:red}"),
        (".unused,.used{color:red}", ".used{color:red}"),
        ("@media print{.unused{color:red}}", ""),
        ("@media print{@supports (x:y){.unused{color:red}.used{color:red}}}", None),
        ("/* a note */", ""),
    ],
)
def test_what_cannot_match_goes(css, left):
    expected = "@media print{@supports (x:y){.used{color:red}}}" if left is None else left
    assert lean_styles.lean(css, may_be) == expected


def test_names_come_from_pages_and_from_the_words_of_scripts():
    names, beginnings = lean_styles.used_names(
        ['<p class="one two">three</p><script>box.className = "six"</script>'],
        ['box.classList.add("four", `five-${kind}`)'],
    )
    assert {"one", "two", "four", "six"} <= names
    assert "three" not in names
    assert beginnings == ("five-",)


def test_a_style_sheet_that_cannot_be_read_ends_the_build():
    with pytest.raises(ExtensionError, match="a style sheet cannot be read at line 1"):
        lean_styles.lean(".used}", may_be)


CELLS = '<link rel="stylesheet" href="_static/mystnb.1.css?v=2" />'
TABS = '<script src="_static/design-tabs.js"></script>'
DESIGN = '<link rel="stylesheet" href="_static/sphinx-design.min.css?v=2" />'


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        ("<p>words</p>", ""),
        ('<td class="f-cell hidden">1</td>', ""),
        ('<div class="docutils cell">1 + 1</div>', CELLS),
        ('<details class="admonition hide"></details>', CELLS),
        ('<div class="docutils sd-card">words</div>', DESIGN),
        ('<div class="sd-tab-set"></div>', TABS + DESIGN),
    ],
)
def test_a_page_loads_what_belongs_to_cells_tabs_and_cards_only_where_it_has_some(body, kept):
    assert lean_styles.needed(f"{CELLS}\n{TABS}\n{DESIGN}\n{body}").replace("\n", "") == kept + body
