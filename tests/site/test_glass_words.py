"""What the Glass Transformer says beside its numbers: what is left out, what a tour leaves, a number of a vector."""

import pytest

from companion.explorers import Glass
from tests.chapters.architecture.test_glass_in_browser import OPEN, SHOWN
from tests.site.browser import put
from tests.site.test_glass_views import TOUR

pytestmark = pytest.mark.browser


@pytest.fixture
def root(alone):
    """The Glass Transformer, open."""
    _, root, _ = alone(Glass())
    root.evaluate(OPEN)
    return root


LACKS = "(root) => root.querySelector('.ex-side .ex-caption').textContent"


def test_what_is_left_out_is_said_and_the_end_of_a_tour_or_a_button_puts_it_back(root):
    assert root.evaluate(LACKS) == "next word"
    put(root, **{"tour-begin": None})
    assert root.evaluate(TOUR)["place"] == "1 of 4"
    put(root, tour=2)
    put(root, **{"tour-next": None})
    assert root.evaluate(LACKS) == "next word, without head 1 of decoder layer 1: cross-attention"
    put(root, **{"tour-end": None})
    assert root.evaluate(LACKS) == "next word"
    shown = root.evaluate(SHOWN)
    assert shown["changed"] == shown["whole"]
    assert root.query_selector('[data-trait="tour-begin"]').is_visible()
    put(root, off=1, causal=False, norm=False)
    assert root.evaluate(LACKS) == "next word, without 3 parts"
    put(root, whole=None)
    assert root.evaluate(LACKS) == "next word"
    shown = root.evaluate(SHOWN)
    assert shown["changed"] == shown["whole"]


def test_a_stop_that_speaks_of_a_row_is_left_with_the_row(root):
    put(root, tour=1)
    for _ in range(3):
        put(root, **{"tour-next": None})
    assert root.evaluate(TOUR)["place"] == "4 of 4"
    root.evaluate("(root) => tools.look(root.querySelector('[data-matrix=\"weights\"] .ex-cell'))")
    assert root.evaluate(TOUR)["text"] == "You have left the tour."


def test_a_number_of_a_vector_is_shown_beside_the_vectors_and_rows_have_their_english(root):
    put(root, block="11")
    told = root.evaluate("""(root) => {
      const marks = [...root.querySelectorAll(".ex-heat rect")];
      tools.look(marks[marks.length - 1]);
      return [marks[marks.length - 1].getAttribute("aria-label"), root.querySelector(".ex-reading").textContent];
    }""")
    assert told[1].startswith(f"{told[0]}; its vector has length ")
    put(root, next=None)
    assert root.query_selector(".ex-reading").text_content() == ""
    heads = root.evaluate(
        "(root) => [...root.querySelectorAll('[data-matrix=\"weights\"] .ex-head')].map((h) => h.textContent)"
    )
    assert "杂志 (magazine)" in heads
