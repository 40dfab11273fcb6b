"""The drills of interviews: closed forms, limits of cost, code to repair, and the list of all drills of the book."""

import math

import pytest
import torch
from torch import nn

from companion.generate.search import length_penalty
from companion.masks import causal
from companion.multihead import MultiHeadAttention
from companion.practice import exercises, inputs
from companion.practice.random_inputs import RandomInputs
from tests.tools.practice import one_line, refused

BY_NAME = {exercise.name: exercise for exercise in exercises()}
NEW = (*exercises("exercises"), *exercises("debugging"))


LN2 = math.log(2)
BY_HAND = {
    "grouped-query": ([[[3.0, 6.0]]],),
    "cross-attention": ([[[6.0]]],),
    "encoder-block": ([[[6.0, -1.0]]],),
    "temperature-top-k": ([[0.0, 1.0, 0.0]],),
    "top-p": ([[0.0, 0.625, 0.375]],),
    "beam-step": ([0, 1], [0, 0], [-2.0, -2.5]),
    "speculative-step": (0, [0.0, 1.0]),
    "cached-decoder": ([1, 1], [[4.0, 8.0], [7.0, 14.0]]),
    "cached-step": ([[4.0]], [[[[1.0], [6.0]]]], [[[[2.0], [6.0]]]]),
    "stream-softmax": ([4 / (2 + math.exp(2))],),
    "linear-recurrent": ([[0.0], [3.0]],),
    "bpe-merge": (("l", "o"), [["lo", "w"], ["lo", "t"]]),
    "perplexity": (2**1.5, 0.5),
    "mask-tokens": ([[1, 99, 32, 22, 23]], [[-100, 20, 21, 22, -100]]),
    "lora": ([[14.0]], [[7.0]]),
    "adamw-step": ([9.4], [9.9]),
    "training-memory": (2, 2, 12),
    "checkpointed-backward": ([[3.0]], [[[3 * math.atanh(0.5)]]]),
    "debug-layer-norm": ([[-1.0, 1.0], [1.0, -1.0]],),
    "debug-heads": ([[[3.0, 6.0], [3.0, 6.0]]],),
    "debug-label-shift": (LN2,),
    "debug-training-step": ([2.0],),
    "debug-top-p": ([2],),
    "debug-cache": ([[2.0], [4.0]],),
    "debug-left-padding": ([[20.0, 4.0]],),
}


def test_the_hand_examples_are_the_first_cases():
    """Closed form: the numbers that the statements work out."""
    assert BY_HAND.keys() | {"bpe-encode"} == {exercise.name for exercise in NEW}
    assert BY_NAME["bpe-encode"].reference(*inputs("bpe-encode", 1)) == ["a", "bc"]
    for name, by_hand in BY_HAND.items():
        result = BY_NAME[name].reference(*inputs(name, 1))
        for got, want in zip(result if isinstance(result, tuple) else (result,), by_hand, strict=True):
            if isinstance(got, torch.Tensor):
                torch.testing.assert_close(got, torch.tensor(want, dtype=got.dtype), rtol=0, atol=2e-5, msg=name)
            else:
                assert got == want, name


def test_grouped_query_attention_is_the_layer_of_the_package():
    draw = RandomInputs(9)
    x, w_q, w_o = draw.normal(2, 5, 12), draw.normal(12, 12), draw.normal(12, 12)
    w_k, w_v = draw.normal(12, 6), draw.normal(12, 6)
    layer = MultiHeadAttention(12, 4, n_kv_heads=2, bias=False).to(torch.float64)
    for name, weight in zip(("w_q", "w_k", "w_v", "w_o"), (w_q, w_k, w_v, w_o), strict=True):
        getattr(layer, name).weight.data = weight.mT.clone()
    want = layer(x, x, causal(5)).detach()
    torch.testing.assert_close(
        BY_NAME["grouped-query"].reference(x, w_q, w_k, w_v, w_o, 4, 2), want, rtol=0, atol=1e-10
    )


def test_the_encoder_block_is_that_of_torch():
    draw = RandomInputs(7)
    x, w_qkv, w_o = draw.normal(2, 5, 6), draw.normal(3, 6, 6), draw.normal(6, 6)
    gains, w_1, w_2, lengths = 1 + draw.normal(2, 6), draw.normal(6, 11), draw.normal(11, 6), torch.tensor([5, 3])
    layer = nn.TransformerEncoderLayer(6, 3, 11, dropout=0.0, batch_first=True, norm_first=True, dtype=torch.float64)
    layer.self_attn.in_proj_weight.data = torch.cat([w.mT for w in w_qkv])
    for matrix, weight in ((layer.self_attn.out_proj, w_o), (layer.linear1, w_1), (layer.linear2, w_2)):
        matrix.weight.data = weight.mT.clone()
        matrix.bias.data.zero_()
    layer.self_attn.in_proj_bias.data.zero_()
    for norm, gain in zip((layer.norm1, layer.norm2), gains, strict=True):
        norm.weight.data = gain.clone()
    want = layer(x, src_key_padding_mask=torch.arange(5) >= lengths[:, None])
    got = BY_NAME["encoder-block"].reference(x, lengths, gains, w_qkv, w_o, w_1, w_2, 3)
    torch.testing.assert_close(got[0], want[0].detach(), rtol=0, atol=1e-10)
    torch.testing.assert_close(got[1, :3], want[1, :3].detach(), rtol=0, atol=1e-10)


def test_a_speculative_step_writes_with_the_probabilities_of_the_target():
    """Exact, over all proposals: acceptance plus the draw after a refusal give the target."""
    draft, target = torch.tensor([[0.5, 0.3, 0.2]]), torch.tensor([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])
    written = torch.zeros(3)
    for token in range(3):
        limit = min(1.0, (target[0, token] / draft[0, token]).item())
        n, _ = BY_NAME["speculative-step"].reference(draft, target, torch.tensor([token]), torch.tensor([limit - 1e-4]))
        assert n == 1
        written[token] += draft[0, token] * limit
        if limit < 1:
            u = torch.tensor([limit + 1e-4])
            n, left = BY_NAME["speculative-step"].reference(draft, target, torch.tensor([token]), u)
            assert n == 0
            written += draft[0, token] * (1 - limit) * left
    torch.testing.assert_close(written, target[0], rtol=0, atol=1e-6)


def test_the_penalty_of_a_beam_is_that_of_the_package():
    log_p, totals = torch.tensor([[-1.0, -9.0], [-1.0, -9.0]]), torch.tensor([-2.0, -1.0])
    lengths, finished = torch.tensor([6, 1]), torch.tensor([False, False])
    for alpha in (0.0, 0.5, 1.0, 2.0):
        parent, _, _ = BY_NAME["beam-step"].reference(log_p, totals, lengths, finished, 1, alpha)
        ranks = [-3.0 / length_penalty(7, alpha), -2.0 / length_penalty(2, alpha)]
        assert parent[0] == ranks.index(max(ranks))


def test_tokens_are_corrupted_in_the_shares_of_the_paper():
    generator = torch.Generator().manual_seed(3)
    n = 200_000
    tokens = torch.arange(n)[None]
    chance, action = torch.rand(1, n, generator=generator), torch.rand(1, n, generator=generator)
    drawn = tokens + n, -1
    inputs_, labels = BY_NAME["mask-tokens"].reference(tokens, tokens < 0, chance, action, *drawn)
    picked = labels != -100
    assert abs(picked.double().mean() - 0.15) < 0.005
    shares = [(x[picked].double().mean().item()) for x in (inputs_ == -1, inputs_ >= n, inputs_ == tokens)]
    assert all(abs(share - want) < 0.01 for share, want in zip(shares, (0.8, 0.1, 0.1), strict=True))
    assert (inputs_ == tokens)[~picked].all()


def test_bits_per_byte_do_not_depend_on_the_tokens():
    """The same text in two cuts: half as many tokens of twice the loss."""
    fine, coarse = torch.full((1, 8), 0.7), torch.full((1, 4), 1.4)
    one = BY_NAME["perplexity"].reference(fine, fine > 0, 16)
    other = BY_NAME["perplexity"].reference(coarse, coarse > 0, 16)
    torch.testing.assert_close(one[1], other[1])
    assert one[0] < other[0]


def test_the_gradients_with_checkpoints_are_those_of_autograd():
    x, weights, every, d_output = BY_NAME["checkpointed-backward"].cases()[5].arguments
    leaves = [y.clone().requires_grad_() for y in (x, weights)]
    h = leaves[0]
    for w in leaves[1]:
        h = torch.tanh(h @ w)
    want = torch.autograd.grad(h, leaves, d_output)
    got = BY_NAME["checkpointed-backward"].reference(x, weights, every, d_output)
    for a, b in zip(got, want, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)


def of(name):
    return BY_NAME[name].reference


EDGES = {
    "an int and no tensor": (
        "speculative-step",
        lambda *given: (torch.tensor((found := of("speculative-step")(*given))[0]), found[1]),
        "Your first result is a tensor; an int is asked for",
    ),
    "a tuple and no list": (
        "bpe-merge",
        lambda *given: (list((found := of("bpe-merge")(*given))[0]), found[1]),
        "Your pair is a list; a tuple is asked for",
    ),
    "no letter": ("bpe-encode", lambda word, merges: of("bpe-encode")(word, merges) or [""], "(no letter)"),
    "blanks": (
        "bpe-encode",
        lambda word, merges: " ".join(of("bpe-encode")(word, merges)).split(" ") if word else [],
        "(blanks)",
    ),
    "nothing trained": (
        "training-memory",
        lambda frozen, trained, mixed: of("training-memory")(frozen if trained else 0, trained, mixed),
        "(nothing trained)",
    ),
    "no floats": (
        "training-memory",
        lambda frozen, trained, mixed: of("training-memory")(int(float(frozen)), trained, mixed),
        "(more than a float can count)",
    ),
    "a vector alone": (
        "debug-layer-norm",
        lambda x, *rest: of("debug-layer-norm")(x.flatten(0, -2), *rest).reshape(x.shape),
        "(a vector alone)",
    ),
    "padding alike": (
        "debug-heads",
        lambda x, lengths, *rest: of("debug-heads")(
            x, lengths if len(x) == 1 or lengths.unique().numel() > 1 else torch.full_like(lengths, x.shape[1]), *rest
        ),
        "(padding alike in both sentences)",
    ),
}


@pytest.mark.parametrize("edge", EDGES)
def test_an_answer_that_misses_an_edge_is_refused_there(edge):
    name, function, words = EDGES[edge]
    assert words in one_line(refused(BY_NAME[name], function))
