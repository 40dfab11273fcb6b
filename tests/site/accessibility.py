"""axe-core on a whole chapter in seconds: every rule, and each pair of colours a few times instead of thousands."""

from axe_playwright_python.sync_playwright import Axe

# Leaves three coloured words of each kind and three formulas in each kind of box; the other words lose their colour.
THIN_OUT = """() => {
  const seen = {};
  for (const e of document.querySelectorAll(".highlight span, mjx-container > *")) {
    const box = e.closest(".cell_input, .cell_output, .admonition, details, td, .bd-article");
    const kind = [e.tagName, e.className, box && box.className].join();
    seen[kind] = (seen[kind] ?? 0) + 1;
    if (seen[kind] <= 3) continue;
    if (e.localName === "span") e.replaceWith(...e.childNodes);
    else e.replaceChildren();
  }
}"""
# Empties every text after the third that is shown in the same colours, size and weight: its contrast is the same.
EMPTY_ALIKE = """() => {
  const seen = {}, behind = new Map();
  const ground = (e) => { // what lies behind a text: the backgrounds up to the first that hides the rest
    if (!e) return "";
    if (!behind.has(e)) {
      const { backgroundColor: color, backgroundImage: image, opacity } = getComputedStyle(e);
      const opaque = image === "none" && opacity === "1" && /^rgb\\(/.test(color);
      const none = color === "rgba(0, 0, 0, 0)" && image === "none" && opacity === "1";
      const own = none ? "" : [color, image, opacity].join();
      behind.set(e, opaque ? own : own + ground(e.parentElement));
    }
    return behind.get(e);
  };
  const alike = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    const e = text.parentElement;
    if (!text.data.trim() || !e.checkVisibility({ visibilityProperty: true })) continue;
    const { color, fontSize, fontWeight } = getComputedStyle(e);
    const kind = [color, fontSize, fontWeight, ground(e)].join();
    seen[kind] = (seen[kind] ?? 0) + 1;
    if (seen[kind] > 3) alike.push([text, text.data]);
  }
  for (const [text] of alike) text.data = ""; // only now: each change would make the browser lay out the page again
  window.emptied = alike;
}"""
FILL_AGAIN = "() => { for (const [text, data] of window.emptied) text.data = data; }"
RUN = "([within, options]) => axe.run(within ?? document, options).then((results) => results.violations)"
OUTSIDE_THE_TEXT = {"exclude": [".bd-article"]}  # header, menus, footer: what a width shows or hides
CONTRAST = "color-contrast"
COLOURS = [CONTRAST, "link-in-text-block"]  # all that looks at colours; the other rules give the same in every theme


def axe_faults(
    page: object, within: str | dict[str, list[str]] | None = None, *, colours_only: bool = False
) -> list[str]:
    """Run axe-core with all its rules on a page, or on a part of it; the text is thinned out where it is looked at.

    Args:
        page: the page.
        within: a selector, or what axe calls a context; None means the whole page.
        colours_only: leave out the rules that do not look at colours.
    """
    if not page.evaluate("typeof axe === 'object'"):
        page.evaluate(Axe().axe_script)
    if within is not OUTSIDE_THE_TEXT:
        page.evaluate(THIN_OUT)
    quick = {"resultTypes": ["violations"], "preload": False, "elementRef": False}
    if colours_only:
        found = page.evaluate(RUN, [within, quick | {"runOnly": {"type": "rule", "values": COLOURS[1:]}}])
    else:
        found = page.evaluate(RUN, [within, quick | {"rules": {CONTRAST: {"enabled": False}}}])
    page.evaluate(EMPTY_ALIKE)
    found += page.evaluate(RUN, [within, quick | {"runOnly": {"type": "rule", "values": [CONTRAST]}}])
    page.evaluate(FILL_AGAIN)
    return [f"{fault['id']}: {node['html'][:160]}" for fault in found for node in fault["nodes"]]
