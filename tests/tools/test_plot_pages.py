"""A plot on the site: both layouts in the page, one image with words, in the colours of the theme."""

import re

import nbformat
import pytest

from companion import plots
from companion.book.site import plots as part
from tests.tools.small import SmallBook, notebook

ALT = 'A line rises from "1" to 3.'
FIGURE = {"mystnb": {"image": {"alt": ALT}, "figure": {"name": "fig-rise", "caption": "It rises."}}}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    figure, panels = plots.panels(7.2, 2.4, columns=2)
    for ax in panels:
        plots.draw_curves(ax, [1, 2, 3], {"a": [1, 2, 3]}, xlabel="step", ylabel="loss")
    data, metadata = figure._repr_mimebundle_()
    plots.plt.close(figure)
    output = nbformat.v4.new_output("display_data", data=data, metadata=metadata)
    other = nbformat.v4.new_output("display_data", data={"image/svg+xml": '<svg xmlns="http://www.w3.org/2000/svg"/>'})
    metadata = {"mystnb": {"image": {"alt": "Nothing."}}}
    cells = [
        nbformat.v4.new_code_cell("draw()", execution_count=1, outputs=[output], metadata=FIGURE),
        nbformat.v4.new_code_cell("other()", execution_count=2, outputs=[other], metadata=metadata),
    ]
    pages = {
        "book/index.md": "# Home\n\n```{toctree}\none/page\n```\n",
        "book/one/page.ipynb": notebook("# One\n", *cells),
    }
    book = SmallBook(tmp_path_factory.mktemp("book"), ["plots"], pages)
    assert book.warnings() == []
    return book


def test_the_site_shows_both_layouts_as_one_image_with_words(site):
    (figure,) = re.findall(r'<figure[^>]*id="fig-rise">.*?</figure>', site.html("one/page"), re.DOTALL)
    assert re.search(r'<div class="[^"]*\bplot-pair\b[^"]*"><div role="img" aria-label="([^"]*)">', figure)[1] == (
        "A line rises from &quot;1&quot; to 3."
    )
    assert re.findall(r'<svg class="plot (fig-\w+)"', figure) == ["fig-wide", "fig-narrow"]
    assert figure.count("<svg") == figure.count("</svg>") == 2
    assert "display=" not in figure
    assert "<img" not in figure
    assert "It rises." in figure


def test_its_file_is_not_copied_and_another_drawing_stays_an_image(site):
    assert len(re.findall(r'<img[^>]*alt="Nothing\."', site.html("one/page"))) == 1
    assert len(list(site.folder.glob("_build/html/_images/*.svg"))) == 1


def test_the_colours_come_with_the_page_that_has_a_plot(site):
    assert site.html("one/page").count("css/plots.css") == 1
    assert "css/plots.css" not in site.html("index")


def test_the_layouts_are_those_that_were_stored():
    stored = f'{part.START}fig-wide"><g>a</g>{part.START}fig-narrow" display="none"><g display="none">b</g></svg></svg>'
    wide, narrow = part.layouts(stored)
    assert wide == f'{part.START}fig-wide"><g>a</g></svg>'
    assert narrow == f'{part.START}fig-narrow"><g display="none">b</g></svg>'
