"""The explorers on attention without a browser: what they compute, and what they refuse."""

import math

import pytest
import torch

from companion.attention import attention, attention_weights
from companion.chapters.attention.explorers.softmax import MEASURES, SCALINGS, WIDTHS, scale_of, softmax_measures
from companion.explorers import AttentionMap, AttentionWalk, MaskExplorer, ScalingExplorer, SoftmaxExplorer
from companion.masks import and_masks, causal, padding, window
from tests.tools.traits import assert_takes_and_refuses

QUERY, KEY = [[1.0, 0.0], [0.0, 2.0], [2.0, 1.0]], [[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
VALUE = [[1.0, 0.0, 2.0, -1.0], [0.0, 3.0, 0.0, 5.0], [-1.0, 1.0, 1.0, 0.0]]
EXAMPLE = {"title": "one", "queries": ["le", "chat"], "keys": ["the", "cat", "."], "weights": torch.full((2, 3), 1 / 3)}


def walk(**changes):
    given = {"tokens": ["cat", "sat", "mat"], "query": QUERY, "key": KEY, "value": VALUE} | changes
    return AttentionWalk(given.pop("tokens"), given.pop("query"), given.pop("key"), given.pop("value"), **given)


def attention_map(**changes):
    return AttentionMap([EXAMPLE | changes])


@pytest.fixture(scope="module")
def scaling():
    return ScalingExplorer()


def tensor(numbers):
    return torch.tensor(numbers, dtype=torch.float64)


# ---- Traits that a reader sets


@pytest.mark.parametrize(
    ("made", "name", "good", "bad", "rule"),
    [
        (walk, "stage", "sum", "output", "stage is one of 'scores', 'scale'.*got 'output'. Use one of these"),
        (walk, "mask", "both", "look-ahead", "mask is one of 'none', 'causal', 'padding', 'both': got 'look-ahead'"),
        (walk, "scaled", False, 1, "scaled is True or False: got 1"),
        (SoftmaxExplorer, "temperature", 0.1, 0.0, "temperature is a number from 0.01 to 10.0: got 0.0"),
        (SoftmaxExplorer, "temperature", 2, math.nan, "temperature is a number from 0.01 to 10.0: got nan"),
        (SoftmaxExplorer, "shift", -3.0, 11.0, "shift is a number from -10.0 to 10.0: got 11.0"),
        (SoftmaxExplorer, "scores", [0, 0, 0, 0, 1], [0.0], "scores has one number from -6 to 6 for each of 5 keys"),
        (SoftmaxExplorer, "scores", [0, 0, 0, 0, 6], [0, 0, 0, 0, 7.0], "scores has one number from -6 to 6"),
        (SoftmaxExplorer, "scores", [0, 0, 0, 0, 6], [0, 0, 0, 0, math.inf], "scores holds finite numbers: got inf"),
        (MaskExplorer, "pattern", "window", "banded", "pattern is one of 'every', 'causal', 'window': got 'banded'"),
        (MaskExplorer, "t_q", 2, 7, "t_q is a whole number from 1 to 6: got 7"),
        (MaskExplorer, "length", 0, 2.5, "length is a whole number from 0 to 6: got 2.5. Round it"),
        (MaskExplorer, "convention", "additive", "both", "convention is one of 'look', 'hide', 'additive'"),
        (attention_map, "example", 0, -1, "example is a whole number from 0 to 0: got -1"),
    ],
)
def test_what_a_reader_sets_is_taken_or_refused(made, name, good, bad, rule):
    assert_takes_and_refuses(made(), name, good, bad, rule)


@pytest.mark.parametrize(
    ("name", "bad", "rule"),
    [
        ("d_k", 100, "d_k is one of 2, 4, 8.*got 100"),
        ("scaling", "half", "scaling is one of 'none', 'sqrt', 'linear': got 'half'"),
        ("draw", 8, "draw is a whole number from 0 to 7: got 8"),
        ("measure", "loss", "measure is one of 'top', 'entropy', 'slope', 'gradient': got 'loss'"),
    ],
)
def test_the_scaling_explorer_refuses_what_no_control_offers(scaling, name, bad, rule):
    before = getattr(scaling, name)
    with pytest.raises(ValueError, match=rule):
        setattr(scaling, name, bad)
    assert getattr(scaling, name) == before


# ---- AttentionWalk


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("name", ["none", "causal", "padding", "both"])
def test_the_walk_stores_what_the_package_computes(name, scaled):
    masks = {"none": None, "causal": causal(3), "padding": padding([2], 3)[0]}
    mask = masks.get(name, and_masks(causal(3), padding([2], 3)[0]))
    results = walk(length=2).results
    step = results["on" if scaled else "off"][name]
    q, k, v = tensor(QUERY), tensor(KEY), tensor(VALUE)
    scale = None if scaled else 1.0
    for got, want in (
        (results["scores"], q @ k.mT),
        (results["scaled"], q @ k.mT / math.sqrt(2)),
        (step["weights"], attention_weights(q, k, mask, scale=scale)),
        (step["output"], attention(q, k, v, mask, scale=scale)),
    ):
        torch.testing.assert_close(tensor(got), want, rtol=0, atol=6e-7)  # half of the sixth decimal
    everything = torch.ones(3, 3, dtype=torch.bool)
    assert results["masks"][name] == (everything if mask is None else mask.expand(3, 3)).tolist()


def test_the_walk_takes_other_keys_and_then_offers_only_the_masks_that_fit():
    cross = walk(tokens=["le", "chat", "noir"], key_tokens=["cat", "black"], key=KEY[:2], value=VALUE[:2])
    assert set(cross.results["masks"]) == {"none", "padding"}
    assert repr(cross) == "AttentionWalk(3 queries, 2 keys, d_k=2, d_v=4)"


def test_a_walk_over_padding_alone_has_weights_of_zero():
    assert tensor(walk(length=0).results["on"]["padding"]["weights"]).eq(0).all()


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"tokens": ["cat"]}, r"each of the queries has one word: got 1 words and query \(3, 2\). Give one word a row"),
        ({"key_tokens": ["a", "b"]}, r"each of the keys has one word: got 2 words and key \(3, 2\)"),
        ({"query": [[1.0, math.nan]] * 3}, "query holds finite numbers: got nan. Pass it before masking"),
        ({"value": [[math.inf]] * 3}, "value holds finite numbers: got inf"),
        ({"query": [[1.0] * 7] * 3}, r"query is a table of at most 6 rows and 6 columns.*got shape \(3, 7\)"),
        ({"query": [1.0, 2.0, 3.0]}, r"query is a table .*got shape \(3,\)"),
        ({"key": [[1.0] * 3] * 3}, r"same width d_k: got query \(3, 2\) and key \(3, 3\)"),
        ({"value": VALUE[:2]}, r"each key has one value: got key \(3, 2\) and value \(2, 4\)"),
        ({"length": 4}, "lengths lie between 0 and t_k.*got lengths .4. and t_k=3"),
        ({"tokens": "cat"}, "tokens is a list of words: got 'cat'. Write .*not \"the cat\""),
        ({"stage": "start"}, "stage is one of"),
        (
            {"key_tokens": ["a", "b"], "key": KEY[:2], "value": VALUE[:2], "mask": "causal"},
            'a causal mask needs at least as many keys as queries: got 3 queries and 2 keys. Use mask="none"',
        ),
    ],
)
@pytest.mark.usefixtures("shape_checks_off")
def test_the_walk_refuses_what_it_cannot_show(changes, rule):
    with pytest.raises(ValueError, match=rule):
        walk(**changes)


# ---- ScalingExplorer


def test_the_gradient_is_the_norm_of_the_derivative_of_attention(randn):
    query, key, value = randn(1, 3, 5), randn(1, 7, 5), randn(1, 7, 2)
    measured = softmax_measures(query, key, value, 0.7)["gradient"][0]
    for i in range(3):
        jacobian = torch.autograd.functional.jacobian(
            lambda q: attention(q, key[0], value[0], scale=0.7)[0], query[0, i : i + 1]
        )
        torch.testing.assert_close(measured[i], jacobian.norm(), rtol=1e-12, atol=0)


@pytest.mark.parametrize("size", [0.1, 1.0, 5.0])
def test_the_slope_is_the_norm_of_the_softmax_jacobian(randn, size):
    query, key, value = randn(2, 3, 5) * size, randn(2, 7, 5), randn(2, 7, 2)
    measured = softmax_measures(query, key, value, 1.0)["slope"]
    p = attention_weights(query, key, scale=1.0)
    jacobian = p.diag_embed() - p[..., :, None] * p[..., None, :]
    torch.testing.assert_close(measured, jacobian.flatten(-2).norm(dim=-1), rtol=1e-9, atol=1e-12)


def test_the_slope_of_two_keys_is_twice_p_times_one_minus_p_even_where_it_saturates():
    """Closed form: the four entries of the Jacobian are plus or minus p (1 - p)."""
    key = tensor([[[40.0], [0.0]]])
    slope = softmax_measures(torch.ones(1, 1, 1, dtype=torch.float64), key, key, 1.0)["slope"]
    assert slope.item() == pytest.approx(2 * math.exp(-40), rel=1e-12, abs=0)


def test_entropy_and_top_weight_of_equal_scores_are_those_of_a_uniform_choice():
    zero = torch.zeros(1, 1, 3, dtype=torch.float64)
    measured = softmax_measures(zero, torch.ones(1, 5, 3, dtype=torch.float64), zero.expand(1, 5, 3), 1.0)
    assert measured["entropy"].item() == pytest.approx(math.log(5))
    assert measured["top"].item() == pytest.approx(1 / 5)


def test_the_scaling_explorer_stores_what_the_measures_give(scaling):
    generator = torch.Generator().manual_seed(0)
    width = WIDTHS[0]
    query, key, value = (torch.randn(32, 64, d, generator=generator, dtype=torch.float64) for d in (width, width, 8))
    torch.testing.assert_close(tensor(scaling.dots[0]), query[0, :8] @ key[0].mT, rtol=0, atol=5.1e-3)  # 2 decimals
    quantiles = torch.tensor([0.1, 0.5, 0.9], dtype=torch.float64)
    for s, name in enumerate(SCALINGS):
        measured = softmax_measures(query, key, value, scale_of(name, width))
        stored = tensor(scaling.gradients[0][s])
        torch.testing.assert_close(stored, measured["gradient"][0, :8], rtol=1e-3, atol=0)  # 4 digits
        for m, measure in enumerate(MEASURES):
            want = measured[measure].flatten().quantile(quantiles)
            torch.testing.assert_close(tensor(scaling.quantiles[0][s][m]), want, rtol=1e-3, atol=0)


def test_unscaled_scores_spread_like_the_root_of_the_width_and_scaled_ones_like_one(scaling):
    for w, width in enumerate(WIDTHS):
        medians = [scaling.quantiles[w][s][0][1] for s in range(3)]
        assert medians == pytest.approx([math.sqrt(width), 1, 1 / math.sqrt(width)], rel=0.25)


def test_the_scaling_explorer_gives_the_weights_that_it_shows(scaling):
    scaling.d_k, scaling.scaling, scaling.draw = 256, "sqrt", 3
    want = (tensor(scaling.dots[7][3]) / 16).softmax(0)
    torch.testing.assert_close(scaling.weights(), want, rtol=0, atol=1e-12)


def test_numbers_that_travel_packed_come_back_as_they_were(scaling):
    trait = scaling.traits()["dots"]
    sent = trait.metadata["to_json"](scaling.dots, scaling)
    assert isinstance(sent[0][0], str)
    assert trait.metadata["from_json"](sent, scaling) == scaling.dots


# ---- SoftmaxExplorer


@pytest.mark.parametrize("temperature", [0.01, 0.5, 10.0])
@pytest.mark.parametrize("shift", [-10.0, 0.0, 7.5])
def test_the_soft_lookup_gives_the_softmax_of_score_over_temperature(temperature, shift):
    explorer = SoftmaxExplorer(scores=[2.0, -1.0, 0.5, 1.9, -6.0], temperature=temperature, shift=shift)
    want = (tensor(explorer.scores) / temperature).softmax(0)
    torch.testing.assert_close(explorer.weights(), want, rtol=0, atol=1e-9)


@pytest.mark.usefixtures("shape_checks_off")
def test_a_lookup_with_lists_of_different_length_is_refused():
    with pytest.raises(ValueError, match=r"one score and one value: got 2 keys, 3 scores and 2 values. Make the lists"):
        SoftmaxExplorer(["a", "b"], [0.0, 1.0, 2.0], [1.0, 2.0])


# ---- AttentionMap


def test_the_map_keeps_the_weights_of_every_head_to_four_decimals(randn):
    weights = randn(2, 3, 5).softmax(-1)
    shown = AttentionMap([{"title": "t", "queries": list("abc"), "keys": list("vwxyz"), "weights": weights}])
    torch.testing.assert_close(tensor(shown.examples[0]["weights"]), weights, rtol=0, atol=5.1e-5)
    assert shown.examples[0]["heads"] == ["head 0", "head 1"]
    assert repr(shown) == "AttentionMap(heads x queries x keys: 2 x 3 x 5)"


def test_the_map_takes_a_row_with_no_key():
    hidden = torch.tensor([[True, False, True], [False, False, False]])
    shown = attention_map(weights=torch.tensor([[0.5, 0.0, 0.5], [0.0, 0.0, 0.0]]), mask=hidden)
    assert shown.examples[0]["mask"] == hidden.tolist()


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"weights": torch.randn(2, 3)}, "each row of weights sums to 1.*Pass weights after the softmax"),
        ({"weights": torch.full((2, 3), math.nan)}, "each row of weights sums to 1"),
        ({"weights": torch.full((2, 4), 0.25)}, r"heads x queries x keys \(1, 2, 3\): got \(1, 2, 4\)"),
        ({"mask": torch.ones(2, 3)}, "mask of 'one' is boolean, queries x keys .*got torch.float32"),
        ({"mask": torch.zeros(2, 3, dtype=torch.bool)}, "no hidden key has weight"),
    ],
)
def test_the_map_refuses_what_are_no_weights(changes, rule):
    with pytest.raises(ValueError, match=rule):
        attention_map(**changes)


@pytest.mark.parametrize(
    ("examples", "rule"),
    [
        ([], "the map needs at least one example: got none"),
        ([{"title": "t", "weights": [[1.0]]}], "got none for queries, keys. Add it"),
    ],
)
def test_the_map_names_what_is_missing(examples, rule):
    with pytest.raises(ValueError, match=rule):
        AttentionMap(examples)


def test_the_map_refuses_an_example_or_a_head_that_is_not_there():
    wide = EXAMPLE | {"weights": torch.full((2, 2, 3), 1 / 3)}
    shown = AttentionMap([EXAMPLE, wide], head=1, example=1)  # the head is one of the example, in whatever order
    with pytest.raises(ValueError, match=r"head is a whole number from 0 to 1: got 2\. Use one within the range"):
        shown.head = 2
    with pytest.raises(ValueError, match="head is a whole number from 0 to 0: got 1"):
        AttentionMap([EXAMPLE, wide], head=1)
    with pytest.raises(ValueError, match="example is a whole number from 0 to 0: got 1"):
        AttentionMap([EXAMPLE], example=1)


# ---- MaskExplorer


@pytest.mark.parametrize(
    ("traits", "want"),
    [
        ({"pattern": "every", "padded": False}, None),
        ({"pattern": "every", "length": 2}, padding([2], 5)),
        ({"pattern": "causal", "t_q": 3, "padded": False}, causal(3, 5)),
        ({"pattern": "window", "size": 3, "length": 4}, and_masks(window(5, 3), padding([4], 5))),
        ({"pattern": "causal", "t_q": 2, "t_k": 4, "length": 6}, and_masks(causal(2, 4), padding([4], 4))),
    ],
)
def test_the_mask_shown_is_that_of_the_package(traits, want):
    explorer = MaskExplorer(**traits)
    got = explorer.boolean_mask()
    assert (got is None) if want is None else (got.shape == want.shape and torch.equal(got, want))
    scores = tensor(explorer.scores)[: explorer.t_q, : explorer.t_k]
    if want is not None:
        scores = scores.masked_fill(~want.expand(1, *scores.shape)[0], -torch.inf)
    torch.testing.assert_close(explorer.weights(), scores.softmax(-1).nan_to_num(0), rtol=0, atol=1e-12)


def test_a_window_over_padding_leaves_rows_of_zeros():
    explorer = MaskExplorer(pattern="window", size=2, t_q=6, t_k=6, length=3)
    assert explorer.weights().sum(-1).round(decimals=12).tolist() == [1, 1, 1, 1, 0, 0]


def test_a_row_without_a_key_is_what_each_convention_gives():
    explorer = MaskExplorer(pattern="window", size=2, t_q=4, t_k=5, length=3)
    mask, scores = explorer.boolean_mask(), tensor(explorer.scores)[:4, :5]
    assert not mask[0].any(dim=-1)[-1]  # the last query sees padding alone
    layer = torch.nn.MultiheadAttention(5, 1, bias=False, batch_first=True, dtype=torch.float64)
    with torch.no_grad():  # projections that change nothing
        layer.in_proj_weight.copy_(torch.eye(5).repeat(3, 1))
    eye = torch.eye(5, dtype=torch.float64)
    want = {
        "look": torch.nn.functional.scaled_dot_product_attention(scores, eye, eye, attn_mask=mask[0], scale=1.0),
        "hide": layer(scores * math.sqrt(5), eye, eye, attn_mask=~mask[0])[1].detach(),
        "additive": (scores + torch.zeros(mask.shape).masked_fill(~mask, -torch.inf))[0].softmax(-1),
    }
    for convention, weights in want.items():
        explorer.convention = convention
        assert weights[-1].isnan().all() == (convention != "look"), convention
        torch.testing.assert_close(explorer.weights(), weights, rtol=0, atol=1e-12, equal_nan=True)


def test_a_causal_mask_with_more_queries_than_keys_is_refused_by_the_package():
    with pytest.raises(ValueError, match="1 <= t_q <= t_k: got t_q=5 and t_k=3"):
        MaskExplorer(t_k=3).boolean_mask()
