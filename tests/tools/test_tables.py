"""Tables of prose on the site: which are marked, and what their cells carry."""

from companion.book.site import tables
from companion.book.table import Table
from tests.tools.small import SmallBook

LONG = "words that are too many for a third of a phone"
TABLES = f"""# Home

| Name | What *it* is | At < 1 |
|---|---|---|
| one | {LONG} | {LONG} |
| two | {LONG} | |

:::{{list-table}}
:header-rows: 1
:class: stacked

* - Short {{cite:p}}`who1999what`
  - y
  - z
* - 1
  - 2
  - 3
:::

| Name | $a_b$ | When |
|---|---|---|
| one | {LONG} | {LONG} |

| x | y | z |
|---|---|---|
| 1 | 2 | 3 |

| Name | What it is |
|---|---|
| one | {LONG} |

:::{{bibliography}}
:::
"""


def test_a_wide_table_of_prose_carries_its_headings_in_its_cells(tmp_path):
    book = SmallBook(tmp_path, ["tables"], {"book/index.md": TABLES})
    assert book.warnings() == []
    page = book.html("index")
    assert page.count("prose-table") == 2
    assert page.count('data-label="Short"') == 1  # asked for; the key of a citation is no word
    headings = ["Name", "What it is", "At &lt; 1"]
    for heading in headings:
        assert page.count(f'data-label="{heading}"') == 2  # rows
    assert page.count("data-label") == 2 * len(headings) + 3


def test_a_computed_table_too_wide_for_a_phone_carries_its_headings_and_a_narrow_one_stays():
    row = {"layers": 48, "width": "1,600", "KV heads & more": 25, "attention": "1,843", "parameters": "1,557,611,200"}
    wide = tables.listed(f"<p>a</p>{Table({'GPT-2 XL': row, 'other': row})._repr_html_()}<p>b</p>")
    assert 'class="measured computed prose-table listed"' in wide
    assert wide.count('<td data-label="KV heads &amp; more">25</td>') == 2
    assert wide.count("data-label") == 2 * 6
    assert wide.count("<thead>") == wide.count("</thead>") == 1
    assert wide.startswith("<p>a</p>")
    assert wide.endswith("<p>b</p>")
    narrow = Table({"GPT-2 XL": {"layers": 48, "width": "1,600"}})._repr_html_()
    assert tables.listed(narrow) == narrow


def test_headings_may_break_at_blanks_and_numbers_may_not():
    assert tables.width(["", "one two"], [["first row", "1 2"]]) == len("first") + len("two") + 3
    assert tables.width(["", "one"], [["row", "12345 67"]]) == len("row") + len("12345 67") + 3
