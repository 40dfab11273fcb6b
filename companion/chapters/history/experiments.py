"""What the chapter's pages read from measurements/history: a first symbol to remember, and a row to write in reverse.

Both tasks are trained here with a small number of steps, as a page can afford, and with ten times as many.
"""

from collections.abc import Sequence
from functools import cache
from itertools import product

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from companion import tasks, training
from companion.measure import Experiment
from companion.multihead import MultiHeadAttention
from companion.recurrent import (
    RNN,
    AdditiveAttention,
    AttentionSeq2Seq,
    BahdanauCore,
    FixedVectorSeq2Seq,
    GRUCell,
)
from companion.recurrent.layers import Lengths
from companion.seeding import seeded

SYMBOLS, WIDTH = 8, 32
"""Symbols of both tasks, and the width of the networks' states where nothing else is said."""

NETWORKS = {
    "Elman": (nn.RNN, None),
    "LSTM": (nn.LSTM, None),
    "LSTM, forget bias 1": (nn.LSTM, 1.0),
    "LSTM, forget bias 5": (nn.LSTM, 5.0),
    "GRU": (nn.GRU, None),
}
"""Recurrent networks, and the bias with which their forget gate starts; without one it starts near 0."""

LENGTHS = (4, 6, 8, 10, 12)
"""Lengths of the test rows that are reported; training has all lengths from 4 to 12."""


def recurrent(network: str, d_in: int, width: int) -> nn.Module:
    """Make a recurrent layer of torch, and set the bias of its forget gate where its name says so.

    Args:
        network: one of ``NETWORKS``.
        d_in: width of the inputs.
        width: of the state.

    Returns:
        The layer, which takes ``(batch, t, d_in)``.
    """
    kind, bias = NETWORKS[network]
    layer = kind(d_in, width, batch_first=True)
    if bias is not None:
        for start, name in (
            (bias, "bias_ih_l0"),
            (0.0, "bias_hh_l0"),
        ):  # torch adds two biases, in the order i, f, g, o
            nn.init.constant_(getattr(layer, name)[width : 2 * width], start)
    return layer


def gradient_by_distance(network: str, distances: Sequence[int], seeds: Sequence[int] = (0, 1, 2)) -> list[float]:
    """Measure how strongly the last output of an untrained layer of width 64 depends on inputs before it.

    Args:
        network: one of ``NETWORKS``, or ``"attention"``, one head without a mask.
        distances: of the inputs from the last one.
        seeds: of the parameters and the inputs.

    Returns:
        For each distance, the norm of the gradient with respect to that input, over the one with respect to the last
        input: the geometric mean over the seeds.
    """
    logs, t = [], max(distances) + 1
    for seed in seeds:
        with seeded(seed):
            layer = MultiHeadAttention(64, 1) if network == "attention" else recurrent(network, 64, 64)
            x, direction = torch.randn(1, t, 64).double().requires_grad_(), torch.randn(64).double()
        output = layer.double()(x)
        output = output if network == "attention" else output[0]
        (gradient,) = torch.autograd.grad(output[0, -1] @ direction, x)
        norms = gradient[0].norm(dim=-1)
        logs.append((norms / norms[-1]).log())
    mean = torch.stack(logs).mean(dim=0).exp()
    return [mean[t - 1 - distance].item() for distance in distances]


class FirstSymbol(nn.Module):
    """Embeddings, one recurrent layer of torch, and a linear map from its last state to a score for each symbol."""

    def __init__(self, network: str) -> None:
        super().__init__()
        self.embed, self.read = nn.Embedding(SYMBOLS, 16), recurrent(network, 16, WIDTH)
        self.answer = nn.Linear(WIDTH, SYMBOLS)

    def forward(self, symbols: Int[Tensor, "batch t"]) -> Float[Tensor, "batch 8"]:
        """Return a score for each symbol."""
        return self.answer(self.read(self.embed(symbols))[0][:, -1])


def first_symbol(seed: int, network: str, lag: int, steps: int = 200) -> float:
    """Train a recurrent network to name the first symbol of a row, with Adam and 64 new rows a step.

    Args:
        seed: of the initial parameters and of the rows.
        network: one of ``NETWORKS``.
        lag: number of symbols behind the first.
        steps: of training.

    Returns:
        The percentage of right answers on 1,000 new rows; guessing gives 12.5.
    """
    with seeded(seed):
        model = FirstSymbol(network).float()  # whatever the default: torch's layers are several times slower in float64
    draw = torch.Generator().manual_seed(seed)
    adam = torch.optim.Adam(model.parameters(), lr=1e-2, fused=True)
    for _ in range(steps):
        x = torch.randint(SYMBOLS, (64, lag + 1), generator=draw)
        loss = F.cross_entropy(model(x), x[:, 0])
        adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
    x = torch.randint(SYMBOLS, (1000, lag + 1), generator=draw)
    with torch.no_grad():
        return 100 * (model(x).argmax(dim=-1) == x[:, 0]).double().mean().item()


TRAIN, TEST = tasks.reverse_task(6000, 540, symbols=SYMBOLS, length=(4, 12))
WORDS = tasks.vocabulary(source for source, _ in TRAIN)


class Forwards(RNN):
    """A network that reads forwards and returns its last state in place of the first one of a backward network."""

    def forward(
        self, x: Float[Tensor, "batch t d_in"], *, lengths: Lengths | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Run it, as ``BahdanauCore`` runs its encoder.

        Args:
            x: the input.
            lengths: number of real tokens of each sequence; ``None`` means that all are real.

        Returns:
            States ``(batch, t, d_hidden)``, and the last one twice.
        """
        states, last = super().forward(x, lengths=lengths)
        return states, (last, last)


class OneDirection(BahdanauCore):
    """Additive attention over an encoder that only reads forwards; the decoder begins with its last state.

    Beside ``BahdanauCore``, which reads in both directions, this tells what attention alone brings.

    Args:
        d_embed: width of the embeddings.
        d_hidden: width of the states and of the layer that aligns.
        target_vocab: number of target symbols.
    """

    def __init__(self, d_embed: int, d_hidden: int, target_vocab: int) -> None:
        super().__init__(d_embed, d_hidden, target_vocab)
        self.encoder = Forwards(GRUCell(d_embed, d_hidden))
        self.attention = AdditiveAttention(d_hidden, d_hidden, d_hidden)
        self.w_context = nn.Linear(d_hidden, 3 * d_hidden, bias=False)
        self.w_out = nn.Linear(d_hidden + d_embed + d_hidden, target_vocab)


def reverser(network: str, width: int = WIDTH, seed: int = 0) -> nn.Module:
    """Make an encoder-decoder, not trained, that is to write a row of symbols in reverse.

    Args:
        network: ``"fixed vector"``; ``"attention"``, which has additive attention and an encoder of two directions; or
            ``"attention, one direction"``, whose encoder only reads forwards.
        width: of the states.
        seed: of the initial parameters.

    Returns:
        The model.
    """
    sizes = (len(WORDS), len(WORDS), 16, width)
    if network.startswith("attention"):
        model = AttentionSeq2Seq(*sizes, seed=seed)
        if network != "attention":
            with seeded(seed):
                model.core = OneDirection(16, width, len(WORDS))
        return model
    return FixedVectorSeq2Seq(*sizes, cell="gru", seed=seed)


def train_reverser(model: nn.Module, steps: int, seed: int = 0) -> nn.Module:
    """Train an encoder-decoder by teacher forcing: the decoder reads the true symbols before the one it must predict.

    Args:
        model: as from ``reverser``.
        steps: of 64 rows each; the learning rate rises to 0.005 in 30 steps and falls as a cosine.
        seed: of the order of the rows.

    Returns:
        The model.
    """
    batches = training.Batches(TRAIN, lambda pairs: tasks.encode_pairs(pairs, WORDS), size=64, seed=seed)
    training.Trainer(
        model,
        training.seq2seq_loss(padding=0),
        batches,
        optimizer=training.paper_adam(model.parameters()),
        schedule=lambda step: training.cosine_schedule(step, 5e-3, 30, steps),
        clip=1.0,
    ).run(steps, progress=False)
    return model


def written(model: nn.Module, sources: list[list[str]]) -> list[list[str]]:
    """Return what a model writes for some rows, the likeliest symbol at each step (greedy decoding).

    Args:
        model: as from ``reverser``.
        sources: rows of symbols.

    Returns:
        The rows that the model writes.
    """
    sizes = [len(source) for source in sources]
    found = model.decode(tasks.encode(sources, WORDS), start=1, end=2, max_len=14, source_lengths=sizes)
    return tasks.decode(found, WORDS)


def right_by_length(model: nn.Module, lengths: tuple[int, ...] = LENGTHS) -> dict[int, float]:
    """Test a model on the rows of some lengths, none of which is among the training rows.

    Args:
        model: as from ``reverser``.
        lengths: of the test rows.

    Returns:
        For each length, the percentage of rows that are reversed without a mistake.
    """
    groups = {n: [pair for pair in TEST if len(pair[0]) == n] for n in lengths}
    return {n: 100 * training.decoding_accuracy(model, group, written) for n, group in groups.items()}


@cache
def _trained(seed: int, network: str, width: int, steps: int) -> dict[int, float]:
    return right_by_length(train_reverser(reverser(network, width, seed), steps, seed))


def percent_reversed(seed: int, network: str, width: int, steps: int, length: int) -> float:
    """Train an encoder-decoder to reverse rows of 4 to 12 symbols, and test it on one length.

    Args:
        seed: of the initial parameters and of the order of the rows.
        network: as of ``reverser``.
        width: of the states.
        steps: of training.
        length: of the test rows.

    Returns:
        The percentage of rows that are reversed without a mistake.
    """
    return _trained(seed, network, width, steps)[length]


REVERSERS = (
    ("attention", 32, 300),
    ("attention, one direction", 32, 300),
    ("attention, one direction", 32, 600),
    ("attention, one direction", 32, 3000),
    *(("fixed vector", width, steps) for steps in (300, 3000) for width in (32, 64)),
)
FIRST_SYMBOL = (
    *product(("Elman", "LSTM", "GRU", "LSTM, forget bias 5"), (5, 20, 50), (200,)),
    *product(("Elman", "LSTM", "GRU"), (20, 50), (2000,)),
    *product(("LSTM, forget bias 1",), (20,), (200, 2000)),
)
EXPERIMENTS = [
    *(
        Experiment("first symbol", "% right", first_symbol, {"network": name, "lag": lag, "steps": steps}, "median")
        for name, lag, steps in FIRST_SYMBOL
    ),
    *(
        Experiment(
            "reversed",
            "% right",
            percent_reversed,
            {"network": name, "width": width, "steps": steps, "length": length},
            "median",
        )
        for name, width, steps in REVERSERS
        for length in LENGTHS
    ),
]
