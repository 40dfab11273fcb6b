r"""Mixtures of experts: a router, feed-forward networks of which each token uses a few, two ways to balance.

The choice with weights that sum to 1: Jiang et al. (2024), section 2.1. One expert, its capacity and the balance loss:
Fedus et al. (2022), sections 2.1 and 2.2, Eqs. (1) to (6). The balance by a bias: DeepSeek-AI (2024), V3, section
2.1.2.

Chapter: book/scaling.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from companion.checks import check_sizes
from companion.feedforward import SwiGLU

__all__ = ["MixtureOfExperts", "Routing", "balance_loss", "balanced_bias", "route", "shares", "within_capacity"]


class Routing(NamedTuple):
    """Which experts each token uses.

    Args:
        probabilities: softmax of the router's logits, ``(tokens, n_experts)``.
        chosen: numbers of the experts, the most probable first, ``(tokens, k)``.
        weights: of their outputs, ``(tokens, k)``.
    """

    probabilities: Float[Tensor, "tokens n_experts"]
    chosen: Int[Tensor, "tokens k"]
    weights: Float[Tensor, "tokens k"]


def route(
    logits: Float[Tensor, "tokens n_experts"],
    k: int,
    *,
    normalised: bool = True,
    bias: Float[Tensor, " n_experts"] | None = None,
) -> Routing:
    r"""Choose the k most probable experts of each token.

    .. math:: g_e = \frac{p_e}{\sum_{c \in \text{chosen}} p_c}, \qquad p = \operatorname{softmax}(z)

    Args:
        logits: z, of the router.
        k: how many experts a token uses.
        normalised: divide by the sum over the chosen, as Mixtral does: the softmax of the chosen logits. Without it the
            weights are :math:`p_e`, as in the Switch Transformer.
        bias: added to the probabilities for the choice, and to nothing else.

    Returns:
        Probabilities, choice and weights.

    Raises:
        ValueError: there are fewer than k experts.
    """
    check_sizes(k=k)
    if k > logits.shape[-1]:
        raise ValueError(f"a token uses at most all experts: got k={k} of {logits.shape[-1]}. Use a smaller k.")
    probabilities = logits.softmax(-1)
    score = probabilities if bias is None else probabilities + bias
    chosen = score.topk(k, dim=-1).indices
    weights = probabilities.gather(-1, chosen)
    return Routing(probabilities, chosen, weights / weights.sum(-1, keepdim=True) if normalised else weights)


def shares(chosen: Int[Tensor, "tokens k"], n_experts: int) -> Float[Tensor, " n_experts"]:
    """Count which share of all choices each expert has; together they are 1.

    >>> shares(torch.tensor([[0], [2], [2], [2]]), n_experts=3)
    tensor([0.2500, 0.0000, 0.7500])

    Args:
        chosen: numbers of the experts.
        n_experts: how many there are.

    Returns:
        One share an expert.
    """
    check_sizes(n_experts=n_experts)
    return torch.bincount(chosen.flatten(), minlength=n_experts) / chosen.numel()


def balance_loss(routing: Routing) -> Float[Tensor, ""]:
    r"""Measure how uneven a routing is: 1 if all experts have equal shares, up to E if one has all.

    .. math:: E \sum_e f_e P_e

    :math:`f_e` is the share of choices and has no gradient, :math:`P_e` the mean probability. ``transformers`` adds
    over the k choices in place of taking their share, which gives k times as much.

    Args:
        routing: of a batch.

    Returns:
        The loss, without a weight.
    """
    f = shares(routing.chosen, routing.probabilities.shape[-1]).to(routing.probabilities)
    return routing.probabilities.shape[-1] * (f * routing.probabilities.mean(0)).sum()


def balanced_bias(
    bias: Float[Tensor, " n_experts"], chosen: Int[Tensor, "tokens k"], rate: float | int
) -> Float[Tensor, " n_experts"]:
    """Raise the bias of the experts that have less than an even share by ``rate``, and lower that of the others.

    Args:
        bias: before the step.
        chosen: in the step.
        rate: of the change.

    Returns:
        The bias of the next step.
    """
    return bias + rate * torch.sign(1 / len(bias) - shares(chosen, len(bias)).to(bias))


def within_capacity(chosen: Int[Tensor, "tokens k"], n_experts: int, capacity: int) -> Bool[Tensor, "tokens k"]:
    """Say which choices an expert has room for; all first choices come before all second ones.

    >>> within_capacity(torch.tensor([[0], [0], [1], [0]]), n_experts=2, capacity=2).flatten()
    tensor([ True,  True,  True, False])

    Args:
        chosen: numbers of the experts.
        n_experts: how many there are.
        capacity: how many tokens an expert takes.

    Returns:
        ``True`` where the token is processed.
    """
    check_sizes(n_experts=n_experts, capacity=capacity)
    order = chosen.T.flatten()
    place = nn.functional.one_hot(order, n_experts).cumsum(0).gather(1, order[:, None])
    return (place <= capacity).view(chosen.T.shape).T


class MixtureOfExperts(nn.Module):
    r"""Several feed-forward networks and a router that chooses k of them for each token.

    .. math:: y = \sum_{e \in \text{chosen}(x)} g_e(x) \operatorname{SwiGLU}_e(x)

    Args:
        d_model: width of input and output.
        d_ff: width of the hidden layer of one expert.
        n_experts: how many there are.
        k: how many of them a token uses.
        normalised: see :func:`route`.
        capacity_factor: an expert takes at most this multiple of its even share of the choices, rounded down; what
            comes beyond it adds nothing to the output. ``None`` sets no limit.
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        n_experts: int,
        k: int = 2,
        *,
        normalised: bool = True,
        capacity_factor: float | int | None = None,
    ) -> None:
        super().__init__()
        check_sizes(n_experts=n_experts, k=k)
        if k > n_experts:
            raise ValueError(f"a token uses at most all experts: got k={k} of {n_experts}. Use a smaller k.")
        if capacity_factor is not None and capacity_factor <= 0:
            raise ValueError(f"a capacity factor is above 0: got {capacity_factor}. Use None for no limit.")
        self.router = nn.Linear(d_model, n_experts, bias=False)
        self.experts = nn.ModuleList(SwiGLU(d_model, d_ff) for _ in range(n_experts))
        self.k, self.normalised, self.capacity_factor = k, normalised, capacity_factor
        self.register_buffer("bias", torch.zeros(n_experts))

    def forward(self, x: Float[Tensor, "*batch d_model"]) -> tuple[Float[Tensor, "*batch d_model"], Routing]:
        """Return the output, and which experts each token used."""
        tokens = x.flatten(0, -2)
        routing = route(self.router(tokens), self.k, normalised=self.normalised, bias=self.bias)
        kept = torch.ones_like(routing.chosen, dtype=torch.bool)
        if self.capacity_factor is not None:
            even = routing.chosen.numel() / len(self.experts)
            kept = within_capacity(routing.chosen, len(self.experts), max(1, int(self.capacity_factor * even)))
        output = torch.zeros_like(tokens)
        for e, expert in enumerate(self.experts):
            token, rank = ((routing.chosen == e) & kept).nonzero(as_tuple=True)
            weighted = routing.weights[token, rank, None] * expert(tokens[token]) if len(token) else tokens[:0]
            output = output.index_add(0, token, weighted)
        return output.view_as(x), routing
