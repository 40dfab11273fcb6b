"""What the check says of a wrong answer that no named mistake explains: two mistakes at once, and general patterns."""

import pytest
import torch

from companion.practice import diagnosis
from companion.practice.definition import Case, Edit, Mistake
from tests.tools.practice import BY_NAME, one_line, refused, toy

DRAW = torch.Generator().manual_seed(4)
TABLES = tuple(torch.randn(n, m, generator=DRAW, dtype=torch.float64) for n, m in ((2, 3), (4, 4), (3, 7), (5, 4)))
CUBES = tuple(torch.randn(2, n, m, generator=DRAW, dtype=torch.float64) for n, m in ((2, 3), (4, 4), (3, 7)))


def on(tables, reference=lambda x: 2 * x, **changes):
    """The toy on these cases, with this reference."""
    return toy(
        cases=lambda: [Case(x if isinstance(x, tuple) else (x,)) for x in tables], reference=reference, **changes
    )


def powers(x):
    return x.exp()


def softmax(x):
    return x.softmax(dim=-1)


@pytest.mark.parametrize(
    ("pattern", "words", "reference", "answer"),
    [
        ("not_in_shape", "axis of size 1 too many. Remove it", lambda x: x.sum(-1), lambda x: x.sum(-1, keepdim=True)),
        ("not_in_shape", "axis of size 1 too few", lambda x: x.sum(-1, keepdim=True), lambda x: x.sum(-1)),
        ("not_in_shape", "only the shape is another", lambda x: 3 * x, lambda x: (3 * x).flatten()),
        ("swapped_axes", "the axes -2 and -1 swapped", lambda x: x @ x.mT @ x, lambda x: (x @ x.mT @ x).mT),
        ("one_too_many", "one entry is missing, at the end", lambda x: 3 * x, lambda x: 3 * x[..., :-1]),
        ("one_too_many", "one entry is too many, at the beginning", lambda x: 3 * x[1:], lambda x: 3 * x),
        ("reduced", "You took a mean over all entries", lambda x: x + 3, lambda x: (x + 3).mean()),
        ("reduced", "up to a sum over the last axis, which is missing", lambda x: x.exp().sum(-1), powers),
        ("moved", "one place along the last axis, toward its end", lambda x: 3 * x, lambda x: 3 * x.roll(1, -1)),
        ("moved", "toward its beginning", lambda x: 3 * x, lambda x: torch.cat([3 * x[1:], 0 * x[:1]])),
        ("turned", "in reverse order along the second-last axis", lambda x: 3 * x, lambda x: 3 * x.flip(0)),
        ("with_an_argument", "What is missing in your result is exactly `x`", lambda x: x + x.exp(), powers),
        ("with_an_argument", "What your result has too much is exactly `x`", powers, lambda x: x + x.exp()),
        ("with_an_argument", "is the argument `x` as it came", lambda x: x.exp(), lambda x: 1 * x),
        ("with_an_argument", "yours times `x`: this factor is missing", lambda x: x * x.exp(), powers),
        ("by_a_factor", "opposite sign", lambda x: x.exp(), lambda x: -x.exp()),
        ("by_a_factor", "large by a factor, which is the size of the last", lambda x: x.mean(-1), lambda x: x.sum(-1)),
        ("by_a_factor", "the square root of the size of the second-last", lambda x: x / len(x) ** 0.5, lambda x: 1 * x),
        (
            "by_a_factor",
            "its root, where n is the size of the last axis",
            lambda x: x.var(-1, correction=0),
            lambda x: x.var(-1),
        ),
        ("by_a_factor", "0.3 times the expected one", lambda x: x.exp(), lambda x: 0.3 * x.exp()),
        ("a_step_off", "The expected result is the square of yours", powers, lambda x: (x / 2).exp()),
        ("a_step_off", "The expected result is the softmax over the last axis of yours", softmax, lambda x: 3 + x),
        ("all_wrong_ones_nan", "All that is wrong is NaN", lambda x: x.relu().sqrt(), lambda x: x.sqrt()),
        (
            "all_wrong_ones_nan",
            "All that is wrong is infinite",
            lambda x: x.relu(),
            lambda x: torch.where(x < 0, torch.inf, x),
        ),
        (
            "sums_along",
            "sum to 1 along the second-last axis, and they should along the last",
            softmax,
            lambda x: x.softmax(0),
        ),
        ("by_rows", "every entry is 0.25 too large", powers, lambda x: x.exp() + 0.25),
        ("by_rows", "expected ones times a number that each row", softmax, lambda x: (x - x.amax(-1, True)).exp()),
        (
            "by_rows",
            "expected ones plus a number that each row",
            lambda x: x.sin() - x.mean(-1, True),
            lambda x: x.sin(),
        ),
        (
            "in_other_places",
            "the right numbers in the wrong places",
            lambda x: 3 * x,
            lambda x: (3 * x).mT.reshape(x.shape),
        ),
        ("one_off", "What is wrong is 1 too large", lambda x: x.argmax(-1), lambda x: x.argmax(-1) + 1),
        ("in_a_place", "Only what stands first along the last axis", powers, lambda x: x.exp() * (x != x[:, :1])),
        ("in_a_place", "Only entries above the diagonal", powers, lambda x: x.exp() + x.square().triu(1)),
        (
            "in_a_place",
            "Only entries that should be negative are wrong",
            lambda x: 3 * x,
            lambda x: torch.where(x < 0, x.cos(), 3 * x),
        ),
    ],
)
def test_what_wrong_results_have_in_common_is_said(pattern, words, reference, answer):
    error = refused(on(TABLES, reference), answer)
    assert words in one_line(error)
    assert (error.pattern, error.mistake) == (pattern, None)


def test_a_pattern_is_not_told_where_it_holds_in_few_of_the_cases():
    def mine(x):
        return 3 * x.flip(0) if len(x) in (2, 4) else x.sin()

    error = refused(on(TABLES, lambda x: 3 * x), mine)
    assert error.pattern is None
    assert "reverse order" not in one_line(error)


def test_noise_has_no_pattern():
    assert refused(on(TABLES), lambda x: x.sin() + x.square().cos()).pattern is None


def test_the_cases_that_fail_are_told_by_what_they_share():
    def mine(x, mask):
        return 3 * x if mask is None else x.sin() + mask

    tables = [(x, None if i % 2 else x > 0.5) for i, x in enumerate(CUBES)]
    error = refused(on(tables, lambda x, mask: 3 * x), mine)
    assert "those in which `mask` is given; all others are right." in one_line(error)
    assert error.pattern == "cases"


def test_entries_under_a_mask_are_told():
    tables = [(x, x > 0.5) for x in CUBES]
    error = refused(on(tables, lambda x, mask: 3 * x * mask), lambda x, mask: 3 * x * mask + ~mask * x.square())
    assert "Only entries at which `mask` is False are wrong." in one_line(error)


def test_results_in_another_order_and_the_one_that_is_wrong_are_named():
    exercise = on(TABLES, lambda x: (x.exp(), x.sin()), returns=("powers", "sines"))
    error = refused(exercise, lambda x: (x.sin(), x.exp()))
    assert "right and come in another order: powers, sines are asked for." in one_line(error)
    words = one_line(refused(on(TABLES, lambda x: (x, x > 0), returns=("x", "above")), lambda x: (x, (x > 0).double())))
    assert "Of above: The numbers are right, and only their type is another: convert the result." in words
    assert "Of sines: Your result has the opposite sign" in one_line(refused(exercise, lambda x: (x.exp(), (-x).sin())))


def test_a_list_of_words_has_patterns_too():
    texts = ["abc", "defgh", "ijkl"]
    exercise = on(texts, lambda x: list(x))
    assert "in reverse order" in one_line(refused(exercise, lambda x: list(x)[::-1]))
    assert "one entry is missing, at the end" in one_line(refused(exercise, lambda x: list(x)[:-1]))


def test_a_rounding_in_float32_has_no_pattern():
    error = refused(on(TABLES, powers), lambda x: x.exp() * (1 + 1e-7))
    assert error.pattern is None
    assert "is a step of yours in float32?" in one_line(error)


def tripled_and_moved(x):
    y = 3 * x
    return y + 1


def pair_of_mistakes(*more):
    mistakes = (
        Mistake("twice", Edit("3 * x", "2 * x"), "You doubled."),
        Mistake("two", Edit("y + 1", "y + 2"), "You added 2."),
        Mistake("none", Edit("y + 1", "y"), "You added nothing."),
        Mistake("square", lambda x: x * x, "You squared."),
    )
    return on(TABLES, tripled_and_moved, mistakes=(*mistakes, *more))


def test_two_mistakes_at_once_are_both_named():
    error = refused(pair_of_mistakes(), lambda x: x + x + 2)
    assert error.mistake == "twice + two"
    assert "Two things at once. You doubled. And the other: You added 2." in one_line(error)
    assert refused(pair_of_mistakes(), lambda x: 2 * x + (2 if len(x) > 2 else 7)).mistake is None


def test_two_mistakes_that_never_end_are_stopped():
    def counted(x):
        n = 0
        while n < 3:
            n += 1
        return n * x

    mistakes = (
        Mistake("far", Edit("n < 3", "n != 3"), "You went far."),
        Mistake("double", Edit("n += 1", "n += 2"), "You counted in twos."),
        Mistake("sum", lambda x: x.sum(), "You summed."),
        Mistake("square", lambda x: x * x, "You squared."),
    )
    assert refused(on(TABLES, counted, mistakes=mistakes), lambda x: x.sin()).mistake is None


def test_a_mistake_is_named_for_an_answer_without_the_nan_that_it_gives_elsewhere():
    """A row that is all hidden is treated by the answer, and not by the mistake."""
    name = "masked-weights"

    def mine(scores, mask):
        weights = scores.masked_fill(~mask, -torch.inf).softmax(dim=-2)
        return torch.where(mask.any(dim=-1, keepdim=True), weights.nan_to_num(0.25), 0.0)

    def with_nan(x):
        return 3 * x.log() if len(x) == 2 else x / 3

    assert refused(BY_NAME[name], mine).exercise == name
    exercise = on(TABLES, lambda x: 3 * x, mistakes=(*toy().mistakes, Mistake("third", with_nan, "You divided.")))
    assert refused(exercise, lambda x: 3 * x if len(x) == 2 else x / 3).mistake == "third"


def test_a_part_whose_type_is_the_same_is_not_said_to_have_another():
    """Whole numbers that no float holds are compared to the last digit."""
    exercise = on([1, 2, 2**70], lambda n: (n, 3 * n), returns=("once", "thrice"), same_dtype=True)
    words = one_line(refused(exercise, lambda n: (n, 3 * n + (n > 2))))
    assert "thrice: your answer is" in words
    assert "type is another" not in words
    exercise = on([2**70, 2, 5], lambda n: (n, 3 * n), returns=("once", "thrice"))
    assert "Of thrice: What is wrong is 1 too large" in one_line(refused(exercise, lambda n: (n, 3 * n + 1)))
    tables = [x.float() for x in TABLES]
    assert refused(on(tables, powers), lambda x: x.exp() * (1 + 5e-5 * x.sign())).pattern != "not_in_dtype"


def test_of_a_result_that_its_type_refuses_nothing_but_the_type_is_told():
    class Whole(int):
        pass

    error = refused(on([2, 3, 4], lambda n: 3 * n), lambda n: Whole(-3 * n))
    assert error.pattern is None
    assert "you returned a Whole; an int is expected." in one_line(error)
    assert refused(on([2, 3, 4], lambda n: 3 * n), lambda n: Whole(3 * n)).pattern == "not_in_dtype"


def test_of_one_number_alone_no_softmax_is_told():
    """It is 1, and its logarithm 0, whatever the number."""
    tables = [x[:, :1] for x in TABLES]
    assert refused(on(tables, lambda x: x.exp()), lambda x: torch.ones_like(x)).pattern is None


def test_a_few_wrong_entries_on_one_side_are_not_told_of_the_diagonal():
    def mine(x):
        y = x.exp()
        y[0, 2] += 1.0
        y[0, 1] -= 2.0
        y[1, 2] *= 5.0
        return y

    assert "diagonal" not in one_line(refused(on(TABLES, powers), mine))

    def few(x):
        y = x.sin()
        y[0, 2] += 1.0
        y[1, 3] -= 2.0
        y[2, 3] *= 5.0
        return y

    squares = [TABLES[2].mT @ TABLES[2], TABLES[3] @ TABLES[3].mT]
    assert "diagonal" not in one_line(refused(on(squares, lambda x: x.sin()), few))


def test_a_dtype_is_told_only_where_rounding_may_be_the_reason():
    tables = [x.float() if i % 2 else x for i, x in enumerate(TABLES)]

    def wrong_by(size):
        gap = torch.linspace(0.3, 1.0, 5).double().roll(2)
        return lambda x: 3 * x + (size * gap[: len(x), None] * x.cos() if x.dtype == torch.float64 else 0)

    assert "those in which `x` is float64" in one_line(refused(on(tables, lambda x: 3 * x), wrong_by(1e-3)))
    assert "float64; all others" not in one_line(refused(on(tables, lambda x: 3 * x), wrong_by(1.0)))


def test_rows_of_two_entries_have_no_number_of_their_own():
    """Where the first is the second with the other sign, as behind a norm, any two such rows are in proportion."""
    tables = [x[:, :1] * torch.tensor([1.0, -1.0], dtype=torch.float64) for x in TABLES]
    assert refused(on(tables, lambda x: x.sin()), lambda x: x.sinh() + x.sin()).pattern is None


def test_pairs_of_mistakes_are_tried_for_a_time_only(monkeypatch):
    monkeypatch.setattr(diagnosis, "LONGEST", -1.0)
    assert refused(pair_of_mistakes(), lambda x: x + x + 2).mistake is None
