"""Right answers to the exercises on training, written in other ways than the references."""

import math

import torch
import torch.nn.functional as F

from companion.chapters.training.exercises.scale import SCALED_GRADIENT
from companion.training import smoothed_targets


def adam_in_closed_form(gradients, rate, beta_1, beta_2, eps):
    """Each mean as one weighted sum over the gradients so far."""
    w = torch.zeros_like(gradients[0])
    for t in range(1, len(gradients) + 1):
        ages = torch.arange(t - 1, -1, -1).to(gradients)[:, None]
        pairs = ((beta_1, gradients[:t]), (beta_2, gradients[:t].square()))
        m, v = (((beta**ages) * g).sum(0) / (beta**ages).sum(0) for beta, g in pairs)
        w = w - rate * m / (v.sqrt() + eps)
    return w


def adam_by_torch(gradients, rate, beta_1, beta_2, eps):
    weight = torch.nn.Parameter(torch.zeros_like(gradients[0]))
    optimizer = torch.optim.Adam([weight], lr=rate, betas=(beta_1, beta_2), eps=eps)
    for gradient in gradients:
        weight.grad = gradient
        optimizer.step()
    return weight.detach()


def unscaled_by_cases(gradient, scale, good, patience):
    if gradient.isnan().any() or gradient.isinf().any():
        return torch.zeros_like(gradient), gradient.new_tensor(scale / 2), torch.tensor(0)
    again = (good + 1) % patience
    return gradient / scale, gradient.new_tensor(scale * (1 if again else 2)), torch.tensor(again)


def unscaled_by_where(gradient, scale, good, patience):
    finite = gradient.isfinite().all()
    step = torch.where(finite, (gradient / scale).nan_to_num(0.0, 0.0, 0.0), torch.zeros_like(gradient))
    full = bool(finite) and good + 1 == patience
    factor = 2.0 if full else 1.0 if finite else 0.5
    return step, gradient.new_tensor(scale * factor), torch.tensor(good + 1 if finite and not full else 0)


def smoothed_by_targets(scores, target, smoothing, padding):
    wanted = smoothed_targets(target, scores.shape[-1], smoothing, dtype=scores.dtype)
    losses = -(wanted * scores.log_softmax(-1)).sum(-1)
    return (losses * (target != padding)).sum() / (target != padding).sum()


ALTERNATIVES = {
    "read-and-say": [
        lambda target, padding: (target[:, :-1], target[:, 1:], ~(target[:, 1:] == padding)),
        lambda target, padding: (target.roll(1, 1)[:, 1:], target.roll(-1, 1)[:, :-1], target.ne(padding)[:, 1:]),
    ],
    "warmup-rate": [
        lambda step, d, w: torch.where(step < w, step / w**1.5, step.rsqrt()) / math.sqrt(d),
        lambda step, d, w: torch.stack([1 / step.sqrt(), step * w**-1.5]).amin(0) * d**-0.5,
    ],
    "clip-gradient": [
        lambda a, b, c: tuple(x * min(1.0, c / math.hypot(a.norm().item(), b.norm().item())) for x in (a, b)),
        lambda a, b, c: tuple(x / torch.cat([a.flatten(), b]).norm().div(c).clamp(min=1) for x in (a, b)),
    ],
    "accumulate": [
        lambda g, n: n.to(g) @ g / n.sum(),
        lambda g, n: g.repeat_interleave(n, 0).mean(0),
    ],
    "smoothed-loss": [
        smoothed_by_targets,
        lambda z, y, e, pad: F.cross_entropy(z.mT, y, label_smoothing=e, ignore_index=pad),
    ],
    "adam-steps": [adam_in_closed_form, adam_by_torch],
    "scaled-gradient": [unscaled_by_where, unscaled_by_cases],
}


def not_corrected(gradients, rate, beta_1, beta_2, eps):
    m, v, w = 0, 0, torch.zeros_like(gradients[0])
    for g in gradients:
        m, v = torch.lerp(g, torch.as_tensor(m).to(g).expand_as(g), beta_1), beta_2 * v + (1 - beta_2) * g * g
        w = w - rate * m / (v**0.5 + eps)
    return w


def by_cross_entropy_with_padding(scores, target, smoothing, padding):
    return F.cross_entropy(scores.flatten(0, 1), target.flatten(), label_smoothing=smoothing)


# Classic mistakes as a reader would write them, which is not how the package does.
AS_WRITTEN = [
    ("read-and-say", "not-shifted", lambda x, pad: (x[..., :-1], x[..., :-1], x[..., :-1].ne(pad))),
    ("read-and-say", "backwards", lambda x, pad: (x[:, 1:], x[:, :-1], x[:, :-1].ne(pad))),
    ("warmup-rate", "maximum", lambda s, d, w: (1 / d) ** 0.5 * torch.stack([s**-0.5, s / w**1.5]).amax(0)),
    ("warmup-rate", "no-width", lambda s, d, w: torch.where(s < w, s / w**1.5, s.rsqrt())),
    ("clip-gradient", "each-by-itself", lambda a, b, c: tuple(x * min(1, c / x.norm().item()) for x in (a, b))),
    ("clip-gradient", "entry-by-entry", lambda a, b, c: (a.clip(-c, c), b.clip(-c, c))),
    ("accumulate", "mean-of-means", lambda g, n: g.sum(0) / len(n)),
    ("accumulate", "not-divided", lambda g, n: n.to(g) @ g),
    ("smoothed-loss", "padding-counted", by_cross_entropy_with_padding),
    ("adam-steps", "not-corrected", not_corrected),
    ("scaled-gradient", "still-scaled", lambda g, s, n, p: SCALED_GRADIENT.reference(g * s, s, n, p)),
]
