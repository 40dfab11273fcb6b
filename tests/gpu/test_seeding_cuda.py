"""Seeded first weights where CUDA is torch's default device."""

import pytest
import torch

from companion.config import toy
from companion.transformer import DecoderOnly

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")]


def test_models_made_on_the_gpu_with_one_seed_are_equal_and_leave_no_trace():
    with torch.device("cuda"):
        before = torch.cuda.get_rng_state()
        first, again = (DecoderOnly(toy(7), seed=3) for _ in range(2))
        assert torch.equal(torch.cuda.get_rng_state(), before)
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), again.parameters(), strict=True))
    assert next(first.parameters()).device.type == "cuda"
