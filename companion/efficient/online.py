"""The online softmax: Milakov and Gimelshein (2018), Algorithm 3; with values, Rabe and Staats (2021).

Chapter: book/complexity.
"""

from collections.abc import Iterable

import torch
from jaxtyping import Float
from torch import Tensor


def online_softmax_sum(
    tiles: Iterable[tuple[Float[Tensor, "*batch t_q _"], Float[Tensor, "*batch _ d_v"]]],
) -> tuple[Float[Tensor, "*batch t_q d_v"], Float[Tensor, "*batch t_q"]]:
    r"""Compute ``softmax(scores) @ value`` in one pass over blocks of keys, and the log-sum-exp of the scores.

    Softmax divides by a sum that is known only at the end, and needs the largest score, known only then too. So both
    are kept as they stand, and put right when a larger score comes. With :math:`m` the largest score so far,

    .. math::
        m' = \max(m, \max_j s_j), \qquad
        \ell' = e^{m - m'} \ell + \sum_j e^{s_j - m'}, \qquad
        o' = e^{m - m'} o + \sum_j e^{s_j - m'} v_j ,

    and at the end the result is :math:`o / \ell` and the log-sum-exp :math:`m + \log \ell`.

    >>> score, value = torch.tensor([[0.0, 1.0, 2.0]]).log(), torch.tensor([[9.0], [3.0], [6.0]])
    >>> online_softmax_sum([(score[:, :2], value[:2]), (score[:, 2:], value[2:])])
    (tensor([[5.]]), tensor([1.0986]))

    Args:
        tiles: for each block of keys, the scores ``(*batch, t_q, block)`` and the values ``(*batch, block, d_v)``.
            A hidden pair has the score minus infinity.

    Returns:
        The weighted sum, and the log-sum-exp. Where every score is minus infinity: 0, and minus infinity.

    Raises:
        ValueError: there is no block.
    """
    peak = total = output = None
    for scores, value in tiles:
        if peak is None:  # the lowest number, not minus infinity, so that no difference below is inf - inf
            peak = scores.new_full((*scores.shape[:-1], 1), torch.finfo(scores.dtype).min)
            total, output = torch.zeros_like(peak), scores.new_zeros(*scores.shape[:-1], value.shape[-1])
        new_peak = torch.maximum(peak, scores.amax(dim=-1, keepdim=True))
        weights = (scores - new_peak).exp_()
        shrink = (peak - new_peak).exp_()  # sums measured from the old peak, measured from the new one
        total = total * shrink + weights.sum(dim=-1, keepdim=True)
        output = output * shrink + weights @ value
        peak = new_peak
    if peak is None:
        raise ValueError("a softmax needs at least one score: got no block of keys. Pass at least one.")
    output = output / total.masked_fill(total == 0, 1.0)  # total is 0 where there is no key, else at least 1
    return output, (peak + total.log()).squeeze(-1)
