"""Low-rank adaptation, LoRA: a frozen linear map plus a trained product of two narrow matrices.

Hu et al. (2022), section 4.1, equation (3).

Chapter: book/post-training.
"""

import math
from collections.abc import Collection

import torch
from jaxtyping import Float
from torch import Tensor, nn

from companion.checks import check_sizes


class LoRALinear(nn.Module):
    r"""A linear map that stays as it is, and a change of low rank that is trained.

    .. math:: h = W_0 x + b + \frac{\alpha}{r} B A x

    `A` is drawn and `B` is zero, so that the map begins as the one of the base.

    >>> layer = LoRALinear(nn.Linear(6, 4), rank=2, alpha=4)
    >>> [(name, tuple(p.shape)) for name, p in layer.named_parameters() if p.requires_grad]
    [('a', (2, 6)), ('b', (4, 2))]

    Args:
        base: the map; its parameters are frozen.
        rank: of the change.
        alpha: over the rank, the factor of the change.

    Raises:
        ValueError: the rank is below 1 or above the smaller side of the matrix, or alpha is not positive.
    """

    def __init__(self, base: nn.Linear, rank: int, alpha: float | int) -> None:
        super().__init__()
        check_sizes(rank=rank)
        if rank > min(base.in_features, base.out_features):
            raise ValueError(
                f"a rank is at most the smaller side of its matrix: got rank={rank} for {tuple(base.weight.shape)}. "
                "Use a smaller one."
            )
        if not 0 < alpha < math.inf:
            raise ValueError(f"alpha is positive: got {alpha}. For no change, leave the adapter out.")
        self.base, self.rank, self.alpha = base.requires_grad_(False), rank, alpha
        self.in_features, self.out_features = base.in_features, base.out_features
        like = {"dtype": base.weight.dtype, "device": base.weight.device}
        self.a = nn.Parameter(torch.empty(rank, base.in_features, **like))
        self.b = nn.Parameter(torch.zeros(base.out_features, rank, **like))
        nn.init.kaiming_uniform_(self.a, a=math.sqrt(5))  # within 1 / sqrt(in_features), as the authors' code does

    def forward(self, x: Float[Tensor, "*batch d_in"]) -> Float[Tensor, "*batch d_out"]:
        """Apply the base and add the change, without forming the product of `B` and `A`."""
        return self.base(x) + self.alpha / self.rank * (x @ self.a.T @ self.b.T)

    @torch.no_grad()
    def merged(self) -> nn.Linear:
        """Return one linear map with the same outputs."""
        base = self.base
        map_ = nn.Linear(base.in_features, base.out_features, bias=base.bias is not None)
        map_.weight = nn.Parameter(base.weight + self.alpha / self.rank * self.b @ self.a)
        map_.bias = None if base.bias is None else nn.Parameter(base.bias.clone())
        return map_


def add_lora(model: nn.Module, rank: int, alpha: float | int, names: Collection[str]) -> list[str]:
    """Freeze a model, and give linear maps an adapter in place.

    Args:
        model: changed in place.
        rank: of each change.
        alpha: as in :class:`LoRALinear`.
        names: of the maps in their modules, for example ``{"w_q", "w_v"}``.

    Returns:
        The full names of the maps that got one.

    Raises:
        ValueError: a name is that of no linear map.
    """
    found = [name for name, part in model.named_modules() if isinstance(part, nn.Linear)]
    chosen = [name for name in found if name.rpartition(".")[2] in names]
    there = {name.rpartition(".")[2] for name in found}
    if missing := sorted(set(names) - there):
        raise ValueError(f"an adapter sits on a linear map of the model, {sorted(there)}: got {missing}.")
    model.requires_grad_(False)
    for name in chosen:
        home, _, last = name.rpartition(".")
        base = model.get_submodule(name)
        setattr(model.get_submodule(home), last, LoRALinear(base, rank, alpha))
    return chosen


def merge_lora(model: nn.Module) -> nn.Module:
    """Replace each map that has an adapter by the one merged map.

    Args:
        model: changed in place.

    Returns:
        The model.
    """
    for name, part in list(model.named_modules()):
        if isinstance(part, LoRALinear):
            home, _, last = name.rpartition(".")
            setattr(model.get_submodule(home), last, part.merged())
    return model
