"""The rules of what the book has beside its text.

A schema says which fields an entry has and what each must be; where an entry breaks it, :func:`check` names the place
and the rule, in the words of the schema's ``description``. What a schema cannot say stands beside the reader of the
entry: ``claims``, ``questions``, ``quiz``, ``drills``, ``formulas``.
"""

import math
from collections.abc import Iterable, Mapping

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import ValidationError

from companion.book.model import BASES, DOCUMENTS, ITEM_KINDS, LEVELS, QUESTION_KINDS, TIERS, VERDICTS
from companion.book.topics import TOPICS


def _object(title: str, needs: dict, may: dict | None = None) -> dict:
    return {
        "title": title,
        "type": "object",
        "description": "a mapping of fields",
        "required": [*needs],
        "properties": needs | (may or {}),
        "additionalProperties": False,
    }


def _one_of(names: Iterable[object]) -> dict:
    names = [*names]
    return {"enum": names, "description": f"one of {', '.join(map(str, names))}"}


def _list(entry: dict, at_least: int, description: str = "") -> dict:
    description = description or f"a list of at least {at_least}"
    return {"type": "array", "items": entry, "minItems": at_least, "description": description}


_TEXT = {"type": "string", "pattern": r"\S", "description": "a text"}
_TRUTH = {"type": "boolean", "description": "true or false"}
_LEVEL = {"enum": [*LEVELS], "description": "1, 2 or 3"}
_NUMBER = {
    "type": "number",
    "format": "finite",
    "description": "a finite number (YAML reads 1e9 as text, 1.0e+9 as a number)",
}


def _name(prefix: str = "") -> dict:
    words = "lower-case words joined by hyphens"
    pattern = f"^{prefix}[a-z0-9]+(-[a-z0-9]+)*$"
    return {"type": "string", "pattern": pattern, "description": f"{prefix} and {words}" if prefix else words}


_TURN = _object(
    "a turn",
    dict.fromkeys(("name", "old"), _TEXT) | {"new": {"type": "string", "description": "a text"}},
    dict.fromkeys(("file", "after"), _TEXT),
)
_SETTLED = {"conditions": _TEXT, "correct": _TEXT, "turn": _TURN}
_PART = _object(
    "a part", {"id": _name(), "text": _TEXT, "verdict": _one_of(VERDICTS), "basis": _one_of(BASES)}, _SETTLED
)
CLAIM = _object(
    "a claim",
    {
        "id": _name(),
        "claim": _TEXT,
        "verdict": _one_of(VERDICTS),
        "documents": {
            "type": "integer",
            "minimum": 1,
            "maximum": DOCUMENTS,
            "description": f"a number from 1 to {DOCUMENTS}",
        },
        "evidence": _TEXT,
    },
    {"basis": _one_of(BASES), **_SETTLED, "dropped": _TEXT, "parts": _list(_PART, 2)},
)
QUESTION = _object(
    "a question",
    {
        "name": _name("q-"),
        "kind": _one_of(QUESTION_KINDS),
        "level": _LEVEL,
        "topic": _TEXT,
        "evidence": _list({**_TEXT, "description": "a label, and commas stand between two"}, 1),
    },
    {
        "rare": {"type": "integer", "minimum": 1, "description": "a number of follow-ups, the last ones"},
        "picture": {"type": "string", "pattern": r"^\S+ \S+$", "description": "the page and the name of a picture"},
    },
)
_ITEM = {
    "id": _name("quiz-"),
    "topic": _TEXT,
    "level": _LEVEL,
    "kind": _one_of(ITEM_KINDS),
    "question": _TEXT,
    "link": {  # to an equation it would read "(1)"
        "type": "string",
        "pattern": r"^\s*(?!eq-)[A-Za-z0-9][\w.-]*\s*$",
        "description": "the label of a claim, a section, a figure or a table",
    },
}
_ANSWER = {
    "answer": {"type": ["string", "number"], "pattern": r"\S", "description": "a Python expression"},
    "key": _NUMBER,
    "why": _TEXT,
}
_LINE = {"type": "integer", "minimum": 1, "description": "the number of a line of the listing, from 1"}
ITEMS = {
    "choice": _object(
        "a choice",
        _ITEM | {"options": _list(_object("an option", {"text": _TEXT, "why": _TEXT}, {"right": _TRUTH}), 3)},
        {"several": _TRUTH},
    ),
    "number": _object(
        "a number",
        _ITEM | _ANSWER | {"wrong": _list(_object("a wrong number", _ANSWER), 1)},
        {
            "within": {
                "type": "number",
                "format": "finite",
                "minimum": 0,
                "maximum": 0.2,
                "description": "a relative tolerance from 0 to 0.2",
            },
            "unit": _TEXT,
        },
    ),
    "order": _object("an order", _ITEM | {"steps": _list(_object("a step", {"text": _TEXT, "why": _TEXT}), 3)}),
    "bug": _object(
        "a bug",
        _ITEM
        | {
            "code": _TEXT,
            "options": _list(_object("an option", {"line": _LINE, "why": _TEXT}, {"right": _TRUTH}), 3),
            "repair": _object("a repair", {"line": _LINE, "text": _TEXT}),
            "shows": _TEXT,
        },
    ),
}
"""The schema of a quiz item by its kind."""
DRILL = _object(
    "a drill",
    {
        "name": _name(),
        "title": _TEXT,
        "topic": _one_of(TOPICS),
        "tier": {"enum": [*TIERS], "description": "1, 2 or 3"},
        "kind": _TEXT,
        "minutes": {"type": "integer", "minimum": 1, "description": "a whole number"},
    },
)
FORMULA = _object("a formula", {"id": _name()} | dict.fromkeys(("group", "name", "latex", "say", "link"), _TEXT))
TERM = _object(
    "a term",
    {"name": _TEXT, "aliases": _list(_TEXT, 1)},
    {
        **{"label": _TEXT, "questions": _list(_name("q-"), 1), "exercises": _list(_name("exr-"), 1)},
        "see": _list(_TEXT, 1),
    },
)
SHEET_GROUP = _object("a group of the sheet", {"title": _TEXT, "questions": _list(_name("q-"), 1)})
_FORMATS = FormatChecker(formats=())


@_FORMATS.checks("finite")
def _is_finite(value: object) -> bool:
    return not isinstance(value, int | float) or math.isfinite(value)


def check(entry: object, schema: Mapping[str, object], where: str) -> None:
    """Hold an entry to its schema.

    Args:
        entry: what a file holds.
        schema: one of this module.
        where: what to name in a message: the file and the line or the entry.

    Raises:
        ValueError: it breaks a rule; the message has every rule that it breaks.
    """
    errors = Draft202012Validator(schema, format_checker=_FORMATS).iter_errors(entry)
    wrong = [_rule(error) for error in sorted(errors, key=lambda error: [*map(str, error.absolute_path)])]
    if wrong:
        raise ValueError(f"{where}: {'; '.join(dict.fromkeys(wrong))}.")


def _rule(error: ValidationError) -> str:
    """Say which rule an entry breaks, in our words."""
    schema, value = error.schema, error.instance
    if error.validator in ("required", "additionalProperties"):
        missing = [name for name in schema["required"] if name not in value]
        unknown = [str(name) for name in value if name not in schema["properties"]]
        parts = [f"misses {', '.join(missing)}"] * bool(missing) + [f"has an unknown {', '.join(unknown)}"] * bool(
            unknown
        )
        return f"{schema['title']} has {', '.join(schema['properties'])}: this one {' and '.join(parts)}"
    names = [f"number {part + 1}" if isinstance(part, int) else part for part in error.absolute_path]
    return f"{', '.join(names) or schema['title']} is {schema['description']}: got {value!r}"


def refuse_doubles(names: Iterable[str], where: str) -> None:
    """Refuse a name that stands twice.

    Raises:
        ValueError: two entries have one name.
    """
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"{where}: each entry has a name of its own: got {name} twice. Rename or remove one.")
        seen.add(name)
