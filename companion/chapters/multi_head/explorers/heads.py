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
from companion.explorers.base import Choice, Explorer, Numbers, Real, Whole, Words

WIDTHS = (64, 128, 256, 512, 768, 1024, 2048, 4096)
HEADS = (1, 2, 4, 8, 16, 32, 64)  # each divides each width
LENGTHS = (128, 512, 2048, 8192, 32768)
QUANTITIES = ("width", "parameters", "projections", "pairs", "weights", "cache")


class HeadSizes(Explorer):
    """Count what a layer of attention costs, beside a layer of the same width with a single head.

    The sliders never show more key-value heads than query heads. Where no heads share, moving one number moves both.
    """

    _js = "head_sizes.js"

    widths = Numbers(fixed=True)
    heads = Numbers(fixed=True)
    lengths = Numbers(fixed=True)
    d_model = Choice(WIDTHS, 512)
    n_heads = Choice(HEADS, 8)
    n_kv_heads = Choice(HEADS, 8)
    t = Choice(LENGTHS, 2048)

    def __init__(
        self,
        *,
        d_model: int = 512,
        n_heads: int = 8,
        n_kv_heads: int = 8,
        t: int = 2048,
        label: str = "One layer: sizes and costs",
    ) -> None:
        """Take the sizes to begin with; all can be set later.

        Args:
            d_model: width of the model, one of ``WIDTHS``.
            n_heads: query heads, one of ``HEADS``.
            n_kv_heads: key-value heads, one of ``HEADS``; more than ``n_heads`` means ``n_heads``.
            t: tokens, one of ``LENGTHS``.
            label: the figure's title.

        Raises:
            ValueError: a size that no control offers.
        """
        super().__init__(
            label=label,
            widths=list(WIDTHS),
            heads=list(HEADS),
            lengths=list(LENGTHS),
            d_model=d_model,
            n_heads=n_heads,
            n_kv_heads=min(n_kv_heads, n_heads),
            t=t,
        )

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
    """Show how much one query gives to one key in every head of every layer, and what each head looks at most."""

    _js = "head_grid.js"

    examples = Numbers(digits=3, words=True, fixed=True)
    example = Whole(0, 0, 99)
    key = Whole(0, 0, 99)

    def __init__(
        self,
        examples: Sequence[Mapping[str, Any]],
        *,
        example: int = 0,
        key: int = 0,
        label: str = "Every head of the model, for one query",
    ) -> None:
        """Keep the weights, rounded to three decimals.

        Args:
            examples: for each a mapping of ``title``, ``query`` (a word), ``keys`` (words) and ``weights``
                ``(layers, heads, t_k)``, the query's row in each head.
            example: which example. Can be set later.
            key: which key of it. Can be set later; beyond the last means the last.
            label: the figure's title.

        Raises:
            ValueError: no examples, shapes that do not fit, or rows that do not sum to 1.
        """
        if not examples:
            raise ValueError("the grid needs at least one example: got none. Pass a list of mappings.")
        checked = [_grid_example(given) for given in examples]
        if not 0 <= example < len(checked) or not 0 <= key < len(checked[example]["keys"]):
            raise ValueError(
                f"example and key are positions in their lists: got example={example} and key={key} of "
                f"{len(checked)} examples. Count from 0."
            )
        super().__init__(label=label, examples=checked, example=example, key=key)

    def _about(self) -> str:
        sizes = {f"{len(e['weights'])} x {len(e['weights'][0])}" for e in self.examples}
        return f"{len(self.examples)} examples, layers x heads: {', '.join(sorted(sizes))}"


class HeadSwitches(Explorer):
    """Switch heads of a trained model on and off, and read what it still can do."""

    _js = "head_switches.js"

    runs = Numbers(digits=3, words=True, fixed=True)
    tasks = Words(fixed=True)
    chance = Real(0.0, 0.0, 1.0, fixed=True)
    n_heads = Whole(1, 1, 8, fixed=True)
    run = Whole(0, 0, 99)
    on = Whole(0, 0, 255)

    def __init__(
        self,
        runs: Sequence[Mapping[str, Any]],
        tasks: Sequence[str],
        *,
        chance: float = 0.0,
        run: int = 0,
        on: int | None = None,
        label: str = "Heads on and off",
    ) -> None:
        """Keep the scores of every subset of heads.

        Args:
            runs: for each a mapping of ``title`` and ``scores`` ``(2**n_heads, tasks)``, shares from 0 to 1. Bit ``i``
                of the first index says whether head ``i`` is on.
            tasks: what the columns measure.
            chance: the score of guessing.
            run: which run. Can be set later.
            on: which heads are on, as bits; ``None`` means all. Can be set later.
            label: the figure's title.

        Raises:
            ValueError: no runs, scores that are no shares or not one a subset, or a run that is not there.
        """
        if not runs:
            raise ValueError("the switches need at least one run: got none. Pass a list of mappings.")
        checked = [{"title": given["title"], "scores": _scores(given, len(tasks))} for given in runs]
        subsets = {len(given["scores"]) for given in checked}
        if len(subsets) > 1:
            raise ValueError(f"all runs have one number of heads: got {sorted(subsets)} subsets. Show them apart.")
        n_heads = subsets.pop().bit_length() - 1
        on = 2**n_heads - 1 if on is None else on
        if not 0 <= run < len(checked) or not 0 <= on < 2**n_heads:
            raise ValueError(f"run and on lie within {len(checked)} runs and {n_heads} heads: got {run} and {on}.")
        super().__init__(label=label, runs=checked, tasks=tasks, chance=chance, n_heads=n_heads, run=run, on=on)

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
