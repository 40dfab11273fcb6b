"""Composed tasks: what ties stages together, whose code a stage builds on, and trials of more than one call."""

import re
from functools import partial
from types import SimpleNamespace

import pytest
import torch

from companion.practice import build_on, check_exercise, exercises, plan, task
from companion.practice.budget import Budget
from companion.practice.catalogue import _records
from companion.practice.checker import NotAnswered, WrongAnswer, check, run_cases
from companion.practice.definition import Case, Mistake
from companion.practice.task import Task
from companion.practice.trial import Refusal, entries, gradients, several, tensor
from tests.tools.practice import BY_NAME, one_line, refused, toy
from tests.tools.right_answers import ALTERNATIVES

TASKS = _records()[1]


def test_tasks_are_found_and_their_stages_are_exercises_of_the_book():
    assert [one.name for one in TASKS][:1] == ["growing-attention"]
    assert len({one.name for one in TASKS}) == len(TASKS)
    known = {exercise.name: exercise for exercise in exercises()}
    for one in TASKS:
        assert all(known[stage.name] is stage for stage in one.stages)
        assert 30 <= one.minutes <= 60


def test_stages_are_in_the_plan_and_say_which_they_are():
    kinds = {step.exercise.name: step.kind for step in plan().steps}
    assert [kinds[stage.name] for stage in TASKS[0].stages] == [f"stage {n} of 4" for n in (1, 2, 3, 4)]
    assert kinds["multi-head"] == "write"


def test_a_task_is_a_table_with_links_and_plain_text_with_titles():
    assert task("growing-attention")._repr_markdown_().splitlines()[2:] == [
        "| 1 | {ref}`exr-grow-heads` | 12 |",
        "| 2 | {ref}`exr-grow-masks` | 8 |",
        "| 3 | {ref}`exr-grow-cache` | 15 |",
        "| 4 | {ref}`exr-grow-groups` | 10 |",
        "| | *together* | 45 |",
    ]
    lines = repr(task("growing-attention")).splitlines()
    assert re.fullmatch(r" +3  Grow a cache +15 min", lines[2])
    assert re.fullmatch(r" +together +45 min", lines[4])
    assert "| 1 | {ref}`task-growing-attention` | 45 |" in task()._repr_markdown_()
    assert "together" not in repr(task())
    with pytest.raises(ValueError, match=r"there is no 'growing'\. There are: growing-attention"):
        task("growing")


def test_a_task_refuses_stages_that_do_not_make_one():
    one, other = toy(minutes=5), toy(name="other", minutes=10)
    assert Task("both", "Both", (one, other)).minutes == 15
    for stages in ((one,), (one, one)):
        with pytest.raises(ValueError, match="two or more different stages: 'both' has"):
            Task("both", "Both", stages)
    with pytest.raises(ValueError, match="a stage says its minutes: 'late' of 'both' has none"):
        Task("both", "Both", (one, toy(name="late")))


@pytest.mark.usefixtures("fresh")
def test_a_stage_builds_on_the_reader_s_code_only_while_it_is_right(capsys):
    right, reference = ALTERNATIVES["grow-heads"][0], BY_NAME["grow-heads"].reference
    assert build_on("grow-heads").__name__ == reference.__name__
    assert capsys.readouterr().out.endswith("you build on the book's answer, since none of yours has passed here.\n")
    check_exercise("grow-heads", right, record=False)
    assert build_on("grow-heads") is not right
    check_exercise("grow-heads", right)
    capsys.readouterr()
    assert build_on("grow-heads") is right
    assert capsys.readouterr().out == f"Attend in several heads: you build on your own {right.__name__}.\n"
    with pytest.raises(WrongAnswer):
        check_exercise("grow-heads", lambda query, key, value, n_heads, allowed: query)
    assert build_on("grow-heads") is not right


@pytest.mark.usefixtures("fresh")
def test_whose_answer_is_built_on_is_said_once_in_a_check_and_again_in_the_next(capsys):
    def mine(*arguments):
        for _ in range(3):
            build_on("grow-heads")
        return 0.0

    for _ in range(2):
        with pytest.raises(WrongAnswer):
            check_exercise("grow-groups", mine)
        assert capsys.readouterr().out.count("you build on the book's answer") == 1
    build_on("grow-heads")
    build_on("grow-heads")
    assert capsys.readouterr().out.count("you build on the book's answer") == 2


def test_the_code_of_a_reader_is_not_written_to_the_file(fresh, tmp_path):
    fresh.keep(tmp_path / "progress.json")
    check_exercise("grow-heads", ALTERNATIVES["grow-heads"][0])
    assert (tmp_path / "progress.json").read_text() == '{\n  "exercises": {\n    "grow-heads": "solved"\n  }\n}\n'
    with pytest.raises(ValueError, match="there is no 'grow-hats'"):
        build_on("grow-hats")


# --- trials ----------------------------------------------------------------------------------------------------------


def twice_in_turn(answer, x, times):
    """Call the answer on its own result."""
    for _ in range(times):
        x, _ = several(answer(x), "double", "old")
        x = tensor(x, 2)
    return x


def tried():
    """An exercise whose trial calls the answer several times: it returns the double and what was given."""
    return toy(
        reference=lambda x: (2 * x, x),
        trial=twice_in_turn,
        cases=lambda: [Case((torch.tensor([1.0, 2.0]), times)) for times in range(3)],
        mistakes=(
            Mistake("thrice", lambda x: (3 * x, x), "You tripled."),
            Mistake("narrow", lambda x: (2 * x[:1], x), "You forgot one."),
            Mistake("single", lambda x: 2 * x, "You forgot the old one."),
            Mistake("square", lambda x: (x * x, x), "You squared."),
        ),
    )


def test_a_trial_calls_the_answer_as_often_as_it_needs_to():
    assert check(tried(), lambda x: [x + x, None]) == 3
    error = refused(tried(), lambda x: (x + x + x, x))
    assert (error.case, error.mistake) == (2, "thrice")
    assert "Case 2 of 3: x (2,), times 1, float32" in one_line(error)


def test_a_trial_refuses_what_it_cannot_use_in_words_and_names_the_mistake():
    error = refused(tried(), lambda x: x + x)
    assert "Your function returned one Tensor; each call returns 2: double, old." in one_line(error)
    assert error.mistake == "single"
    error = refused(tried(), lambda x: (x[:1] + x[:1], x))
    assert "Your output is of shape (1,); a tensor of shape (2,) is expected." in one_line(error)
    assert error.mistake == "narrow"
    assert refused(tried(), lambda x: ("x", x)).mistake is None


def test_a_stub_in_a_trial_is_not_answered_and_a_later_none_is_wrong():
    exercise = toy(
        reference=lambda x: x,
        trial=lambda answer, x: answer(x) + 0.0,
        cases=lambda: [Case((torch.ones(n),)) for n in (1, 2, 3)],
    )
    for nothing in (None, ...):
        with pytest.raises(NotAnswered):
            check(exercise, lambda x, nothing=nothing: nothing)
    error = refused(exercise, lambda x: x if len(x) < 3 else None)
    assert error.case == 3
    assert "you returned None (is a `return` missing?)" in one_line(error)


def test_the_parameters_of_an_answer_are_those_of_the_reference():
    error = refused(tried(), lambda x, times: (2 * x, x))
    assert "the check calls <lambda>(x), but yours takes (x, times)" in one_line(error)


class Raises:
    def __call__(self, x):
        return x.softmax(7), x


def test_an_error_in_a_trial_quotes_the_line_of_the_reader_and_not_that_of_the_trial():
    def mine(x):
        return x.softmax(7), x

    for function, name in ((mine, "mine"), (Raises(), "__call__")):
        text = one_line(refused(tried(), function))
        assert f"In line 2 of {name}: `return x.softmax(7), x`" in text
        assert "twice_in_turn" not in text


def test_an_argument_that_a_trial_shares_with_the_answer_must_stay():
    error = refused(tried(), lambda x: (x.mul_(2), x))
    assert "Your code changed its argument `x` in place" in one_line(error)


def handed(answer, x):
    """Hand over copies, as leaves and in containers, and look at the sum of what comes back."""
    return answer(x.clone().requires_grad_(), [x.clone(), x.clone()], {"a": (x.clone(),)}, {"one"}).detach()


def total(leaf, parts, named, names):
    return leaf.sum() + sum(parts).sum() + named["a"][0].sum() + len(names)


def watching(**settings):
    def plus(added):
        return lambda *given: total(*given) + added

    mistakes = tuple(Mistake(f"plus-{n}", plus(n), f"You added {n}.") for n in range(1, 5))
    cases = [Case((torch.tensor([1.0, 2.0]) + n,)) for n in range(3)]
    return toy(reference=total, trial=handed, cases=lambda: cases, mistakes=mistakes, **settings)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("leaf", lambda leaf, parts, named, names: leaf.data.mul_(2)),
        ("leaf", lambda leaf, parts, named, names: leaf.data.fill_(torch.nan)),
        ("parts", lambda leaf, parts, named, names: parts[1].zero_()),
        ("parts", lambda leaf, parts, named, names: parts.pop()),
        ("parts", lambda leaf, parts, named, names: parts.append(parts[0])),
        ("named", lambda leaf, parts, named, names: named["a"][0].add_(1)),
        ("named", lambda leaf, parts, named, names: named.update(b=1)),
        ("names", lambda leaf, parts, named, names: names.clear()),
    ],
)
def test_a_copy_that_a_trial_hands_over_must_stay_as_well(name, change):
    def changing(*given):
        result = total(*given)
        change(*given)
        return result

    assert check(watching(), total) == 3
    error = refused(watching(), changing)
    assert error.case == 1
    assert f"Your code changed its argument `{name}` in place" in one_line(error)
    assert check(watching(may_change=(name,)), changing) == 3


def test_watching_the_arguments_costs_an_answer_nothing():
    exercise = watching(budget=lambda x: Budget(held=100))
    held = 8 + 5  # the copies of the trial, and in the answer two sums of two numbers and one of one
    assert {outcome.cost.held for outcome in run_cases(exercise, total)} == {held}


def test_gradients_are_of_a_sum_with_weights_that_differ():
    """Closed form: the weights are cos 1, cos 2, ...; what nothing depends on gets zeros."""
    x, y = torch.ones(2, dtype=torch.float64, requires_grad=True), torch.ones(1, requires_grad=True)
    d_x, d_y = gradients(3 * x, (x, y))
    torch.testing.assert_close(d_x, 3 * torch.tensor([1.0, 2.0], dtype=torch.float64).cos())
    assert d_y.tolist() == [0.0]
    assert gradients(x.detach(), (x,))[0].tolist() == [0.0, 0.0]


def test_entries_of_a_cache_are_counted_wherever_they_lie_and_shared_memory_once():
    base = torch.zeros(4, 5)
    room = SimpleNamespace(keys=[base, base[:2]], more={"values": torch.zeros(3, dtype=torch.float64)})
    room.itself = room
    assert entries((room, 7, None)) == 24
    assert entries(None) == 0


def test_entries_of_a_cache_are_found_in_arrays_functions_and_methods():
    base = torch.zeros(4, 5)
    assert entries([base.numpy(), base, base[1:]]) == 20
    assert entries(base.numpy()[1:]) == 15
    assert entries({"given": base.tolist(), "flag": True, "name": "k"}) == 21

    def held():
        return base

    def preset(x=base, *, y=(1, 2)):
        return x, y

    assert entries(held) == entries(partial(held)) == entries(partial(print, base)) == 20
    assert entries(preset) == 22
    assert entries(Room(base).read) == 20
    assert entries((torch, torch.nn.Linear)) == 0, "modules and classes are not the cache"


class Room:
    def __init__(self, keys):
        self.keys = keys

    def read(self):
        return self.keys


def test_a_refusal_is_raised_for_something_that_is_no_tensor():
    with pytest.raises(Refusal, match="Your output is a list; a tensor of shape \\(2, 3\\) is expected"):
        tensor([1.0], 2, 3)
    with pytest.raises(Refusal, match="returned 3 results; each call returns 2: output, cache"):
        several((1, 2, 3), "output", "cache")
