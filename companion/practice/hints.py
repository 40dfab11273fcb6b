"""Hints that open one after the other."""

import html
import re
import textwrap


class Hint:
    """Three hints of an exercise, or one of them.

    In a notebook and on the site all three are closed, the second inside the first and the third inside the second.
    As plain text it is one hint, and how to get the next.
    """

    def __init__(self, name: str, hints: tuple[str, ...], step: int | None = None) -> None:
        self._name, self._hints, self._step = name, hints, step

    def __repr__(self) -> str:
        step = self._step or 1
        text = f"Hint {step} of {len(self._hints)}: {self._hints[step - 1]}"
        if self._step is None:
            text += f' The next: hint("{self._name}", 2).'
        return textwrap.fill(text, 88, break_on_hyphens=False)

    def _repr_html_(self) -> str:
        if self._step is not None:
            label = f"<strong>Hint {self._step} of {len(self._hints)}.</strong>"
            return f'<div class="companion-hint"><p>{label} {_markup(self._hints[self._step - 1])}</p></div>'
        inner = ""
        for step in range(len(self._hints), 0, -1):
            summary = f"<summary>Hint {step} of {len(self._hints)}</summary>"
            inner = f"<details>{summary}<p>{_markup(self._hints[step - 1])}</p>{inner}</details>"
        return f'<div class="companion-hint">{inner}</div>'


def _markup(text: str) -> str:
    """Escape, and set what stands between backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))
