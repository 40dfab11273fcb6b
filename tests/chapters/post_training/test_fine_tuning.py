"""Conversations, what the loss counts of them, the grown table, and the runs of the pages; what the pictures say."""

import pytest
import torch
from torch.testing import assert_close

from companion.chapters.post_training import experiments_tuning, fine_tuning
from companion.chapters.post_training.fine_tuning import ASSISTANT, END, USER
from companion.chapters.post_training.pictures import tuning
from companion.chapters.training import small_gpt

TALK = [("user", "Be so"), ("assistant", "SO")]


def test_a_conversation_is_roles_texts_and_ends():
    """Closed form: the two messages token by token."""
    tokens, counted = fine_tuning.chat(TALK)
    said = [small_gpt.encode(text).tolist() for _, text in TALK]
    assert tokens == [USER, *said[0], END, ASSISTANT, *said[1], END]
    assert counted == [False] * 8 + [True] * 3
    asked, _ = fine_tuning.chat(TALK[:1], prompt=True)
    assert asked == tokens[:8]
    assert fine_tuning.show(tokens) == "<user>Be so<end><assistant>SO<end>"


def test_a_third_role_is_refused():
    with pytest.raises(ValueError, match='a message is from "user" or "assistant": got \'system\''):
        fine_tuning.chat([("system", "Be brief")])


def test_the_picture_shows_what_the_template_gives():
    tokens, counted = fine_tuning.chat(TALK)
    short = {USER: "U", ASSISTANT: "A", END: "E"}
    drawn = [short.get(token) or small_gpt.symbols()[token].replace(" ", "␣") for token in tokens]
    assert tuple(drawn) == tuning.TOKENS
    assert sum(counted) == tuning.COUNTED


@pytest.mark.parametrize(
    ("ways", "left"),
    [({}, "SO<end>"), ({"end": False}, "SO"), ({"mask": False}, "Be so<end><assistant>SO<end>")],
)
def test_labels_are_the_next_tokens_that_count(ways, left):
    """Closed form: what is left of the labels, as text; the shorter row is padded with labels that do not count."""
    inputs, labels = fine_tuning.batch([("Be so", "SO"), ("A longer line", "LINE")], **ways)
    row = labels[0]
    assert fine_tuning.show(row[row != -100].tolist()) == left
    counts = row[:10] != -100
    tokens = torch.tensor(fine_tuning.chat(TALK)[0])
    assert_close(inputs[0, :10], tokens[:-1], rtol=0, atol=0)
    assert_close(row[:10][counts], tokens[1:][counts], rtol=0, atol=0)
    assert (row[10:] == -100).all()


def test_the_questions_for_testing_are_not_in_training():
    train, test = fine_tuning.pairs()
    assert (len(train), len(test)) == (5335, 200)
    assert not {question for question, _ in train} & {question for question, _ in test}
    assert fine_tuning.answer("But soft, what light!") == "LIGHT"


def test_the_grown_table_leaves_the_old_logits():
    old, new = small_gpt.load(), fine_tuning.base()
    tokens = small_gpt.encode("But soft")[None]
    assert_close(new(tokens)[..., :65], old(tokens), rtol=0, atol=0)
    assert new(tokens).shape[-1] == 68


def test_scores_tell_a_right_word_from_a_right_end(monkeypatch):
    """Closed form: four answers, of which one is right, three begin rightly, and two end."""
    so = small_gpt.encode("SO").tolist()
    said = iter([[*so, END], so, [*so, 20], [20, END]])
    monkeypatch.setattr(fine_tuning, "reply", lambda *_: next(said))
    found = fine_tuning.scores(fine_tuning.base(), [("Be so", "SO")] * 4)
    assert found == {"right": 0.25, "begins": 0.75, "ends": 0.5}


def test_adapters_leave_the_base_and_the_old_rows():
    """Property: after two steps only adapters and the three new rows have moved."""
    model = experiments_tuning.adapted(2, seed=0)
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    fine_tuning.tune(model, 2, size=2)
    moved = {name for name, p in model.named_parameters() if not torch.equal(p, before[name])}
    table = "embedding.token.weight"
    assert table in moved
    assert all(name == table or name.endswith((".a", ".b")) for name in moved)
    assert_close(model.embedding.token.weight[:65], before[table][:65], rtol=0, atol=0)


def test_a_step_learns_from_the_text_too():
    """Property: with text, the same batch of pairs gives another model."""
    one, other = (fine_tuning.tune(fine_tuning.base(), 1, size=2, text=text) for text in (0, 2))
    assert not torch.equal(one.decoder.final_norm.weight, other.decoder.final_norm.weight)
