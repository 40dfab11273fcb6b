"""Interactive figures on norms: what a norm averages over, and what a stack of layers does to sizes and gradients.

Ba et al. (2016), Zhang and Sennrich (2019), Ioffe and Szegedy (2015); where the norm stands: Xiong et al. (2020).
Chapter: book/add-norm.

The browser half repeats one mean and one root, and looks up the rest.
"""

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from companion.encoder import EncoderLayer
from companion.explorers.base import Choice, Explorer, Numbers, Packed, Real, Switch, Title
from companion.masks import padding
from companion.norm import SequenceBatchNorm, layer_norm, rms_norm
from companion.seeding import seeded

NORMS = ("batch", "layer", "rms")
EPS = 1e-5
NORM_PLACEMENTS = ("post", "pre", "none")
DEPTHS = (6, 12, 24)
SCALES = (0.5, 1.0, 2.0)
SIGNALS = ("gradient", "queries", "size", "tokens")
FLOOR = -12  # below 1e-12 there is only rounding
SEQUENCES, TOKENS, WIDTH, CLASSES = 4, 10, 32, 16

TWO_SENTENCES = (
    ((1.0, 4.0, -2.0, 1.0), (3.0, 5.0, 1.0, 3.0), (0.0, 2.0, 2.0, -4.0)),
    ((2.0, -1.0, 3.0, 0.0), (-1.0, 3.0, 0.0, 2.0), (0.0, 0.0, 0.0, 0.0)),
)


class NormExplorer(Explorer):
    """Normalise a small batch in three ways, and see which numbers a result depends on.

    Args:
        x: ``(batch, t, d_model)``, at most 3 by 4 by 5 numbers from -8 to 8.
        lengths: real tokens of each sentence; the rest is padding.
        first: the first number of the first token, moved by the reader; ``None`` means as in ``x``. Can be set later.

    Raises:
        ValueError: the batch is too large or uneven, or a length does not fit it.
    """

    _js = "norm_explorer.js"

    x = Numbers(fixed=True)
    lengths = Numbers(fixed=True)
    norm = Choice(NORMS, "batch", help="which norm")
    masked = Switch(True, help="whether the padding is left out")
    first = Real(1.0, -8.0, 8.0)
    label = Title("What a norm averages over")

    def __init__(
        self,
        x: Sequence[Sequence[Sequence[float]]] = TWO_SENTENCES,
        lengths: Sequence[int] = (3, 2),
        *,
        first: float | None = None,
        **traits: object,
    ) -> None:
        given = torch.as_tensor(x, dtype=torch.float64)
        if given.ndim != 3 or not all(1 <= n <= most for n, most in zip(given.shape, (3, 4, 5), strict=True)):
            raise ValueError(
                f"x is a batch of at most 3 sentences, 4 tokens and 5 features: got shape {tuple(given.shape)}. "
                "Show fewer."
            )
        padding(torch.tensor(lengths), given.shape[1])  # refuses lengths that do not fit
        if len(lengths) != len(given) or sum(lengths) < 2:
            raise ValueError(
                f"each of {len(given)} sentences has one length, and two tokens are real: got {list(lengths)}. "
                "Give one number a sentence."
            )
        first = given[0, 0, 0].item() if first is None else first
        super().__init__(x=given, lengths=list(lengths), first=first, **traits)

    def results(self, *, moved: bool = True) -> Float[Tensor, "batch t d_model"]:
        """Compute what the figure shows now, with the package.

        Args:
            moved: whether the first number is where the reader has moved it, or as it was given.

        Returns:
            The normalised batch; with ``masked`` the padding of BatchNorm is 0.
        """
        x = torch.tensor(self.x, dtype=torch.float64)
        if moved:
            x[0, 0, 0] = self.first
        if self.norm == "batch":
            mask = padding(torch.tensor(self.lengths), x.shape[1]) if self.masked else None
            return SequenceBatchNorm(x.shape[-1], eps=EPS).double()(x, mask).detach()
        return layer_norm(x, eps=EPS) if self.norm == "layer" else rms_norm(x, eps=EPS)

    def _about(self) -> str:
        return f"{len(self.x)} sentences, {len(self.x[0])} tokens, {len(self.x[0][0])} features"


class DepthExplorer(Explorer):
    """Compare gradients and activations by depth, at initialisation: post-norm, pre-norm, and no residual.

    Every stack that the controls offer is measured with :func:`depth_signals`; that takes a second or two.

    Args:
        seed: draws weights and data.
    """

    _js = "depth_explorer.js"

    levels = Packed(digits=2, fixed=True)
    depth = Choice(DEPTHS, 24, help="number of layers")
    scale = Choice(SCALES, 1.0, help="what the initial weights are multiplied by")
    signal = Choice(SIGNALS, "gradient", help="what to show, in the words of :func:`depth_signals`")
    label = Title("Through the depth, before training")

    def __init__(self, *, seed: int = 0, **traits: object) -> None:
        rows = [
            [[math.log10(max(value, 10.0**FLOOR)) for value in measured[name]] for name in SIGNALS]
            for n_layers in DEPTHS
            for factor in SCALES
            for norm_placement in NORM_PLACEMENTS
            for measured in [depth_signals(norm_placement, n_layers, factor, seed=seed)]
        ]
        super().__init__(levels=rows, **traits)

    def _about(self) -> str:
        return f"{len(NORM_PLACEMENTS)} norm placements, {len(DEPTHS)} depths, {len(SCALES)} scales"


def depth_signals(norm_placement: str, n_layers: int, scale: float = 1.0, *, seed: int = 0) -> dict[str, list[float]]:
    """Send random vectors through a stack that has not been trained, and a gradient back.

    Four sequences of ten vectors of width 32 with a variance of 1; linear maps drawn Xavier-uniform and multiplied by
    ``scale``; a cross-entropy over 16 random classes at the end, behind a last norm unless ``norm_placement`` is
    ``"post"``.

    Args:
        norm_placement: ``"post"``, ``"pre"``, or ``"none"``: norms as in ``"pre"``, and no residual connection.
        n_layers: how many encoder layers.
        scale: what the initial weights are multiplied by.
        seed: draws weights and data, the same data for each placement.

    Returns:
        For each layer, from the first: ``gradient``, the norm of the loss's gradient with respect to the second matrix
        of the feed-forward network; ``queries``, that with respect to the queries' matrix; ``size``, the root mean
        square of the layer's output; ``tokens``, how much of that differs between the tokens of a sequence, as a
        share from 0 to 1.

    Raises:
        ValueError: no placement of the norm has this name, or there is no layer.
    """
    if norm_placement not in NORM_PLACEMENTS or n_layers < 1:
        raise ValueError(
            f"norm_placement is one of {', '.join(NORM_PLACEMENTS)} and there is at least one layer: got "
            f"{norm_placement!r} and {n_layers}. Use one of these."
        )
    generator = torch.Generator().manual_seed(seed)
    draws = {"dtype": torch.float64, "generator": generator}
    h, readout = torch.randn(SEQUENCES, TOKENS, WIDTH, **draws), torch.randn(WIDTH, CLASSES, **draws)
    labels = torch.randint(CLASSES, (SEQUENCES * TOKENS,), generator=generator)
    layers, outputs = _stack(norm_placement, n_layers, scale, seed), []
    for layer in layers:
        h = layer.feed_forward(layer.norm_2(layer.attention(layer.norm_1(h)))) if norm_placement == "none" else layer(h)
        outputs.append(h.detach())
    h = h if norm_placement == "post" else layer_norm(h)
    F.cross_entropy((h @ readout / math.sqrt(WIDTH)).flatten(0, 1), labels).backward()
    return {
        "gradient": [layer.feed_forward.w_2.weight.grad.norm().item() for layer in layers],
        "queries": [layer.attention.w_q.weight.grad.norm().item() for layer in layers],
        "size": [output.square().mean().sqrt().item() for output in outputs],
        "tokens": [token_difference(output) for output in outputs],
    }


def token_difference(x: Float[Tensor, "*batch t d_model"]) -> float:
    r"""Say how much of a sequence differs between its tokens: 0 where all are equal, near 1 where they share nothing.

    .. math:: \frac{\lVert X - \mathbf 1 \bar x \rVert}{\lVert X \rVert}, \qquad \bar x = \frac1t \sum_i x_i

    Args:
        x: ``(*batch, t, d_model)``; the norms run over everything.

    Returns:
        A number from 0 to 1.
    """
    return ((x - x.mean(dim=-2, keepdim=True)).norm() / x.norm()).item()


def _stack(norm_placement: str, n_layers: int, scale: float, seed: int) -> list[EncoderLayer]:
    """Draw the layers in float64."""
    name = "post" if norm_placement == "post" else "pre"
    with seeded(seed):  # its own first weights depend on torch's default dtype
        layers = [EncoderLayer(WIDTH, 4, 4 * WIDTH, norm_placement=name, dropout=0.0).double() for _ in range(n_layers)]
    with seeded(seed):
        for layer in layers:
            for module in layer.modules():
                if isinstance(module, nn.Linear):
                    nn.init.xavier_uniform_(module.weight, gain=scale)
                    nn.init.zeros_(module.bias)
    return layers
