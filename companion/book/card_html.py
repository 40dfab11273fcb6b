r"""Markdown with mathematics as the HTML of a flash card.

Anki typesets ``\( \)`` and ``\[ \]`` itself, so a formula is passed on as it was written. What a card cannot show, such
as a directive of the site, is refused: it would stand on the card as raw text.
"""

import re

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from mdit_py_plugins.amsmath import amsmath_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin

_CODE_BLOCK = re.compile(r"\{code-block\}[ \t]*(?P<language>\w*)")
_LEFT = re.compile(r"(?m)^(?:<p>)?:::|\{[a-z][\w:-]*\}<code>|^(?:<p>)?\([\w-]+\)=(?:</p>)?$")  # as HTML


def _markdown() -> MarkdownIt:
    parser = (
        MarkdownIt("commonmark", {"html": False})
        .enable("table")
        .use(dollarmath_plugin, double_inline=True)
        .use(amsmath_plugin)
    )
    rules = {
        "math_inline": lambda token: rf"\({_escaped(token)}\)",
        "math_inline_double": lambda token: rf"\[{_escaped(token)}\]",
        "math_block": lambda token: f"<div>\\[{_display(token)}\\]</div>\n",
        "math_block_label": lambda token: f"<div>\\[{_display(token)}\\]</div>\n",
        "amsmath": lambda token: f"<div>\\[{_escaped(token)}\\]</div>\n",
        "fence": _fence,
    }
    for name, rule in rules.items():
        # markdown-it binds a rule to its renderer, so each needs that first argument
        parser.add_render_rule(name, lambda self, tokens, index, options, env, rule=rule: rule(tokens[index]))
    return parser


def _escaped(token: object) -> str:
    return escapeHtml(token.content.strip())


def _display(token: object) -> str:
    """Give lines that are broken by a double backslash the environment that breaks them, as Sphinx does."""
    formula = _escaped(token)
    return rf"\begin{{split}}{formula}\end{{split}}" if r"\\" in formula and r"\begin{" not in formula else formula


def _fence(token: object) -> str:
    info = token.info.strip()
    block = _CODE_BLOCK.fullmatch(info)
    if info == "{math}":
        return f"<div>\\[{_display(token)}\\]</div>\n"
    if info.startswith("{") and not block:
        raise ValueError(f"a card shows text, formulas, lists, tables and code: got the directive {info}")
    return f"<pre><code>{escapeHtml(token.content)}</code></pre>\n"


_PARSER = _markdown()


def card_html(text: str, where: str) -> str:
    r"""Turn a text into the HTML of a card.

    Args:
        text: Markdown without roles, mathematics between dollars.
        where: what to name in an error.

    Returns:
        HTML with mathematics between ``\( \)`` and ``\[ \]``.

    Raises:
        ValueError: the text holds what a card cannot show.
    """
    try:
        html = _PARSER.render(text).strip()
    except ValueError as error:
        raise ValueError(f"{where}: {error}. Write it in another way.") from None
    left = _LEFT.search(re.sub(r"<pre>.*?</pre>", "", html, flags=re.DOTALL))
    if left:
        what = re.sub(r"</?\w+>", "", left[0])
        raise ValueError(f"{where}: a card shows no MyST: got {what!r}. Write it in another way.")
    return html


def card_line(text: str, where: str) -> str:
    """Turn one paragraph into HTML without the paragraph around it: a question, for example.

    Args:
        text: Markdown without roles.
        where: what to name in an error.

    Returns:
        HTML.
    """
    html = card_html(text, where)
    inner = html.removeprefix("<p>").removesuffix("</p>")
    return html if "<p>" in inner else inner
