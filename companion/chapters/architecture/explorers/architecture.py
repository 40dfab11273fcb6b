"""Interactive figures on whole models: what reaches an output, where the parameters are, where a translator looks.

Vaswani et al. (2017), section 3. Chapter: book/architecture.

The package computes reach and weights here, in Python. The browser half repeats only sums and products of whole
numbers.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from companion import cost
from companion.config import ModelConfig
from companion.cost import Kind
from companion.explorers.base import Choice, Explorer, Numbers, Packed, Switch, Title, Whole
from companion.interpret import depends_on
from companion.seeding import seeded
from companion.transformer import DecoderOnly, EncoderOnly, Transformer

STACKS = ("encoder-decoder", "decoder-only")  # an encoder-only model has as many parameters as a decoder-only one
WIDTHS = (64, 128, 256, 512, 768, 1024, 2048, 4096)
LAYERS = (1, 2, 4, 6, 8, 12, 24, 48, 96)
VOCABULARIES = (1_000, 10_000, 37_000, 50_000, 128_000)
PARTS = ("embedding", "attention", "feed_forward", "norms", "output")
MODELS = ("encoder-decoder", "no source mask", "not shifted", "encoder-only", "decoder-only")
PLACES = ("encoder", "decoder", "cross")
T = 5  # positions of a sequence in VisibilityExplorer


class VisibilityExplorer(Explorer):
    """Show which tokens reach each output of a whole model, whatever its weights, and what three mistakes change.

    Small models of two layers are built, and derivatives followed from each output to each token that is read.
    """

    _js = "visibility.js"

    reach = Numbers(words=True, fixed=True)
    model_kind = Choice(MODELS, "encoder-decoder", help="which model")
    length = Whole(
        3, 1, T, help="words of the source that are not padding; for the models with one sequence, its words"
    )
    output = Whole(2, 0, T - 1, help="position of the output")
    label = Title("What reaches an output")

    def __init__(self, **traits: object) -> None:
        reach = {name: [_reach(name, length) for length in range(1, T + 1)] for name in MODELS}
        super().__init__(reach=reach, **traits)

    def _about(self) -> str:
        return f"{len(self.reach)} models, {T} positions"


class ParameterCounter(Explorer):
    """Count the parameters of a whole model, part by part; it begins with the base model of 2017."""

    _js = "parameters.js"

    widths = Numbers(WIDTHS, fixed=True)
    layers = Numbers(LAYERS, fixed=True)
    vocabularies = Numbers(VOCABULARIES, fixed=True)
    kind = Choice(STACKS, "encoder-decoder", help="which stacks the model has")
    d_model = Choice(WIDTHS, 512, help="width")
    n_layers = Choice(LAYERS, 6, help="layers of each stack")
    ratio = Whole(4, 1, 8, help="``d_ff`` over ``d_model``")
    vocab = Choice(VOCABULARIES, 37_000, help="entries of the vocabulary, which source and target share")
    tied = Switch(True, help="whether the output matrix is the embedding")
    label = Title("Where the parameters are")

    def numbers(self) -> dict[str, int]:
        """Count with :mod:`companion.cost`, in post-norm, with biases and without learned positions.

        Returns:
            By the names in ``PARTS``.
        """
        sizes = {"d_model": self.d_model, "n_layers": self.n_layers, "d_ff": self.ratio * self.d_model}
        found = cost.model_parameters(ModelConfig(vocab=self.vocab, tied=self.tied, **sizes), self.kind)
        return {name: getattr(found, name) for name in PARTS}

    def _about(self) -> str:
        return f"{self.kind.replace('-', ' ')}, d_model={self.d_model}, n_layers={self.n_layers}, vocab={self.vocab}"


class TranslatorView(Explorer):
    """Show where a trained translator looks: a sentence, one of the three kinds of attention, a layer, a head.

    Args:
        sentences: for each a mapping of ``source`` (words), ``target`` (words, the end symbol among them),
            ``links`` (for each target word the places of the source words that it translates, maybe none), and
            for each of ``PLACES`` weights ``(layers, heads, t_q, t_k)``: ``t_q`` and ``t_k`` count source or
            target words. Row ``i`` of ``decoder`` and ``cross`` is the step that writes target word ``i``. The
            weights are rounded to two decimals.

    Raises:
        ValueError: no sentences, weights that do not fit them or are no distributions, or a choice not there.
    """

    _js = "translator.js"

    sentences = Numbers(words=True, fixed=True)
    weights = Packed(digits=2, fixed=True)
    n_layers = Whole(1, 1, 12, fixed=True)
    n_heads = Whole(1, 1, 16, fixed=True)
    sentence = Whole(0, 0, lambda self: len(self.sentences) - 1, help="which sentence")
    place = Choice(PLACES, "cross", help="which kind of attention")
    layer = Whole(0, 0, lambda self: self.n_layers - 1, help="which layer")
    head = Whole(0, 0, lambda self: self.n_heads - 1, help="which head")
    label = Title("Where the translator looks")

    def __init__(self, sentences: Sequence[Mapping[str, Any]], **traits: object) -> None:
        if not sentences:
            raise ValueError("the view needs at least one sentence: got none. Pass a list of mappings.")
        checked = [_tables(given) for given in sentences]
        sizes = {tuple(table.shape[:2]) for tables in checked for table in tables}
        if len(sizes) > 1:
            raise ValueError(
                f"all weights have one number of layers and of heads: got {sorted(sizes)}. Show them apart."
            )
        n_layers, n_heads = sizes.pop()
        super().__init__(
            sentences=[{name: list(given[name]) for name in ("source", "target", "links")} for given in sentences],
            weights=[[table.tolist() for table in tables] for tables in checked],
            n_layers=n_layers,
            n_heads=n_heads,
            **traits,
        )

    def _about(self) -> str:
        return f"{len(self.sentences)} sentences, {self.n_layers} layers, {self.n_heads} heads"


def _tables(given: Mapping[str, Any]) -> list[Tensor]:
    """Check one sentence's weights, and list them in the order of ``PLACES``."""
    missing = [name for name in ("source", "target", "links", *PLACES) if name not in given]
    if missing:
        raise ValueError(f"a sentence has words, links and weights: got none for {', '.join(missing)}. Add it.")
    s, t = len(given["source"]), len(given["target"])
    if len(given["links"]) != t or not all(0 <= k < s for link in given["links"] for k in link):
        raise ValueError(
            f"links has for each of {t} target words places below {s}: got {given['links']}. Count from 0."
        )
    found = []
    for name, shape in zip(PLACES, ((s, s), (t, t), (t, s)), strict=True):
        table = torch.as_tensor(given[name]).detach().to("cpu", torch.float64)
        if table.ndim != 4 or tuple(table.shape[2:]) != shape:
            raise ValueError(
                f"{name} weights are layers x heads x {shape[0]} x {shape[1]}: got {tuple(table.shape)}. Cut off what "
                "belongs to padding."
            )
        if not torch.allclose(table.sum(-1), torch.ones_like(table[..., 0]), atol=1e-4):
            raise ValueError(f"each row of weights sums to 1: got other rows in {name}. Pass weights.")
        found.append(table)
    return found


def _reach(name: str, length: int) -> dict[str, list[str]]:
    """Follow derivatives through a model; a row of 0 and 1 for each output, over source and target tokens."""
    kind: Kind = name if name in ("decoder-only", "encoder-only") else "encoder-decoder"
    config = ModelConfig(vocab=7, d_model=8, n_layers=2, n_heads=2, d_ff=16, dropout=0.0)
    make = {"encoder-decoder": Transformer, "decoder-only": DecoderOnly, "encoder-only": EncoderOnly}[kind]
    read: dict[str, Tensor] = {}
    with seeded(0):
        model = make(config, seed=0).double().eval()
        first, second = torch.randint(7, (2, 1, T)).unbind()

    def keep(place: str, module: torch.nn.Module) -> None:
        module.register_forward_hook(lambda _, inputs, output: read.update({place: output}))

    if kind == "encoder-decoder":
        keep("source", model.source_embedding)
        keep("target", model.target_embedding)
        output = model(first, second, source_lengths=None if name == "no source mask" else [length])
    else:
        keep("target", model.embedding)
        output = model(first, lengths=[length])
    return {
        place: ["".join(map(str, row.int().tolist())) for row in depends_on(output[0], x)[:, 0]]
        for place, x in read.items()
    }
