"""The experiments of the chapter: which norms a stack has, how its learning rate runs, and when it has learned."""

import pytest
from torch import nn

from companion.chapters.add_norm import experiments
from companion.chapters.add_norm.experiments import (
    CAP,
    EXPERIMENTS,
    STEPS,
    rate,
    scale_matrices,
    steps_to_learn,
    untrained,
)
from companion.measure import results
from companion.norm import LayerNorm


@pytest.mark.parametrize(("placement", "norms"), [("pre", 2 * 3 + 1), ("post", 2 * 3), ("none", 1)])
def test_a_stack_has_the_norms_of_its_placement(placement, norms):
    model = untrained(placement, 3, seed=0)
    assert sum(isinstance(module, LayerNorm) for module in model.modules()) == norms
    assert {layer.norm_placement for layer in model.encoder.layers} == {"post" if placement == "post" else "pre"}
    assert model.training
    assert not any(isinstance(module, nn.Dropout) and module.p for module in model.modules())


def test_another_placement_is_refused():
    with pytest.raises(ValueError, match=r"one of pre, post, none: got 'middle'"):
        untrained("middle", 3, seed=0)


def test_the_rate_rises_to_its_peak_or_starts_there_and_falls_with_the_root():
    assert [rate(step, 0.5, True) for step in (75, 150, 300, 1200)] == pytest.approx([0.125, 0.25, 0.5, 0.25])
    assert [rate(step, 0.5, False) for step in (1, 150, 300, 1200)] == pytest.approx([0.5, 0.5, 0.5, 0.25])


def test_a_run_ends_when_it_has_learned_or_at_its_last_step(monkeypatch):
    monkeypatch.setitem(STEPS, 2, 30)
    assert steps_to_learn(0, "pre", 2, 5e-3, False) == 30
    monkeypatch.setattr(experiments, "LEARNED", 100)
    assert steps_to_learn(0, "pre", 2, 5e-3, False) == experiments.WINDOW


def test_a_smaller_start_scales_the_matrices_of_the_layers_and_nothing_else(monkeypatch):
    usual, halved = untrained("none", 2, seed=0), untrained("none", 2, seed=0)
    scale_matrices(halved, 0.5)
    for (name, before), after in zip(usual.named_parameters(), halved.parameters(), strict=True):
        factor = 0.5 if "layers" in name and before.ndim == 2 else 1.0
        assert after.equal(before * factor), name
    monkeypatch.setattr(experiments, "CAP", 7)
    assert steps_to_learn(0, "none", 2, 5e-3, False, scale=0.5) == 7


def test_each_experiment_was_run_with_three_seeds():
    for name in ("steps to learn", "steps to learn from smaller weights"):
        found, plan = results("add-norm", name), [one for one in EXPERIMENTS if one.name == name]
        assert [row.settings for row in found] == [one.settings for one in plan]
        assert [len(row.values) for row in found] == [3] * len(plan)
        most = [CAP if "scale" in row.settings else STEPS[row.settings["layers"]] for row in found]
        assert all(0 < max(row.values) <= limit for row, limit in zip(found, most, strict=True))
