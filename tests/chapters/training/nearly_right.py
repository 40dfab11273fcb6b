"""Answers to the exercises on training that are right on most inputs."""

import torch


def real_up_to_the_first_padding(target, padding):
    real = (target != padding).long().cumprod(1).bool()
    return target[:, :-1], target[:, 1:], real[:, 1:]


def square_over_places(scores, target, smoothing, padding):
    log_p = scores.log_softmax(1 if scores.shape[1] == scores.shape[2] else -1)
    inside = target.clamp(0, scores.shape[-1] - 1)
    losses = -(1 - smoothing) * log_p.gather(-1, inside[..., None])[..., 0] - smoothing * log_p.mean(-1)
    return losses[target != padding].mean()


def rates_in_the_dtype_of_steps(step, d_model, warmup):
    rates = [d_model**-0.5 * min(s**-0.5, s * warmup**-1.5) for s in step.tolist()]
    return torch.tensor(rates, dtype=torch.float64).to(step.dtype)


def bounded(least, most):
    def unscale(gradient, scale, good, patience):
        fine = bool(gradient.isfinite().all())
        step, good = (gradient / scale, good + 1) if fine else (torch.zeros_like(gradient), 0)
        scale = scale if fine else max(scale / 2, least)
        if good == patience:
            scale, good = min(scale * 2, most), 0
        return step, torch.tensor(scale, dtype=gradient.dtype), torch.tensor(good)

    return unscale


NEARLY_RIGHT = [
    ("read-and-say", "a start token that is the padding token", real_up_to_the_first_padding),
    ("smoothed-loss", "as many places as tokens in the vocabulary", square_over_places),
    ("warmup-rate", "whole numbers", rates_in_the_dtype_of_steps),
    ("scaled-gradient", "an overflow at a scale below 1", bounded(1.0, torch.inf)),
    ("scaled-gradient", "growing from a large scale", bounded(0.0, 2.0**16)),
]
