"""Recurrent encoder-decoders and their attention: closed forms, properties, greedy decoding, then every refusal."""

import inspect
import math
import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from companion.recurrent import (
    AdditiveAttention,
    AttentionSeq2Seq,
    FixedVectorSeq2Seq,
    MultiplicativeAttention,
    additive_scores,
    distribution,
)
from tests.library.tensors import close, fill, normal

SOURCE_VOCAB, TARGET_VOCAB, D_EMBED, D_HIDDEN = 13, 9, 4, 6  # all different: a swapped axis cannot pass
BATCH, T_Q, T_K = 2, 3, 5
SOURCE, LENGTHS = torch.tensor([[3, 12, 5, 5, 7], [1, 2, 9, 0, 0]]), [5, 3]
TARGET = torch.tensor([[1, 7, 4], [1, 3, 8]])
FIXED = {
    f"fixed {cell}": lambda cell=cell, **more: FixedVectorSeq2Seq(
        SOURCE_VOCAB, TARGET_VOCAB, D_EMBED, D_HIDDEN, cell=cell, **more
    )
    for cell in ("elman", "lstm", "gru")
}
ALIGNED = {
    name: lambda name=name, **more: AttentionSeq2Seq(
        SOURCE_VOCAB, TARGET_VOCAB, D_EMBED, D_HIDDEN, attention=name, **more
    )
    for name in ("additive", "dot", "general")
}
MODELS = FIXED | ALIGNED
each_model = pytest.mark.parametrize("name", MODELS)
each_aligned = pytest.mark.parametrize("name", ALIGNED)
shape_checks_off = pytest.mark.usefixtures("shape_checks_off")


# Attention


def test_additive_scores_by_hand():
    """One query 0, keys 0 and ln 2 in one hidden unit: tanh(ln 2) is (2 - 1/2) / (2 + 1/2) = 3/5."""
    key = torch.tensor([[[0.0], [math.log(2)]]], dtype=torch.float64)
    scores = additive_scores(torch.zeros(1, 1, 1, dtype=torch.float64), key, torch.tensor([10.0], dtype=torch.float64))
    close(scores, torch.tensor([[[0.0, 6.0]]], dtype=torch.float64))


def test_dot_scores_are_not_scaled():
    """A score of ln 3 against 0, at width 4: 3/4 of the weight, where a scale of 1/2 would give less."""
    key = torch.eye(4, dtype=torch.float64)[None, :2]
    query = torch.tensor([[[math.log(3), 0, 0, 0]]], dtype=torch.float64)
    attention = MultiplicativeAttention(4, 4, score="dot")
    close(attention.weights(query, key), torch.tensor([[[0.75, 0.25]]], dtype=torch.float64))
    close(attention(query, key), torch.tensor([[[0.75, 0.25, 0, 0]]], dtype=torch.float64))


def test_a_general_score_with_the_identity_is_a_dot_product(randn):
    general, dot = MultiplicativeAttention(4, 4).double(), MultiplicativeAttention(4, 4, score="dot")
    general.w_a.weight.data = torch.eye(4, dtype=torch.float64)
    query, key = randn(BATCH, T_Q, 4), randn(BATCH, T_K, 4)
    close(general(query, key), dot(query, key))
    assert list(dot.parameters()) == []


@given(t_q=st.integers(1, 4), t_k=st.integers(1, 5), size=st.sampled_from([1.0, 1e6]), seed=st.integers(0, 2**16))
def test_weights_are_a_distribution_over_the_keys_that_are_allowed(t_q, t_k, size, seed):
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(2, t_q, t_k, generator=generator, dtype=torch.float64) * size
    mask = torch.rand(2, t_q, t_k, generator=generator) < 0.5
    mask[..., 0] = True
    weights = distribution(scores, mask)
    close(weights.sum(dim=-1), torch.ones(2, t_q, dtype=torch.float64))
    assert (weights >= 0).all()
    assert not weights[~mask].any()
    if size == 1:
        assert (weights[mask] > 0).all()


@pytest.mark.parametrize("build", [lambda: AdditiveAttention(3, 4, 5), lambda: MultiplicativeAttention(3, 4)])
def test_a_masked_key_has_no_influence(randn, build):
    attention, query, key = fill(build()), randn(BATCH, T_Q, 3), randn(BATCH, T_K, 4)
    mask = torch.tensor([[True] * 4 + [False]])
    before = attention(query, key, mask)
    key[:, -1] = 1e3
    assert torch.equal(attention(query, key, mask), before)
    close(before, attention(query, key[:, :-1]))


def test_the_mask_of_queries_by_keys_is_not_taken_for_that_of_a_batch(randn):
    """Two queries, two sequences: a mask of two axes means query by key in each sequence."""
    mask = torch.tensor([[True, False, True], [True, True, False]])
    weights = distribution(randn(2, 2, 3), mask)
    assert ((weights > 0) == mask).all()


# Models


@each_model
def test_a_padded_batch_equals_single_runs(name):
    model = fill(MODELS[name]())
    together = model(SOURCE, TARGET, source_lengths=LENGTHS)
    for b, length in enumerate(LENGTHS):
        close(together[b], model(SOURCE[b : b + 1, :length], TARGET[b : b + 1])[0])
    if name in ALIGNED:
        weights = model.weights(SOURCE, TARGET, source_lengths=LENGTHS)
        assert not weights[1, :, 3:].any()
        close(weights[1:, :, :3], model.weights(SOURCE[1:, :3], TARGET[1:]))


@each_model
def test_the_token_in_the_padding_has_no_influence(name):
    model = fill(MODELS[name]())
    other = SOURCE.clone()
    other[1, 3:] = 11
    got, want = (model(source, TARGET, source_lengths=torch.tensor(LENGTHS)) for source in (other, SOURCE))
    assert torch.equal(got, want)


@each_model
def test_no_logit_depends_on_a_later_target_token(name):
    model = fill(MODELS[name]())
    other = TARGET.clone()
    other[:, 2] = 5
    assert torch.equal(model(SOURCE, other)[:, :2], model(SOURCE, TARGET)[:, :2])
    assert (model(SOURCE, other)[:, 2] != model(SOURCE, TARGET)[:, 2]).any()


@each_model
def test_a_target_read_in_pieces_equals_the_whole(name):
    model = fill(MODELS[name]())
    first, rest = TARGET[:, :1], TARGET[:, 1:]
    if name in FIXED:
        start, state = model.run(first, model.encode(SOURCE, LENGTHS))
        end, _ = model.run(rest, state)
    else:
        memory = model.encode(SOURCE, LENGTHS)
        start, _, state = model.run(first, memory)
        end, _, _ = model.run(rest, memory, state)
    close(torch.cat([start, end], dim=1), model(SOURCE, TARGET, source_lengths=LENGTHS))


@pytest.mark.parametrize(("name", "numbers"), [("fixed elman", 6), ("fixed lstm", 12), ("fixed gru", 6)])
def test_the_fixed_vector_has_the_same_size_for_every_source(name, numbers):
    model = fill(MODELS[name]())
    for t in (1, 5, 40):
        state = model.encode(torch.ones(1, t, dtype=torch.long))
        assert sum(tensor.numel() for tensor in ([state] if torch.is_tensor(state) else state)) == numbers


@each_aligned
def test_the_memory_of_attention_has_a_row_for_each_source_token(name):
    memory = fill(MODELS[name]()).encode(SOURCE, LENGTHS)
    assert memory.states.shape[:2] == memory.keys.shape[:2] == SOURCE.shape
    assert not memory.states[1, 3:].any()
    assert memory.mask.tolist() == [[[True] * 5], [[True] * 3 + [False] * 2]]


@each_model
def test_each_parameter_has_a_gradient(name):
    model = fill(MODELS[name]())
    F.cross_entropy(model(SOURCE, TARGET, source_lengths=LENGTHS).mT, TARGET).backward()
    assert [key for key, parameter in model.named_parameters() if not parameter.grad.any()] == []


@each_model
def test_a_seed_draws_the_weights_and_leaves_the_global_generator_alone(name):
    before = torch.get_rng_state()
    first, second, other = MODELS[name](seed=1), MODELS[name](seed=1), MODELS[name](seed=2)
    assert torch.equal(torch.get_rng_state(), before)
    for (key, one), two, three in zip(first.named_parameters(), second.parameters(), other.parameters(), strict=True):
        assert torch.equal(one, two), key
        assert not torch.equal(one, three), key


def test_the_direction_of_a_fixed_vector_model_is_that_of_its_encoder():
    ahead, back = (fill(FIXED["fixed gru"](reverse_source=reverse)) for reverse in (False, True))
    close(back(SOURCE, TARGET), ahead(SOURCE.flip(1), TARGET))


# Greedy decoding


@each_model
def test_decoding_takes_the_likeliest_token_at_each_step(name):
    """Fed back what it wrote, the model finds each token the likeliest in its place."""
    model = fill(MODELS[name](), normal(3))
    written = model.decode(SOURCE, start=1, end=0, max_len=6, source_lengths=LENGTHS)
    fed = torch.cat([torch.ones(BATCH, 1, dtype=torch.long), written[:, :-1]], dim=1)
    likeliest = model(SOURCE, fed, source_lengths=LENGTHS).argmax(dim=-1)
    finished = (fed[:, 1:] == 0).cumsum(dim=1).bool()
    open_ = torch.cat([torch.ones(BATCH, 1, dtype=torch.bool), ~finished], dim=1)
    assert torch.equal(written[open_], likeliest[open_])
    assert not written[~open_].any()  # a finished row repeats the end token, which is 0 here
    assert not written.requires_grad


class Script(torch.nn.Module):
    """Stands in for the weights of a decoder: writes what the script says, whatever it reads."""

    def __init__(self, rows):
        super().__init__()
        self.rows = rows

    def forward(self, output):
        step, self.rows = self.rows[0], self.rows[1:]
        return F.one_hot(torch.tensor(step)[:, None], TARGET_VOCAB).to(output)


@pytest.mark.parametrize(
    ("script", "max_len", "want"),
    [
        ([[5, 4], [2, 6], [7, 2], [8, 8]], 9, [[5, 2, 2], [4, 6, 2]]),  # stops once both rows have ended
        ([[5, 4], [2, 6], [7, 2], [8, 8]], 2, [[5, 2], [4, 6]]),  # or at the limit
        ([[2, 2], [7, 7]], 9, [[2], [2]]),
    ],
)
@pytest.mark.parametrize("name", ["fixed lstm", "additive", "general"])
def test_a_finished_row_repeats_the_end_until_all_have_ended(name, script, max_len, want):
    model = fill(MODELS[name]())
    (model if name in FIXED else model.core).w_out = Script(script)
    assert model.decode(SOURCE, start=1, end=2, max_len=max_len).tolist() == want


@each_model
def test_decoding_a_padded_batch_equals_single_runs(name):
    model = fill(MODELS[name](), normal(5))
    together = model.decode(SOURCE, start=1, end=0, max_len=4, source_lengths=LENGTHS)
    for b, length in enumerate(LENGTHS):
        single = model.decode(SOURCE[b : b + 1, :length], start=1, end=0, max_len=4)[0]
        assert torch.equal(together[b, : len(single)], single)


def reversals(n, generator):
    """Rows of four symbols out of 3 to 6, and the same in reverse between a start of 1 and an end of 2."""
    source = torch.randint(3, 7, (n, 4), generator=generator)
    start, end = torch.ones(n, 1, dtype=torch.long), torch.full((n, 1), 2)
    return source, torch.cat([start, source.flip(1), end], dim=1)


def test_additive_attention_learns_to_reverse_and_looks_at_the_symbol_it_writes():
    model, generator = AttentionSeq2Seq(7, 7, 16, 16, seed=0), torch.Generator().manual_seed(0)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(100):
        source, target = reversals(32, generator)
        loss = F.cross_entropy(model(source, target[:, :-1]).mT, target[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    source, target = reversals(100, generator)
    written = model.decode(source, start=1, end=2, max_len=5)
    assert (written == target[:, 1:]).float().mean() > 0.95
    looks = model.weights(source, target[:, :-1])[:, :4].argmax(dim=-1)
    assert (looks == torch.tensor([3, 2, 1, 0])).float().mean() > 0.9  # chance: 0.25


# Refusals


@shape_checks_off
@pytest.mark.parametrize(
    "mask",
    [
        torch.ones(BATCH, T_K, dtype=torch.bool),  # of shape (batch, t_k)
        torch.ones(T_K, dtype=torch.bool),
        torch.ones(BATCH, T_Q, 1, dtype=torch.bool),
        torch.ones(3, T_Q, T_K, dtype=torch.bool),
        torch.ones(1, 1, 1, T_K, dtype=torch.bool),
        torch.ones(T_Q, T_K),
    ],
    ids=lambda mask: f"{tuple(mask.shape)} {mask.dtype}",
)
def test_a_mask_that_is_not_legal_is_refused(mask):
    message = rf"\(3 or 1, 5\) or \(2 or 1, 3 or 1, 5\): got {mask.dtype} of {re.escape(str(tuple(mask.shape)))}"
    with pytest.raises(ValueError, match=message):
        distribution(torch.zeros(BATCH, T_Q, T_K), mask)


@shape_checks_off
@pytest.mark.parametrize("build", [lambda: AdditiveAttention(3, 4, 5), lambda: MultiplicativeAttention(3, 4)])
def test_a_mask_without_a_key_for_some_query_is_refused(build):
    mask = torch.ones(T_Q, T_K, dtype=torch.bool)
    mask[1] = False
    query, key = torch.zeros(BATCH, T_Q, 3), torch.zeros(BATCH, T_K, 4)
    for method in (build(), build().weights):
        with pytest.raises(ValueError, match="each query has a key to look at"):
            method(query, key, mask)


@shape_checks_off
@pytest.mark.parametrize("build", [lambda: AdditiveAttention(3, 4, 5), lambda: MultiplicativeAttention(3, 4)])
@pytest.mark.parametrize(
    ("query", "key", "message"),
    [
        ((BATCH, T_Q, 4), (BATCH, T_K, 4), r"a query is \(batch, t, 3\) .* got \(2, 3, 4\)"),
        ((BATCH, T_Q, 3), (BATCH, T_K, 3), r"a key is \(batch, t, 4\) .* got \(2, 5, 3\)"),
        ((BATCH, 3), (BATCH, T_K, 4), r"a query is .* got \(2, 3\)"),
        ((BATCH, T_Q, 3), (BATCH, 0, 4), r"a key is .* got \(2, 0, 4\)"),
        ((BATCH, T_Q, 3), (1, T_K, 4), r"share batch and width: got \(2, 3, \d\) and \(1, 5, \d\)"),
    ],
)
def test_queries_and_keys_that_do_not_fit_are_refused(build, query, key, message):
    with pytest.raises(ValueError, match=message):
        build()(torch.zeros(query), torch.zeros(key))


@shape_checks_off
@pytest.mark.parametrize(
    ("query", "key", "v", "message"),
    [
        ((1, 2, 3), (1, 4, 1), (3,), r"share batch and width: got \(1, 2, 3\) and \(1, 4, 1\)"),
        ((2, 3), (1, 4, 3), (3,), r"got \(2, 3\) and \(1, 4, 3\)"),
        ((1, 2, 3), (1, 4, 3), (4,), r"one weight a unit, \(3,\): got \(4,\)"),
        ((1, 2, 3), (1, 4, 3), (3, 1), r"one weight a unit, \(3,\): got \(3, 1\)"),
    ],
)
def test_projections_that_do_not_fit_are_refused(query, key, v, message):
    with pytest.raises(ValueError, match=message):
        additive_scores(torch.zeros(query), torch.zeros(key), torch.zeros(v))


@shape_checks_off
@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: AdditiveAttention(3, 0, 5), r"at least 1: got d_key=0"),
        (lambda: MultiplicativeAttention(3, 0), r"at least 1: got d_key=0"),
        (lambda: MultiplicativeAttention(3, 4, score="dot"), r"equal widths: got d_query=3 and d_key=4"),
        (lambda: MultiplicativeAttention(3, 4, score="concat"), r"'dot' or 'general': got 'concat'"),
        (lambda: AttentionSeq2Seq(5, 5, 4, 6, attention="dots"), r"'additive', 'dot' or 'general': got 'dots'"),
        (lambda: AttentionSeq2Seq(5, 0, 4, 6), r"least 1: got target_vocab=0"),
        (lambda: FixedVectorSeq2Seq(5, 5, 4, 0), r"least 1: got d_hidden=0"),
        (lambda: FixedVectorSeq2Seq(5, 5, 4, 6, cell="rnn"), r"one of \['elman', 'gru', 'lstm'\]: got 'rnn'"),
    ],
)
def test_what_cannot_be_built_is_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build()


@shape_checks_off
@pytest.mark.parametrize("side", ["source", "target"])
@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (torch.tensor([[1, 13]]), r"between 0 and \d+: got 1 to 13"),
        (torch.tensor([[-1, 2]]), r"between 0 and \d+: got -1 to 2"),
        (torch.tensor([1, 2]), r"\(batch, t\), at least one: got \(2,\) of torch.int64"),
        (torch.zeros(1, 0, dtype=torch.long), r"got \(1, 0\) of"),
        (torch.tensor([[1.0, 2.0]]), r"got \(1, 2\) of torch.float32"),
        (torch.tensor([[1, 2]], dtype=torch.uint8), r"got \(1, 2\) of torch.uint8\. .* convert with \.long\(\)"),
    ],
    ids=["beyond", "negative", "one axis", "empty", "fractions", "bytes"],
)
@pytest.mark.parametrize("name", ["fixed lstm", "additive"])
def test_tokens_that_do_not_fit_are_refused_with_their_side(name, side, tokens, message):
    good = torch.tensor([[1, 2]])
    source, target = (tokens, good) if side == "source" else (good, tokens)
    with pytest.raises(ValueError, match=f"{side} tokens .*{message}"):
        MODELS[name]()(source, target)


@shape_checks_off
@each_model
def test_a_source_without_a_token_is_refused(name):
    with pytest.raises(ValueError, match=r"from 1 to t=5 for each of the 2 sequences: got \[5, 0\]"):
        MODELS[name]()(SOURCE, TARGET, source_lengths=[5, 0])


@shape_checks_off
@each_model
def test_sources_and_targets_of_two_batches_are_refused(name):
    with pytest.raises(ValueError, match=r"(is \(1, 6\): got \(2, 6\)|each source has one target: got 2 and 1)"):
        MODELS[name]()(SOURCE, TARGET[:1])


@shape_checks_off
@pytest.mark.parametrize("name", ["fixed lstm", "additive"])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"max_len": 0}, r"at least 1: got max_len=0"),
        ({"end": 9}, r"end lies between 0 and 8: got 9"),
        ({"end": -1}, r"end lies between 0 and 8: got -1"),
        ({"start": 9}, r"target tokens lie between 0 and 8: got 9 to 9"),
    ],
)
def test_decoding_that_cannot_be_done_is_refused(name, change, message):
    with pytest.raises(ValueError, match=message):
        MODELS[name]().decode(SOURCE, **({"start": 1, "end": 2, "max_len": 3} | change))


@each_model
def test_a_nan_is_not_hidden_behind_a_token(name):
    model = MODELS[name]()
    model.embed_source.weight.data[3] = torch.nan
    with pytest.raises(ValueError, match="got NaN among them"):
        model.decode(SOURCE, start=1, end=2, max_len=3)


def test_each_model_has_the_same_way_to_be_called():
    for method in ("forward", "decode", "encode"):
        first, second = (inspect.signature(getattr(kind, method)) for kind in (FixedVectorSeq2Seq, AttentionSeq2Seq))
        assert list(first.parameters) == list(second.parameters)
