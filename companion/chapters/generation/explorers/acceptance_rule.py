"""Why a token of speculative decoding has the target's probability, whatever the draft. Chapter: book/generation."""

import math
from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from companion.explorers.base import Explorer, Numbers, Title, Whole, Words

DRAFTS = {
    "prefers another token": (0.10, 0.15, 0.60, 0.10, 0.05),
    "gives all the same": (0.20, 0.20, 0.20, 0.20, 0.20),
    "always guesses “my”": (1.00, 0.00, 0.00, 0.00, 0.00),
    "never guesses “my”": (0.00, 0.45, 0.30, 0.15, 0.10),
}
TENTHS = 10


class AcceptanceRule(Explorer):
    """Show how accepted guesses and what is drawn after refusals make up the target's distribution.

    Args:
        tokens: two to five.
        target: their probabilities under the target, in whole per cent, so that the sums are right as they are shown.
        drafts: name -> probabilities under a draft, likewise; one to six.

    Raises:
        ValueError: there are too few or too many, or the probabilities are no whole per cent that sum to 1.
    """

    _js = "acceptance_rule.js"

    tokens = Words(fixed=True)
    target = Numbers(fixed=True)
    names = Words(fixed=True)  # beside the numbers: what a notebook keeps of a dict has another order
    drafts = Numbers(fixed=True)
    draft = Whole(0, 0, lambda explorer: len(explorer.drafts) - 1, help="which of the drafts")
    mix = Whole(0, 0, TENTHS, help="how many tenths of the way the draft has moved to the target")
    guesses = Whole(4, 1, 8, help="how many tokens the draft guesses for a pass of the target")
    label = Title("Accept, or draw again")

    def __init__(
        self,
        tokens: Sequence[str] = ("my", "the", "a", "your", "no"),
        target: Sequence[float | int] = (0.40, 0.30, 0.15, 0.10, 0.05),
        drafts: Mapping[str, Sequence[float | int]] = DRAFTS,
        **traits: object,
    ) -> None:
        if not 2 <= len(tokens) <= 5 or not 1 <= len(drafts) <= 6:
            raise ValueError(
                f"the figure has 2 to 5 tokens and 1 to 6 drafts: got {len(tokens)} tokens and {len(drafts)} drafts. "
                "Leave some out."
            )
        for name, row in {"the target": target, **drafts}.items():
            percent = [round(100 * p) if math.isfinite(p) else -1 for p in row]
            whole = all(abs(100 * p - n) < 1e-6 for p, n in zip(row, percent, strict=True))
            if len(row) != len(tokens) or not whole or min(percent) < 0 or sum(percent) != 100:
                raise ValueError(
                    f"{name} has a probability for each of {len(tokens)} tokens, in whole per cent that sum to 100: "
                    f"got {[*row]}. Round them to two decimals."
                )
        super().__init__(tokens=tokens, target=target, names=[*drafts], drafts=[*drafts.values()], **traits)

    def rows(self) -> Float[Tensor, "6 tokens"]:
        r"""Compute what the figure shows now.

        Returns:
            A row each for the draft :math:`q`, the target :math:`p`, what is accepted, :math:`\min(p, q)`, the residual
            :math:`(p - q)_+` divided by its sum, what is drawn from it, and the sum of that and of what is accepted.
            Where nothing is refused, the residual is all 0.
        """
        target = torch.tensor(self.target, dtype=torch.float64)
        draft = torch.tensor(self.drafts[self.draft], dtype=torch.float64)
        q = draft + self.mix / TENTHS * (target - draft)
        accepted = torch.minimum(target, q)
        refused = 1 - accepted.sum()
        rest = torch.zeros_like(target) if self.mix == TENTHS else (target - q).clamp(min=0)
        residual = rest / rest.sum() if rest.any() else rest
        redrawn = refused * residual
        return torch.stack([q, target, accepted, residual, redrawn, accepted + redrawn])

    def _about(self) -> str:
        return f"{len(self.tokens)} tokens, {len(self.drafts)} drafts"
