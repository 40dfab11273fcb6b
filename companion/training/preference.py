r"""Losses that take preferences or rewards in place of a next token.

Preferences: Bradley and Terry (1952) as in Christiano et al. (2017), section 2.2.3, and Ouyang et al. (2022), Eq. (1);
DPO: Rafailov et al. (2023), Eq. (7). The clipped objective: Schulman et al. (2017), Eq. (7). Advantages of a group and
the estimate of the KL divergence: Shao et al. (2024), section 4.1.

Chapter: book/post-training.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor


def preference_loss(chosen: Float[Tensor, " pairs"], rejected: Float[Tensor, " pairs"]) -> Float[Tensor, ""]:
    r"""Average the negative log-probability of the judge's choices, if scores differ by the log of the odds.

    .. math:: L = -\frac1N \sum_i \ln \sigma(r^w_i - r^l_i)

    Args:
        chosen: scores of the answers that were preferred.
        rejected: scores of the others.

    Returns:
        The loss; ln 2 where the scores are equal.

    Raises:
        ValueError: there is not one rejected answer for each chosen one.

    >>> preference_loss(torch.tensor([2.0]), torch.tensor([0.0]))
    tensor(0.1269)
    """
    _check_equal(chosen=chosen, rejected=rejected)
    return -F.logsigmoid(chosen - rejected).mean()


def dpo_loss(
    chosen: Float[Tensor, " pairs"],
    rejected: Float[Tensor, " pairs"],
    reference_chosen: Float[Tensor, " pairs"],
    reference_rejected: Float[Tensor, " pairs"],
    *,
    beta: float | int,
) -> Float[Tensor, ""]:
    r"""Take beta times the log-ratio of policy and reference as the score of an answer.

    .. math:: L = -\frac1N \sum_i \ln \sigma\left(
        \beta \ln \frac{\pi(y^w_i)}{\pi_0(y^w_i)} - \beta \ln \frac{\pi(y^l_i)}{\pi_0(y^l_i)}\right)

    Args:
        chosen: the policy's log-probabilities of the whole preferred answers, summed over their tokens.
        rejected: those of the other answers.
        reference_chosen: the reference's, of the preferred answers.
        reference_rejected: the reference's, of the others.
        beta: strength of the KL penalty that the policy is the best for.

    Returns:
        The loss; ln 2 where the policy is the reference.

    Raises:
        ValueError: ``beta`` is not above 0, or the numbers of answers differ.
    """
    if not beta > 0:
        raise ValueError(f"beta is above 0: got {beta}. Rafailov et al. use 0.1 and 0.5.")
    _check_equal(chosen=chosen, rejected=rejected, reference_chosen=reference_chosen)
    _check_equal(chosen=chosen, reference_rejected=reference_rejected)
    return preference_loss(beta * (chosen - reference_chosen), beta * (rejected - reference_rejected))


def clipped_objective(
    log_p: Float[Tensor, "*batch"],
    old: Float[Tensor, "*batch"],
    advantage: Float[Tensor, "*batch"],
    *,
    clip: float = 0.2,
) -> Float[Tensor, "*batch"]:
    r"""Weigh each advantage by the ratio of new and old probability, without a gain beyond the clip.

    .. math:: \min\bigl(r A, \operatorname{clip}(r, 1 - \epsilon, 1 + \epsilon) A\bigr), \quad r = \pi / \pi_{old}

    Args:
        log_p: log-probabilities of the sampled tokens under the policy.
        old: those under the policy that sampled them.
        advantage: of each token.
        clip: epsilon.

    Returns:
        What is to be maximised, for each token.

    Raises:
        ValueError: the shapes differ, or the clip lies outside (0, 1).
    """
    if not 0 < clip < 1:
        raise ValueError(f"a clip lies between 0 and 1: got {clip}. Schulman et al. use 0.2.")
    _check_equal(log_p=log_p, old=old, advantage=advantage)
    ratio = (log_p - old).exp()
    return torch.minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage)


def group_advantages(
    rewards: Float[Tensor, "prompts group"], *, scaled: bool = True, eps: float = 1e-6
) -> Float[Tensor, "prompts group"]:
    """Compare the reward of each answer with the mean of the answers to the same prompt.

    Args:
        rewards: one row a prompt.
        scaled: whether the row is divided by its standard deviation, plus ``eps``.
        eps: keeps a row of equal rewards at 0.

    Returns:
        Advantages; each row has the mean 0.

    Raises:
        ValueError: a group has fewer than two answers.

    >>> group_advantages(torch.tensor([[1.0, 0.0, 0.0, 1.0], [1.0, 1.0, 1.0, 1.0]]), scaled=False)
    tensor([[ 0.5000, -0.5000, -0.5000,  0.5000],
            [ 0.0000,  0.0000,  0.0000,  0.0000]])
    """
    if rewards.shape[-1] < 2:
        raise ValueError(
            f"a group has two answers or more: got rewards {tuple(rewards.shape)}. Sample more answers for each prompt."
        )
    advantage = rewards - rewards.mean(dim=-1, keepdim=True)
    return advantage / (rewards.std(dim=-1, keepdim=True) + eps) if scaled else advantage


def kl_estimate(log_p: Float[Tensor, "*batch"], reference: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
    r"""Estimate the KL divergence from one sample of the policy, without bias and never below 0.

    .. math:: \rho - 1 - \ln \rho, \quad \rho = \pi_0 / \pi

    Args:
        log_p: log-probabilities of sampled tokens under the policy.
        reference: those under the reference.

    Returns:
        One estimate a token.

    Raises:
        ValueError: the shapes differ.
    """
    _check_equal(log_p=log_p, reference=reference)
    return torch.expm1(reference - log_p) - (reference - log_p)


def _check_equal(**named: Tensor) -> None:
    if len({tensor.shape for tensor in named.values()}) > 1:
        shapes = ", ".join(f"{name} {tuple(tensor.shape)}" for name, tensor in named.items())
        raise ValueError(f"there is one number of each kind for each answer or token: got {shapes}. Align them.")
