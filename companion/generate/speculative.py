"""Speculative decoding: a cheap draft guesses some tokens, and one pass of the model accepts or refuses them.

Leviathan et al. (2023), Algorithm 1; Chen et al. (2023), Algorithm 2, is the same rule. Chapter: book/generation.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from companion.generate.decoding import check_steps
from companion.transformer import DecoderOnly

Draft = Callable[[Int[Tensor, " t"]], Float[Tensor, " vocab"]]
"""From the tokens so far to the probabilities of the next one."""


def verify(
    target: Float[Tensor, "t_plus_1 vocab"],
    draft: Float[Tensor, "t vocab"],
    guessed: Int[Tensor, " t"],
    *,
    generator: torch.Generator,
) -> Int[Tensor, " t_new"]:
    r"""Keep the guesses before the first refusal, and draw one token more, so that all have the target's distribution.

    A guess :math:`x` of the draft's distribution :math:`q` is accepted with probability :math:`\min(1, p(x)/q(x))`.
    For a refused one a token is drawn from :math:`(p - q)_+`, normalised; after the last guess, from :math:`p`.

    Args:
        target: the model's probabilities :math:`p` at each guess and behind the last one, ``(t + 1, vocab)``.
        draft: the probabilities :math:`q` from which each guess was drawn, ``(t, vocab)``.
        guessed: ``(t,)``.
        generator: of the CPU.

    Returns:
        One to ``t + 1`` tokens.

    Raises:
        ValueError: there is not one row of the draft a guess, and one more of the target.
    """
    t = len(guessed)
    if len(draft) != t or target.shape != (t + 1, draft.shape[-1]):
        raise ValueError(
            f"t guesses have t rows of the draft and t + 1 of the target: got {t} guesses, draft {tuple(draft.shape)} "
            f"and target {tuple(target.shape)}. Run the model behind the last guess too."
        )
    at = torch.arange(t), guessed
    chance = target[at] / draft[at]
    accepted = torch.rand(t, generator=generator, dtype=chance.dtype) < chance  # the draw may be 0, as may p
    n = int(accepted.cumprod(0).sum())  # the guesses before the first refusal
    rest = (target[n] - draft[n]).clamp(min=0) if n < t else target[n]
    if not rest.any():  # only rounding told p from q
        rest = target[n]
    return torch.cat([guessed[:n], torch.multinomial(rest, 1, generator=generator)])


@dataclass(frozen=True)
class Speculated:
    """A text, and how it came about.

    Args:
        tokens: the new ones, ``(t_new,)``.
        steps: how many of them each pass of the model gave, its own token among them.
    """

    tokens: Int[Tensor, " t_new"]
    steps: list[int]


@torch.no_grad()
def speculate(
    model: DecoderOnly,
    draft: Draft,
    prompt: Int[Tensor, " t"],
    max_new: int,
    *,
    guesses: int,
    generator: torch.Generator,
) -> Speculated:
    """Continue a prompt with tokens that have the model's distribution, several for each pass of the model.

    Args:
        model: in evaluation mode; its cache holds accepted tokens only.
        draft: the probabilities of the next token, positive wherever a guess may fall.
        prompt: ``(t,)``, at least one token.
        max_new: number of tokens to generate.
        guesses: for each pass; 0 is plain sampling.
        generator: of the CPU.

    Returns:
        The new tokens, and how many each pass gave.

    Raises:
        ValueError: the model is in training mode, the prompt is empty, or a number is too small.
    """
    if model.training:
        raise ValueError("a model decodes in evaluation mode: got one in training mode. Call model.eval() first.")
    if prompt.ndim != 1 or len(prompt) == 0:
        raise ValueError(f"a prompt is (t,) with t >= 1: got {tuple(prompt.shape)}. Speculate for one text at a time.")
    if guesses < 0:
        raise ValueError(f"a pass checks guesses >= 0: got {guesses}. Use 0 for plain sampling.")
    check_steps(max_new)
    text, steps, cache = prompt, [], model.new_cache()
    while (left := max_new - sum(steps)) > 0:
        guessed, rows = text, []
        for _ in range(min(guesses, left - 1)):  # the pass adds a token of its own
            rows.append(draft(guessed))
            guessed = torch.cat([guessed, torch.multinomial(rows[-1], 1, generator=generator)])
        p = model(guessed[None, cache.length :], cache=cache)[0, -len(rows) - 1 :].softmax(-1)
        q = torch.stack(rows) if rows else p[:0]
        new = verify(p, q, guessed[len(text) :], generator=generator)
        text = torch.cat([text, new])
        cache.truncate(len(text) - 1)  # what was refused is forgotten; the last token has not been read yet
        steps.append(len(new))
    return Speculated(text[len(prompt) :], steps)


def expected_tokens(rate: float | int, guesses: int) -> float:
    r"""Expect this many tokens a pass, if each guess is accepted with the same probability, independently.

    .. math:: 1 + \alpha + \dots + \alpha^\gamma = \frac{1 - \alpha^{\gamma + 1}}{1 - \alpha}

    Leviathan et al. (2023), Eq. (1).

    >>> expected_tokens(0.5, 2)
    1.75

    Args:
        rate: of acceptance, the mean of :math:`\sum_x \min(p(x), q(x))`.
        guesses: for each pass.

    Returns:
        Tokens a pass, from 1 to ``guesses + 1``.

    Raises:
        ValueError: the rate is no probability, or guesses is negative.
    """
    if not 0 <= rate <= 1 or guesses < 0:
        raise ValueError(
            f"a rate lies in [0, 1] and guesses >= 0: got rate={rate} and guesses={guesses}. Measure the rate as the "
            "mean of the sum of min(p, q)."
        )
    return float(sum(rate**i for i in range(guesses + 1)))
