"""The tasks that the tiny T5 answers, its examples, and what is drawn of them."""

import pytest
import torch

from companion import pictures
from companion.chapters.variants import text_to_text
from companion.chapters.variants.language import TOPICS, WORDS, sentences, valid
from companion.chapters.variants.pictures.words import TEXTS
from companion.chapters.variants.text_to_text import END, PAD, SENTINELS, VOCABULARY, task_batch
from companion.transformer import Transformer
from tests.tools.layout import read


def spoken(row):
    return " ".join(VOCABULARY[token] for token in row.tolist() if token not in (END, PAD))


def test_the_first_words_are_those_of_the_language_and_none_comes_twice():
    assert VOCABULARY[: len(WORDS)] == WORDS
    assert len(set(VOCABULARY)) == len(VOCABULARY)


def test_the_topic_is_that_of_the_nouns():
    rows = torch.arange(4096)
    asked, said = task_batch(rows, "topic")
    assert asked.shape == (4096, 8)
    assert said.shape == (4096, 7)
    for row in rows[::97].tolist():
        noun = VOCABULARY[asked[row, 3]].removesuffix("s")
        topic = next(name for name, (nouns, _, _) in TOPICS.items() if noun in nouns.split())
        assert spoken(said[row]) == topic


def test_only_the_number_of_the_subject_changes_and_twice_gives_the_sentence_back():
    rows = torch.arange(4096)
    asked, said = task_batch(rows, "number")
    old, new = asked[:, 1:-1], said[:, :-1]
    assert valid(new[::50]).all()
    changed = old != new
    assert changed[:, [0, 2, 3]].all()
    assert not changed[:, [1, 4, 5]].any()
    place = {tuple(sentence): row for row, sentence in enumerate(sentences().tolist())}
    again = task_batch(torch.tensor([place[tuple(row)] for row in new[::50].tolist()]), "number")[1]
    assert again[:, :-1].equal(old[::50])


def test_a_task_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="task is 'topic' or 'number': got 'mood'"):
        task_batch(torch.tensor([0]), "mood")


def test_hidden_spans_are_parts_of_two_sentences_with_one_topic():
    asked, said = text_to_text.span_batch(200, torch.Generator().manual_seed(0))
    assert asked.shape == (200, 12)
    assert said.shape == (200, 8)
    for row in range(200):
        hidden, text = {}, []
        for token in said[row, :-1].tolist():
            if token in SENTINELS:
                parts = hidden[token] = []
            else:
                parts.append(token)
        for token in asked[row, :-1].tolist():
            text += hidden.get(token, [token])
        found = torch.tensor(text).view(2, 6)
        assert valid(found).all()
        topics = {index // 1024 for index in (found[:, None] == sentences()).all(-1).nonzero()[:, 1].tolist()}
        assert len(topics) == 1


def test_the_examples_are_never_asked_and_more_of_them_hold_the_fewer():
    for seed in range(3):
        most = text_to_text.examples(seed, max(text_to_text.LABELLED))
        assert most[:8].equal(text_to_text.examples(seed, 8))
        asked = torch.randperm(4096, generator=torch.Generator().manual_seed(2000 + seed))[-1000:]
        assert not set(most.tolist()) & set(asked.tolist())


def test_nothing_counts_after_the_end(monkeypatch):
    written = torch.tensor([[7, END, END], [END, END, END], [7, 8, END]])
    monkeypatch.setattr(text_to_text, "greedy", lambda *_, **__: written)
    found = text_to_text.answers(Transformer(text_to_text.t5_config(9)), written)
    assert found.tolist() == [[7, END] + 5 * [PAD], [END] + 6 * [PAD], [7, 8, END] + 4 * [PAD]]


def test_an_untrained_model_knows_nothing():
    assert text_to_text.right_answers(0, 8, True, "number", steps=0, fine=0) < 2


def test_what_is_drawn_is_what_the_tasks_say():
    rows = torch.arange(4096)
    for prefix in ("topic", "number"):
        drawn = next(texts for texts in TEXTS if texts[0].startswith(prefix))
        asked, said = task_batch(rows, prefix)
        at = [row for row in rows.tolist() if spoken(asked[row]) == drawn[0]]
        assert [spoken(said[row]) for row in at] == [drawn[1]]
    (hidden, said), sentence = TEXTS[0], TEXTS[1][0].removeprefix("topic: ")
    first, _, second = said.removeprefix("<X> ").partition(" <Y> ")
    assert hidden.replace("<X>", first).replace("<Y>", second) == sentence
    for canvas in (pictures.text_to_text().wide, pictures.text_to_text().narrow):
        texts = [text.said for text in read(canvas.svg())[0]]
        assert all(texts.count(text) == 1 for pair in TEXTS for text in pair)
