"""Every plot of the site: the layout that fits, words inside it that do not touch and can be read, theme's colours."""

from collections.abc import Callable
from pathlib import Path

import pytest

SMALLEST = 9.5  # pixels of the smallest words, which are notes above a corner
SEEN = """() => [...document.querySelectorAll('.plot-pair svg.plot')].map((svg) => {
  const box = svg.getBoundingClientRect();
  if (!box.width) return null;
  const texts = [...svg.querySelectorAll('text')].filter((text) => text.textContent.trim()).map((text) => ({
    words: text.textContent.trim(), box: text.getBoundingClientRect(),
    slanted: /rotate\\((?!-?(?:90|0)\\b)/.test(text.getAttribute('transform') ?? ''),
    size: parseFloat(getComputedStyle(text.querySelector('tspan') ?? text).fontSize) * box.width
      / svg.viewBox.baseVal.width,
  }));
  const outside = texts.filter(({ box: own }) => own.left < box.left - 1 || own.right > box.right + 1
    || own.top < box.top - 1 || own.bottom > box.bottom + 1);
  const touching = texts.flatMap((one, place) => texts.slice(place + 1).filter((other) => !one.slanted && !other.slanted
    && Math.min(one.box.right, other.box.right) - Math.max(one.box.left, other.box.left) > 1
    && Math.min(one.box.bottom, other.box.bottom) - Math.max(one.box.top, other.box.top) > 3
  ).map((other) => `${one.words} | ${other.words}`));
  const low = texts.filter(({ size }) => size < SMALLEST);
  return { layout: svg.classList[1], outside: outside.map(({ words }) => words), touching,
    small: low.map(({ words, size }) => `${words}: ${size.toFixed(1)}`) };
}).filter((found) => found)""".replace("SMALLEST", str(SMALLEST))
COLOURS = """() => [...document.querySelectorAll('.plot-pair svg.plot text')].filter(
  (text) => text.getBoundingClientRect().width && text.style.fill.startsWith('var('))
  .map((text) => getComputedStyle(text).fill)"""
pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def plotted(site: Path) -> list[str]:
    found = [
        str(path.relative_to(site)) for path in sorted(site.glob("book/*/*.html")) if "plot-pair" in path.read_text()
    ]
    assert len(found) > 30
    return found


def test_words_of_plots_stand_inside_apart_and_can_be_read(
    page: object, server: str, plotted: list[str], resize: Callable[[object, int, int], None]
) -> None:
    found = []
    for name in plotted:
        page.goto(f"{server}/{name}")
        for width, layout in ((1440, "fig-wide"), (390, "fig-narrow"), (320, "fig-narrow")):
            resize(page, width, 844)  # the size of words changes by a transition of the theme
            shown = page.evaluate(SEEN)
            assert {one["layout"] for one in shown} == {layout}, name
            kinds = ("outside", "touching") if width == 320 else ("outside", "touching", "small")
            found += [f"{name} at {width}: {kind} {one[kind]}" for one in shown for kind in kinds if one[kind]]
    assert found == []


def test_words_of_plots_are_light_in_the_dark_and_dark_on_paper(page: object, server: str, plotted: list[str]) -> None:
    every = f"(colour) => {{ const all = ({COLOURS})(); return all.length && all.every((one) => one === colour); }}"
    page.emulate_media(color_scheme="dark")
    page.goto(f"{server}/{plotted[0]}")
    page.wait_for_function(every, arg="rgb(221, 224, 227)")  # a script sets the theme, and a busy computer is late
    page.emulate_media(color_scheme="dark", media="print")
    page.wait_for_function(every, arg="rgb(0, 0, 0)")
