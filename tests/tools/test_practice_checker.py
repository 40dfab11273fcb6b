"""The engine of the exercises, on a toy: the answer is twice the argument."""

import functools
import itertools
import re
import sys

import pytest
import torch

from companion.practice.checker import NotAnswered, WrongAnswer, check
from companion.practice.definition import Case, Mistake
from tests.tools.practice import BY_NAME, TOY_CASES, one_line, refused, toy


def test_one_mistake_that_explains_the_answer_is_named():
    error = refused(toy(), lambda x: x / 2)
    assert (error.exercise, error.case, error.mistake) == ("toy", 1, "half")
    assert "Twice: not right yet.\nCase 1 of 3: x (2,), float32.\n" in str(error)
    assert "You halved." in str(error)
    assert "Every entry is 0.25 times what is expected." in one_line(error)


def test_two_mistakes_that_explain_the_answer_equally_are_not_named():
    assert refused(toy(Mistake("also half", lambda x: 0.5 * x, "You halved too.")), lambda x: x / 2).mistake is None


def test_all_cases_separate_two_mistakes_that_agree_on_the_first():
    near = Mistake("half of two", lambda x: x / 2 if x.numel() < 3 else x / 3, "You halved the short ones.")
    assert refused(toy(near), lambda x: x / 2).mistake == "half"
    assert refused(toy(near), lambda x: x / (2 if len(x) == 2 and x.ndim == 1 else 3)).mistake == "half of two"


def test_a_mistake_is_not_named_for_an_answer_that_is_right_where_the_mistake_fails():
    assert refused(toy(), lambda x: x / 2 if x.ndim == 1 else 2 * x).mistake is None


def test_one_agreement_among_several_failures_names_nothing():
    assert refused(toy(), lambda x: x / 2 if x.numel() == 2 else x + 11).mistake is None


def test_an_error_is_shown_with_its_case_and_chained():
    def mine(x):
        return x.reshape(2)

    def broken(x):
        return 2 * x if x.ndim == 1 else x @ x

    error = refused(toy(), mine)
    assert "Case 1 of 3" in str(error)
    error = refused(toy(), broken)
    assert "Case 3 of 3: x (2, 3), float32." in str(error)
    assert "Your code raised RuntimeError: " in str(error)
    assert isinstance(error.__cause__, RuntimeError)
    assert error.mistake is None


def test_the_same_error_on_the_same_shapes_is_the_same_mistake():
    assert refused(toy(), lambda x: 2 * torch.reshape(x, (3, 1)) * x).mistake == "matrix"
    assert refused(toy(), lambda x: 5 * torch.reshape(x, (3, 1))).mistake is None  # the errors agree, no value does
    error = refused(BY_NAME["scaled-scores"], lambda q, k: q @ torch.t(k) / q.shape[-1] ** 0.5)
    assert "Your code raised RuntimeError: t() expects" in str(error)
    assert error.mistake == "wrong-axes-swapped"


def test_a_notebook_shows_the_message_alone():
    error = refused(toy(), lambda x: x / 2)
    assert error._render_traceback_() == ["WrongAnswer: " + str(error).splitlines()[0], *str(error).splitlines()[1:]]


def test_an_argument_changed_in_place_is_named():
    def doubles(scores):
        return scores.mul_(2)

    error = refused(toy(reference=lambda scores: 2 * scores), doubles)
    assert "changed its argument `scores` in place" in one_line(error)
    assert error.mistake is None


def test_a_mask_changed_in_place_is_named():
    def mine(scores, mask):
        weights = scores.masked_fill(mask.logical_not_(), -torch.inf).softmax(-1)
        return weights.nan_to_num(0.0)

    assert "changed its argument `mask` in place" in one_line(refused(BY_NAME["masked-weights"], mine))


def test_changing_a_copy_in_place_is_fine():
    assert check(toy(), lambda x: x.clone().mul_(2)) == 3


def test_arguments_reach_each_call_fresh():
    exercise = toy()
    refused(exercise, lambda x: x.zero_())
    assert TOY_CASES[0].tolist() == [1.0, 2.0]
    assert check(exercise, exercise.reference) == 3


def test_an_argument_that_records_gradients_after_the_call_was_changed():
    def mine(x):
        (2 * x.requires_grad_()).sum().backward()
        return 2 * x.detach()

    assert "changed its argument `x` in place" in one_line(refused(toy(), mine))


def test_what_is_kept_by_sizes_comes_in_another_dtype_before_some_case():
    kept = {}

    def mine(x):
        return x * kept.setdefault(x.shape, torch.tensor(2.0, dtype=x.dtype) + 1e-6 * (x.dtype == torch.float32))

    cases = [Case((torch.ones(n, dtype=torch.float64),)) for n in (1, 2, 3)]
    error = refused(toy(cases=lambda: cases), mine)
    assert error.case == 2
    assert "Your function keeps something from one call to the next" in one_line(error)


def test_a_list_changed_in_place_is_told_how_a_list_is_copied():
    def mine(reads, pairs):
        found = BY_NAME["layers-needed"].reference(reads, pairs)
        pairs.clear()
        return found

    text = one_line(refused(BY_NAME["layers-needed"], mine))
    assert "changed its argument `pairs` in place" in text
    assert "`append`, `pop` and `sort` into a list: work on a new one or on a copy" in text


def test_what_is_kept_from_one_call_to_the_next_is_refused():
    """A state that lives on, by the size of what came in, shows on the first case: its sizes came before."""
    kept = {}

    def mine(x):
        kept[x.shape] = kept.get(x.shape, 0.0) + 2 * x
        return kept[x.shape].clone()

    error = refused(toy(), mine)
    assert (error.case, error.mistake) == (1, None)
    assert "Your function keeps something from one call to the next, and before this case it was" in one_line(error)
    assert "Case 1 of 3: x (2,), float32." in one_line(error)


def test_a_case_that_is_wrong_when_it_comes_once_more_is_refused():
    seen = []

    def mine(x):
        seen.append(x.tolist())
        return 2 * x * seen.count(x.tolist())

    error = refused(toy(), mine)
    assert (error.case, error.mistake) == (1, None)
    assert "Run once more, after the others, it was not: your function keeps something" in one_line(error)


def test_what_is_kept_by_sizes_alone_is_refused_and_told():
    """No two cases share their sizes: other numbers of the same sizes come before each."""
    kept = {}

    def mine(x):
        return 2 * kept.setdefault(x.shape, x.clone())

    assert "Your function keeps something" in one_line(refused(toy(), mine))


def test_a_plain_number_that_a_memory_leaves_out_is_noticed():
    rows = [(8, 2), (6, 3), (4, 1)]
    exercise = toy(reference=lambda n, k: n // k, cases=lambda: [Case(row) for row in rows])
    kept = {}
    assert "keeps something" in one_line(refused(exercise, lambda n, k: kept.setdefault(n, n // k)))
    assert "keeps something" in one_line(refused(exercise, lambda n, k: kept.setdefault(-k, n // k)))


def test_an_answer_that_keeps_nothing_is_not_told_that_it_does():
    assert "keeps something" not in one_line(refused(toy(), lambda x: 3 * x))


def test_a_call_with_other_numbers_that_would_never_end_is_stopped():
    """The sum of a case is even; with other numbers a loop that counts down by two misses 0."""

    def mine(x, n):
        left = n + int(x.sum())
        while left != 0:
            left -= 2
        return 2 * x

    cases = [Case((torch.tensor([2.0]), 2)), Case((torch.tensor([1.0]), 3)), Case((torch.ones(3), 5))]
    exercise = toy(reference=lambda x, n: 2 * x, cases=lambda: cases)
    assert check(exercise, mine) == 3


def test_the_other_numbers_print_nothing(capsys):
    def mine(x):
        print("called")
        return 2 * x

    check(toy(), mine)
    assert capsys.readouterr().out.count("called") == 9  # of them one with equal sizes, two with a size of 1


def test_a_debugger_keeps_its_trace():
    def trace(frame, event, argument):
        return None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        check(toy(), lambda x: 2 * x)
        assert sys.gettrace() is trace
    finally:
        sys.settrace(before)


def test_a_result_that_a_later_call_writes_into_is_refused():
    memory = torch.empty(6)

    def mine(x):
        return memory[: x.numel()].view(x.shape).copy_(2 * x)

    error = refused(toy(), mine)
    assert (error.case, error.mistake) == (1, None)
    assert "Your result was right, and a later call changed it" in one_line(error)


def test_memory_that_is_kept_by_sizes_and_handed_out_again_is_refused():
    """No two cases share their sizes: other numbers of the same sizes come after each as well."""
    memory = {}

    def mine(x):
        return memory.setdefault(x.shape, torch.empty_like(x)).copy_(2 * x)

    error = refused(toy(), mine)
    assert (error.case, error.mistake) == (1, None)
    assert "Your result was right, and a later call changed it" in one_line(error)


def test_memory_that_only_a_later_case_writes_into_is_refused():
    memory, calls = [torch.empty(6) for _ in range(4)], itertools.count()

    def mine(x):
        return memory[next(calls) % 4][: x.numel()].view(x.shape).copy_(2 * x)

    error = refused(toy(), mine)
    assert (error.case, error.mistake) == (2, None)
    assert "Your result was right, and a later call changed it" in one_line(error)


def test_an_answer_that_reads_tensors_in_the_order_of_their_memory_is_refused():
    def in_order(x):
        return 2 * x.as_strided(x.shape, torch.empty(x.shape).stride())

    error = refused(toy(), in_order)
    assert (error.case, error.mistake) == (2, None)
    assert "with the same numbers in tensors that are not contiguous" in one_line(error)
    assert "`view` cannot merge these axes" in one_line(refused(toy(), lambda x: 2 * x.view(-1).view(x.shape)))


def test_what_is_kept_by_the_tensor_itself_is_refused():
    """The numbers of a tensor change in place, as those of a weight do."""
    kept = []

    def mine(x):
        if not (kept and kept[0] is x):
            kept[:] = [x, 2 * x]
        return kept[1].clone()

    assert "that held other numbers in the call before" in one_line(refused(toy(), mine))


def test_each_argument_alone_is_another_before_some_case():
    """What is kept by the first argument spoils a case before which only the second is changed."""
    rows = [(torch.arange(n) + 1.5, torch.arange(n) + 0.25) for n in (2, 3, 4)]
    kept = {}

    def mine(x, y):
        return x * kept.setdefault(str(x), y)

    exercise = toy(reference=lambda x, y: x * y, cases=lambda: [Case(row) for row in rows])
    assert "keeps something" in one_line(refused(exercise, mine))


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda: torch.set_default_dtype(torch.float64), "default dtype"),
        (lambda: torch.set_grad_enabled(False), "switch for gradients"),
        (lambda: torch.manual_seed(torch.initial_seed() + 1), "seed"),
    ],
)
def test_what_all_code_of_torch_shares_is_left_alone(change, name):
    def mine(x):
        change()
        return 2 * x

    try:
        assert f"your function changed the {name} of torch" in one_line(refused(toy(), mine))
        assert (torch.get_default_dtype(), torch.is_grad_enabled()) == (torch.float32, True)
    finally:
        torch.set_default_dtype(torch.float32)
        torch.set_grad_enabled(True)


def test_a_result_that_is_kept_and_stays_right_is_fine():
    exercise = BY_NAME["causal-mask"]
    assert check(exercise, functools.cache(exercise.reference)) == len(exercise.cases())


class Doubles:
    """An answer that is an object, with what it does when it is called."""

    def __init__(self, body):
        self.body = body

    def __call__(self, x):
        return self.body(x)


def not_yet(x):
    raise NotImplementedError


def truth_values(x):
    return (x > 0).expand(2, 2) @ (x > 0).expand(2, 2)


@pytest.mark.parametrize("dress", [lambda body: body, Doubles, functools.partial])
def test_what_torch_cannot_do_is_an_error_and_no_stub(dress):
    """Torch raises NotImplementedError too, for a dtype that an operation lacks."""
    assert "not implemented for 'Bool'" in one_line(refused(toy(), dress(truth_values)))
    with pytest.raises(NotAnswered):
        check(toy(), dress(not_yet))


def test_a_module_without_a_forward_pass_is_told_so():
    assert "missing the required" in one_line(refused(toy(), torch.nn.Module()))


def test_a_tensor_with_a_gradient_is_accepted():
    assert check(toy(), lambda x: 2 * x.clone().requires_grad_()) == 3


def test_none_on_a_later_case_is_a_wrong_answer():
    error = refused(toy(), lambda x: 2 * x if len(x) == 2 and x.ndim == 1 else None)
    assert "you returned None (is a `return` missing?); a tensor is expected" in one_line(error)


def test_parameters_that_do_not_fit_are_named():
    def mine(q, k):
        return q

    message = re.escape("the check calls mine(query, key, value, mask), but yours takes (q, k).")
    with pytest.raises(WrongAnswer, match=message.replace(r"\ ", r"\s")):
        check(BY_NAME["attention"], mine)


def test_an_exercise_needs_three_hints():
    with pytest.raises(ValueError, match=r"three hints: 'toy' has 2"):
        toy(hints=("one", "two"))


def test_an_exercise_needs_four_mistakes_of_different_names():
    with pytest.raises(ValueError, match=r"at least four different mistakes: 'toy' has \['half', .*'half'\]"):
        toy(Mistake("half", lambda x: x / 2, "Again."))
    with pytest.raises(ValueError, match=r"at least four different mistakes: 'toy' has \[\]"):
        toy(mistakes=())


def test_texts_of_objects_are_stable():
    assert repr(toy()) == "Exercise('toy': Twice)"
    assert repr(toy().mistakes[0]) == "Mistake('half')"
