"""Updates of a table of pairs that look at triangles: the Evoformer's, for proteins.

A pair representation ``z`` of shape ``(..., n, n, c)`` holds a vector for each ordered pair of residues. The update of
the edge ``(i, j)`` reads the two other edges of each triangle ``i, j, k``. Jumper et al. (2021), supplement, sections
1.6.5 and 1.6.6, algorithms 11 to 14. Equal to the modules of ESMFold in ``transformers``.

Chapter: book/variants.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from companion.checks import check_sizes

Pairs = Float[Tensor, "*batch n n c"]


def _check_pairs(z: Tensor, c: int) -> None:
    """Refuse what is no table of pairs of the expected width.

    Raises:
        ValueError: ``z`` is not ``(..., n, n, c)``.
    """
    if z.ndim < 3 or z.shape[-3] != z.shape[-2] or z.shape[-1] != c:
        raise ValueError(
            f"a pair representation has the shape (..., n, n, {c}): got {tuple(z.shape)}. Give a vector of width "
            f"{c} to each ordered pair of residues."
        )


class TriangleMultiplication(nn.Module):
    """Update each edge by a sum of products of the two other edges: algorithms 11 and 12.

    Args:
        c: width of the vectors.
        outgoing: read the edges that leave ``i`` and ``j``, ``(i, k)`` and ``(j, k)``; else those that arrive there,
            ``(k, i)`` and ``(k, j)``.
    """

    def __init__(self, c: int, *, outgoing: bool = True) -> None:
        super().__init__()
        check_sizes(c=c)
        self.c, self.outgoing = c, outgoing
        self.norm_in, self.norm_out = nn.LayerNorm(c), nn.LayerNorm(c)
        self.a, self.a_gate, self.b, self.b_gate, self.gate, self.out = (nn.Linear(c, c) for _ in range(6))

    def forward(self, z: Pairs) -> Pairs:
        """Compute what is added to ``z``.

        Args:
            z: the pair representation.

        Returns:
            The update.

        Raises:
            ValueError: ``z`` is not ``(..., n, n, c)``.
        """
        _check_pairs(z, self.c)
        z = self.norm_in(z)
        a = self.a_gate(z).sigmoid() * self.a(z)
        b = self.b_gate(z).sigmoid() * self.b(z)
        edges = "...ikc, ...jkc -> ...ijc" if self.outgoing else "...kic, ...kjc -> ...ijc"
        return self.gate(z).sigmoid() * self.out(self.norm_out(torch.einsum(edges, a, b)))


class TriangleAttention(nn.Module):
    """Let each edge attend to the edges that share a node with it, with a bias from the third edge: algorithms 13, 14.

    Args:
        c: width of the vectors.
        n_heads: number of heads.
        d_k: width of a head.
        starting: attend from ``(i, j)`` to ``(i, k)`` with the bias of ``(j, k)``; else, around the other node, from
            ``(i, j)`` to ``(k, j)`` with the bias of ``(k, i)``.
    """

    def __init__(self, c: int, n_heads: int, d_k: int, *, starting: bool = True) -> None:
        super().__init__()
        check_sizes(c=c, n_heads=n_heads, d_k=d_k)
        self.c, self.n_heads, self.starting = c, n_heads, starting
        self.norm = nn.LayerNorm(c)
        self.q, self.k, self.v = (nn.Linear(c, n_heads * d_k, bias=False) for _ in range(3))
        self.bias = nn.Linear(c, n_heads, bias=False)
        self.gate, self.out = nn.Linear(c, n_heads * d_k), nn.Linear(n_heads * d_k, c)

    def forward(self, z: Pairs) -> Pairs:
        """Compute what is added to ``z``.

        Args:
            z: the pair representation.

        Returns:
            The update.

        Raises:
            ValueError: ``z`` is not ``(..., n, n, c)``.
        """
        _check_pairs(z, self.c)
        z = self.norm(z if self.starting else z.transpose(-3, -2))
        q, k, v = (w(z).unflatten(-1, (self.n_heads, -1)).transpose(-3, -2) for w in (self.q, self.k, self.v))
        bias = self.bias(z).movedim(-1, -3).unsqueeze(-4)  # the same for every row i
        heads = F.scaled_dot_product_attention(q, k, v, attn_mask=bias.to(q.dtype))
        update = self.out(self.gate(z).sigmoid() * heads.transpose(-3, -2).flatten(-2))
        return update if self.starting else update.transpose(-3, -2)
