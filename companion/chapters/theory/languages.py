"""Generated sequences for convolution, recurrence and attention: a Markov chain, and a lookup.

Chapter: book/theory/inductive-bias.
"""

from functools import cache

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from companion.config import ModelConfig
from companion.measure import Experiment
from companion.seeding import seeded
from companion.transformer import DecoderOnly

SYMBOLS, LENGTH = 6, 32
"""Of the chain: its symbols, and the length of a sequence."""
KEYS, PAIRS = 8, 6
"""Of the lookup: different keys, and as many values; pairs before the question."""
VOCAB = KEYS * KEYS + KEYS
STEPS, LONGER, BATCH, EVERY, HELD = 300, 1500, 32, 25, 500
SIZES = {"chain": (10, 100, 1000), "lookup": (300, 1000, 3000)}
"""Training sequences."""
KINDS = ("convolution", "recurrence", "attention")


@cache
def chances() -> Float[Tensor, "symbols symbols symbols"]:
    """Return the chain's table: the probabilities of the next symbol after each two."""
    generator = torch.Generator().manual_seed(0)
    return (2 * torch.randn(SYMBOLS, SYMBOLS, SYMBOLS, generator=generator)).softmax(-1)


def chain(count: int, generator: torch.Generator) -> Int[Tensor, "count t"]:
    """Draw sequences of a chain whose next symbol depends on the last two.

    Args:
        count: of sequences.
        generator: of the symbols.

    Returns:
        ``(count, 32)``.
    """
    symbols = list(torch.randint(SYMBOLS, (2, count), generator=generator))
    while len(symbols) < LENGTH:
        symbols.append(torch.multinomial(chances()[symbols[-2], symbols[-1]], 1, generator=generator)[:, 0])
    return torch.stack(symbols, dim=1)


def lookup(count: int, generator: torch.Generator) -> tuple[Int[Tensor, "count t"], Int[Tensor, " count"]]:
    """Draw questions: six tokens, each a key with its value, then a token that asks for one of the keys.

    Args:
        count: of questions.
        generator: of keys and values.

    Returns:
        The tokens ``(count, 7)``, and the value of the key that is asked for, ``(count,)``.
    """
    keys = torch.rand(count, KEYS, generator=generator).argsort(1)[:, :PAIRS]
    values = torch.randint(KEYS, (count, PAIRS), generator=generator)
    asked = torch.randint(PAIRS, (count, 1), generator=generator)
    question = KEYS * KEYS + keys.gather(1, asked)
    return torch.cat([KEYS * keys + values, question], dim=1), values.gather(1, asked)[:, 0]


class Convolution(nn.Module):
    """Three causal convolutions of width 3 with dilations 1, 2 and 4, which see 15 tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.output = nn.Embedding(VOCAB, 32), nn.Linear(32, VOCAB)
        self.layers = nn.ModuleList(nn.Conv1d(32, 32, 3, dilation=2**i) for i in range(3))

    def forward(self, tokens: Int[Tensor, "batch t"]) -> Float[Tensor, "batch t vocab"]:
        """Predict the next token: logits ``(batch, t, vocab)``."""
        x = self.embedding(tokens).mT
        for layer in self.layers:
            x = x + layer(F.pad(x, (2 * layer.dilation[0], 0))).relu()
        return self.output(x.mT)


class Recurrence(nn.Module):
    """An LSTM."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.output = nn.Embedding(VOCAB, 32), nn.Linear(40, VOCAB)
        self.lstm = nn.LSTM(32, 40, batch_first=True)

    def forward(self, tokens: Int[Tensor, "batch t"]) -> Float[Tensor, "batch t vocab"]:
        """Predict the next token: logits ``(batch, t, vocab)``."""
        return self.output(self.lstm(self.embedding(tokens))[0])


def network(kind: str, seed: int) -> nn.Module:
    """Make an untrained network.

    Args:
        kind: one of ``KINDS``; attention is a decoder of two layers with rotary positions.
        seed: of the initial parameters.

    Returns:
        From tokens to logits.
    """
    if kind == "attention":
        sizes = {"d_model": 32, "n_layers": 2, "n_heads": 4, "d_ff": 64, "dropout": 0.0}
        kinds = {"position": "rope", "norm_placement": "pre", "scale_embedding": False, "tied": False}
        return DecoderOnly(ModelConfig(vocab=VOCAB, **sizes, **kinds), seed=seed)
    with seeded(seed):
        return {"convolution": Convolution, "recurrence": Recurrence}[kind]()


def _score(model: nn.Module, task: str, inputs: Tensor, targets: Tensor) -> float:
    logits = model(inputs)
    if task == "lookup":
        return (logits[:, -1, :KEYS].argmax(-1) == targets).float().mean().item()
    told = chances()[inputs[:, :-2], inputs[:, 1:-1]].log()  # of each third symbol
    best = F.nll_loss(told.mT, targets[:, 1:-1])
    return (F.cross_entropy(logits[:, 1:-1].mT, targets[:, 1:-1]) - best).item() / torch.tensor(2.0).log().item()


def _data(task: str, count: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    if task == "lookup":
        return lookup(count, generator)
    tokens = chain(count, generator)
    return tokens, tokens.roll(-1, dims=1)


def result(seed: int, task: str, kind: str, size: int, steps: int = STEPS) -> float:
    """Train a network, and score it every 25 steps on 500 sequences that it has not seen; the best score counts.

    Args:
        seed: of initial parameters, data and batches.
        task: ``"chain"`` or ``"lookup"``.
        kind: one of ``KINDS``.
        size: training sequences.
        steps: of training.

    Returns:
        For the chain, bits a symbol above the loss of its own table; for the lookup, the share of right answers.
    """
    generator, model = torch.Generator().manual_seed(seed), network(kind, seed)
    inputs, targets = _data(task, size, generator)
    held = _data(task, HELD, generator)
    adam, scores = torch.optim.Adam(model.parameters(), 3e-3, fused=True), []
    for step in range(1, steps + 1):
        batch = torch.randint(size, (BATCH,), generator=generator)
        logits = model(inputs[batch])
        if task == "lookup":
            loss = F.cross_entropy(logits[:, -1], targets[batch])
        else:
            loss = F.cross_entropy(logits[:, 1:-1].mT, targets[batch, 1:-1])
        adam.zero_grad()
        loss.backward()
        adam.step()
        if step % EVERY == 0:
            with torch.no_grad():
                scores.append(_score(model, task, *held))
    return max(scores) if task == "lookup" else min(scores)


SEQUENCES = [
    Experiment(f"{task}, {what}", unit, result, {"task": task, "kind": kind, "size": size}, "median")
    for task, what, unit in (("chain", "excess loss", "bits"), ("lookup", "share right", "share"))
    for kind in KINDS
    for size in SIZES[task]
] + [
    Experiment(
        "chain, excess loss after more steps",
        "bits",
        result,
        {"task": "chain", "kind": kind, "size": 1000, "steps": LONGER},
        "median",
    )
    for kind in KINDS
]
"""The plan: two tasks, three networks, by the number of sequences; the longest of the chains also with more steps."""
