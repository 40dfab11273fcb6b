"""The exercises on the whole architecture: the examples by hand, the package's answers, other mistakes."""

import torch

from companion import cost, masks
from companion.config import base
from companion.decoder import DecoderLayer
from companion.embedding import TokenEmbedding
from companion.practice import exercises, inputs
from companion.practice.checker import check
from companion.transformer import shift_right

BY_NAME = {exercise.name: exercise for exercise in exercises("architecture")}


def test_the_hand_examples_are_the_first_cases():
    """Closed form: the numbers that the statements work out."""
    expected = {
        "shift-target": [[1, 5, 6, 7]],
        "pool-mean": [[2, 3]],
        "greedy-decode": [2, 1, 3],
        "decoder-layer": [[[-1, 1]]],
    }
    for name, by_hand in expected.items():
        result = BY_NAME[name].reference(*inputs(name, 1))
        torch.testing.assert_close(result, torch.tensor(by_hand, dtype=result.dtype), rtol=0, atol=1e-4)
    assert BY_NAME["count-parameters"].reference(*inputs("count-parameters", 1)) == 156
    entered, logits = BY_NAME["tied-embedding"].reference(*inputs("tied-embedding", 1))
    assert entered.tolist() == [[[0, 2, 2, 1]]]
    assert logits.tolist() == [[[1, 5]]]
    encoder, decoder, cross = BY_NAME["model-masks"].reference(*inputs("model-masks", 1))
    assert encoder.tolist() == cross.tolist() == [[[True, True]], [[True, False]]]
    assert decoder.tolist() == [[True, False], [True, True]]


def test_the_functions_of_the_package_are_right_answers():
    def padded(lengths, t):
        return masks.padding(lengths), masks.causal(t), masks.padding(lengths)

    assert check(BY_NAME["shift-target"], shift_right) == len(BY_NAME["shift-target"].cases())
    assert check(BY_NAME["model-masks"], padded) == len(BY_NAME["model-masks"].cases())


def test_the_count_is_that_of_the_package():
    for case in BY_NAME["count-parameters"].cases():
        vocab, d_model, n_layers, d_ff = case.arguments
        config = base(vocab, d_model=d_model, n_layers=n_layers, d_ff=d_ff, n_heads=1, position="none")
        counted = cost.model_parameters(config, "encoder-decoder").total
        assert BY_NAME["count-parameters"].reference(*case.arguments) == counted


def test_the_two_ends_are_those_of_the_package(randn):
    embedding = TokenEmbedding(7, 5).double()
    tokens, code, hidden = torch.tensor([[3, 0, 6], [1, 1, 5]]), randn(3, 5), randn(2, 3, 5)
    entered, logits = BY_NAME["tied-embedding"].reference(tokens, embedding.weight, code, hidden)
    torch.testing.assert_close(entered, embedding(tokens) + code, rtol=0, atol=1e-12)
    torch.testing.assert_close(logits, embedding.logits(hidden), rtol=0, atol=1e-12)


def test_the_layer_is_that_of_the_package(randn):
    layer = DecoderLayer(5, 1, 7, bias=False, dropout=0.0).double()
    x, memory = randn(2, 3, 5), randn(2, 4, 5)
    attentions = (layer.self_attention, layer.cross_attention)
    with torch.no_grad():
        for attention in attentions:
            attention.w_o.weight.copy_(torch.eye(5))
        projections = [torch.stack([w.weight.T for w in (a.w_q, a.w_k, a.w_v)]) for a in attentions]
        networks = layer.feed_forward.w_1.weight.T, layer.feed_forward.w_2.weight.T
        got = BY_NAME["decoder-layer"].reference(x, memory, *projections, *networks)
        torch.testing.assert_close(got, layer(x, memory), rtol=0, atol=1e-12)
