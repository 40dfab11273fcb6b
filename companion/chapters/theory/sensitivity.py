"""How many bits of an input change what an untrained network answers: Bhattamishra et al. (2023).

Chapter: book/theory/inductive-bias.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from companion.config import ModelConfig
from companion.seeding import seeded
from companion.transformer import EncoderOnly

BITS = 12
"""Of an input."""


class Recurrence(nn.Module):
    """An LSTM on bits, whose last state gives one number."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.lstm = nn.Embedding(2, 16), nn.LSTM(16, 16, batch_first=True)
        self.output = nn.Linear(16, 1)

    def forward(self, bits: Int[Tensor, "batch t"]) -> Float[Tensor, " batch"]:
        """Answer 1 where the number is above 0: ``(batch,)``."""
        return self.output(self.lstm(self.embedding(bits))[0][:, -1])[:, 0]


class Attention(nn.Module):
    """An encoder of two layers on bits, with sinusoidal positions, whose mean gives one number."""

    def __init__(self) -> None:
        super().__init__()
        sizes = {"d_model": 16, "n_layers": 2, "n_heads": 4, "d_ff": 64, "dropout": 0.0}
        self.encoder = EncoderOnly(ModelConfig(vocab=2, norm_placement="pre", scale_embedding=False, **sizes))
        self.output = nn.Linear(16, 1)

    def forward(self, bits: Int[Tensor, "batch t"]) -> Float[Tensor, " batch"]:
        """Answer 1 where the number is above 0: ``(batch,)``."""
        return self.output(self.encoder(bits).mean(1))[:, 0]


def network(kind: str, seed: int, *, normal: bool = False) -> nn.Module:
    """Make an untrained network.

    Args:
        kind: ``"LSTM"`` or ``"Transformer"``.
        seed: of the parameters.
        normal: draw matrices from N(0, 1), larger than is usual before training.

    Returns:
        From bits to numbers.
    """
    with seeded(seed):
        model = {"LSTM": Recurrence, "Transformer": Attention}[kind]()
        if normal:
            for parameter in model.parameters():
                if parameter.ndim > 1:
                    nn.init.normal_(parameter)
    return model.eval()


def average_sensitivity(model: Callable[[Tensor], Tensor], generator: torch.Generator, count: int = 50) -> float:
    """Count the single bits whose flip changes the answer, on average over inputs.

    Args:
        model: from bits to numbers, whose sign is the answer.
        generator: draws the inputs.
        count: of inputs.

    Returns:
        From 0 to 12; a function drawn at random from all functions has 6 on average.
    """
    bits = torch.randint(2, (count, BITS), generator=generator)
    flipped = bits[:, None] ^ torch.eye(BITS, dtype=torch.long)  # (count, BITS, BITS)
    with torch.no_grad():
        changes = (model(bits)[:, None] > 0) != (model(flipped.flatten(0, 1)).view(count, BITS) > 0)
    return changes.sum(1).double().mean().item()
