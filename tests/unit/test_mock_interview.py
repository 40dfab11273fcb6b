"""The mock interview of the notebook, without a browser: what it draws, asks, shows and reports."""

import json
import shutil

import ipywidgets
import pytest

from companion.widgets import MockInterview, draw, interview_questions
from companion.widgets.mock_interview import RATINGS


def question(name, topic="attention", level=1, kind="concept", follow_ups=2):
    return {
        "name": name,
        "chapter": f"page-of-{name}",
        "topic": topic,
        "level": level,
        "kind": kind,
        "question": f"What is {name}?",
        "short": f"short of {name}",
        "full": f"full of {name}",
        "common_mistake": f"mistake of {name}",
        "follow_ups": [[f"why {n} of {name}?", f"because {n} of {name}"] for n in range(1, follow_ups + 1)],
    }


QUESTIONS = [
    question("a"),
    question("b", "training", 2, "derive", 1),
    question("c", "training", 3, "debug", 0),
    question("d", "attention", 2, "derive", 3),
    question("e", "complexity", 1, "compute", 2),
]


@pytest.fixture
def interview():
    return MockInterview(QUESTIONS, number=2, seed=4)


def shown(output):
    return [part["data"]["text/markdown"] for part in output.outputs]


def names(found):
    return [question["name"] for question in found]


def test_the_questions_are_those_of_the_book():
    found = interview_questions()
    assert len(found) > 70
    assert {"q-derive-sdpa", "q-layer-norm"} <= set(names(found))
    assert interview_questions() == found


def test_an_installed_package_reads_its_own_copy(tmp_path, monkeypatch):
    from companion.widgets import mock_interview

    (tmp_path / "companion" / "widgets").mkdir(parents=True)
    (tmp_path / "companion" / "questions.json").write_text(json.dumps({"questions": QUESTIONS}), "utf8")
    monkeypatch.setattr(mock_interview, "__file__", str(tmp_path / "companion" / "widgets" / "mock_interview.py"))
    monkeypatch.setattr(mock_interview, "files", lambda name: tmp_path / name)
    assert mock_interview.interview_questions() == QUESTIONS
    (tmp_path / "book").mkdir()
    shutil.copy(tmp_path / "companion" / "questions.json", tmp_path / "book")
    (tmp_path / "companion" / "questions.json").unlink()
    assert mock_interview.interview_questions() == QUESTIONS


def test_the_same_seed_draws_the_same_questions_and_none_twice():
    drawn = [names(draw(QUESTIONS, number=3, seed=seed)) for seed in range(40)]
    assert drawn == [names(draw(QUESTIONS, number=3, seed=seed)) for seed in range(40)]
    assert all(len(set(found)) == 3 for found in drawn)
    assert len({tuple(found) for found in drawn}) == 10  # all subsets of 3 of 5


def test_what_is_drawn_keeps_the_order_of_topics_and_then_of_levels():
    assert names(draw(QUESTIONS[::-1], number=5, seed=0)) == ["e", "a", "d", "b", "c"]
    assert {tuple(names(draw(QUESTIONS, number=5, seed=seed))) for seed in range(9)} == {("a", "d", "b", "c", "e")}


def test_filters_leave_only_what_fits():
    assert names(draw(QUESTIONS, number=9, seed=0, topics=["training"], kinds=["debug"])) == ["c"]
    assert sorted(names(draw(QUESTIONS, number=9, seed=0, levels=[2]))) == ["b", "d"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"number": 0}, r"an interview has at least one question: got number=0\. Ask for 1 or more"),
        ({"topics": ["history"]}, r"no question has the topic 'history': use one of attention, training, complexity"),
        ({"levels": [4]}, r"no question has the level 4: use one of 1, 2, 3"),
        ({"topics": ["complexity"], "levels": [3]}, r"no question fits all filters: .* Allow more"),
    ],
)
def test_a_draw_that_cannot_be_made_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        draw(QUESTIONS, **({"number": 2, "seed": 0} | options))


def test_each_question_is_followed_by_its_follow_ups_in_order(interview):
    interview.start_button.click()
    drawn = draw(QUESTIONS, number=2, seed=4)
    expected = [[q["question"], *(asked for asked, _ in q["follow_ups"])] for q in drawn]
    heard = []
    while interview.asking:
        heard += shown(interview.asked)
        interview.skip_button.click()
    assert heard == [line for lines in expected for line in lines]


def test_the_answer_is_shown_step_by_step_and_then_can_be_rated(interview):
    interview.kinds.value = ("concept",)
    interview.start_button.click()
    assert shown(interview.answers) == []
    assert interview.rating.layout.display == interview.rate_button.layout.display == "none"
    for count, part in enumerate(("short", "full", "mistake"), 1):
        assert interview.more_button.layout.display is None
        interview.more_button.click()
        assert len(shown(interview.answers)) == count
        assert f"{part} of a" in shown(interview.answers)[-1]
        assert interview.rating.layout.display is None
    assert interview.more_button.layout.display == "none"
    interview.show_more()
    assert len(shown(interview.answers)) == 3
    interview.rating.value = 3
    interview.rate_button.click()
    assert shown(interview.asked) == ["why 1 of a?"]
    assert shown(interview.answers) == []
    assert interview.rating.value is None
    interview.more_button.click()
    assert "because 1 of a" in shown(interview.answers)[0]
    assert interview.more_button.layout.display == "none"


def test_without_a_rating_the_interview_stays_and_says_so(interview):
    interview.start_button.click()
    interview.more_button.click()
    before = interview.position
    interview.rate_button.click()
    assert interview.position == before
    assert "Say how you answered" in interview.message.value


def test_the_report_averages_by_topic_and_kind_and_names_what_to_repeat():
    interview = MockInterview(QUESTIONS, number=5, seed=0)
    interview.start()
    ratings = {"a": 3, "b": 1, "c": 2, "d": 0, "e": 2}
    while interview.asking:
        question, at = interview.steps[interview.position]
        interview.rate(ratings[question["name"]] if at < 0 else 2)
    rows = {(row["by"], row["value"]): row for row in interview.report()}
    assert set(rows) == {
        *(("topic", t) for t in ("attention", "training", "complexity")),
        *(("kind", k) for k in ("concept", "derive", "debug", "compute")),
    }
    attention = rows["topic", "attention"]
    assert (attention["answers"], attention["average"], attention["repeat"]) == (7, round(13 / 7, 2), ["d"])
    assert rows["topic", "training"]["repeat"] == ["b"]
    assert rows["topic", "complexity"] == {
        "by": "topic",
        "value": "complexity",
        "answers": 3,
        "average": 2,
        "repeat": [],
    }
    assert sorted(rows["kind", "derive"]["repeat"]) == ["b", "d"]
    assert ">1.86</td>" in interview.results.value
    assert interview.results.value.count("<table>") == 2
    listed = interview.results.value.split("<ul>")[1]
    assert listed.count("<li>") == 2
    assert "What is b? (book/page-of-b.ipynb, b)" in listed
    assert "What is d? (book/page-of-d.ipynb, d)" in listed


def test_a_rating_of_one_is_to_be_repeated_and_a_rating_of_two_is_not(interview):
    for rating, weak in ((1, ["c"]), (2, [])):
        interview.kinds.value = ("debug",)
        interview.start()
        interview.rate(rating)
        assert interview.report()[0]["repeat"] == weak


@pytest.mark.parametrize("rating", [-1, 4, 100])
def test_another_rating_is_refused(interview, rating):
    interview.start()
    with pytest.raises(ValueError, match=r"a rating is a whole number from 0 to 3: got"):
        interview.rate(rating)


def test_nothing_can_be_rated_before_the_start_and_after_the_end(interview):
    with pytest.raises(ValueError, match=r"only an answer can be rated: .* Call start\(\) first"):
        interview.rate(2)
    interview.start()
    interview.finish_button.click()
    assert interview.asking is False
    assert "You rated no answer" in interview.results.value
    with pytest.raises(ValueError, match="only an answer can be rated"):
        interview.rate(2)


def test_a_second_interview_begins_with_an_empty_report(interview):
    interview.start()
    interview.rate(0)
    interview.finish()
    assert interview.form.layout.display is None
    assert interview.room.layout.display == "none"
    interview.start()
    assert interview.report() == []
    assert interview.form.layout.display == "none"


def test_a_form_that_fits_no_question_says_so(interview):
    interview.topics.value, interview.levels.value = ("complexity",), (3,)
    interview.start_button.click()
    assert interview.asking is False
    assert "no question fits all filters" in interview.message.value


def test_the_focus_goes_to_the_button_that_comes_next(interview, monkeypatch):
    focused = []
    monkeypatch.setattr(ipywidgets.Button, "focus", lambda self: focused.append(self.description))
    interview.kinds.value = ("concept",)
    interview.start_button.click()
    for _ in range(3):
        interview.more_button.click()
    interview.finish_button.click()
    shown = [f"Show the {words}" for words in ("short answer", "whiteboard answer", "common wrong answer")]
    assert focused == [*shown, "Next", "Start the interview"]


def test_a_good_interview_leaves_nothing_to_repeat(interview):
    interview.start()
    interview.rate(2)
    interview.finish()
    assert "Nothing to repeat" in interview.results.value


def test_the_levels_have_words_and_every_topic_shows(interview):
    assert [box.description for box in interview.levels.boxes.values()] == ["1: basic", "2: solid", "3: hard"]
    assert interview.topics.value == ("attention", "training", "complexity")
    interview.topics.boxes["training"].value = False
    assert interview.topics.value == ("attention", "complexity")


def test_no_control_needs_the_arrow_keys(interview):
    """JupyterLab takes them for its own cells, wherever the focus is on a control that holds no text."""
    found, waiting = [], [interview]
    while waiting:
        widget = waiting.pop()
        found.append(widget)
        waiting += getattr(widget, "children", ())
    taken = (ipywidgets.RadioButtons, ipywidgets.Select, ipywidgets.SelectMultiple, ipywidgets.Dropdown)
    assert len(found) > 20
    assert [widget for widget in found if isinstance(widget, taken)] == []


def test_the_ratings_have_words_as_well_as_numbers(interview):
    assert [label for label, _ in interview.rating.options] == [f"{n}: {word}" for n, word in enumerate(RATINGS)]
    assert [value for _, value in interview.rating.options] == [0, 1, 2, 3]


def test_the_repr_is_the_same_on_every_computer(interview):
    assert repr(interview) == "MockInterview(number=2, seed=4)"


def test_what_a_question_holds_is_shown_as_text(interview):
    interview = MockInterview([question("<img>", "<script>", follow_ups=0)], number=1)
    interview.start()
    assert "<script>" not in interview.title.value
    interview.rate(0)
    assert "<script>" not in interview.results.value
    assert "<img>" not in interview.results.value
