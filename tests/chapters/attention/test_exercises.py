"""The exercises on attention: the examples worked out by hand, and answers near a mistake."""

import math

import pytest
import torch

from companion.attention import attention_weights
from companion.practice import inputs
from companion.practice.random_inputs import RandomInputs
from tests.chapters.attention.right_answers import sentences_then_mask, softmax_then_mask
from tests.tools.practice import BY_NAME, one_line, refused


def test_the_hand_examples_are_the_first_cases():
    """Closed form: the numbers that the statements work out."""
    expected = {
        "scaled-scores": [[2.0, 4.0]],
        "softmax-stable": [[0.125, 0.25, 0.625]],
        "causal-mask": [[True, True, False], [True, True, True]],
        "padding-mask": [[[True, True, True]], [[True, False, False]]],
        "masked-weights": [[0.25, 0.75, 0.0]],
        "attention": [[1.0, 3.0, 8.0]],
        "softmax-jacobian": [[0.1875, -0.1875], [-0.1875, 0.1875]],
    }
    for name, numbers_by_hand in expected.items():
        result = BY_NAME[name].reference(*inputs(name, 1))
        torch.testing.assert_close(result, torch.tensor(numbers_by_hand), rtol=0, atol=1e-6)
    d_query, d_key, d_value = BY_NAME["attention-backward"].reference(*inputs("attention-backward", 1))
    assert d_query.tolist() == [[-1.0, 0.0, 0.0, 0.5]]
    assert d_key.tolist() == [[-0.5, 0.0, 0.0, -1.0], [0.5, 0.0, 0.0, 1.0]]
    assert d_value.tolist() == [[0.5, 0.0, 1.0], [0.5, 0.0, 1.0]]


def test_hints_come_in_small_steps():
    """The second gives the operation, not the whole; the third leaves the last step to the reader."""
    assert "`.mT` or `transpose(-2, -1)`" in BY_NAME["scaled-scores"].hints[1]
    for words in ("tril", "triangle", "t_k - 1"):
        assert words not in BY_NAME["causal-mask"].hints[2]
    assert "arange" not in BY_NAME["padding-mask"].hints[2]
    assert "two more axes" not in BY_NAME["padding-mask"].hints[2]
    first, second, third = BY_NAME["debug-padded-batch"].hints
    assert "count as real" in second
    assert not any("mask acts" in text or "averaged" in text for text in (first, second))
    assert "mask acts" in third


def test_a_drawn_mask_allows_every_query_some_key():
    mask = RandomInputs(0).mask(200, 3)
    assert mask.any(-1).all()
    assert 0.4 < mask.double().mean() < 0.8


def test_two_bugs_in_one_answer_are_named_one_after_the_other():
    def first(query, key, value, mask=None):  # no scale, and NaN for a query with no key
        scores = query @ key.mT
        return (scores if mask is None else scores.masked_fill(~mask, -torch.inf)).softmax(-1) @ value

    def second(query, key, value, mask=None):  # the scale mended
        return first(query / math.sqrt(query.shape[-1]), key, value, mask)

    assert refused(BY_NAME["attention"], first).mistake == "no-scale"
    assert refused(BY_NAME["attention"], second).mistake == "empty-row-nan"
    assert refused(BY_NAME["softmax-stable"], lambda s: s.exp() / s.exp().sum(-1, keepdim=True)).mistake == "no-shift"


def queries_masked(mask):
    return mask[:, None] if mask.ndim == 1 else mask


def sentences_masked(mask):
    return mask[:, None] if mask.ndim == 3 else mask


@pytest.mark.parametrize("misread", [queries_masked, sentences_masked])
def test_a_mask_broadcasts_from_its_last_axis(misread):
    """Read from the first, one axis hides queries, and three hide keys of sentences in place of heads."""

    def weights(scores, mask):
        return BY_NAME["masked-weights"].reference(scores, misread(mask) if scores.ndim in (2, 4) else mask)

    def attend(query, key, value, mask=None):
        mask = misread(mask) if mask is not None and query.ndim in (2, 4) else mask
        return BY_NAME["attention"].reference(query, key, value, mask)

    assert refused(BY_NAME["masked-weights"], weights)
    assert refused(BY_NAME["attention"], attend)


def test_the_transpose_written_out_for_some_numbers_of_axes_is_not_enough():
    def scores(query, key):
        order = {2: (1, 0), 3: (0, 2, 1), 4: (0, 1, 3, 2)}[key.ndim]
        return query @ key.permute(order) / math.sqrt(key.shape[-1])

    assert "three leading axes" in one_line(refused(BY_NAME["scaled-scores"], scores))


def test_a_little_added_to_the_sum_is_no_way_out_of_a_row_of_minus_infinity():
    """A number small enough for float64 is 0 in float32, and a repair of the last row alone leaves the others."""

    def divided(scores, added):
        powers = (scores - scores.amax(-1, keepdim=True).clamp_min(-1e30)).exp()
        return powers / (powers.sum(-1, keepdim=True) + added)

    def last(scores):
        weights = divided(scores, 0)
        weights[..., -1, :] = weights[..., -1, :].nan_to_num(0.0)
        return weights

    for wrong in (last, lambda scores: divided(scores, 1e-300)):
        assert "all scores of the first row are -inf" in one_line(refused(BY_NAME["softmax-stable"], wrong))


def test_a_renormalised_row_is_named_only_where_a_hidden_score_took_everything():
    """The diagnosis speaks of weights that underflowed: in the case that fails they have."""
    error = refused(BY_NAME["masked-weights"], softmax_then_mask)
    scores, mask = inputs("masked-weights", error.case)
    assert "15 of 15 entries are NaN" in one_line(error)
    assert "it took all the weight, and the others underflowed to 0" in one_line(error)
    assert torch.where(mask, scores.softmax(-1), 0.0).sum() == 0
    error = refused(BY_NAME["debug-padded-batch"], sentences_then_mask)
    x, lengths, w_q, w_k, _ = inputs("debug-padded-batch", error.case)
    weights = attention_weights(x @ w_q, x @ w_k)
    real = torch.arange(x.shape[1]) < lengths[:, None]
    assert "the pads score so high that they took all the weight" in one_line(error)
    assert (torch.where(real[:, None], weights, 0.0).sum(-1) == 0).any()


NEAR = [
    ("scaled-scores", lambda q, k: q @ k.reshape(*k.shape[:-2], k.shape[-1], -1)),
    ("scaled-scores", lambda q, k: q @ k.mT @ k),
    ("scaled-scores", lambda q, k: q @ (k if k.shape[-2] == 2 else k.mT)),
    ("attention", lambda q, k, v, m=None: (q @ k.mT).softmax(-1) @ v @ v),
    ("masked-weights", lambda s, mask: 0 * softmax_then_mask(s, mask).nan_to_num(0.0)),
    ("masked-weights", lambda s, mask: s @ s),
    ("attention-backward", lambda q, k, v, g: q @ k.mT @ q),
    ("attention-backward", lambda q, k, v, g: g - g.sum(-1)),
]


@pytest.mark.parametrize(("name", "function"), [pytest.param(*row, id=f"{row[0]}-{i}") for i, row in enumerate(NEAR)])
def test_an_answer_near_a_mistake_is_not_taken_for_it(name, function):
    assert refused(BY_NAME[name], function).mistake is None
