"""A tiny BERT, trained on the language of which every probability is known."""

from functools import cache

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from companion.chapters.variants import language
from companion.config import toy
from companion.measure import Experiment
from companion.seeding import seeded
from companion.transformer import EncoderOnly

STEPS, BATCH = 1500, 64
FILLED = slice(1, 1 + language.LENGTH)
"""Where the first sentence of a pair is."""
WRITTEN = slice(2 + language.LENGTH, -1)
"""Where the second is."""


class TinyBert(nn.Module):
    """Two layers of width 64, a head for words and one for whether the second sentence follows the first.

    Args:
        seed: of the initial parameters.
    """

    def __init__(self, seed: int) -> None:
        super().__init__()
        sizes = {"position": "learned", "max_len": 15, "segments": 2, "embedding_norm": True, "eps": 1e-12}
        config = toy(len(language.WORDS), activation="gelu", scale_embedding=False, **sizes)
        self.encoder = EncoderOnly(config, seed=seed)
        with seeded(seed):
            self.next = nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2))

    def forward(self, tokens: Int[Tensor, "batch 15"]) -> Float[Tensor, "batch 15 64"]:
        """Give each token a vector."""
        return self.encoder(tokens, segments=language.segments(len(tokens)))

    def words(self, tokens: Int[Tensor, "batch 15"]) -> Float[Tensor, "batch 15 vocab"]:
        """Give the probabilities of the words at each position."""
        return self.encoder.logits(self(tokens)).softmax(dim=-1)


@cache
@torch.enable_grad()
def trained(seed: int, steps: int = STEPS) -> TinyBert:
    """Train on masked words and on the next sentence.

    Args:
        seed: of the parameters and the sentences.
        steps: of AdamW, on pairs of sentences that are drawn anew.

    Returns:
        The model.
    """
    model, generator = TinyBert(seed), torch.Generator().manual_seed(seed)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, max(steps, 2), pct_start=0.1)
    for _ in range(steps):
        tokens, _, follows = language.sentence_pairs(BATCH, generator)
        read, chosen = language.hidden_words(tokens, generator)
        hidden = model(read)
        loss = F.cross_entropy(model.encoder.logits(hidden)[chosen], tokens[chosen])
        loss = loss + F.cross_entropy(model.next(hidden[:, 0]), follows.long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return model.eval()


@torch.no_grad()
def missing(seed: int, steps: int = STEPS) -> float:
    """Measure how far the words' probabilities are from the exact ones, with one word of a sentence hidden.

    Args:
        seed: of the training.
        steps: of the training.

    Returns:
        The Kullback-Leibler divergence in nats, over 1,000 pairs and the six positions of the first sentence.
    """
    tokens = language.sentence_pairs(1000, torch.Generator().manual_seed(99))[0]
    model, total = trained(seed, steps), 0.0
    for at in range(language.LENGTH):
        read = tokens.clone()
        read[:, 1 + at] = language.MASK
        exact = language.posterior(read[:, FILLED], at)
        found = model.words(read)[:, 1 + at]
        total += torch.special.xlogy(exact, exact / found).sum(dim=-1).mean().item()
    return total / language.LENGTH


@torch.no_grad()
def follows_right(seed: int, steps: int = STEPS) -> float:
    """Measure how often the head of the next sentence is right.

    Args:
        seed: of the training.
        steps: of the training.

    Returns:
        Percent of 4,000 pairs.
    """
    tokens, _, follows = language.sentence_pairs(4000, torch.Generator().manual_seed(98))
    model = trained(seed, steps)
    return 100 * (model.next(model(tokens)[:, 0]).argmax(dim=-1) == follows).float().mean().item()


@torch.no_grad()
def written(model: nn.Module, tokens: Int[Tensor, "batch 15"], order: str, seed: int) -> Bool[Tensor, " batch"]:
    """Let a model of masked words write the second sentences.

    Args:
        model: has ``words``, which gives the probabilities at each position.
        tokens: pairs, of which the first sentences are read.
        order: ``"at once"`` draws all words from one pass, ``"one by one"`` one in each, from the left.
        seed: of the draws.

    Returns:
        Which of them are sentences of the language.

    Raises:
        ValueError: there is no such order.
    """
    if order not in ("at once", "one by one"):
        raise ValueError(f"order is 'at once' or 'one by one': got {order!r}. Choose one.")
    generator, tokens = torch.Generator().manual_seed(seed), tokens.clone()
    tokens[:, WRITTEN] = language.MASK
    at = range(*WRITTEN.indices(tokens.shape[1]))
    for places in [list(at)] if order == "at once" else [[place] for place in at]:
        chances = model.words(tokens)[:, places].flatten(0, 1)
        tokens[:, places] = torch.multinomial(chances, 1, generator=generator).view(len(tokens), -1)
    return language.valid(tokens[:, WRITTEN])


def sentences_written(seed: int, order: str, steps: int = STEPS) -> float:
    """Measure how many sentences that a trained model writes belong to the language.

    Args:
        seed: of the training.
        order: of the words, as for :func:`written`.
        steps: of the training.

    Returns:
        Percent of 2,000.
    """
    tokens = language.sentence_pairs(2000, torch.Generator().manual_seed(97))[0]
    return 100 * written(trained(seed, steps), tokens, order, seed).float().mean().item()


MASKED = [
    Experiment("masked words, divergence from the exact probabilities", "nats", missing, {}, "median"),
    Experiment("next sentence right", "%", follows_right, {}, "median"),
    *(
        Experiment("sentences of the language", "%", sentences_written, {"order": order}, "median")
        for order in ("at once", "one by one")
    ),
]
