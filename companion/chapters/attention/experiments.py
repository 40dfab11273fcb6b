"""What the chapter's pages read from measurements/attention: how a scale and other switches decide what is learned."""

from collections.abc import Callable
from functools import partial
from itertools import product

import torch
import torch.nn.functional as F
from torch import Tensor

from companion.chapters.attention import small_translator
from companion.measure import Experiment

SYMBOLS, PAIRS, CLASSES, FEATURES = 32, 16, 8, 64
FACTORS = {"1": 0.0, "1/√d_k": -0.5, "1/d_k": -1.0}
"""What multiplies a score: a power of d_k."""


def lookup_batch(generator: torch.Generator, batch: int = 64) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Draw lookups: 16 of 32 symbols with a class each; one of them is asked for, and its class is wanted.

    Args:
        generator: of the draws.
        batch: number of lookups.

    Returns:
        The symbols shown ``(batch, 16)``, their classes as one-hot rows ``(batch, 16, 8)`` in torch's default dtype,
        the symbol asked for and the class wanted, both ``(batch,)``.
    """
    shown = torch.rand(batch, SYMBOLS, generator=generator).argsort(dim=-1)[:, :PAIRS]
    classes = torch.randint(CLASSES, (batch, PAIRS), generator=generator)
    asked = torch.randint(PAIRS, (batch, 1), generator=generator)
    rows = F.one_hot(classes, CLASSES).to(torch.get_default_dtype())
    return shown, rows, shown.gather(1, asked)[:, 0], classes.gather(1, asked)[:, 0]


def train_lookup(
    generator: torch.Generator, d_k: int, factor: str, rate: float, steps: int, *, readout: bool = True
) -> tuple[Callable[[Tensor, Tensor, Tensor], Tensor], Tensor, Tensor]:
    """Train one head, and a matrix that reads its output, to look a symbol up.

    Symbols are fixed vectors of 64 features with variance 1, and the values are the one-hot classes. Queries and keys
    have variance 1 at first. The matrix, at first the identity, turns the output into logits, as the layers behind
    attention do in a model.

    Args:
        generator: of the symbols, the first parameters and the lookups.
        d_k: width of the head.
        factor: what multiplies a score, one of ``FACTORS``.
        rate: learning rate of Adam.
        steps: of 64 lookups each.
        readout: without it, the output itself is the probability of each class, and the logarithm in the loss cancels
            the saturation of the softmax.

    Returns:
        The function from lookups to logits, and the queries and keys of all symbols, both ``(32, d_k)``.
    """
    scale, symbols = d_k ** FACTORS[factor], torch.randn(SYMBOLS, FEATURES, generator=generator)
    w_q, w_k = torch.randn(2, FEATURES, d_k, generator=generator).div(FEATURES**0.5).unbind()
    parameters = [w_q.requires_grad_(), w_k.requires_grad_(), torch.eye(CLASSES).requires_grad_()]
    adam = torch.optim.Adam(parameters, lr=rate)

    def logits(shown: Tensor, values: Tensor, asked: Tensor) -> Tensor:
        table = scale * (symbols @ w_q) @ (symbols @ w_k).mT  # the score of each symbol with each
        scores = table[asked[:, None], shown]
        if readout:
            return (scores.softmax(dim=-1)[:, None] @ values)[:, 0] @ parameters[2]
        of_class = scores[..., None].masked_fill(values == 0, -1e9)  # a class may be that of no key
        return of_class.logsumexp(dim=1)

    for _ in range(steps):
        *given, wanted = lookup_batch(generator)
        loss = F.cross_entropy(logits(*given), wanted)
        adam.zero_grad()
        loss.backward()
        adam.step()
    return logits, (symbols @ w_q).detach(), (symbols @ w_k).detach()


def lookup_accuracy(seed: int, d_k: int, factor: str, rate: float, steps: int = 2000, *, readout: bool = True) -> float:
    """Train one head to look a symbol up, and ask it for new ones.

    Args:
        seed: of the symbols, the first parameters and the lookups.
        d_k: width of the head.
        factor: what multiplies a score, one of ``FACTORS``.
        rate: learning rate of Adam.
        steps: of 64 lookups each.
        readout: as in :func:`train_lookup`.

    Returns:
        The percentage of right answers to 2,048 new lookups; guessing gives 12.5.
    """
    generator = torch.Generator().manual_seed(seed)
    logits, *_ = train_lookup(generator, d_k, factor, rate, steps, readout=readout)
    *given, wanted = lookup_batch(generator, batch=2048)
    with torch.no_grad():
        return 100 * (logits(*given).argmax(dim=-1) == wanted).double().mean().item()


def after_training(measure: Callable[[small_translator.Translator], float], seed: int, **recipe: bool | float) -> float:
    """Train the small translator, and measure something in its test sentences.

    Args:
        measure: takes the model.
        seed: of first parameters and batches.
        **recipe: of ``small_translator.Recipe``.

    Returns:
        What was measured.
    """
    return float(measure(small_translator.trained(seed, small_translator.Recipe(**recipe)).model))


UNSCALED = {"factor": "1", "rate": 0.001}
AS_ON_THE_PAGE = {"scale": True, "causal": True, "warmup": False, "rate": 0.005}
GENDERS = {"feminine": ("la", "une"), "masculine": ("le", "un")}
RECIPES = [AS_ON_THE_PAGE | change for change in ({}, {"scale": False}, {"causal": False}, {"warmup": True})] + [
    AS_ON_THE_PAGE | {"rate": rate, "warmup": warmup} for rate in (0.002, 0.01, 0.02) for warmup in (False, True)
]
EXPERIMENTS = (
    [
        Experiment("lookup", "% right", lookup_accuracy, {"d_k": d_k, "factor": factor, "rate": rate}, statistic="min")
        for d_k, factor, rate in product((64, 512), FACTORS, (0.001, 0.003, 0.01, 0.03, 0.1))
    ]
    + [
        Experiment(
            "lookup-longer", "% right", lookup_accuracy, {"d_k": d_k, **UNSCALED, "steps": steps}, statistic="min"
        )
        for d_k, steps in ((64, 4000), (512, 12000))
    ]
    + [
        Experiment(name, unit, partial(after_training, count), recipe, statistic="median", seeds=(1, 2, 3))
        for recipe in RECIPES
        for name, unit, count in (
            ("translator words wrong", "words", small_translator.words_wrong),
            ("translator sentences right", "sentences", small_translator.sentences_right),
        )
    ]
    + [
        Experiment(
            *(f"translator first article, {gender}", "% beyond the first word"),
            partial(after_training, partial(small_translator.beyond_first_word, articles=articles)),
            AS_ON_THE_PAGE,
            statistic="median",
            seeds=(1, 2, 3),
        )
        for gender, articles in GENDERS.items()
    ]
)
"""Two thousand steps of each factor and rate, more steps at one rate without a scale; the translator's switches."""
