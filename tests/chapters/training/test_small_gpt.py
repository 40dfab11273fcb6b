"""The small GPT: its text, its weights, and the script that trains it."""

import hashlib
import math

import pytest
import torch

from companion.chapters.training import small_gpt
from scripts import train_small_gpt

SHA = "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"  # of the text, in NOTICE


def test_the_text_is_the_one_that_the_notice_names():
    assert hashlib.sha256(small_gpt.text().encode()).hexdigest() == SHA
    assert SHA in (train_small_gpt.ROOT / "NOTICE").read_text("utf8")
    assert len(small_gpt.symbols()) == 65


def test_text_and_weights_are_as_small_as_they_have_to_be():
    assert (small_gpt.DATA / "shakespeare.txt.gz").stat().st_size <= 1_000_000
    assert (small_gpt.DATA / "small_gpt.safetensors").stat().st_size <= 400_000


def test_the_last_tenth_is_not_trained_on():
    train, validation = small_gpt.splits()
    assert small_gpt.decode(torch.cat([train, validation])) == small_gpt.text()
    assert len(validation) == math.ceil(len(small_gpt.text()) / 10)
    rows = small_gpt.draw(7)
    assert rows.shape == (32, 129)
    assert all(small_gpt.decode(row) in small_gpt.decode(train) for row in rows[:3])
    assert torch.equal(small_gpt.draw(7), rows)
    assert not torch.equal(small_gpt.draw(8), rows)


def test_a_text_comes_back_from_its_tokens_and_a_strange_character_is_refused():
    assert small_gpt.decode(small_gpt.encode("To be, or not.")) == "To be, or not."
    with pytest.raises(ValueError, match=r"knows the 65 characters of its text: got \['é'\]\. Leave them out"):
        small_gpt.encode("café")


def test_bits_are_the_mean_loss_of_characters_with_64_before_them():
    model, tokens = small_gpt.new_model(seed=1), small_gpt.splits()[1][: 64 * 4 + 1]
    total = 0.0
    for start in (0, 64, 128):
        piece = tokens[start : start + 129]
        log_p = model(piece[None, :-1])[0].log_softmax(-1)
        total -= sum(log_p[i, piece[i + 1]].item() for i in range(64, 128))
    found = small_gpt.bits_per_character(model, tokens)
    assert found == pytest.approx(total / 192 / math.log(2), abs=1e-4)


def test_the_released_model_has_the_loss_that_its_log_tells():
    tokens = small_gpt.splits()[1]
    step, _, loss = small_gpt.log()["losses"][-1]
    assert step == small_gpt.STEPS
    assert small_gpt.bits_per_character(small_gpt.load(), tokens[:20_000]) == pytest.approx(loss, abs=0.1)


def test_matrices_decay_and_vectors_do_not():
    model = small_gpt.new_model()
    groups = small_gpt.optimizer(model).param_groups
    assert [group["weight_decay"] for group in groups] == [0.1, 0.0]
    assert [{p.ndim for p in group["params"]} for group in groups] == [{2}, {1}]
    assert sum(p.numel() for group in groups for p in group["params"]) == 162_432


def test_what_is_written_depends_on_prompt_and_seed_and_on_nothing_else():
    model = small_gpt.load()
    text = small_gpt.write(model, "ROMEO:", 20, seed=1)
    assert len(text) == 20
    assert text == small_gpt.write(model, "ROMEO:", 20, seed=1) != small_gpt.write(model, "ROMEO:", 20, seed=2)


def test_a_stopped_run_goes_on_to_the_numbers_that_it_would_have_reached(tmp_path, monkeypatch):
    monkeypatch.setattr(small_gpt, "splits", lambda: (torch.arange(400) % 65, torch.arange(200) % 65))
    whole, log = train_small_gpt.run(tmp_path / "whole.pt", noted=(0, 2, 4))
    train_small_gpt.run(tmp_path / "parts.pt", noted=(0, 2))
    parts, resumed = train_small_gpt.run(tmp_path / "parts.pt", noted=(0, 2, 4))
    for one, other in zip(whole.parameters(), parts.parameters(), strict=True):
        assert torch.equal(one, other)
    assert [row[0] for row in log["losses"]] == [row[0] for row in resumed["losses"]] == [0, 2, 4]
    assert log["losses"] == resumed["losses"]
    assert log["samples"] == resumed["samples"]


def test_the_weights_come_back_from_the_file_in_half_precision(tmp_path, monkeypatch):
    model = small_gpt.new_model(seed=5)
    monkeypatch.setattr(small_gpt, "DATA", tmp_path)
    small_gpt.save(model, tmp_path / "small_gpt.safetensors")
    loaded = small_gpt.load()
    assert not loaded.training
    for one, other in zip(model.parameters(), loaded.parameters(), strict=True):
        assert torch.equal(one.detach().half().float(), other)


# ---- In eight bits, for the browser


def test_the_file_for_the_browser_is_made_of_the_released_weights_and_small():
    assert small_gpt.WEIGHTS.read_bytes() == small_gpt.pack()
    assert 4 * -(-small_gpt.WEIGHTS.stat().st_size // 3) <= 400_000, "as base64, in a script"


def test_eight_bits_cost_less_than_a_hundredth_of_a_bit_per_character():
    tokens = small_gpt.splits()[1][:20_000]
    kept, exact = (small_gpt.bits_per_character(model, tokens) for model in (small_gpt.load_packed(), small_gpt.load()))
    assert 0 < abs(kept - exact) < 0.01
