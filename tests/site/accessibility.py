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
# Empties every text after the third of the page, and the twelfth of all pages, that is shown in the same colours: its
# contrast is the same. Large text, from 24 px on or 18.66 in bold, is a kind of its own (WCAG 2.2, criterion 1.4.3).
EMPTY_ALIKE = """(seen) => {
  const here = {}, behind = new Map();
  const ground = (e) => { // what is seen behind a text, and how faded the text is
    if (!e) return ["", 1];
    if (!behind.has(e)) {
      const { backgroundColor: color, backgroundImage: image, opacity } = getComputedStyle(e);
      const [under, faded] = ground(e.parentElement);
      const opaque = image === "none" && /^rgb\\(/.test(color);
      const none = color === "rgba(0, 0, 0, 0)" && image === "none";
      const own = none ? "" : [color, image].join();
      behind.set(e, [opaque ? own : own + under, faded * opacity]);
    }
    return behind.get(e);
  };
  const alike = [];
  let left = 0;
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    const e = text.parentElement;
    if (!text.data.trim() || !e.checkVisibility({ visibilityProperty: true })) continue;
    const { color, fontSize, fontWeight } = getComputedStyle(e);
    const large = parseFloat(fontSize) >= (fontWeight >= 700 ? 18.66 : 24);
    const kind = [color, large, ...ground(e)].join();
    here[kind] = (here[kind] ?? 0) + 1;
    if (here[kind] > 3 || seen[kind] >= 12) {
      alike.push([text, text.data]);
    } else {
      seen[kind] = (seen[kind] ?? 0) + 1;
      left += 1;
    }
  }
  for (const [text] of alike) text.data = ""; // only now: each change would make the browser lay out the page again
  window.emptied = alike;
  return [seen, left];
}"""
FILL_AGAIN = "() => { for (const [text, data] of window.emptied) text.data = data; }"
RUN = "([within, options]) => axe.run(within ?? document, options).then((results) => results.violations)"
CONTRAST, LINKS = "color-contrast", "link-in-text-block"


def axe_faults(
    page: object,
    within: str | None = None,
    *,
    contrast_only: bool = False,
    links: bool = True,
    seen: dict[str, int] | None = None,
) -> list[str]:
    """Run axe-core with all its rules on a page, or on a part of it; the text is thinned out where it is looked at.

    Args:
        page: the page.
        within: a selector; None means the whole page.
        contrast_only: leave out the other rules, which give the same in every theme.
        links: run the rule on links in a text too, which takes as long as the others together; their colours are the
            same on all pages, so a page or two in each theme will do.
        seen: how often each pair of colours has been looked at in this theme, on earlier pages too; it is brought up to
            date.
    """

    def broken(**options: object) -> list[dict]:
        """Run axe, which is loaded only where something is left to look at."""
        if not page.evaluate("typeof axe === 'object'"):
            page.evaluate(Axe().axe_script)
        quick = {"resultTypes": ["violations"], "preload": False, "elementRef": False}
        return page.evaluate(RUN, [within, quick | options])

    page.evaluate(THIN_OUT)
    without = [CONTRAST] if links else [CONTRAST, LINKS]
    found = [] if contrast_only else broken(rules={rule: {"enabled": False} for rule in without})
    seen = {} if seen is None else seen
    now, left = page.evaluate(EMPTY_ALIKE, seen)
    seen.update(now)
    if left:
        found += broken(runOnly={"type": "rule", "values": [CONTRAST]})
    page.evaluate(FILL_AGAIN)
    return [f"{fault['id']}: {node['html'][:160]}" for fault in found for node in fault["nodes"]]
