"""Faults of `companion.pretrained`."""

from faults import Fault

PRETRAINED = "companion/pretrained.py"


def pretrained(*tests: str) -> tuple[str, ...]:
    return tuple(f"tests/unit/test_pretrained.py::test_{test}" for test in tests)


SAME = pretrained("a_checkpoint_gives_the_same_answers_whatever_heads_it_has")
MEAN = pretrained("a_sentence_embedding_is_the_normalised_mean_of_its_tokens_vectors")
SETTING = pretrained("a_setting_without_a_counterpart_is_refused")

FAULTS = [
    Fault(
        "keys and values are exchanged",
        PRETRAINED,
        '"attention.self.key": "attention.w_k",\n    "attention.self.value": "attention.w_v",',
        '"attention.self.key": "attention.w_v",\n    "attention.self.value": "attention.w_k",',
        SAME,
    ),
    Fault(
        "a checkpoint with a head is refused",
        PRETRAINED,
        'name.removeprefix("bert.")',
        "name",
        SAME,
        reason="ValueError: each tensor has one place",
    ),
    Fault(
        "the oldest names are not known",
        PRETRAINED,
        '    "gamma": "weight",  # the names of LayerNorm\'s tensors in the oldest checkpoints\n',
        "",
        pretrained("the_oldest_names_are_read"),
        reason="ValueError: each tensor has one place",
    ),
    Fault(
        "eps stays that of torch",
        PRETRAINED,
        'eps=raw.get("layer_norm_eps", 1e-12)',
        "eps=1e-5",
        pretrained("the_eps_of_the_checkpoint_is_used"),
    ),
    Fault(
        "a decoder is taken for an encoder",
        PRETRAINED,
        '        "is_decoder": (False,),\n',
        "",
        SETTING,
    ),
    Fault(
        "a tensor that comes twice overwrites the first",
        PRETRAINED,
        "if ours not in wanted or ours in found:",
        "if ours not in wanted:",
        pretrained("a_tensor_that_comes_twice_is_refused"),
    ),
    Fault(
        "weights stay in half precision",
        PRETRAINED,
        ".to(torch.get_default_dtype())",
        "",
        pretrained("half_precision_weights_are_widened"),
    ),
    Fault(
        "the tokenizer pads as its file says",
        PRETRAINED,
        "    tokenizer.no_padding()\n",
        "",
        pretrained("the_tokenizer_cuts_at_max_len_and_does_not_pad"),
    ),
    Fault("padding enters the mean", PRETRAINED, "(hidden * real).sum(dim=1)", "hidden.sum(dim=1)", MEAN),
    Fault("padding is attended to", PRETRAINED, "model(tokens, lengths=lengths)", "model(tokens)", MEAN),
    Fault(
        "a pickle is not told from a missing file",
        PRETRAINED,
        '(Path(folder) / "pytorch_model.bin").is_file()',
        "False",
        pretrained("a_pickle_is_refused"),
    ),
    Fault(
        "the package is run in order to find it",
        PRETRAINED,
        "package = find_spec(MINILM_MODULE)  # finds",
        "package = __import__(MINILM_MODULE).__spec__  # finds",
        pretrained("the_package_is_found_and_not_run"),
    ),
    Fault(
        "the hub is asked outside Colab",
        PRETRAINED,
        'if not (_installed("google.colab") and _installed("huggingface_hub")):',
        'if not _installed("huggingface_hub"):',
        pretrained("without_the_package_the_command_is_named"),
        reason="UserWarning: downloading",  # an error in the suite, so nothing is downloaded
    ),
]
