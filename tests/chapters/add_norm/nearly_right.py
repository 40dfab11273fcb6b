"""Answers to the exercises on norms and networks that are right on most inputs."""

import torch


def unbiased_when_wide(x, gain, bias, eps):
    variance, mean = torch.var_mean(x, -1, correction=0 if x.shape[-1] <= 8 else 1, keepdim=True)
    return gain * (x - mean) / (variance + eps).sqrt() + bias


def statistics_without_gradients(x, gain, bias, eps):
    variance, mean = torch.var_mean(x.detach(), -1, correction=0, keepdim=True)
    return gain * (x - mean) / (variance + eps).sqrt() + bias


def gain_around_one(x, gain, eps):
    """A gain that is stored as its distance from 1, guessed where all are near 0."""
    return x / (x.square().mean(-1, keepdim=True) + eps).sqrt() * (gain if gain.abs().max() > 1e-3 else 1 + gain)


def squeezed_mask(x, mask, eps):
    mask = mask.squeeze()
    mask = mask.reshape(x.shape[:2]) if mask.ndim == 2 else mask.expand(x.shape[:2])
    variance, mean = torch.var_mean(x[mask], 0, correction=0)
    return torch.where(mask[..., None], (x - mean) / (variance + eps).sqrt(), 0.0).to(x.dtype)


def batch_by_squares(x, mask, eps):
    real = x[mask[:, 0]]
    mean = real.mean(0)
    out = torch.zeros_like(x)
    out[mask[:, 0]] = (real - mean) / ((real.square().mean(0) - mean.square()).clamp(min=0) + eps).sqrt()
    return out


def backward_by_squares(d_y, x, gain, eps):
    mean = x.mean(-1, keepdim=True)
    root = (x.square().mean(-1, keepdim=True) - mean.square() + eps).clamp(min=1e-12).sqrt()
    normal, d = (x - mean) / root, d_y * gain
    return (d - d.mean(-1, keepdim=True) - normal * (d * normal).mean(-1, keepdim=True)) / root


def squared_before_masked(x, mask, eps):
    real = mask.mT.to(x.dtype)
    mean = (x * real).sum((0, 1)) / real.sum()
    variance = ((x - mean).square() * real).sum((0, 1)) / real.sum()
    return (x - mean) / (variance + eps).sqrt() * real


def zero_rows_left_out(x, mask, eps):
    real = mask[:, 0, :, None] & (x != 0).any(-1, keepdim=True)
    mean = x.where(real, 0.0).sum((0, 1)) / real.sum()
    variance = (x - mean).where(real, 0.0).square().sum((0, 1)) / real.sum()
    return ((x - mean) / (variance + eps).sqrt()).where(mask[:, 0, :, None], 0.0)


NEARLY_RIGHT = [
    ("masked-batch-norm", "real rows of 0", zero_rows_left_out),
    ("masked-batch-norm", "a pad of 1e30, float32", squared_before_masked),
    ("layer-norm", "more features", unbiased_when_wide),
    ("layer-norm", "the gradients are not. Of x", statistics_without_gradients),
    ("rms-norm", "a gain of 0", gain_around_one),
    ("masked-batch-norm", "one position each", squeezed_mask),
    ("masked-batch-norm", "You subtracted the square of the mean", batch_by_squares),
    ("norm-backward", "You subtracted the square of the mean", backward_by_squares),
    ("feed-forward", "numbers near a million", lambda x, w, b, v, c: (x @ w + b).clamp(0, 1e5) @ v + c),
]
