"""Parity of the states of fixed size with the layers of `transformers`: Mamba's mixer, and a gated delta rule."""

import torch
import torch.nn.functional as F
from transformers import MambaConfig
from transformers.models.mamba.modeling_mamba import MambaMixer
from transformers.models.qwen3_next.modeling_qwen3_next import torch_recurrent_gated_delta_rule

from companion.efficient.states import gated_delta_rule, selective_scan
from tests.library.tensors import close, draw

FLOAT32 = 2e-6  # both compute their states in float32, whatever comes


def test_the_gated_delta_rule_equals_that_of_qwen3_next():
    t, heads, d_k, d_v = 11, 3, 5, 7
    q, k, v, b, g = draw(0, (2, t, heads, d_k), (2, t, heads, d_k), (2, t, heads, d_v), (2, t, heads), (2, t, heads))
    k, strength, decay = F.normalize(k, dim=-1), b.sigmoid(), -F.softplus(g)
    theirs, _ = torch_recurrent_gated_delta_rule(q, k, v, decay, strength)
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    ours = gated_delta_rule(q / d_k**0.5, k, v, strength.mT, decay.mT)
    close(ours.transpose(1, 2).float(), theirs.float(), atol=FLOAT32)


def test_the_selective_scan_is_that_of_mambas_mixer():
    torch.manual_seed(0)
    config = MambaConfig(
        hidden_size=6, state_size=4, intermediate_size=12, time_step_rank=3, num_hidden_layers=1, conv_kernel=3
    )
    mixer = MambaMixer(config, 0).eval()
    x = torch.randn(2, 9, 6)
    with torch.no_grad():
        inner, gate = mixer.in_proj(x).chunk(2, dim=-1)
        inner = F.silu(mixer.conv1d(inner.mT)[..., :9].mT)
        step, b, c = mixer.x_proj(inner).split([3, 4, 4], dim=-1)
        step = F.softplus(mixer.dt_proj(step))
        y = selective_scan(inner, step, -mixer.A_log.exp(), b, c) + mixer.D * inner
        close(mixer.out_proj(y * F.silu(gate)), mixer(x), atol=FLOAT32)
