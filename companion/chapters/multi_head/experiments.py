"""What the chapter reads from measurements/multi-head: how many heads two questions need, and how narrow is too narrow.

The synthetic task of the pages is here too: two questions at each token, one by position and one by content.
"""

from functools import cache, partial

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from companion.attention import attention
from companion.measure import Experiment
from companion.multihead import MultiHeadAttention, merge_heads, split_heads
from companion.seeding import seeded

TOKENS, LETTERS, DIGITS = 8, 4, 4
"""A sequence has eight tokens, each a letter with a digit: four letters, each twice, and four digits."""


def two_questions(generator: torch.Generator, size: int) -> tuple[Tensor, Tensor, Tensor]:
    """Draw sequences, and for each token the letter of the token before and the digit of its twin.

    The twin of a token is the other token with the same letter.

    Args:
        generator: of the draws.
        size: number of sequences.

    Returns:
        The tokens ``(size, 8)``, each as letter · 4 + digit; the answers ``(size, 8, 2)``, letter and digit, where -100
        says that nothing is asked of the first token; the positions of the twins ``(size, 8)``.
    """
    order = torch.rand(size, TOKENS, generator=generator).argsort(dim=-1)
    letters = (torch.arange(TOKENS) // 2)[order]
    digits = torch.randint(DIGITS, (size, TOKENS), generator=generator)
    same = letters[:, :, None] == letters[:, None]
    twin = (same & ~torch.eye(TOKENS, dtype=torch.bool)).int().argmax(dim=-1)
    answers = torch.stack([letters.roll(1, dims=1), digits.gather(1, twin)], dim=-1)
    answers[:, 0] = -100
    return letters * DIGITS + digits, answers, twin


class Reader(nn.Module):
    """Embeddings, self-attention layers of some heads, and a small network that answers both questions."""

    def __init__(self, n_heads: int, n_layers: int = 1, d_model: int = 32) -> None:
        super().__init__()
        self.token, self.position = nn.Embedding(LETTERS * DIGITS, d_model), nn.Embedding(TOKENS, d_model)
        layers = (MultiHeadAttention(d_model, n_heads, bias=False) for _ in range(n_layers))
        self.attention = nn.ModuleList(layers)
        self.answer = nn.Sequential(nn.Linear(d_model, 64), nn.ReLU(), nn.Linear(64, LETTERS + DIGITS))

    def forward(self, tokens: Int[Tensor, "size t"]) -> Float[Tensor, "size t 2 4"]:
        """Return the logits of both answers."""
        x = self.token(tokens) + self.position.weight
        for layer in self.attention:
            x = x + layer(x)
        return self.answer(x).unflatten(-1, (2, DIGITS))


def train(model: nn.Module, seed: int, steps: int) -> nn.Module:
    """Train a model on the two questions with Adam, 32 sequences a step; the rate rises to 0.01 and falls again.

    Args:
        model: gives the logits of both answers, ``(size, 8, 2, 4)``, for tokens ``(size, 8)``.
        seed: of the sequences.
        steps: of training.

    Returns:
        The model, without gradients.
    """
    generator, adam = torch.Generator().manual_seed(seed), torch.optim.Adam(model.parameters())
    rate = torch.optim.lr_scheduler.OneCycleLR(adam, 1e-2, steps, pct_start=0.1)
    for _ in range(steps):
        tokens, answers, _ = two_questions(generator, 32)
        loss = F.cross_entropy(model(tokens).flatten(0, 2), answers.flatten())
        adam.zero_grad()
        loss.backward()
        adam.step()
        rate.step()
    return model.requires_grad_(False).eval()


def right(model: nn.Module, sequences: int = 300) -> list[float]:
    """Test a model on sequences that no training drew.

    Args:
        model: gives the logits of both answers, ``(size, 8, 2, 4)``, for tokens ``(size, 8)``.
        sequences: number of them.

    Returns:
        The percentages of right letters and of right digits.
    """
    tokens, answers, _ = two_questions(torch.Generator().manual_seed(99), sequences)
    found = model(tokens).argmax(dim=-1) == answers
    return (100 * found[:, 1:].double().mean(dim=(0, 1))).tolist()


@cache
def _trained(seed: int, n_heads: int, n_layers: int, steps: int) -> list[float]:
    with seeded(seed):
        model = Reader(n_heads, n_layers)
    return right(train(model, seed, steps), 1000)


def percent_right(answer: int, seed: int, heads: int, layers: int, steps: int = 5000) -> float:
    """Train a model on the two questions.

    Args:
        answer: which of them counts, 0 for the letter or 1 for the digit.
        seed: of the first parameters and the sequences.
        heads: of each layer.
        layers: of self-attention.
        steps: of training.

    Returns:
        The percentage of right answers. A blind guess gives 25. A model that finds nothing reaches 2/7 of the letters,
        because its own letter comes once more; one that finds only the twin 3/7 of the letters, and one that finds only
        the token before 5/14 of the digits.
    """
    return _trained(seed, heads, layers, steps)[answer]


def recall_loss(seed: int, heads: int, steps: int = 1500) -> float:
    """Train a layer of 64 features in some heads to look a symbol up, and return its loss.

    A sequence shows 16 of 32 symbols, each with one of 8 classes; the first symbol asks for its class. Symbols are
    fixed vectors. All four matrices are learned, queries and keys from the symbols, values from the classes. Guessing
    has a loss of ln 8 = 2.08.

    Args:
        seed: of the symbols, the first parameters and the sequences.
        heads: a divisor of 64.
        steps: of 64 sequences each.

    Returns:
        The mean loss of the last 50 steps, in nats.
    """
    generator = torch.Generator().manual_seed(seed)
    symbols = torch.randn(32, 64, generator=generator)
    learned = (torch.randn(4, 64, 64, generator=generator) / 8).requires_grad_()
    adam, losses = torch.optim.Adam([learned], lr=3e-3), []
    for _ in range(steps):
        x = symbols[torch.rand(64, 32, generator=generator).argsort(dim=-1)[:, :16]]
        classes = torch.randint(8, (64, 16), generator=generator)
        query, key = split_heads(x[:, :1] @ learned[0], heads), split_heads(x @ learned[1], heads)
        value = split_heads(F.one_hot(classes, 64).float() @ learned[2], heads)
        answer = merge_heads(attention(query, key, value))[:, 0] @ learned[3]
        loss = F.cross_entropy(answer[:, :8], classes[:, 0])
        adam.zero_grad()
        loss.backward()
        adam.step()
        losses.append(loss.item())
    return sum(losses[-50:]) / 50


SIZES = [{"heads": heads, "layers": 1} for heads in (1, 2, 4, 8, 32)] + [{"heads": 1, "layers": 2}]
SEEDS = [range(10 if size in SIZES[:2] else 3) for size in SIZES]  # ten where one head is compared with two
LONG = 20_000
RECALLS = [{"heads": heads} for heads in (1, 4, 16, 32, 64)] + [{"heads": 64, "steps": LONG}]
EXPERIMENTS = [
    *(
        Experiment(f"{name} right", "%", partial(percent_right, answer), size, "min", seeds)
        for answer, name in enumerate(("letters", "digits"))
        for size, seeds in zip(SIZES, SEEDS, strict=True)
    ),
    *(Experiment("loss of a recall", "nats", recall_loss, settings) for settings in RECALLS),
]
