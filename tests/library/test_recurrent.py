"""Recurrent cells and layers, scans and causal convolutions: closed forms, properties, then every refusal."""

import math
import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from companion.recurrent import (
    RNN,
    BidirectionalRNN,
    CausalConv,
    CausalConvStack,
    ElmanCell,
    GRUCell,
    LSTMCell,
    causal_convolution,
    linear_recurrence,
    not_padding,
    receptive_field,
    scan_passes,
)
from tests.library.tensors import close, fill, normal

BATCH, T, D_IN, D_HIDDEN = 2, 7, 3, 5  # all different: a swapped axis cannot pass
LENGTHS = [4, 7]
CELLS = {
    "tanh": lambda d_in=D_IN, d=D_HIDDEN: ElmanCell(d_in, d),
    "relu": lambda d_in=D_IN, d=D_HIDDEN: ElmanCell(d_in, d, activation="relu"),
    "lstm": lambda d_in=D_IN, d=D_HIDDEN: LSTMCell(d_in, d),
    "lstm of 1997": lambda d_in=D_IN, d=D_HIDDEN: LSTMCell(d_in, d, forget_gate=False),
    "gru": lambda d_in=D_IN, d=D_HIDDEN: GRUCell(d_in, d),
    "gru, reset before": lambda d_in=D_IN, d=D_HIDDEN: GRUCell(d_in, d, reset="before"),
}
each_cell = pytest.mark.parametrize("kind", CELLS)
each_direction = pytest.mark.parametrize("reverse", [False, True], ids=["ahead", "back"])
shape_checks_off = pytest.mark.usefixtures("shape_checks_off")
seeds = st.integers(0, 2**16)


def double(*numbers):
    return torch.tensor(numbers, dtype=torch.float64)


def tensors(state):
    return [state] if isinstance(state, torch.Tensor) else list(state)


def draw_state(randn, kind, *batch):
    h = randn(*batch, D_HIDDEN)
    return (h, randn(*batch, D_HIDDEN)) if "lstm" in kind else h


# Cells: closed forms


@pytest.mark.parametrize(("activation", "want"), [("tanh", math.tanh(-0.5)), ("relu", 0.0)])
def test_an_elman_step_by_hand(activation, want):
    cell = ElmanCell(1, 1, activation=activation).double()
    cell.w_x.weight.data, cell.w_h.weight.data, cell.w_x.bias.data = double([2.0]), double([-3.0]), double(0.5)
    close(cell(double(1.0), double(1.0)), double(want))  # 2 * 1 - 3 * 1 + 0.5 = -0.5


def lstm_of_biases(i, f, g, o, **more):
    cell = LSTMCell(1, 1, **more).double()
    for parameter in cell.parameters():
        parameter.data.zero_()
    cell.w_x.bias.data = double(*([i, f, g, o] if cell.forget_gate else [i, g, o]))
    return cell


@pytest.mark.parametrize(("forget_gate", "kept"), [(True, 0.25), (False, 1.0)])
def test_an_lstm_step_by_hand(forget_gate, kept):
    """Gates of 3/4, 1/4 and 1/2, being the logistic of ln 3, -ln 3 and 0; the candidate is tanh 2."""
    cell = lstm_of_biases(math.log(3), -math.log(3), 2.0, 0.0, forget_gate=forget_gate)
    h, c = cell(double(7.0), (double(9.0), double(4.0)))
    close(c, double(kept * 4 + 0.75 * math.tanh(2)))
    close(h, 0.5 * c.tanh())


@pytest.mark.parametrize("reset", ["after", "before"])
def test_a_gru_step_by_hand(reset):
    """The update gate is the share of the old state: 3/4 of 8 and 1/4 of a candidate of tanh(0.3)."""
    cell = GRUCell(1, 1, reset=reset).double()
    for parameter in cell.parameters():
        parameter.data.zero_()
    cell.w_x.bias.data = double(0.0, math.log(3), 0.3)
    close(cell(double(7.0), double(8.0)), double(6 + 0.25 * math.tanh(0.3)))


def test_the_reset_gate_acts_after_or_before_the_product(randn):
    """The two published candidates, written out; with a full matrix they differ."""
    x, h = randn(BATCH, D_IN), randn(BATCH, D_HIDDEN)
    after, before = fill(GRUCell(D_IN, D_HIDDEN)), fill(GRUCell(D_IN, D_HIDDEN, reset="before"))
    for cell in (after, before):
        r, z, candidate = cell.gates(x, h)
        w_n, u_n = cell.w_x.weight[2 * D_HIDDEN :], cell.w_h.weight[2 * D_HIDDEN :]
        b_n = cell.w_x.bias[2 * D_HIDDEN :]
        product = r * (h @ u_n.mT + cell.b_h) if cell is after else (r * h) @ u_n.mT
        close(candidate, (x @ w_n.mT + product + b_n).tanh())
        w, u, b = cell.w_x.weight[: 2 * D_HIDDEN], cell.w_h.weight[: 2 * D_HIDDEN], cell.w_x.bias[: 2 * D_HIDDEN]
        close(torch.cat([r, z], dim=-1), (x @ w.mT + h @ u.mT + b).sigmoid())
        close(cell(x, h), z * h + (1 - z) * candidate)
    assert before.b_h is None
    before.load_state_dict({name: tensor for name, tensor in after.state_dict().items() if name != "b_h"})
    after.b_h.data.zero_()
    assert ((after(x, h) - before(x, h)).abs() > 1e-3).any()


@pytest.mark.parametrize("forget_gate", [True, False])
def test_the_gates_of_an_lstm_are_those_of_its_step(randn, forget_gate):
    cell = fill(LSTMCell(D_IN, D_HIDDEN, forget_gate=forget_gate))
    x, h, c = randn(BATCH, D_IN), randn(BATCH, D_HIDDEN), randn(BATCH, D_HIDDEN)
    gates = cell.gates(x, (h, c))
    new_h, new_c = cell(x, (h, c))
    close(new_c, gates.forget * c + gates.input * gates.candidate)
    close(new_h, gates.output * new_c.tanh())
    assert all(((gate > 0) & (gate < 1)).all() for gate in (gates.input, gates.output))
    assert (gates.candidate < 0).any()
    assert bool((gates.forget == 1).all()) != forget_gate


@pytest.mark.parametrize("forget_gate", [True, False])
def test_along_the_memory_the_gradient_is_the_product_of_the_forget_gates(randn, forget_gate):
    """The h-path is cut by detaching; without a forget gate the derivative is 1 to the last bit after 100 steps."""
    cell = fill(LSTMCell(D_IN, D_HIDDEN, forget_gate=forget_gate))
    start = randn(D_HIDDEN, requires_grad=True)
    h, c, product = torch.zeros(D_HIDDEN, dtype=torch.float64), start, torch.ones(D_HIDDEN, dtype=torch.float64)
    for x in randn(100 if not forget_gate else 10, D_IN):
        product = product * cell.gates(x, (h.detach(), c)).forget.detach()
        h, c = cell(x, (h.detach(), c))
    (gradient,) = torch.autograd.grad(c.sum(), start)
    torch.testing.assert_close(gradient, product, rtol=1e-12, atol=0)  # products of tiny numbers: relative
    assert bool((gradient == 1).all()) != forget_gate


def test_the_gradient_of_an_elman_network_is_the_product_of_its_jacobians(randn):
    """Ten steps: d h_10 / d h_0 = J_10 ... J_1 with J_t = diag(1 - h_t^2) W_h."""
    cell, x = fill(ElmanCell(D_IN, D_HIDDEN)), randn(10, D_IN)

    def last(state):
        for x_t in x:
            state = cell(x_t, state)
        return state

    h = randn(D_HIDDEN)
    whole, product = torch.func.jacrev(last)(h), torch.eye(D_HIDDEN, dtype=torch.float64)
    for x_t in x:
        h = cell(x_t, h)
        product = (1 - h**2)[:, None] * cell.w_h.weight @ product
    close(whole, product)


@pytest.mark.parametrize("bias", [5.0, 1, 0])
def test_a_forget_bias_opens_the_forget_gate_and_no_other(bias):
    cell = LSTMCell(D_IN, D_HIDDEN, forget_bias=bias)
    zero = torch.zeros(D_HIDDEN)
    gates = cell.gates(torch.zeros(D_IN), (zero, zero))
    torch.testing.assert_close(gates.forget, torch.full((D_HIDDEN,), 1 / (1 + math.exp(-bias))))
    assert (cell.w_x.bias.detach().unflatten(0, (4, -1)) == bias).all(dim=1).tolist() == [False, True, False, False]


@each_cell
def test_weights_start_uniform_within_one_over_the_root_of_the_width(kind):
    cell = CELLS[kind](31, 64)
    for name, parameter in cell.named_parameters():
        assert parameter.abs().max() <= 0.125, name
        if parameter.ndim == 2:  # two thousand draws or more all miss the last fiftieth in one case of 10^17
            assert parameter.max() > 0.12, name
            assert parameter.min() < -0.12, name


@each_cell
def test_no_state_means_zeros(randn, kind):
    cell, x = fill(CELLS[kind]()), randn(BATCH, D_IN)
    zero = torch.zeros(BATCH, D_HIDDEN, dtype=torch.float64)
    for got, want in zip(tensors(cell(x)), tensors(cell(x, (zero, zero) if "lstm" in kind else zero)), strict=True):
        assert torch.equal(got, want)


@each_cell
@pytest.mark.parametrize("batch", [(), (BATCH,), (BATCH, 4)], ids=str)
def test_a_cell_treats_each_row_of_any_batch_by_itself(randn, kind, batch):
    cell, x, state = fill(CELLS[kind]()), randn(*batch, D_IN), draw_state(randn, kind, *batch)
    got = tensors(cell(x, state))
    rows = zip(x.reshape(-1, D_IN), *(s.reshape(-1, D_HIDDEN) for s in tensors(state)), strict=True)
    single = [tensors(cell(row, (h, *c) if c else h)) for row, h, *c in rows]
    for i, tensor in enumerate(got):
        assert tensor.shape == (*batch, D_HIDDEN)
        close(tensor.reshape(-1, D_HIDDEN), torch.stack([states[i] for states in single]))


def test_the_two_zeros_of_an_lstm_are_two_tensors():
    h, c = LSTMCell(D_IN, D_HIDDEN).zeros(torch.zeros(BATCH, 4 * D_HIDDEN))
    assert h.data_ptr() != c.data_ptr()
    assert not h.any()
    assert not c.any()


# Layers


@each_direction
@each_cell
def test_a_layer_is_its_cell_step_after_step(randn, kind, reverse):
    cell, x, state = fill(CELLS[kind]()), randn(BATCH, T, D_IN), draw_state(randn, kind, BATCH)
    layer = RNN(cell, reverse=reverse)
    (output, last), states = layer(x, state), layer.states(x, state)
    assert len(states) == T
    for i in reversed(range(T)) if reverse else range(T):
        state = cell(x[:, i], state)
        close(output[:, i], tensors(state)[0])
        for got, want in zip(tensors(states[i]), tensors(state), strict=True):
            close(got, want)
    for got, want in zip(tensors(last), tensors(state), strict=True):
        close(got, want)


@each_direction
@each_cell
def test_a_padded_batch_equals_single_runs(randn, kind, reverse):
    layer, x = RNN(fill(CELLS[kind]()), reverse=reverse), randn(BATCH, T, D_IN)
    output, last = layer(x, lengths=LENGTHS)
    states = layer.states(x, lengths=LENGTHS)
    for b, length in enumerate(LENGTHS):
        single, end = layer(x[b : b + 1, :length])
        close(output[b, :length], single[0])
        assert not output[b, length:].any()
        for got, want in zip(tensors(last), tensors(end), strict=True):
            close(got[b], want[0])
        for i, want in enumerate(layer.states(x[b : b + 1, :length])):
            for got, expected in zip(tensors(states[i]), tensors(want), strict=True):
                close(got[b], expected[0])


@each_direction
@each_cell
def test_what_stands_in_the_padding_has_no_influence_not_even_nan(randn, kind, reverse):
    layer, x = RNN(fill(CELLS[kind]()), reverse=reverse), randn(BATCH, T, D_IN)
    results = []
    for filling in (0.0, 1e3, torch.nan):
        padded = x.clone()
        padded[0, LENGTHS[0] :] = filling
        padded.requires_grad_()
        output, last = layer(padded, lengths=LENGTHS)
        total = output.sum() + sum(tensor.sum() for tensor in tensors(last))
        results.append([output, *tensors(last), *torch.autograd.grad(total, [padded, *layer.parameters()])])
        assert not results[-1][1 + len(tensors(last))][0, LENGTHS[0] :].any()  # no gradient reaches the padding
    for other in results[1:]:
        for got, want in zip(other, results[0], strict=True):
            assert torch.equal(got, want)


@given(lengths=st.lists(st.integers(1, 6), min_size=1, max_size=4), extra=st.integers(0, 3), seed=seeds)
def test_more_padding_changes_nothing(lengths, extra, seed):
    layer = BidirectionalRNN(fill(GRUCell(2, 3), normal(1)), fill(ElmanCell(2, 4), normal(2)))
    generator = torch.Generator().manual_seed(seed)
    t = max(lengths)
    x = torch.randn(len(lengths), t + extra, 2, generator=generator, dtype=torch.float64)
    short, short_states = layer(x[:, :t], lengths=lengths)
    long, long_states = layer(x, lengths=torch.tensor(lengths))
    close(long[:, :t], short)
    assert not long[:, t:].any()
    for got, want in zip(long_states, short_states, strict=True):
        close(got, want)


@each_cell
def test_a_state_handed_on_continues_the_sequence(randn, kind):
    layer, x = RNN(fill(CELLS[kind]())), randn(BATCH, T, D_IN)
    first, middle = layer(x[:, :3])
    second, _ = layer(x[:, 3:], middle)
    close(torch.cat([first, second], dim=1), layer(x)[0])


def influence(layer, x):
    """Whether the output at a row's position depends on the input at a column's."""
    jacobian = torch.func.jacrev(lambda x: layer(x)[0])(x)  # (1, t, d, 1, t, d_in)
    return jacobian[0, :, :, 0].abs().amax(dim=(1, 3)) > 0


@each_cell
def test_one_direction_sees_the_past_the_other_the_future_and_both_see_all(randn, kind):
    x = randn(1, T, D_IN) / 8  # small, so that no ReLU is silent at every step
    cells = [fill(CELLS[kind](), normal(seed)) for seed in (1, 2)]
    for cell in cells:
        cell.w_x.bias.data += 1
    past = torch.ones(T, T, dtype=torch.bool).tril()
    assert not (influence(RNN(cells[0]), x) & ~past).any()
    assert not (influence(RNN(cells[0], reverse=True), x) & ~past.mT).any()
    seen = influence(BidirectionalRNN(*cells), x)
    assert seen[0, -1]
    assert seen[-1, 0]
    assert seen.diagonal().all()


def test_a_first_output_reacts_to_the_last_token_only_where_both_directions_are_read(randn):
    x = randn(1, 5, D_IN)
    other = x.clone()
    other[0, -1] += 1
    one, both = (
        RNN(fill(LSTMCell(D_IN, D_HIDDEN))),
        BidirectionalRNN(fill(LSTMCell(D_IN, D_HIDDEN), normal(1)), fill(LSTMCell(D_IN, D_HIDDEN), normal(2))),
    )
    assert torch.equal(one(x)[0][:, 0], one(other)[0][:, 0])
    assert (both(x)[0][:, 0] - both(other)[0][:, 0]).abs().max() > 1e-4


@each_cell
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_a_layer_stays_in_the_dtype_of_its_weights(randn, kind, dtype):
    layer = RNN(CELLS[kind]().to(dtype))
    output, last = layer(randn(BATCH, T, D_IN, dtype=dtype), lengths=LENGTHS)
    assert {tensor.dtype for tensor in (output, *tensors(last))} == {dtype}
    assert output.isfinite().all()


@each_direction
@each_cell
def test_the_arguments_are_never_written_to(randn, kind, reverse):
    arguments = [randn(BATCH, T, D_IN), *tensors(draw_state(randn, kind, BATCH)), torch.tensor(LENGTHS)]
    before = [tensor.clone() for tensor in arguments]
    x, *state, lengths = arguments
    RNN(fill(CELLS[kind]()), reverse=reverse)(x, tuple(state) if len(state) == 2 else state[0], lengths=lengths)
    for got, want in zip(arguments, before, strict=True):
        assert torch.equal(got, want)


# Linear recurrences


def draw_pair(seed, *shape):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(2, *shape, generator=generator, dtype=torch.float64).unbind()


@given(t=st.integers(1, 40), d=st.integers(1, 3), seed=seeds)
def test_a_scan_equals_the_loop_in_as_many_passes_as_the_length_has_doublings(t, d, seed):
    gate, value = draw_pair(seed, 2, t, d)
    gate = gate.tanh()  # below 1 in size, so that the states stay of unit size
    passes = scan_passes(gate, value)
    close(passes[-1], linear_recurrence(gate, value))
    assert len(passes) == max(1, math.ceil(math.log2(t)))


def test_a_linear_recurrence_by_hand():
    gate, value = double([2.0], [3.0], [0.5]), double([1.0], [10.0], [4.0])
    assert linear_recurrence(gate, value).tolist() == [[1.0], [13.0], [10.5]]
    assert [known.tolist() for known in scan_passes(gate, value)] == [
        [[1.0], [13.0], [9.0]],  # each step joined to the one before it
        [[1.0], [13.0], [10.5]],
    ]


def test_loop_and_scan_have_the_same_gradients(randn):
    gate, value = randn(11, 2, requires_grad=True), randn(11, 2, requires_grad=True)
    upstream = randn(11, 2)
    got = torch.autograd.grad(scan_passes(gate.tanh(), value)[-1], (gate, value), upstream)
    want = torch.autograd.grad(linear_recurrence(gate.tanh(), value), (gate, value), upstream)
    for ours, theirs in zip(got, want, strict=True):
        close(ours, theirs)


def test_a_scan_of_one_step_does_not_hand_out_its_argument():
    value = torch.ones(1, 2)
    scan_passes(torch.ones(1, 2), value)[-1].zero_()
    assert value.all()


# Convolutions


def test_a_convolution_by_hand():
    """Taps 10 for the present and 1 for two steps before: 10 x_t + x_(t-2) + 0.5."""
    x = torch.tensor([[[1.0], [2.0], [3.0], [4.0]]])
    got = causal_convolution(x, torch.tensor([[[1.0, 10.0]]]), torch.tensor([0.5]), dilation=2)
    assert got.flatten().tolist() == [10.5, 20.5, 31.5, 42.5]


@given(kernel=st.integers(1, 3), dilations=st.lists(st.integers(1, 3), min_size=1, max_size=3), seed=seeds)
def test_the_last_output_depends_on_exactly_the_receptive_field(kernel, dilations, seed):
    stack = fill(CausalConvStack(2, kernel=kernel, dilations=dilations), normal(seed))
    for parameter in stack.parameters():
        parameter.data /= 4  # no tanh so flat that its slope underflows
    reach = receptive_field(kernel, dilations)
    assert stack.receptive_field == reach
    x = draw_pair(seed, 1, reach + 2, 2)[0].requires_grad_()
    (gradient,) = torch.autograd.grad(stack(x)[0, -1].sum(), x)
    seen = gradient[0].abs().amax(dim=-1) > 0
    assert not seen[:2].any()
    assert seen[2]
    assert seen[-1]
    if kernel > 1 and set(dilations) == {1}:
        assert seen[2:].all()


def test_doubled_dilations_with_two_taps_see_every_position_of_a_power_of_two():
    stack = fill(CausalConvStack(3, dilations=(1, 2, 4)))
    for parameter in stack.parameters():
        parameter.data /= 4
    x = draw_pair(5, 1, 12, 3)[0].requires_grad_()
    (gradient,) = torch.autograd.grad(stack(x)[0, 9].sum(), x)
    seen = gradient[0].abs().amax(dim=-1) > 0
    assert seen.tolist() == [2 <= i <= 9 for i in range(12)]  # the eight up to position 9, and nothing later


@pytest.mark.parametrize(("kernel", "dilations", "want"), [(1, [5], 1), (2, [1], 2), (3, [1, 2, 4], 15), (2, [8], 9)])
def test_receptive_fields_by_hand(kernel, dilations, want):
    assert receptive_field(kernel, dilations) == want


# Refusals


@shape_checks_off
@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: ElmanCell(0, 3), r"at least 1: got d_in=0"),
        (lambda: LSTMCell(3, 0), r"at least 1: got d_hidden=0"),
        (lambda: GRUCell(3, -1), r"at least 1: got d_hidden=-1"),
        (lambda: ElmanCell(2, 3, activation="gelu"), r"'tanh' or 'relu': got 'gelu'"),
        (lambda: GRUCell(2, 3, reset="later"), r"'after' or 'before' the product: got 'later'"),
        (lambda: LSTMCell(2, 3, forget_gate=False, forget_bias=1), r"needs a forget gate: got forget_bias=1"),
        (lambda: CausalConv(2, 3, kernel=0), r"at least 1: got kernel=0"),
        (lambda: CausalConvStack(2, dilations=()), r"at least one layer: got no dilations"),
        (lambda: receptive_field(2, [1, 0]), r"at least 1: got smallest_dilation=0"),
    ],
)
def test_what_cannot_be_built_is_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_one_cell_for_both_directions_is_refused():
    cell = GRUCell(2, 3)
    with pytest.raises(ValueError, match="a cell of its own: got one cell twice"):
        BidirectionalRNN(cell, cell)


@shape_checks_off
@each_cell
@pytest.mark.parametrize(
    ("x", "message"),
    [
        (torch.zeros(BATCH, D_IN + 1), rf"with d_in={D_IN}: got \(2, 4\) of torch.float32"),
        (torch.zeros(BATCH, D_IN, dtype=torch.long), r"of floats with d_in=3: got \(2, 3\) of torch.int64"),
        (torch.tensor(1.0), r"got \(\) of"),
        (torch.zeros(0, D_IN), r"no axis is empty: got an input \(0, 3\)"),
    ],
    ids=["width", "tokens", "a number", "empty"],
)
def test_an_input_that_does_not_fit_its_cell_is_refused(kind, x, message):
    with pytest.raises(ValueError, match=message):
        CELLS[kind]()(x)


@shape_checks_off
@each_cell
@pytest.mark.parametrize("shape", [(BATCH, D_HIDDEN + 1), (1, D_HIDDEN), (D_HIDDEN,)], ids=str)
def test_a_state_that_does_not_fit_is_refused(kind, shape):
    cell, x = CELLS[kind](), torch.zeros(BATCH, D_IN)
    right, wrong = torch.zeros(BATCH, D_HIDDEN), torch.zeros(shape)
    pairs = [("h", (wrong, right)), ("c", (right, wrong))] if "lstm" in kind else [("h", wrong)]
    for name, state in pairs:
        message = rf"the state {name} of these inputs is \(2, 5\): got {re.escape(str(shape))}"
        with pytest.raises(ValueError, match=message):
            cell(x, state)
        with pytest.raises(ValueError, match=message):
            cell.step(cell.project(x), state)


@shape_checks_off
def test_a_state_of_another_kind_of_cell_is_refused():
    x, h = torch.zeros(BATCH, D_IN), torch.zeros(BATCH, D_HIDDEN)
    with pytest.raises(ValueError, match=r"a pair \(h, c\): got one tensor \(2, 5\)"):
        LSTMCell(D_IN, D_HIDDEN)(x, h)
    with pytest.raises(ValueError, match=r"is \(2, 5\): got tuple"):
        GRUCell(D_IN, D_HIDDEN)(x, (h, h))


@shape_checks_off
@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((T, D_IN), r"\(batch, t, d_in\): got \(7, 3\)"),
        ((BATCH, 0, D_IN), r"no axis is empty: got an input \(2, 0, 3\)"),
        ((0, T, D_IN), r"no axis is empty: got an input \(0, 7, 3\)"),
        ((BATCH, T, D_IN + 1), r"with d_in=3: got \(2, 7, 4\)"),
    ],
)
def test_sequences_that_do_not_fit_a_layer_are_refused(shape, message):
    with pytest.raises(ValueError, match=message):
        RNN(GRUCell(D_IN, D_HIDDEN))(torch.zeros(shape))


@shape_checks_off
@pytest.mark.parametrize("lengths", [[0, 7], [4, 8], [4], [4, 7, 1], [[4, 7]], [4.0, 7.0], [True, True], []], ids=str)
def test_lengths_that_do_not_fit_are_refused(lengths):
    message = re.escape(f"from 1 to t=7 for each of the 2 sequences: got {lengths}")
    with pytest.raises(ValueError, match=message):
        RNN(GRUCell(D_IN, D_HIDDEN))(torch.zeros(BATCH, T, D_IN), lengths=lengths)
    with pytest.raises(ValueError, match=message):
        not_padding(torch.tensor(lengths), BATCH, T)


@shape_checks_off
@pytest.mark.parametrize("shapes", [((3, 2), (4, 2)), ((2,), (2,)), ((0, 2), (0, 2)), ((1, 2), (3, 2))], ids=str)
@pytest.mark.parametrize("function", [linear_recurrence, scan_passes])
def test_gates_and_values_that_do_not_fit_are_refused(function, shapes):
    gate, value = (torch.zeros(shape) for shape in shapes)
    message = re.escape(f"got gate {shapes[0]} and value {shapes[1]}")
    with pytest.raises(ValueError, match=message):
        function(gate, value)


@shape_checks_off
@pytest.mark.parametrize("bias", [(1,), (4, 3), (3, 1)])
def test_a_bias_that_would_be_broadcast_is_refused(bias):
    with pytest.raises(ValueError, match=re.escape(f"one number for each output feature, (3,): got {bias}")):
        causal_convolution(torch.zeros(1, 4, 2), torch.zeros(3, 2, 2), torch.zeros(bias))


@shape_checks_off
@pytest.mark.parametrize(
    ("x", "weight", "dilation", "message"),
    [
        ((4, 2), (3, 2, 2), 1, r"\(batch, t, d_in\) and weight \(d_out, d_in, kernel\): got \(4, 2\)"),
        ((1, 4, 2), (3, 2), 1, r"got \(1, 4, 2\) and \(3, 2\)"),
        ((1, 4, 2), (3, 2, 0), 1, r"got \(1, 4, 2\) and \(3, 2, 0\)"),
        ((1, 4, 2), (3, 5, 2), 1, r"d_in=5: got \(1, 4, 2\)"),
        ((1, 0, 2), (3, 2, 2), 1, r"no axis is empty: got an input \(1, 0, 2\)"),
        ((1, 4, 2), (3, 2, 2), 0, r"at least 1: got dilation=0"),
    ],
)
def test_a_convolution_that_does_not_fit_is_refused(x, weight, dilation, message):
    with pytest.raises(ValueError, match=message):
        causal_convolution(torch.zeros(x), torch.zeros(weight), dilation=dilation)
