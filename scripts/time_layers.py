"""Time a Transformer, an LSTM and single layers over the length of the input, with everything stated.

    python scripts/time_layers.py [--device cuda] [--only lstm] [--folder measurements]

Each row is the time of one forward pass in seconds, on one thread of a CPU or on a GPU that is waited for, without
gradients, in float32: every run is kept, and the median counts. No bar is set; a row says what was measured, and its
settings say on what. The rows go to measurements/layers/DEVICE.json. Rows that are done are kept in _build/ until all
are, so that a stopped run goes on where it was, unless the code has changed.
"""

import dataclasses
import sys
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

from companion import cost
from companion.encoder import Encoder, EncoderLayer
from companion.measure import Row, one_thread, time_call
from companion.multihead import MultiHeadAttention
from companion.recurrent import CausalConv
from scripts.resume import measure_rows

ROOT = Path(__file__).resolve().parent.parent
D_MODEL, HEADS, D_FF, KERNEL = 512, 8, 2048, 3
LENGTHS, BATCHES = (50, 100, 200, 500, 1000, 2000), (1, 8, 32)
LAYER_LENGTHS = (64, 128, 256, 512, 1024, 2048, 4096)
LIMITS = {"cpu": 2e11, "cuda": 1e15}  # FLOPs of a pass above which a row is left out: on a CPU some seconds


class Lstm(nn.Module):
    """Torch's own LSTM, its output alone."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(D_MODEL, D_MODEL, num_layers=layers, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        """Give the state after each position."""
        return self.lstm(x)[0]


def transformer(layers: int) -> nn.Module:
    """Make an encoder with the sizes of the base model, without dropout, with the fused kernel."""
    return Encoder([EncoderLayer(D_MODEL, HEADS, D_FF, dropout=0.0) for _ in range(layers)])


MODELS: dict[str, Callable[[], nn.Module]] = {
    "Transformer, 6 layers": lambda: transformer(6),
    "LSTM, 2 layers": lambda: Lstm(2),
    "LSTM, 9 layers": lambda: Lstm(9),  # as many weights as the Transformer: 9 x 8 = 6 x 12 d^2
}
LAYERS: dict[str, Callable[[], nn.Module]] = {
    "self-attention, fused": lambda: MultiHeadAttention(D_MODEL, HEADS, kernel="sdpa"),
    "self-attention, formula": lambda: MultiHeadAttention(D_MODEL, HEADS, kernel="reference"),
    "LSTM": lambda: Lstm(1),
    "convolution": lambda: CausalConv(D_MODEL, D_MODEL, kernel=KERNEL),
}


def flops(name: str, batch: int, n: int) -> int:
    """Count the FLOPs of a pass with :mod:`companion.cost`."""
    if name.startswith("Transformer"):
        layer = cost.attention_flops(1, n, n, D_MODEL) + cost.feed_forward_flops(1, n, D_MODEL, D_FF)
        return 6 * batch * layer
    if name.startswith("LSTM"):
        layers = int(name.split()[1]) if "," in name else 1
        return layers * batch * cost.recurrent_layer(n, D_MODEL, gates=4).flops
    if name.startswith("convolution"):
        return batch * cost.convolution_layer(n, D_MODEL, KERNEL).flops
    return batch * cost.self_attention_layer(n, D_MODEL).flops


def plan(device: str) -> dict[str, Row]:
    """List the rows, each without its values."""
    made = {}
    grid = [(name, batch, n) for name in MODELS for batch in BATCHES for n in LENGTHS]
    grid += [(name, 1, n) for name in LAYERS for n in LAYER_LENGTHS]
    for name, batch, n in grid:
        count = flops(name, batch, n)
        if count <= LIMITS[torch.device(device).type]:
            settings = {"batch": batch, "n": n, "d_model": D_MODEL, "flops": count, "dtype": "float32"}
            settings |= {"pass": "forward, no gradients"}
            made[f"{name}, {batch} x {n}"] = Row(name, "s", [], settings)
    return made


def measured(row: Row, device: str) -> Row:
    """Time the passes of a row: the fewer runs, the longer one takes, but at least three."""
    torch.manual_seed(0)
    module = (MODELS | LAYERS)[row.name]().to(device).eval()
    x = torch.randn(row.settings["batch"], row.settings["n"], D_MODEL).to(device)
    with torch.no_grad(), one_thread():
        # Warm up, and see how long it takes.
        second = [time_call(lambda: module(x), torch.device(device)) for _ in range(2)][-1]
        runs = min(15, max(3, round(1.0 / second)))
        values = [round(time_call(lambda: module(x), torch.device(device)), 7) for _ in range(runs)]
    return dataclasses.replace(row, values=values)


def table(found: dict[str, Row]) -> str:
    """Lay the rows out for the terminal."""
    lines = []
    for name, row in found.items():
        rate = row.settings["flops"] / row.value / 1e9
        lines.append(f"{name:<36}{1000 * row.value:>12.3f} ms{rate:>10.1f} GFLOP/s{len(row.values):>4} runs")
    return "\n".join(lines)


def main() -> int:
    """Measure, print the table, write the file."""
    return measure_rows(
        __file__,
        "layers",
        "Time a Transformer, an LSTM and single layers over the length.",
        root=ROOT,
        plan=plan,
        take=measured,
        table=table,
    )


if __name__ == "__main__":
    sys.exit(main())
