"""The embedding: look-up, scale, tied output, draw, gradients, then every refusal."""

import math
import re

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from companion.embedding import TokenEmbedding
from tests.library.tensors import close

BATCH, T, VOCAB, D_MODEL = 2, 5, 11, 7  # all different: a swapped axis cannot pass
shape_checks_off = pytest.mark.usefixtures("shape_checks_off")


def drawn(randn, *, scale=True):
    """An embedding with weights of unit size in float64."""
    embedding = TokenEmbedding(VOCAB, D_MODEL, scale=scale).double()
    with torch.no_grad():
        embedding.weight.copy_(randn(VOCAB, D_MODEL))
    return embedding


def draw_tokens(*shape, vocab=VOCAB, seed=3):
    return torch.randint(vocab, shape, generator=torch.Generator().manual_seed(seed))


def test_a_token_gets_its_row_times_the_root_of_the_width():
    embedding = TokenEmbedding(3, 4)
    with torch.no_grad():
        embedding.weight.copy_(torch.arange(12.0).view(3, 4))
    assert embedding(torch.tensor([[2, 0]])).tolist() == [[[16.0, 18.0, 20.0, 22.0], [0.0, 2.0, 4.0, 6.0]]]


def test_without_scale_a_token_gets_its_row(randn):
    embedding, tokens = drawn(randn, scale=False), draw_tokens(BATCH, T)
    assert torch.equal(embedding(tokens), embedding.weight[tokens])


def test_the_output_scores_each_row_by_its_product_and_does_not_scale():
    embedding = TokenEmbedding(3, 4)
    with torch.no_grad():
        embedding.weight.copy_(torch.arange(12.0).view(3, 4))
    assert embedding.logits(torch.tensor([[[1.0, 0.0, 0.0, 10.0]]])).tolist() == [[[30.0, 74.0, 118.0]]]


@pytest.mark.parametrize("scale", [True, False])
def test_values_and_gradients_equal_those_of_torch_with_one_matrix_for_both(randn, scale):
    """The gradient of the shared matrix is the sum of that of the look-up and that of the output."""
    embedding, tokens, upstream = drawn(randn, scale=scale), draw_tokens(BATCH, T), randn(BATCH, T, VOCAB)
    x = embedding(tokens)
    logits = embedding.logits(x.tanh())
    (gradient,) = torch.autograd.grad(logits, embedding.weight, upstream)
    rows, output = (embedding.weight.detach().clone().requires_grad_() for _ in range(2))
    want = F.embedding(tokens, rows) * (7**0.5 if scale else 1)
    close(x, want)
    want = F.linear(want.tanh(), output)
    close(logits, want)
    close(gradient, sum(torch.autograd.grad(want, (rows, output), upstream)))


def test_the_tied_output_shares_the_tensor_and_has_no_parameter_of_its_own():
    embedding = TokenEmbedding(VOCAB, D_MODEL)
    assert {name: tuple(value.shape) for name, value in embedding.named_parameters()} == {"weight": (VOCAB, D_MODEL)}
    with torch.no_grad():
        embedding.weight.fill_(2.0)
    assert (embedding.logits(torch.ones(1, 1, D_MODEL)) == 2.0 * D_MODEL).all()


@given(vocab=st.integers(1, 9), d_model=st.integers(1, 9), t=st.integers(1, 6), seed=st.integers(0, 2**16))
def test_equal_tokens_get_equal_vectors_wherever_they_stand(vocab, d_model, t, seed):
    embedding, tokens = TokenEmbedding(vocab, d_model), draw_tokens(t, vocab=vocab, seed=seed)
    x = embedding(tokens)
    assert x.shape == (t, d_model)
    assert torch.equal(x.flip(0), embedding(tokens.flip(0)))
    for i in range(t):
        assert torch.equal(x[i], embedding(tokens[i : i + 1])[0])


def test_ids_may_be_of_either_whole_number_type_that_torch_looks_up(randn):
    embedding, tokens = drawn(randn), draw_tokens(BATCH, T)
    assert torch.equal(embedding(tokens.int()), embedding(tokens))


def test_only_the_rows_that_were_looked_up_get_a_gradient(randn):
    embedding = drawn(randn)
    embedding(torch.tensor([[1, 4, 1]])).sum().backward()
    want = torch.zeros(VOCAB, D_MODEL, dtype=torch.float64)
    want[4], want[1] = 7**0.5, 2 * 7**0.5
    close(embedding.weight.grad, want)


def test_the_gradient_is_that_of_finite_differences(randn):
    embedding, x = drawn(randn), randn(2, 3, D_MODEL, requires_grad=True)
    tokens = draw_tokens(2, 3)

    def run(x, weight):
        rows = torch.func.functional_call(embedding, {"weight": weight}, (tokens,))
        return rows + x, embedding.logits(x)

    assert torch.autograd.gradcheck(run, (x, embedding.weight))
    assert torch.autograd.gradcheck(embedding.logits, (x,))


def test_a_draw_gives_embeddings_and_logits_of_unit_size():
    """Standard deviation 1 / sqrt(d_model) in the table: 1 after the scale, and 1 for the logits of a unit vector."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)  # a module draws from torch's own generator; fork_rng puts it back
        embedding = TokenEmbedding(vocab=1000, d_model=256)
    x = embedding(torch.arange(1000))
    # 256,000 numbers: the standard deviation is known to 0.0014 and the mean to 0.002; 5 such errors are allowed.
    assert abs(x.std() - 1) < 0.007
    assert abs(x.mean()) < 0.01
    vector = torch.randn(1, 256, generator=torch.Generator().manual_seed(1))
    # 1,000 logits, so that their size is known to 0.022 of itself, given the length of the vector.
    assert abs(embedding.logits(vector).std() / vector.square().mean().sqrt() - 1) < 0.11


def test_a_module_names_its_sizes():
    assert repr(TokenEmbedding(11, 7, scale=False)) == "TokenEmbedding(vocab=11, d_model=7, scale=False)"


def test_shapes_without_numbers_pass_through():
    """On torch's meta device a model can be counted without memory; there are no ids to check."""
    embedding = TokenEmbedding(VOCAB, D_MODEL).to("meta")
    x = embedding(torch.zeros(BATCH, T, dtype=torch.long, device="meta"))
    assert embedding.logits(x).shape == (BATCH, T, VOCAB)


def test_the_first_and_the_last_id_are_in_the_table(randn):
    embedding = drawn(randn, scale=False)
    assert torch.equal(embedding(torch.tensor([0, VOCAB - 1])), embedding.weight[[0, -1]])


def test_nan_in_a_vector_shows_in_its_logits(randn):
    x = randn(BATCH, T, D_MODEL)
    x[1, 2, 3] = math.nan
    assert drawn(randn).logits(x).isnan().all(dim=-1).nonzero().tolist() == [[1, 2]]


# Refusals


@pytest.mark.parametrize(
    ("tokens", "low", "high"), [([[0, 11]], 0, 11), ([[-1, 3]], -1, 3), ([[5, -100, 50257]], -100, 50257)]
)
@pytest.mark.parametrize("dtype", [torch.int64, torch.int32])
def test_an_id_outside_the_table_is_refused_with_the_range_that_came(tokens, low, high, dtype):
    with pytest.raises(ValueError, match=rf"between 0 and vocab - 1 = 10: got ids from {low} to {high}\."):
        TokenEmbedding(VOCAB, D_MODEL)(torch.tensor(tokens, dtype=dtype))


@shape_checks_off
@pytest.mark.parametrize("dtype", [torch.float32, torch.bool, torch.int16, torch.uint8])
def test_ids_of_another_dtype_are_refused(dtype):
    with pytest.raises(ValueError, match=f"ids of dtype int64 or int32: got {dtype}"):
        TokenEmbedding(VOCAB, D_MODEL)(torch.zeros(BATCH, T, dtype=dtype))


@shape_checks_off
@pytest.mark.parametrize("shape", [(BATCH, 0), (0, T), (0,)], ids=str)
def test_no_tokens_are_refused(shape):
    with pytest.raises(ValueError, match=re.escape(f"no axis is empty: got {shape}")):
        TokenEmbedding(VOCAB, D_MODEL)(torch.zeros(shape, dtype=torch.long))


@shape_checks_off
def test_a_single_id_without_an_axis_is_refused():
    with pytest.raises(ValueError, match=r"tokens are \(\*batch, t\) .*: got \(\)"):
        TokenEmbedding(VOCAB, D_MODEL)(torch.tensor(3))


@shape_checks_off
@pytest.mark.parametrize("shape", [(BATCH, T, D_MODEL + 1), (BATCH, T, 1), (BATCH, 0, D_MODEL), ()], ids=str)
def test_vectors_of_another_width_or_without_numbers_get_no_logits(shape):
    with pytest.raises(ValueError, match=re.escape(f"d_model=7) and no axis is empty: got {shape}")):
        TokenEmbedding(VOCAB, D_MODEL).logits(torch.zeros(shape))


@shape_checks_off
def test_ids_get_no_logits():
    with pytest.raises(ValueError, match=r"floating-point vectors: got torch\.int64\. For ids, call the module"):
        TokenEmbedding(VOCAB, D_MODEL).logits(torch.zeros(BATCH, T, D_MODEL, dtype=torch.long))


@pytest.mark.parametrize(("vocab", "d_model", "got"), [(0, 7, "vocab=0"), (11, 0, "d_model=0"), (-1, 7, "vocab=-1")])
def test_a_size_below_one_is_refused(vocab, d_model, got):
    with pytest.raises(ValueError, match=f"at least 1: got {got}"):
        TokenEmbedding(vocab, d_model)
