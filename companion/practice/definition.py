"""What an exercise is made of: cases to try, a reference, and named mistakes with a diagnosis each."""

import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import FunctionType, ModuleType

import torch
from torch import Tensor
from torch._ops import OpOverloadPacket

from companion.book.model import TIERS
from companion.practice.budget import NO_BUDGET, Budget
from companion.practice.compare import TOLERANCE
from companion.practice.meetings import meetings
from companion.practice.trial import answering


@dataclass(frozen=True)
class Case:
    """Arguments to try an answer on; ``note`` says what is special about them."""

    arguments: tuple[object, ...]
    note: str = ""


@dataclass(frozen=True)
class Edit:
    """A change to the text of a right answer: ``new`` takes the place of ``old``, which stands there exactly once.

    ``of`` is the helper that is changed, where that is not the reference itself.
    """

    old: str
    new: str
    of: Callable[..., object] | None = None


Wrong = Callable[..., object] | Edit | tuple[Edit, ...]


@dataclass(frozen=True, repr=False)
class Mistake:
    """A named wrong answer: how the mistake is made, and what a reader who made it is told.

    ``wrong`` is an edit of the reference, or several that belong together, or a function of its own. ``also`` holds
    other ways to make the same mistake whose results differ from those of ``wrong``.
    """

    name: str
    wrong: Wrong
    diagnosis: str
    also: tuple[Wrong, ...] = ()

    def __repr__(self) -> str:
        return f"Mistake({self.name!r})"


@dataclass(frozen=True, repr=False)
class Exercise:
    """An exercise: what is right, what goes wrong, and how to tell.

    Args:
        name: how the reader calls it, in lower case with hyphens.
        title: for people.
        chapter: name of the page on which it stands.
        reference: a right answer. Its parameters name the arguments in messages.
        cases: makes the cases, the smallest first, the same at each call.
        tested: one line on what the cases cover, printed with a right answer.
        mistakes: at least four named wrong answers.
        hints: exactly three: a nudge, a direction, almost there.
        level: 1 for a warm-up, 2 for the core, 3 for the hard ones.
        place: among the exercises of its page, from 1; those of one place stand in the order of their files.
        returns: names of the results where there are several.
        tolerance: largest difference allowed per dtype.
        minutes: how long it may take, an estimate; 0 takes it from the level.
        topic: name of the chapter whose subject it practises, where that is not the page on which it stands.
        budget: what an answer may cost, from the arguments of a case; ``None`` sets no limits.
        broken: the code that is handed over for repair, in place of an empty stub.
        forbidden: operators of torch that an answer may not call, or ``torch.autograd``, as in
            :mod:`companion.practice.forbidden`.
        exact_zeros: whether an entry that is 0 in the reference's result must be exactly 0.
        same_dtype: whether results must have the dtypes of the reference's, and whole numbers be of Python's type
            ``int``, where the statement says which; else any float does for a float, and any whole number for a whole
            number.
        trial: what the check does with an answer, from the answer and a case's arguments, where that is not one call;
            :mod:`companion.practice.trial`. Its parameters then name the arguments of a case.
        gradients: names of the arguments that gradients must reach from the one tensor that is returned, where the
            statement says so and there is no trial.
        fixed: the arguments whose sizes stay as the cases have them, where the check looks for sizes that are equal by
            chance: those that follow from other arguments, or whose entries must all differ, or must sum to 1.
        may_change: the arguments that an answer may change in a trial, such as a cache whose form is its own.

    Raises:
        ValueError: not three hints, fewer than four mistakes, two mistakes of one name, or no such level.
    """

    name: str
    title: str
    chapter: str
    reference: Callable[..., object]
    cases: Callable[[], Sequence[Case]]
    tested: str
    mistakes: tuple[Mistake, ...]
    hints: tuple[str, ...]
    level: int
    place: int
    returns: tuple[str, ...] = ()
    tolerance: Mapping[torch.dtype, float] = field(default_factory=lambda: TOLERANCE)
    minutes: int = 0
    topic: str = ""
    budget: Callable[..., Budget] | None = None
    broken: Callable[..., object] | None = None
    forbidden: tuple[OpOverloadPacket | ModuleType, ...] = ()
    exact_zeros: bool = False
    same_dtype: bool = False
    trial: Callable[..., object] | None = None
    gradients: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    may_change: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.hints) != 3:
            raise ValueError(f"an exercise has three hints: {self.name!r} has {len(self.hints)}. Add or join some.")
        names = [mistake.name for mistake in self.mistakes]
        if len(names) < 4 or len(set(names)) < len(names):
            raise ValueError(
                f"an exercise names at least four different mistakes: {self.name!r} has {names}. Add or rename some."
            )
        if self.level not in TIERS:
            raise ValueError(f"a level is 1, 2 or 3: {self.name!r} has {self.level}. Use these.")

    def __repr__(self) -> str:
        return f"Exercise({self.name!r}: {self.title})"

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the arguments of a case, in order."""
        names = tuple(inspect.signature(self.trial or self.reference).parameters)
        return names[1:] if self.trial else names

    @cached_property
    def meetings(self) -> tuple[Case, ...]:
        """Cases in which sizes are equal that differ in all others, made when this is first asked for."""
        return meetings(self)

    def results(self, function: Callable[..., object], arguments: Sequence[object]) -> object:
        """Give what is compared of an answer: what it returns, or what the trial makes of it.

        Args:
            function: the answer.
            arguments: of a case.

        Returns:
            Its results; where there is a trial, an :class:`companion.practice.trial.Unanswered` or a
            :class:`companion.practice.trial.Refusal` may come instead, and a :class:`companion.practice.trial.Changed`
            where the answer changed an argument that it may not change.
        """
        if not self.trial:
            return function(*arguments)
        names = tuple(inspect.signature(self.reference).parameters)
        return self.trial(answering(function, names, self.may_change), *arguments)

    @cached_property
    def wrong_answers(self) -> dict[str, tuple[Callable[..., object], ...]]:
        """The functions that make each mistake, by its name; edits are applied when this is first asked for."""
        return {
            mistake.name: tuple(self._made(mistake.name, wrong) for wrong in (mistake.wrong, *mistake.also))
            for mistake in self.mistakes
        }

    def _made(self, mistake: str, wrong: Wrong) -> Callable[..., object]:
        edits = (wrong,) if isinstance(wrong, Edit) else wrong
        return edited(self.reference, edits, f"{self.name}, {mistake}") if isinstance(edits, tuple) else edits

    def allowed(self, case: Case) -> Budget:
        """What an answer may cost on a case."""
        return self.budget(*case.arguments) if self.budget else NO_BUDGET

    def describe(self, case: Case) -> str:
        """Shapes, dtype and peculiarity of a case, in one line."""
        parts = [_describe(*pair) for pair in zip(self.parameters, case.arguments, strict=True)]
        dtypes = [str(x.dtype) for x in case.arguments if isinstance(x, Tensor) and x.is_floating_point()]
        parts += [dtypes[0].removeprefix("torch.")] if dtypes else []
        return ", ".join(parts) + (f" ({case.note})" if case.note else "")


def edited(reference: Callable[..., object], edits: Sequence[Edit], name: str) -> Callable[..., object]:
    """Make the function that a reference becomes when its text, or that of a helper, is changed.

    Args:
        reference: a function of a module; it stays as it is.
        edits: the changes, one after the other.
        name: of the exercise and the mistake, for messages and tracebacks.

    Returns:
        A function that sees the names of the reference's module, with the changed helpers in place of the given ones.

    Raises:
        ValueError: the old text of an edit does not stand exactly once where it is to be changed.
    """
    home = inspect.unwrap(reference).__globals__
    space, texts = dict(home), {}
    for edit in edits:
        function = inspect.unwrap(edit.of or reference)
        text = texts.get(function.__name__) or textwrap.dedent(inspect.getsource(function))
        if text.count(edit.old) != 1:
            raise ValueError(
                f"an edit changes text that stands once: in the mistake {name} {edit.old!r} stands "
                f"{text.count(edit.old)} times in {function.__name__}. Give the text as it is now, or more of it."
            )
        texts[function.__name__] = text.replace(edit.old, edit.new)
    for key, value in home.items():  # every function of the module, so that it finds the changed ones
        given = inspect.unwrap(value) if inspect.isfunction(value) else None
        if given and given.__globals__ is home:
            space[key] = FunctionType(given.__code__, space, given.__name__, given.__defaults__, given.__closure__)
            space[key].__kwdefaults__ = given.__kwdefaults__
    for text in texts.values():
        exec(compile(text, f"<{name}>", "exec"), space)
    return space[inspect.unwrap(reference).__name__]


def _describe(name: str, value: object) -> str:
    if isinstance(value, Tensor):
        return f"{name} {tuple(value.shape)}"
    text = repr(value)
    if isinstance(value, list) and len(text) > 1000:  # thousands of merges, say
        text = f"[{value[0]!r}, {value[1]!r}, ..., {value[-1]!r}] of {len(value):,}"
    return f"{name} {text}"
