"""The named mistakes of all exercises: each gets its own diagnosis, and nothing else gets one."""

import itertools
import re

import pytest
import torch

from companion.practice.compare import TOLERANCE, difference
from companion.practice.definition import Edit, edited
from tests.tools.practice import ALL, BY_NAME, one_line, outcomes, refused, run_once, wanted
from tests.tools.right_answers import AS_WRITTEN

pytestmark = pytest.mark.usefixtures("mistakes_run_once")
quiet = pytest.mark.filterwarnings("ignore:The use of `x.T`:UserWarning")  # one of the mistakes


MISTAKES = [
    pytest.param(exercise, mistake, function, id=f"{exercise.name}-{mistake.name}-{number}")
    for exercise in BY_NAME.values()
    for mistake in exercise.mistakes
    for number, function in enumerate(exercise.wrong_answers[mistake.name])
]


@quiet
@pytest.mark.parametrize(("exercise", "mistake", "function"), MISTAKES)
def test_a_named_mistake_gets_its_own_diagnosis(exercise, mistake, function):
    error = refused(exercise, function)
    assert error.mistake == mistake.name
    assert mistake.diagnosis in one_line(error)
    assert not slips(exercise, function), "a mistake fails for its own reason, not for a name that its text lacks"


def slips(exercise, function):
    """Errors of a name that a function uses and does not have."""
    errors = [run_once(exercise, function, case).error for case in exercise.cases()]
    return [error for error in errors if isinstance(error, NameError | SyntaxError)]


def test_a_mistake_that_fails_for_a_missing_name_is_seen():
    exercise = BY_NAME["scaled-scores"]
    assert slips(exercise, edited(exercise.reference, (Edit("math.sqrt", "maths.sqrt"),), "misspelt"))
    assert not slips(exercise, exercise.reference)


def behaviour(exercise, mistake):
    """The results of a mistake on all cases, with the text of an error in place of a result."""
    made = outcomes(exercise.name, exercise.wrong_answers[mistake.name][0])
    return [str(outcome.error) if outcome.error else outcome.value for outcome in made]


def only_costs(exercise, mistake):
    """Whether a mistake gives the right results and is refused for what they cost."""
    return exercise.budget and all(map(agree, behaviour(exercise, mistake), wanted(exercise.name)))


def agree(one, other):
    if isinstance(one, str) or isinstance(other, str):  # an error
        return isinstance(one, str) and isinstance(other, str) and one == other
    return difference(one, other) is None


@quiet
@pytest.mark.parametrize("exercise", ALL)
def test_no_two_mistakes_are_the_same_everywhere(exercise):
    for one, other in itertools.combinations(exercise.mistakes, 2):
        pairs = zip(behaviour(exercise, one), behaviour(exercise, other), strict=True)
        assert not all(agree(*pair) for pair in pairs), f"{one.name} and {other.name}"


@quiet
@pytest.mark.parametrize("exercise", ALL)
def test_the_tolerance_is_far_below_the_mildest_mistake(exercise):
    wants = wanted(exercise.name)
    wide = {dtype: 100 * tolerance for dtype, tolerance in TOLERANCE.items()}
    for mistake in exercise.mistakes:
        results = behaviour(exercise, mistake)
        pairs = [pair for pair in zip(results, wants, strict=True) if not isinstance(pair[0], str)]
        wrong = len(pairs) < len(wants) or any(difference(*pair, wide) for pair in pairs)
        assert wrong or only_costs(exercise, mistake), mistake.name


@quiet
@pytest.mark.parametrize(
    ("name", "mistake", "function"),
    [pytest.param(*row, id=f"{row[0]}-{row[1]}-{number}") for number, row in enumerate(AS_WRITTEN)],
)
def test_a_mistake_is_recognised_when_written_differently(name, mistake, function):
    assert refused(BY_NAME[name], function).mistake == mistake


def shape_only(exercise, make):
    """Answer with the right shapes and dtypes and with numbers from elsewhere."""

    def remade(want):
        if want is None:
            return None
        return tuple(map(remade, want)) if isinstance(want, tuple) else make(want)

    return lambda *arguments: remade(exercise.reference(*arguments))


NONSENSE = {
    "halves": lambda want: torch.full_like(want, 0.5),
    "noise": lambda want: torch.rand(want.shape, generator=torch.Generator().manual_seed(9)).to(want.dtype),
    "shifted": lambda want: want.roll(1) if want.dtype == torch.bool else want + 0.25,
    "squared": lambda want: ~want.flip(-1) if want.dtype == torch.bool else want.square() + 1e-3,
}


@pytest.mark.parametrize("make", [pytest.param(make, id=name) for name, make in NONSENSE.items()])
@pytest.mark.parametrize("exercise", ALL)
def test_an_answer_that_no_mistake_explains_gets_no_diagnosis(exercise, make):
    assert refused(exercise, shape_only(exercise, make)).mistake is None


@pytest.mark.parametrize("exercise", ALL)
def test_no_diagnosis_names_a_size(exercise):
    """A diagnosis stands under whatever case fails first, and cases differ in their sizes."""
    for mistake in exercise.mistakes:
        assert not re.search(r"\b(width|length|size) \d", mistake.diagnosis.replace("length 1 ", "")), mistake.name
