"""The exercises on multi-head attention: the examples worked out by hand, and mistakes as a reader would write them."""

import math

import pytest
import torch

from companion.interpret import head_contributions, head_importance
from companion.multihead import MultiHeadAttention, merge_heads, repeat_heads, split_heads
from companion.practice import exercises, inputs
from companion.practice.checker import WrongAnswer, check

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
    (wrong,) = BY_NAME["multi-head"].wrong_answers["mask-without-head-axis"]
    silent = 0
    for case in BY_NAME["multi-head"].cases():
        try:
            got = wrong(*case.arguments)
        except RuntimeError:
            continue
        silent += not torch.allclose(got, BY_NAME["multi-head"].reference(*case.arguments))
    assert silent == 1


def _as_contiguous(x):
    """What memory holds, read as if the tensor were contiguous."""
    return x.as_strided(x.shape, x.new_empty(x.shape).stride())


@pytest.mark.parametrize("name", ["split-heads", "merge-heads", "repeat-heads", "head-contributions"])
def test_steps_in_memory_are_not_those_of_every_tensor(name):
    def wrong(x, *others):
        return BY_NAME[name].reference(_as_contiguous(x), *others)

    with pytest.raises(WrongAnswer, match="transposed view"):
        check(BY_NAME[name], wrong)
