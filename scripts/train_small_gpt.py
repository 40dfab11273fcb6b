"""Train the small GPT of the chapter on training, in about ten minutes on one quiet core.

    .venv/bin/python -m scripts.train_small_gpt

At each step that is noted the state is kept in _build/, so that a stopped run goes on from there. At the end the
weights, the losses and the samples are written to companion/chapters/training/data/, and the weights in eight bits to
companion/chapters/training/weights/.
"""

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import torch
from tqdm import tqdm

from companion.chapters.training import small_gpt
from companion.measure import one_thread
from companion.training import load_checkpoint, save_checkpoint
from companion.transformer import DecoderOnly

ROOT = Path(__file__).resolve().parent.parent


def run(scratch: Path, noted: Sequence[int] = small_gpt.NOTED) -> tuple[DecoderOnly, dict[str, Any]]:
    """Train, from the last kept state on.

    Args:
        scratch: file of the kept state.
        noted: steps after which the model is measured and kept; the last one is the end.

    Returns:
        The trained model, and the log that ``small_gpt.log`` reads.
    """
    model = small_gpt.new_model()
    adamw = small_gpt.optimizer(model)
    validation = small_gpt.splits()[1]
    log = {"step": -1, "seconds": 0.0, "losses": [], "samples": {}}
    if scratch.exists():
        log = load_checkpoint(scratch)
        model.load_state_dict(log.pop("model"))
        adamw.load_state_dict(log.pop("adamw"))
    started, recent = time.perf_counter() - log["seconds"], []
    for step in tqdm(range(log["step"] + 1, noted[-1] + 1), unit="step", mininterval=10):
        if step:
            recent.append(small_gpt.train_step(model, adamw, step))
        if step in noted:
            seen = mean(recent) if recent else None
            log["losses"].append([step, seen, small_gpt.bits_per_character(model, validation)])
            log["samples"][str(step)] = small_gpt.write(model)
            log |= {"step": step, "seconds": time.perf_counter() - started}
            save_checkpoint(scratch, log | {"model": model.state_dict(), "adamw": adamw.state_dict()})
            tqdm.write(f"step {step}, training and validation: {log['losses'][-1][1:]}")
            recent = []
    return model, log


def main() -> int:
    """Train, and write the files."""
    scratch = ROOT / "_build" / "small-gpt.pt"
    with one_thread():
        model, log = run(scratch)
    small_gpt.save(model, small_gpt.DATA / "small_gpt.safetensors")
    small_gpt.WEIGHTS.write_bytes(small_gpt.pack())
    log |= {"torch": torch.__version__}
    (small_gpt.DATA / "small_gpt.json").write_text(json.dumps(log, indent=1) + "\n", "utf-8")
    scratch.unlink()
    print(f"Written: {small_gpt.DATA}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
