"""The small GPT of the chapter on training learns to answer: a task, a chat template, a loss mask and a training run.

The task: the user sends a line of Shakespeare, and the assistant answers with its last word in capitals. The vocabulary
grows by three special tokens, so that the template cannot be confused with text.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import torch
import torch.nn.functional as F
from jaxtyping import Int
from torch import Tensor

from companion.chapters.training import small_gpt
from companion.generate import greedy
from companion.seeding import seeded
from companion.training import clip_gradients, evaluating
from companion.transformer import DecoderOnly

USER, ASSISTANT, END = 65, 66, 67
"""Special tokens, numbered after the 65 characters of the text."""
NAMES = {USER: "<user>", ASSISTANT: "<assistant>", END: "<end>"}
IGNORED = -100
Pair = tuple[str, str]


@cache
def pairs() -> tuple[tuple[Pair, ...], tuple[Pair, ...]]:
    """Return questions with answers: 5,335 to train on, and 200 to test on, with other lines."""
    lines = [line for line in small_gpt.text().split("\n") if re.fullmatch(r"[A-Za-z ,.;!?'\-:]{12,36}", line)]
    lines = sorted({line for line in lines if not line.endswith(":")})
    order = torch.randperm(len(lines), generator=torch.Generator().manual_seed(0)).tolist()
    found = tuple((lines[i], answer(lines[i])) for i in order)
    return found[200:], found[:200]


def answer(line: str) -> str:
    """Give the right answer to a question.

    Args:
        line: of text.

    Returns:
        The last word of the line in capitals.
    """
    return re.findall(r"[A-Za-z]+", line)[-1].upper()


def chat(messages: Sequence[tuple[str, str]], *, prompt: bool = False) -> tuple[list[int], list[bool]]:
    """Write a conversation in the template: each message is its role, its text and the end token.

    Args:
        messages: pairs of a role, ``"user"`` or ``"assistant"``, and a text.
        prompt: end with the role of the assistant, so that the model goes on with an answer.

    Returns:
        Tokens, and for each whether the loss counts it: those that the assistant writes, the end token among them.

    Raises:
        ValueError: a role is unknown.
    """
    tokens, counted = [], []
    for role, text in messages:
        if role not in ("user", "assistant"):
            raise ValueError(f'a message is from "user" or "assistant": got {role!r}. Use one of these.')
        written = [*small_gpt.encode(text).tolist(), END]
        tokens += [ASSISTANT if role == "assistant" else USER, *written]
        counted += [False] + [role == "assistant"] * len(written)
    if prompt:
        tokens, counted = [*tokens, ASSISTANT], [*counted, False]
    return tokens, counted


def show(tokens: Sequence[int]) -> str:
    """Turn tokens into text, special tokens by their names.

    Args:
        tokens: characters and special tokens.

    Returns:
        One string.
    """
    return "".join(NAMES.get(token) or small_gpt.symbols()[token] for token in tokens)


def batch(
    some: Sequence[Pair], *, mask: bool = True, end: bool = True
) -> tuple[Int[Tensor, "batch t"], Int[Tensor, "batch t"]]:
    """Make inputs and labels of pairs, padded on the right.

    Args:
        some: questions with answers.
        mask: count the answers alone in the loss, else all tokens.
        end: count the end token of an answer too.

    Returns:
        Inputs ``(batch, t)``, and labels ``(batch, t)``, the next tokens, ``-100`` where the loss leaves them out.
    """
    rows = [chat([("user", question), ("assistant", right)]) for question, right in some]
    longest = max(len(tokens) for tokens, _ in rows)
    whole = torch.full((len(rows), longest), END)
    labels = torch.full((len(rows), longest), IGNORED)
    for row, (tokens, counted) in enumerate(rows):
        whole[row, : len(tokens)] = torch.tensor(tokens)
        kept = torch.tensor(counted) if mask else torch.ones(len(tokens), dtype=torch.bool)
        kept[-1] &= end
        labels[row, : len(tokens)] = torch.where(kept, torch.tensor(tokens), IGNORED)
    return whole[:, :-1], labels[:, 1:]


def base(seed: int = 0) -> DecoderOnly:
    """Load the small GPT with a vocabulary of 68: three new rows in its table of embeddings.

    Args:
        seed: of the new rows, which are drawn around the mean of the old ones.

    Returns:
        In evaluation mode.
    """
    old = small_gpt.load()
    new = DecoderOnly(replace(old.config, vocab=len(small_gpt.symbols()) + len(NAMES)), seed=seed)
    kept, table = old.state_dict(), "embedding.token.weight"
    rows = kept[table]
    with seeded(seed):
        added = rows.mean(dim=0) + rows.std(dim=0) * torch.randn(len(NAMES), rows.shape[1])
    new.load_state_dict(kept | {table: torch.cat([rows, added])})
    return new.eval()


def tune(
    model: DecoderOnly,
    steps: int,
    *,
    rate: float = 1e-3,
    seed: int = 0,
    size: int = 16,
    mask: bool = True,
    end: bool = True,
    text: int = 0,
    after: Callable[[int], None] | None = None,
    train: Sequence[Pair] = (),
) -> DecoderOnly:
    """Train a model on the pairs, its trainable parameters only.

    Args:
        model: with the vocabulary of :func:`base`; changed in place.
        steps: of Adam.
        rate: the learning rate, the same in all steps.
        seed: of the batches.
        size: pairs in a batch.
        mask: as in :func:`batch`.
        end: as in :func:`batch`.
        text: pieces of the text of pre-training whose loss is added in each step.
        after: called with the number of each step that was done.
        train: pairs to draw from; without any, those of :func:`pairs`.

    Returns:
        The model, in evaluation mode.
    """
    train = train or pairs()[0]
    generator = torch.Generator().manual_seed(seed + 1)
    trainable = [p for p in model.parameters() if p.requires_grad]
    adam = torch.optim.Adam(trainable, lr=rate)
    for step in range(1, steps + 1):
        chosen = torch.randint(len(train), (size,), generator=generator).tolist()
        inputs, labels = batch([train[i] for i in chosen], mask=mask, end=end)
        model.train()
        loss = F.cross_entropy(model(inputs).mT, labels, ignore_index=IGNORED)
        if text:
            rows = small_gpt.draw(step)[:text]
            loss = loss + F.cross_entropy(model(rows[:, :-1]).mT, rows[:, 1:])
        adam.zero_grad()
        loss.backward()
        clip_gradients(trainable, 1.0)
        adam.step()
        model.eval()
        if after is not None:
            after(step)
    return model.eval()


def reply(model: DecoderOnly, question: str, limit: int = 24) -> list[int]:
    """Let a model answer, greedily.

    Args:
        model: in evaluation mode.
        question: what the user sends.
        limit: the most tokens of an answer.

    Returns:
        The tokens of the answer up to and with the first end token, or all, if it does not end.
    """
    tokens, _ = chat([("user", question)], prompt=True)
    new = greedy(model, torch.tensor([tokens]), limit, end=END)[0].tolist()
    return new[: new.index(END) + 1] if END in new else new


def scores(model: DecoderOnly, some: Sequence[Pair]) -> dict[str, float]:
    """Measure how well a model answers.

    Args:
        model: in evaluation mode.
        some: questions with answers.

    Returns:
        ``right``: the share of answers that are right and then end; ``begins``: that begin with the right word;
        ``ends``: that end within 24 tokens.
    """
    found = {"right": 0, "begins": 0, "ends": 0}
    for question, wanted in some:
        said = reply(model, question)
        word = small_gpt.encode(wanted).tolist()
        found["right"] += said == [*word, END]
        found["begins"] += said[: len(word)] == word
        found["ends"] += END in said
    return {name: count / len(some) for name, count in found.items()}


@torch.no_grad()
def bits_on_text(model: DecoderOnly, length: int = 16_000) -> float:
    """Measure the loss on the text of pre-training: how much was forgotten.

    Args:
        model: with the vocabulary of :func:`base`.
        length: characters of the validation text.

    Returns:
        Bits per character.
    """
    _, validation = small_gpt.splits()
    with evaluating(model):
        return small_gpt.bits_per_character(model, validation[:length])
