"""Small GPTs of five sizes on four amounts of Shakespeare, and on the same text repeated: the data of a scaling law."""

import gzip
from functools import cache
from itertools import product
from pathlib import Path

import torch
import torch.nn.functional as F
from jaxtyping import Int
from torch import Tensor

from companion.config import ModelConfig
from companion.measure import Experiment
from companion.training import clip_gradients, cosine_schedule, evaluating
from companion.transformer import DecoderOnly

TEXT = Path(__file__).parent.parent / "training" / "data" / "shakespeare.txt.gz"
SYMBOLS = 65
"""The text of the small GPT in the chapter on training, and how many characters it has."""
WIDTHS = (8, 16, 24, 40, 64)
TOKENS = (250_000, 500_000, 1_000_000, 2_000_000)
CONTEXT, BATCH = 64, 16
EPOCHS = (1, 4, 16, 64)
"""How often a run of 500,000 tokens reads its text, which has as many characters divided by this."""
PIECE = 500
"""About how many characters a piece has, where the text that is read is taken from all of the training text."""


@cache
def splits() -> tuple[Int[Tensor, " train"], Int[Tensor, " validation"]]:
    """Return the tokens of the first nine tenths of the text, to train on, and those of the last tenth."""
    text = gzip.decompress(TEXT.read_bytes()).decode("ascii")
    place = {symbol: i for i, symbol in enumerate(sorted(set(text)))}
    tokens = torch.tensor([place[symbol] for symbol in text])
    cut = int(0.9 * len(tokens))
    return tokens[:cut], tokens[cut:]


def law_model(width: int, seed: int = 0) -> DecoderOnly:
    """Make a small GPT with two layers, rotary positions and heads of width 8.

    Args:
        width: of the vector of a token, a multiple of 8.
        seed: of the initial parameters.

    Returns:
        In training mode; there is no dropout.
    """
    sizes = {"d_model": width, "n_layers": 2, "n_heads": width // 8, "d_ff": 4 * width, "max_len": CONTEXT}
    kinds = {"position": "rope", "activation": "gelu-tanh", "norm_placement": "pre", "scale_embedding": False}
    return DecoderOnly(ModelConfig(vocab=SYMBOLS, dropout=0.0, **sizes, **kinds), seed=seed)


def parameters(width: int) -> int:
    """Count all parameters of a model; the table of characters is also its output matrix.

    Args:
        width: of the model.

    Returns:
        Their number, ``N``.
    """
    return sum(p.numel() for p in law_model(width).parameters())


def peak_rate(width: int) -> float:
    """Give the largest learning rate of a run, which falls with the width, as a short sweep suggested.

    Args:
        width: of the model.

    Returns:
        The rate at the end of the warm-up.
    """
    return 0.04 * (8 / width) ** 0.7


def validation_loss(model: DecoderOnly) -> float:
    """Measure the loss on the last tenth of the text, each character predicted from the 32 to 63 before it.

    Args:
        model: a small GPT.

    Returns:
        Nats per character.
    """
    half, (_, tokens) = CONTEXT // 2, splits()
    windows, total = tokens.unfold(0, CONTEXT + 1, half), 0.0
    with evaluating(model), torch.no_grad():
        for rows in windows.split(128):
            logits = model(rows[:, :-1])[:, half:]
            total += F.cross_entropy(logits.mT, rows[:, half + 1 :], reduction="sum").item()
    return total / (len(windows) * half)


def sample(tokens: int, spread: bool) -> Int[Tensor, " pieces length"]:
    """Take a part of the training text: its beginning, or pieces at equal distances from all of it.

    Args:
        tokens: characters that the part has, up to a remainder of less than one for each piece.
        spread: whether to take pieces of about ``PIECE`` characters.

    Returns:
        One piece a row.
    """
    train, _ = splits()
    if not spread:
        return train[None, :tokens]
    pieces = round(tokens / PIECE)
    return train[: len(train) // pieces * pieces].view(pieces, -1)[:, : tokens // pieces]


def loss(seed: int, width: int, tokens: int, epochs: int | None = None, spread: bool = False) -> float:
    """Train a model, with a schedule made for the length of the run, and measure it.

    Args:
        seed: of the initial parameters and of the batches.
        width: of the model.
        tokens: characters that it is trained on, counted each time.
        epochs: how often it reads its text, a part of ``tokens / epochs`` characters. ``None``: it reads from all of
            the training text.
        spread: whether that part is pieces from all of the training text; otherwise it is the beginning.

    Returns:
        The validation loss, nats per character.
    """
    model, generator = law_model(width, seed), torch.Generator().manual_seed(seed)
    adamw = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.95), weight_decay=0.01, fused=True)
    train, _ = splits()
    part = train[None] if epochs is None else sample(tokens // epochs, spread)
    length = part.shape[1] - CONTEXT
    steps = tokens // (BATCH * CONTEXT)
    for step in range(1, steps + 1):
        for group in adamw.param_groups:
            group["lr"] = cosine_schedule(step, peak_rate(width), steps // 10, steps, peak_rate(width) / 10)
        starts = torch.randint(len(part) * length, (BATCH,), generator=generator)
        rows = part[(starts // length)[:, None], (starts % length)[:, None] + torch.arange(CONTEXT + 1)]
        nats = F.cross_entropy(model(rows[:, :-1]).mT, rows[:, 1:])
        adamw.zero_grad()
        nats.backward()
        clip_gradients(model.parameters(), 1.0)
        adamw.step()
    return validation_loss(model)


LAWS = [
    *(
        Experiment("loss by size and tokens", "nats", loss, {"width": width, "tokens": tokens}, "median", seeds=(0,))
        for width, tokens in product(WIDTHS, TOKENS)
    ),
    Experiment("loss by seed", "nats", loss, {"width": 24, "tokens": 500_000}, "median", seeds=(1, 2, 3)),
    *(
        Experiment("loss by epochs", "nats", loss, {"width": 24, "tokens": 500_000, "epochs": epochs}, "median")
        for epochs in EPOCHS
    ),
    *(
        Experiment(
            "loss by epochs, spread",
            "nats",
            loss,
            {"width": 24, "tokens": 500_000, "epochs": epochs, "spread": True},
            "median",
        )
        for epochs in EPOCHS
    ),
]
"""The plan: 20 runs for the law, one of them with three more seeds, and 24 that repeat their text."""
