"""What the tests of the library share: one tolerance, and numbers and weights of unit size."""

import torch

ROUNDING = 1e-12  # float64 on numbers of unit size, up to some hundred operations: three orders above their rounding


def close(got, want, name=None, *, atol=ROUNDING):
    message = name and (lambda text: f"{name}: {text}")
    torch.testing.assert_close(got, want, rtol=0, atol=atol, msg=message)


def normal(seed):
    """A function of a shape that draws normal numbers in float64, as the fixture `randn` does, from a seed."""
    generator = torch.Generator().manual_seed(seed)
    return lambda *shape: torch.randn(shape, generator=generator, dtype=torch.float64)


def draw(seed, *shapes):
    randn = normal(seed)
    return [randn(*shape) for shape in shapes]


def fill(module, randn=None, size=1.0):
    """Give every parameter normal numbers in float64, of unit size unless another is named."""
    randn = randn or normal(0)
    for parameter in module.double().parameters():
        parameter.data = randn(*parameter.shape) * size
    return module


def redraw(module, randn):
    """Give each linear map weights that keep numbers at unit size, and every other parameter numbers of unit size."""
    with torch.no_grad():
        for parameter in module.parameters():
            scale = parameter.shape[-1] ** -0.5 if parameter.ndim == 2 else 1.0
            parameter.copy_(randn(*parameter.shape) * scale)
    return module


def value_and_gradients(function, inputs, upstream):
    """The output of a function, and the gradients of each of its inputs for one gradient of the output."""
    output = function(*inputs)
    return output, *torch.autograd.grad(output, inputs, upstream)
