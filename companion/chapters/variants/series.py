"""Forecasts of noisy seasonal series by models that see the same past and have the same steps of training."""

import math
from functools import cache

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from companion.encoder import EncoderLayer
from companion.measure import Experiment
from companion.positional import RotaryPosition
from companion.seeding import seeded

PAST, FUTURE = 48, 12
"""Values that are seen, and values that are asked for."""
PERIOD = 12
STEPS, BATCH, WIDTH = 2000, 32, 64
MODELS = ("seasonal naive", "linear", "LSTM", "Transformer, learned", "Transformer, rotary", "Transformer, none")
"""The forecasters; of a Transformer, with its positions."""


def series(batch: int, generator: torch.Generator) -> tuple[Float[Tensor, "batch 48"], Float[Tensor, "batch 12"]]:
    """Draw series: a season of 12 values with a shape of its own, a trend, and noise that carries over.

    Args:
        batch: number of series.
        generator: what draws.

    Returns:
        Past and future of each, standardised by the past.
    """
    t = torch.arange(PAST + FUTURE)
    size, phase = torch.rand((2, batch, 3, 1), generator=generator)
    season = (size * torch.sin(2 * math.pi * (t * torch.tensor([[1], [2], [3]]) / PERIOD + phase))).sum(dim=1)
    trend = torch.randn((batch, 1), generator=generator) * t / (PAST + FUTURE)
    steps = 0.3 * torch.randn((batch, PAST + FUTURE), generator=generator)
    carried = 0.7 ** (t[:, None] - t).clamp(min=0) * (t[:, None] >= t)
    values = season + trend + steps @ carried.T
    past = values[:, :PAST]
    values = (values - past.mean(dim=1, keepdim=True)) / past.std(dim=1, keepdim=True)
    return values[:, :PAST], values[:, PAST:]


class Forecaster(nn.Module):
    """A recurrent network or two layers of attention over the past; its last output gives the whole future.

    Args:
        kind: ``"LSTM"``, or ``"Transformer, "`` and its positions: learned, rotary or none.
        seed: of the initial parameters.

    Raises:
        ValueError: there is no such model.
    """

    def __init__(self, kind: str, seed: int) -> None:
        super().__init__()
        if kind not in MODELS[2:]:
            raise ValueError(f"kind is one of {', '.join(MODELS[2:])}: got {kind!r}. Choose one.")
        self.kind = kind
        with seeded(seed):
            self.value, self.future = nn.Linear(1, WIDTH), nn.Linear(WIDTH, FUTURE)
            self.place = nn.Parameter(0.02 * torch.randn(PAST, WIDTH)) if kind.endswith("learned") else None
            self.cells = nn.LSTM(WIDTH, WIDTH, batch_first=True) if kind == "LSTM" else None
            turn = RotaryPosition(WIDTH // 4) if kind.endswith("rotary") else None
            choices = {"norm_placement": "pre", "dropout": 0.0, "position": turn}
            layers = 0 if self.cells else 2
            self.layers = nn.ModuleList(EncoderLayer(WIDTH, 4, 2 * WIDTH, **choices) for _ in range(layers))

    def forward(self, past: Float[Tensor, "batch 48"]) -> Float[Tensor, "batch 12"]:
        """Forecast."""
        x = self.value(past[..., None])
        if self.cells:
            return self.future(self.cells(x)[0][:, -1])
        x = x if self.place is None else x + self.place
        for layer in self.layers:
            x = layer(x)
        return self.future(x[:, -1])


@cache
@torch.enable_grad()
def trained(kind: str, seed: int, steps: int = STEPS) -> Forecaster:
    """Train a model on series that are drawn anew for each step.

    Args:
        kind: of the model, as for :class:`Forecaster`.
        seed: of the parameters and the series.
        steps: of AdamW.

    Returns:
        The model.
    """
    model, generator = Forecaster(kind, seed), torch.Generator().manual_seed(seed)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, max(steps, 2), pct_start=0.1)
    for _ in range(steps):
        past, future = series(BATCH, generator)
        loss = F.mse_loss(model(past), future)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return model.eval()


@torch.no_grad()
def forecast_error(seed: int, model: str, steps: int = STEPS) -> float:
    """Measure a forecaster on series that it has not seen.

    Args:
        seed: of the training.
        model: one of :data:`MODELS`.
        steps: of the training; the linear map is fitted by least squares to as many series.

    Returns:
        The root of the mean squared error, in standard deviations of the past, over 2,000 series.
    """
    past, future = series(2000, torch.Generator().manual_seed(96))
    if model == "seasonal naive":
        found = past[:, -FUTURE:]
    elif model == "linear":
        seen, after = series(BATCH * steps, torch.Generator().manual_seed(seed))
        found = past @ torch.linalg.lstsq(seen.double(), after.double()).solution.float()
    else:
        found = trained(model, seed, steps)(past)
    return F.mse_loss(found, future).sqrt().item()


FORECASTS = [Experiment("forecast error", "deviations", forecast_error, {"model": name}, "median") for name in MODELS]
