"""Right answers to the exercises on what follows pre-training, written in other ways than the references."""

import math

import torch
import torch.nn.functional as F

from companion.training import preference


def labels_by_last_seen(tokens, assistant, end):
    """A token counts if the last role before it is the assistant's, and no end lies between."""
    position = torch.arange(len(tokens))
    started = torch.where(tokens == assistant, position, -1).cummax(0).values
    ended = torch.where(tokens == end, position, -1).cummax(0).values
    before = torch.cat([torch.tensor([-1]), ended[:-1]])
    spoken = (started > before) & (tokens != assistant)
    return torch.where(spoken, tokens, -100)


def labels_by_slices(tokens, assistant, end):
    labels, words, t = [-100] * len(tokens), tokens.tolist(), 0
    while assistant in words[t:]:
        first = words.index(assistant, t) + 1
        last = words.index(end, first) + 1 if end in words[first:] else len(words)
        labels[first:last], t = words[first:last], last
    return torch.tensor(labels)


def pass_at_k_by_fractions(right, samples, k):
    """Whole numbers of any size, divided at the end."""
    found = []
    for c in right.tolist():
        some = math.comb(samples, k) - math.comb(samples - c, k)
        found.append(some / math.comb(samples, k))
    return torch.tensor(found, dtype=torch.float64)


def pass_at_k_by_logarithms(right, samples, k):
    wrong = samples - right.double()
    few = wrong < k
    wrong = torch.where(few, float(samples), wrong)
    whole = torch.tensor(float(samples), dtype=torch.float64)
    log = wrong.add(1).lgamma() - (wrong - k + 1).lgamma() - whole.add(1).lgamma() + (whole - k + 1).lgamma()
    return torch.where(few, 1.0, -log.expm1())


def grpo_by_the_package(log_p, old, rewards, said, clip):
    advantage = preference.group_advantages(rewards)[..., None].expand_as(log_p)
    pair = (x.masked_fill(~said, 0.0) for x in (log_p, old))
    gain = preference.clipped_objective(*pair, advantage, clip=clip)
    return -torch.where(said, gain, torch.nan).nanmean(dim=-1).mean()


def grpo_by_loops(log_p, old, rewards, said, clip):
    """A positive advantage is cut above, a negative one below."""
    answers = []
    for p, group in enumerate(rewards.tolist()):
        mean = math.fsum(group) / len(group)
        deviation = math.sqrt(math.fsum((reward - mean) ** 2 for reward in group) / (len(group) - 1))
        for i, reward in enumerate(group):
            advantage = (reward - mean) / (deviation + 1e-6)
            ratio = torch.exp(log_p[p, i][said[p, i]] - old[p, i][said[p, i]])
            ratio = ratio.clamp(max=1 + clip) if advantage > 0 else ratio.clamp(min=1 - clip)
            answers.append(-(ratio * advantage).mean())
    return torch.stack(answers).mean()


def dpo_by_cross_entropy(policy, reference, tokens, said, beta):
    """Labels of -100 leave tokens out, and the package takes the four sums."""
    labels = tokens.masked_fill(~said, -100)[..., 1:]

    def log_probability(logits, row):
        left = F.cross_entropy(logits[row, :, :-1].mT, labels[row], reduction="none")
        return -left.sum(dim=-1)

    four = [log_probability(model, row) for model in (policy, reference) for row in (0, 1)]
    return preference.dpo_loss(*four, beta=beta)


def dpo_by_loops(policy, reference, tokens, said, beta):
    losses = []
    for pair in range(tokens.shape[1]):
        margin = torch.zeros((), dtype=policy.dtype)
        for sign, row in ((1, 0), (-1, 1)):
            for t in range(1, tokens.shape[2]):
                if said[row, pair, t]:
                    token = tokens[row, pair, t]
                    ours = policy[row, pair, t - 1] - torch.logsumexp(policy[row, pair, t - 1], dim=-1)
                    theirs = reference[row, pair, t - 1] - torch.logsumexp(reference[row, pair, t - 1], dim=-1)
                    margin = margin + sign * (ours[token] - theirs[token])
        losses.append(F.softplus(-beta * margin))
    return torch.stack(losses).mean()


ALTERNATIVES = {
    "grpo-loss": (grpo_by_the_package, grpo_by_loops),
    "masked-dpo-loss": (dpo_by_cross_entropy, dpo_by_loops),
    "answer-labels": (labels_by_last_seen, labels_by_slices),
    "pass-at-k": (pass_at_k_by_fractions, pass_at_k_by_logarithms),
}
