"""Every layer on CUDA in float32, bfloat16 and float16, against its own result in float64 on the CPU.

The cases, the unit of an error and the reason for the bounds are in scripts/precision.py. On the CPU the same functions
run in tests/tools/test_scripts_gpu_check.py.
"""

import pytest
import torch

from scripts import precision

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")]


each_dtype = pytest.mark.parametrize("dtype", precision.DTYPES)


@each_dtype
@pytest.mark.parametrize("case", precision.cases(), ids=str)
def test_a_layer_gives_its_float64_result(case, dtype):
    gradients = dtype == "float32" and case.differentiable
    errors = precision.compare(case, "cuda", precision.DTYPES[dtype], gradients=gradients)
    assert len(errors) == 1 + gradients
    assert all(error <= precision.BOUNDS[dtype] for error in errors), errors


@each_dtype
@pytest.mark.parametrize("kernel", ["reference", "sdpa"])
def test_a_query_that_may_look_at_no_key_gets_zero(kernel, dtype):
    rows = precision.hidden_rows(kernel, "cuda", precision.DTYPES[dtype])
    assert rows.is_cuda
    assert not rows.count_nonzero()  # a NaN is not zero


def test_a_model_writes_the_same_texts():
    assert precision.texts("cuda") == precision.texts("cpu")


@pytest.mark.parametrize(
    ("name", "arithmetic"), [("full", "float32"), ("bfloat16", "bfloat16"), ("float16", "float16")]
)
def test_the_first_steps_of_a_training_are_those_of_float64(name, arithmetic):
    """Four steps of automatic mixed precision; float16 scales the loss, and skips no step of these."""
    want = precision.first_steps("cpu", torch.float64, "full")
    with precision.full_float32():
        got = precision.first_steps("cuda", torch.float32, name)
    bound = precision.BOUNDS[arithmetic] * torch.finfo(precision.DTYPES[arithmetic]).eps
    assert got.loss == pytest.approx(want.loss, rel=bound)
    assert got.gradient_norm == pytest.approx(want.gradient_norm, rel=bound)


def test_float32_is_compared_without_tf32():
    """TF32 keeps 10 bits of each factor: a product of 512 terms is then off by 1e-3 and not by 1e-6."""
    a, b = precision.Draw().randn(2, 512, 512).float()
    torch.set_float32_matmul_precision("high")
    try:
        with precision.full_float32():
            product = a.cuda() @ b.cuda()
    finally:
        torch.set_float32_matmul_precision("highest")
    exact = a.double() @ b.double()
    assert (product.cpu().double() - exact).abs().max() < 1e-5 * exact.abs().max()
