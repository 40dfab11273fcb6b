"""LoRA on a given model in stages: the hand example, the package's own adapters, and the way there and back."""

import pytest
import torch

from companion.chapters.interview.exercises.task_lora_1_layer import _fill, _layer, _linear
from companion.chapters.interview.exercises.task_lora_2_model import _fill_all, _made
from companion.lora import LoRALinear
from companion.practice import inputs
from tests.tools.practice import BY_NAME, one_line, refused

ADD, MERGE = BY_NAME["lora-model"].reference, BY_NAME["lora-merge"].reference


def arguments(words):
    return next(case.arguments for case in BY_NAME["lora-model"].cases() if case.note == words)


def test_the_hand_example_is_the_first_case():
    """Closed form: the numbers that the statement works out."""
    found = BY_NAME["lora-layer"].results(BY_NAME["lora-layer"].reference, inputs("lora-layer", 1))
    assert [x.squeeze().tolist() for x in found[:6]] == [0.5, [2, 2], True, True, True, 14.0]


def test_the_layer_is_that_of_the_package():
    """Oracle: `LoRALinear` with the same matrices."""
    x, weight, bias, a, b, alpha = next(
        c.arguments for c in BY_NAME["lora-layer"].cases() if c.note == "a single vector"
    )
    mine, theirs = _layer(_linear(weight, bias), len(a), alpha), LoRALinear(_linear(weight, bias), len(a), alpha)
    for layer in (mine, theirs):
        _fill(layer, a, b)
    torch.testing.assert_close(mine(x), theirs(x), rtol=0, atol=1e-12)


@pytest.mark.parametrize("words", ["two maps in each block", "one map at two places", "a head that shares the table"])
def test_adapters_go_in_and_out_again_and_the_table_stays(words):
    """Identity: merged, the model gives what it gave with adapters, in its old modules, and tied weights stay."""
    tokens, *weights, tied, shared, deep, names, rank, alpha = arguments(words)
    model = _made(*weights, tied=tied, shared=shared, deep=deep)
    before, modules = model(tokens), [name for name, _ in model.named_modules()]
    assert ADD(model, names, rank, alpha)
    torch.testing.assert_close(model(tokens), before, rtol=0, atol=1e-12)
    _fill_all(model, rank)
    adapted = model(tokens)
    assert (adapted - before).abs().max() > 1e-2
    torch.testing.assert_close(MERGE(model)(tokens), adapted, rtol=0, atol=1e-10)
    assert [name for name, _ in model.named_modules()] == modules
    assert torch.equal(model.table.weight, weights[0])


def constant(base, rank, alpha):
    layer = _layer(base, rank, alpha)
    torch.nn.init.constant_(layer.a, 0.1)
    return layer


def rising(base, rank, alpha):
    layer = _layer(base, rank, alpha)
    layer.a.data = torch.ones_like(layer.a).cumsum(0)
    return layer


def diagonal(base, rank, alpha):
    layer = _layer(base, rank, alpha)
    torch.nn.init.eye_(layer.a)
    return layer


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (constant, "All rows of your `a` are equal"),
        (rising, "All columns of your `a` are equal"),
        (diagonal, "A second layer of yours has the same `a`"),
    ],
)
def test_a_constant_is_not_drawn(answer, words):
    assert words in one_line(refused(BY_NAME["lora-layer"], answer))


def trained_by_name(model, names, rank, alpha):
    found = ADD(model, names, rank, alpha)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name.split(".")[-1] in ("a", "b"))
    return found


def test_a_norm_has_a_parameter_of_the_same_name():
    error = refused(BY_NAME["lora-model"], trained_by_name)
    assert "what is trained: your answer is 'blocks.0.norm.b, " in one_line(error)


def three_deep(model, names, rank, alpha):
    """Adapt what stands within three modules, or directly in the model."""
    found = ADD(model, names, rank, alpha)
    for place in [name for name in found if name.count(".") > 3]:
        parent, _, name = place.rpartition(".")
        setattr(model.get_submodule(parent), name, model.get_submodule(place).base)
        found.remove(place)
    return found


def test_maps_stand_deeper_than_three_modules():
    assert "(a model within others)" in one_line(refused(BY_NAME["lora-model"], three_deep))


def test_what_is_trained_and_left_over_is_said_by_name():
    """The messages name parameters and modules, and not how many results there are."""
    text = one_line(refused(BY_NAME["lora-model"], lambda *given: (ADD(*given), given[0].requires_grad_())[0]))
    assert "what is trained: your answer is 'blocks.0.ffn.0.weight, blocks.0.ffn.2.weight" in text
    assert "modules: your answer is" in one_line(refused(BY_NAME["lora-merge"], lambda model: model))
