"""A small GPT that writes English letter by letter: its text, its sizes, its training run and its released weights.

The text is the collection of Shakespeare's plays that char-rnn made common under the name "Tiny Shakespeare"; NOTICE
says where it comes from. ``scripts/train_small_gpt.py`` trains the model and writes the files in ``data/``.
"""

import gzip
import json
import math
from functools import cache
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Int
from safetensors.torch import load_file, save_file
from torch import Tensor

from companion.config import ModelConfig
from companion.generate import sample
from companion.packed import packed, unpacked
from companion.training import clip_gradients, cosine_schedule, evaluating
from companion.transformer import DecoderOnly

DATA = Path(__file__).parent / "data"
WEIGHTS = Path(__file__).parent / "weights" / "small_gpt.safetensors"
"""The same parameters in eight bits, for the browser: ``companion.packed``."""
STEPS, CONTEXT, BATCH = 5000, 128, 32
PEAK, WARMUP, FLOOR = 3e-3, 200, 3e-4
NOTED = (0, 100, 250, *range(500, STEPS + 1, 500))
"""Steps after which the training script measures the loss, and lets the model write, with the same draws each time."""


@cache
def text() -> str:
    """Return the whole text, 1,115,394 characters."""
    return gzip.decompress((DATA / "shakespeare.txt.gz").read_bytes()).decode("ascii")


@cache
def symbols() -> str:
    """Return the 65 different characters of the text, in order; a token is a place in this string."""
    return "".join(sorted(set(text())))


def encode(words: str) -> Int[Tensor, " t"]:
    """Turn characters into tokens.

    Args:
        words: characters of :func:`symbols`.

    Returns:
        One number a character, ``(t,)``.

    Raises:
        ValueError: a character does not occur in the text.
    """
    place = {symbol: i for i, symbol in enumerate(symbols())}
    if unknown := sorted(set(words) - place.keys()):
        raise ValueError(f"the model knows the 65 characters of its text: got {unknown}. Leave them out.")
    return torch.tensor([place[symbol] for symbol in words], dtype=torch.long)


def decode(tokens: Int[Tensor, " t"]) -> str:
    """Turn tokens back into characters.

    Args:
        tokens: places in :func:`symbols`, ``(t,)``.

    Returns:
        One character a token.
    """
    return "".join(symbols()[token] for token in tokens.tolist())


@cache
def splits() -> tuple[Int[Tensor, " train"], Int[Tensor, " validation"]]:
    """Return the tokens of the first nine tenths of the text, to train on, and those of the last tenth."""
    tokens = encode(text())
    cut = int(0.9 * len(tokens))
    return tokens[:cut], tokens[cut:]


def new_model(seed: int = 0) -> DecoderOnly:
    """Make the untrained model: GPT-2's design with three layers of width 64, and 162,432 parameters.

    Args:
        seed: of the initial parameters.

    Returns:
        In training mode; there is no dropout.
    """
    sizes = {"d_model": 64, "n_layers": 3, "n_heads": 4, "d_ff": 256, "max_len": CONTEXT}
    kinds = {"position": "learned", "activation": "gelu-tanh", "norm_placement": "pre", "scale_embedding": False}
    return DecoderOnly(ModelConfig(vocab=len(symbols()), dropout=0.0, **sizes, **kinds), seed=seed)


def draw(step: int) -> Int[Tensor, "batch t"]:
    """Draw the batch of a step: 32 pieces of the training text, each of 129 characters.

    Args:
        step: seeds the draw, so that a stopped run goes on with the batches that it would have seen.

    Returns:
        ``(32, 129)``: the model reads the first 128 of each row, and predicts the last 128.
    """
    train, _ = splits()
    starts = torch.randint(len(train) - CONTEXT, (BATCH,), generator=torch.Generator().manual_seed(step))
    return train[starts[:, None] + torch.arange(CONTEXT + 1)]


def optimizer(model: DecoderOnly) -> torch.optim.AdamW:
    """Make AdamW with the settings of GPT-3; matrices decay, vectors do not.

    Args:
        model: whose parameters.

    Returns:
        The optimiser; :func:`train_step` sets its rate.
    """
    matrices = [p for p in model.parameters() if p.ndim >= 2]
    vectors = [p for p in model.parameters() if p.ndim < 2]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, betas=(0.9, 0.95), eps=1e-8)


def train_step(model: DecoderOnly, adamw: torch.optim.AdamW, step: int) -> float:
    """Take one step of the run.

    Args:
        model: changed in place.
        adamw: from :func:`optimizer`.
        step: its number, from 1.

    Returns:
        The loss of the batch before the step, in bits per character.
    """
    for group in adamw.param_groups:
        group["lr"] = cosine_schedule(step, PEAK, WARMUP, STEPS, FLOOR)
    rows = draw(step)
    loss = F.cross_entropy(model(rows[:, :-1]).mT, rows[:, 1:])
    adamw.zero_grad()
    loss.backward()
    clip_gradients(model.parameters(), 1.0)
    adamw.step()
    return loss.item() / math.log(2)


@torch.no_grad()
def bits_per_character(model: DecoderOnly, tokens: Int[Tensor, " t"]) -> float:
    """Measure the loss on a text, each character predicted from the 64 to 127 before it.

    Args:
        model: the small GPT.
        tokens: ``(t,)``, at least 129; what does not fill the last window is left out.

    Returns:
        Bits per character, the first 64 characters not counted.
    """
    half = CONTEXT // 2
    windows = tokens.unfold(0, CONTEXT + 1, half)  # (windows, 129), each begins 64 after the one before
    total = 0.0
    with evaluating(model):
        for rows in windows.split(64):
            logits = model(rows[:, :-1])[:, half:]
            total += F.cross_entropy(logits.mT, rows[:, half + 1 :], reduction="sum").item()
    return total / (len(windows) * half) / math.log(2)


def write(model: DecoderOnly, prompt: str = "\n", length: int = 120, *, seed: int = 0, temperature: float = 1.0) -> str:
    """Let the model continue a text.

    Args:
        model: the small GPT.
        prompt: what it reads first; prompt and continuation have at most 128 characters together.
        length: number of characters to write.
        seed: of the draws.
        temperature: divides the logits.

    Returns:
        The new characters.
    """
    generator = torch.Generator().manual_seed(seed)
    with evaluating(model):
        new = sample(model, encode(prompt)[None], length, generator=generator, temperature=temperature)
    return decode(new[0])


def save(model: DecoderOnly, path: Path) -> None:
    """Write the parameters in float16.

    Args:
        model: the small GPT.
        path: of the file.
    """
    save_file({name: p.detach().half().contiguous() for name, p in model.named_parameters()}, path)


def load() -> DecoderOnly:
    """Return the trained model, its parameters read from the float16 file of the package.

    Returns:
        In evaluation mode, in torch's default dtype.
    """
    model = new_model()
    kept = load_file(DATA / "small_gpt.safetensors")
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(kept[name])
    return model.eval()


def pack() -> bytes:
    """Round the trained parameters to eight bits; about 190 kB.

    Returns:
        The bytes of :data:`WEIGHTS`, with the symbols beside them.
    """
    return packed(load(), {"symbols": symbols()})


def load_packed() -> DecoderOnly:
    """Return the model that a browser runs, its parameters rounded to eight bits.

    Returns:
        In evaluation mode.
    """
    return unpacked(WEIGHTS, DecoderOnly)[0]


@cache
def log() -> dict[str, Any]:
    """Return what the training script noted: ``"losses"``, ``"samples"``, and how long it took.

    Returns:
        ``losses`` has rows of step, training loss and validation loss, in bits per character.
    """
    return json.loads((DATA / "small_gpt.json").read_text("utf-8"))
