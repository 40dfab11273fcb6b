"""The base of every interactive figure: an anywidget class with its browser half in a JavaScript file beside it.

An explorer is made once, from numbers that the package computes. What a reader moves (a slider, a choice) is a trait
that Python can read and set; the numbers themselves stay as they were made. The same JavaScript runs in Jupyter, in
Colab and, without a kernel, on the built page (``companion.book.site.explorers``).

A trait is declared once. One with a ``help`` is an argument of its class, by keyword: its name, default and range are
put into the signature and the docstring of the class.
"""

import inspect
import math
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import ClassVar

import anywidget
import traitlets

from companion.book import weights

_HERE = Path(__file__).parent


def _style(*own: Path) -> str:
    """Give the style of a class: the shared one, and of its own those that there are."""
    files = (_HERE / "explorer.css", *own)
    return "\n".join(file.read_text("utf8") for file in files if file.exists())


def _file(own: Path, name: str) -> Path:
    """Find a script beside its class, or beside this file where several chapters use it."""
    return own / name if (own / name).exists() else _HERE / name


class _Checked(traitlets.TraitType):
    """A synchronised trait that refuses with ``ValueError``; ``fixed`` ones cannot change once the explorer is made."""

    info_text = ""

    def __init__(self, default: object = traitlets.Undefined, *, fixed: bool = False, **kwargs: object) -> None:
        super().__init__(default, **kwargs)
        self.fixed = fixed
        self.tag(sync=True)

    def validate(self, obj: "Explorer", value: object) -> object:
        """Check a value, as traitlets asks on every assignment."""
        if self.fixed and obj._made:
            raise ValueError(
                f"{self.name} is fixed when the figure is made: got a new value for {self.name} of "
                f"{type(obj).__name__}. Make a new {type(obj).__name__} instead."
            )
        return self._check(value, obj)

    def _check(self, value: object, obj: "Explorer") -> object:
        raise NotImplementedError


class Numbers(_Checked):
    """Nested lists of finite numbers, from a tensor, an array or lists, rounded to ``digits`` decimals.

    ``None`` may stand for an entry that does not exist; ``words`` lets text stand among the numbers. A kernel would
    store NaN and infinity as words.
    """

    def __init__(
        self, default: Sequence | dict = (), *, digits: int = 6, words: bool = False, **kwargs: object
    ) -> None:
        super().__init__(default, **kwargs)
        self.digits, self.words = digits, words

    def _check(self, value: object, obj: "Explorer") -> list | dict:
        return self._round(value.tolist() if hasattr(value, "tolist") else value)

    def _round(self, value: object) -> object:
        if value is None or isinstance(value, bool) or (self.words and isinstance(value, str)):
            return value
        if isinstance(value, dict):
            return {str(k): self._round(v) for k, v in value.items()}
        if isinstance(value, Iterable) and not isinstance(value, str):
            return [self._round(v.tolist() if hasattr(v, "tolist") else v) for v in value]
        if isinstance(value, int):
            return value
        if not isinstance(value, float) or not math.isfinite(value):
            raise ValueError(
                f"{self.name} holds finite numbers: got {value!r}. Pass the scores before masking, and the mask beside "
                "them."
            )
        return round(value, self.digits) + 0.0  # + 0.0: no minus zero


class Packed(Numbers):
    """A table of numbers that travels as one string a row, so that a notebook keeps it on few lines."""

    def __init__(self, **kwargs: object) -> None:
        super().__init__(**kwargs)
        self.tag(to_json=lambda value, _: _pack(value), from_json=lambda value, _: _unpack(value))


def _pack(value: list) -> list | str:
    return [_pack(v) for v in value] if value and isinstance(value[0], list) else " ".join(f"{v:g}" for v in value)


def _unpack(value: list | str) -> list:
    return [float(v) for v in value.split()] if isinstance(value, str) else [_unpack(v) for v in value]


class Words(_Checked):
    """A list of words to show, at least one."""

    def _check(self, value: object, obj: "Explorer") -> list[str]:
        if isinstance(value, str) or not all(isinstance(v, str) for v in value) or not list(value):
            raise ValueError(f'{self.name} is a list of words: got {value!r}. Write ["the", "cat"], not "the cat".')
        return list(value)


class Text(_Checked):
    """A text that the reader types: of the given characters, at least one of them and at most ``most``."""

    def __init__(self, default: str, symbols: str, most: int, **kwargs: object) -> None:
        super().__init__(default, **kwargs)
        self.symbols, self.most = symbols, most
        self.info_text = f"1 to {most} characters"

    def _check(self, value: object, obj: "Explorer") -> str:
        if not isinstance(value, str) or not 1 <= len(value) <= self.most:
            raise ValueError(f"{self.name} has {self.info_text}: got {value!r}. Write that many.")
        if unknown := sorted({*value} - {*self.symbols}):
            raise ValueError(f"{self.name} has characters of {self.symbols!r}: got {unknown}. Leave them out.")
        return value


class Choice(_Checked):
    """One of the values that the control offers."""

    def __init__(self, options: Sequence[object], default: object, **kwargs: object) -> None:
        super().__init__(default, **kwargs)
        self.options = tuple(options)
        self.info_text = f"one of {', '.join(map(repr, self.options))}"

    def _check(self, value: object, obj: "Explorer") -> object:
        if value not in self.options or isinstance(value, bool):
            raise ValueError(f"{self.name} is {self.info_text}: got {value!r}. Use one of these.")
        return self.options[self.options.index(value)]


class Real(_Checked):
    """A number within the range of its slider. ``high`` may be a function of the explorer: of what it holds."""

    _kind = "a number"

    def __init__(self, default: float | int, low: float | int, high: float | int | Callable, **kwargs: object) -> None:
        super().__init__(default, **kwargs)
        self.low, self.high = low, high
        self.info_text = f"{self._kind} from {low}" + ("" if callable(high) else f" to {high}")

    def _check(self, value: object, obj: "Explorer") -> float | int:
        high = self.high(obj) if callable(self.high) else self.high
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number or not self.low <= value <= high:
            raise ValueError(
                f"{self.name} is {self._kind} from {self.low} to {high}: got {value!r}. Use one within the range."
            )
        return float(value)


class Whole(Real):
    """A whole number within the range of its slider."""

    _kind = "a whole number"

    def _check(self, value: object, obj: "Explorer") -> int:
        if not isinstance(value, int):
            raise ValueError(f"{self.name} is {self.info_text}: got {value!r}. Round it.")
        return int(super()._check(value, obj))


class Switch(_Checked):
    """On or off."""

    def _check(self, value: object, obj: "Explorer") -> bool:
        if not isinstance(value, bool):
            raise ValueError(f"{self.name} is True or False: got {value!r}. Use one of the two.")
        return value


class Title(_Checked):
    """The line above the figure."""

    def __init__(self, default: str) -> None:
        super().__init__(default, help="the figure's title")

    def _check(self, value: object, obj: "Explorer") -> str:
        if not isinstance(value, str):
            raise ValueError(f"{self.name} is the figure's title: got {value!r}. Write it in quotes.")
        return value


class Explorer(anywidget.AnyWidget):
    """Base class: one JavaScript file, the shared helpers and style, finite numbers, a repr that stays the same.

    A subclass names its file in ``_js``. The file holds one ``export default { render }`` and no imports: the helpers
    of ``shared.js`` are put in front of it when the class is created; where ``_js`` names several files, they are put
    together, that with ``render`` last. A ``.css`` file named like one of them, where there is one, follows the shared
    style; two that look alike name one file in ``_sheet``.

    What a figure is made of comes as parameters of the subclass's ``__init__``, explained under ``Args`` in the
    docstring of the class. The ``**traits`` of ``__init__`` are the traits with a ``help``, which explain themselves.
    """

    _js: ClassVar[str | tuple[str, ...]]
    _sheet: ClassVar[str] = ""
    _declared: ClassVar[dict[str, _Checked]]
    _made = False

    label = Title("")

    def __init_subclass__(cls, **kwargs: object) -> None:
        """Join what is shared and the class's own files, and put the traits into signature and docstring."""
        if "_js" in vars(cls):  # not in the class that anywidget derives for each explorer
            own = Path(sys.modules[cls.__module__].__file__).parent
            names = (cls._js,) if isinstance(cls._js, str) else cls._js
            files = [_HERE / "shared.js", *(_file(own, name) for name in names)]
            cls._esm = "\n".join(file.read_text("utf8") for file in files)
            sheets = [cls._sheet] if cls._sheet else [Path(name).with_suffix(".css").name for name in names]
            cls._css = _style(*(_file(own, sheet) for sheet in sheets))
            found = [(name, value) for base in cls.__mro__ for name, value in vars(base).items()]
            cls._declared = {name: getattr(cls, name) for name, value in found if isinstance(value, _Checked)}
            _explain(cls)
        super().__init_subclass__(**kwargs)

    def __new__(cls, *given: object, **named: object) -> "Explorer":
        """Refuse what the signature does not have."""
        try:
            cls.__signature__.bind(*given, **named)
        except TypeError as error:
            raise TypeError(f"{cls.__name__}: {error}. It takes {', '.join(cls.__signature__.parameters)}.") from None
        return super().__new__(cls, *given, **named)

    def __init__(self, **traits: object) -> None:
        # In the order of the class, so that a range may depend on what stands before.
        super().__init__(**{name: traits[name] for name in sorted(traits, key=list(self._declared).index)})
        self._made = True

    def __repr__(self) -> str:
        """Name and sizes, without a memory address: the notebooks compare it."""
        return f"{type(self).__name__}({self._about()})"

    def _about(self) -> str:
        return ""


def _explain(cls: type[Explorer]) -> None:
    """Add the traits that are arguments to the signature and to the docstring of a class."""
    parameter = inspect.Parameter
    own = [p for p in inspect.signature(cls.__init__).parameters.values() if p.kind is not parameter.VAR_KEYWORD][1:]
    names = {p.name for p in own}
    traits = {name: trait for name, trait in cls._declared.items() if trait.help and name not in names}
    moved = [
        parameter(name, parameter.KEYWORD_ONLY, default=trait.default_value, annotation=type(trait.default_value))
        for name, trait in traits.items()
    ]
    cls.__signature__ = inspect.Signature([*own, *moved])
    text, raises, rest = inspect.cleandoc(cls.__doc__).partition("\n\nRaises:\n")
    lines = [text if "\nArgs:\n" in text else f"{text}\n\nArgs:"]
    for name, trait in traits.items():
        rule = f" ({trait.info_text})" if trait.info_text else ""
        line = f"{name}: {trait.help}{rule}." + ("" if trait.fixed else " Can be set later.")
        lines.append(textwrap.fill(line, 92, initial_indent=" " * 4, subsequent_indent=" " * 8))
    cls.__doc__ = "\n".join(lines) + raises + rest


class ModelExplorer(Explorer):
    """Base of a figure that opens a trained model: a page has its weights in a static file, a notebook in its kernel.

    A subclass names the file of weights in ``_weights``, and has ``opened.js`` behind ``tensors.js`` in ``_js``. One
    that takes a model of the reader's gives its bytes as ``own``; it needs a kernel. Code goes without comment lines.
    """

    _weights: ClassVar[Path]
    file = Words(fixed=True)

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        if "_js" in vars(cls):
            cls._esm = re.sub(r"^ *//.*\n", "", cls._esm, flags=re.MULTILINE)

    def __init__(self, *, own: bytes | None = None, **traits: object) -> None:
        self._packed = self._weights.read_bytes() if own is None else own
        file = weights.name_of("own" if own else self._weights.stem, self._packed), weights.size(self._packed)
        super().__init__(file=file, **traits)
        self.on_msg(self._answer)

    def _answer(self, _: object, content: object, buffers: object) -> None:
        if content == "weights":
            self.send("weights", [self._packed])
