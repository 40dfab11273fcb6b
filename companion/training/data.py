"""Batches: sequences of like length together, in an order drawn from a generator of their own.

Vaswani et al. (2017), section 5.1: "batched together by approximate sequence length", by the number of tokens.

Chapter: book/training.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import torch
from jaxtyping import Int
from torch import Tensor

from companion.training.distributed import rank, world_size

Batch = TypeVar("Batch")


class Pairs(NamedTuple):
    """Sources and targets, padded on the right.

    ``companion.tasks.EncodedPairs`` has these fields and one more, and trains as well.

    Args:
        source: what the encoder reads.
        source_lengths: number of real tokens of each source.
        target: from the start token to the end token: all but the last is what the decoder reads, all but the first is
            what it must say.
    """

    source: Int[Tensor, "batch t_source"]
    source_lengths: Int[Tensor, " batch"]
    target: Int[Tensor, "batch t_target"]


def pad(rows: Sequence[Sequence[int]], padding: int = 0) -> tuple[Int[Tensor, "batch t"], Int[Tensor, " batch"]]:
    """Put rows of tokens into one tensor, filled up on the right.

    Args:
        rows: at least one, none empty.
        padding: the token to fill up with.

    Returns:
        The tensor, and the number of real tokens of each row.

    Raises:
        ValueError: there is no row, or one is empty.

    >>> pad([[5, 6, 7], [8]])
    (tensor([[5, 6, 7],
            [8, 0, 0]]), tensor([3, 1]))
    """
    lengths = [len(row) for row in rows]
    if not lengths or min(lengths) == 0:
        raise ValueError(f"a batch holds at least one row and a row one token: got lengths {lengths}. Drop the empty.")
    full = [[*row, *[padding] * (max(lengths) - len(row))] for row in rows]
    return torch.tensor(full), torch.tensor(lengths)


def pairs_batch(items: Sequence[tuple[Sequence[int], Sequence[int]]], padding: int = 0) -> Pairs:
    """Pad pairs of source and target into one batch.

    Args:
        items: the pairs.
        padding: the token to fill up with.

    Returns:
        The batch.
    """
    source, lengths = pad([source for source, _ in items], padding)
    target, _ = pad([target for _, target in items], padding)
    return Pairs(source, lengths, target)


def texts_batch(items: Sequence[Sequence[int]], padding: int = 0) -> Int[Tensor, "batch t"]:
    """Pad texts into one batch.

    Args:
        items: the texts.
        padding: the token to fill up with.

    Returns:
        The batch.
    """
    return pad(items, padding)[0]


def to_device(batch: Batch, device: torch.device | str) -> Batch:
    """Copy a batch to a device.

    Args:
        batch: a tensor or a tuple of tensors.
        device: where to.

    Returns:
        A batch of the same kind.

    Raises:
        ValueError: the batch is of another kind.
    """
    if isinstance(batch, Tensor):
        return batch.to(device)
    if not isinstance(batch, tuple):
        raise ValueError(f"a batch is a tensor or a tuple of tensors: got {type(batch).__name__}. Return one of these.")
    parts = [to_device(part, device) for part in batch]
    return type(batch)(*parts) if hasattr(batch, "_fields") else tuple(parts)


class Batches:
    """Batches without end: in each epoch every item once, in a new order. Its place can be saved and found again.

    Under ``torchrun`` each process gets its share of the rows of every batch.

    Args:
        items: what to draw from: pairs of rows of tokens, or rows of tokens.
        collate: makes a batch of some items, for example :func:`pairs_batch`: a tensor or a tuple of tensors.
        size: items in a batch, at most; the batches of an epoch differ by at most one item.
        tokens: tokens in a batch, at most, in place of ``size``, every item counted as long as the longest. Items of
            like length come together, so that little is padding.
        seed: of the generator that draws the order.

    Raises:
        ValueError: there are no items or one is empty, not exactly one of ``size`` and ``tokens`` is given, or it is
            too small.

    >>> batches = Batches([[1], [2, 2], [3, 3, 3], [4, 4]], texts_batch, tokens=4)
    >>> sorted(tuple(next(batches).shape) for _ in range(3))
    [(1, 2), (1, 3), (2, 2)]
    """

    def __init__(
        self,
        items: Sequence[Any],
        collate: Callable[[Sequence[Any]], Any],
        *,
        size: int | None = None,
        tokens: int | None = None,
        seed: int = 0,
    ) -> None:
        self.lengths = [_length(item) for item in items]
        if min(self.lengths, default=0) == 0 or (size is None) == (tokens is None):
            raise ValueError(
                f"batches need items with tokens, and either size or tokens: got {len(items)} items, size={size} and "
                f"tokens={tokens}. Drop empty items, and give one of the two."
            )
        if (size is not None and size < 1) or (tokens is not None and tokens < max(self.lengths)):
            raise ValueError(
                f"a batch holds at least one item: got size={size} and tokens={tokens}, and the longest item has "
                f"{max(self.lengths)} tokens. Use a larger one."
            )
        self.items, self.collate, self.size, self.tokens = items, collate, size, tokens
        self.generator = torch.Generator().manual_seed(seed)
        self.epoch = 0
        self._begin_epoch()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> object:
        if self.place == len(self.plan):
            self.epoch += 1
            self._begin_epoch()
        rows = self.plan[self.place]
        if len(rows) < world_size():
            raise ValueError(
                f"each process needs a row of every batch: got {len(rows)} rows for {world_size()} processes. "
                "Use larger batches."
            )
        self.place += 1
        return self.collate([self.items[i] for i in rows[rank() :: world_size()]])

    def state_dict(self) -> dict[str, Any]:
        """Say where the next batch stands: the epoch, the generator before that epoch's order, and the place in it."""
        return {"epoch": self.epoch, "place": self.place, "generator": self.before}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go to the place that :meth:`state_dict` named."""
        self.generator.set_state(state["generator"])
        self._begin_epoch()
        self.epoch, self.place = state["epoch"], state["place"]

    def _begin_epoch(self) -> None:
        self.before = self.generator.get_state()
        order = torch.randperm(len(self.items), generator=self.generator)
        if self.size is not None:
            self.plan = [part.tolist() for part in order.tensor_split(math.ceil(len(order) / self.size))]
        else:
            plan = _by_tokens(order.tolist(), self.lengths, self.tokens)
            self.plan = [plan[i] for i in torch.randperm(len(plan), generator=self.generator).tolist()]
        self.place = 0


def _length(item: Sequence) -> int:
    """Count the tokens of a row, or of both rows of a pair; a token is a number or a word."""
    nested = len(item) > 0 and isinstance(item[0], Sequence) and not isinstance(item[0], str)
    return sum(map(len, item)) if nested else len(item)


def _by_tokens(order: list[int], lengths: list[int], tokens: int) -> list[list[int]]:
    """Cut the items, the shortest first, into batches of at most so many tokens, padding counted."""
    plan: list[list[int]] = []
    for i in sorted(order, key=lengths.__getitem__):  # a stable sort: equal lengths stay in random order
        if not plan or (len(plan[-1]) + 1) * lengths[i] > tokens:
            plan.append([])
        plan[-1].append(i)
    return plan
