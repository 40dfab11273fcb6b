"""How far a layer, on a device and in a precision, is from its own result in float64 on the CPU.

The parity tests on CUDA compare with this, and `make gpu-check` keeps the largest errors. A case is one layer with its
weights and inputs. They are rounded to the precision before either side computes, so that the error is what computing
adds. The unit of an error is *one change by eps*: how far the exact result moves when each number of the weights and
inputs is changed by the part eps of it, up or down at random, and at least eps times the largest number of the result.
What is badly conditioned, as a deep stack or a gradient, has a large unit by that measure. In bfloat16 it is some
2% of the largest number of the result.

`BOUNDS` says how many units are allowed. A layer computes in ten or so operations, and each rounds once, by at most
eps / 2 of its result: as much as half of such a change, and roundings add up like their squares. In half precision the
operations themselves sum in float32 and add nothing; on a CPU the largest error of all cases is 0.8. In float32 the
sums round too, as many times as they have terms: there it is 1.8, for gradients 4.4. The bounds leave other kernels,
with other orders of summing, twice as much and more.
"""

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from companion import masks
from companion.attention import attention
from companion.config import ModelConfig
from companion.decoder import DecoderLayer
from companion.efficient import linear_attention, linear_attention_recurrent, tiled_attention, window_attention
from companion.encoder import EncoderLayer
from companion.feedforward import feed_forward, gelu, gelu_tanh, silu
from companion.generate import beam, greedy, sample
from companion.multihead import KERNELS, MultiHeadAttention
from companion.norm import LayerNorm, RMSNorm, SequenceBatchNorm, layer_norm, rms_norm
from companion.positional import (
    ALiBi,
    Learned,
    RotaryPosition,
    Sinusoidal,
    T5Bias,
    TransformerXLPosition,
    rotate,
)
from companion.recurrent import (
    AttentionSeq2Seq,
    BidirectionalRNN,
    CausalConvStack,
    ElmanCell,
    GRUCell,
    LSTMCell,
)
from companion.training import Batches, History, Trainer, pairs_batch, seq2seq_loss
from companion.transformer import DecoderOnly, EncoderOnly, Transformer

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
BOUNDS = {"float32": 10.0, "bfloat16": 4.0, "float16": 4.0}
SHAKES = 2  # random changes of the inputs that the unit is taken from

Function = Callable[..., Tensor]


@dataclass(frozen=True)
class Case:
    """One comparison.

    Args:
        layer: what it belongs to, the name of a row of the measurements.
        name: what is special about it.
        function: of the module, or None, and the inputs.
        inputs: on the CPU; what is floating point is float64.
        module: in float64 on the CPU.
        exact: what gives the float64 result, where that is not `function` itself.
        differentiable: whether `function` has gradients.
    """

    layer: str
    name: str
    function: Function
    inputs: tuple[Tensor, ...]
    module: nn.Module | None = None
    exact: Function | None = None
    differentiable: bool = True

    def __str__(self) -> str:
        return f"{self.layer}: {self.name}"


# Comparing


@contextmanager
def full_float32() -> Iterator[None]:
    """Forbid TF32, which keeps ten bits of a float32 in products, and convolutions use it unasked."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        with torch.backends.cudnn.flags(allow_tf32=False):
            yield
    finally:
        torch.set_float32_matmul_precision(before)


def compare(case: Case, device: str, dtype: torch.dtype, *, gradients: bool = False) -> list[float]:
    """Return the largest error of the output, in roundings, and that of all gradients where they are asked for.

    Args:
        case: what to compare.
        device: where to compute what is compared with the float64 result of the CPU.
        dtype: in which precision.
        gradients: whether to compare the gradients of all inputs and weights too.

    Returns:
        One number or two; NaN where a number is not finite.

    Raises:
        ValueError: the result has another dtype or lies on another device than the inputs.
    """
    inputs = [rounded(x, dtype) for x in case.inputs]
    module = None if case.module is None else copy.deepcopy(case.module).to(dtype).double()
    want = results(case.exact or case.function, module, inputs, dtype, gradients)
    there = None if module is None else copy.deepcopy(module).to(device, dtype)
    with full_float32():
        got = results(case.function, there, [placed(x, device, dtype) for x in inputs], dtype, gradients)
    wrong = [x for x in got if x.dtype != dtype or x.device.type != torch.device(device).type]
    if wrong:
        raise ValueError(f"{case} on {device} in {dtype} gives {wrong[0].dtype} on {wrong[0].device}")
    eps = torch.finfo(dtype).eps
    units = [eps * max(x.abs().max().item() for x in want)] * len(want)
    for seed in range(SHAKES):
        shaken = results(case.exact or case.function, *shake(module, inputs, eps, seed), dtype, gradients)
        units = [max(unit, distance(a, b)) for unit, a, b in zip(units, shaken, want, strict=True)]
    errors = [distance(a.cpu().double(), b) / unit for a, b, unit in zip(got, want, units, strict=True)]
    return [largest(part) for part in (errors[:1], errors[1:]) if part]


def results(
    function: Function, module: nn.Module | None, inputs: Sequence[Tensor], dtype: torch.dtype, gradients: bool
) -> list[Tensor]:
    """Return the output, then the gradients of each input and each weight where they are asked for."""
    if not gradients:
        with torch.no_grad():
            return [function(module, *inputs)]
    inputs = [x.detach().clone().requires_grad_(x.is_floating_point()) for x in inputs]
    output = function(module, *inputs)
    upstream = Draw(1).randn(*output.shape).to(dtype).to(output.device, output.dtype)
    leaves = [x for x in inputs if x.requires_grad] + ([] if module is None else list(module.parameters()))
    return [output.detach(), *torch.autograd.grad(output, leaves, upstream)]


def rounded(x: Tensor, dtype: torch.dtype) -> Tensor:
    """Round floating-point numbers to a precision, and write them in float64."""
    return x.to(dtype).double() if x.is_floating_point() else x


def placed(x: Tensor, device: str, dtype: torch.dtype) -> Tensor:
    """Copy a tensor to a device; only floating-point numbers take the dtype."""
    return x.to(device, dtype) if x.is_floating_point() else x.to(device)


def shake(
    module: nn.Module | None, inputs: Sequence[Tensor], eps: float, seed: int
) -> tuple[nn.Module | None, list[Tensor]]:
    """Change each number of the weights and inputs by the part eps of it, up or down at random."""
    draw, module = Draw(seed), copy.deepcopy(module)

    def to_device(x: Tensor) -> Tensor:
        return x * (1 + eps * draw.randn(*x.shape).sign()) if x.is_floating_point() else x

    if module is not None:
        with torch.no_grad():
            for weight in module.parameters():
                weight.copy_(to_device(weight))
    return module, [to_device(x) for x in inputs]


def largest(errors: Sequence[float]) -> float:
    """Return the largest number; NaN where one is not finite."""
    return max(errors) if all(map(math.isfinite, errors)) else math.nan


def distance(a: Tensor, b: Tensor) -> float:
    """Return the largest difference; NaN where there is one."""
    return (a - b).abs().max().item()


# What is compared: sizes that differ, and a second set that the fused kernels of a GPU take (multiples of 8)


class Draw:
    """Random numbers from a generator of their own.

    Args:
        seed: of the generator.
    """

    def __init__(self, seed: int = 20170612) -> None:
        self.generator = torch.Generator().manual_seed(seed)

    def randn(self, *shape: int) -> Tensor:
        """Draw normal numbers in float64."""
        return torch.randn(*shape, generator=self.generator, dtype=torch.float64)

    def mask(self, *shape: int) -> Tensor:
        """Allow six pairs in ten, and no key to the first query; where all queries share a row, to the first row."""
        mask = torch.rand(*shape, generator=self.generator) < 0.6
        if shape[-2] > 1:
            mask[..., 0, :] = False
        elif len(shape) > 2:
            mask[0] = False
        return mask

    def tokens(self, vocab: int, *shape: int) -> Tensor:
        """Draw tokens."""
        return torch.randint(vocab, shape, generator=self.generator)

    def module(self, make: Callable[..., nn.Module], *arguments: object, **options: object) -> nn.Module:
        """Make a module with weights that give numbers of unit size, in float64."""
        with torch.random.fork_rng(devices=[]):
            module = make(*arguments, **options).double().eval()
        with torch.no_grad():
            for name, weight in module.named_parameters():
                numbers = self.randn(*weight.shape)
                gain = weight.ndim == 1 and not name.endswith("bias")
                weight.copy_(1 + 0.3 * numbers.tanh() if gain else numbers / math.sqrt(weight.shape[-1]))
        return module


def attention_cases() -> Iterator[Case]:
    """Compare Eq. (1) with each kind of mask."""
    draw = Draw()
    q, k, v = draw.randn(2, 3, 5, 11), draw.randn(2, 3, 7, 11), draw.randn(2, 3, 7, 13)
    plain = {"no mask": (), "one row": (draw.mask(1, 7),), "query by key": (draw.mask(5, 7),)}
    for name, mask in {**plain, "batch, heads": (draw.mask(2, 3, 5, 7),)}.items():
        yield Case("attention", name, lambda _, *inputs: attention(*inputs), (q, k, v, *mask))


def kernel_cases() -> Iterator[Case]:
    """Compare both multi-head kernels with every legal mask, in both sets of sizes."""
    for t_q, t_k, d_k, d_v in ((5, 7, 11, 13), (40, 48, 32, 32)):
        for kernel, function in KERNELS.items():
            draw, size = Draw(), f"{t_q} x {t_k}"
            q, k, v = draw.randn(2, 6, t_q, d_k), draw.randn(2, 6, t_k, d_k), draw.randn(2, 6, t_k, d_v)
            k_2, v_2 = k[:, :2].clone(), v[:, :2].clone()
            shapes = [(t_q, t_k), (1, t_k), (2, 1, 1, t_k), (2, 1, t_q, t_k), (1, 6, t_q, t_k), (2, 6, t_q, t_k)]
            options: list[tuple[str, tuple[Tensor, ...], dict]] = [("no mask", (q, k, v), {})]
            options += [(f"mask {shape}", (q, k, v, draw.mask(*shape)), {}) for shape in shapes]
            options += [
                ("causal", (q, k, v), {"causal": True}),
                ("causal, as many keys", (q, k[:, :, :t_q], v[:, :, :t_q]), {"causal": True}),
                ("causal, mask", (q, k, v, draw.mask(2, 1, 1, t_k)), {"causal": True}),
                ("shared heads", (q, k_2, v_2), {}),
                ("shared heads, causal", (q, k_2[:, :, :t_q], v_2[:, :, :t_q]), {"causal": True}),
                ("shared heads, mask", (q, k_2, v_2, draw.mask(2, 1, t_q, t_k)), {}),
            ]
            for name, inputs, more in options:
                yield Case(
                    f"kernel {kernel}",
                    f"{name}, {size}",
                    lambda _, *inputs, function=function, more=more: function(*inputs, **more),
                    inputs,
                )
            bias = draw.randn(1, 6, t_q, t_k)
            for name, mask in {"bias": (), "bias, mask": (draw.mask(t_q, t_k),)}.items():
                yield Case(
                    f"kernel {kernel}",
                    f"{name}, {size}",
                    lambda _, q, k, v, bias, *mask, function=function: function(q, k, v, *mask, bias=bias),
                    (q, k, v, bias, *mask),
                )


def layer_cases() -> Iterator[Case]:
    """Compare the multi-head layer with each scheme of positions, with shared heads, and across to a memory."""
    schemes: dict[str, Callable[[], nn.Module | None]] = {
        "no position": lambda: None,
        "rope, half": lambda: RotaryPosition(8),
        "rope, interleaved": lambda: RotaryPosition(8, layout="interleaved"),
        "alibi": lambda: ALiBi(6),
        "t5": lambda: T5Bias(6, causal=True),
        "transformer-xl": lambda: TransformerXLPosition(6, 8, 48),
    }
    for kernel in KERNELS:
        draw = Draw()
        x, memory, mask = draw.randn(2, 5, 48), draw.randn(2, 7, 20), masks.padding([7, 4])
        for name, scheme in schemes.items():
            layer = draw.module(MultiHeadAttention, 48, 6, kernel=kernel, position=scheme())
            yield Case("multi-head layer", f"{name}, {kernel}", lambda m, x: m(x, causal=True), (x,), layer)
        for heads in (1, 2):
            layer = draw.module(MultiHeadAttention, 48, 6, n_kv_heads=heads, kernel=kernel)
            name = f"{heads} key-value heads, {kernel}"
            yield Case("multi-head layer", name, lambda m, x: m(x, causal=True), (x,), layer)
        layer = draw.module(MultiHeadAttention, 48, 6, d_memory=20, kernel=kernel)
        yield Case("multi-head layer", f"cross, {kernel}", lambda m, *inputs: m(*inputs), (x, memory, mask), layer)


def position_cases() -> Iterator[Case]:
    """Compare the schemes that stand on their own."""
    draw = Draw()
    x, heads = draw.randn(2, 5, 12), draw.randn(2, 3, 5, 8)
    for make in (Sinusoidal, Learned):
        module = draw.module(make, 12, 11)
        yield Case("position", make.__name__.lower(), lambda m, x: x + m(5, 3), (x,), module)
    for layout in ("half", "interleaved"):
        yield Case(
            "position",
            f"rotate, {layout}",
            lambda _, x, where, layout=layout: rotate(x, where, layout=layout),
            (heads, torch.arange(900, 905)),
        )


def norm_cases() -> Iterator[Case]:
    """Compare the norms, as formulas and as torch's kernels, with a mean that is large against the spread."""
    draw = Draw()
    x, weight, bias = 2 + draw.randn(2, 5, 12), draw.randn(12), draw.randn(12)
    mask = masks.padding([5, 3])
    yield Case("norm", "layer_norm", lambda _, *inputs: layer_norm(*inputs), (x, weight, bias))
    yield Case("norm", "rms_norm", lambda _, *inputs: rms_norm(*inputs), (x, weight))
    yield Case("norm", "LayerNorm", lambda m, x: m(x), (x,), draw.module(LayerNorm, 12))
    yield Case("norm", "RMSNorm", lambda m, x: m(x), (x,), draw.module(RMSNorm, 12))
    for training in (False, True):
        module = draw.module(SequenceBatchNorm, 12).train(training)
        name = f"SequenceBatchNorm, {'training' if training else 'evaluation'}"
        yield Case("norm", name, lambda m, x, mask: m(x, mask), (x, mask), module)


def feed_forward_cases() -> Iterator[Case]:
    """Compare the feed-forward networks and the formulas of their activations."""
    draw = Draw()
    x = draw.randn(2, 5, 12)
    for activation in ("relu", "gelu", "gelu-tanh", "swiglu"):
        module = draw.module(feed_forward, 12, 40, activation=activation)
        yield Case("feed-forward", activation, lambda m, x: m(x), (x,), module)
    for function in (gelu, gelu_tanh, silu):
        yield Case("feed-forward", f"formula of {function.__name__}", lambda _, x, function=function: function(x), (x,))


def efficient_cases() -> Iterator[Case]:
    """Compare the forms that never hold all weights."""
    draw = Draw()
    q, k, v, mask = draw.randn(2, 3, 20, 8), draw.randn(2, 3, 20, 8), draw.randn(2, 3, 20, 16), draw.mask(20, 20)
    yield Case("tiled attention", "no mask", lambda _, *x: tiled_attention(*x, block=8), (q, k, v))
    yield Case("tiled attention", "mask", lambda _, *x: tiled_attention(*x, block=8), (q, k, v, mask))
    yield Case("tiled attention", "causal", lambda _, *x: tiled_attention(*x, causal=True, block=8), (q, k, v))
    for causal in (True, False):
        name = "causal" if causal else "both sides"
        yield Case(
            "window attention", name, lambda _, *x, causal=causal: window_attention(*x, 3, causal=causal), (q, k, v)
        )
        yield Case(
            "linear attention",
            name,
            lambda _, *x, causal=causal: linear_attention(*x, causal=causal, chunk=8),
            (q, k, v),
        )
    yield Case("linear attention", "recurrent", lambda _, *x: linear_attention_recurrent(*x), (q, k, v))


def stack_cases() -> Iterator[Case]:
    """Compare single layers of the encoder and the decoder, with both norm placements."""
    draw = Draw()
    x, memory = draw.randn(2, 5, 48), draw.randn(2, 7, 48)
    near, far = masks.padding([5, 3]), masks.padding([4, 7])
    modern = {"norm": "rms", "activation": "swiglu", "n_kv_heads": 2, "bias": False}
    for norm_placement in ("post", "pre"):
        for name, options in {norm_placement: {}, f"{norm_placement}, rms, swiglu, shared heads": modern}.items():
            layer = draw.module(EncoderLayer, 48, 6, 80, norm_placement=norm_placement, **options)
            yield Case("encoder layer", name, lambda m, *inputs: m(*inputs), (x, near), layer)
            layer = draw.module(DecoderLayer, 48, 6, 80, norm_placement=norm_placement, **options)
            inputs = (x, memory, far)
            yield Case("decoder layer", name, lambda m, x, memory, far: m(x, memory, memory_mask=far), inputs, layer)


def recurrent_cases() -> Iterator[Case]:
    """Compare the recurrent layers, the convolution (where torch allows TF32 unasked) and attention beside them."""
    draw = Draw()
    x, lengths = draw.randn(2, 5, 12), torch.tensor([5, 3])
    for cell in (ElmanCell, LSTMCell, GRUCell):
        module = draw.module(lambda cell=cell: BidirectionalRNN(cell(12, 7), cell(12, 9)))
        yield Case("recurrent", cell.__name__, lambda m, x, lengths: m(x, lengths=lengths)[0], (x, lengths), module)
    yield Case("recurrent", "CausalConvStack", lambda m, x: m(x), (x,), draw.module(CausalConvStack, 12))
    source, target = draw.tokens(13, 2, 7), draw.tokens(11, 2, 5)
    for name in ("additive", "dot", "general"):
        module = draw.module(AttentionSeq2Seq, 13, 11, 12, 16, attention=name)
        read = lambda m, *tokens: m(*tokens, source_lengths=[4, 7])  # noqa: E731
        yield Case("recurrent", f"AttentionSeq2Seq, {name}", read, (source, target), module)


def model_cases() -> Iterator[Case]:
    """Compare whole models; with a cache, token by token against the whole text at once in float64."""
    sizes = {"vocab": 19, "d_model": 48, "n_layers": 2, "n_heads": 6, "d_ff": 80, "max_len": 16, "dropout": 0.0}
    modern = {
        "norm_placement": "pre",
        "norm": "rms",
        "activation": "swiglu",
        "bias": False,
        "tied": False,
        "n_kv_heads": 2,
    }
    draw = Draw()
    source, target = draw.tokens(19, 2, 7), draw.tokens(19, 2, 5)
    model = draw.module(Transformer, ModelConfig(**sizes))
    whole = lambda m, s, t: m(s, t, source_lengths=[4, 7])  # noqa: E731
    yield Case("encoder-decoder", "2017", whole, (source, target), model)
    yield Case("cached decoding", "encoder-decoder", translated, (source, target), model, whole, differentiable=False)
    model = draw.module(EncoderOnly, ModelConfig(**sizes, position="learned", segments=2, embedding_norm=True))
    encode = lambda m, tokens, segments: m.logits(m(tokens, segments=segments, lengths=[7, 4]))  # noqa: E731
    yield Case("encoder-only", "BERT", encode, (source, draw.tokens(2, 2, 7)), model)
    for position in ("sinusoidal", "learned", "rope", "alibi", "t5", "transformer-xl"):
        options = modern if position == "rope" else {"norm_placement": "pre"}
        model = draw.module(DecoderOnly, ModelConfig(**sizes, position=position, **options))
        yield Case("decoder-only", position, lambda m, tokens: m(tokens), (source,), model)
        yield Case(
            "cached decoding", position, continued, (source,), model, lambda m, tokens: m(tokens), differentiable=False
        )


def continued(model: nn.Module, tokens: Tensor) -> Tensor:
    """Read three tokens at once and the others one by one, with a cache."""
    cache = model.new_cache()
    parts = [tokens[:, :3], *tokens[:, 3:].split(1, dim=1)]
    return torch.cat([model(part, cache=cache) for part in parts], dim=1)


def translated(model: nn.Module, source: Tensor, target: Tensor) -> Tensor:
    """Read the target one token at a time, with a cache."""
    memory, cache = model.encode(source, [4, 7]), model.new_cache()
    steps = [model.decode(token, memory, source_lengths=[4, 7], cache=cache) for token in target.split(1, dim=1)]
    return torch.cat(steps, dim=1)


def cases() -> list[Case]:
    """List every comparison."""
    parts = (attention_cases, kernel_cases, layer_cases, position_cases, norm_cases, feed_forward_cases)
    parts += (efficient_cases, stack_cases, recurrent_cases, model_cases)
    return [case for part in parts for case in part()]


def flex_case(*, compiled: bool) -> Case:
    """Compare `flex_attention` under the rule of a window with the package's window.

    Args:
        compiled: as it is meant to be used. Otherwise it computes every score, and on a CPU it has no gradients.

    Returns:
        The case, which is not among :func:`cases`, since a CPU cannot run all of it.
    """
    draw, flex = Draw(), torch.compile(flex_attention) if compiled else flex_attention
    q, k, v = draw.randn(1, 2, 384, 64), draw.randn(1, 2, 384, 64), draw.randn(1, 2, 384, 64)

    def computed(_: None, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        rule = lambda batch, head, i, j: (i - j).abs() < 48  # noqa: E731
        return flex(q, k, v, block_mask=create_block_mask(rule, None, None, 384, 384, str(q.device)))

    def window(_: None, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return window_attention(q, k, v, 48, causal=False)

    return Case("flex attention", "compiled" if compiled else "not compiled", computed, (q, k, v), exact=window)


# Training and generating


def hidden_rows(kernel: str, device: str, dtype: torch.dtype) -> Tensor:
    """Return what a query that may look at no key gets, and its gradient: by definition exactly 0."""
    draw = Draw()
    q, k, v = (placed(draw.randn(2, 6, t, 32), device, dtype).requires_grad_() for t in (40, 48, 48))
    output = KERNELS[kernel](q, k, v, draw.mask(2, 1, 40, 48).to(device))
    (gradient,) = torch.autograd.grad(output, q, torch.ones_like(output))
    return torch.stack([output[:, :, 0], gradient[:, :, 0]])


def texts(device: str) -> list[list[list[int]]]:
    """Let a small model generate in float64, where rounding decides no tie: greedy, sampled, and by beam search."""
    config = ModelConfig(vocab=19, d_model=48, n_layers=2, n_heads=6, d_ff=80, max_len=16, dropout=0.0)
    model, draw = Draw().module(Transformer, config).to(device), Draw()
    source, start = draw.tokens(19, 3, 7).to(device), torch.zeros(3, 1, dtype=torch.long, device=device)
    read = {"source": source, "source_lengths": [4, 7, 5]}
    found = beam(model, start, 9, width=3, end=18, **read)
    return [
        greedy(model, start, 9, **read).tolist(),
        sample(model, start, 9, generator=torch.Generator().manual_seed(0), top_k=7, top_p=0.9, **read).tolist(),
        *[[text.tokens for text in hypotheses] for hypotheses in found],
    ]


def first_steps(device: str, dtype: torch.dtype, precision: str, steps: int = 4) -> History:
    """Train a small model for some steps: loss and length of the gradient of each one, always the same batches."""
    config = ModelConfig(vocab=11, d_model=48, n_layers=2, n_heads=6, d_ff=80, dropout=0.0, max_len=16)
    pairs = [([1 + (n + i) % 9 for i in range(3 + n % 4)], [10, *[1 + n % 9] * (1 + n % 3)]) for n in range(32)]
    model = Transformer(config, seed=0).to(device, dtype)
    trainer = Trainer(
        model,
        seq2seq_loss(padding=0),
        Batches(pairs, pairs_batch, size=8, seed=0),
        optimizer=torch.optim.SGD(model.parameters(), lr=1.0),
        schedule=lambda step: 0.05,
        precision=precision,
    )
    return trainer.run(steps, progress=False)
