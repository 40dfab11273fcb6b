"""Images as sequences: Dosovitskiy et al. (2021), section 3.1, equations 1 to 4. Chapter: book/variants."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from companion.checks import check_sizes
from companion.encoder import Encoder, EncoderLayer
from companion.seeding import seeded


def patchify(
    images: Float[Tensor, "*batch channels height width"], size: int
) -> Float[Tensor, "*batch patches numbers"]:
    r"""Cut images into square patches, row by row, and flatten each: channel, then row, then column.

    A linear map of the result is a convolution whose kernel and stride are ``size``.

    >>> patchify(torch.arange(16.0).view(1, 4, 4), 2)[1]
    tensor([2., 3., 6., 7.])

    Args:
        images: ``(..., channels, height, width)``.
        size: of a patch, in pixels along a side.

    Returns:
        ``(..., patches, channels * size ** 2)``.

    Raises:
        ValueError: the images have fewer than three axes, or ``size`` does not divide height and width.
    """
    check_sizes(size=size)
    if images.ndim < 3 or images.shape[-2] % size or images.shape[-1] % size:
        raise ValueError(
            f"images are (..., channels, height, width), and size divides height and width: got "
            f"{tuple(images.shape)} and size={size}. Pad or resize them, or take another size."
        )
    *batch, channels, height, width = images.shape
    grid = images.reshape(*batch, channels, height // size, size, width // size, size)
    return grid.movedim((-4, -2), (-5, -4)).reshape(*batch, -1, channels * size**2)


class VisionTransformer(nn.Module):
    r"""ViT: patches, a class token, learned positions, a pre-norm encoder with GELU.

    .. math::
        z_0 = [z_{\text{class}}; x_1 E; \dots; x_N E] + E_{\text{pos}}, \qquad
        y = \operatorname{LN}(z_L)_0

    Args:
        side: pixels along a side of an image.
        size: pixels along a side of a patch; divides ``side``.
        channels: of an image, 3 for colours.
        d_model: width of the tokens.
        n_heads: number of attention heads.
        d_ff: width of the hidden layer of the feed-forward networks.
        n_layers: number of layers.
        classes: of images.
        eps: added to the variance in the normalisations.
        seed: draws the weights, and leaves torch's global state alone. ``None`` draws from the global state.

    Raises:
        ValueError: a size is none, ``size`` does not divide ``side``, or heads do not divide.

    >>> model = VisionTransformer(side=8, size=2, channels=1, d_model=12, n_heads=3, d_ff=24, n_layers=2, classes=10)
    >>> model(torch.zeros(5, 1, 8, 8)).shape
    torch.Size([5, 10])
    """

    def __init__(
        self,
        side: int,
        size: int,
        channels: int,
        d_model: int,
        n_heads: int,
        d_ff: int,
        n_layers: int,
        classes: int,
        *,
        eps: float = 1e-6,
        seed: int | None = None,
    ) -> None:
        super().__init__()
        check_sizes(side=side, size=size, channels=channels, n_layers=n_layers, classes=classes)
        if side % size:
            raise ValueError(f"size divides side: got size={size} and side={side}. Take another size of patches.")
        self.size = size
        with seeded(seed):
            self.embed = nn.Linear(channels * size**2, d_model)
            self.token = nn.Parameter(0.02 * torch.randn(d_model))
            self.position = nn.Parameter(0.02 * torch.randn((side // size) ** 2 + 1, d_model))
            choices = {"norm_placement": "pre", "activation": "gelu", "eps": eps, "dropout": 0.0}
            layers = [EncoderLayer(d_model, n_heads, d_ff, **choices) for _ in range(n_layers)]
            self.encoder = Encoder(layers, nn.LayerNorm(d_model, eps=eps))
            self.head = nn.Linear(d_model, classes)

    def hidden(self, images: Float[Tensor, "batch channels side side"]) -> Float[Tensor, "batch t d_model"]:
        """Give the class token, which comes first, and each patch a vector.

        Args:
            images: ``(batch, channels, side, side)``.

        Returns:
            ``(batch, patches + 1, d_model)``.

        Raises:
            ValueError: the images have another size than the model has positions for.
        """
        x = self.embed(patchify(images, self.size))
        if x.shape[1] + 1 != len(self.position):
            raise ValueError(
                f"an image has {len(self.position) - 1} patches, one a learned position: got {x.shape[1]}. Resize the "
                "image, or interpolate the positions."
            )
        token = self.token.expand(len(x), 1, -1)
        return self.encoder(torch.cat([token, x], dim=1) + self.position)

    def forward(self, images: Float[Tensor, "batch channels side side"]) -> Float[Tensor, "batch classes"]:
        """Score the classes by the output of the class token: ``(batch, classes)``."""
        return self.head(self.hidden(images)[:, 0])
