"""First weights from a seed, without a trace in torch's global generators: what every model of the book does.

Made for this book. Chapter: book/architecture.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def seeded(seed: int | None) -> Iterator[None]:
    """Draw what torch's global generators give inside from a seed, and put them back afterwards.

    The same seed gives the same numbers on the CPU of every machine. Where CUDA is torch's default device, its
    generator is seeded and put back too; its numbers are others than the CPU's.

    >>> with seeded(3):
    ...     first = torch.rand(2)
    >>> with seeded(3):
    ...     torch.equal(torch.rand(2), first)
    True

    Args:
        seed: ``None`` draws from the global generators as they are.

    Returns:
        A context manager; it gives nothing.
    """
    on_cuda = torch.get_default_device().type == "cuda"
    devices = [torch.cuda.current_device()] if on_cuda else []
    with torch.random.fork_rng(devices=devices, enabled=seed is not None):
        if seed is not None:
            torch.set_rng_state(torch.Generator().manual_seed(seed).get_state())
            if on_cuda:
                torch.cuda.set_rng_state(torch.Generator("cuda").manual_seed(seed).get_state())
        yield
