"""`flex_attention`, compiled on CUDA: its output, its gradients, and that it holds no matrix of scores.

Not compiled and without gradients, the same comparison runs on the CPU in tests/tools/test_scripts_gpu_check.py.
"""

import pytest
import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from scripts import precision

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA"),
    pytest.mark.filterwarnings("ignore"),  # the compiler has some of its own, which differ between GPUs
]


@pytest.mark.parametrize("dtype", precision.DTYPES)
def test_compiled_it_gives_the_float64_result_of_the_window(dtype):
    gradients = dtype == "float32"
    errors = precision.compare(precision.flex_case(compiled=True), "cuda", precision.DTYPES[dtype], gradients=gradients)
    assert len(errors) == 1 + gradients
    assert all(error <= precision.BOUNDS[dtype] for error in errors), errors


def test_compiled_it_holds_no_matrix_of_scores():
    """Forward and backward: 16,384 by 16,384 scores alone would take 1 GiB; inputs, output and gradients 28 MiB."""
    n = 16_384
    x = [torch.randn(1, 1, n, 64, device="cuda", requires_grad=True) for _ in range(3)]
    blocks = create_block_mask(lambda batch, head, i, j: (i - j).abs() < 256, None, None, n, n, "cuda")
    flex = torch.compile(flex_attention)
    for _ in range(2):  # the first call compiles
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        output = flex(*x, block_mask=blocks)
        gradients = torch.autograd.grad(output.square().sum(), x)
    torch.cuda.synchronize()
    assert torch.cuda.max_memory_allocated() < 256 * 2**20
    assert all(gradient.abs().max() > 0 for gradient in gradients)
