"""The exercises on residuals and norms: the examples worked out by hand, and mistakes as a reader would write them."""

import math

import pytest
import torch

from companion.encoder import EncoderLayer
from companion.feedforward import FeedForward, SwiGLU
from companion.norm import LayerNorm, SequenceBatchNorm, layer_norm, rms_norm
from companion.practice import exercises, inputs
from companion.practice.checker import check
from tests.tools.practice import one_line, refused

BY_NAME = {exercise.name: exercise for exercise in exercises("add-norm")}


def test_the_hand_examples_are_the_first_cases():
    """Closed form: the numbers that the statements work out."""
    expected = {
        "layer-norm": [[[-0.5, 2.0]]],
        "rms-norm": [[[1.0, 4.0, 0.0, 0.0]]],
        "feed-forward": [[[-1.0]]],
        "swiglu": [[[3 * math.log(3)]]],
        "norm-order": [[[-1.0, 2.0]]],
        "masked-batch-norm": [[[-1.0], [1.0]], [[0.0], [0.0]]],
        "norm-backward": [[[0.75, -0.75]]],
    }
    for name, by_hand in expected.items():
        result = BY_NAME[name].reference(*inputs(name, 1))
        torch.testing.assert_close(result, torch.tensor(by_hand, dtype=result.dtype), rtol=0, atol=5e-5)  # eps
    matrix, bias = BY_NAME["fold-gain"].reference(*inputs("fold-gain", 1))
    assert matrix.tolist() == [[2.0], [3.0]]
    assert bias.tolist() == [6.0]


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("layer-norm", lambda x, gain, bias, eps: layer_norm(x, gain, bias, eps=eps)),
        ("rms-norm", lambda x, gain, eps: rms_norm(x, gain, eps=eps)),
        (
            "masked-batch-norm",
            lambda x, mask, eps: SequenceBatchNorm(x.shape[-1], eps=eps).to(x.dtype)(x, mask).detach(),
        ),
    ],
)
def test_the_norms_of_the_package_are_right_answers(name, function):
    assert check(BY_NAME[name], function) == len(BY_NAME[name].cases())


def test_the_networks_of_the_package_give_what_the_exercises_want(randn):
    torch.manual_seed(0)
    plain, gated = FeedForward(5, 7).double(), SwiGLU(5, 7).double()
    x = randn(2, 3, 5)
    maps = [t for layer in (plain.w_1, plain.w_2) for t in (layer.weight.T, layer.bias)]
    torch.testing.assert_close(plain(x), BY_NAME["feed-forward"].reference(x, *maps), rtol=0, atol=1e-12)
    maps = [layer.weight.T for layer in (gated.w_gate, gated.w_up, gated.w_down)]
    torch.testing.assert_close(gated(x), BY_NAME["swiglu"].reference(x, *maps), rtol=0, atol=1e-12)


@pytest.mark.parametrize("norm_placement", ["post", "pre"])
def test_the_norm_stands_where_it_does_in_the_layer_of_the_package(randn, norm_placement, monkeypatch):
    layer = EncoderLayer(5, 1, 7, norm_placement=norm_placement, dropout=0.0).double()
    x, w_1, w_2 = randn(2, 3, 5), randn(5, 5), randn(5, 5)
    monkeypatch.setattr(layer.attention, "forward", lambda x, mask=None: x @ w_1)
    monkeypatch.setattr(layer.feed_forward, "forward", lambda x: x @ w_2)
    want = BY_NAME["norm-order"].reference(x, w_1, w_2, norm_placement == "pre")
    torch.testing.assert_close(layer(x), want, rtol=0, atol=1e-12)


def test_folding_changes_nothing_in_the_output(randn):
    norm, linear = LayerNorm(5).double(), torch.nn.Linear(5, 7).double()
    with torch.no_grad():
        norm.weight.copy_(randn(5))
        norm.bias.copy_(randn(5))
    matrix, bias = BY_NAME["fold-gain"].reference(norm.weight, norm.bias, linear.weight.T, linear.bias)
    x = randn(2, 3, 5)
    torch.testing.assert_close(layer_norm(x) @ matrix + bias, linear(norm(x)), rtol=0, atol=1e-12)


def test_the_backward_pass_is_that_of_autograd(randn):
    x, gain, d_y = randn(2, 3, 5).requires_grad_(), randn(5), randn(2, 3, 5)
    layer_norm(x, gain, eps=0.3).backward(d_y)
    got = BY_NAME["norm-backward"].reference(d_y, x.detach(), gain, 0.3)
    torch.testing.assert_close(got, x.grad, rtol=0, atol=1e-12)


def all_less_padding(x, mask, eps):
    """Statistics of everything less those of the padding: a large pad takes the digits of the rest with it."""
    real = mask.mT
    n = real.sum()
    mean = (x.sum((0, 1)) - (x * ~real).sum((0, 1))) / n
    squares = (x - mean).square()
    variance = (squares.sum((0, 1)) - (squares * ~real).sum((0, 1))) / n
    return (x - mean) / (variance + eps).sqrt() * real


def prefixes_only(x, mask, eps):
    """Read only how many tokens of each sentence are real."""
    first = torch.arange(x.shape[1]) < mask.sum(-1, keepdim=True)
    return BY_NAME["masked-batch-norm"].reference(x, first, eps)


def around_the_mean_of_all(x, gain, bias, eps):
    """The difference of squares around one mean for all rows."""
    shifted = x - x.mean()
    variance = shifted.square().mean(-1, keepdim=True) - shifted.mean(-1, keepdim=True).square()
    return (shifted - shifted.mean(-1, keepdim=True)) / (variance + eps).sqrt() * gain + bias


def bias_from_the_folded_matrix(gain, bias, w, b):
    """The bias over the gain, through the matrix that holds the gain."""
    return gain[:, None] * w, (bias / gain) @ (gain[:, None] * w) + b


def along_a_unit_vector(d_y, x, gain, eps):
    """The direction is divided by the root without eps, which is 0 for a constant vector."""
    centred = x - x.mean(-1, keepdim=True)
    variance = centred.square().mean(-1, keepdim=True)
    unit, d_normal = centred / variance.sqrt(), d_y * gain
    along = unit * (d_normal * unit).mean(-1, keepdim=True) * variance / (variance + eps)
    return (d_normal - d_normal.mean(-1, keepdim=True) - along) / (variance + eps).sqrt()


@pytest.mark.parametrize(
    ("name", "wrong", "case"),
    [
        ("masked-batch-norm", all_less_padding, "a pad of 1e9"),
        ("masked-batch-norm", prefixes_only, "padding in front"),
        ("layer-norm", around_the_mean_of_all, "means far from 0 on both sides"),
        ("fold-gain", bias_from_the_folded_matrix, "a gain of 0"),
        ("norm-backward", along_a_unit_vector, "constant vectors"),
    ],
)
def test_an_answer_that_is_right_but_for_some_numbers_is_refused(name, wrong, case):
    assert case in one_line(refused(BY_NAME[name], wrong))
