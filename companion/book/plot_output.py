"""The data of a plot that a notebook stores beside the picture, and how those of a later run compare with them.

``companion.plots`` puts them into the metadata of the output. Numbers agree up to rounding, or within the tolerance
that is stated for their Axes; labels, colours and ticks agree to the letter. The mark of the picture, which ``seal``
puts beside the data, ties the two together.
"""

import hashlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence

PLOT = "plot"
"""The entry of an output's metadata; ``companion.plot_data`` writes it."""
SVG = "image/svg+xml"
"""The type of the picture of a plot."""
_NUMBERS = ("x", "y", "z", "texts")  # what a tolerance is for
_NUMBER = re.compile(r"[-−]?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|nan|inf)")
_SLACK = 1e-9  # of a tolerance


def seal(output: Mapping) -> None:
    """Put a mark of the picture beside the data of a plot, in place."""
    if PLOT in output.get("metadata", {}):
        output["metadata"][PLOT]["picture"] = _mark(output)


def _mark(output: Mapping) -> str:
    return hashlib.sha256("".join(output["data"].get(SVG, "").split()).encode()).hexdigest()[:16]


def is_sealed(output: Mapping) -> bool:
    """Say whether the picture of an output is the one that was stored with its data."""
    return output["metadata"][PLOT].get("picture") == _mark(output)


def differences(stored: Mapping, fresh: Mapping) -> list[str]:
    """Say where the data of a later run are not those that were stored."""
    was, now = stored.get("axes", []), fresh.get("axes", [])
    if stored.get("size") != fresh.get("size") or len(was) != len(now):
        sizes = [f"{data.get('size')} inches with {len(axes)} Axes" for data, axes in ((stored, was), (fresh, now))]
        return [f"it has {sizes[0]}, and in a run {sizes[1]}"]
    return [f"Axes {n}, {one}" for n, pair in enumerate(zip(was, now, strict=True)) for one in _in_axes(*pair)]


def _in_axes(was: Mapping, now: Mapping) -> Iterator[str]:
    """Compare two Axes, artist by artist. Limits that follow measured numbers differ a little more than these."""
    stated = was.get("tolerance")
    for key in sorted({*was, *now} - {"artists", "limits"}):
        if was.get(key) != now.get(key):
            yield f"its {key} are {was.get(key)}, and in a run {now.get(key)}"
    if not stated and not _agree(was["limits"], now["limits"], None):
        yield f"its limits are {was['limits']}, and in a run {now['limits']}"
    kinds = [[one["kind"] for one in of["artists"]] for of in (was, now)]
    if kinds[0] != kinds[1]:
        yield f"it shows {', '.join(kinds[0])}, and in a run {', '.join(kinds[1])}"
        return
    for number, (old, new) in enumerate(zip(was["artists"], now["artists"], strict=True)):
        for key in sorted({*old, *new}):
            a, b = old.get(key, ""), new.get(key, "")
            if not (_agree(a, b, stated) if key in _NUMBERS else a == b):
                yield f"{old['kind']} {number}: its {key} is {a}, and in a run {b}"


def _agree(was: str, now: str, stated: Sequence | None) -> bool:
    """Compare texts with numbers in them: the words to the letter, the numbers up to rounding or a tolerance."""
    if _NUMBER.sub("#", was) != _NUMBER.sub("#", now):
        return False
    old, new = ([float(one.replace("−", "-")) for one in _NUMBER.findall(text)] for text in (was, now))
    largest = max((abs(one) for one in old if math.isfinite(one)), default=0.0)
    return all(_near(a, b, largest, stated) for a, b in zip(old, new, strict=True))


def _near(was: float, now: float, largest: float, stated: Sequence | None) -> bool:
    if not (math.isfinite(was) and math.isfinite(now)):
        return str(was) == str(now)
    if abs(was - now) <= 1.5e-4 * abs(was) + 1e-6 * largest:  # another processor rounds the last digit otherwise
        return True
    kind, bound = stated or ("within", 0.0)
    if kind == "within":
        return abs(was - now) <= bound * (1 + _SLACK)
    return max(was, now) <= bound * (1 + _SLACK) * min(was, now)
