"""Draw the picture of a shared link, book/assets/img/share.png: the map of the Transformer beside the book's name.

    .venv/bin/python -m scripts.share_image

It is stored, because a build has no browser; run this again after a change of the map. The picture holds a digest of
what it was drawn from, by which a test knows an old one.
"""

import hashlib
import os
import struct
import sys
import zlib
from pathlib import Path

import yaml

from companion.book.site.sharing import IMAGE, IMAGE_SIZE
from companion.pictures import stylesheet, transformer_map
from scripts import find_browser
from scripts.console import ROOT, Refusal, guarded

OUT = ROOT / "book" / "assets" / IMAGE
LINES = ("A picture before the formula,", "code that runs,", "numbers that you can check.")
KEY = b"Source\0"
PAGE = """<!DOCTYPE html><meta charset="utf-8"><style>{sheet}
body {{ margin: 0; width: {w}px; height: {h}px; background: #fdfcf9; color: #23272b; overflow: hidden;
  font-family: system-ui, "Liberation Sans", sans-serif; }}
h1 {{ position: absolute; left: 56px; top: 150px; width: 440px; margin: 0; font-size: 62px; line-height: 1.1; }}
p {{ position: absolute; left: 56px; top: 326px; margin: 0; font-size: 29px; line-height: 1.45; }}
.fig-pair {{ position: absolute; left: 520px; top: 14px; width: 668px; container-type: normal; }}
.fig-wide {{ width: 668px; height: 601px; }} .fig-narrow {{ display: none; }}
</style><h1>{name}</h1><p>{lines}</p><div class="fig-pair">{svg}</div>"""


def source() -> str:
    """Return the page that the picture is taken of."""
    name = yaml.safe_load((ROOT / "_config.yml").read_text("utf8"))["title"]
    width, height = IMAGE_SIZE
    svg = transformer_map().wide.svg()
    return PAGE.format(sheet=stylesheet(), w=width, h=height, name=name, lines="<br>".join(LINES), svg=svg)


def digest() -> bytes:
    """Hash that page."""
    return hashlib.sha256(source().encode()).hexdigest().encode()


def chunks(png: bytes) -> dict[bytes, bytes]:
    """Read the chunks of a PNG by their names, the last of each."""
    found, place = {}, 8
    while place < len(png):
        (length,) = struct.unpack_from(">I", png, place)
        found[png[place + 4 : place + 8]] = png[place + 8 : place + 8 + length]
        place += length + 12
    return found


def with_digest(png: bytes) -> bytes:
    """Add the digest to a PNG, as a text behind its header."""
    text = b"tEXt" + KEY + digest()
    chunk = struct.pack(">I", len(text) - 4) + text + struct.pack(">I", zlib.crc32(text))
    return png[:33] + chunk + png[33:]


def main() -> int:
    """Draw it."""
    from playwright.sync_api import sync_playwright

    path = find_browser.find()
    if path is None:
        raise Refusal("no Chromium or Chrome: CHROME_PATH names one.")
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"] if root else [])
        page = browser.new_page(viewport=dict(zip(("width", "height"), IMAGE_SIZE, strict=True)))
        page.set_content(source())
        png = page.screenshot()
        browser.close()
    Path(OUT).write_bytes(with_digest(png))
    print(f"{OUT.relative_to(ROOT)}: {OUT.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(guarded(main))
