"""Questions for testing kept apart and leaked, what a model answers and how sure it is, and a judge by likelihood."""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from companion.chapters.post_training import fine_tuning
from companion.chapters.post_training.fine_tuning import END, Pair
from companion.chapters.post_training.policies import grpo, log_probabilities, reference
from companion.chapters.post_training.sums import (
    LONGEST,
    TARGETS,
    Answers,
    as_answers,
    is_right,
    prompts,
    write,
)
from companion.chapters.training import small_gpt
from companion.generate import greedy
from companion.training import evaluating
from companion.transformer import DecoderOnly

STEPS, LONGEST_ANSWER = 400, 24
BENCHMARK, VALIDATION, FRESH = 200, 500, 1500


class Split(NamedTuple):
    """Questions with answers, each in one part.

    Args:
        train: 3,335 to train on.
        benchmark: 200, which may leak.
        validation: 500, to fit a temperature.
        fresh: 1,500 of the same kind, which nobody has published.
    """

    train: Sequence[Pair]
    benchmark: Sequence[Pair]
    validation: Sequence[Pair]
    fresh: Sequence[Pair]


@cache
def split() -> Split:
    """Divide the lines of the page on fine-tuning; its 200 questions for testing are the benchmark here."""
    rest, benchmark = fine_tuning.pairs()
    held = VALIDATION + FRESH
    return Split(rest[held:], benchmark, rest[:VALIDATION], rest[VALIDATION:held])


def words(text: str) -> list[str]:
    """Take text apart for a comparison: words in lower case, no punctuation.

    Args:
        text: any.

    Returns:
        The words in order.
    """
    return "".join(c if c.isalnum() or c == "'" else " " for c in text.lower()).split()


def ngrams(text: str, n: int) -> set[tuple[str, ...]]:
    """Collect all runs of n words.

    Args:
        text: any.
        n: words in a run.

    Returns:
        The runs; none where the text is shorter.
    """
    row = words(text)
    return {tuple(row[i : i + n]) for i in range(len(row) - n + 1)}


@cache
def examined(seed: int, copies: int) -> DecoderOnly:
    """Fine-tune the small GPT for 400 steps, with the benchmark among the training pairs or without.

    Args:
        seed: of new rows and batches.
        copies: of each benchmark question with its answer.

    Returns:
        In evaluation mode.
    """
    train = [*split().train, *(list(split().benchmark) * copies)]
    return fine_tuning.tune(fine_tuning.base(seed), STEPS, seed=seed, train=train)


class Replies(NamedTuple):
    """What a model answered.

    Args:
        logits: at each token of the answer, from which it was chosen.
        tokens: of the answers, filled up with ends.
        counted: which of them are the answer, its end included.
        right: whether the answer is the right word and then ends.
    """

    logits: Float[Tensor, "batch t vocab"]
    tokens: Int[Tensor, "batch t"]
    counted: Bool[Tensor, "batch t"]
    right: Bool[Tensor, " batch"]

    def confidence(self, temperature: float | int = 1.0) -> Float[Tensor, " batch"]:
        """Return the probability of each answer, the product of those of its tokens.

        Args:
            temperature: divides the logits; the greedy answer stays the same.

        Returns:
            One probability an answer.
        """
        log_p = (self.logits.double() / temperature).log_softmax(-1).gather(-1, self.tokens[..., None])[..., 0]
        return (log_p * self.counted).sum(1).exp()


@torch.no_grad()
def reply_all(model: DecoderOnly, some: Sequence[Pair]) -> Replies:
    """Let a model answer many questions greedily, those of one length together.

    Args:
        model: in evaluation mode.
        some: questions with answers.

    Returns:
        The answers, in the order of the questions.
    """
    asked = [fine_tuning.chat([("user", question)], prompt=True)[0] for question, _ in some]
    tokens = torch.full((len(some), LONGEST_ANSWER), END)
    logits = torch.zeros(len(some), LONGEST_ANSWER, model.config.vocab)
    for length in sorted({len(prompt) for prompt in asked}):
        rows = [i for i, prompt in enumerate(asked) if len(prompt) == length]
        prompt = torch.tensor([asked[i] for i in rows])
        said = greedy(model, prompt, LONGEST_ANSWER, end=END)
        found = model(torch.cat([prompt, said[:, :-1]], dim=1))[:, length - 1 :]
        tokens[rows, : said.shape[1]], logits[rows, : said.shape[1]] = said, found
    counted = ((tokens == END).long().cumsum(1) - (tokens == END).long()) == 0
    wanted = torch.full_like(tokens, END)
    for row, (_, answer) in enumerate(some):
        wanted[row, : len(answer)] = small_gpt.encode(answer)
    return Replies(logits, tokens, counted, (tokens == wanted).all(1))


@torch.no_grad()
def targets(model: DecoderOnly, some: Sequence[Pair]) -> tuple[Float[Tensor, "n vocab"], Int[Tensor, " n"]]:
    """Read the logits at each token of the right answers.

    Args:
        model: in evaluation mode.
        some: questions with answers.

    Returns:
        Logits, and the right tokens, ends included.
    """
    inputs, labels = fine_tuning.batch(some)
    kept = labels != fine_tuning.IGNORED
    return model(inputs)[kept], labels[kept]


@torch.no_grad()
def on_text(model: DecoderOnly, start: int, length: int) -> tuple[Float[Tensor, "n vocab"], Int[Tensor, " n"]]:
    """Read the logits of next characters of the validation text of pre-training.

    Args:
        model: in evaluation mode.
        start: the first character that is read.
        length: characters, a multiple of 128.

    Returns:
        Logits, and the characters that came.
    """
    _, text = small_gpt.splits()
    rows = text[start : start + length + 1].unfold(0, small_gpt.CONTEXT + 1, small_gpt.CONTEXT)
    return model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten()


@cache
def right_sums(target: int) -> Answers:
    """List all right answers to a prompt of the task of sums: each way to write a number as digits, in order.

    Args:
        target: the number.

    Returns:
        The answers, the prompt in each.
    """
    ways: list[list[list[int]]] = [[[]]]
    for total in range(1, target + 1):
        ways.append([[*row, d] for d in range(1, min(9, total) + 1) for row in ways[total - d]])
    rows = [row + [0] * (LONGEST - len(row)) for row in ways[target]]
    return as_answers(torch.full((len(rows), 1), target + 10), torch.tensor(rows))


@cache
def policy(seed: int, way: str) -> DecoderOnly:
    """Train a policy on the task of sums.

    Args:
        seed: of everything.
        way: ``"reference"`` or ``"GRPO on the checker"``.

    Returns:
        Not to be changed.
    """
    return reference(seed) if way == "reference" else grpo(seed, is_right)


def chance_of_right(model: DecoderOnly, target: int) -> float:
    """Add up the probabilities of all right answers, so that nothing has to be sampled.

    Args:
        model: a policy.
        target: the number in the prompt.

    Returns:
        A probability.
    """
    with evaluating(model):
        return log_probabilities(model, right_sums(target)).double().sum(1).exp().sum().item()


def own_preferred(judge: DecoderOnly, other: DecoderOnly, generator: torch.Generator, count: int = 4000) -> float:
    """Let a policy judge right answers, its own beside another's, by how probable they are under itself.

    Args:
        judge: writes one answer to each prompt, and judges.
        other: writes the other answer.
        generator: of the draws.
        count: of prompts; pairs with a wrong answer, or of equal ones, are left out.

    Returns:
        The share of pairs in which its own answer is the more probable one.
    """
    prompt = prompts(count, generator)
    own, others = (write(writer, prompt, generator) for writer in (judge, other))
    fair = is_right(own) & is_right(others) & (own.tokens != others.tokens).any(1)
    with evaluating(judge):
        mine, theirs = (log_probabilities(judge, one.pick(fair)).sum(1) for one in (own, others))
    return (mine > theirs).double().mean().item()


NUMBERS = tuple(TARGETS)
"""The prompts of the task of sums."""
