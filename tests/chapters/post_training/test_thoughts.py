"""Sums modulo 10 with a thought before the answer, and the choice among several answers."""

import torch

from companion.chapters.post_training import thoughts
from companion.chapters.post_training.pictures import reasoning
from companion.transformer import DecoderOnly


def problem(*rows):
    rows = [[digit + 1 for digit in row] + [thoughts.EMPTY] * (thoughts.DIGITS - len(row)) for row in rows]
    return torch.tensor([[*row, thoughts.THINK] for row in rows])


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def test_a_problem_is_solved_step_by_step_modulo_ten():
    sums, steps = thoughts.solved(problem([7, 5, 8, 9], [4, 4]))
    assert sums[:, :4].tolist() == [[7, 2, 0, 9], [4, 8, 8, 8]]
    assert sums[:, -1].tolist() == [9, 8]
    assert steps.tolist() == [3, 1]


def test_a_thought_may_stop_anywhere_and_the_answer_is_right():
    answers = thoughts.thinking(problem([7, 5, 8, 9], [7, 5, 8, 9], [7, 5, 8, 9]), torch.tensor([0, 2, 3]))
    new = answers.tokens[:, thoughts.DIGITS + 1 :]
    assert new[1, :5].tolist() == [3, 1, thoughts.ANSWER, 10, 0]
    assert answers.written.sum(1).tolist() == [3, 5, 6]
    assert thoughts.said(answers)[0].tolist() == [9, 9, 9]
    assert thoughts.said(answers)[1].tolist() == [0, 2, 3]


def test_demonstrations_are_right_and_use_each_length_of_thought():
    answers = thoughts.demonstrations(300, generator())
    steps = thoughts.solved(answers.tokens[:, : thoughts.DIGITS + 1])[1]
    tokens = thoughts.said(answers)[1]
    assert thoughts.is_right(answers).all()
    assert (tokens <= steps).all()
    assert tokens.unique().tolist() == list(range(thoughts.DIGITS))
    assert not thoughts.said(thoughts.demonstrations(50, generator(), thought=False))[1].any()


def test_an_answer_without_its_sign_is_none_and_wrong():
    answers = thoughts.thinking(problem([7, 5, 8], [7, 5, 8]), torch.tensor([2, 2]))
    answers.tokens[0, thoughts.DIGITS + 3] = 5
    assert thoughts.said(answers)[0].tolist() == [-1, 0]
    assert thoughts.is_right(answers).tolist() == [False, True]


def test_the_checker_does_not_read_the_thought():
    answers = thoughts.thinking(problem([7, 5, 8]), torch.tensor([2]))
    answers.tokens[0, thoughts.DIGITS + 1] = 9
    assert thoughts.is_right(answers).tolist() == [True]


def test_a_vote_counts_answers_or_their_weights_and_leaves_out_what_is_none():
    answers = torch.tensor([[3, 7, 3, 5, 7], [-1, -1, -1, 2, 4]])
    weights = torch.tensor([[0.2, 0.9, 0.3, 0.1, 0.8], [9, 9, 9, 0.1, 0.2]])
    assert thoughts.vote(answers).tolist() == [3, 2]
    assert thoughts.vote(answers, weights).tolist() == [7, 4]


def test_a_forced_thought_has_its_length_and_a_shift_changes_what_follows():
    seen = []

    class Counting(DecoderOnly):
        def forward(self, tokens, *rest, **named):
            seen.append(tokens)
            return super().forward(tokens, *rest, **named)

    model, asked = Counting(thoughts.config(), seed=1), thoughts.problems(5, generator(), 6)
    answer = thoughts.forced(model, asked, 3, shift_at=1)
    plain = seen[2][:, -1]
    assert ((answer >= 0) & (answer < 10)).all()
    assert [row.shape[1] for row in seen] == [9, 10, 11, 13]
    assert (seen[3][:, -1] == thoughts.ANSWER).all()
    seen.clear()
    thoughts.forced(model, asked, 3)
    assert seen[2][:, -1].remainder(10).add(1).equal(plain)


def test_the_picture_adds_as_the_task_does():
    sums, _ = thoughts.solved(problem(reasoning.PROBLEM))
    text = reasoning.two_ways_to_spend_more().wide.svg()
    assert f"writes {' '.join(map(str, sums[0, 1:4].tolist()))} and then {sums[0, -1]}." in text
    assert sums[0, -1] != reasoning.WRONG
