"""Interactive figures on positions: sinusoidal hands, rotary queries and keys, and biases by distance.

Vaswani et al. (2017), section 3.5; Su et al. (2024), section 3.2; Press et al. (2022), section 3; Raffel et al. (2020),
section 2.1. Chapter: book/positional-encoding.

The browser half repeats angles, sums of cosines and the formula of the buckets; the browser tests compare what it shows
with :mod:`companion.positional` on the same input.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from companion.explorers.base import Choice, Explorer, Numbers, Switch, Title, Whole
from companion.positional import alibi_slopes, encode, rotate, t5_bucket

WIDTHS = (8, 16, 32, 64, 128, 512)
SPAN = 64
"""Distances that the curves show: from 0, or from minus this, to this."""
LAYOUTS = ("interleaved", "half")
HEADS = (4, 8, 16)
BUCKETS = (8, 16, 32)
REACHES = (32, 64, 128, 256)
FURTHEST = 140


class SinusoidExplorer(Explorer):
    """Show a position as the hands of clocks, a step as their turning, and the dot product by distance."""

    _js = "sinusoids.js"
    _sheet = "dial.css"

    widths = Numbers(WIDTHS, fixed=True)
    d_model = Choice(WIDTHS, 16, help="width of the encoding")
    position = Whole(5, 0, 200, help="the first position")
    step = Whole(3, -SPAN, SPAN, help="distance of the second position")
    label = Title("A position as hands of clocks")

    def hands(self) -> Float[Tensor, "2 d_model"]:
        """Compute the encodings of the two positions that the figure shows now, with the package."""
        return encode(torch.tensor([self.position, self.position + self.step]), self.d_model)

    def _about(self) -> str:
        return f"d_model={self.d_model}, position={self.position}"


class RotaryExplorer(Explorer):
    """Rotate the pairs of one query and one key by their positions, and watch the score.

    Args:
        query: an even number of features, at most 16.
        key: as many.

    Raises:
        ValueError: the two differ in length, or the length is odd or above 16.
    """

    _js = "rotary.js"
    _sheet = "dial.css"

    query = Numbers(fixed=True)
    key = Numbers(fixed=True)
    position = Whole(6, 0, 200, help="position of the query")
    distance = Whole(
        2,
        0,
        SPAN,
        help="how far before it the key stands; before position 0 is possible, since only angles count",
    )
    pairing = Choice(
        LAYOUTS,
        "interleaved",
        help="which features are a pair, as the ``layout`` of :func:`~companion.positional.rotate`",
    )
    label = Title("Query and key, rotated by their positions")

    def __init__(self, query: Sequence[float], key: Sequence[float], **traits: object) -> None:
        if len(query) != len(key) or len(query) % 2 or not 2 <= len(query) <= 16:
            raise ValueError(
                "query and key have one even number of features, 2 to 16: got "
                f"{len(query)} and {len(key)}. Rotary positions rotate pairs."
            )
        super().__init__(query=query, key=key, **traits)

    def score(self) -> float:
        """Compute the dot product that the figure shows now, with the package."""
        both = torch.tensor([self.query, self.key], dtype=torch.float64)
        positions = torch.tensor([self.position, self.position - self.distance])
        query, key = rotate(both, positions, layout=self.pairing)
        return (query @ key).item()

    def _about(self) -> str:
        return f"{len(self.query)} features, layout {self.pairing}"


class DistanceBiasExplorer(Explorer):
    """Show what ALiBi subtracts at each distance, and which distances share a bucket of T5."""

    _js = "distance_bias.js"

    heads = Numbers(HEADS, fixed=True)
    n_heads = Choice(HEADS, 8, help="heads of ALiBi")
    head = Whole(3, 1, HEADS[-1], help="which of them, counted from 1; beyond the last means the last")
    distance = Whole(20, 0, FURTHEST, help="query minus key")
    buckets = Choice(BUCKETS, 32, help="buckets of T5")
    max_distance = Choice(REACHES, 128, help="from here on there is one bucket")
    causal = Switch(True, help="whether all buckets serve the past, as in a decoder")
    label = Title("A key at a distance: ALiBi and T5")

    def slope(self) -> float:
        """Compute the slope of the head that the figure shows now, with the package."""
        return alibi_slopes(self.n_heads)[min(self.head, self.n_heads) - 1].item()

    def bucket_of(self) -> Int[Tensor, " distances"]:
        """Compute the bucket of every distance from 0 to 140, with the package."""
        distances = torch.arange(FURTHEST + 1)
        return t5_bucket(distances, buckets=self.buckets, max_distance=self.max_distance, causal=self.causal)

    def _about(self) -> str:
        return f"{self.n_heads} heads, {self.buckets} buckets, up to {self.max_distance}"
