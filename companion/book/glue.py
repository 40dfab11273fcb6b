"""Numbers of the answers in the book: a cell prints each under a name, and the text of its page takes it from there.

In a source, two braces around the name stand for the number; ``make notebooks`` fills it in.
"""

import math
import re

__all__ = ["glue_number"]

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+")


def glue_number(name: str, value: float | int, form: str = "{}") -> None:
    """Print a number of an answer under its name, as ``kv-7b = 2 GiB``.

    >>> glue_number("kv-7b", 2**31 / 2**30, "{:.0f} GiB")
    kv-7b = 2 GiB

    Args:
        name: two or more lower-case words or numbers joined by hyphens.
        value: a finite number.
        form: how it is written, a format with one pair of braces.

    Raises:
        ValueError: the name has another form, the value is not finite, or the format does not show the value.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(f"name is two or more lower-case words joined by hyphens: got {name!r}. Write kv-7b.")
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{name}: value is a finite number: got {value!r}. Convert it with float().")
    try:
        text = form.format(value)
    except (ValueError, IndexError, KeyError) as error:
        raise ValueError(f"{name}: form is a format for one number: got {form!r}. Write {{:.1f}} GiB.") from error
    if text == form or not re.search(r"\d", text) or "\n" in text:
        raise ValueError(f"{name}: form shows the value in one line: got {form!r}. Write {{:.1f}} GiB.")
    print(f"{name} = {text}")
