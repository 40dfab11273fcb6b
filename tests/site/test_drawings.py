"""A drawing that is saved as a file, without the page around it; needs no built site."""

import pytest

from companion import pictures
from companion.book.site.pictures import SHEET, style_alone

DRAWN = {name: make() for name, make in pictures.pictures().items() if name in ("four_masks", "transformer_map")}
LOOKS = """() => [...document.querySelectorAll('svg.fig')].map((svg) =>
  [...svg.querySelectorAll('rect, path, circle, text')].map((node) => {
    const { fill, stroke, strokeWidth, strokeDasharray, fontSize, fontWeight, opacity } = getComputedStyle(node);
    return [fill, stroke, strokeWidth, strokeDasharray, fontSize, fontWeight, opacity].join(' ');
  }))"""


@pytest.mark.browser
@pytest.mark.parametrize("name", DRAWN)
def test_a_drawing_saved_alone_looks_as_on_a_light_page_and_on_a_dark_one_it_does_not(browser, tmp_path, name):
    drawn = DRAWN[name]
    layouts = [one.svg().removesuffix("</svg>") + style_alone() + "</svg>" for one in (drawn.wide, drawn.narrow)]
    sheet = f"<style>{SHEET.read_text('utf8')}</style>"
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    shown = {}
    for theme in ("light", "dark"):
        file = tmp_path / f"{theme}.html"
        file.write_text(
            f'<!doctype html><html data-theme="{theme}"><meta charset="utf-8">{sheet}{"".join(layouts)}', "utf8"
        )
        page.goto(file.as_uri())
        shown[theme] = page.evaluate(LOOKS)
    for layout, looks, dark in zip(layouts, shown["light"], shown["dark"], strict=True):
        file = tmp_path / "saved.svg"
        file.write_text(layout, "utf8")
        page.goto(file.as_uri())
        assert page.evaluate(LOOKS) == [looks]
        assert page.evaluate("() => getComputedStyle(document.documentElement).display") != "none"
        assert looks != dark
    page.close()
