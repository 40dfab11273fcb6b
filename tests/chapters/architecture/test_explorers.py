"""The explorers on whole models without a browser: what they compute, and what they refuse."""

import pytest
import torch

from companion.chapters.architecture.explorers.architecture import MODELS, STACKS, T
from companion.config import ModelConfig
from companion.explorers import ParameterCounter, TranslatorView, VisibilityExplorer
from companion.masks import causal
from companion.transformer import DecoderOnly, EncoderOnly, Transformer

WORDS = {"source": ["the", "cat"], "target": ["猫", "。", "</s>"], "links": [(1,), (), ()]}
SHAPES = {"encoder": (2, 2), "decoder": (3, 3), "cross": (3, 2)}
WEIGHTS = {name: torch.full((2, 1, *shape), 1 / shape[1]) for name, shape in SHAPES.items()}


@pytest.fixture(scope="module")
def visibility():
    return VisibilityExplorer()


def table(rows):
    return torch.tensor([[bit == "1" for bit in row] for row in rows])


# ---- VisibilityExplorer


@pytest.mark.parametrize("length", range(1, T + 1))
@pytest.mark.parametrize("name", MODELS)
def test_reach_is_what_the_masks_allow(visibility, name, length):
    """Closed form: padding of the source reaches nothing, and a target token what is written from there on."""
    found = visibility.reach[name][length - 1]
    real = torch.arange(T) < length
    if name == "encoder-only":  # an output of a padding position still has its own residual connection
        assert torch.equal(table(found["target"]), real.expand(T, T) | torch.eye(T, dtype=torch.bool))
        assert set(found) == {"target"}
        return
    assert torch.equal(table(found["target"]), causal(T))
    if name == "decoder-only":
        assert set(found) == {"target"}
    elif name == "no source mask":
        assert table(found["source"]).all()
    else:
        assert torch.equal(table(found["source"]), real.expand(T, T))


def test_the_figure_begins_with_a_sound_model(visibility):
    assert (visibility.model_kind, visibility.length, visibility.output) == ("encoder-decoder", 3, 2)
    assert repr(visibility) == "VisibilityExplorer(5 models, 5 positions)"


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"model_kind": "decoder"}, "model_kind is one of 'encoder-decoder', 'no source mask'.*got 'decoder'"),
        ({"length": 0}, "length is a whole number from 1 to 5: got 0"),
        ({"output": 5}, "output is a whole number from 0 to 4: got 5"),
    ],
)
def test_visibility_refuses_what_no_control_offers(changes, rule):
    with pytest.raises(ValueError, match=rule):
        VisibilityExplorer(**changes)


# ---- ParameterCounter


@pytest.mark.parametrize(
    ("kind", "make"), [(STACKS[0], Transformer), (STACKS[1], DecoderOnly), (STACKS[1], EncoderOnly)]
)
@pytest.mark.parametrize("tied", [True, False])
def test_the_counter_counts_what_the_model_has(kind, make, tied):
    shown = ParameterCounter(kind=kind, d_model=64, n_layers=2, ratio=3, vocab=1_000, tied=tied).numbers()
    config = ModelConfig(vocab=1_000, d_model=64, n_layers=2, d_ff=192, tied=tied)
    model = make(config)
    assert sum(shown.values()) == sum(p.numel() for p in model.parameters())
    assert shown["norms"] == sum(p.numel() for name, p in model.named_parameters() if "norm" in name)
    assert shown["feed_forward"] == sum(p.numel() for name, p in model.named_parameters() if "feed_forward" in name)
    assert shown["output"] == (0 if tied else 64_000)


def test_the_counter_begins_with_the_base_model():
    assert sum(ParameterCounter().numbers().values()) == 63_082_496


def test_the_counter_refuses_what_no_control_offers():
    with pytest.raises(ValueError, match=r"d_model is one of 64, 128.*got 100"):
        ParameterCounter(d_model=100)
    with pytest.raises(ValueError, match="ratio is a whole number from 1 to 8: got 9"):
        ParameterCounter(ratio=9)
    with pytest.raises(ValueError, match=r"kind is one of 'encoder-decoder'.*got 'decoder'"):
        ParameterCounter(kind="decoder")


# ---- TranslatorView


def test_the_view_keeps_the_weights_to_two_decimals_in_the_order_of_its_choices():
    shown = TranslatorView([WORDS | WEIGHTS], layer=1)
    for table_shown, name in zip(shown.weights[0], SHAPES, strict=True):
        torch.testing.assert_close(torch.tensor(table_shown), WEIGHTS[name], rtol=0, atol=5.1e-3)
    assert repr(shown) == "TranslatorView(1 sentences, 2 layers, 1 heads)"
    assert (shown.sentence, shown.place, shown.layer, shown.head) == (0, "cross", 1, 0)


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        (
            {"cross": torch.full((2, 1, 2, 2), 0.5)},
            r"cross weights are layers x heads x 3 x 2: got \(2, 1, 2, 2\). Cut",
        ),
        ({"encoder": torch.full((2, 2), 0.5)}, r"encoder weights are layers x heads x 2 x 2: got \(2, 2\)"),
        ({"decoder": torch.ones(2, 1, 3, 3)}, "each row of weights sums to 1: got other rows in decoder"),
        ({"links": [(1,), ()]}, r"links has for each of 3 target words places below 2: got \[\(1,\), \(\)\]"),
        ({"links": [(2,), (), ()]}, "links has for each of 3 target words places below 2"),
        ({"cross": torch.full((1, 1, 3, 2), 0.5)}, r"one number of layers and of heads: got \[\(1, 1\), \(2, 1\)\]"),
    ],
)
def test_the_view_refuses_weights_and_links_that_do_not_fit(changes, rule):
    with pytest.raises(ValueError, match=rule):
        TranslatorView([WORDS | WEIGHTS | changes])


def test_the_view_names_what_is_missing_and_what_is_not_there():
    with pytest.raises(ValueError, match="the view needs at least one sentence: got none"):
        TranslatorView([])
    with pytest.raises(ValueError, match=r"got none for links, decoder\. Add it"):
        TranslatorView([{name: value for name, value in (WORDS | WEIGHTS).items() if name not in ("links", "decoder")}])
    for name, last in (("layer", 1), ("head", 0), ("sentence", 0)):
        with pytest.raises(ValueError, match=f"{name} is a whole number from 0 to {last}: got {last + 1}"):
            TranslatorView([WORDS | WEIGHTS], **{name: last + 1})
