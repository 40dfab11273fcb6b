"""The exercises on training: the examples worked out by hand, and mistakes as a reader would write them."""

import pytest
import torch
from torch import nn

from companion.practice import exercises, inputs
from companion.practice.checker import check
from companion.training import clip_gradients, paper_adam, summed_loss, warmup_schedule

BY_NAME = {exercise.name: exercise for exercise in exercises("training")}


def test_the_hand_examples_are_the_first_cases():
    """Closed form: the numbers that the statements work out."""
    expected = {
        "read-and-say": ([[1, 5, 2]], [[5, 2, 0]], [[True, True, False]]),
        "warmup-rate": ([1 / 16, 1 / 4, 1 / 8],),
        "clip-gradient": ([[0.6]], [0.8]),
        "accumulate": ([1.6],),
        "smoothed-loss": (1.3862943611,),
        "adam-steps": ([-0.1925],),
        "scaled-gradient": ([2.0], 4.0, 1),
    }
    assert expected.keys() == BY_NAME.keys()
    for name, by_hand in expected.items():
        result = BY_NAME[name].reference(*inputs(name, 1))
        results = result if isinstance(result, tuple) else (result,)
        for got, want in zip(results, by_hand, strict=True):
            torch.testing.assert_close(got, torch.tensor(want, dtype=got.dtype), rtol=0, atol=1e-4)


def rates(step, d_model, warmup):
    dtype = step.dtype if step.is_floating_point() else torch.float32
    return torch.tensor([warmup_schedule(int(s), d_model, warmup) for s in step], dtype=dtype)


def loss(scores, target, smoothing, padding):
    return summed_loss(scores, target, smoothing=smoothing, padding=padding).mean


def clipped(a, b, max_norm):
    parameters = [nn.Parameter(torch.zeros_like(x)) for x in (a, b)]
    for parameter, gradient in zip(parameters, (a, b), strict=True):
        parameter.grad = gradient.clone()
    clip_gradients(parameters, max_norm)
    return tuple(parameter.grad for parameter in parameters)


def adam(gradients, rate, beta_1, beta_2, eps):
    weight = nn.Parameter(torch.zeros_like(gradients[0]))
    optimizer = paper_adam([weight])
    optimizer.param_groups[0].update(lr=rate, betas=(beta_1, beta_2), eps=eps)
    for gradient in gradients:
        weight.grad = gradient
        optimizer.step()
    return weight.detach()


@pytest.mark.parametrize(("name", "function"), [("warmup-rate", rates), ("smoothed-loss", loss), ("adam-steps", adam)])
def test_the_functions_of_the_package_are_right_answers(name, function):
    assert check(BY_NAME[name], function) == len(BY_NAME[name].cases())


def test_the_package_clips_like_the_exercise_up_to_its_small_number():
    for case in BY_NAME["clip-gradient"].cases():
        for got, want in zip(
            clipped(*case.arguments), BY_NAME["clip-gradient"].reference(*case.arguments), strict=True
        ):
            torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-6)
