r"""Evaluate a formula as it is shown: the part of LaTeX that the formula sheet uses. Page: book/interview/formulas.

Names side by side are multiplied, matrices as matrices; ``\odot`` multiplies entry by entry; an index starts at 1.
"""

import functools
import re
from collections.abc import Callable, Mapping

import torch

from companion.chapters.interview.formulas.values import BUILT_IN, Value, index, power, product, tensor

__all__ = ["RELATIONS", "evaluate", "plain", "tokens", "trace"]

RELATIONS = ("=", r"\le", r"\ge")
_SKIP = re.compile(r"\\(left|right|[bB]ig+[lrm]?|displaystyle|mathcal|mathbf|[!,;: ])|~|\s+")
_TOKEN = re.compile(r"\\(?:operatorname|text|mathrm)\{(?P<word>[^}]*)\}|\\[a-zA-Z]+|\\\\|\d+(?:\.\d+)?|.")
_PAIRS = {"(": ")", "[": "]", r"\lVert": r"\rVert", r"\lvert": r"\rvert", r"\lfloor": r"\rfloor", r"\lceil": r"\rceil"}
_INSIDE = {
    r"\lVert": lambda x: tensor(x).norm(),
    r"\lvert": lambda x: tensor(x).abs(),
    r"\lfloor": lambda x: tensor(x).floor(),
    r"\lceil": lambda x: tensor(x).ceil(),
}
_ENDS = {"", "+", "-", "/", ",", ")", "]", "}", "&", r"\\", r"\cdot", r"\times", r"\odot", r"\end", r"\rangle"}
_COMPARE = {"=": torch.eq, r"\le": torch.le, "<": torch.lt}
_ENDS |= set(_PAIRS.values()) | set(RELATIONS) | {"<"}
_TIMES = {r"\cdot": product, r"\times": product, r"\odot": lambda a, b: tensor(a) * tensor(b)}
_PLUS = {"+": lambda a, b: tensor(a) + tensor(b), "-": lambda a, b: tensor(a) - tensor(b)}
_TIMES["/"] = lambda a, b: tensor(a) / tensor(b)

_LONGEST = 12  # tokens of a name

Code = Callable[[Mapping[str, Value]], Value]


def tokens(text: str) -> list[str]:
    r"""Cut LaTeX into names, numbers and signs; what only moves or sizes them is left out.

    >>> tokens(r"\left(\frac{x_i}{d_{\text{model}}}\right)")
    ['(', '\\frac', '{', 'x', '_', 'i', '}', '{', 'd', '_', '{', 'model', '}', '}', ')']
    """
    found = []
    place = 0
    while place < len(text):
        if skipped := _SKIP.match(text, place):
            place = skipped.end()
            continue
        token = _TOKEN.match(text, place)
        found.append(token[0] if token["word"] is None else token["word"])
        place = token.end()
    return found


def plain(found: list[str]) -> str:
    r"""Write a name without braces and backslashes: ``\hat m_{t}`` is ``hatm_t``."""
    return "".join(token.lstrip("\\") for token in found if token not in "{}")


def evaluate(text: str, names: Mapping[str, Value]) -> Value:
    r"""Evaluate an expression.

    >>> float(evaluate(r"\frac{1}{2} \sum_{i=1}^{3} i^2", {}))
    7.0

    Args:
        text: LaTeX without a relation.
        names: the value of each name: a number, a tensor, a function, or the range of an index. A name is written as
            ``plain`` writes it.

    Returns:
        The value; from a formula of numbers a tensor without axes.

    Raises:
        ValueError: a sign is unknown, a name has no value, or something is left over.
    """
    return trace(text, names)[0]


def trace(text: str, names: Mapping[str, Value]) -> tuple[Value, set[str]]:
    """Evaluate an expression as :func:`evaluate` does, and return the names that stand in it as well.

    Args:
        text: LaTeX without a relation.
        names: the value of each name.

    Returns:
        The value, and the names.

    Raises:
        ValueError: as in :func:`evaluate`.
    """
    parser = _Parser(tokens(text), BUILT_IN | dict(names))
    try:
        code = parser.sum()
        if parser.next:
            raise ValueError(f"{parser.next!r} was not expected")
        return code(parser.names), parser.used
    except (ValueError, RuntimeError) as error:  # torch refuses shapes by a RuntimeError
        raise ValueError(f"cannot evaluate {text!r}: {error}") from error


def _apply(function: Callable[..., Value], *codes: Code) -> Code:
    return lambda env: function(*(code(env) for code in codes))


class _Parser:
    """Read tokens once, from left to right; each method returns a function of the values of all names."""

    def __init__(self, found: list[str], names: Mapping[str, Value]) -> None:
        self.tokens, self.names, self.place = found, dict(names), 0
        self.used: set[str] = set()

    @property
    def next(self) -> str:
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def take(self, *wanted: str) -> str:
        """Go one token on, which must be one of those wanted."""
        token = self.next
        if not token or (wanted and token not in wanted):
            raise ValueError(f"{' or '.join(wanted) or 'something'} was expected: got {token or 'the end'!r}")
        self.place += 1
        return token

    def sum(self) -> Code:
        negative = self.next in _PLUS and self.take() == "-"
        code = self.term()
        if negative:
            code = _apply(lambda value: -tensor(value), code)
        while self.next in _PLUS:
            code = _apply(_PLUS[self.take()], code, self.term())
        return code

    def term(self) -> Code:
        code = self.run()
        while self.next in _TIMES:
            code = _apply(_TIMES[self.take()], code, self.run())
        return code

    def run(self) -> Code:
        """Read what stands side by side, such as ``2 n d``."""
        code = self.factor()
        while self.next not in _ENDS:
            code = _apply(product, code, self.factor())
        return code

    def factor(self) -> Code:
        if self.next in (r"\sum", r"\prod"):
            return self.series(self.take())
        code = self.atom()
        while self.next in ("^", "_"):
            if self.take() == "_":
                code = _apply(index, code, self.places())
            elif self.next == r"\top":
                self.take()
                code = _apply(lambda value: tensor(value).mT, code)
            else:
                code = _apply(power, code, self.group())
        return code

    def group(self) -> Code:
        """Read an argument: one in braces, or a single name or number."""
        if self.next != "{":
            return self.atom()
        self.take("{")
        code = self.sum()
        self.take("}")
        return code

    def places(self) -> Callable[[Mapping[str, Value]], tuple[Value, ...]]:
        """Read an index: ``i``, ``{ij}`` or ``{t-1}``."""
        if self.next != "{":
            codes = [self.atom()]
        else:
            self.take("{")
            codes = [self.one_place()]
            while self.next != "}":
                codes.append(self.one_place())
            self.take("}")
        return lambda env: tuple(code(env) for code in codes)

    def one_place(self) -> Code:
        code = self.atom()
        while self.next in _PLUS:
            code = _apply(_PLUS[self.take()], code, self.atom())
        return code

    def series(self, sign: str) -> Code:
        """Read a sum or a product over an index, with limits or over the range that the index has as a name."""
        self.take("_")
        inside = self.next == "{"
        name, limits = self.take() if not inside else "", None
        if inside:
            self.take("{")
            name = self.take()
            if self.next == "=":
                self.take()
                limits = [self.sum()]
            self.take("}")
        if limits:
            self.take("^")
            limits.append(self.group())
        elif not isinstance(self.names.get(name), range):
            raise ValueError(f"the sum over {name} has no limits, and {name} has no range")
        known = self.names
        self.names = {**known, name: 1}
        body = self.term()
        self.names = known

        def code(env: Mapping[str, Value]) -> Value:
            over = env[name] if limits is None else range(int(limits[0](env)), int(limits[1](env)) + 1)
            values = [tensor(body({**env, name: number})) for number in over]
            return functools.reduce(torch.add if sign == r"\sum" else product, values)

        return code

    def atom(self) -> Code:
        if (name := self.name()) is not None:
            self.used.add(name)
            if callable(self.names[name]) and not isinstance(self.names[name], torch.Tensor):
                return self.call(name)
            return lambda env: env[name]
        token = self.take()
        if re.fullmatch(r"\d+(\.\d+)?", token):
            return lambda env: float(token)
        if token in (r"\frac", r"\tfrac"):
            return _apply(_TIMES["/"], self.group(), self.group())
        if token == r"\sqrt":
            return _apply(lambda value: tensor(value).sqrt(), self.group())
        if token == r"\langle":
            left, _, right, _ = self.sum(), self.take(","), self.sum(), self.take(r"\rangle")
            return _apply(lambda a, b: (tensor(a) * tensor(b)).sum(), left, right)
        if token == r"\begin":
            return self.matrix()
        if token in _PAIRS or token == "{":
            return self.bracket(token)
        raise ValueError(f"{token!r} has no value")

    def name(self) -> str | None:
        """Read the longest name that has a value; its braces close within it."""
        best, end, depth = None, self.place, 0
        for stop, token in enumerate(self.tokens[self.place :], self.place + 1):
            depth += (token == "{") - (token == "}")
            if depth < 0 or (token in _ENDS - {"}"} and depth == 0) or stop - self.place > _LONGEST:
                break
            part = self.tokens[self.place : stop]
            if depth == 0 and plain(part) in self.names and token not in ("_", "^"):
                best, end = plain(part), stop
        self.place = end
        return best

    def call(self, name: str) -> Code:
        if self.next == "(":
            self.take()
            arguments = [self.sum()]
            while self.next == ",":
                self.take()
                arguments.append(self.sum())
            self.take(")")
        else:
            before = self.place
            arguments = [self.factor()]
            while self.next not in _ENDS and not self.starts_call(before):
                arguments = [_apply(product, arguments[0], self.factor())]
        return lambda env: env[name](*(argument(env) for argument in arguments))

    def starts_call(self, before: int) -> bool:
        """Tell whether the argument of a function without brackets ends: a function or a bracket follows."""
        here, called = self.place, False
        for place in (before, here):
            self.place = place
            name = self.name()
            called |= name is not None and callable(self.names[name])
        self.place = here
        return called or self.next in ("(", "[", r"\sum", r"\prod")

    def bracket(self, opened: str) -> Code:
        code = self.sum()
        if opened == "[" and self.next in _COMPARE:
            compare = _COMPARE[self.take()]
            code = _apply(lambda a, b: compare(tensor(a), tensor(b)).double(), code, self.sum())
        self.take(_PAIRS.get(opened, "}"))
        return _apply(_INSIDE.get(opened, lambda value: value), code)

    def matrix(self) -> Code:
        for part in ("{", *"pmatrix", "}"):
            self.take(part)
        rows = [[self.sum()]]
        while self.next != r"\end":
            if self.take("&", r"\\") == "&":
                rows[-1].append(self.sum())
            else:
                rows.append([self.sum()])
        for part in (r"\end", "{", *"pmatrix", "}"):
            self.take(part)
        return lambda env: torch.stack([torch.stack([tensor(entry(env)) for entry in row]) for row in rows])
