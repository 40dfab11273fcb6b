"""Linear functions that a causal Transformer learns from the examples in its input, as in Garg et al. (2022)."""

from collections.abc import Callable
from functools import cache

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from companion.encoder import Encoder, EncoderLayer
from companion.masks import causal
from companion.measure import Experiment
from companion.seeding import seeded

D, EXAMPLES, WIDTH, LAYERS, BATCH = 3, 8, 64, 3, 64
"""Numbers of an input, pairs of a sequence, and the sizes of the model and its batches."""
STAGES = (500, 2000, 8000)
"""Steps of training after which the model is measured."""


def sequences(
    batch: int, generator: torch.Generator, *, scale: float = 1.0
) -> tuple[Float[Tensor, "batch 8 3"], Float[Tensor, "batch 8"]]:
    r"""Draw pairs :math:`(x, w \cdot x)`, with a function :math:`w` of its own for each sequence.

    Args:
        batch: number of sequences.
        generator: what draws.
        scale: of the functions; 1 in training.

    Returns:
        Inputs, and their values.
    """
    x = torch.randn((batch, EXAMPLES, D), generator=generator)
    w = scale * torch.randn((batch, D, 1), generator=generator)
    return x, (x @ w)[..., 0]


class InContext(nn.Module):
    """A causal Transformer over x, y, x, y, ...: what it gives at an x is its guess of the y that follows.

    Args:
        seed: of the initial parameters.
    """

    def __init__(self, seed: int) -> None:
        super().__init__()
        with seeded(seed):
            self.read = nn.Linear(D + 1, WIDTH)
            self.place = nn.Parameter(0.02 * torch.randn(2 * EXAMPLES, WIDTH))
            choices = {"norm_placement": "pre", "activation": "gelu", "dropout": 0.0}
            layers = [EncoderLayer(WIDTH, 4, 4 * WIDTH, **choices) for _ in range(LAYERS)]
            self.stack = Encoder(layers, nn.LayerNorm(WIDTH))
            self.say = nn.Linear(WIDTH, 1)

    def forward(self, x: Float[Tensor, "batch 8 3"], y: Float[Tensor, "batch 8"]) -> Float[Tensor, "batch 8"]:
        """Guess each value from the pairs before it.

        Args:
            x: inputs.
            y: their values.

        Returns:
            The guesses.
        """
        pairs = torch.stack([F.pad(x, (0, 1)), F.pad(y[..., None], (D, 0))], dim=2)
        tokens = self.read(pairs.flatten(1, 2)) + self.place  # (batch, 16, width)
        return self.say(self.stack(tokens, causal(tokens.shape[1]))[:, ::2])[..., 0]


@cache
@torch.enable_grad()
def trained(seed: int, stages: tuple[int, ...] = STAGES) -> dict[int, InContext]:
    """Train on functions that are drawn anew for each step.

    Args:
        seed: of the parameters and the functions.
        stages: numbers of steps, in order; the rate is constant.

    Returns:
        The model after each of them.
    """
    model, generator, found = InContext(seed), torch.Generator().manual_seed(seed), {}
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4, fused=True)
    for step in range(1, max(stages) + 1):
        x, y = sequences(BATCH, generator)
        loss = F.mse_loss(model(x, y), y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step in stages:
            found[step] = InContext(seed).eval()
            found[step].load_state_dict(model.state_dict())
    return found


def least_squares(x: Float[Tensor, "batch 8 3"], y: Float[Tensor, "batch 8"]) -> Float[Tensor, "batch 8"]:
    """Guess each value by the smallest function that fits the pairs before it.

    Args:
        x: inputs.
        y: their values.

    Returns:
        The guesses; the first is 0.
    """
    guesses = [torch.zeros_like(y[:, 0])]
    for k in range(1, x.shape[1]):
        w = torch.linalg.pinv(x[:, :k].double()) @ y[:, :k, None].double()
        guesses.append((x[:, k, None].double() @ w)[:, 0, 0].to(y.dtype))
    return torch.stack(guesses, dim=1)


@torch.no_grad()
def errors(guess: Callable[[Tensor, Tensor], Tensor], scale: float = 1.0) -> list[float]:
    """Measure guesses on functions that nobody has seen.

    Args:
        guess: a function of inputs and values.
        scale: of the functions.

    Returns:
        The mean squared error by the number of pairs before, over 4,000 functions, with the variance of the values as
        the unit.
    """
    x, y = sequences(4000, torch.Generator().manual_seed(95), scale=scale)
    return ((guess(x, y) - y).square().mean(dim=0) / (D * scale**2)).tolist()


def in_context_error(seed: int, steps: int, examples: int, scale: float) -> float:
    """Measure a trained model.

    Args:
        seed: of the training.
        steps: of the training, one of :data:`STAGES`.
        examples: pairs that come before.
        scale: of the functions; 1 in training.

    Returns:
        The mean squared error, as by :func:`errors`.
    """
    return _all_errors(seed, steps, scale)[examples]


@cache
def _all_errors(seed: int, steps: int, scale: float) -> list[float]:
    return errors(trained(seed)[steps], scale)


IN_CONTEXT = [
    Experiment(
        "error in context",
        "of the variance",
        in_context_error,
        {"steps": steps, "examples": k, "scale": scale},
        "median",
    )
    for steps, scale in [*((steps, 1.0) for steps in STAGES), (STAGES[-1], 3.0)]
    for k in range(EXAMPLES)
]
