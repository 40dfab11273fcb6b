"""Models in eight bits: a trained model as one small file, which a page can run in the browser.

The file is one of safetensors: each matrix as integers with one scale a row, named as in the model, each vector in
float32, and under ``about`` what a reader of the file must know besides. ``companion/explorers/tensors.js`` reads it.
Made for this book. Chapters: book/architecture, book/training.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from safetensors import safe_open
from safetensors.torch import load_file, save
from torch import Tensor, nn

from companion.config import ModelConfig
from companion.quantise import dequantise, quantise
from companion.transformer import DecoderOnly, Transformer

Kind = TypeVar("Kind", DecoderOnly, Transformer)


def packed(model: DecoderOnly | Transformer, about: Mapping[str, Any], *, bits: int | None = 8) -> bytes:
    """Write a model into the bytes of a safetensors file.

    Args:
        model: with a ``config``, from which it can be made again.
        about: what the file tells besides, as JSON can hold it; the config is put beside it.
        bits: of an integer of a matrix; ``None`` keeps the matrices in float32.

    Returns:
        The bytes, the same ones for the same weights.
    """
    tensors = {}
    for name, weight in model.named_parameters():  # a matrix that two sides share comes once
        kept = weight.detach().float().cpu().contiguous()
        if bits is not None and weight.ndim == 2:
            tensors[name], scales = quantise(kept, bits, kept.shape[1])
            tensors[f"{name}.scale"] = scales[:, 0].contiguous()
        else:
            tensors[name] = kept
    told = json.dumps({"config": asdict(model.config), **about}, ensure_ascii=False, separators=(",", ":"))
    return save(tensors, {"about": told})  # one entry: safetensors writes several in an order of its own


def unpacked(path: Path, kind: type[Kind]) -> tuple[Kind, dict[str, Any]]:
    """Read a model that :func:`packed` wrote.

    Args:
        path: of the file.
        kind: class of the model.

    Returns:
        The model with its rounded weights, in evaluation mode, and what the file tells besides.
    """
    with safe_open(path, "pt") as file:
        about = json.loads(file.metadata()["about"])
    stored = load_file(path)
    weights = {name: _whole(name, stored) for name in stored if not name.endswith(".scale")}
    model = kind(ModelConfig(**about.pop("config")))
    model.load_state_dict({name: weights[shared] for name, shared in _sources(model).items()})
    return model.eval(), about


def _sources(model: nn.Module) -> dict[str, str]:
    """Name, for each entry of the state, the parameter that holds its numbers."""
    first = {id(parameter): name for name, parameter in model.named_parameters()}
    return {name: first[id(value)] for name, value in model.state_dict(keep_vars=True).items()}


def _whole(name: str, stored: Mapping[str, Tensor]) -> Tensor:
    scales = stored.get(f"{name}.scale")
    return stored[name] if scales is None else dequantise(stored[name], scales[:, None])
