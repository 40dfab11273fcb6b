"""The experiments of the chapter: what the task asks, and that the measured quantities are what they are called."""

import math

import pytest
import torch

from companion.chapters.multi_head.experiments import EXPERIMENTS, Reader, recall_loss, right, train, two_questions
from companion.measure import results


def test_each_token_is_asked_for_the_letter_before_it_and_the_digit_of_its_twin():
    tokens, answers, twins = two_questions(torch.Generator().manual_seed(3), 20)
    for row, wanted, positions in zip(tokens.tolist(), answers.tolist(), twins.tolist(), strict=True):
        letters, digits = zip(*(divmod(token, 4) for token in row), strict=True)
        assert sorted(letters) == [0, 0, 1, 1, 2, 2, 3, 3]
        assert wanted[0] == [-100, -100]
        for i in range(1, 8):
            (twin,) = [j for j in range(8) if j != i and letters[j] == letters[i]]
            assert positions[i] == twin
            assert wanted[i] == [letters[i - 1], digits[twin]]


class Says(torch.nn.Module):
    """A model that gives the same logits whatever it is shown."""

    def __init__(self, logits):
        super().__init__()
        self.logits = logits

    def forward(self, tokens):
        return self.logits


def test_a_model_that_knows_the_answers_is_right_and_one_that_guesses_is_not():
    answers = two_questions(torch.Generator().manual_seed(99), 300)[1]
    one_hot = torch.nn.functional.one_hot(answers.clamp(min=0), 4).float()
    assert right(Says(one_hot)) == [100, 100]
    assert right(Says(-one_hot)) == [0, 0]
    assert right(Says(one_hot[:, :, [0, 0]]))[0] == 100


def test_a_trained_model_answers_and_takes_no_more_gradients():
    torch.manual_seed(0)
    model = train(Reader(n_heads=4), seed=0, steps=200)
    assert max(right(model)) > 60
    assert not any(parameter.requires_grad for parameter in model.parameters())


def test_the_loss_of_a_recall_falls_from_that_of_guessing():
    assert recall_loss(0, heads=4, steps=50) < math.log(8) < 1.2 * recall_loss(0, heads=64, steps=50)


@pytest.mark.parametrize(
    ("name", "seeds"),
    [("letters right", [10, 10, 3, 3, 3, 3]), ("digits right", [10, 10, 3, 3, 3, 3]), ("loss of a recall", [3] * 6)],
)
def test_each_experiment_was_run_with_the_seeds_of_its_plan(name, seeds):
    found, plans = results("multi-head", name), [one for one in EXPERIMENTS if one.name == name]
    assert [len(row.values) for row in found] == [len(plan.seeds) for plan in plans] == seeds
    assert [row.settings for row in found] == [plan.settings for plan in plans]
