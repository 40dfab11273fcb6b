"""Parity of the recurrent encoder-decoders: attention with explicit loops, whole models with torch's own layers."""

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from companion.recurrent import AdditiveAttention, AttentionSeq2Seq, FixedVectorSeq2Seq, MultiplicativeAttention
from tests.library.tensors import close, fill

BATCH, T_Q, T_K, D_QUERY, D_KEY, D_ALIGN = 2, 3, 5, 7, 11, 4  # all different: a swapped axis cannot pass
SOURCE_VOCAB, TARGET_VOCAB, D_EMBED, D_HIDDEN = 13, 8, 4, 6
SOURCE = torch.tensor([[3, 12, 5, 5, 7], [1, 2, 9, 0, 0]])
TARGET = torch.tensor([[1, 7, 4], [1, 3, 3]])
LENGTHS = [5, 3]
each_mask = pytest.mark.parametrize("shape", [None, (T_Q, T_K), (1, T_K), (BATCH, 1, T_K), (BATCH, T_Q, T_K)], ids=str)
each_length = pytest.mark.parametrize("lengths", [None, LENGTHS], ids=["full", "padded"])


def softmax_by_hand(numbers):
    exponentials = [(number - max(numbers)).exp() for number in numbers]
    return [exponential / sum(exponentials) for exponential in exponentials]


def loops(score, query, key, mask):
    """Weights and contexts, one pair after the other, over the keys that are allowed only."""
    weights, contexts = [], []
    for b in range(BATCH):
        for i in range(T_Q):
            allowed = [j for j in range(T_K) if mask is None or mask.expand(BATCH, T_Q, T_K)[b, i, j]]
            shares = softmax_by_hand([score(query[b, i], key[b, j]) for j in allowed])
            row = [torch.zeros((), dtype=torch.float64)] * T_K
            for j, share in zip(allowed, shares, strict=True):
                row[j] = share
            weights.append(torch.stack(row))
            contexts.append(sum(share * key[b, j] for j, share in zip(allowed, shares, strict=True)))
    return torch.stack(weights).view(BATCH, T_Q, T_K), torch.stack(contexts).view(BATCH, T_Q, -1)


def compare(attention, score, query, key, mask, randn):
    weights, contexts = loops(score, query, key, mask)
    close(attention.weights(query, key, mask), weights)
    got, inputs = attention(query, key, mask), [query, key, *attention.parameters()]
    close(got, contexts)
    upstream = randn(*contexts.shape)
    want_grads = torch.autograd.grad(contexts, inputs, upstream)
    for got_grad, want_grad in zip(torch.autograd.grad(got, inputs, upstream), want_grads, strict=True):
        close(got_grad, want_grad)


def draw_mask(random_mask, shape):
    return None if shape is None else random_mask(*shape).index_fill(-1, torch.tensor(2), True)


@each_mask
def test_additive_attention_equals_loops_over_the_pairs(randn, random_mask, shape):
    attention = fill(AdditiveAttention(D_QUERY, D_KEY, D_ALIGN), randn)
    w, u, v = attention.w_query.weight, attention.w_key.weight, attention.v
    query, key = randn(BATCH, T_Q, D_QUERY, requires_grad=True), randn(BATCH, T_K, D_KEY, requires_grad=True)
    compare(attention, lambda s, h: v.dot((w @ s + u @ h).tanh()), query, key, draw_mask(random_mask, shape), randn)


@each_mask
def test_general_attention_equals_loops_over_the_pairs(randn, random_mask, shape):
    attention = fill(MultiplicativeAttention(D_QUERY, D_KEY), randn)
    w_a = attention.w_a.weight
    query, key = randn(BATCH, T_Q, D_QUERY, requires_grad=True), randn(BATCH, T_K, D_KEY, requires_grad=True)
    compare(attention, lambda s, h: s @ w_a @ h, query, key, draw_mask(random_mask, shape), randn)


@each_mask
def test_dot_attention_equals_loops_over_the_pairs(randn, random_mask, shape):
    attention = MultiplicativeAttention(D_KEY, D_KEY, score="dot")
    query, key = randn(BATCH, T_Q, D_KEY, requires_grad=True), randn(BATCH, T_K, D_KEY, requires_grad=True)
    compare(attention, torch.dot, query, key, draw_mask(random_mask, shape), randn)


def torch_layer(kind, cells):
    """torch's layer on our very parameters, so that its gradients arrive in ours; torch's second bias is 0."""
    layer = kind(D_EMBED, D_HIDDEN, batch_first=True, bidirectional=len(cells) == 2, dtype=torch.float64)
    for suffix, cell in zip(("", "_reverse"), cells, strict=False):
        second = torch.zeros_like(cell.w_x.bias)
        if getattr(cell, "b_h", None) is not None:
            second = torch.cat([second[: 2 * D_HIDDEN], cell.b_h])
        tensors = {"weight_ih": cell.w_x.weight, "weight_hh": cell.w_h.weight, "bias_ih": cell.w_x.bias}
        for name, tensor in (tensors | {"bias_hh": second}).items():
            delattr(layer, f"{name}_l0{suffix}")
            setattr(layer, f"{name}_l0{suffix}", tensor)
        layer._flat_weights = [getattr(layer, name) for name in layer._flat_weights_names]
    return layer


def read(layer, x, lengths):
    lengths = [T_K] * BATCH if lengths is None else lengths
    output, last = layer(pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False))
    return pad_packed_sequence(output, batch_first=True, total_length=T_K)[0], last


def allowed(lengths):
    return torch.tensor([[True] * n + [False] * (T_K - n) for n in lengths or [T_K] * BATCH])[:, None]


def softmax(scores, lengths):
    return scores.masked_fill(~allowed(lengths), -torch.inf).softmax(dim=-1)


def compare_models(model, got, want, randn):
    """Compare the outputs, and the gradients of every parameter of the model."""
    for ours, theirs in zip(got, want, strict=True):
        close(ours, theirs)
    parameters, upstream = list(model.parameters()), randn(*got[0].shape)
    got_grads = torch.autograd.grad(got[0], parameters, upstream)
    for ours, theirs in zip(got_grads, torch.autograd.grad(want[0], parameters, upstream), strict=True):
        close(ours, theirs)


@each_length
@pytest.mark.parametrize(("cell", "kind"), [("elman", nn.RNN), ("lstm", nn.LSTM), ("gru", nn.GRU)])
def test_the_fixed_vector_model_is_two_of_torchs_layers(randn, cell, kind, lengths):
    model = fill(FixedVectorSeq2Seq(SOURCE_VOCAB, TARGET_VOCAB, D_EMBED, D_HIDDEN, cell=cell), randn)
    encoder, decoder = torch_layer(kind, [model.encoder.cell]), torch_layer(kind, [model.decoder.cell])
    _, last = read(encoder, model.embed_source(SOURCE), lengths)
    output, _ = decoder(model.embed_target(TARGET), last)
    got = model(SOURCE, TARGET, source_lengths=lengths)
    compare_models(model, [got], [model.w_out(output)], randn)


def test_a_reversed_source_is_read_from_its_last_real_token(randn):
    model = fill(
        FixedVectorSeq2Seq(SOURCE_VOCAB, TARGET_VOCAB, D_EMBED, D_HIDDEN, cell="gru", reverse_source=True), randn
    )
    turned = torch.tensor([[7, 5, 5, 12, 3], [9, 2, 1, 0, 0]])
    encoder, decoder = torch_layer(nn.GRU, [model.encoder.cell]), torch_layer(nn.GRU, [model.decoder.cell])
    _, last = read(encoder, model.embed_source(turned), LENGTHS)
    output, _ = decoder(model.embed_target(TARGET), last)
    compare_models(model, [model(SOURCE, TARGET, source_lengths=LENGTHS)], [model.w_out(output)], randn)


@each_length
def test_the_model_of_bahdanau_is_torchs_layers_and_a_loop(randn, lengths):
    model = fill(AttentionSeq2Seq(SOURCE_VOCAB, TARGET_VOCAB, D_EMBED, D_HIDDEN), randn)
    core = model.core
    encoder = torch_layer(nn.GRU, [core.encoder.ahead.cell, core.encoder.back.cell])
    states, last = read(encoder, model.embed_source(SOURCE), lengths)
    s, weights, features = core.w_start(last[1]).tanh(), [], []
    w_ih = torch.cat([core.decoder.w_x.weight, core.w_context.weight], dim=1)  # torch's cell reads (y, c) side by side
    zero = torch.zeros(2 * D_HIDDEN, dtype=torch.float64)
    b_hh = torch.cat([zero, core.decoder.b_h])
    for i in range(T_Q):
        e = (core.attention.w_query(s)[:, None] + core.attention.w_key(states)).tanh() @ core.attention.v
        weights.append(softmax(e[:, None], lengths))
        context, y = (weights[-1] @ states)[:, 0], model.embed_target(TARGET[:, i])
        x = torch.cat([y, context], dim=-1)
        s = torch.gru_cell(x, s, w_ih, core.decoder.w_h.weight, core.decoder.w_x.bias, b_hh)
        features.append(torch.cat([s, y, context], dim=-1))
    want = core.w_out(torch.stack(features, dim=1)), torch.cat(weights, dim=1)
    got = (
        model(SOURCE, TARGET, source_lengths=lengths),
        model.weights(SOURCE, TARGET, source_lengths=lengths),
    )
    compare_models(model, got, want, randn)


@each_length
@pytest.mark.parametrize("score", ["dot", "general"])
def test_the_model_of_luong_is_torchs_layers_and_one_attention(randn, score, lengths):
    model = fill(AttentionSeq2Seq(SOURCE_VOCAB, TARGET_VOCAB, D_EMBED, D_HIDDEN, attention=score), randn)
    core = model.core
    encoder, decoder = torch_layer(nn.LSTM, [core.encoder.cell]), torch_layer(nn.LSTM, [core.decoder.cell])
    states, last = read(encoder, model.embed_source(SOURCE), lengths)
    h, _ = decoder(model.embed_target(TARGET), last)
    keys = states if score == "dot" else states @ core.attention.w_a.weight.mT
    weights = softmax(h @ keys.mT, lengths)
    attentional = torch.cat([weights @ states, h], dim=-1) @ core.w_c.weight.mT
    got = (
        model(SOURCE, TARGET, source_lengths=lengths),
        model.weights(SOURCE, TARGET, source_lengths=lengths),
    )
    compare_models(model, got, (core.w_out(attentional.tanh()), weights), randn)
