"""The numbers of the chapter's pictures, against the package."""

import torch

from companion import pictures
from companion.chapters.history.pictures.matrices import MATRIX, PICKED, ROWS
from companion.chapters.history.pictures.recurrence import CANDIDATE, FORGET, INPUT, INPUTS, KEPT, MEMORY, OUTPUT
from companion.chapters.history.pictures.translation import ROW, STATES
from companion.recurrent import RNN, AdditiveAttention, ElmanCell, LSTMCell
from tests.tools.layout import read


def said(canvas):
    return [text.said for text in read(canvas.svg())[0]]


def both(picture):
    return picture.wide, picture.narrow


@torch.no_grad()
def test_the_unrolled_network_has_the_states_of_the_package():
    cell = ElmanCell(1, 1, activation="relu")
    cell.w_x.weight.fill_(1.0), cell.w_x.bias.zero_(), cell.w_h.weight.fill_(KEPT)
    states = RNN(cell)(torch.tensor(INPUTS, dtype=torch.float32).view(1, 3, 1))[0].flatten().tolist()
    for canvas in both(pictures.unrolled_rnn()):
        numbers = [text for text in said(canvas) if text.isdecimal()]
        assert numbers == [word for pair in zip(states, INPUTS, strict=True) for word in (f"{pair[0]:g}", str(pair[1]))]


@torch.no_grad()
def test_the_lstm_takes_the_step_of_the_package():
    cell = LSTMCell(1, 1).double()
    for weight in (cell.w_x.weight, cell.w_h.weight):
        weight.zero_()
    gates = torch.tensor([INPUT, FORGET, OUTPUT], dtype=torch.float64).logit()
    candidate = torch.tensor(0.999999).atanh() if CANDIDATE == 1 else torch.tensor(CANDIDATE).atanh()
    cell.w_x.bias.copy_(torch.stack([gates[0], gates[1], candidate.double(), gates[2]]))
    zero = torch.zeros(1, dtype=torch.float64)
    h, c = cell(zero, (zero, zero + MEMORY))
    for canvas in both(pictures.lstm_cell()):
        texts = said(canvas)
        assert {f"{MEMORY:g}", f"{c.item():.3g}", f"{h.item():.2f}"} <= set(texts)
        assert {f"f {FORGET:g}", f"i {INPUT:g}", f"g {CANDIDATE:g}", f"o {OUTPUT:g}"} <= set(texts)


def test_the_decoder_writes_the_row_in_reverse_and_reads_what_it_wrote():
    for canvas in both(pictures.one_vector()):
        symbols = [text for text in said(canvas) if text in ROW or text == "start"]
        assert symbols[:3] == list(ROW)
        read_, wrote = symbols[3::2], symbols[4::2]
        assert wrote == list(ROW[::-1])
        assert read_ == ["start", *ROW[::-1][:-1]]


@torch.no_grad()
def test_attention_by_hand_has_the_weights_and_the_context_of_the_package():
    look = AdditiveAttention(1, 1, 1).double()
    for weight in (look.w_query.weight, look.w_key.weight, look.v):
        weight.fill_(1.0)
    states = torch.tensor(STATES, dtype=torch.float64).view(1, 3, 1)
    query = torch.zeros(1, 1, 1, dtype=torch.float64)
    weights, context = look.weights(query, states).flatten().tolist(), look(query, states).item()
    for canvas in both(pictures.looking_back()):
        texts = said(canvas)
        assert [text for text in texts if text in {f"{w:.3f}" for w in weights}] == [f"{w:.3f}" for w in weights]
        assert f"context {context:.3f}" in texts


def test_the_matrix_product_is_that_of_pytorch():
    product = torch.tensor(ROWS) @ torch.tensor(MATRIX)
    row, column = PICKED
    for canvas in both(pictures.matrix_product()):
        texts = [text.replace("−", "-") for text in said(canvas)]
        numbers = [int(text) for text in texts if text.lstrip("-").isdecimal()]
        assert numbers == [*sum(ROWS, ()), *sum(MATRIX, ()), *product.flatten().tolist()]
        assert {"3 × 2", "2 × 4", "3 × 4", f"1 · 0 + 2 · 3 = {product[row, column]}"} <= set(texts)
