"""The small language of the chapter, and the loop that trains a small model on it.

Eight letters; each letter depends on the two before it, and the best possible loss is known.
"""

import math
from collections.abc import Callable
from functools import cache, partial

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from companion.config import ModelConfig
from companion.seeding import seeded
from companion.training import clip_gradients, evaluating, paper_adam
from companion.transformer import DecoderOnly

LETTERS, LENGTH, LIKELY = 8, 16, 0.75
COIN = -LIKELY * math.log(LIKELY) - (1 - LIKELY) * math.log(1 - LIKELY)
FLOOR = (math.log(LETTERS) + (LENGTH - 2) * COIN) / (LENGTH - 1)
"""The least mean loss on new sequences, in nats: the second letter is drawn evenly, each later one by a coin."""
OPTIMIZERS = {
    "gradient descent": partial(torch.optim.SGD, lr=1.0),
    "Adam": paper_adam,
    "AdamW": partial(torch.optim.AdamW, lr=1.0, betas=(0.9, 0.98), eps=1e-9, weight_decay=0.1),
}
"""Each takes parameters; the learning rate is set at every step."""


def sequences(n: int, seed: int) -> Int[Tensor, "n 16"]:
    """Draw sequences of the small language.

    The first two letters are drawn evenly. After each pair of letters one letter comes with probability 3/4 and
    another with 1/4; which ones, a fixed table says.

    Args:
        n: number of sequences.
        seed: of the draws; the table is always the same.

    Returns:
        Letters from 0 to 7, ``(n, 16)``.
    """
    table = torch.Generator().manual_seed(0)
    likely = torch.randint(LETTERS, (LETTERS, LETTERS), generator=table)
    rare = (likely + 1 + torch.randint(LETTERS - 1, (LETTERS, LETTERS), generator=table)) % LETTERS
    generator = torch.Generator().manual_seed(seed)
    x = torch.randint(LETTERS, (n, LENGTH), generator=generator)
    for t in range(2, LENGTH):
        pair = x[:, t - 2], x[:, t - 1]
        x[:, t] = torch.where(torch.rand(n, generator=generator) < LIKELY, likely[pair], rare[pair])
    return x


@cache
def train_set(size: int = 2048) -> Int[Tensor, "size 16"]:
    """Draw the sequences that models are trained on."""
    return sequences(max(size, 2048), seed=2)[:size]


@cache
def new_set() -> Int[Tensor, "256 16"]:
    """Draw the 256 sequences that no model is trained on."""
    return sequences(256, seed=1)


def language_model(
    seed: int = 0, n_layers: int = 1, *, norm_placement: str = "pre", dropout: float | int = 0.0
) -> DecoderOnly:
    """Make a decoder of width 32 with two heads for the small language.

    Args:
        seed: of the initial parameters.
        n_layers: of the decoder.
        norm_placement: ``"pre"`` or ``"post"``.
        dropout: share of activations.

    Returns:
        The model, in torch's default dtype.
    """
    sizes = {"vocab": LETTERS, "d_model": 32, "n_layers": n_layers, "n_heads": 2, "d_ff": 64, "max_len": LENGTH}
    kinds = {"position": "learned", "tied": False, "norm_placement": norm_placement, "dropout": dropout}
    return DecoderOnly(ModelConfig(**sizes, **kinds), seed=seed)


def next_letter_loss(model: DecoderOnly, x: Int[Tensor, "n t"], smoothing: float | int = 0.0) -> Float[Tensor, ""]:
    """Compute the mean loss of the next letters, all but the first, in nats.

    Args:
        model: gives logits.
        x: sequences.
        smoothing: share that is spread over all letters.

    Returns:
        The mean over sequences and positions.
    """
    return F.cross_entropy(model(x[:, :-1]).mT, x[:, 1:], label_smoothing=smoothing)


def fit(
    model: DecoderOnly,
    steps: int = 300,
    *,
    rate: float | int | Callable[[int], float] = 1e-2,
    optimizer: str = "Adam",
    data: Int[Tensor, "n 16"] | None = None,
    size: int = 32,
    smoothing: float | int = 0.0,
    clip: float | int = math.inf,
    seed: int = 0,
    watch: Callable[[int], None] = lambda step: None,
) -> DecoderOnly:
    """Train a model on the small language: the loop of the chapter, with a choice for each of its lines.

    Args:
        model: changed in place.
        steps: of training.
        rate: the learning rate, or a function of the step, which counts from 1.
        optimizer: a name in ``OPTIMIZERS``.
        data: sequences; ``None`` takes all 2,048.
        size: of a batch.
        smoothing: of the labels.
        clip: greatest norm of the gradient.
        seed: of the batches, and of dropout.
        watch: called after each step with its number.

    Returns:
        The model.

    Raises:
        ValueError: the numbers in the model are no longer finite.
    """
    data = train_set() if data is None else data
    update, generator = OPTIMIZERS[optimizer](model.parameters()), torch.Generator().manual_seed(seed)
    with seeded(seed):
        for step in range(1, steps + 1):
            update.param_groups[0]["lr"] = rate(step) if callable(rate) else rate
            batch = data[torch.randint(len(data), (size,), generator=generator)]
            update.zero_grad()
            next_letter_loss(model.train(), batch, smoothing).backward()
            if clip < math.inf:
                clip_gradients(model.parameters(), clip)
            update.step()
            watch(step)
    return model


@torch.no_grad()
def loss_on(model: DecoderOnly, x: Int[Tensor, "n 16"] | None = None) -> float:
    """Measure the loss without smoothing and dropout.

    Args:
        model: stays in its mode.
        x: sequences; ``None`` takes the new ones.

    Returns:
        The mean loss in nats.
    """
    with evaluating(model):
        return next_letter_loss(model, new_set() if x is None else x).item()


@torch.no_grad()
def confidence(model: DecoderOnly) -> float:
    """Measure the largest probability that a model gives, on average over the new sequences.

    Args:
        model: stays in its mode.

    Returns:
        From 1/8 to 1.
    """
    with evaluating(model):
        return model(new_set()[:, :-1]).softmax(-1).amax(-1).mean().item()
