"""Parity with `nn.RNN`, `nn.LSTM`, `nn.GRU` and `nn.Conv1d`: values and gradients, in float64, padded batches too."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from companion.recurrent import RNN, BidirectionalRNN, CausalConv, CausalConvStack, ElmanCell, GRUCell, LSTMCell
from tests.library.tensors import close

BATCH, T, D_IN, D_HIDDEN = 3, 7, 5, 2  # all different: a swapped axis cannot pass
LENGTHS = [4, 7, 1]  # unsorted; one sequence fills the batch, and one is a single token
KINDS = {
    "tanh": (lambda: ElmanCell(D_IN, D_HIDDEN), lambda **more: nn.RNN(D_IN, D_HIDDEN, **more)),
    "relu": (
        lambda: ElmanCell(D_IN, D_HIDDEN, activation="relu"),
        lambda **more: nn.RNN(D_IN, D_HIDDEN, nonlinearity="relu", **more),
    ),
    "lstm": (lambda: LSTMCell(D_IN, D_HIDDEN), lambda **more: nn.LSTM(D_IN, D_HIDDEN, **more)),
    "gru": (lambda: GRUCell(D_IN, D_HIDDEN), lambda **more: nn.GRU(D_IN, D_HIDDEN, **more)),
}
each_kind = pytest.mark.parametrize("kind", KINDS)
each_length = pytest.mark.parametrize("lengths", [None, LENGTHS], ids=["full", "padded"])


def build_torch(kind, randn, **more):
    """torch's layer with weights of unit size; its second bias only where the first cannot do its work, in the GRU."""
    layer = KINDS[kind][1](batch_first=True, dtype=torch.float64, **more)
    for name, parameter in layer.named_parameters():
        parameter.data = randn(*parameter.shape)
        if name.startswith("bias_hh"):
            parameter.data[: 2 * D_HIDDEN if kind == "gru" else None] = 0
    return layer


def build_cell(kind, layer, suffix=""):
    """Our cell with the weights of torch's; returns it with the pairs (name in torch, our parameter)."""
    cell = KINDS[kind][0]().double()
    pairs = {"weight_ih": cell.w_x.weight, "weight_hh": cell.w_h.weight, "bias_ih": cell.w_x.bias}
    for name, parameter in pairs.items():
        parameter.data = getattr(layer, f"{name}_l0{suffix}").detach().clone()
    if kind == "gru":
        cell.b_h.data = getattr(layer, f"bias_hh_l0{suffix}").detach()[2 * D_HIDDEN :].clone()
    return cell, pairs


def flat(state):
    return [state] if isinstance(state, torch.Tensor) else list(state)


def run_torch(layer, x, lengths, state=None):
    if lengths is None:
        output, last = layer(x, state)
    else:
        packed, last = layer(pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False), state)
        output, _ = pad_packed_sequence(packed, batch_first=True, total_length=x.shape[1])
    return output, flat(last)


def compare(ours, theirs, inputs, randn):
    """Compare (output, states) and the gradients of a random combination of all of them."""
    (got, got_states), (want, want_states) = ours, theirs
    close(got, want, "output")
    for got_state, want_state in zip(got_states, want_states, strict=True):
        close(got_state, want_state, "state")
    upstream = [randn(*tensor.shape) for tensor in (got, *got_states)]
    ours_in, theirs_in = zip(*inputs.values(), strict=True)
    got_grads = torch.autograd.grad([got, *got_states], ours_in, upstream)
    want_grads = torch.autograd.grad([want, *want_states], theirs_in, upstream)
    for name, got_grad, want_grad in zip(inputs, got_grads, want_grads, strict=True):
        close(got_grad, want_grad, name)


@each_length
@pytest.mark.parametrize("started", [False, True], ids=["from zeros", "from a state"])
@each_kind
def test_one_direction_equals_torch(randn, kind, started, lengths):
    layer = build_torch(kind, randn)
    cell, pairs = build_cell(kind, layer)
    x = randn(BATCH, T, D_IN, requires_grad=True)
    inputs = {name: (ours, getattr(layer, f"{name}_l0")) for name, ours in pairs.items()} | {"x": (x, x)}
    ours_state = theirs_state = None
    if started:
        state = [randn(BATCH, D_HIDDEN, requires_grad=True) for _ in range(2 if kind == "lstm" else 1)]
        inputs |= {f"state {i}": (s, s) for i, s in enumerate(state)}
        ours_state = tuple(state) if kind == "lstm" else state[0]
        theirs_state = tuple(s[None] for s in state) if kind == "lstm" else state[0][None]
    output, last = RNN(cell)(x, ours_state, lengths=lengths)
    want, want_last = run_torch(layer, x, lengths, theirs_state)
    compare((output, flat(last)), (want, [s[0] for s in want_last]), inputs, randn)


@each_length
@each_kind
def test_both_directions_equal_torch(randn, kind, lengths):
    layer = build_torch(kind, randn, bidirectional=True)
    x = randn(BATCH, T, D_IN, requires_grad=True)
    cells, inputs = [], {"x": (x, x)}
    for suffix in ("", "_reverse"):
        cell, pairs = build_cell(kind, layer, suffix)
        cells.append(cell)
        inputs |= {name + suffix: (ours, getattr(layer, f"{name}_l0{suffix}")) for name, ours in pairs.items()}
    output, (last, first) = BidirectionalRNN(*cells)(x, lengths=lengths)
    want, want_states = run_torch(layer, x, lengths)
    got_states = [s for pair in zip(flat(last), flat(first), strict=True) for s in pair]
    compare((output, got_states), (want, [s[i] for s in want_states for i in (0, 1)]), inputs, randn)


@each_length
def test_the_bias_inside_the_reset_gate_has_the_gradient_of_torch(randn, lengths):
    layer = build_torch("gru", randn)
    cell, _ = build_cell("gru", layer)
    x, upstream = randn(BATCH, T, D_IN), randn(BATCH, T, D_HIDDEN)
    (got,) = torch.autograd.grad(RNN(cell)(x, lengths=lengths)[0], cell.b_h, upstream)
    (want,) = torch.autograd.grad(run_torch(layer, x, lengths)[0], layer.bias_hh_l0, upstream)
    close(got, want[2 * D_HIDDEN :])


@each_length
def test_the_cell_of_1997_is_torchs_with_a_forget_gate_held_open(randn, lengths):
    """A forget gate without weights and with a bias of 1000 is 1 to the last bit."""
    layer = build_torch("lstm", randn)
    forget = slice(D_HIDDEN, 2 * D_HIDDEN)
    keep = [i for i in range(4 * D_HIDDEN) if i not in range(D_HIDDEN, 2 * D_HIDDEN)]
    with torch.no_grad():
        layer.weight_ih_l0[forget], layer.weight_hh_l0[forget], layer.bias_ih_l0[forget] = 0, 0, 1000
    cell = LSTMCell(D_IN, D_HIDDEN, forget_gate=False).double()
    pairs = {"weight_ih_l0": cell.w_x.weight, "weight_hh_l0": cell.w_h.weight, "bias_ih_l0": cell.w_x.bias}
    for name, parameter in pairs.items():
        parameter.data = getattr(layer, name).detach()[keep].clone()
    x = randn(BATCH, T, D_IN, requires_grad=True)
    output, last = RNN(cell)(x, lengths=lengths)
    want, want_last = run_torch(layer, x, lengths)
    compare((output, last), (want, [s[0] for s in want_last]), {"x": (x, x)}, randn)
    upstream = randn(*output.shape)
    got_grads = torch.autograd.grad(RNN(cell)(x, lengths=lengths)[0], list(pairs.values()), upstream)
    theirs = [getattr(layer, name) for name in pairs]
    want_grads = torch.autograd.grad(run_torch(layer, x, lengths)[0], theirs, upstream)
    for got, want in zip(got_grads, want_grads, strict=True):
        close(got, want[keep])


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("dilation", [1, 3, 8])  # 8 reaches beyond the first of the 7 inputs
@pytest.mark.parametrize("kernel", [1, 2, 4])
def test_a_causal_convolution_equals_torch_padded_on_the_left(randn, kernel, dilation, bias):
    d_out = 2
    layer = nn.Conv1d(D_IN, d_out, kernel, dilation=dilation, bias=bias, dtype=torch.float64)
    ours = CausalConv(D_IN, d_out, kernel=kernel, dilation=dilation).double()
    layer.weight.data = randn(*layer.weight.shape)
    ours.weight.data = layer.weight.detach().clone()
    ours.bias.data = randn(d_out) if bias else torch.zeros(d_out, dtype=torch.float64)
    if bias:
        layer.bias.data = ours.bias.detach().clone()
    x, upstream = randn(BATCH, T, D_IN, requires_grad=True), randn(BATCH, T, d_out)
    got, want = ours(x), layer(F.pad(x.mT, ((kernel - 1) * dilation, 0))).mT
    close(got, want)
    theirs = [x, layer.weight, *([layer.bias] if bias else [])]
    got_grads = torch.autograd.grad(got, [x, ours.weight, ours.bias][: len(theirs)], upstream)
    for got_grad, want_grad in zip(got_grads, torch.autograd.grad(want, theirs, upstream), strict=True):
        close(got_grad, want_grad)


def test_the_stack_is_gated_residual_blocks_of_torchs_convolutions(randn):
    """The formula of the docstring, written with `F.conv1d`."""
    stack = CausalConvStack(D_IN, kernel=3, dilations=(1, 2)).double()
    for parameter in stack.parameters():
        parameter.data = randn(*parameter.shape)
    x = randn(BATCH, T, D_IN, requires_grad=True)
    want = x
    for convolution, w_r, dilation in zip(stack.convolutions, stack.w_r, (1, 2), strict=True):
        padded = F.pad(want.mT, (2 * dilation, 0))
        both = F.conv1d(padded, convolution.weight, convolution.bias, dilation=dilation).mT
        want = want + F.linear(both[..., :D_IN].tanh() * both[..., D_IN:].sigmoid(), w_r.weight, w_r.bias)
    got, upstream, parameters = stack(x), randn(BATCH, T, D_IN), [x, *stack.parameters()]
    close(got, want)
    got_grads = torch.autograd.grad(got, parameters, upstream)
    for got_grad, want_grad in zip(got_grads, torch.autograd.grad(want, parameters, upstream), strict=True):
        close(got_grad, want_grad)
