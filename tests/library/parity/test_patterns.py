"""Parity of the sparse patterns with the attention of Longformer and BigBird in `transformers`, on random weights."""

import numpy as np
import pytest
import torch
from transformers import BigBirdConfig, LongformerConfig
from transformers.models.big_bird.modeling_big_bird import BigBirdBlockSparseAttention, BigBirdModel
from transformers.models.longformer.modeling_longformer import LongformerSelfAttention

from companion.attention import attention
from companion.efficient import block_sparse_attention
from companion.efficient.patterns import window_and_global
from tests.library.tensors import close, fill, normal

N, WIDTH, HEADS = 24, 12, 3
FLOAT32 = 1e-5  # Longformer takes its softmax in float32, whatever its weights are; outputs are of unit size


def heads(x):
    return x.unflatten(-1, (HEADS, -1)).transpose(-2, -3)


@pytest.mark.parametrize("n_global", [1, 3])
def test_longformer_is_a_window_with_global_tokens_that_have_their_own_projections(n_global):
    randn = normal(1)
    config = LongformerConfig(hidden_size=WIDTH, num_attention_heads=HEADS, attention_window=[4], num_hidden_layers=1)
    theirs = fill(LongformerSelfAttention(config, 0), randn, WIDTH**-0.5).eval()
    x = randn(1, N, WIDTH)
    is_global = torch.arange(N)[None] < n_global
    none = torch.zeros(1, N, dtype=torch.bool)
    with torch.no_grad():
        output = theirs(x, 10000.0 * is_global.double(), none, is_global, True)[0]
        q, k, v = (heads(f(x)) for f in (theirs.query, theirs.key, theirs.value))
        local = attention(q, k, v, window_and_global(N, 3, n_global))
        q, k, v = (heads(f(x)) for f in (theirs.query_global, theirs.key_global, theirs.value_global))
        whole = attention(q[..., :n_global, :], k, v)
    ours = torch.cat([whole, local[..., n_global:, :]], dim=-2).transpose(-2, -3).flatten(-2)
    close(output, ours, atol=FLOAT32)


def test_bigbird_is_a_window_of_blocks_with_the_first_and_last_global_and_random_ones():
    randn, block = normal(2), 4
    config = BigBirdConfig(
        hidden_size=WIDTH,
        num_attention_heads=HEADS,
        block_size=block,
        num_random_blocks=1,
        max_position_embeddings=64,
        attention_probs_dropout_prob=0.0,
    )
    theirs = fill(BigBirdBlockSparseAttention(config, seed=0), randn, WIDTH**-0.5).train()
    blocks = 16
    x, real = randn(1, blocks * block, WIDTH), torch.ones(1, blocks * block, dtype=torch.float64)
    blocked, band, rows, columns = BigBirdModel.create_masks_for_block_sparse_attn(real, block)
    with torch.no_grad():
        output = theirs(x, band, rows, columns, blocked, blocked)[0].flatten(2)
        q, k, v = (heads(f(x))[0] for f in (theirs.query, theirs.key, theirs.value))
    np.random.seed(0)  # noqa: NPY002 - what the library does
    plan = theirs._get_rand_attn_plan(blocks * block, block, 1)
    drawn = theirs._bigbird_block_rand_mask_with_head(blocks * block, blocks * block, block, block, HEADS, *plan)
    ends = torch.zeros(blocks, dtype=torch.bool)
    ends[[0, -1]] = True
    ours = []
    for head in range(HEADS):
        layout = window_and_global(blocks, 2, 1) | ends | ends[:, None]
        for row, chosen in enumerate(drawn[head][: blocks - 2], start=1):
            layout[row, torch.as_tensor(chosen, dtype=torch.long)] = True
        ours.append(block_sparse_attention(q[head], k[head], v[head], layout))
    close(output[0], torch.cat(ours, dim=-1))
