"""Interactive figures on the steps of attention and on its weights.

Vaswani et al. (2017), section 3.2.1. Chapter: book/attention.

The package computes the numbers here, in Python. The browser half repeats only a softmax, a mask or a sum, and the
browser tests compare what it shows with the package on the same input.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from companion.attention import attention, attention_weights
from companion.explorers.base import Choice, Explorer, Numbers, Switch, Title, Whole, Words
from companion.masks import and_masks, causal, padding

STAGES = ("scores", "scale", "mask", "softmax", "sum")
MASKS = ("none", "causal", "padding", "both")


class AttentionWalk(Explorer):
    """Walk a few tokens through scores, scaling, mask, softmax and the weighted sum, each number worked out.

    Every intermediate number is computed for each mask, with and without scaling.

    Args:
        tokens: a word for each query.
        query: ``(t_q, d_k)``, at most 6 by 6.
        key: ``(t_k, d_k)``.
        value: ``(t_k, d_v)``.
        key_tokens: a word for each key; ``None`` means ``tokens``.
        length: number of keys that are not padding; ``None`` means all but the last.

    Raises:
        ValueError: shapes do not fit together or are too large to show, or a number is not finite.
    """

    _js = "attention_walk.js"

    tokens = Words(fixed=True)
    key_tokens = Words(fixed=True)
    query = Numbers(fixed=True)
    key = Numbers(fixed=True)
    value = Numbers(fixed=True)
    length = Whole(0, 0, 6, fixed=True)
    results = Numbers(fixed=True)
    stage = Choice(STAGES, "softmax", help="which step is shown")
    mask = Choice(MASKS, "none", help="which mask")
    scaled = Switch(True, help="whether the scores are divided by ``sqrt(d_k)``")
    label = Title("Attention, one step at a time")

    def __init__(
        self,
        tokens: Sequence[str],
        query: Tensor | Sequence,
        key: Tensor | Sequence,
        value: Tensor | Sequence,
        *,
        key_tokens: Sequence[str] | None = None,
        length: int | None = None,
        **traits: object,
    ) -> None:
        key_tokens = tokens if key_tokens is None else key_tokens
        tables = {name: _table(name, given) for name, given in (("query", query), ("key", key), ("value", value))}
        for axis, words, name in (("queries", tokens, "query"), ("keys", key_tokens, "key")):
            if len(words) != len(tables[name]):
                raise ValueError(
                    f"each of the {axis} has one word: got {len(words)} words and {name} "
                    f"{tuple(tables[name].shape)}. Give one word a row."
                )
        t_q, t_k = len(tokens), len(key_tokens)
        length = max(t_k - 1, 0) if length is None else length
        masks = {"none": None, "padding": padding([length], t_k)[0]}
        if t_q <= t_k:
            masks["causal"] = causal(t_q, t_k)
            masks["both"] = and_masks(masks["causal"], masks["padding"])
        elif traits.get("mask") in ("causal", "both"):
            raise ValueError(
                f"a causal mask needs at least as many keys as queries: got {t_q} queries and {t_k} keys. "
                'Use mask="none" or "padding".'
            )
        super().__init__(
            tokens=tokens,
            key_tokens=key_tokens,
            length=length,
            results=_steps(*tables.values(), masks),
            **tables,
            **traits,
        )

    def _about(self) -> str:
        d_k, d_v = len(self.query[0]), len(self.value[0])
        return f"{len(self.tokens)} queries, {len(self.key_tokens)} keys, d_k={d_k}, d_v={d_v}"


class AttentionMap(Explorer):
    """Show given attention weights: an example, a head, and for each query where it looks.

    Args:
        examples: for each a mapping of ``title``, ``queries`` and ``keys`` (words), ``weights`` ``(t_q, t_k)`` or
            ``(heads, t_q, t_k)``, and where wanted ``mask`` ``(t_q, t_k)`` and ``heads`` (one label a head). The
            weights are rounded to four decimals.

    Raises:
        ValueError: no examples, shapes that do not fit, or weights that are no distribution over the keys.
    """

    _js = "attention_map.js"

    examples = Numbers(digits=4, words=True, fixed=True)
    example = Whole(0, 0, lambda self: len(self.examples) - 1, help="which example")
    head = Whole(0, 0, lambda self: len(self.examples[self.example]["heads"]) - 1, help="which head")
    label = Title("Where each query looks")

    def __init__(self, examples: Sequence[Mapping[str, Any]], **traits: object) -> None:
        if not examples:
            raise ValueError("the map needs at least one example: got none. Pass a list of mappings.")
        super().__init__(examples=[_example(given) for given in examples], **traits)

    def _about(self) -> str:
        sizes = [f"{len(e['heads'])} x {len(e['queries'])} x {len(e['keys'])}" for e in self.examples]
        return "heads x queries x keys: " + ", ".join(sizes)


def _steps(query: Tensor, key: Tensor, value: Tensor, masks: dict[str, Tensor | None]) -> dict:
    attention(query, key, value)  # refuses tables that do not fit together
    scores = query @ key.mT
    steps: dict = {"scores": scores, "scaled": scores / math.sqrt(query.shape[-1]), "masks": {}, "on": {}, "off": {}}
    for name, mask in masks.items():
        steps["masks"][name] = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask.expand(scores.shape)
        for switch, scale in (("on", None), ("off", 1.0)):
            steps[switch][name] = {
                "weights": attention_weights(query, key, mask, scale=scale),
                "output": attention(query, key, value, mask, scale=scale),
            }
    return _lists(steps)


def _lists(steps: dict | Tensor) -> dict | list:
    return {k: _lists(v) for k, v in steps.items()} if isinstance(steps, dict) else steps.tolist()


def _table(name: str, given: Tensor | Sequence) -> Tensor:
    try:
        table = torch.as_tensor(given).to(torch.float64)
    except (TypeError, ValueError, RuntimeError):
        table = torch.empty(0)
    if table.ndim != 2 or not all(1 <= size <= 6 for size in table.shape):
        raise ValueError(
            f"{name} is a table of at most 6 rows and 6 columns of numbers: got shape {tuple(table.shape)}. "
            "Show fewer tokens or a smaller width."
        )
    if not table.isfinite().all():
        raise ValueError(
            f"{name} holds finite numbers: got {table.flatten()[~table.isfinite().flatten()][0]}. "
            "Pass it before masking; the figure has masks of its own."
        )
    return table.mul(1e6).round().div(1e6)


def _example(given: Mapping[str, Any]) -> dict:
    missing = [name for name in ("title", "queries", "keys", "weights") if name not in given]
    if missing:
        raise ValueError(f"an example has title, queries, keys and weights: got none for {', '.join(missing)}. Add it.")
    weights = torch.as_tensor(given["weights"]).detach().to("cpu", torch.float64)
    weights = weights[None] if weights.ndim == 2 else weights
    heads = given.get("heads") or [f"head {h}" for h in range(len(weights))]
    want = (len(heads), len(given["queries"]), len(given["keys"]))
    if tuple(weights.shape) != want:
        raise ValueError(
            f"weights of {given['title']!r} have shape heads x queries x keys {want}: got {tuple(weights.shape)}. "
            "Drop the batch axis, and give one word a query and a key."
        )
    sums = weights.sum(dim=-1)
    distribution = (((sums - 1).abs() < 1e-2) | (sums == 0)).all() and bool((weights >= 0).all())
    if not distribution:
        raise ValueError(
            f"each row of weights sums to 1, or to 0 where there is no key: got row sums from {sums.min():.3f} to "
            f"{sums.max():.3f} in {given['title']!r}. Pass weights after the softmax over the keys."
        )
    mask = given.get("mask")
    if mask is not None:
        mask = torch.as_tensor(mask)
        if tuple(mask.shape) != want[1:] or mask.dtype != torch.bool or bool((weights * ~mask).any()):
            raise ValueError(
                f"the mask of {given['title']!r} is boolean, queries x keys {want[1:]}, True = may look, and no hidden "
                f"key has weight: got {mask.dtype} {tuple(mask.shape)}. Pass the mask that made the weights."
            )
        mask = mask.tolist()
    return {
        "title": given["title"],
        "queries": list(given["queries"]),
        "keys": list(given["keys"]),
        "heads": list(heads),
        "weights": weights.tolist(),
        "mask": mask,
    }
