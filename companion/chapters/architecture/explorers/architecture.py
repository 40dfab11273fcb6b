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
from companion.explorers.base import Choice, Explorer, Numbers, Packed, Switch, Whole
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
    """Show which tokens reach each output of a whole model, whatever its weights, and what three mistakes change."""

    _js = "visibility.js"

    reach = Numbers(words=True, fixed=True)
    model_kind = Choice(MODELS, "encoder-decoder")
    length = Whole(3, 1, T)
    output = Whole(2, 0, T - 1)

    def __init__(
        self,
        *,
        model_kind: str = "encoder-decoder",
        length: int = 3,
        output: int = 2,
        label: str = "What reaches an output",
    ) -> None:
        """Build small models of two layers, and follow derivatives from each output to each token that is read.

        Args:
            model_kind: one of ``MODELS``. All arguments but the last can be set later.
            length: words of the source that are not padding, 1 to 5; for the models with one sequence, its words.
            output: position of the output, 0 to 4.
            label: the figure's title.

        Raises:
            ValueError: a value that no control offers.
        """
        reach = {name: [_reach(name, length) for length in range(1, T + 1)] for name in MODELS}
        super().__init__(label=label, reach=reach, model_kind=model_kind, length=length, output=output)

    def _about(self) -> str:
        return f"{len(self.reach)} models, {T} positions"


class ParameterCounter(Explorer):
    """Count the parameters of a whole model, part by part."""

    _js = "parameters.js"

    widths = Numbers(fixed=True)
    layers = Numbers(fixed=True)
    vocabularies = Numbers(fixed=True)
    kind = Choice(STACKS, "encoder-decoder")
    d_model = Choice(WIDTHS, 512)
    n_layers = Choice(LAYERS, 6)
    ratio = Whole(4, 1, 8)
    vocab = Choice(VOCABULARIES, 37_000)
    tied = Switch(True)

    def __init__(
        self,
        *,
        kind: str = "encoder-decoder",
        d_model: int = 512,
        n_layers: int = 6,
        ratio: int = 4,
        vocab: int = 37_000,
        tied: bool = True,
        label: str = "Where the parameters are",
    ) -> None:
        """Take the sizes to begin with, those of the base model of 2017; all can be set later.

        Args:
            kind: one of ``STACKS``.
            d_model: width, one of ``WIDTHS``.
            n_layers: layers of each stack, one of ``LAYERS``.
            ratio: ``d_ff`` over ``d_model``, 1 to 8.
            vocab: entries of the vocabulary, one of ``VOCABULARIES``; source and target share it.
            tied: whether the output matrix is the embedding.
            label: the figure's title.

        Raises:
            ValueError: a size that no control offers.
        """
        super().__init__(
            label=label,
            widths=list(WIDTHS),
            layers=list(LAYERS),
            vocabularies=list(VOCABULARIES),
            kind=kind,
            d_model=d_model,
            n_layers=n_layers,
            ratio=ratio,
            vocab=vocab,
            tied=tied,
        )

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
    """Show where a trained translator looks: a sentence, one of the three kinds of attention, a layer, a head."""

    _js = "translator.js"

    sentences = Numbers(words=True, fixed=True)
    weights = Packed(digits=2, fixed=True)
    n_layers = Whole(1, 1, 12, fixed=True)
    n_heads = Whole(1, 1, 16, fixed=True)
    sentence = Whole(0, 0, 99)
    place = Choice(PLACES, "cross")
    layer = Whole(0, 0, 11)
    head = Whole(0, 0, 15)

    def __init__(
        self,
        sentences: Sequence[Mapping[str, Any]],
        *,
        sentence: int = 0,
        place: str = "cross",
        layer: int = 0,
        head: int = 0,
        label: str = "Where the translator looks",
    ) -> None:
        """Keep the weights of every head, rounded to two decimals.

        Args:
            sentences: for each a mapping of ``source`` (words), ``target`` (words, the end symbol among them),
                ``links`` (for each target word the places of the source words that it translates, maybe none), and
                for each of ``PLACES`` weights ``(layers, heads, t_q, t_k)``: ``t_q`` and ``t_k`` count source or
                target words. Row ``i`` of ``decoder`` and ``cross`` is the step that writes target word ``i``.
            sentence: which sentence. Can be set later.
            place: ``"encoder"``, ``"decoder"`` or ``"cross"``. Can be set later.
            layer: which layer. Can be set later.
            head: which head. Can be set later.
            label: the figure's title.

        Raises:
            ValueError: no sentences, weights that do not fit them or are no distributions, or a choice not there.
        """
        if not sentences:
            raise ValueError("the view needs at least one sentence: got none. Pass a list of mappings.")
        checked = [_tables(given) for given in sentences]
        sizes = {tuple(table.shape[:2]) for tables in checked for table in tables}
        if len(sizes) > 1:
            raise ValueError(
                f"all weights have one number of layers and of heads: got {sorted(sizes)}. Show them apart."
            )
        n_layers, n_heads = sizes.pop()
        if not (0 <= sentence < len(checked) and 0 <= layer < n_layers and 0 <= head < n_heads):
            raise ValueError(
                f"sentence, layer and head are positions in their lists: got {sentence}, {layer} and {head} of "
                f"{len(checked)}, {n_layers} and {n_heads}. Count from 0."
            )
        super().__init__(
            label=label,
            sentences=[{name: list(given[name]) for name in ("source", "target", "links")} for given in sentences],
            weights=[[table.tolist() for table in tables] for tables in checked],
            n_layers=n_layers,
            n_heads=n_heads,
            sentence=sentence,
            place=place,
            layer=layer,
            head=head,
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
