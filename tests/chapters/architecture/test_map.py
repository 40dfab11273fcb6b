"""What the map says of its parts: its shapes are those of a model that runs, and its formulas give what it computes."""

import math
import re
from pathlib import Path

import pytest
import torch
from torch import Tensor

from companion import masks
from companion.book import toc
from companion.book.site.book_map import FILE, read_map
from companion.chapters.architecture.pictures.overview import PAGES
from companion.chapters.interview.formulas.latex import plain, tokens, trace
from companion.chapters.interview.formulas.sheet import statements
from companion.config import ModelConfig
from companion.transformer import Transformer

MAP = read_map(toc.CHECKOUT / FILE)
SIZES = {"batch": 2, "t_q": 5, "t_k": 7, "d_model": 12, "n_heads": 3, "d_k": 4, "d_v": 4, "d_ff": 11, "vocab": 13}
CONFIG = {"vocab": 13, "d_model": 12, "n_heads": 3, "d_ff": 11, "n_layers": 1, "dropout": 0.0, "max_len": 17}


class Run:
    """A small encoder-decoder in float64 that has run once: what went into each module, and what came out."""

    def __init__(self) -> None:
        self.model = Transformer(ModelConfig(**CONFIG), seed=0).double().eval()
        self.read: dict[str, tuple[Tensor, ...]] = {}
        self.gave: dict[str, Tensor] = {}
        names = {module: name for name, module in reversed(list(self.model.named_modules()))}

        def keep(module: torch.nn.Module, given: tuple, out: Tensor) -> None:
            self.read[names[module]] = tuple(one for one in given if isinstance(one, Tensor))
            self.gave[names[module]] = out

        hooks = [module.register_forward_hook(keep) for module in self.model.modules()]
        generator = torch.Generator().manual_seed(0)
        self.source, self.target = (torch.randint(13, (2, t), generator=generator) for t in (7, 5))
        with torch.no_grad():
            for weights in self.model.parameters():  # norms and biases too, so that leaving one out shows
                weights.add_(0.1 * torch.randn(weights.shape, generator=generator, dtype=torch.float64))
            self.logits = self.model.decode(self.target, self.model.encode(self.source))
        for hook in hooks:
            hook.remove()
        self.encoder, self.decoder = self.model.encoder.layers[0], self.model.decoder.layers[0]


@pytest.fixture(scope="module")
def run():
    with torch.no_grad():
        yield Run()


def split(run, x, linear):
    return linear(x).unflatten(-1, (3, 4)).transpose(1, 2)


def table(run):
    return run.model.source_embedding.token.weight


def columns(run, part):
    """The shapes that one part has, once for each place where the map draws it."""
    encoder, decoder = run.encoder, run.decoder
    memory = run.gave["encoder"]
    if part in ("embedding", "positions"):
        for side, asked in (("source", run.source), ("target", run.target)):
            token = run.model.source_embedding.token(asked)  # both sides share one table
            out = run.gave[f"{side}_embedding"]
            if part == "embedding":
                yield {"tokens, one-hot in S": asked, "E, table": table(run), "X, out": token}
            else:
                yield {"X, in": token, "P, added": (out - token)[0], "X', out": out}
    elif part in ("feed-forward", "add-norm"):
        for stack, norms in (("encoder", 2), ("decoder", 3)):
            place = f"{stack}.layers.0"
            if part == "feed-forward":
                (x,) = run.read[f"{place}.feed_forward"]
                hidden = next(
                    out
                    for name, out in run.gave.items()
                    if name.startswith(f"{place}.feed_forward.") and out.shape[-1] == 11
                )
                yield {"X, in": x, "hidden": hidden, "F, out": run.gave[f"{place}.feed_forward"]}
            for i in range(norms if part == "add-norm" else 0):
                yield {"X, in": run.read[f"{place}.norm_{i + 1}"][0], "A, out": run.gave[f"{place}.norm_{i + 1}"]}
    elif part == "encoder":
        yield {"X, in": run.read["encoder"][0], "Z, out": memory}
    elif part == "decoder":
        x, read, *_ = run.read["decoder"]
        yield {"Y, in": x, "Z, from the encoder": read, "D, out": run.gave["decoder"]}
    elif part == "keys-values":
        cross = decoder.cross_attention
        yield {
            "Z, from the encoder": memory,
            "keys": split(run, memory, cross.w_k),
            "values": split(run, memory, cross.w_v),
        }
    elif part == "output":
        yield {"D, in": run.gave["decoder"], "E, table of embeddings": table(run), "p, out": run.logits.softmax(-1)}
    else:
        name, module = {
            "encoder-self-attention": ("encoder.layers.0.attention", encoder.attention),
            "decoder-self-attention": ("decoder.layers.0.self_attention", decoder.self_attention),
            "cross-attention": ("decoder.layers.0.cross_attention", decoder.cross_attention),
        }[part]
        inputs = {
            "encoder-self-attention": ("X, in",),
            "decoder-self-attention": ("in",),
            "cross-attention": ("Y, from the decoder", "Z, from the encoder"),
        }[part]
        given = run.read[name][: len(inputs)]
        weights = module.weights(*given, causal=part == "decoder-self-attention")
        yield dict(zip(inputs, given, strict=True)) | {"weights": weights, "out": run.gave[name]}


@pytest.mark.parametrize("part", MAP.parts)
def test_the_shapes_of_a_part_are_those_of_a_model_that_runs(run, part):
    found = list(columns(run, part))
    assert found
    for tensors in found:
        assert list(tensors) == list(MAP.parts[part].shapes)
        lengths = {"t": next(iter(tensors.values())).shape[1]}
        told = {
            what: tuple((SIZES | lengths)[size] for size in sizes) for what, sizes in MAP.parts[part].shapes.items()
        }
        assert {what: tuple(tensor.shape) for what, tensor in tensors.items()} == told


@pytest.mark.parametrize("part", MAP.parts)
def test_a_letter_that_is_said_to_stand_for_something_stands_in_the_formula(part):
    said = {word for what in MAP.parts[part].shapes for word in re.findall(r"\b[A-Za-z]'?(?=,|$)", what)}
    used = set(re.findall(r"(?<![\\A-Za-z{])[A-Za-z]'?(?![A-Za-z])", MAP.parts[part].formula))
    assert said <= used
    assert said or part == "decoder-self-attention"


def evaluate(part, **names):
    """The value of the last statement of a part's formula, as it is shown."""
    values = dict(names)
    for left, _, right in statements(MAP.parts[part].formula.replace(r"M_{ij} = -\infty \text{ for } j > i \quad", "")):
        values[plain(tokens(left))] = value = trace(right, values)[0]
    return value


def head_by_head(part, module, x, memory, **more):
    """A layer of attention from the formula of one head, for the first text of the batch."""
    heads = []
    for i in range(3):
        rows = slice(4 * i, 4 * i + 4)
        parts = {"Q": (x, module.w_q), "K": (memory, module.w_k), "V": (memory, module.w_v)}
        names = {name: (given @ linear.weight[rows].T) for name, (given, linear) in parts.items()}
        names |= {f"W^{name}": linear.weight[rows].T for name, (_, linear) in parts.items()}
        heads.append(evaluate(part, d_k=4.0, **names, **more))
    return torch.cat(heads, -1) @ module.w_o.weight.T


@pytest.mark.parametrize("part", ["encoder-self-attention", "decoder-self-attention", "cross-attention"])
def test_the_formula_of_an_attention_gives_what_the_layer_gives(run, part):
    name = {
        "encoder-self-attention": "encoder.layers.0.attention",
        "decoder-self-attention": "decoder.layers.0.self_attention",
        "cross-attention": "decoder.layers.0.cross_attention",
    }[part]
    module = run.model.get_submodule(name)
    saved = {linear: linear.bias.clone() for linear in (module.w_q, module.w_k, module.w_v, module.w_o)}
    try:
        for linear in saved:
            linear.bias.zero_()
        x, *rest = run.read[name]
        memory = rest[0] if part == "cross-attention" else x
        hidden = torch.zeros(5, 5, dtype=torch.float64).masked_fill(~masks.causal(5), -math.inf)
        more = {"decoder-self-attention": {"M": hidden}, "cross-attention": {"Y": x[0], "Z": memory[0]}}.get(
            part, {"X": x[0]}
        )
        wanted = module(x, memory if part == "cross-attention" else None, causal=part == "decoder-self-attention")[0]
        torch.testing.assert_close(head_by_head(part, module, x[0], memory[0], **more), wanted, rtol=0, atol=1e-12)
    finally:
        for linear, bias in saved.items():
            linear.bias.copy_(bias)


def test_the_mask_is_minus_infinity_where_the_formula_says():
    said = re.match(r"M_\{ij\} = -\\infty \\text\{ for \} j > i", MAP.parts["decoder-self-attention"].formula)
    assert said
    assert all(masks.causal(4)[i, j] == (not j > i) for i in range(4) for j in range(4))


def test_the_formulas_of_the_other_parts_give_what_their_modules_give(run):
    decoder, encoder = run.decoder, run.encoder
    one_hot = torch.nn.functional.one_hot(run.source[0], 13).double()
    embedded = run.model.source_embedding.token(run.source)[0]
    place = run.gave["source_embedding"][0] - embedded
    (x,) = run.read["encoder.layers.0.feed_forward"]
    ff = encoder.feed_forward
    matrices = [weights for weights in ff.parameters() if weights.ndim == 2]
    biases = [weights for weights in ff.parameters() if weights.ndim == 1]
    z = run.gave["encoder"][0]
    cross = decoder.cross_attention
    pairs = {
        "embedding": (evaluate("embedding", d_model=12.0, S=one_hot, E=table(run)), embedded),
        "positions": (trace("X + P", {"X": embedded, "P": place})[0], run.gave["source_embedding"][0]),
        "feed-forward": (
            evaluate("feed-forward", X=x[0], W_1=matrices[0].T, W_2=matrices[1].T, b_1=biases[0], b_2=biases[1]),
            run.gave["encoder.layers.0.feed_forward"][0],
        ),
        "keys-values": (
            evaluate("keys-values", Z=z, **{"W^K": cross.w_k.weight.T, "W^V": cross.w_v.weight.T}),
            cross.w_v(z) - cross.w_v.bias,
        ),
        "output": (evaluate("output", D=run.gave["decoder"][0], E=table(run)), run.logits[0].softmax(-1)),
    }
    for part, (value, wanted) in pairs.items():
        torch.testing.assert_close(value, wanted, rtol=0, atol=1e-12, msg=lambda m, part=part: f"{part}: {m}")


@pytest.mark.parametrize(
    ("part", "stack", "names"),
    [
        ("encoder", "encoder", ["Attention", "FFN"]),
        ("decoder", "decoder", ["Masked", "Cross", "FFN"]),
        ("add-norm", "encoder", ["Sublayer"]),
    ],
)
def test_the_formula_of_a_stack_names_its_sublayers_in_their_order(run, part, stack, names):
    """Its functions are asked for in turn; each gets what the sub-layer got, and answers what the sub-layer gave."""
    layer = run.model.get_submodule(f"{stack}.layers.0")
    place, turn = f"{stack}.layers.0", iter(range(1, 4))
    modules = {
        "Attention": "attention", "Sublayer": "attention", "Masked": "self_attention", "Cross": "cross_attention",
        "FFN": "feed_forward",
    }  # fmt: skip

    def sublayer(name):
        def call(*given):
            asked = run.read[f"{place}.{modules[name]}"]
            for one, other in zip(given, asked, strict=False):
                torch.testing.assert_close(one, other[0], rtol=0, atol=1e-12)
            assert len(given) == (2 if name == "Cross" else 1)
            return run.gave[f"{place}.{modules[name]}"][0]

        return call

    def norm(x):
        return layer.get_submodule(f"norm_{next(turn)}")(x)

    start = {"Y" if part == "decoder" else "X": run.read[stack][0][0], "LayerNorm": norm}
    start |= {"Z": run.gave["encoder"][0]} if part == "decoder" else {}
    value = evaluate(part, **start, **{name: sublayer(name) for name in names})
    wanted = run.gave[f"{place}.norm_1"] if part == "add-norm" else run.gave[f"{place}"]
    torch.testing.assert_close(value, wanted[0], rtol=0, atol=1e-12)


def test_every_part_of_the_drawing_has_its_data_and_no_other():
    assert set(MAP.parts) == set(PAGES)


def test_the_places_are_chapters_and_pages_of_the_book():
    listed = {toc.page(file) for file in toc.files()}
    assert [place for place in MAP.places if place not in listed and f"{place}/index" not in listed] == []


def test_a_place_with_an_unknown_part_is_refused(tmp_path):
    path = Path(tmp_path, "map.yml")
    text = (toc.CHECKOUT / FILE).read_text("utf8")
    path.write_text(text.replace("{parts: [embedding]}", "{parts: [embeding]}"), "utf8")
    with pytest.raises(ValueError, match=r"from-text-to-tokens: a place names parts .* got embeding\. Use encoder"):
        read_map(path)
