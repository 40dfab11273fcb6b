"""What comes of running an answer: an outcome for each case, and how a wrong or a missing answer is told."""

from dataclasses import dataclass

from companion.practice.budget import NO_COST, Cost

WRONG_AGAIN = (
    "This case was right at first. Run once more, after the others, it was not: your function keeps something from one "
    "call to the next. Let each call depend on its arguments alone."
)
OVERWRITTEN = (
    "Your result was right, and a later call changed it: your function hands out memory into which it writes again. "
    "Make a new tensor in each call."
)
OTHER_MEMORY = (
    "This case was right at first. Run once more, with the same numbers in tensors that are not contiguous (as after a "
    "transpose) and that held other numbers in the call before, it was not. Read tensors by their axes and not by "
    "their order in memory, with `reshape` in place of `view`, and keep nothing from one call to the next."
)
SIZES_MEET = (
    "All other cases are right, and here sizes are equal that differ there. Look for a transpose, a reshape or a "
    "broadcast that finds its axis by the size."
)
SIZE_OF_ONE = (
    "All other cases are right, and here a size is 1 that is larger there. Look for a `squeeze` without an axis, or a "
    "broadcast."
)
NO_GRADIENT = (
    "A model is trained through this function: stay in torch, without `.detach()`, `.item()`, `.numpy()` and "
    "`no_grad()`, and make no new tensor from numbers of the arguments."
)
NAN_GRADIENT = (
    "NaN comes back from a step whose result is replaced later: what a `where`, a mask or `nan_to_num` hides gets the "
    "gradient 0, and 0 times infinity is NaN. Replace what is infinite before that step, and hide scores with "
    "`masked_fill` rather than by adding minus infinity."
)
SETTING = (
    "Every case is right, but your function changed the {name} of torch, which all code after it shares. Give a dtype "
    "or a generator to the call that needs it, and use `with torch.no_grad():` where gradients are to be off."
)


class WrongAnswer(AssertionError):
    """An answer that fails a case.

    Attributes:
        exercise: name of the exercise.
        case: number of the first case that fails, from 1.
        mistake: name of the mistake recognised, or ``None``; two names with a plus between them, where it took both.
        pattern: name of what the wrong results have in common, where no mistake was recognised, or ``None``.
    """

    def __init__(
        self, message: str, exercise: str, case: int, mistake: str | None = None, pattern: str | None = None
    ) -> None:
        super().__init__(message)
        self.exercise, self.case, self.mistake, self.pattern = exercise, case, mistake, pattern

    def _render_traceback_(self) -> list[str]:
        """Show the message alone in a notebook: it names the reader's lines, and the others are the checker's."""
        return f"{type(self).__name__}: {self}".splitlines()


class NotAnswered(Exception):
    """The function is still the stub; the message, if any, says what it does instead of answering."""


@dataclass(frozen=True)
class Outcome:
    """What a function did with a case: returned a value, raised, was refused, or changed an argument; what it cost."""

    value: object = None
    error: Exception | None = None
    changed: str | None = None
    cost: Cost = NO_COST
    excess: str | None = None
    refusal: str | None = None
