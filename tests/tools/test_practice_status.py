"""What is solved, tried and open: as a table, and kept in a file."""

import json

import pytest
import torch

from companion.practice import check_exercise, exercises, keep_progress, progress, status
from companion.practice.checker import WrongAnswer
from tests.tools.practice import BY_NAME

pytestmark = pytest.mark.usefixtures("fresh")


def lines_of(chapter, solved):
    """The first line of a chapter's table, and how many lines stand below it."""
    count = len(exercises(chapter))
    return f"{chapter}: {solved} of {count} solved", count


def test_status_is_a_table_by_chapter(capsys):
    check_exercise("scaled-scores", BY_NAME["scaled-scores"].reference)
    with pytest.raises(WrongAnswer):
        check_exercise("causal-mask", lambda t_q, t_k: torch.ones(t_q, t_k))
    capsys.readouterr()
    status()
    lines = capsys.readouterr().out.splitlines()
    title, below = lines_of("history", solved=0)
    assert lines[0] == title
    lines = lines[1 + below :]
    title, below = lines_of("attention", solved=1)
    assert lines[0] == title
    rows = [line.split(maxsplit=2) for line in lines[1 : 1 + below]]
    assert rows[0] == ["solved", "scaled-scores", "Compute the scaled scores"]
    assert rows[1] == ["open", "softmax-stable", "Write a softmax that survives large scores"]
    assert ["tried", "causal-mask", "Build a causal mask"] in rows
    assert [state for state, *_ in rows].count("open") == below - 2
    assert lines[-1] == 'Not kept: keep_progress("progress.json") keeps it in that file.'


def test_status_shows_one_chapter_where_one_is_asked_for(capsys):
    status("multi-head")
    lines = capsys.readouterr().out.splitlines()
    title, below = lines_of("multi-head", solved=0)
    assert lines[0] == title
    assert lines[1].split(maxsplit=2) == ["open", "split-heads", "Split features into heads"]
    assert len({line.index(line.split(maxsplit=2)[2]) for line in lines[1 : 1 + below]}) == 1  # titles in one column
    assert len(lines) == 1 + below + 1
    status()
    assert {title, lines_of("attention", solved=0)[0]} <= set(capsys.readouterr().out.splitlines())
    with pytest.raises(ValueError, match="a chapter with exercises is asked for: got 'multihead'"):
        status("multihead")


def test_progress_is_kept_in_a_file_that_people_can_read(tmp_path, capsys):
    path = tmp_path / "progress.json"
    check_exercise("scaled-scores", BY_NAME["scaled-scores"].reference)
    keep_progress(path)
    assert json.loads(path.read_text()) == {"exercises": {"scaled-scores": "solved"}}
    with pytest.raises(WrongAnswer):
        check_exercise("causal-mask", lambda t_q, t_k: torch.ones(t_q, t_k))
    assert path.read_text() == (
        '{\n  "exercises": {\n    "causal-mask": "tried",\n    "scaled-scores": "solved"\n  }\n}\n'
    )
    assert [p.name for p in tmp_path.iterdir()] == ["progress.json"]
    capsys.readouterr()
    status()
    assert capsys.readouterr().out.splitlines()[-1] == f"Kept in {path}."


def test_progress_is_joined_with_the_file_and_never_goes_back(tmp_path, fresh):
    path = tmp_path / "progress.json"
    path.write_text('{"exercises": {"attention": "solved", "causal-mask": "tried", "from-a-later-book": "solved"}}')
    fresh.record("causal-mask", "solved")
    fresh.record("attention", "tried")
    keep_progress(str(path))
    states = json.loads(path.read_text())["exercises"]
    assert states == {"attention": "solved", "causal-mask": "solved", "from-a-later-book": "solved"}
    assert fresh.state("attention") == "solved"
    fresh.record("attention", "tried")
    assert fresh.state("attention") == "solved"


def test_a_solved_exercise_stays_solved(fresh):
    fresh.record("attention", "solved")
    fresh.record("attention", "tried")
    assert fresh.state("attention") == "solved"


def test_two_notebooks_can_keep_one_file(tmp_path):
    one, other = progress.Progress(), progress.Progress()
    one.keep(tmp_path / "p.json")
    other.keep(tmp_path / "p.json")
    one.record("attention", "solved")
    other.record("causal-mask", "tried")
    assert json.loads((tmp_path / "p.json").read_text())["exercises"] == {
        "attention": "solved",
        "causal-mask": "tried",
    }


@pytest.mark.parametrize(
    "text",
    ["{", "[]", '"x"', "{}", '{"exercises": []}', '{"exercises": {"attention": "done"}}', '{"exercises": {"a": []}}'],
)
def test_a_broken_progress_file_is_refused_and_left_alone(tmp_path, text):
    path = tmp_path / "progress.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"progress\.json does not .*Name another file, or move this one away"):
        keep_progress(path)
    assert path.read_text() == text
    assert progress.PROGRESS.path is None


def test_progress_needs_an_existing_folder(tmp_path):
    for path in (tmp_path / "missing" / "p.json", tmp_path):
        with pytest.raises(ValueError, match=r"a file in an existing folder: got .*Create the folder first"):
            keep_progress(path)


def test_a_file_that_breaks_later_does_not_hide_the_verdict(tmp_path, capsys):
    keep_progress(tmp_path / "p.json")
    (tmp_path / "p.json").write_text("broken")
    check_exercise("scaled-scores", BY_NAME["scaled-scores"].reference)
    out = capsys.readouterr().out
    assert "Compute the scaled scores: correct" in out
    assert "Progress was not saved: a progress file holds JSON" in out
    with pytest.raises(WrongAnswer, match="You did not scale"):
        check_exercise("scaled-scores", lambda q, k: q @ k.mT)


def test_a_state_that_does_not_exist_is_refused(fresh):
    with pytest.raises(ValueError, match=r"one of open, tried, solved: got 'done'"):
        fresh.record("attention", "done")
