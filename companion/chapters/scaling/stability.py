"""Small GPTs at learning rates that are too high, and after a bad batch: what breaks, and what each remedy does."""

from functools import cache
from itertools import product

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from companion.chapters.scaling.laws import BATCH, CONTEXT, SYMBOLS, law_model, splits
from companion.measure import Experiment
from companion.multihead import MultiHeadAttention, split_heads
from companion.positional import RotaryPosition
from companion.training import clip_gradients
from companion.transformer import DecoderOnly

WIDTH, STEPS, WARMUP = 24, 150, 20
Z_LOSS = 1e-4
RATES = (0.01, 0.1)
REMEDIES = ("none", "QK-norm", "z-loss", "both")
FOUND = ("loss", "largest score", "ln Z")


class NormedRotary(RotaryPosition):
    """Rotary positions on queries and keys that RMSNorm, without a gain, has brought to length sqrt(d_k)."""

    def embed(self, x: Float[Tensor, "batch heads t d_k"], start: int) -> Float[Tensor, "batch heads t d_k"]:
        """Normalise queries or keys, then turn them by their positions.

        Args:
            x: queries or keys.
            start: the position of the first.

        Returns:
            A new tensor of the shape and dtype of ``x``.
        """
        return super().embed(F.rms_norm(x, x.shape[-1:]), start)


def with_qk_norm(model: DecoderOnly) -> DecoderOnly:
    """Give each layer of a model of :func:`law_model` QK-norm.

    Args:
        model: changed in place.

    Returns:
        The same model.
    """
    for layer in model.decoder.layers:
        layer.self_attention.position = NormedRotary(layer.self_attention.d_k)
    return model


def batch(generator: torch.Generator) -> Int[Tensor, "batch t"]:
    """Draw 16 pieces of the training text.

    Args:
        generator: of the draws.

    Returns:
        ``(16, 65)``: the model reads the first 64 of each row, and predicts the last 64.
    """
    train, _ = splits()
    starts = torch.randint(len(train) - CONTEXT, (BATCH,), generator=generator)
    return train[starts[:, None] + torch.arange(CONTEXT + 1)]


@torch.no_grad()
def largest_score(model: DecoderOnly, tokens: Int[Tensor, "batch t"]) -> float:
    """Find the largest absolute score of a query and a key that it may look at.

    Args:
        model: of :func:`law_model`.
        tokens: ``(batch, t)``.

    Returns:
        The largest of all layers and heads.
    """
    found = []

    def note(layer: MultiHeadAttention, inputs: tuple[Tensor, ...]) -> None:
        x, position = inputs[0], layer.position
        query, key = (position.embed(split_heads(w(x), layer.n_heads), 0) for w in (layer.w_q, layer.w_k))
        found.append((query @ key.mT / layer.d_k**0.5).tril().abs().max().item())

    hooks = [layer.self_attention.register_forward_pre_hook(note) for layer in model.decoder.layers]
    model(tokens)
    for hook in hooks:
        hook.remove()
    return max(found)


@cache
def fast_run(seed: int, rate: float, remedy: str) -> dict[str, float]:
    """Train a small GPT for 150 steps at a constant rate after a warm-up.

    Args:
        seed: of the initial parameters and of the batches.
        rate: of AdamW.
        remedy: one of ``REMEDIES``.

    Returns:
        ``FOUND``: the mean loss of the last 20 steps, and of the last batch the largest score and the mean of
        ``|ln Z|``, where ``Z`` is the sum in the softmax of the output.
    """
    model, generator, losses = law_model(WIDTH, seed), torch.Generator().manual_seed(seed), []
    if remedy in ("QK-norm", "both"):
        with_qk_norm(model)
    adam = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.95), weight_decay=0.0, fused=True)
    for step in range(1, STEPS + 1):
        for group in adam.param_groups:
            group["lr"] = rate * min(step / WARMUP, 1.0)
        rows = batch(generator)
        logits = model(rows[:, :-1])
        nats, level = F.cross_entropy(logits.mT, rows[:, 1:]), logits.logsumexp(-1)
        adam.zero_grad()
        (nats + Z_LOSS * level.square().mean() * (remedy in ("z-loss", "both"))).backward()
        clip_gradients(model.parameters(), 1.0)
        adam.step()
        losses.append(nats.item())
    score = largest_score(model, rows[:, :-1])
    return {"loss": sum(losses[-20:]) / 20, "largest score": score, "ln Z": level.abs().mean().item()}


def at_a_rate(seed: int, rate: float, remedy: str, what: str) -> float:
    """Read one number of a run.

    Args:
        seed: of the run.
        rate: of AdamW.
        remedy: one of ``REMEDIES``.
        what: one of ``FOUND``.

    Returns:
        The number at the end of the run.
    """
    return fast_run(seed, rate, remedy)[what]


def losses_around(seed: int, beta: float, clip: float | None, steps: int) -> list[float]:
    """Train a small GPT for 120 steps, let it read three batches of random characters, and then text again.

    Args:
        seed: of the initial parameters and of the batches.
        beta: Adam's second decay rate.
        clip: the greatest norm of a gradient; ``None`` does not clip.
        steps: of the whole run; those with the numbers 121 to 123 read random characters.

    Returns:
        The loss of each step before its update, in nats.
    """
    model, generator, losses = law_model(WIDTH, seed), torch.Generator().manual_seed(seed), []
    adam = torch.optim.AdamW(model.parameters(), betas=(0.9, beta), weight_decay=0.0, fused=True)
    for step in range(1, steps + 1):
        for group in adam.param_groups:
            group["lr"] = 0.01 * min(step / WARMUP, 1.0)
        rows = batch(generator)
        if 120 < step <= 123:
            rows = torch.randint(SYMBOLS, rows.shape, generator=generator)
        nats = F.cross_entropy(model(rows[:, :-1]).mT, rows[:, 1:])
        adam.zero_grad()
        nats.backward()
        clip_gradients(model.parameters(), clip or 1e9)
        adam.step()
        losses.append(nats.item())
    return losses


def spike(seed: int, beta: float, clip: float | None) -> float:
    """Measure how far the three batches of random characters of :func:`losses_around` throw the loss up.

    Args:
        seed: of the run.
        beta: Adam's second decay rate.
        clip: the greatest norm of a gradient; ``None`` does not clip.

    Returns:
        How far the largest loss of the next ten batches of text lies above the mean of the ten before, in nats.
    """
    losses = losses_around(seed, beta, clip, 133)
    return max(losses[123:]) - sum(losses[110:120]) / 10


STABILITY = [
    *(
        Experiment("peak after bad batches", "nats", spike, {"beta": beta, "clip": clip}, "median")
        for beta, clip in product((0.999, 0.95), (None, 0.5))
    ),
    *(
        Experiment(
            "at a high rate", "nats, or scores", at_a_rate, {"rate": rate, "remedy": remedy, "what": what}, "median"
        )
        for rate, remedy, what in product(RATES, REMEDIES, FOUND)
    ),
]
"""The plan: a spike that is made, and runs at two rates with and without remedies."""
