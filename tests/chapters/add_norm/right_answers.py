"""Right answers to the exercises on residuals and norms, written in other ways than the references."""

import torch
import torch.nn.functional as F


def order_by_cases(x, w_1, w_2, pre):
    def norm(y):
        return F.layer_norm(y, (y.shape[-1],))

    if pre:
        middle = x + norm(x) @ w_1
        return middle + norm(middle) @ w_2
    return norm((middle := norm(x + x @ w_1)) + middle @ w_2)


def order_by_modules(x, w_1, w_2, pre):
    norm = torch.nn.LayerNorm(x.shape[-1], elementwise_affine=False, dtype=x.dtype)
    for w in (w_1, w_2):
        x = torch.add(x, norm(x) @ w) if pre else norm(torch.add(x, x @ w))
    return x


def batch_norm_by_picking(x, mask, eps):
    tokens = x[mask[:, 0]]
    out = torch.zeros_like(x)
    out[mask[:, 0]] = (tokens - tokens.mean(0)) / (tokens.var(0, correction=0) + eps).sqrt()
    return out


def batch_norm_by_torch(x, mask, eps):
    out = torch.zeros_like(x)
    out[mask[:, 0]] = F.batch_norm(x[mask[:, 0]], None, None, training=True, eps=eps)
    return out


def layer_norm_backward_by_autograd(d_y, x, gain, eps):
    x = x.clone().requires_grad_()
    return torch.autograd.grad(F.layer_norm(x, gain.shape, gain, None, eps), x, d_y)[0]


def layer_norm_backward_by_jacobian(d_y, x, gain, eps):
    d = x.shape[-1]
    spread = (x.var(-1, correction=0, keepdim=True) + eps).sqrt()
    normal = (x - x.mean(-1, keepdim=True)) / spread
    removed = (1 + normal[..., :, None] * normal[..., None, :]) / d
    jacobian = (torch.eye(d, dtype=x.dtype) - removed) / spread[..., None]
    return torch.einsum("...i,...ij->...j", d_y * gain, jacobian)


ALTERNATIVES = {
    "layer-norm": [
        lambda x, gain, bias, eps: F.layer_norm(x, gain.shape, gain, bias, eps),
        lambda x, gain, bias, eps: (
            (x - x.mean(-1, True)) * (x.var(-1, correction=0, keepdim=True) + eps) ** -0.5 * gain + bias
        ),
    ],
    "rms-norm": [
        lambda x, gain, eps: F.rms_norm(x, gain.shape, gain, eps),
        lambda x, gain, eps: (
            gain * x * torch.rsqrt(eps + torch.einsum("...d,...d->...", x, x)[..., None] / x.shape[-1])
        ),
    ],
    "feed-forward": [
        lambda x, w_1, b_1, w_2, b_2: F.linear(F.relu(F.linear(x, w_1.T, b_1)), w_2.T, b_2),
        lambda x, w_1, b_1, w_2, b_2: F.conv1d(F.conv1d(x.mT, w_1.T[..., None], b_1).relu(), w_2.T[..., None], b_2).mT,
    ],
    "swiglu": [
        lambda x, gate, up, down: (F.silu(x @ gate) * (x @ up)) @ down,
        lambda x, gate, up, down: (x @ gate * (x @ up) / (1 + torch.exp(-(x @ gate)))) @ down,
    ],
    "norm-order": [order_by_cases, order_by_modules],
    "masked-batch-norm": [batch_norm_by_picking, batch_norm_by_torch],
    "fold-gain": [
        lambda gain, bias, w, b: (torch.diag(gain) @ w, (bias[:, None] * w).sum(0) + b),
        lambda gain, bias, w, b: (torch.einsum("d,do->do", gain, w), b + torch.einsum("d,do->o", bias, w)),
    ],
    "norm-backward": [layer_norm_backward_by_autograd, layer_norm_backward_by_jacobian],
}


def unbiased_by_torch(x, gain, bias, eps):
    return (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, keepdim=True) + eps) * gain + bias


def eps_on_the_deviation(x, gain, bias, eps):
    return (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True, correction=0) + eps) * gain + bias


def counted_padding_by_torch(x, mask, eps):
    normal = F.batch_norm(x.flatten(0, 1), None, None, training=True, eps=eps).view_as(x)
    return normal * mask.mT


def normalised_stream(x, w_1, w_2, pre):
    def norm(y):
        return F.layer_norm(y, y.shape[-1:])

    if not pre:
        return norm((y := norm(x + x @ w_1)) + y @ w_2)
    x = norm(x)
    x = x + x @ w_1
    x = norm(x)
    return x + x @ w_2


def frozen_statistics(d_y, x, gain, eps):
    return d_y * gain / torch.sqrt(x.var(-1, keepdim=True, correction=0) + eps)


# Classic mistakes as a reader would write them, which is not how the package does.
AS_WRITTEN = [
    ("layer-norm", "unbiased", unbiased_by_torch),
    ("layer-norm", "eps-outside-the-root", eps_on_the_deviation),
    ("rms-norm", "centred", lambda x, gain, eps: F.layer_norm(x, gain.shape, gain, None, eps)),
    ("rms-norm", "sum-of-squares", lambda x, gain, eps: gain * x * ((x * x).sum(-1, keepdim=True) + eps) ** -0.5),
    ("feed-forward", "gelu", lambda x, w_1, b_1, w_2, b_2: F.gelu(x @ w_1 + b_1) @ w_2 + b_2),
    ("swiglu", "relu", lambda x, gate, up, down: (F.relu(x @ gate) * (x @ up)) @ down),
    ("norm-order", "norm-on-the-stream", normalised_stream),
    ("masked-batch-norm", "padding-counted", counted_padding_by_torch),
    ("norm-backward", "statistics-constant", frozen_statistics),
]
