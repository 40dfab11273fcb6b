"""Write a page with all pictures, in both themes and both widths: ``python -m companion.pictures OUT.html``."""

import re
import sys
from pathlib import Path

from companion.pictures import NARROW, pictures, stylesheet

_IDS = re.compile(r'(\bid="|url\(#|aria-(?:labelledby|describedby)=")([\w-]+)')
_STYLE = f"""
body{{margin:0;background:#fdfcf9;color:#23272b;font:1rem/1.5 system-ui,sans-serif}}
main{{max-width:49rem;margin:0 auto;padding:1rem 0}}
h2{{margin:2rem 1rem 0;font-size:1.1rem}}
.sheet{{padding:1rem}}
.sheet[data-theme=dark]{{background:#15181b}}
.phone{{max-width:{NARROW + 14}px;margin:auto}}
@media print{{.sheet[data-theme=dark]{{display:none}}}}
"""


def preview() -> str:
    """Return the page: each picture as a column of text and a phone show it, light and dark."""
    parts = []
    for name, draw in pictures().items():
        drawn = draw()
        parts.append(f"<h2>{name}: {drawn.wide.title}</h2>")
        svgs = f'<div class="fig-pair">{drawn.wide.svg()}{drawn.narrow.svg()}</div>'
        for number, (theme, width) in enumerate((t, w) for t in ("light", "dark") for w in ("column", "phone")):
            copy = _IDS.sub(rf"\g<1>\g<2>-{number}", svgs)  # a page has each id once
            parts.append(f'<div class="sheet" data-theme="{theme}"><div class="{width}">{copy}</div></div>')
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Pictures</title>'
    body = "\n".join(parts)
    return f'<!DOCTYPE html><html lang="en">{head}<style>{stylesheet()}{_STYLE}</style><main>{body}</main></html>\n'


def main(arguments: list[str]) -> int:
    """Write the page; returns the exit status."""
    if len(arguments) != 1:
        print("python -m companion.pictures OUT.html: one argument, the file to write", file=sys.stderr)
        return 2
    Path(arguments[0]).write_text(preview(), "utf8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
