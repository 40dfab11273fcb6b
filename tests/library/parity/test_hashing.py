"""Parity of hashed attention with Reformer's in `transformers`, on random weights."""

import pytest
import torch
from transformers import ReformerConfig
from transformers.models.reformer.modeling_reformer import LSHSelfAttention

from companion.efficient.hashing import lsh_attention
from tests.library.tensors import close, fill, normal

N, WIDTH, HEADS = 32, 12, 3


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("rounds", [1, 3])
def test_hashed_attention_equals_that_of_reformer(rounds, is_causal):
    randn = normal(3)
    config = ReformerConfig(
        hidden_size=WIDTH,
        attention_head_size=4,
        num_attention_heads=HEADS,
        num_buckets=4,
        num_hashes=rounds,
        lsh_attn_chunk_length=8,
        lsh_num_chunks_before=1,
        lsh_num_chunks_after=0,
        is_decoder=is_causal,
        hash_seed=0,
        lsh_attention_probs_dropout_prob=0.0,
    )
    theirs = fill(LSHSelfAttention(config), randn, WIDTH**-0.5).eval()
    x = randn(1, N, WIDTH)
    with torch.no_grad():
        found = theirs(x)
        query_key, value = (f(x)[0].unflatten(-1, (HEADS, 4)).transpose(0, 1) for f in (theirs.query_key, theirs.value))
    buckets = found.buckets.view(HEADS, rounds, N) % 4
    ours = [lsh_attention(query_key[h], value[h], buckets[h], 8, causal=is_causal) for h in range(HEADS)]
    close(found.hidden_states[0], torch.cat(ours, dim=-1), atol=1e-5)  # it adds 1e-6 to the mean square of a key
