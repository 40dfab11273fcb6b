"""The exercises on multi-head attention: the examples worked out by hand, and mistakes as a reader would write them."""

import math

import pytest
import torch

from companion.interpret import head_contributions, head_importance
from companion.multihead import MultiHeadAttention, merge_heads, repeat_heads, split_heads
from companion.practice import exercises, inputs
from companion.practice.checker import check
from tests.tools.mistakes import as_written, refused

BY_NAME = {exercise.name: exercise for exercise in exercises("multi-head")}


def test_the_hand_examples_are_the_first_cases():
    """Closed form: the numbers that the statements work out."""
    a = math.log(3.0)
    weight = 3**a / (3**a + 1)
    expected = {
        "split-heads": [[[[1, 2], [5, 6]], [[3, 4], [7, 8]]]],
        "merge-heads": [[[1, 2, 3, 4], [5, 6, 7, 8]]],
        "repeat-heads": [[[[1, 2]], [[1, 2]], [[3, 4]], [[3, 4]]]],
        "multi-head": [[[weight * a, 0], [a / 2, 0]]],
        "head-contributions": [[[[2, 0]], [[3, 3]]]],
        "head-importance": [3, 3],
    }
    for name, by_hand in expected.items():
        result = BY_NAME[name].reference(*inputs(name, 1))
        torch.testing.assert_close(result, torch.tensor(by_hand, dtype=result.dtype), rtol=0, atol=1e-6)
    w_q, _, _, w_o = BY_NAME["prune-heads"].reference(*inputs("prune-heads", 1))
    assert w_q.tolist() == [[3, 4]]
    assert w_o.tolist() == [[3], [4]]


@pytest.mark.parametrize(
    ("name", "function"),
    [("split-heads", split_heads), ("merge-heads", merge_heads), ("repeat-heads", repeat_heads)],
)
def test_the_functions_of_the_package_are_right_answers(name, function):
    assert check(BY_NAME[name], function) == len(BY_NAME[name].cases())


def test_the_layer_of_the_package_gives_what_the_exercises_want():
    torch.manual_seed(0)
    layer = MultiHeadAttention(6, 3, d_k=2, d_v=4, bias=False).double()
    x = torch.randn(2, 5, 6, dtype=torch.float64)
    matrices = [w.weight.T for w in (layer.w_q, layer.w_k, layer.w_v, layer.w_o)]
    with torch.no_grad():
        want = BY_NAME["multi-head"].reference(x, *matrices, 3)
        torch.testing.assert_close(layer(x), want, rtol=0, atol=1e-12)
        heads = layer.weights(x) @ split_heads(layer.w_v(x), 3)
        parts = BY_NAME["head-contributions"].reference(heads, layer.w_o.weight.T)
        torch.testing.assert_close(parts, head_contributions(layer, x).sum(3), rtol=0, atol=1e-12)
    gradient = torch.randn(2, 5, 6, dtype=torch.float64)
    (measured,) = head_importance(layer, lambda: (layer(x) * gradient).sum((1, 2))).values()
    found = BY_NAME["head-importance"].reference(parts, gradient)
    torch.testing.assert_close(measured, found, rtol=0, atol=1e-12)


def test_a_mask_without_an_axis_for_the_heads_is_wrong_in_silence_somewhere():
    (mistake,) = (m for m in BY_NAME["multi-head"].mistakes if m.name == "mask-without-head-axis")
    silent = 0
    for case in BY_NAME["multi-head"].cases():
        try:
            got = mistake.function(*case.arguments)
        except RuntimeError:
            continue
        silent += not torch.allclose(got, BY_NAME["multi-head"].reference(*case.arguments))
    assert silent == 1


def softmax_over_heads(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = (split_heads(x @ w, n_heads) for w in (w_q, w_k, w_v))
    scores = torch.einsum("bhid,bhjd->bhij", q, k) / q.shape[-1] ** 0.5
    scores = scores if mask is None else torch.where(mask[:, None], scores, -torch.inf)
    return merge_heads(torch.softmax(scores, 1) @ v) @ w_o


def joined_by_reshape(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = (split_heads(x @ w, n_heads) for w in (w_q, w_k, w_v))
    mask = None if mask is None else mask[:, None]
    heads = torch.nn.functional.scaled_dot_product_attention(q, k, v, mask)
    return heads.reshape(len(x), x.shape[1], -1) @ w_o


# Classic mistakes as a reader would write them, which is not how the package does.
AS_WRITTEN = [
    ("split-heads", "view-only", lambda x, h: x.view(len(x), h, x.shape[1], x.shape[2] // h)),
    ("split-heads", "interleaved", lambda x, h: torch.stack([x[..., i::h] for i in range(h)], dim=1)),
    ("split-heads", "positions-last", lambda x, h: torch.stack(x.chunk(h, -1), 1).mT),
    ("merge-heads", "no-transpose", lambda heads: heads.reshape(len(heads), heads.shape[2], -1)),
    ("merge-heads", "interleaved", lambda heads: torch.stack(heads.unbind(1), dim=-1).flatten(2)),
    ("merge-heads", "added", lambda heads: sum(heads.unbind(1))),
    ("repeat-heads", "tiled", lambda heads, n: torch.cat([heads] * (n // heads.shape[1]), dim=1)),
    ("multi-head", "over-heads", softmax_over_heads),
    ("multi-head", "joined-by-view", joined_by_reshape),
    ("head-contributions", "first-block", lambda h, w: torch.stack([x @ w[: h.shape[-1]] for x in h.unbind(1)], 1)),
    ("head-importance", "sign-dropped-last", lambda c, g: torch.einsum("bhtm,btm->h", c, g).abs() / len(c)),
    (
        "head-importance",
        "sign-dropped-by-position",
        lambda c, g: torch.einsum("bhtm,btm->bht", c, g).abs().sum(2).mean(0),
    ),
]


@as_written(AS_WRITTEN)
def test_a_mistake_is_recognised_when_written_differently(name, mistake, function):
    assert refused(BY_NAME[name], function).mistake == mistake
