"""An interactive figure on masks: their shapes, their conventions, and the weights that they leave.

Vaswani et al. (2017), sections 3.1 and 3.2.3. Chapter: book/attention.

The package computes the numbers here, in Python. The browser half repeats only a softmax, a mask or a sum, and the
browser tests compare what it shows with the package on the same input.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from companion.attention import attention_weights
from companion.explorers.base import Choice, Explorer, Numbers, Switch, Title, Whole
from companion.masks import and_masks, causal, padding, window


class MaskExplorer(Explorer):
    """Build a mask, read it in three conventions, and see the weights that it leaves of scores drawn once.

    The 6 x 6 scores come from the standard normal distribution; the figure uses ``t_q`` rows and ``t_k`` columns.

    Args:
        seed: of the generator.
    """

    _js = "masks.js"

    scores = Numbers(digits=2, fixed=True)
    pattern = Choice(("every", "causal", "window"), "causal", help="which keys a query may look at")
    t_q = Whole(5, 1, 6, help="number of queries; the causal patterns need ``t_q <= t_k``")
    t_k = Whole(5, 1, 6, help="number of keys")
    size = Whole(2, 1, 6, help="keys in the window")
    padded = Switch(True, help="whether a padding mask is combined with the pattern")
    length = Whole(4, 0, 6, help="number of keys that are not padding; more than ``t_k`` means ``t_k``")
    convention = Choice(
        ("look", "hide", "additive"), "look", help="True = may look, True = hidden, or 0 and minus infinity"
    )
    label = Title("What each query may look at")

    def __init__(self, *, seed: int = 0, **traits: object) -> None:
        scores = torch.randn(6, 6, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        super().__init__(scores=scores, **traits)

    def boolean_mask(self) -> Bool[Tensor, "..."] | None:
        """Build the mask that the figure shows now, with the package.

        Returns:
            ``None``, ``(t_q, t_k)``, or with padding ``(1, t_q or 1, t_k)``.

        Raises:
            ValueError: a causal pattern with more queries than keys.
        """
        shapes = {"every": None, "causal": lambda: causal(self.t_q, self.t_k)}
        shapes["window"] = lambda: window(self.t_q, self.size, self.t_k)
        shape = shapes[self.pattern]
        return and_masks(shape and shape(), padding([min(self.length, self.t_k)], self.t_k) if self.padded else None)

    def weights(self) -> Float[Tensor, "t_q t_k"]:
        """Compute the weights that the figure shows now, with the package.

        Returns:
            ``(t_q, t_k)``. A row with no key is all 0 with ``convention="look"``, and NaN with the other two: that is
            what ``nn.MultiheadAttention`` and a softmax over minus infinity alone give.
        """
        scores = torch.tensor(self.scores, dtype=torch.float64)[: self.t_q, : self.t_k]
        mask = self.boolean_mask()
        # Without its axis for the batch, which is of one sentence.
        mask = torch.ones(1, self.t_k, dtype=torch.bool) if mask is None else mask.flatten(0, -2)
        weights = attention_weights(scores, torch.eye(self.t_k, dtype=torch.float64), mask, scale=1.0)
        if self.convention == "look":
            return weights
        return weights.masked_fill(~mask.any(dim=-1, keepdim=True), torch.nan)
