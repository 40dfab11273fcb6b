"""Interactive figures on heads: their sizes and costs, where all heads of a model look, and what is left without some.

Vaswani et al. (2017), section 3.2.2; shared keys and values: Ainslie et al. (2023); heads switched off: Michel et al.
(2019). Chapter: book/multi-head.

The browser half repeats only products of whole numbers, and looks up the rest.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from companion import cost
from companion.explorers.base import Choice, Explorer, Numbers, Real, Title, Whole, Words

WIDTHS = (64, 128, 256, 512, 768, 1024, 2048, 4096)
HEADS = (1, 2, 4, 8, 16, 32, 64)  # each divides each width
LENGTHS = (128, 512, 2048, 8192, 32768)
QUANTITIES = ("width", "parameters", "projections", "pairs", "weights", "cache")


class HeadSizes(Explorer):
    """Count what a layer of attention costs, beside a layer of the same width with a single head.

    The sliders never show more key-value heads than query heads. Where no heads share, moving one number moves both.
    """

    _js = "head_sizes.js"

    widths = Numbers(WIDTHS, fixed=True)
    heads = Numbers(HEADS, fixed=True)
    lengths = Numbers(LENGTHS, fixed=True)
    d_model = Choice(WIDTHS, 512, help="width of the model")
    n_heads = Choice(HEADS, 8, help="query heads")
    n_kv_heads = Choice(HEADS, 8, help="key-value heads; more than ``n_heads`` means ``n_heads``")
    t = Choice(LENGTHS, 2048, help="tokens")
    label = Title("One layer: sizes and costs")

    def __init__(self, **traits: object) -> None:
        super().__init__(**traits)
        self.n_kv_heads = min(self.n_kv_heads, self.n_heads)

    def numbers(self, *, single: bool = False) -> dict[str, int]:
        """Compute the numbers of a column with :mod:`companion.cost`: self-attention over ``t`` tokens, without biases.

        Args:
            single: those of one head with the full width instead.

        Returns:
            By the names in ``QUANTITIES``: width of a head, parameters, FLOPs of the projections, FLOPs of the pairs,
            attention weights, and numbers in the key-value cache.
        """
        heads = 1 if single else self.n_heads
        kv_width = (1 if single else min(self.n_kv_heads, heads)) * (self.d_model // heads)
        return {
            "width": self.d_model // heads,
            "parameters": cost.attention_parameters(self.d_model, kv_width=kv_width, bias=False),
            "projections": cost.projection_flops(1, self.t, self.t, self.d_model, kv_width=kv_width),
            "pairs": cost.pair_flops(1, self.t, self.t, self.d_model),
            "weights": cost.weights_matrix_bytes(1, heads, self.t, self.t, "int8"),
            "cache": cost.cache_bytes(1, 1, kv_width, 1, self.t, "int8"),
        }

    def _about(self) -> str:
        return f"d_model={self.d_model}, n_heads={self.n_heads}, n_kv_heads={self.n_kv_heads}, t={self.t}"


class HeadGrid(Explorer):
    """Show how much one query gives to one key in every head of every layer, and what each head looks at most.

    Args:
        examples: for each a mapping of ``title``, ``query`` (a word), ``keys`` (words) and ``weights``
            ``(layers, heads, t_k)``, the query's row in each head, rounded to three decimals.

    Raises:
        ValueError: no examples, shapes that do not fit, or rows that do not sum to 1.
    """

    _js = "head_grid.js"

    examples = Numbers(digits=3, words=True, fixed=True)
    example = Whole(0, 0, lambda self: len(self.examples) - 1, help="which example")
    key = Whole(0, 0, lambda self: len(self.examples[self.example]["keys"]) - 1, help="which of its keys")
    label = Title("Every head of the model, for one query")

    def __init__(self, examples: Sequence[Mapping[str, Any]], **traits: object) -> None:
        if not examples:
            raise ValueError("the grid needs at least one example: got none. Pass a list of mappings.")
        super().__init__(examples=[_grid_example(given) for given in examples], **traits)

    def _about(self) -> str:
        sizes = {f"{len(e['weights'])} x {len(e['weights'][0])}" for e in self.examples}
        return f"{len(self.examples)} examples, layers x heads: {', '.join(sorted(sizes))}"


class HeadSwitches(Explorer):
    """Switch heads of a trained model on and off, and read what it still can do.

    Args:
        runs: for each a mapping of ``title`` and ``scores`` ``(2**n_heads, tasks)``, shares from 0 to 1. Bit ``i``
            of the first index says whether head ``i`` is on.
        tasks: what the columns measure.
        on: which heads are on, as bits; ``None`` means all. Can be set later.

    Raises:
        ValueError: no runs, or scores that are no shares or not one a subset.
    """

    _js = "head_switches.js"

    runs = Numbers(digits=3, words=True, fixed=True)
    tasks = Words(fixed=True)
    chance = Real(0.0, 0.0, 1.0, fixed=True, help="the score of guessing")
    n_heads = Whole(1, 1, 8, fixed=True)
    run = Whole(0, 0, lambda self: len(self.runs) - 1, help="which run")
    on = Whole(0, 0, lambda self: 2**self.n_heads - 1)
    label = Title("Heads on and off")

    def __init__(
        self,
        runs: Sequence[Mapping[str, Any]],
        tasks: Sequence[str],
        *,
        on: int | None = None,
        **traits: object,
    ) -> None:
        if not runs:
            raise ValueError("the switches need at least one run: got none. Pass a list of mappings.")
        checked = [{"title": given["title"], "scores": _scores(given, len(tasks))} for given in runs]
        subsets = {len(given["scores"]) for given in checked}
        if len(subsets) > 1:
            raise ValueError(f"all runs have one number of heads: got {sorted(subsets)} subsets. Show them apart.")
        n_heads = subsets.pop().bit_length() - 1
        on = 2**n_heads - 1 if on is None else on
        super().__init__(runs=checked, tasks=tasks, n_heads=n_heads, on=on, **traits)

    def _about(self) -> str:
        return f"{len(self.runs)} runs, {self.n_heads} heads, {len(self.tasks)} tasks"


def _grid_example(given: Mapping[str, Any]) -> dict:
    missing = [name for name in ("title", "query", "keys", "weights") if name not in given]
    if missing:
        raise ValueError(f"an example has title, query, keys and weights: got none for {', '.join(missing)}. Add it.")
    weights = torch.as_tensor(given["weights"]).to(torch.float64)
    if weights.ndim != 3 or weights.shape[-1] != len(given["keys"]):
        raise ValueError(
            f"weights of {given['title']!r} are layers x heads x keys, with {len(given['keys'])} keys: got "
            f"{tuple(weights.shape)}. Pass the rows of one query."
        )
    if not torch.allclose(weights.sum(-1), torch.ones(weights.shape[:2], dtype=torch.float64), atol=1e-4):
        raise ValueError(f"each row of weights sums to 1: got other rows in {given['title']!r}. Pass weights.")
    return {"title": given["title"], "query": given["query"], "keys": list(given["keys"]), "weights": weights.tolist()}


def _scores(given: Mapping[str, Any], n_tasks: int) -> list:
    scores: Tensor = torch.as_tensor(given["scores"], dtype=torch.float64)
    counts = [2**heads for heads in range(1, 9)]
    if scores.ndim != 2 or len(scores) not in counts or scores.shape[1] != n_tasks:
        raise ValueError(
            f"scores of {given['title']!r} are subsets x tasks, 2 to 256 by {n_tasks}: got {tuple(scores.shape)}. "
            "Measure every subset of at most 8 heads."
        )
    if not bool(((scores >= 0) & (scores <= 1)).all()):
        raise ValueError(f"a score is a share from 0 to 1: got others in {given['title']!r}. Divide by the number.")
    return scores.tolist()
