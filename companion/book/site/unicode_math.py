"""Write the MathML of a formula in a line of Unicode, for what cannot show formulas, such as results of the search."""

import re
from xml.etree import ElementTree

_HIGH = str.maketrans("0123456789n+-−T⊤", "⁰¹²³⁴⁵⁶⁷⁸⁹ⁿ⁺⁻⁻ᵀᵀ")
_NAME = re.compile(r"√?[\w.′'\u2063]+|\([^()]*\)|\|[^|]*\|")
_HERE = "\u2063"  # not seen: an index follows, where the letters before it could be a name of code, as in `dx_0`
_CLEAR = re.compile(rf"((?:^|[\W\d])(?:[a-z]?[A-Z]|[^\W\d_])[\u0300-\u036f\u20d7]*|[∑∏∫)′]){_HERE}")
_ENDS_OPEN = {"msub", "munder", "msubsup", "munderover", "mfrac", "msqrt", "mroot"}  # a letter behind needs a blank
_ACCENTS = {"^": "\u0302", "~": "\u0303", "¯": "\u0304", "―": "\u0304", "→": "\u20d7", "˙": "\u0307"}
_SIGN = re.compile(r"(?:^|(?<=[(\[|])|(?<=[=≈<>,] ))− (?=\S)")  # of a number, not between two
_SPACED = set("=≠≈≤≥<>≪≫∼∝∈∉⊂→←↦⟶↔⇒+−×⋅⊙⊗⊕∘∪∩∧∨:≡")


def compact(math: ElementTree.Element) -> str:
    r"""Write MathML in a line of Unicode: ``√d_k``, ``QKᵀ/√d_k``, ``∑_(j=1)^n a_j``."""
    line = " ".join(_line(math).replace("\u2061(", "(").replace("\u2061", " ").replace(" ,", ",").split())
    line = re.sub(r", *(?=;)", "", re.sub(r"; ?, ", " ", line))  # a line that a space begins goes on
    return _CLEAR.sub(r"\1", _SIGN.sub("−", re.sub(r"(?<=[,;.:]),+|,+$", "", line)))


def _line(element: ElementTree.Element) -> str:
    kind = element.tag.rpartition("}")[2]
    text, parts = (element.text or "").strip(), [_line(child) for child in element]
    if kind in ("mi", "mn", "mtext", "ms"):
        return element.text or ""
    if kind == "mo":
        if text in "\u2062\u2063\u2064":  # signs that nobody sees
            return ""
        return f" {text} " if text in _SPACED else f"{text} " if text in ",;" else text
    if kind in ("mspace", "mphantom"):
        return ", " if element.get("width") in ("1em", "2em") else " "  # between two statements
    if kind == "mfrac" and element.get("linethickness") == "0":
        return f"{_one(parts[0])} choose {_one(parts[1])}"
    if kind == "mfrac":
        return f"{_one(parts[0])}/{_one(parts[1])}"
    if kind == "msqrt":
        return f"√{_one(''.join(parts))}"
    if kind == "mroot":
        return f"{_one(parts[1])}√{_one(parts[0])}"
    if kind in ("msub", "munder"):
        return parts[0] + _lowered(parts[1]) if parts[1].strip(" _̲⏟") else parts[0]
    if kind in ("msup", "mover"):
        accent = _ACCENTS.get(parts[1].strip()) if kind == "mover" else None
        return parts[0] + (accent or _raised(parts[1]))
    if kind in ("msubsup", "munderover"):
        return parts[0] + _lowered(parts[1]) + _raised(parts[2])
    if kind == "mtable":
        return "; ".join(parts)
    if kind == "mtr":
        return " ".join(parts)
    line = ""
    for part, last in zip(parts, ["", *map(_kind, element)], strict=False):
        is_open = last in _ENDS_OPEN or re.search(r"\^\w+$", line)
        is_name = line[-1:].isalnum() and re.match("[a-z]{2}", part)  # a function behind a letter
        line += f" {part}" if (is_open and part[:1].isalnum()) or is_name else part
    return line


def _kind(element: ElementTree.Element) -> str:
    """Name an element; one that only groups a single other is named as that."""
    while len(element) == 1 and element.tag.rpartition("}")[2] in ("mrow", "mstyle", "mpadded"):
        element = element[0]
    return element.tag.rpartition("}")[2]


def _one(part: str) -> str:
    part = part.strip()
    return part if _NAME.fullmatch(part) else f"({part})"


def _lowered(part: str) -> str:
    return f"{_HERE}_{_inner(part)}"


def _raised(part: str) -> str:
    part = part.strip()
    high = part.translate(_HIGH)
    return part if part in ("′", "″", "*", "∗") else high if not set(high) & set(part) else f"^{_inner(part)}"


def _inner(part: str) -> str:
    """Write an index or a power: whatever is more than one word stands in brackets, which the search leaves out."""
    return part if re.fullmatch(r"[^\W_]+", part := part.strip()) else f"({part})"
