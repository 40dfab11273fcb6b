"""What a reader calls: check, hint, inputs, and the list of all exercises."""

import ast
import dataclasses
import html.parser
import re
from pathlib import Path

import pytest
import torch

from companion import practice as book
from companion.practice import (
    check_exercise,
    exercises,
    hint,
    inputs,
)
from companion.practice.checker import NotAnswered, WrongAnswer, check
from companion.practice.definition import Exercise
from companion.practice.hints import Hint
from tests.tools.practice import ALL, BY_NAME, refused, toy
from tests.tools.right_answers import ALTERNATIVES

pytestmark = pytest.mark.usefixtures("fresh")
README = Path(book.__file__).with_name("README.md")


def test_a_right_answer_is_reported_and_recorded(capsys, fresh):
    check_exercise("scaled-scores", ALTERNATIVES["scaled-scores"][0])
    out = capsys.readouterr().out
    assert out.startswith("Compute the scaled scores: correct (11 cases).\nTested: sizes that all differ and")
    assert fresh.state("scaled-scores") == "solved"


def test_a_wrong_answer_is_raised_and_recorded(fresh):
    with pytest.raises(WrongAnswer, match="You did not scale the dot products"):
        check_exercise("scaled-scores", lambda q, k: q @ k.mT)
    assert fresh.state("scaled-scores") == "tried"
    assert issubclass(WrongAnswer, AssertionError)


def test_record_false_leaves_no_trace(fresh):
    check_exercise("scaled-scores", BY_NAME["scaled-scores"].reference, record=False)
    with pytest.raises(WrongAnswer):
        check_exercise("scaled-scores", lambda q, k: q @ k.mT, record=False)
    assert fresh.state("scaled-scores") == "open"


def stub_none(query, key): ...


def stub_ellipsis(query, key):
    scores = ...
    return scores


def stub_raises(query, key):
    raise NotImplementedError("your code")


@pytest.mark.parametrize("answer", [stub_none, stub_ellipsis, stub_raises, None, ...])
def test_a_stub_is_not_answered_yet(answer, capsys, fresh):
    check_exercise("scaled-scores", answer)
    assert capsys.readouterr().out == 'Compute the scaled scores: not answered yet. hint("scaled-scores") helps.\n'
    assert fresh.state("scaled-scores") == "open"


def test_a_forgotten_return_is_pointed_out(capsys):
    def mine(query, key):
        query @ key.mT

    check_exercise("scaled-scores", mine)
    assert "mine computes something but returns None: is its `return` missing?" in capsys.readouterr().out


def test_not_implemented_from_torch_is_an_error_and_no_stub():
    def mine(x):
        return torch._C._nn.gelu(x.to(torch.int32))

    with pytest.raises(NotAnswered):
        check(toy(), lambda x: None)
    error = refused(toy(), mine)
    assert isinstance(error.__cause__, NotImplementedError)


def test_an_answer_that_was_called_already_is_refused():
    with pytest.raises(ValueError, match=r"the answer is a function: got Tensor\. Pass it without calling it"):
        check_exercise("scaled-scores", torch.zeros(2))


@pytest.mark.parametrize("call", [lambda n: check_exercise(n, None), hint, lambda n: inputs(n, 1)])
def test_an_unknown_name_lists_the_close_ones(call):
    with pytest.raises(ValueError, match=r"no 'softmax_stabel'\. Close to it: softmax-stable"):
        call("softmax_stabel")
    with pytest.raises(ValueError, match=r"no 'zzz'\. Close to it: rnn-steps, lstm-step, .*backward"):
        call("zzz")


def test_inputs_give_the_case_and_a_copy_of_it():
    query, key = inputs("scaled-scores", 6)
    assert (query.shape, key.shape) == ((2, 5, 11), (2, 7, 11))
    query.zero_()
    assert inputs("scaled-scores", 6)[0].abs().sum() > 0


def test_inputs_give_the_cases_in_which_sizes_meet_as_well():
    for x, y in zip(inputs("scaled-scores", 12), BY_NAME["scaled-scores"].meetings[0].arguments, strict=True):
        assert torch.equal(x, y)


@pytest.mark.parametrize("case", [0, 99, -1])
def test_inputs_refuse_a_case_that_is_not_there(case):
    with pytest.raises(ValueError, match=rf"'scaled-scores' has the cases 1 to \d\d: got {case}"):
        inputs("scaled-scores", case)


def test_exercises_are_listed_in_order_and_by_chapter():
    first, second = exercises("history"), exercises("attention")
    assert first + second == exercises()[: len(first) + len(second)]
    assert {exercise.chapter for exercise in first} == {"history"}
    assert {exercise.chapter for exercise in second} == {"attention"}
    assert [exercise.name for exercise in exercises("attention")][:2] == ["scaled-scores", "softmax-stable"]
    with pytest.raises(ValueError, match=r"got 'cooking'\. There are: history, attention"):
        exercises("cooking")


def test_the_readme_names_fields_that_an_exercise_has():
    text = README.read_text("utf8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    (record,) = (block for block in blocks if "= Exercise(" in block)
    named = re.findall(r"[Gg]ive (?:[\w ]+ as )?`(\w+)=?`", text)
    assert len(named) >= 3
    fields = {field.name for field in dataclasses.fields(Exercise)}
    assert {*named, *(word.arg for word in ast.parse(record).body[0].value.keywords)} <= fields


def test_public_names_are_all_there():
    assert all(hasattr(book, name) for name in book.__all__)


class Outline(html.parser.HTMLParser):
    """Collect the nesting of details elements and the text at each depth."""

    def __init__(self):
        super().__init__()
        self.depth, self.texts, self.attributes = 0, {}, []

    def handle_starttag(self, tag, attrs):
        if tag == "details":
            self.depth += 1
            self.attributes += attrs

    def handle_endtag(self, tag):
        self.depth -= tag == "details"

    def handle_data(self, data):
        self.texts[self.depth] = self.texts.get(self.depth, "") + data


@pytest.mark.parametrize("exercise", ALL)
def test_hints_open_one_after_the_other(exercise):
    outline = Outline()
    outline.feed(hint(exercise.name)._repr_html_())
    assert outline.depth == 0
    assert outline.attributes == []  # closed
    for step, text in enumerate(exercise.hints, start=1):
        assert outline.texts[step] == f"Hint {step} of 3" + text.replace("`", "")


def test_a_hint_as_text_is_the_first_and_the_way_to_the_next():
    text = " ".join(repr(hint("attention")).split())
    assert text.startswith("Hint 1 of 3: Three steps")
    assert text.endswith('The next: hint("attention", 2).')
    assert BY_NAME["attention"].hints[1] not in text
    assert str(hint("attention")) == repr(hint("attention"))


@pytest.mark.parametrize("step", [1, 2, 3])
def test_a_step_gives_exactly_that_hint(step):
    given = hint("attention", step)
    for number, text in enumerate(BY_NAME["attention"].hints, start=1):
        assert (" ".join(repr(given).split()) == f"Hint {number} of 3: {text}") == (number == step)
    assert f"Hint {step} of 3." in given._repr_html_()
    assert given._repr_html_().count("Hint") == 1
    assert "<details" not in given._repr_html_()


@pytest.mark.parametrize("step", [0, 4, -1])
def test_a_step_that_is_not_there_is_refused(step):
    with pytest.raises(ValueError, match=rf"numbered 1, 2 and 3: got {step!r}"):
        hint("attention", step)


def test_hints_are_escaped():
    given = Hint("x", ("a < b & `c > d`", "<script>", "three"))
    text = given._repr_html_()
    assert "a &lt; b &amp; <code>c &gt; d</code>" in text
    assert "<script>" not in text
