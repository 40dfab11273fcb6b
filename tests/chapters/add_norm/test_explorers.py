"""The explorers on norms and depth without a browser: what they compute, and what they refuse."""

import math

import pytest
import torch
import torch.nn.functional as F

from companion.chapters.add_norm.explorers.norms import (
    DEPTHS,
    EPS,
    FLOOR,
    NORM_PLACEMENTS,
    SCALES,
    SIGNALS,
    depth_signals,
    token_difference,
)
from companion.explorers import DepthExplorer, NormExplorer
from companion.norm import layer_norm
from tests.tools.traits import assert_takes_and_refuses

X = [[[1.0, 2.0], [3.0, -1.0]], [[0.0, 5.0], [4.0, 4.0]]]


@pytest.fixture(scope="module")
def depth():
    return DepthExplorer()


# ---- NormExplorer


@pytest.mark.parametrize(
    ("norm", "expected"),
    [
        ("layer", lambda x: F.layer_norm(x, (2,), eps=EPS)),
        ("rms", lambda x: F.rms_norm(x, (2,), eps=EPS)),
        ("batch", lambda x: F.batch_norm(x.flatten(0, 1), None, None, training=True, eps=EPS).view_as(x)),
    ],
)
def test_the_results_are_those_of_torch(norm, expected):
    shown = NormExplorer(X, [2, 2], norm=norm, masked=False, first=-3.0)
    x = torch.tensor(X, dtype=torch.float64)
    torch.testing.assert_close(shown.results(moved=False), expected(x), rtol=0, atol=1e-12)
    x[0, 0, 0] = -3.0
    torch.testing.assert_close(shown.results(), expected(x), rtol=0, atol=1e-12)


def test_masked_padding_counts_in_no_statistics_of_the_batch():
    """Closed form: of the first feature 1, 3 and 0 are real, of the second 2, -1 and 5."""
    y = NormExplorer(X, [2, 1]).results()
    real = torch.tensor([[1.0, 2.0], [3.0, -1.0], [0.0, 5.0]], dtype=torch.float64)
    want = (real - real.mean(0)) / (real.var(0, correction=0) + EPS).sqrt()
    torch.testing.assert_close(y.flatten(0, 1)[:3], want, rtol=0, atol=1e-12)
    assert y[1, 1].tolist() == [0.0, 0.0]


def test_a_mask_changes_nothing_for_norms_of_one_token():
    for norm in ("layer", "rms"):
        results = [NormExplorer(X, [2, 1], norm=norm, masked=masked).results() for masked in (True, False)]
        assert torch.equal(*results)


def test_the_first_number_is_where_it_was_given():
    assert NormExplorer().first == 1.0
    assert NormExplorer(X, [2, 2]).first == 1.0
    assert repr(NormExplorer()) == "NormExplorer(2 sentences, 3 tokens, 4 features)"


@pytest.mark.parametrize(
    ("x", "lengths", "rule"),
    [
        ([[1.0, 2.0]], [2], r"at most 3 sentences, 4 tokens and 5 features: got shape \(1, 2\). Show fewer"),
        (torch.zeros(4, 2, 2), [2] * 4, r"got shape \(4, 2, 2\)"),
        (torch.zeros(2, 2, 6), [2, 2], r"got shape \(2, 2, 6\)"),
        (X, [2, 3], "lengths lie between 0 and"),
        (X, [2], r"each of 2 sentences has one length, and two tokens are real: got \[2\]"),
        (X, [1, 0], r"two tokens are real: got \[1, 0\]. Give one number a sentence"),
    ],
)
@pytest.mark.usefixtures("shape_checks_off")
def test_the_norms_refuse_what_they_cannot_show(x, lengths, rule):
    with pytest.raises(ValueError, match=rule):
        NormExplorer(x, lengths)


# ---- DepthExplorer


def test_the_levels_are_those_of_every_stack(depth):
    place = 0
    for n_layers in DEPTHS:
        for scale in SCALES:
            for norm_placement in NORM_PLACEMENTS:
                measured = depth_signals(norm_placement, n_layers, scale)
                for name, shown in zip(SIGNALS, depth.levels[place], strict=True):
                    want = [math.log10(max(value, 10.0**FLOOR)) for value in measured[name]]
                    assert shown == pytest.approx(want, abs=0.0051)
                place += 1
    assert place == len(depth.levels)


@pytest.mark.parametrize("norm_placement", NORM_PLACEMENTS)
def test_the_signals_do_not_depend_on_the_default_dtype(norm_placement):
    before = depth_signals(norm_placement, 2)
    torch.set_default_dtype(torch.float64)
    try:
        assert depth_signals(norm_placement, 2) == before
    finally:
        torch.set_default_dtype(torch.float32)


def test_the_global_state_is_left_alone():
    torch.manual_seed(3)
    first = torch.rand(2)
    torch.manual_seed(3)
    depth_signals("pre", 1)
    assert torch.equal(torch.rand(2), first)


def test_a_post_norm_layer_ends_in_size_1_and_a_pre_norm_stack_grows():
    post, pre = depth_signals("post", 6)["size"], depth_signals("pre", 6)["size"]
    assert post == pytest.approx([1.0] * 6, abs=1e-4)
    assert pre == sorted(pre)
    assert pre[-1] > 2


def test_without_residuals_tokens_become_equal_and_with_them_not():
    """Dong et al. (2021)."""
    assert depth_signals("none", 6)["tokens"][-1] < 1e-12
    assert depth_signals("pre", 6)["tokens"][-1] > 0.3


def test_the_scale_is_that_of_the_weights():
    assert depth_signals("pre", 1, 2.0)["size"][0] > depth_signals("pre", 1, 0.5)["size"][0] + 0.3


def test_seeds_differ():
    assert depth_signals("pre", 1, seed=1) != depth_signals("pre", 1)


def test_the_gradient_of_a_single_layer_is_that_of_autograd():
    """Closed form of one part: behind the last norm the gradient is divided by the size of the stream."""
    one, size = depth_signals("pre", 1), depth_signals("pre", 1)["size"][0]
    assert 0 < one["gradient"][0] < 10 / size
    assert set(one) == set(SIGNALS)


@pytest.mark.parametrize(("norm_placement", "n_layers"), [("both", 2), ("post", 0)])
def test_a_stack_that_is_none_is_refused(norm_placement, n_layers):
    with pytest.raises(
        ValueError, match=f"norm_placement is one of post, pre, none.*got '{norm_placement}' and {n_layers}"
    ):
        depth_signals(norm_placement, n_layers)


def test_token_difference_is_0_for_equal_tokens_and_1_for_opposite_ones():
    assert token_difference(torch.ones(2, 3, 5)) == 0.0
    assert token_difference(torch.tensor([[[1.0, 2.0], [-1.0, -2.0]]])) == pytest.approx(1.0)
    assert token_difference(torch.tensor([[3.0], [1.0]])) == pytest.approx(math.sqrt(2 / 10))


def test_the_depth_explorer_names_its_sizes(depth):
    assert repr(depth) == "DepthExplorer(3 norm placements, 3 depths, 3 scales)"
    with pytest.raises(ValueError, match="depth is one of 6, 12, 24: got 7"):
        DepthExplorer(depth=7)


def test_layer_norm_ends_the_stack_unless_it_is_post_norm(monkeypatch):
    seen = []
    monkeypatch.setattr(
        "companion.chapters.add_norm.explorers.norms.layer_norm", lambda x: seen.append(1) or layer_norm(x)
    )
    for norm_placement, count in (("post", 0), ("pre", 1), ("none", 2)):
        depth_signals(norm_placement, 1)
        assert len(seen) == count


@pytest.mark.parametrize(
    ("made", "name", "good", "bad", "rule"),
    [
        (NormExplorer, "norm", "rms", "group", "norm is one of 'batch', 'layer', 'rms': got 'group'"),
        (NormExplorer, "first", 8, 8.5, "first is a number from -8.0 to 8.0: got 8.5"),
        (DepthExplorer, "scale", 2, 3, "scale is one of 0.5, 1.0, 2.0: got 3"),
        (DepthExplorer, "signal", "size", "loss", "signal is one of 'gradient', 'queries', 'size', 'tokens'"),
    ],
)
def test_what_a_reader_sets_is_taken_or_refused(made, name, good, bad, rule):
    assert_takes_and_refuses(made(), name, good, bad, rule)
