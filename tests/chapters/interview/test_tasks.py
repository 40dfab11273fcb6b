"""The composed tasks: their stages fit together, and give what torch and the package give."""

from functools import partial

import pytest
import torch
from torch import nn

from companion.masks import causal
from companion.multihead import MultiHeadAttention
from companion.practice import inputs
from tests.tools.practice import BY_NAME, one_line, refused

HAND = {
    "grow-heads": [[[5.0, 6.0]]],
    "grow-masks": [[[2.0, 4.0], [3.0, 6.0], [0.0, 0.0]]],
    "grow-cache": [[[2.0], [3.0], [5.0]]],
    "grow-groups": [[[3.0, 6.0]]],
}


def result(name, case):
    return BY_NAME[name].results(BY_NAME[name].reference, inputs(name, case))


@pytest.mark.parametrize("name", HAND)
def test_the_hand_examples_are_the_first_cases(name):
    """Closed form: the numbers that the statements work out."""
    found = result(name, 1)
    output = found[0] if isinstance(found, tuple) else found
    torch.testing.assert_close(output, torch.tensor(HAND[name], dtype=output.dtype), rtol=0, atol=1e-6)


def float64_case(name, words):
    cases = BY_NAME[name].cases()
    return next(case.arguments for case in cases if case.note == words and case.arguments[0].dtype == torch.float64)


def test_the_layer_with_masks_is_torch_s_own():
    """Oracle: `nn.MultiheadAttention` with the same weights, at the positions that are no padding."""
    x, *weights, n_heads, real = float64_case("grow-masks", "padding on the left")
    w_q, w_k, w_v, w_o = weights
    theirs = nn.MultiheadAttention(w_q.shape[1], n_heads, bias=False, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.eye(w_q.shape[1], dtype=torch.float64).repeat(3, 1))
        theirs.out_proj.weight.copy_(torch.eye(w_q.shape[1], dtype=torch.float64))
    later = ~causal(x.shape[1])
    want, _ = theirs(x @ w_q, x @ w_k, x @ w_v, key_padding_mask=~real, attn_mask=later, need_weights=False)
    got = BY_NAME["grow-masks"].reference(x, *weights, n_heads, real)
    torch.testing.assert_close(got[real], (want @ w_o)[real], rtol=0, atol=1e-12)


def test_grouped_heads_are_those_of_the_package():
    """Oracle: `MultiHeadAttention` with as many key heads, over the whole text."""
    x, *weights, n_heads, n_kv_heads, real, chunks = float64_case("grow-groups", "groups of four")
    d_k = weights[0].shape[1] // n_heads
    layer = MultiHeadAttention(x.shape[-1], n_heads, n_kv_heads=n_kv_heads, d_k=d_k, bias=False).double()
    with torch.no_grad():
        for part, weight in zip((layer.w_q, layer.w_k, layer.w_v, layer.w_o), weights, strict=True):
            part.weight.copy_(weight.mT)
        want = layer(x, causal=True)
    found = BY_NAME["grow-groups"].results(
        BY_NAME["grow-groups"].reference, (x, *weights, n_heads, n_kv_heads, real, chunks)
    )
    torch.testing.assert_close(found, (want, want), rtol=0, atol=1e-12)


def test_each_stage_holds_the_one_before():
    """Identity: all chunks give the whole text, and as many key heads as query heads give the layer without groups."""
    x, *weights, n_heads, real, chunks = float64_case("grow-cache", "a prompt padded on the left")
    want = BY_NAME["grow-masks"].reference(x, *weights, n_heads, real).masked_fill(~real[..., None], 0.0)
    for name, settings in (("grow-cache", (n_heads,)), ("grow-groups", (n_heads, n_heads))):
        got = BY_NAME[name].results(BY_NAME[name].reference, (x, *weights, *settings, real, chunks))
        for outputs in got:  # alone, and in turn with another text
            torch.testing.assert_close(outputs, want, rtol=0, atol=1e-12)


def kept(form, name, *given):
    """Answer with the book's numbers, and return the cache in another form."""
    *arguments, cache = given
    output, cache = BY_NAME[name].reference(*arguments, cache and form["out of"](cache))
    return output, form["into"](cache)


SHELF = {}
ELSEWHERE = {"into": lambda cache: SHELF.update(now=cache) or "now", "out of": SHELF.get}


@pytest.mark.parametrize("name", ["grow-cache", "grow-groups"])
def test_a_cache_that_is_kept_elsewhere_mixes_texts_that_are_read_in_turn(name):
    error = refused(BY_NAME[name], partial(kept, ELSEWHERE, name))
    assert "What differs: output when another text is read in turn" in one_line(error)


def wide(cache):
    return [x.repeat(4, 1, 1) for x in cache[:2]] + [cache[2].repeat(4, 1)]


def narrow(cache):
    return tuple(x[: len(x) // 4] for x in cache)


def enclosed(cache):
    found = wide(cache)
    return lambda: found


WIDE = {
    "tensors": {"into": wide, "out of": narrow},
    "arrays": {
        "into": lambda cache: [x.numpy() for x in wide(cache)],
        "out of": lambda cache: narrow([torch.from_numpy(x) for x in cache]),
    },
    "numbers": {
        "into": lambda cache: [(x.tolist(), x.dtype) for x in wide(cache)],
        "out of": lambda cache: narrow([torch.tensor(x, dtype=kind) for x, kind in cache]),
    },
    "a function": {"into": enclosed, "out of": lambda cache: narrow(cache())},
}


@pytest.mark.parametrize("form", WIDE)
def test_a_cache_is_too_large_in_any_form(form):
    error = refused(BY_NAME["grow-groups"], partial(kept, WIDE[form], "grow-groups"))
    assert "In the end your cache keeps" in one_line(error)
