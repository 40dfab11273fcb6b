"""Tell code that was handed over for repair from code that was changed."""

import ast
import inspect
import textwrap
from collections.abc import Callable


def is_unchanged(broken: Callable[..., object] | None, function: Callable[..., object]) -> bool:
    """Whether an answer is still the code that was handed over for repair.

    Args:
        broken: that code, or ``None`` where an exercise hands over none.
        function: the reader's answer.

    Returns:
        Whether the two say the same; the function's name, comments, layout and annotations do not count. Where the
        source of one cannot be found the answer is no.
    """
    if broken is None:
        return False
    given, mine = statements(_source(broken)), statements(_source(function))
    return given is not None and given == mine


def statements(source: str) -> str | None:
    """Write down what a function does, without its name, annotations and docstring.

    Args:
        source: text with one function definition, which may be indented.

    Returns:
        Its parameters and its body; ``None`` where the text does not begin with such a definition.
    """
    try:
        tree = ast.parse(textwrap.dedent(source))
    except SyntaxError:
        return None
    if not tree.body or not isinstance(tree.body[0], ast.FunctionDef):
        return None
    function = tree.body[0]
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    names = [argument.arg for argument in function.args.args]
    return "\n".join([", ".join(names), *map(ast.dump, body)])


def _source(function: Callable[..., object]) -> str:
    try:
        return inspect.getsource(inspect.unwrap(function))
    except (OSError, TypeError):
        return ""
