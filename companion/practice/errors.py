"""An error in a reader's code, told in words: where it happened, which name was meant, what the message says.

The messages of torch name operations and dimensions; a beginner asks what to look at. Each sentence here holds for
every error with its message, whatever the exercise.
"""

import builtins
import difflib
import inspect
import linecache
import re
from collections.abc import Callable
from types import TracebackType

MEANINGS: tuple[tuple[str, str], ...] = (
    (
        r"mat1 and mat2 shapes cannot be multiplied \(\d+x(\d+) and (\d+)x\d+\)",
        "A matrix product sums over the last axis of the left tensor and the second-last axis of the right one, so the "
        "two have one size: here they are {0} and {1}. Should one of the tensors be transposed?",
    ),
    (
        r"batch2 tensor to be: \[(\d+), (\d+)\] but got: \[\1, (\d+)\]",
        "A matrix product sums over the last axis of the left tensor and the second-last axis of the right one, so the "
        "two have one size: here they are {1} and {2}. Should one of the tensors be transposed?",
    ),
    (
        r"size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\)",
        "Two shapes do not broadcast. Axes are paired from the last one backwards, and the sizes of a pair must be "
        "equal, or one of them 1; here {0} meets {1}. A sum or a maximum over an axis removes it, and all axes before "
        "it move up; `keepdim=True` keeps it with size 1.",
    ),
    (
        r"torch\.return_types\.(max|min|median|mode|sort|topk|kthvalue)\b",
        "Over an axis `{0}` returns two tensors, the values and where they stood. The first is in `.values`.",
    ),
    (
        r"^view size is not compatible with input tensor's size and stride",
        "`view` cannot merge these axes, because their entries do not lie next to one another in memory, as after a "
        "`transpose`. `reshape` copies them where it must. First check that the axes are in the order you mean.",
    ),
    (
        r"^shape '\[([-\d, ]+)\]' is invalid for input of size (\d+)",
        "A new shape must hold the same number of entries: the tensor has {1}, which ({0}) does not hold; -1 stands "
        "for the size that is left. Which axis is missing, or has another size?",
    ),
    (
        r"Boolean value of Tensor with more than one value is ambiguous",
        "Python asks a whole tensor for one True or False, as `if`, `and`, `or`, `not` and the built-in `max` do, and "
        "it holds many entries. Whether there is a mask at all is `mask is not None`; entry by entry there are `&`, "
        "`|`, `~` and `torch.where`.",
    ),
    (
        r"outer: Expected 1-D argument \w+, but got (\d+)-D",
        "`torch.outer` takes two vectors, and this tensor has {0} axes. For many rows at once, make a column of one "
        "factor and a row of the other with a new axis each, and let the product broadcast.",
    ),
    (
        r"^t\(\) expects a tensor with <= 2 dimensions, but self is (\d+)D",
        "`.t()` takes two axes at most, and this tensor has {0}. Swap the two that you mean, counted from the end.",
    ),
    (
        r"tensor\.mT is only supported on matrices.* Got (\d+)-D tensor",
        "`.mT` swaps the last two axes, and this tensor has {0}. A row and a column of a vector are made with a new "
        "axis: `x[..., None, :]` and `x[..., :, None]`.",
    ),
    (
        r"to have the same dtype|must have the same dtype|expected scalar type \w+ but found \w+",
        "A product takes tensors of one dtype and converts none. A new tensor is float32 unless it is told otherwise: "
        "give it the dtype of the arguments.",
    ),
    (
        r"only supports boolean masks|only implemented on integer and Boolean|condition to be a boolean tensor",
        "A tensor of booleans is needed here, and this one holds numbers. A comparison gives booleans, and so does "
        "`dtype=torch.bool`.",
    ),
    (
        r"^(sqrt|rsqrt|exp|log)\(\): argument '\w+' \(position \d\) must be Tensor, not (?:int|float)",
        "`torch.{0}` takes a tensor, and this is a plain number, as the sizes in a shape are. The module `math` is for "
        "numbers.",
    ),
    (
        r"only one element tensors can be converted|only integer tensors of a single element",
        "A tensor of several entries stands where one number is needed. `int`, `float`, `range` and the module `math` "
        "take single numbers; `torch` has functions for tensors, and `torch.stack` joins tensors.",
    ),
    (
        r"Dimension out of range \(expected to be in range of \[(-\d+), (\d+)\], but got (-?\d+)\)",
        "This tensor has no axis {2}: its axes are {0} to {1}. Leading axes change the numbers from the front and "
        "leave those from the end alone.",
    ),
    (
        r"too many indices for tensor of dimension (\d+)",
        "More axes are indexed than the {0} that this tensor has. In an index `...` stands for all the axes that are "
        "not named, however many there are.",
    ),
    (
        r"(?:too many|not enough) values to unpack",
        "On the left of an = stand more or fewer names than there are values. If you take a shape apart: leading axes "
        "come and go, and `x.shape[-1]` counts from the end.",
    ),
    (
        r"'torch\.Size' object is not callable",
        "A shape is no function. Its entries stand in square brackets: `x.shape[-1]`.",
    ),
    (
        r"'builtin_function_or_method' object is not subscriptable",
        "A method needs round brackets: `x.size(-1)`, or `x.shape[-1]` with square ones.",
    ),
    (
        r"softmax\(\) missing 1 required positional arguments?: \"dim\"",
        "A softmax needs to be told its axis, `dim=...`: along which axis do the entries sum to 1?",
    ),
    (
        r"'NoneType'",
        "A value here is None: an argument that was left out, as in `mask=None`, or the result of a function that "
        "returns nothing. Ask `is None` before you use it.",
    ),
    (
        r"^name '(\w+)' is not defined",
        "The name `{0}` has no value when the function runs. Check its spelling, and run the cell that imports or "
        "sets it.",
    ),
)
"""Patterns of messages, and what each of them means; the groups of a pattern fill the numbers in."""

CALLERS = ("companion.practice.definition", "companion.practice.trial")
"""Modules through which the checker calls an answer."""

LONGEST_LINE = 100  # characters of the reader's line that a message quotes


def explain(error: Exception) -> str | None:
    """Say in plain sentences what an error message means.

    Returns:
        The sentences, or ``None`` where the message is not a known one.
    """
    for pattern, sentence in MEANINGS:
        found = re.search(pattern, str(error))
        if found:
            return sentence.format(*found.groups())
    return None


def format_error(error: Exception, function: Callable[..., object]) -> str:
    """Give an error as Python does, with the name that may be meant and the line of the reader's code.

    Args:
        error: caught where the reader's function was called.
        function: the reader's.

    Returns:
        Lines of text.
    """
    text = f"Your code raised {type(error).__name__}: {str(error).rstrip()}"
    close = _close_name(error)
    if close:
        text = f"{text.rstrip('.')}. Did you mean: {close!r}?"
    return "\n".join([text, *_places(error, function)])


def trim_traceback(error: Exception, function: Callable[..., object]) -> None:
    """Cut the traceback of an error down to the reader's own lines, where it has any.

    Args:
        error: caught where the reader's function was called, so that its first step is that call.
        function: the reader's.
    """
    kept = None
    for step in reversed(_own_steps(error, function)):
        kept = TracebackType(kept, step.tb_frame, step.tb_lasti, step.tb_lineno)
    if kept:
        error.__traceback__ = kept


def is_raised_by_name(error: Exception) -> bool:
    """Whether code outside torch raised this error itself, as ``raise NotImplementedError`` does in a stub."""
    last = _steps(error)[-1]
    return type(error).__name__ in last.tb_frame.f_code.co_names and _module(last).partition(".")[0] != "torch"


def _own_steps(error: Exception, function: Callable[..., object]) -> list[TracebackType]:
    """List the steps of a traceback in the namespace of the function: a notebook, with all its cells, is one."""
    steps = _steps(error)[1:]  # the first is the call by the checker
    called = [number for number, step in enumerate(steps, start=1) if _module(step) in CALLERS]
    steps = steps[max(called, default=0) :]
    home = getattr(inspect.unwrap(function), "__globals__", None)
    if home is None and steps:
        home = steps[0].tb_frame.f_globals
    return [step for step in steps if step.tb_frame.f_globals is home]


def _module(step: TracebackType) -> str:
    return step.tb_frame.f_globals.get("__name__", "")


def _steps(error: Exception) -> list[TracebackType]:
    steps, step = [], error.__traceback__
    while step is not None:
        steps.append(step)
        step = step.tb_next
    return steps


def _places(error: Exception, function: Callable[..., object]) -> list[str]:
    """Name the line in which the reader's function stopped, and the one in the innermost helper that it called."""
    own = _own_steps(error, function)
    named = [step for step in own if not step.tb_frame.f_code.co_name.startswith("<")] or own
    return [text for text in map(_place, named[:1] + named[1:][-1:]) if text]


def _place(step: TracebackType) -> str:
    """Name a line by its function and quote it; a lambda has no name to count lines from."""
    code, number = step.tb_frame.f_code, step.tb_lineno
    line = linecache.getline(code.co_filename, number).strip()
    line = line if len(line) <= LONGEST_LINE else line[:LONGEST_LINE] + " ..."
    if code.co_name.startswith("<"):
        return f"In your line `{line}`" if line else ""
    where = f"In line {number - code.co_firstlineno + 1} of {code.co_name}"
    return f"{where}: `{line}`" if line else where


def _close_name(error: Exception) -> str | None:
    """Find the name that a misspelt one may stand for, as Python does when it prints an error."""
    wrong = getattr(error, "name", None)
    if not isinstance(error, AttributeError | NameError) or not wrong or "Did you mean" in str(error):
        return None
    if isinstance(error, AttributeError):
        known = set(dir(error.obj))
    else:
        frame = _steps(error)[-1].tb_frame
        known = {*frame.f_locals, *frame.f_globals, *dir(builtins)}
    known = sorted(name for name in known - {wrong} if wrong.startswith("_") or not name.startswith("_"))
    same = [name for name in known if name.lower() == wrong.lower()]
    return next(iter(same or difflib.get_close_matches(wrong, known, n=1, cutoff=0.75)), None)
