"""An error in a reader's code, told in words."""

import functools
import math
import re
import traceback

import pytest
import torch
import torch.nn.functional as F

from companion.practice import (
    errors,
)
from tests.tools.practice import BY_NAME, one_line, refused, toy

SCORES, MASK = torch.arange(35.0).reshape(5, 7), torch.arange(35).reshape(5, 7) % 3 > 0


BATCH = torch.arange(2 * 5 * 7.0).reshape(2, 5, 7)


ERRORS = [
    (lambda: SCORES @ SCORES, "so the two have one size: here they are 7 and 5."),
    (lambda: SCORES[0] @ SCORES[:, 0], None),  # two vectors: torch speaks of their sizes itself
    (lambda: BATCH @ BATCH, "so the two have one size: here they are 7 and 5."),
    (lambda: torch.bmm(BATCH.mT, BATCH[:1]), None),  # the batches differ, and no transpose helps
    (lambda: SCORES - SCORES.sum(-1), "here 7 meets 5. A sum or a maximum over an axis removes it"),
    (lambda: torch.zeros(2, 3, 4).transpose(1, 2).view(2, 12), "`view` cannot merge these axes, because"),
    (lambda: torch.zeros(2, 6).view(5, -1), "the tensor has 12, which (5, -1) does not hold"),
    (lambda: SCORES - SCORES.max(-1, keepdim=True), "`max` returns two tensors, the values and where they stood."),
    (lambda: SCORES.min(-1).exp(), "`min` returns two tensors, the values and where they stood."),
    (lambda: torch.exp(SCORES.max(-1)), "`max` returns two tensors"),
    (lambda: 1 if MASK else 2, "Whether there is a mask at all is `mask is not None`"),
    (lambda: max(SCORES, MASK), "Python asks a whole tensor for one True or False"),
    (lambda: torch.outer(SCORES, SCORES), "`torch.outer` takes two vectors, and this tensor has 2 axes."),
    (lambda: BATCH.t(), "`.t()` takes two axes at most, and this tensor has 3."),
    (lambda: SCORES @ SCORES.mT.double(), "A product takes tensors of one dtype and converts none."),
    (lambda: BATCH @ BATCH.mT.double(), "A product takes tensors of one dtype and converts none."),
    (lambda: SCORES[0].addmv(SCORES.mT.double(), SCORES[:, 0]), "A product takes tensors of one dtype"),
    (lambda: SCORES[0].mT, "`.mT` swaps the last two axes, and this tensor has 1."),
    (lambda: SCORES.masked_fill(MASK.float(), 0.0), "A tensor of booleans is needed here"),
    (lambda: ~SCORES, "A tensor of booleans is needed here"),
    (lambda: torch.where(SCORES, SCORES, 0.0), "A tensor of booleans is needed here"),
    (lambda: torch.sqrt(SCORES.shape[-1]), "`torch.sqrt` takes a tensor, and this is a plain number"),
    (lambda: torch.tril(5, 7), None),
    (lambda: math.exp(SCORES), "A tensor of several entries stands where one number is needed."),
    (lambda: range(SCORES), "A tensor of several entries stands where one number is needed."),
    (lambda: SCORES.softmax(2), "This tensor has no axis 2: its axes are -2 to 1."),
    (lambda: SCORES[:, :, 0], "More axes are indexed than the 2 that this tensor has."),
    (lambda: [a for a, b, c in [SCORES.shape]], "leading axes come and go"),
    (lambda: [a for (a,) in [SCORES.shape]], "leading axes come and go"),
    (lambda: SCORES.shape(-1), "A shape is no function."),
    (lambda: SCORES.size[-1], "A method needs round brackets"),
    (lambda: torch.softmax(SCORES), "A softmax needs to be told its axis"),
    (lambda: ~None, "A value here is None"),
    (lambda: None.any(), "A value here is None"),
    (lambda: not_set_anywhere, "The name `not_set_anywhere` has no value"),  # noqa: F821
    (lambda: [][3], None),
    (lambda: 1 / 0, None),
    (lambda: SCORES.reshape(3, 3), "which (3, 3) does not hold"),
]


def raised_by(function):
    try:
        function()
    except Exception as error:
        return error
    raise AssertionError("no error")


@pytest.mark.parametrize(("function", "sentence"), ERRORS)
def test_an_error_message_is_told_in_plain_words(function, sentence):
    found = errors.explain(raised_by(function))
    assert found is None if sentence is None else sentence in found


def test_every_meaning_is_one_that_torch_or_python_still_gives():
    messages = [str(raised_by(function)) for function, _ in ERRORS]
    for pattern, _ in errors.MEANINGS:
        assert any(re.search(pattern, message) for message in messages), pattern


def jacobian_by_outer(scores):
    weights = scores.softmax(-1)
    return torch.diag_embed(weights) - torch.outer(weights, weights)


def test_an_error_without_a_named_mistake_gets_its_meaning():
    def mine(scores):
        return (scores - scores.max(-1, keepdim=True)).exp()

    error = refused(BY_NAME["softmax-stable"], mine)
    assert error.mistake is None
    assert "Over an axis `max` returns two tensors" in one_line(error)
    error = refused(BY_NAME["softmax-jacobian"], lambda s: torch.diag_embed(s) - torch.outer(s.softmax(-1), s))
    assert "`torch.outer`" not in one_line(error)  # it is wrong before it raises
    error = refused(BY_NAME["softmax-jacobian"], jacobian_by_outer)
    assert (error.case, error.mistake) == (4, None)
    assert "`torch.outer` takes two vectors, and this tensor has 2 axes." in one_line(error)


def test_the_meaning_of_an_error_comes_before_what_an_answer_keeps_from_call_to_call():
    kept = []

    def mine(scores):
        kept.append(scores.shape)
        return (scores - scores.max(-1, keepdim=True)).exp()

    told = one_line(refused(BY_NAME["softmax-stable"], mine))
    assert "Over an axis `max` returns two tensors" in told
    assert "keeps something" not in told


def test_a_named_mistake_is_told_in_place_of_the_meaning():
    text = one_line(refused(BY_NAME["scaled-scores"], lambda q, k: q @ k))
    assert "You multiplied query and key as they stand." in text
    assert "so the two have one size" not in text


def test_the_line_of_the_reader_is_quoted():
    def mine(scores, mask):
        hidden = ~mask
        return scores.mask_fill(hidden, -torch.inf).softmax(-1)

    lines = str(refused(BY_NAME["masked-weights"], mine)).splitlines()
    assert lines[2:4] == [
        "Your code raised AttributeError: 'Tensor' object has no attribute 'mask_fill'. Did you mean: 'masked_fill'?",
        "In line 3 of mine: `return scores.mask_fill(hidden, -torch.inf).softmax(-1)`",
    ]


def widest(x):
    return max(
        [row.softmax(7) for row in x],
    )


def test_a_helper_is_quoted_beside_the_line_that_calls_it():
    def mine(x):
        return functools.reduce(lambda a, b: widest(b), [x, x])

    error = refused(toy(), mine)
    assert str(error).splitlines()[3:5] == [
        "In line 2 of mine: `return functools.reduce(lambda a, b: widest(b), [x, x])`",
        "In line 3 of widest: `[row.softmax(7) for row in x],`",
    ]


def test_lines_inside_libraries_are_left_out():
    def mine(x):
        return F.softmax(x, dim=7)

    error = refused(toy(), mine)
    assert "In line 2 of mine: `return F.softmax(x, dim=7)`" in str(error)
    steps = traceback.extract_tb(error.__cause__.__traceback__)
    assert [step.name for step in steps] == ["mine"]


def test_a_lambda_is_quoted_without_a_number():
    text = str(refused(toy(), lambda x: x.softmax(7)))
    assert "In your line `text = str(refused(toy(), lambda x: x.softmax(7)))`" in text


def test_code_without_source_is_named_by_its_line():
    space = {}
    exec(compile("def mine(x):\n    y = 2\n    return x.softmax(7)\n", "<nowhere>", "exec"), space)
    assert "\nIn line 3 of mine\n" in str(refused(toy(), space["mine"]))
    exec(compile("mine = lambda x: x.softmax(7)", "<nowhere>", "exec"), space)
    assert "In " not in str(refused(toy(), space["mine"]))
    assert "\nIn " not in str(refused(toy(), functools.partial(torch.softmax, dim=7)))


def test_a_callable_object_and_a_wrapped_function_are_quoted_too():
    class Mine:
        def __call__(self, x):
            return x.softmax(7)

    @torch.no_grad()
    def mine(x):
        return x.softmax(7)

    def mine_too(x):
        return x.softmax(7)

    assert "In line 2 of __call__: `return x.softmax(7)`" in str(refused(toy(), Mine()))
    assert "In line 3 of mine: `return x.softmax(7)`" in str(refused(toy(), mine))
    assert "In line 2 of mine_too: `return x.softmax(7)`" in str(refused(toy(), functools.partial(mine_too)))


def test_a_long_line_is_cut_and_the_end_of_a_message_trimmed():
    def mine(x):
        return x.softmax(7) + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1

    line = next(line for line in str(refused(toy(), mine)).splitlines() if line.startswith("In line"))
    assert re.fullmatch(r"In line 2 of mine: `return x\.softmax\(7\)[ +1]{81} \.\.\.`", line)

    def two(x):
        raise ValueError("first\nsecond\n\n")

    assert "ValueError: first\nsecond\nIn line 2 of two" in str(refused(toy(), two))


@pytest.mark.parametrize(
    ("function", "meant"),
    [
        (lambda x: x.masked_fil(1), "masked_fill"),
        (lambda x: x.mt, "mT"),
        (lambda x: torch.soft_max(x), "softmax"),
        (lambda x: maht.sqrt(x), "math"),  # noqa: F821
        (lambda x: prnt(x), "print"),  # noqa: F821
        (lambda x: x.zzzzz, None),
        (lambda x: x.softmax(7), None),
        (lambda x: x.nnz(), None),  # there is a private _nnz
        (lambda x: x._nz(), "_nnz"),
    ],
)
def test_the_name_that_may_be_meant_is_given(function, meant):
    text = str(refused(toy(), function))
    assert (f". Did you mean: '{meant}'?\n" in text) if meant else ("Did you mean" not in text)


def test_a_name_that_python_offered_already_is_not_offered_twice():
    def mine(x):
        raise AttributeError("no 'a'. Did you mean: 'b'?", name="mt", obj=x)

    told = next(line for line in str(refused(toy(), mine)).splitlines() if line.startswith("Your code raised"))
    assert told.endswith("no 'a'. Did you mean: 'b'?")
