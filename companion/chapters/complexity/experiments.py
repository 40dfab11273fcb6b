"""What the chapter reads from measurements/complexity: three models of equal work on two tasks, and two layers timed.

The tasks have 16 tokens. *Recall*: fifteen letters, each with a digit, then one letter; the answer is its digit.
*Parity*: zeros and ones; the answer at each position is whether the number of ones so far is odd.
"""

from collections.abc import Callable
from functools import partial
from statistics import median

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from companion.config import ModelConfig
from companion.measure import Experiment, time_call, time_ratio
from companion.multihead import MultiHeadAttention
from companion.recurrent import CausalConvStack
from companion.seeding import seeded
from companion.transformer import DecoderOnly

TOKENS, DIGITS = 16, 4
"""A sequence has sixteen tokens; in the recall each letter has one of four digits."""
VOCAB = TOKENS * DIGITS + TOKENS
"""Each of sixteen letters with each digit, then each letter alone; the bits of the parity are the first two."""
LSTM_WIDTH, CNN_WIDTH = 58, 37
"""The widths at which one LSTM layer, and four convolutions, take as many FLOPs as the two layers of ``SMALL``."""
SMALL = ModelConfig(
    vocab=VOCAB,
    d_model=32,
    n_layers=2,
    n_heads=2,
    d_ff=128,
    max_len=TOKENS,
    position="learned",
    norm_placement="pre",
    tied=False,
    dropout=0.0,
    scale_embedding=False,
)
"""The Transformer of both tasks."""


def recall(generator: torch.Generator, size: int) -> tuple[Int[Tensor, "size t"], Int[Tensor, "size t"]]:
    """Draw sequences of letters with digits, the last a letter alone, and the digit that it had.

    Args:
        generator: of the draws.
        size: number of sequences.

    Returns:
        Tokens ``(size, 16)``, a letter with a digit as letter · 4 + digit and a letter alone as 64 + letter; answers
        ``(size, 16)``, where -100 says that nothing is asked.
    """
    letters = torch.rand(size, TOKENS, generator=generator).argsort(-1)[:, : TOKENS - 1]
    digits = torch.randint(DIGITS, (size, TOKENS - 1), generator=generator)
    asked = torch.randint(TOKENS - 1, (size, 1), generator=generator)
    answers = torch.full((size, TOKENS), -100)
    answers[:, -1:] = digits.gather(1, asked)
    return torch.cat([letters * DIGITS + digits, TOKENS * DIGITS + letters.gather(1, asked)], dim=1), answers


def parity(generator: torch.Generator, size: int) -> tuple[Int[Tensor, "size t"], Int[Tensor, "size t"]]:
    """Draw sequences of bits, and at each position whether the number of ones so far is odd.

    Args:
        generator: of the draws.
        size: number of sequences.

    Returns:
        Tokens and answers, both ``(size, 16)``.
    """
    bits = torch.randint(2, (size, TOKENS), generator=generator)
    return bits, bits.cumsum(dim=1) % 2


class Reader(nn.Module):
    """An embedding, an LSTM layer or a stack of four convolutions, and an output layer.

    Args:
        kind: ``"LSTM"`` or ``"CNN"``.
    """

    def __init__(self, kind: str) -> None:
        super().__init__()
        width = LSTM_WIDTH if kind == "LSTM" else CNN_WIDTH
        self.embedding = nn.Embedding(VOCAB, width)
        self.layer = nn.LSTM(width, width, batch_first=True) if kind == "LSTM" else CausalConvStack(width)
        self.output = nn.Linear(width, VOCAB)

    def forward(self, tokens: Int[Tensor, "batch t"]) -> Float[Tensor, "batch t vocab"]:
        """Give the logits ``(batch, t, 80)``; a position sees itself and those before it."""
        states = self.layer(self.embedding(tokens))
        return self.output(states[0] if isinstance(states, tuple) else states)


MODELS: dict[str, Callable[[int], nn.Module]] = {
    "Transformer": lambda seed: DecoderOnly(SMALL, seed=seed),
    "LSTM": lambda seed: Reader("LSTM"),
    "CNN": lambda seed: Reader("CNN"),
}
"""How each model is made from a seed."""
TASKS = {"recall": recall, "parity": parity}


def right(seed: int, task: str, model: str, steps: int = 3000) -> float:
    """Train a model on a task and test it on sequences that no training drew.

    Args:
        seed: of the first parameters and the sequences.
        task: one of ``TASKS``.
        model: one of ``MODELS``.
        steps: of Adam, 32 sequences each, at a rate that rises to 0.01 and falls.

    Returns:
        The percentage of right answers; guessing gives 25 in the recall and 50 in the parity.
    """
    with seeded(seed):
        reader = MODELS[model](seed)
    generator = torch.Generator().manual_seed(seed)
    adam = torch.optim.Adam(reader.parameters(), lr=1e-2)
    rate = torch.optim.lr_scheduler.OneCycleLR(adam, 1e-2, steps, pct_start=0.1)
    for _ in range(steps):
        tokens, answers = TASKS[task](generator, 32)
        loss = F.cross_entropy(reader(tokens).mT, answers)
        adam.zero_grad()
        loss.backward()
        adam.step()
        rate.step()
    tokens, answers = TASKS[task](torch.Generator().manual_seed(99), 500)
    with torch.no_grad():
        found = reader(tokens).argmax(dim=-1) == answers
    return 100 * found[answers >= 0].double().mean().item()


def attention_over_lstm(seed: int, n: int, d: int, threads: int, rounds: int = 7) -> float:
    """Time an attention layer and an LSTM layer in turn, on one sequence in float32, and divide.

    Args:
        seed: of parameters and input.
        n: positions.
        d: width; a head has 64.
        threads: of the CPU.
        rounds: each times both once.

    Returns:
        The median ratio; below 1 where attention is faster.
    """
    with seeded(seed):
        attention, lstm = MultiHeadAttention(d, d // 64).eval(), nn.LSTM(d, d, batch_first=True).eval()
        x = torch.randn(1, n, d)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    with torch.no_grad():
        ratios = [time_call(partial(attention, x)) / time_call(partial(lstm, x)) for _ in range(rounds + 1)]
    torch.set_num_threads(before)
    return median(ratios[1:])


def longer_input(seed: int, layer: str, short: int, long: int, rounds: int = 51) -> float:
    """Time a layer of width 64 on a short and on a long input in turn, in float32 on one thread, and divide.

    Args:
        seed: of parameters and inputs.
        layer: ``"feed-forward"``, two linear maps with 256 hidden units, or ``"attention"``, one head by the formula.
        short: positions.
        long: positions.
        rounds: each times both once.

    Returns:
        The median of time on the long input over time on the short one.
    """
    with seeded(seed):
        made = (
            nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64))
            if layer == "feed-forward"
            else MultiHeadAttention(64, 1, kernel="reference").eval()
        )
        inputs = [torch.randn(1, n, 64) for n in (long, short)]
    with torch.no_grad():
        return median(time_ratio(partial(made, inputs[0]), partial(made, inputs[1]), runs=rounds))


LAYERS = [{"n": n, "d": d, "threads": threads} for n, d in ((256, 512), (1100, 512), (4096, 64)) for threads in (1, 2)]
LONGER = [
    {"layer": "feed-forward", "short": 512, "long": 8192},
    {"layer": "attention", "short": 256, "long": 2048},
]
EXPERIMENTS = [
    *(Experiment("right", "%", right, {"task": task, "model": model}, "median") for task in TASKS for model in MODELS),
    *(Experiment("attention over LSTM, time", "ratio", attention_over_lstm, sizes, "median") for sizes in LAYERS),
    *(Experiment("longer input, time", "ratio", longer_input, sizes, "median") for sizes in LONGER),
]
