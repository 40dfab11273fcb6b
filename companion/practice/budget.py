"""Limits on what an answer may cost, counted and not timed: the largest tensor, the numbers held at once, the work.

A count is the same on every computer and at every run, so an answer at the border passes today and tomorrow.
"""

import weakref
from collections.abc import Iterator
from dataclasses import dataclass, fields

import torch
from torch import Tensor
from torch.utils.flop_counter import flop_registry

from companion.practice.operations import Operation, tensors

WORDS = {
    "largest": ("the largest tensor that it makes has", "numbers"),
    "held": ("at its peak it holds", "numbers at once, the arguments not counted"),
    "work": ("it does", "units of work"),
}


@dataclass(frozen=True)
class Budget:
    """What an answer may use on one case; ``None`` sets no limit.

    Args:
        largest: entries of the largest tensor that an operation makes. A view makes none.
        held: entries of all tensors that are alive at one moment, without the arguments.
        work: a product of ``(n, k)`` by ``(k, m)`` counts ``n k m``, reading or writing by index what is read or
            written, making a tensor, as ``x.new_zeros`` does, what is made; any other operation counts the entries
            of its largest argument or result.
    """

    largest: int | None = None
    held: int | None = None
    work: int | None = None


@dataclass(frozen=True)
class Cost:
    """What a call used, in the units of :class:`Budget`."""

    largest: int = 0
    held: int = 0
    work: int = 0


NO_BUDGET = Budget()
NO_COST = Cost()


def over_budget(cost: Cost, budget: Budget) -> str | None:
    """Say in words which limits a cost exceeds.

    Args:
        cost: what was used.
        budget: what was allowed.

    Returns:
        A sentence with what was used and what is allowed, or ``None`` where nothing is exceeded.
    """
    parts = [
        f"{WORDS[name][0]} {used:,} {WORDS[name][1]}, and {allowed:,} are allowed"
        for name, used, allowed in _pairs(cost, budget)
        if used > allowed
    ]
    return f"The numbers are right, but they cost too much: {'; '.join(parts)}." if parts else None


def usage(cost: Cost, budget: Budget) -> str:
    """Say what was used of what was allowed.

    Args:
        cost: what was used.
        budget: what was allowed.

    Returns:
        A phrase for each limit, joined; empty where there is none.
    """
    return "; ".join(
        f"{WORDS[name][0]} {used:,} {WORDS[name][1]} ({allowed:,} allowed)"
        for name, used, allowed in _pairs(cost, budget)
    )


def _pairs(cost: Cost, budget: Budget) -> Iterator[tuple[str, int, int]]:
    for field in fields(budget):
        allowed = getattr(budget, field.name)
        if allowed is not None:
            yield field.name, getattr(cost, field.name), allowed


class CostMeter:
    """Count what the operations of torch use that it sees."""

    def __init__(self) -> None:
        self._alive: dict[int, int] = {}
        self._watched: dict[int, weakref.ref] = {}
        self._largest = self._held = self._work = 0

    @property
    def cost(self) -> Cost:
        """What was used so far."""
        return Cost(self._largest, self._held, self._work)

    def see(self, operation: Operation) -> None:
        """Count an operation.

        Args:
            operation: that has run.
        """
        func, given, made = operation.func, operation.given, operation.made
        fresh = func._overloadpacket in _FRESH  # `torch.tensor` hands its new tensor in as an argument
        old = set() if fresh else {x.untyped_storage()._cdata for x in given}
        new = [x for x in made if (key := x.untyped_storage()._cdata) not in old and key not in self._alive]
        for x in new:
            self._watch(x)
        if new or func._schema.is_mutable:
            self._work += _work(operation)
        elif not made:  # a number is read, as by `.item()`
            self._work += 1

    def _watch(self, x: Tensor) -> None:
        storage = x.untyped_storage()
        key = storage._cdata
        size = storage.nbytes() // x.element_size()
        self._alive[key] = size
        self._watched[key] = weakref.ref(storage, lambda _: self._forget(key))
        self._largest = max(self._largest, size)
        self._held = max(self._held, sum(self._alive.values()))

    def _forget(self, key: int) -> None:
        self._alive.pop(key, None)
        self._watched.pop(key, None)


_FRESH = {torch.ops.aten.lift_fresh, torch.ops.aten.lift}
_READS = {torch.ops.aten.index, torch.ops.aten.index_select, torch.ops.aten.gather, torch.ops.aten.embedding}
_WRITES = {torch.ops.aten.index_put_, torch.ops.aten.index_add_, torch.ops.aten.index_copy_, torch.ops.aten.scatter_}
_MAKES = {
    getattr(torch.ops.aten, name) for name in ("new_empty", "new_empty_strided", "new_full", "new_ones", "new_zeros")
}
_VECTORS = {"mv", "addmv", "dot", "vdot"}
_PRODUCTS = {packet.__name__: formula for packet, formula in flop_registry.items() if packet.__name__ not in _VECTORS}
_PRODUCTS["addbmm"] = _PRODUCTS["baddbmm"]  # torch counts none of it; it has the same factors


def _work(operation: Operation) -> int:
    """Count multiplications of a product of matrices, what an index touches, and entries of anything else."""
    func, args, kwargs, result, given, made = operation
    packet = func._overloadpacket
    if formula := _PRODUCTS.get(packet.__name__.removesuffix("_")):  # in place, as `addmm_`, it is the same product
        return formula(*args, **kwargs, out_val=result) // 2
    if packet in _READS or packet in _MAKES:
        touched = made
    elif packet in _WRITES:
        touched = tensors(*args[1:])
    else:
        touched = given + made
    return max((x.numel() for x in touched), default=0)  # of a product with a vector: the entries of the matrix
