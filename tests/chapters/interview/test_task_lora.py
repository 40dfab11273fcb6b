"""LoRA on a given model in stages: the hand example, the package's own adapters, and the way there and back."""

import pytest
import torch

from companion.chapters.interview.exercises.task_lora_1_layer import _fill, _layer, _linear
from companion.chapters.interview.exercises.task_lora_2_model import _fill_all, _Model
from companion.lora import LoRALinear
from companion.practice import inputs
from tests.tools.practice import BY_NAME

ADD, MERGE = BY_NAME["lora-model"].reference, BY_NAME["lora-merge"].reference


def arguments(words):
    return next(case.arguments for case in BY_NAME["lora-model"].cases() if case.note == words)


def test_the_hand_example_is_the_first_case():
    """Closed form: the numbers that the statement works out."""
    found = BY_NAME["lora-layer"].results(BY_NAME["lora-layer"].reference, inputs("lora-layer", 1))
    assert [x.squeeze().tolist() for x in found[:4]] == [[2, 2], True, True, 14.0]


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
    tokens, *weights, tied, shared, names, rank, alpha = arguments(words)
    model = _Model(*weights, tied=tied, shared=shared)
    before, modules = model(tokens), [name for name, _ in model.named_modules()]
    assert ADD(model, names, rank, alpha)
    torch.testing.assert_close(model(tokens), before, rtol=0, atol=1e-12)
    _fill_all(model, rank)
    adapted = model(tokens)
    assert (adapted - before).abs().max() > 1e-2
    torch.testing.assert_close(MERGE(model)(tokens), adapted, rtol=0, atol=1e-10)
    assert [name for name, _ in model.named_modules()] == modules
    assert torch.equal(model.table.weight, weights[0])
