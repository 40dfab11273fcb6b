"""What every test on a GPU needs."""

import warnings

import pytest
import torch


@pytest.fixture(scope="session", autouse=True)
def gradients_have_a_context():
    """Let torch say here, once, that the thread that computes gradients had no CUDA context before its first product.

    A warning is an error in the tests, and whichever came first would fail.
    """
    if torch.cuda.is_available():
        x = torch.ones(8, 8, device="cuda", requires_grad=True)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Attempting to run cuBLAS, but there was no current CUDA context")
            torch.autograd.grad(x @ x, x, torch.ones_like(x))
