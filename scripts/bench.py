"""Measure the speed and the memory that the package promises: what `make bench` does.

    python scripts/bench.py [--device cuda] [--only decoder] [--folder measurements]

A time is the median of interleaved ratios, on one thread; a row whose ratios lie too far apart is measured again, and
refused after the third time. The rows go to measurements/speed/DEVICE.json; the README beside it says what they mean.
The bars on times are promises for a CPU: on another device those rows have none. Rows that are done are kept in _build/
until the table is complete, so that a stopped run goes on where it was, unless the code has changed.
"""

import dataclasses
import sys
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from companion.attention import attention
from companion.config import ModelConfig
from companion.efficient import tiled_attention
from companion.measure import Quartiles, Row, exponent, peak_bytes, time_ratio
from companion.multihead import MultiHeadAttention
from companion.transformer import DecoderOnly
from scripts.resume import measure_rows

ROOT = Path(__file__).resolve().parent.parent
ATTEMPTS, SPREAD = 3, 0.25


def multi_head(device: str, batch: int, t: int, kernel: str) -> list[float]:
    """Time forward and backward of our multi-head attention over that of `nn.MultiheadAttention`."""
    d_model, heads = 512, 8
    torch.manual_seed(0)
    ours = MultiHeadAttention(d_model, heads, kernel=kernel).to(device)
    theirs = nn.MultiheadAttention(d_model, heads, batch_first=True).to(device)
    x = torch.randn(batch, t, d_model).to(device).requires_grad_()
    upstream = torch.randn(batch, t, d_model).to(device)

    def step(layer: nn.Module, output: Callable[[], Tensor]) -> None:
        x.grad = None
        layer.zero_grad()
        output().backward(upstream)

    return time_ratio(
        lambda: step(ours, lambda: ours(x)),
        lambda: step(theirs, lambda: theirs(x, x, x, need_weights=False)[0]),
        runs=15 if t < 1000 else 9,
        warmup=3,
        device=device,
    )


class TorchDecoder(nn.Module):
    """The same model from torch's own encoder layers with a causal mask."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.tokens = nn.Embedding(config.vocab, config.d_model)
        self.positions = nn.Embedding(config.max_len, config.d_model)
        layer = nn.TransformerEncoderLayer(
            config.d_model,
            config.n_heads,
            config.d_ff,
            config.dropout,
            activation="gelu",
            batch_first=True,
            norm_first=True,
        )
        final = nn.LayerNorm(config.d_model)
        self.stack = nn.TransformerEncoder(layer, config.n_layers, final, enable_nested_tensor=False)

    def forward(self, tokens: Tensor) -> Tensor:
        """Predict the next token after each token."""
        t = tokens.shape[1]
        mask = nn.Transformer.generate_square_subsequent_mask(t, device=tokens.device)
        x = self.tokens(tokens) + self.positions(torch.arange(t, device=tokens.device))
        return self.stack(x, mask=mask, is_causal=True) @ self.tokens.weight.T


def training_step(device: str) -> list[float]:
    """Time a training step of our decoder over that of an equal one made of torch's layers."""
    config = ModelConfig(
        vocab=65,
        d_model=128,
        n_layers=4,
        n_heads=4,
        d_ff=512,
        dropout=0.0,
        max_len=128,
        position="learned",
        activation="gelu",
        norm_placement="pre",
        scale_embedding=False,
    )
    torch.manual_seed(0)
    ours, theirs = DecoderOnly(config, seed=0).to(device), TorchDecoder(config).to(device)
    sizes = [sum(p.numel() for p in model.parameters()) for model in (ours, theirs)]
    if sizes[0] != sizes[1]:
        raise ValueError(f"the models to compare have one size: got {sizes[0]} and {sizes[1]} parameters.")
    tokens = torch.randint(config.vocab, (16, 129), generator=torch.Generator().manual_seed(0)).to(device)
    source, target = tokens[:, :-1], tokens[:, 1:].flatten()

    def step_of(model: nn.Module) -> Callable[[], None]:
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

        def step() -> None:
            optimizer.zero_grad()
            F.cross_entropy(model(source).flatten(0, 1), target).backward()
            optimizer.step()

        return step

    return time_ratio(step_of(ours), step_of(theirs), runs=11, warmup=3, device=device)


def decoding(device: str, tokens: int = 512) -> list[float]:
    """Time greedy decoding without a cache over the same with one.

    Raises:
        ValueError: the two write different tokens. Not looked at on a GPU, where roundings may decide a near tie.
    """
    config = ModelConfig(
        vocab=256,
        d_model=256,
        n_layers=4,
        n_heads=4,
        d_ff=1024,
        dropout=0.0,
        max_len=512,
        position="learned",
        activation="gelu",
        norm_placement="pre",
        scale_embedding=False,
    )
    model = DecoderOnly(config, seed=0).to(device).eval()

    @torch.no_grad()
    def cached() -> Tensor:
        cache, token, made = model.new_cache(), torch.zeros(1, 1, dtype=torch.long, device=device), []
        for _ in range(tokens):
            token = model(token, cache=cache)[:, -1:].argmax(-1)
            made.append(token)
        return torch.cat(made, 1)

    @torch.no_grad()
    def uncached() -> Tensor:
        text = torch.zeros(1, 1, dtype=torch.long, device=device)
        for _ in range(tokens):
            text = torch.cat([text, model(text)[:, -1:].argmax(-1)], 1)
        return text[:, 1:]

    if device == "cpu" and not torch.equal(cached(), uncached()):
        raise ValueError("with and without the cache the tokens must be the same.")
    return time_ratio(uncached, cached, runs=5, device=device)


def attention_bytes(device: str, t: int, form: str) -> int:
    """Count the extra memory of one head at its peak, forward and backward; `form` is "plain" or "tiled"."""
    inputs = [torch.randn(1, 1, t, 64).to(device).requires_grad_() for _ in range(3)]
    function = {"plain": attention, "tiled": tiled_attention}[form]

    def call() -> None:
        torch.autograd.grad(function(*inputs).sum(), inputs)

    if torch.device(device).type != "cpu":
        call()  # makes the work space of the GPU's library, which stays and is not attention's
    return peak_bytes(call, device=device)


def tiled_memory(device: str) -> list[float]:
    """Divide the plain form's extra memory by the tiled form's, forward and backward, at 16,384 tokens."""
    return [attention_bytes(device, 16_384, "plain") / attention_bytes(device, 16_384, "tiled")]


def tiled_exponent(device: str) -> list[float]:
    """Fit the power of the length with which the tiled form's extra memory grows."""
    lengths = [2048, 4096, 8192, 16_384]
    return [exponent(lengths, [attention_bytes(device, t, "tiled") for t in lengths])]


def rows(device: str = "cpu") -> dict[str, tuple[Callable[[str], list[float]], Row]]:
    """List what is measured: how, and the row without its values. The bars on times are those of a CPU."""

    def on_cpu(**bound: float) -> dict[str, float] | None:
        return bound if torch.device(device).type == "cpu" else None

    made: dict[str, tuple[Callable[[str], list[float]], Row]] = {}
    bars = {(4, 256): {"sdpa": 0.95, "reference": 1.05}, (1, 2048): {"sdpa": 1.05, "reference": 2.4}}
    in_files = {"sdpa": "fused", "reference": "formula"}  # what they were called when the files were written
    for (batch, t), kernels in bars.items():
        for kernel, bar in kernels.items():
            settings = {"batch": batch, "t": t, "d_model": 512, "n_heads": 8, "kernel": in_files[kernel]}
            row = Row("multi-head attention over torch's, time", "ratio", [], settings, bound=on_cpu(at_most=bar))
            made[f"multi-head {batch} x {t} {kernel}"] = (
                lambda device, sizes=(batch, t, kernel): multi_head(device, *sizes),
                row,
            )
    settings = {"batch": 16, "t": 128, "n_layers": 4, "d_model": 128, "n_heads": 4, "optimizer": "AdamW"}
    row = Row("decoder training step over torch's layers, time", "ratio", [], settings, bound=on_cpu(at_most=0.9))
    made["decoder training"] = (training_step, row)
    settings = {"batch": 1, "tokens": 512, "n_layers": 4, "d_model": 256}
    row = Row("decoding without a cache over with one, time", "ratio", [], settings, bound=on_cpu(at_least=8.0))
    made["decoding"] = (decoding, row)
    settings = {"batch": 1, "n_heads": 1, "t": 16_384, "d_k": 64, "pass": "forward and backward"}
    row = Row("plain attention over tiled, peak extra memory", "ratio", [], settings, bound={"at_least": 50.0})
    made["tiled memory"] = (tiled_memory, row)
    settings = {"t": [2048, 4096, 8192, 16_384], "pass": "forward and backward"}
    row = Row("tiled attention, exponent of its peak memory in t", "power", [], settings, bound={"at_most": 1.15})
    made["tiled exponent"] = (tiled_exponent, row)
    return made


def measured(take: Callable[[str], list[float]], row: Row, device: str) -> Row:
    """Measure a row until its ratios lie close together.

    Raises:
        ValueError: they did not, three times.
    """
    refusal = ValueError()
    for _ in range(ATTEMPTS):
        done = dataclasses.replace(row, values=[round(value, 4) for value in take(device)])
        if len(done.values) == 1:  # a count, which is the same each time
            return done
        try:
            Quartiles.of(done.values).require_spread(SPREAD)
        except ValueError as noisy:
            refusal = noisy
        else:
            return done
    raise ValueError(f"{row.name} {row.settings}: {refusal}")


def table(found: dict[str, Row]) -> str:
    """Lay the rows out for the terminal."""
    lines = [f"{'':<36}{'median':>9}{'quartiles':>18}{'bar':>10}"]
    for name, row in found.items():
        quartiles = ""
        if len(row.values) > 2:
            spread = Quartiles.of(row.values)
            quartiles = f"{spread.lower:.3f} .. {spread.upper:.3f}"
        signs = {"at_most": "<=", "at_least": ">="}
        bar = " ".join(f"{signs[kind]} {number}" for kind, number in (row.bound or {}).items()) or "none"
        said = "" if row.within_bound else "  MISSED"
        lines.append(f"{name:<36}{row.value:>9.3f}{quartiles:>18}{bar:>10}{said}")
    return "\n".join(lines)


def main() -> int:
    """Measure, print the table, write the file; 1 where a bar is missed or a row too noisy."""
    return measure_rows(
        __file__,
        "speed",
        "Measure the speed and the memory that the package promises.",
        root=ROOT,
        plan=rows,
        take=lambda entry, device: measured(*entry, device),
        table=table,
    )


if __name__ == "__main__":
    sys.exit(main())
