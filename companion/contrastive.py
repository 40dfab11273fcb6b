"""Vectors of images and texts in one space: Radford et al. (2021), section 2.3 and Fig. 3. Chapter: book/variants."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor


def similarities(
    images: Float[Tensor, "n_images d"], texts: Float[Tensor, "n_texts d"], log_scale: Float[Tensor, ""]
) -> Float[Tensor, "n_images n_texts"]:
    r"""Score each image against each text: the cosine, divided by a temperature :math:`\tau`.

    .. math::
        S_{ij} = e^{s} \, \frac{u_i \cdot v_j}{\lVert u_i \rVert \lVert v_j \rVert}, \qquad e^{s} = 1 / \tau

    Args:
        images: vectors of images, ``(n_images, d)``.
        texts: vectors of texts, ``(n_texts, d)``.
        log_scale: :math:`s`, a number that CLIP learns.

    Returns:
        ``(n_images, n_texts)``.
    """
    return log_scale.exp() * F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).mT


def contrastive_loss(
    images: Float[Tensor, "n d"], texts: Float[Tensor, "m d"], log_scale: Float[Tensor, ""]
) -> Float[Tensor, ""]:
    """Ask of each image which text of the batch is its own, and of each text which image: the mean cross-entropy.

    >>> contrastive_loss(torch.eye(3), torch.eye(3), torch.tensor(0.0))
    tensor(0.5514)

    Args:
        images: vectors of images, ``(n, d)``.
        texts: vectors of their texts, in the same order, ``(n, d)``.
        log_scale: logarithm of the scale of the cosines.

    Returns:
        The loss, one number.

    Raises:
        ValueError: the images and texts are no pairs.
    """
    if len(images) != len(texts) or not len(images):
        raise ValueError(
            f"image i belongs to text i: got {len(images)} images and {len(texts)} texts. Give one text an image."
        )
    scores = similarities(images, texts, log_scale)
    own = torch.arange(len(scores), device=scores.device)
    return (F.cross_entropy(scores, own) + F.cross_entropy(scores.mT, own)) / 2
