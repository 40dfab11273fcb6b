"""Multi-head attention: heads, the kernels, decoding with a cache, what a call leaves behind, then every refusal."""

import re

import pytest
import torch
import torch.nn.functional as F
from hypothesis import example, given
from hypothesis import strategies as st

from companion.attention import attention
from companion.cache import KeyValueCache
from companion.masks import and_masks, causal, padding
from companion.measure import peak_bytes
from companion.multihead import KERNELS, MultiHeadAttention, merge_heads, reference, repeat_heads, sdpa, split_heads
from companion.positional import ALiBi, RotaryPosition, T5Bias, TransformerXLPosition
from tests.library.tensors import close

BATCH, HEADS, D_K, T_Q, T, D_MEMORY, D_V = 2, 6, 4, 5, 7, 11, 13  # all different: a swapped axis cannot pass
D_MODEL = 10  # the heads do not divide it: d_k is given
sizes = st.integers(1, 6)
each_kernel = pytest.mark.parametrize("kernel", list(KERNELS))
zeros = torch.zeros
SCHEMES = {
    "none": lambda: None,
    "rope": lambda: RotaryPosition(D_K),
    "rope-interleaved": lambda: RotaryPosition(D_K, layout="interleaved"),
    "alibi": lambda: ALiBi(HEADS),
    "t5": lambda: T5Bias(HEADS, buckets=6, max_distance=5, causal=True),
    "transformer-xl": lambda: TransformerXLPosition(HEADS, D_K, D_MODEL),
}


@pytest.fixture
def make(randn):
    """Build a layer in float64 with weights that give unit-size outputs; the small default weights hide faults."""

    def build(**changes):
        layer = MultiHeadAttention(D_MODEL, HEADS, **{"d_k": D_K, "d_v": D_V, **changes}).double()
        with torch.no_grad():
            for parameter in layer.parameters():
                parameter.copy_(randn(*parameter.shape) / (parameter.shape[-1] ** 0.5 if parameter.ndim > 1 else 1.0))
        return layer

    return build


@pytest.fixture
def seeded():
    """Dropout draws from the global generator: seed it inside, and leave it as it was."""
    with torch.random.fork_rng():
        torch.manual_seed(2017)
        yield


# Heads


def test_the_first_head_gets_the_first_features():
    x = torch.arange(8.0).view(1, 2, 4)
    assert split_heads(x, 2).tolist() == [[[[0.0, 1.0], [4.0, 5.0]], [[2.0, 3.0], [6.0, 7.0]]]]
    assert split_heads(x, 2).data_ptr() == x.data_ptr()  # a view


@given(batch=sizes, t=sizes, n_heads=sizes, d=sizes)
def test_merging_undoes_splitting(randn, batch, t, n_heads, d):
    x = randn(batch, t, n_heads * d)
    heads = split_heads(x, n_heads)
    assert heads.shape == (batch, n_heads, t, d)
    assert torch.equal(merge_heads(heads), x)


@given(n_kv_heads=sizes, repeats=sizes, t=sizes)
def test_neighbouring_query_heads_share_a_key_value_head(randn, n_kv_heads, repeats, t):
    heads = randn(BATCH, n_kv_heads, t, D_K)
    repeated = repeat_heads(heads, n_kv_heads * repeats)
    assert repeated.shape == (BATCH, n_kv_heads * repeats, t, D_K)
    for head in range(n_kv_heads * repeats):
        assert torch.equal(repeated[:, head], heads[:, head // repeats])


# Closed forms of the layer


@each_kernel
def test_one_head_with_identity_projections_is_attention(randn, random_mask, kernel):
    layer = MultiHeadAttention(D_MODEL, 1, bias=False, kernel=kernel).double()
    with torch.no_grad():
        for projection in (layer.w_q, layer.w_k, layer.w_v, layer.w_o):
            projection.weight.copy_(torch.eye(D_MODEL))
    x, memory, mask = randn(BATCH, T_Q, D_MODEL), randn(BATCH, T, D_MODEL), random_mask(BATCH, T_Q, T)
    close(layer(x, memory, mask), attention(x, memory, memory, mask))


@each_kernel
def test_zero_queries_average_the_values(make, randn, kernel):
    layer = make(kernel=kernel)
    with torch.no_grad():
        layer.w_q.weight.zero_()
        layer.w_q.bias.zero_()
    x = randn(BATCH, T, D_MODEL)
    close(layer(x), layer.w_o(layer.w_v(x).mean(dim=1, keepdim=True)).expand(BATCH, T, D_MODEL))


def test_heads_in_another_order_change_nothing(make, randn):
    layer, shuffled, order = make(), make(), torch.tensor([3, 0, 5, 1, 4, 2])
    with torch.no_grad():
        for name in ("w_q", "w_k", "w_v"):
            for kind in ("weight", "bias"):
                rows = layer.get_parameter(f"{name}.{kind}").unflatten(0, (HEADS, -1))
                shuffled.get_parameter(f"{name}.{kind}").copy_(rows[order].flatten(0, 1))
        shuffled.w_o.weight.copy_(layer.w_o.weight.unflatten(1, (HEADS, -1))[:, order].flatten(1))
        shuffled.w_o.bias.copy_(layer.w_o.bias)
    x = randn(BATCH, T, D_MODEL)
    close(shuffled(x), layer(x))


@each_kernel
def test_without_a_position_scheme_positions_in_another_order_give_the_outputs_in_that_order(make, randn, kernel):
    layer, x, order = make(kernel=kernel), randn(BATCH, T, D_MODEL), torch.tensor([4, 0, 6, 2, 1, 5, 3])
    close(layer(x[:, order]), layer(x)[:, order])


def test_the_number_of_parameters_is_that_of_four_projections():
    """The base model of Vaswani et al.: 4 d^2 + 4 d; shared heads save on keys and values."""
    count = {n: sum(p.numel() for p in MultiHeadAttention(512, 8, n_kv_heads=n).parameters()) for n in (None, 8, 2, 1)}
    assert count[None] == count[8] == 4 * 512**2 + 4 * 512
    assert count[2] == 2 * 512**2 + 2 * 512 + 2 * (512 * 128 + 128)
    assert count[1] == 2 * 512**2 + 2 * 512 + 2 * (512 * 64 + 64)


def test_the_projections_have_the_papers_names_and_shapes():
    layer = MultiHeadAttention(D_MODEL, HEADS, n_kv_heads=2, d_k=D_K, d_v=D_V, d_memory=D_MEMORY, bias=False)
    assert {name: tuple(tensor.shape) for name, tensor in layer.state_dict().items()} == {
        "w_q.weight": (HEADS * D_K, D_MODEL),
        "w_k.weight": (2 * D_K, D_MEMORY),
        "w_v.weight": (2 * D_V, D_MEMORY),
        "w_o.weight": (D_MODEL, HEADS * D_V),
    }


def test_widths_not_given_follow_from_the_others():
    layer = MultiHeadAttention(24, HEADS)
    assert (layer.d_k, layer.d_v, layer.n_kv_heads) == (4, 4, HEADS)
    assert MultiHeadAttention(24, HEADS, d_k=7).d_v == 7


# Masks


@each_kernel
@pytest.mark.parametrize("bias", [False, True])
def test_a_row_without_a_key_gives_the_bias_of_the_output_and_finite_gradients(make, randn, random_mask, kernel, bias):
    """Anomaly detection looks at each step back: a NaN that a later step multiplies by 0 would hide in the sum."""
    layer, x, mask = make(kernel=kernel, bias=bias), randn(BATCH, T, D_MODEL, requires_grad=True), random_mask(T, T)
    mask[2] = False
    want = layer.w_o.bias.expand(BATCH, D_MODEL) if bias else zeros(BATCH, D_MODEL).double()
    with torch.autograd.set_detect_anomaly(True):
        output = layer(x, mask=mask)
        assert torch.equal(output[:, 2], want)
        output.square().sum().backward()
    assert all(tensor.grad.isfinite().all() for tensor in (x, *layer.parameters()))


@each_kernel
@pytest.mark.parametrize("masked", [False, True])
def test_a_bias_of_minus_infinity_hides_as_a_mask_does(randn, random_mask, kernel, masked):
    query, key, value = (randn(2, 6, t, 4, requires_grad=True) for t in (5, 7, 7))
    hidden, mask = ~random_mask(6, 5, 7), random_mask(5, 7) if masked else None
    hidden[1, 2] = True  # a row in which the bias alone leaves no key
    finite = randn(6, 5, 7)
    bias = finite.masked_fill(hidden, -torch.inf).requires_grad_()
    with torch.autograd.set_detect_anomaly(True):
        output = KERNELS[kernel](query, key, value, mask, bias=bias)
        assert not output[:, 1, 2].any()
        output.square().sum().backward()
    seen = ~hidden if mask is None else ~hidden & mask
    torch.testing.assert_close(output, reference(query, key, value, seen[None], bias=finite), rtol=0, atol=1e-12)
    assert all(tensor.grad.isfinite().all() for tensor in (query, key, value, bias))


@each_kernel
def test_a_mask_that_allows_nothing_sends_no_gradient_to_the_input(make, randn, kernel):
    layer, x = make(kernel=kernel), randn(BATCH, T, D_MODEL, requires_grad=True)
    layer(x, mask=zeros(1, T, dtype=torch.bool)).sum().backward()
    assert not x.grad.any()


@each_kernel
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_causal_output_depends_on_no_later_token(make, randn, kernel, scheme):
    """By autograd: the gradient of each output with respect to every later input is exactly 0."""
    layer, x = make(kernel=kernel, position=SCHEMES[scheme]()), randn(1, T, D_MODEL, requires_grad=True)
    output = layer(x, causal=True)
    for t in range(T):
        (gradient,) = torch.autograd.grad(output[:, t].square().sum(), x, retain_graph=True)
        assert not gradient[:, t + 1 :].any()
        assert gradient[:, : t + 1].any(dim=-1).all()


@each_kernel
@pytest.mark.parametrize("scheme", SCHEMES)
def test_causal_is_the_causal_mask_and_joins_another(make, randn, random_mask, kernel, scheme):
    layer, x = make(kernel=kernel, position=SCHEMES[scheme]()), randn(BATCH, T, D_MODEL)
    close(layer(x, causal=True), layer(x, mask=causal(T)))
    for mask in (random_mask(T, T), padding([3, 6], T), random_mask(BATCH, T, T)):
        close(layer(x, mask=mask, causal=True), layer(x, mask=and_masks(mask, causal(T))))


@each_kernel
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_padded_batch_gives_each_sequence_the_output_of_its_real_length(make, randn, kernel, scheme):
    layer, x = make(kernel=kernel, position=SCHEMES[scheme]()), randn(BATCH, T, D_MODEL)
    output = layer(x, mask=padding([4, 6], T))
    close(output[0, :4], layer(x[:1, :4])[0])
    close(output[1, :6], layer(x[1:, :6])[0])


@each_kernel
def test_a_mask_of_a_sequence_holds_for_all_its_heads_and_for_no_other_sequence(make, randn, random_mask, kernel):
    """With as many heads as sequences, a mask read as heads by queries by keys would pass unseen."""
    layer, x, mask = make(kernel=kernel), randn(HEADS, T, D_MODEL), random_mask(HEADS, T, T)
    output = layer(x, mask=mask)
    for sequence in range(HEADS):
        close(output[sequence], layer(x[sequence, None], mask=mask[sequence])[0])


# Dropout


@each_kernel
@pytest.mark.parametrize("is_causal", [False, True])
def test_dropout_sets_a_share_of_the_weights_to_0_and_scales_the_others(randn, seeded, kernel, is_causal):
    """With the identity for values, the output is the weights: each is 0 or grows by 1 / (1 - p), the mean stays."""
    p, t = 0.3, 64
    query, key, value = randn(3, 5, t, D_K), randn(3, 5, t, D_K), torch.eye(t).double().expand(3, 5, t, t)
    weights = KERNELS[kernel](query, key, value, causal=is_causal)
    dropped = KERNELS[kernel](query, key, value, causal=is_causal, dropout=p)
    allowed = weights > 0
    gone = (dropped == 0) & allowed
    close(dropped[~gone], weights[~gone] / (1 - p))
    # A share of n independent draws: five standard deviations, so one seed in a million would fail, and not this one.
    assert abs(gone[allowed].double().mean().item() - p) < 5 * (p * (1 - p) / allowed.sum().item()) ** 0.5


@each_kernel
def test_dropout_acts_in_training_only(make, randn, seeded, kernel):
    layer, x = make(kernel=kernel, dropout=1), randn(BATCH, T, D_MODEL)
    assert torch.equal(layer(x), layer.w_o.bias.expand(BATCH, T, D_MODEL))  # every weight is dropped
    layer.eval()
    kept = layer(x)
    layer.dropout = 0.0
    assert torch.equal(kept, layer(x))
    assert not torch.isclose(kept, layer.w_o.bias).any()


def test_the_layer_passes_its_own_probability_on(make, randn, seeded):
    layer, x = make(kernel="reference", dropout=0.3), randn(BATCH, T, D_MODEL)
    heads = [split_heads(projection(x), HEADS) for projection in (layer.w_q, layer.w_k, layer.w_v)]
    state = torch.get_rng_state()
    output = layer(x)
    torch.set_rng_state(state)
    close(output, layer.w_o(merge_heads(reference(*heads, dropout=0.3))))


def test_the_weights_are_those_before_dropout(make, randn, seeded):
    layer, x = make(dropout=0.5), randn(BATCH, T, D_MODEL)
    close(layer.weights(x, causal=True).sum(dim=-1), torch.ones(BATCH, HEADS, T).double())


# Decoding


@pytest.mark.usefixtures("shape_checks_off")
def test_a_refused_mask_leaves_the_cache_as_it_was(make, randn):
    layer, cache = make(), KeyValueCache()
    with torch.no_grad():
        layer(randn(BATCH, 3, D_MODEL), cache=cache)
        with pytest.raises(ValueError, match=r"\(1, 4\) or .*: got \(1, 3\)"):
            layer(randn(BATCH, 1, D_MODEL), mask=torch.ones(1, 3, dtype=torch.bool), cache=cache)
    assert cache.length == 3


@pytest.mark.parametrize("scheme", ["rope", "alibi", "t5"])  # Transformer-XL has a score a key, as long as these keys
def test_a_position_does_not_repeat_the_keys_that_queries_share(make, randn, scheme):
    """With 2 key heads for 6 query heads, a repeated cache would be three times the cache, made anew at each step."""
    layer, cache, past = make(n_kv_heads=2, position=SCHEMES[scheme]()), KeyValueCache(600), randn(4, 512, D_MODEL)
    with torch.no_grad():
        layer(past, cache=cache, causal=True)
        layer(past[:, :1], cache=cache, causal=True)  # tables have grown
        query = randn(4, HEADS, 1, D_K)
        took = peak_bytes(lambda: layer._position_bias(query, cache.keys))
    assert took < cache.keys.nbytes / 2


CHUNKS = [(1,) * T, (3, 1, 1, 1, 1), (2, 2, 3), (T,)]


@each_kernel
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("n_kv_heads", [2, HEADS])
@pytest.mark.parametrize("chunks", CHUNKS, ids=["token by token", "prefill, then decode", "by chunks", "at once"])
def test_cached_is_uncached(make, randn, kernel, scheme, n_kv_heads, chunks):
    layer, x = make(kernel=kernel, n_kv_heads=n_kv_heads, position=SCHEMES[scheme]()), randn(BATCH, T, D_MODEL)
    cache = KeyValueCache()
    with torch.no_grad():
        parts = [layer(part, cache=cache, causal=True) for part in x.split(chunks, dim=1)]
    close(torch.cat(parts, dim=1), layer(x, causal=True))
    assert tuple(cache.keys.shape) == (BATCH, n_kv_heads, T, D_K)


@each_kernel
@pytest.mark.parametrize("chunks", CHUNKS, ids=str)
def test_with_a_mask_over_the_cached_keys_cached_is_uncached(make, randn, random_mask, kernel, chunks):
    layer, x, mask = make(kernel=kernel), randn(BATCH, T, D_MODEL), random_mask(BATCH, T, T)
    cache, parts = KeyValueCache(max_len=T), []
    with torch.no_grad():
        for part in x.split(chunks, dim=1):
            start, end = cache.length, cache.length + part.shape[1]
            parts.append(layer(part, mask=mask[:, start:end, :end], cache=cache, causal=True))
    close(torch.cat(parts, dim=1), layer(x, mask=mask, causal=True))


@each_kernel
@pytest.mark.parametrize("chunks", CHUNKS, ids=str)
@pytest.mark.parametrize("masked", [False, True])
def test_cached_cross_attention_is_uncached_and_projects_the_memory_once(make, randn, kernel, chunks, masked):
    layer, cache = make(kernel=kernel, d_memory=D_MEMORY, n_kv_heads=3), KeyValueCache()
    x, memory, mask = randn(BATCH, T, D_MODEL), randn(BATCH, T_Q, D_MEMORY), padding([2, 4], T_Q) if masked else None
    projected = []
    hooks = [w.register_forward_hook(lambda *call: projected.append(call)) for w in (layer.w_k, layer.w_v)]
    with torch.no_grad():
        parts = [layer(part, memory, mask, cache=cache) for part in x.split(chunks, dim=1)]
    assert len(projected) == 2
    for hook in hooks:
        hook.remove()
    close(torch.cat(parts, dim=1), layer(x, memory, mask))
    assert cache.length == T_Q


@each_kernel
@pytest.mark.parametrize("scheme", SCHEMES)
def test_after_reorder_each_row_continues_the_one_it_came_from(make, randn, kernel, scheme):
    layer, x, more = make(kernel=kernel, position=SCHEMES[scheme]()), randn(BATCH, T, D_MODEL), randn(3, 1, D_MODEL)
    cache, rows = KeyValueCache(), torch.tensor([1, 1, 0])
    with torch.no_grad():
        layer(x, cache=cache, causal=True)
        cache.reorder(rows)
        last = layer(more, cache=cache, causal=True)
    close(last, layer(torch.cat([x[rows], more], dim=1), causal=True)[:, -1:])


# What a call leaves behind, low precision, gradients


@each_kernel
@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_arguments_are_never_written_to(make, randn, random_mask, kernel, scheme):
    layer = make(kernel=kernel, n_kv_heads=2, position=SCHEMES[scheme]())
    x, mask = randn(BATCH, T, D_MODEL), random_mask(BATCH, T, T)
    mask[:, 2] = False
    copies, versions = (x.clone(), mask.clone()), [p._version for p in layer.parameters()]
    layer(x, mask=mask, causal=True).sum().backward()
    layer.weights(x, mask=mask, causal=True)
    assert torch.equal(x, copies[0])
    assert torch.equal(mask, copies[1])
    assert x._version == 0
    assert [p._version for p in layer.parameters()] == versions


@each_kernel
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(
    ("stored", "computed"),
    [
        (torch.float32, torch.float32),
        (torch.bfloat16, torch.bfloat16),
        (torch.float16, torch.float16),
        (torch.float32, torch.bfloat16),  # automatic mixed precision
    ],
    ids=str,
)
def test_low_precision_stays_close_to_float64(make, randn, kernel, scheme, stored, computed):
    layer, x = make(kernel=kernel, n_kv_heads=2, position=SCHEMES[scheme]()), randn(BATCH, T, D_MODEL)
    want = layer(x, causal=True)
    with torch.autocast("cpu", torch.bfloat16, enabled=stored != computed):
        got = layer.to(stored)(x.to(stored), causal=True)
    assert got.dtype == computed
    # Six products in a row, each rounded to half an eps of terms that reach 5, and a softmax that doubles an error.
    torch.testing.assert_close(got.double(), want, rtol=0, atol=40 * torch.finfo(computed).eps)


@each_kernel
def test_the_gradient_is_that_of_finite_differences(make, randn, random_mask, kernel):
    layer, mask = make(kernel=kernel, n_kv_heads=2), random_mask(3, 4)
    mask[1] = False
    inputs = randn(1, 3, D_MODEL, requires_grad=True), randn(1, 4, D_MODEL, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x, memory: layer(x, memory, mask), inputs)


# NaN


@pytest.mark.parametrize("bad", [torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize(
    ("name", "where", "options"),
    [
        ("query", (0, 1, 2, 3), {}),
        ("key", (0, 1, 0, 3), {}),
        ("key", (0, 1, 0, 3), {"causal": True}),
        ("key", (0, 1, 6, 3), {"mask": torch.ones(1, T, dtype=torch.bool)}),
        ("key", (0, 1, 6, 3), {"bias": zeros(1, T).double()}),
    ],
    ids=str,
)
@pytest.mark.usefixtures("shape_checks_off")
def test_the_fused_kernel_refuses_what_it_could_hide(randn, name, where, options, bad):
    heads = {"query": randn(1, 2, T_Q, D_K), "key": randn(1, 2, T, D_K)}
    heads[name][where] = bad
    with pytest.raises(ValueError, match=rf"NaN into 0: got a {name} \(1, 2, ., 4\) with NaN or infinity\. Find"):
        sdpa(heads["query"], heads["key"], randn(1, 2, T, D_V), **options)


@given(t=st.integers(1, 40), share=st.floats(0, 1), is_causal=st.booleans())
@example(t=5, share=1.0, is_causal=False)  # torch returns 0 for few keys that are all NaN
@example(t=1, share=1.0, is_causal=True)
def test_nan_never_disappears(randn, t, share, is_causal):
    """Some keys are NaN: either they are refused, or each query that sees one returns NaN."""
    query, key, value = randn(1, 1, t, D_K), randn(1, 1, t, D_K), randn(1, 1, t, D_K)
    broken = torch.rand(t, generator=torch.Generator().manual_seed(t)) < share
    key[:, :, broken] = torch.nan
    try:
        output = sdpa(query, key, value, causal=is_causal)
    except ValueError:
        assert broken[0]
        return
    sees = broken & causal(t) if is_causal else broken.expand(t, t)
    assert torch.equal(output[0, 0].isnan().all(dim=-1), sees.any(dim=-1))


def test_the_formula_passes_nan_on(make, randn):
    layer, x = make(kernel="reference"), randn(BATCH, T, D_MODEL)
    x[1, 3, 0] = torch.nan
    assert layer(x)[1].isnan().all()
    assert layer(x)[0].isfinite().all()


def test_torchs_function_returns_zeros_for_a_query_of_nan(randn):
    """A fact about torch since 2.5 on a CPU, and the reason of the refusal: a broken model would look sound."""
    query, key = torch.full((1, 1, T_Q, D_K), torch.nan), zeros(1, 1, T, D_K)
    assert (F.scaled_dot_product_attention(query, key, key) == 0).all()


# Refusals, as a reader meets them


@pytest.mark.usefixtures("shape_checks_off")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_heads": 5}, r"got n_heads=5 and d_model=12. Use one of \[1, 2, 3, 4, 6, 12\], or give d_k"),
        ({"n_heads": 0}, r"n_heads is a whole number, at least 1: got n_heads=0"),
        ({"n_heads": 0, "d_k": 4}, r"n_kv_heads is a whole number, at least 1: got n_kv_heads=0"),
        ({"n_kv_heads": 4}, r"n_kv_heads divides n_heads: got n_kv_heads=4 and n_heads=6. Use one of \[1, 2, 3, 6\]"),
        ({"n_kv_heads": 0}, r"n_kv_heads is a whole number, at least 1: got n_kv_heads=0"),
        ({"d_k": 0}, r"d_k is a whole number, at least 1: got d_k=0"),
        ({"d_v": 0}, r"d_v is a whole number, at least 1: got d_v=0"),
        ({"d_memory": 0}, r"d_memory is a whole number, at least 1: got d_memory=0"),
        ({"d_model": 0, "d_k": 4}, r"d_model is a whole number, at least 1: got d_model=0"),
        ({"dropout": 1.5}, r"dropout is a probability: got 1\.5\. Use 0 <= dropout <= 1"),
        ({"dropout": -0.1}, r"dropout is a probability: got -0\.1"),
        ({"kernel": "flash"}, r"no kernel is called 'flash': use one of \['reference', 'sdpa'\]"),
    ],
    ids=str,
)
def test_a_layer_that_cannot_be_is_refused_with_the_remedy(arguments, message):
    with pytest.raises(ValueError, match=message):
        MultiHeadAttention(**{"d_model": 12, "n_heads": 6, **arguments})


@pytest.mark.usefixtures("shape_checks_off")
@pytest.mark.parametrize(
    ("x", "memory", "message"),
    [
        (zeros(2, 5, 11), None, r"x holds numbers, \(batch, t, 12\), .*: got \(2, 5, 11\) of torch\.float32\. Embed"),
        (zeros(5, 12), None, r"x holds numbers, \(batch, t, 12\), .*: got \(5, 12\)"),
        (zeros(2, 0, 12), None, r"x holds numbers, \(batch, t, 12\), with no axis empty: got \(2, 0, 12\)"),
        (zeros(0, 5, 12), zeros(0, 5, 12), r"no axis empty: got \(0, 5, 12\)"),
        (zeros(2, 5, 12).long(), None, r"x holds numbers, .* of torch\.int64\. Embed tokens first"),
        (zeros(2, 5, 12), zeros(2, 7, 11), r"memory holds numbers, \(batch, t, 12\), .*: got \(2, 7, 11\)"),
        (zeros(2, 5, 12), zeros(2, 0, 12), r"memory holds numbers, .*: got \(2, 0, 12\)"),
        (zeros(2, 5, 12), zeros(3, 7, 12), r"one batch size: got \(2, 5, 12\) and \(3, 7, 12\)"),
        (zeros(2, 5, 12), zeros(1, 7, 12), r"one batch size: got \(2, 5, 12\) and \(1, 7, 12\)"),
    ],
    ids=lambda value: str(tuple(value.shape)) if isinstance(value, torch.Tensor) else "",
)
def test_an_input_that_does_not_fit_is_refused_with_its_shape(x, memory, message):
    layer = MultiHeadAttention(12, 6)
    for call in (layer, layer.weights):
        with pytest.raises(ValueError, match=message):
            call(x, memory)


@pytest.mark.usefixtures("shape_checks_off")
def test_self_attention_of_a_layer_for_a_memory_of_another_width_is_refused():
    layer = MultiHeadAttention(12, 6, d_memory=11)
    with pytest.raises(ValueError, match=r"memory holds numbers, \(batch, t, 11\), .*: got \(2, 5, 12\) .*leave the m"):
        layer(zeros(2, 5, 12))


def test_a_memory_for_a_layer_with_a_relative_position_is_refused():
    layer = MultiHeadAttention(12, 6, position=ALiBi(6))
    with pytest.raises(ValueError, match=r"one sequence: got a memory and position=ALiBi\. Make the cross-attention"):
        layer(zeros(2, 5, 12), zeros(2, 7, 12))


@pytest.mark.parametrize("memory", [(2, 6, 12), (3, 7, 12)], ids=str)
def test_another_memory_than_the_cached_one_is_refused(memory):
    layer, cache = MultiHeadAttention(12, 6), KeyValueCache()
    with torch.no_grad():
        layer(zeros(2, 1, 12), zeros(2, 7, 12), cache=cache)
        with pytest.raises(ValueError, match=rf"holds 7 keys of 2 .*: got a memory {re.escape(str(memory))}\. Keep"):
            layer(zeros(memory[0], 1, 12), zeros(memory), cache=cache)


def test_a_cache_with_gradients_is_refused():
    with pytest.raises(ValueError, match=r"a cache keeps no gradient: .*Decode under torch\.no_grad\(\)"):
        MultiHeadAttention(12, 6)(zeros(2, 5, 12), cache=KeyValueCache(), causal=True)


@each_kernel
@pytest.mark.usefixtures("shape_checks_off")
@pytest.mark.parametrize(
    ("shape", "remedy"),
    [
        ((2, 7), r"It looks like \(batch, t_k\): make it a padding mask with mask\[:, None, :\], or padding\(lengths"),
        ((7,), r"Two axes mean query by key"),
        ((7, 5), r"Two axes mean query by key"),
        ((3, 5, 7), r"Two axes mean query by key"),
        ((2, 6, 5, 7), r"Two axes mean query by key"),
        ((2, 1, 5, 7), r"Two axes mean query by key"),
    ],
    ids=str,
)
def test_a_mask_of_another_shape_is_refused_with_the_remedy(kernel, shape, remedy):
    layer, mask = MultiHeadAttention(12, 6, kernel=kernel), torch.ones(shape, dtype=torch.bool)
    message = rf"scores \(2, 5, 7\) has shape \(5 or 1, 7\) or \(2 or 1, 5 or 1, 7\): got {re.escape(str(shape))}\. "
    for call in (layer, layer.weights):
        with pytest.raises(ValueError, match=message + remedy):
            call(zeros(2, 5, 12), zeros(2, 7, 12), mask)


@each_kernel
@pytest.mark.usefixtures("shape_checks_off")
def test_a_mask_that_adds_is_refused(kernel):
    layer = MultiHeadAttention(12, 6, kernel=kernel)
    with pytest.raises(ValueError, match=r"a mask is boolean, True = may look: got torch\.float32"):
        layer(zeros(2, 5, 12), mask=zeros(5, 5))


@each_kernel
@pytest.mark.usefixtures("shape_checks_off")
@pytest.mark.parametrize(
    ("query", "key", "value", "message"),
    [
        (
            zeros(6, 5, 4),
            zeros(6, 7, 4),
            zeros(6, 7, 3),
            r"heads are \(batch, heads, t, width\): got query \(6, 5, 4\)",
        ),
        (
            zeros(2, 6, 0, 4),
            zeros(2, 6, 7, 4),
            zeros(2, 6, 7, 3),
            r"no axis is empty: got query \(2, 6, 0, 4\) and key",
        ),
        (zeros(2, 6, 5, 4), zeros(2, 6, 7, 4), zeros(2, 6, 7, 0), r"no axis is empty: .* value \(2, 6, 7, 0\)\. Drop"),
        (
            zeros(2, 6, 5, 4),
            zeros(1, 6, 7, 4),
            zeros(1, 6, 7, 3),
            r"same leading axes: got query \(2, .*\) and key \(1, ",
        ),
        (zeros(2, 6, 5, 4), zeros(2, 6, 7, 3), zeros(2, 6, 7, 3), r"same width d_k: got query .*Project both to one"),
        (zeros(2, 6, 5, 4), zeros(2, 6, 7, 4), zeros(2, 6, 5, 4), r"each key has one value: got .*All axes but the l"),
        (zeros(2, 6, 5, 4), zeros(2, 6, 7, 4), zeros(2, 3, 7, 4), r"each key has one value: got"),
        (
            zeros(2, 6, 5, 4),
            zeros(2, 4, 7, 4),
            zeros(2, 4, 7, 4),
            r"got n_kv_heads=4 and n_heads=6. Use one of \[1, 2, 3",
        ),
        (
            zeros(2, 6, 5, 4),
            zeros(2, 6, 7, 4),
            zeros(2, 6, 7, 4).half(),
            r"one dtype: got torch\.float32 and torch\.float16",
        ),
        (
            zeros(2, 6, 5, 4).half(),
            zeros(2, 6, 7, 4),
            zeros(2, 6, 7, 4),
            r"dtype: got torch\.float16 and torch\.float32",
        ),
        (zeros(2, 6, 5, 4).long(), zeros(2, 6, 7, 4).long(), zeros(2, 6, 7, 4).long(), r"one floating-point dtype: g"),
    ],
    ids=lambda value: str(tuple(value.shape)) if isinstance(value, torch.Tensor) else "",
)
def test_heads_that_do_not_fit_are_refused_with_their_shapes(kernel, query, key, value, message):
    with pytest.raises(ValueError, match=message):
        KERNELS[kernel](query, key, value)


@each_kernel
@pytest.mark.usefixtures("shape_checks_off")
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("shape", [(7,), (2, 7), (3, 5, 7), (2, 5, 7), (2, 3, 5, 7), (1, 2, 6, 5, 7)], ids=str)
def test_a_mask_that_fits_the_scores_in_no_way_is_refused(kernel, is_causal, shape):
    query, key = zeros(2, 6, 5, 4), zeros(2, 6, 7, 4)
    with pytest.raises(ValueError, match=r"a mask of scores \(2, 6, 5, 7\) has shape .*: got"):
        KERNELS[kernel](query, key, key, torch.ones(shape, dtype=torch.bool), causal=is_causal)


@each_kernel
@pytest.mark.usefixtures("shape_checks_off")
@pytest.mark.parametrize(
    "bias", [zeros(4), zeros(5, 6), zeros(3, 1, 5, 7), zeros(1, 1, 1, 5, 7), zeros(5, 7).double()], ids=str
)
def test_a_bias_that_does_not_fit_the_scores_is_refused(kernel, bias):
    query, key = zeros(2, 6, 5, 4), zeros(2, 6, 7, 4)
    got = rf"got {re.escape(str(tuple(bias.shape)))} of {bias.dtype}"
    with pytest.raises(ValueError, match=rf"broadcasts to the scores \(2, 6, 5, 7\) and has .*: {got}\. Each of its"):
        KERNELS[kernel](query, key, key, bias=bias)


@each_kernel
@pytest.mark.usefixtures("shape_checks_off")
def test_more_queries_than_keys_cannot_be_causal(kernel):
    with pytest.raises(ValueError, match=r"1 <= t_q <= t_k: got t_q=5 and t_k=3"):
        KERNELS[kernel](zeros(2, 6, 5, 4), zeros(2, 6, 3, 4), zeros(2, 6, 3, 4), causal=True)


@pytest.mark.usefixtures("shape_checks_off")
@pytest.mark.parametrize(
    ("n_heads", "message"),
    [
        (5, r"got n_heads=5 and width=12. Use one of \[1, 2, 3, 4, 6, 12\]"),
        (0, "least 1: got n_heads=0"),
        (-2, "got n_heads=-2"),
    ],
)
def test_heads_that_do_not_divide_the_features_are_refused(n_heads, message):
    with pytest.raises(ValueError, match=message):
        split_heads(zeros(2, 3, 12), n_heads)


@pytest.mark.usefixtures("shape_checks_off")
def test_features_and_heads_have_all_their_axes():
    with pytest.raises(ValueError, match=r"\(batch, t, n_heads \* d\): got \(5, 12\)"):
        split_heads(zeros(5, 12), 3)
    with pytest.raises(ValueError, match=r"\(batch, n_heads, t, d\): got \(3, 5, 4\)"):
        merge_heads(zeros(3, 5, 4))


@pytest.mark.usefixtures("shape_checks_off")
@pytest.mark.parametrize("n_heads", [0, 3, 5])
def test_key_value_heads_that_do_not_divide_the_queries_are_refused(n_heads):
    with pytest.raises(ValueError, match=rf"got (n_kv_heads=2 and )?n_heads={n_heads}\. Use"):
        repeat_heads(zeros(2, 2, 3, 4), n_heads)
