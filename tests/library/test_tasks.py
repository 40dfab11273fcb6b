"""The generated tasks: what the grammar says holds for every sentence, and training never meets a test sentence."""

import pytest
import torch

from companion import tasks

TRAIN, TEST = tasks.english_french(train=6000, test=912)
ALL = TRAIN + TEST


def test_the_split_covers_the_grammar_without_overlap():
    english = {tuple(en) for en, _ in ALL}
    assert len(english) == len(ALL) == 6912
    assert not {tuple(en) for en, _ in TRAIN} & {tuple(en) for en, _ in TEST}


def test_the_seed_decides_the_draw():
    assert tasks.english_french(50, 10, seed=3) == tasks.english_french(50, 10, seed=3)
    assert tasks.english_french(50, 10, seed=3) != tasks.english_french(50, 10, seed=4)


def test_articles_and_adjectives_agree_with_their_noun():
    gender = dict(tasks.NOUNS.values())
    for _, french in ALL:
        verb = next(i for i, word in enumerate(french) if word in tasks.VERBS.values())
        for phrase in (french[:verb], french[verb + 1 :]):
            article, noun, *adjective = phrase
            assert article in {forms[gender[noun]] for forms in tasks.ARTICLES.values()}
            assert all(word in {forms[gender[noun]] for forms in tasks.ADJECTIVES.values()} for word in adjective)


def test_a_known_sentence_is_translated():
    pairs = {" ".join(en): " ".join(fr) for en, fr in ALL}
    assert pairs["the black mouse sees a cat"] == "la souris noire voit un chat"
    assert pairs["a hen follows the white horse"] == "une poule suit le cheval blanc"


def test_the_alignment_names_the_translated_word():
    french_of = {en: {fr} for en, fr in tasks.VERBS.items()} | {en: {fr} for en, (fr, _) in tasks.NOUNS.items()}
    french_of |= {en: set(forms) for en, forms in (tasks.ARTICLES | tasks.ADJECTIVES).items()}
    for english, french in ALL:
        order = tasks.alignment(english)
        assert sorted(order) == list(range(len(english)))
        assert all(french[i] in french_of[english[j]] for i, j in enumerate(order))


def test_encoding_pads_with_zero_and_can_be_read_back():
    words = tasks.vocabulary(fr for _, fr in ALL)
    sentences = [["le", "chat", "noir"], ["une", "poule"]]
    encoded = tasks.encode(sentences, words)
    assert encoded.shape == (2, 3)
    assert encoded[1, 2] == words.index(tasks.PAD) == 0
    assert [[words[i] for i in row if i] for row in encoded.tolist()] == sentences
    assert encoded.dtype == torch.int64


def test_a_vocabulary_starts_with_the_special_words_and_holds_each_word_once():
    assert tasks.vocabulary([["b", "a"], ["a", tasks.END]]) == ["<pad>", "<s>", "</s>", "a", "b"]


@pytest.mark.parametrize(("train", "test"), [(0, 1), (1, 0), (6900, 13)])
def test_a_split_that_cannot_be_made_is_refused(train, test):
    with pytest.raises(ValueError, match=rf"at most 6912.*got train={train} and test={test}"):
        tasks.english_french(train, test)


def test_an_unknown_word_is_named():
    with pytest.raises(ValueError, match=r"got \['zebra'\]"):
        tasks.encode([["cat", "zebra"]], ["<pad>", "cat"])


@pytest.mark.parametrize("sentences", [[], [["cat"], []]])
def test_an_empty_batch_or_sentence_is_refused(sentences):
    with pytest.raises(ValueError, match=r"at least one sentence and a sentence at least one word"):
        tasks.encode(sentences, ["<pad>", "cat"])


def test_a_sentence_without_the_grammars_verb_has_no_alignment():
    with pytest.raises(ValueError, match=r"one verb of .*got 'the cat'"):
        tasks.alignment(["the", "cat"])
