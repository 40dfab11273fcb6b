"""Tables of prose on the site: which are marked, and what their cells carry."""

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

* - Short
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
"""


def test_a_wide_table_of_prose_carries_its_headings_in_its_cells(tmp_path):
    book = SmallBook(tmp_path, ["tables"], {"book/index.md": TABLES})
    assert book.warnings() == []
    page = book.html("index")
    assert page.count("prose-table") == 2
    assert page.count('data-label="Short"') == 1  # asked for
    headings = ["Name", "What it is", "At &lt; 1"]
    for heading in headings:
        assert page.count(f'data-label="{heading}"') == 2  # rows
    assert page.count("data-label") == 2 * len(headings) + 3
