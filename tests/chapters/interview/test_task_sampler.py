"""The sampler in stages: hand examples, the filters of the package row by row, and frequencies."""

import math

import pytest
import torch

from companion.generate.sampling import keep_top_k, keep_top_p
from companion.practice import inputs
from tests.tools.practice import BY_NAME

HIDDEN = -math.inf


def result(name, case):
    return BY_NAME[name].results(BY_NAME[name].reference, inputs(name, case))


def test_the_hand_examples_are_the_first_cases():
    """Closed form: the numbers that the statements work out."""
    assert result("sampler-top-k", 1).tolist() == [[HIDDEN, 3.0, 2.0]]
    assert result("sampler-top-p", 1).exp().tolist() == [pytest.approx([0.0, 5.0, 3.0])]
    assert result("sampler-distribution", 1).tolist() == [pytest.approx([4 / 7, 3 / 7, 0.0, 0.0])]
    token, own = result("sampler-draw", 1)
    assert token.tolist() == [1]
    assert own.tolist() == pytest.approx([math.log(0.5)])


def test_each_row_is_filtered_as_the_package_filters_it():
    """Oracle: `keep_top_k` and `keep_top_p`, one request at a time."""
    generator = torch.Generator().manual_seed(1)
    scores = torch.randn(6, 9, generator=generator, dtype=torch.float64)
    k = torch.tensor([1, 2, 5, 9, 3, 4])
    want = torch.cat([keep_top_k(row[None], n) for row, n in zip(scores, k.tolist(), strict=True)])
    assert torch.equal(BY_NAME["sampler-top-k"].reference(scores, k), want)
    p = torch.tensor([0.1, 0.4, 0.9, 0.99, 0.6, 0.75], dtype=torch.float64)
    want = torch.cat([keep_top_p(row[None], limit) for row, limit in zip(scores, p.tolist(), strict=True)])
    assert torch.equal(BY_NAME["sampler-top-p"].reference(scores, p), want)


def test_a_row_does_not_depend_on_its_neighbours():
    """Identity: a batch with greedy rows gives what each row gives alone."""
    scores, *settings = next(
        case.arguments for case in BY_NAME["sampler-distribution"].cases() if "greedy rows" in case.note
    )
    exercise = BY_NAME["sampler-distribution"]
    whole = exercise.results(exercise.reference, (scores, *settings))
    alone = [
        exercise.results(exercise.reference, (scores[i : i + 1], *((s[i],) for s in settings)))
        for i in range(len(scores))
    ]
    torch.testing.assert_close(whole, torch.cat(alone), rtol=0, atol=0)
    assert whole[0].max() == 1.0


def test_draws_give_tokens_as_often_as_their_probabilities_say_and_no_other_token():
    """Closed form: evenly spaced draws meet each token in proportion, and a draw at either end meets a kept one."""
    exercise = BY_NAME["sampler-draw"]
    scores, temperature, k, p, draws = next(c.arguments for c in exercise.cases() if c.note == "two thousand draws")
    chances = BY_NAME["sampler-distribution"].reference(
        scores[:1], torch.tensor(temperature[:1]), torch.tensor(k[:1]), torch.tensor(p[:1])
    )
    tokens, _ = exercise.results(exercise.reference, (scores, temperature, k, p, draws))
    assert torch.bincount(tokens, minlength=4).tolist() == pytest.approx((2000 * chances[0]).tolist(), abs=1)
    for words in ("draws of 0", "draws just below 1"):
        case = next(c.arguments for c in exercise.cases() if c.note == words)
        tokens, _ = exercise.results(exercise.reference, case)
        kept = BY_NAME["sampler-top-k"].reference(case[0], torch.tensor(case[2])) > HIDDEN
        assert kept.gather(1, tokens[:, None]).all()
