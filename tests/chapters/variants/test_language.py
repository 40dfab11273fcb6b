"""The small language of the page on BERT: its probabilities against counting, and what a masked model writes."""

import pytest
import torch

from companion import pictures
from companion.chapters.variants import language, masked_model
from companion.chapters.variants.pictures import words
from tests.tools.layout import read


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(0)


def test_the_sentences_agree_in_number_and_have_one_topic():
    every = {language.spoken(row) for row in language.sentences()}
    assert len(every) == 4096
    topic_of = {word: name for name, parts in language.TOPICS.items() for part in parts for word in part.split()}
    for this, adjective, noun, verb, this_2, noun_2 in map(str.split, every):
        assert (this == "these") == noun.endswith("s") == (not verb.endswith("s"))
        assert (this_2 == "these") == noun_2.endswith("s")
        stems = (adjective, noun.removesuffix("s"), verb.removesuffix("s"), noun_2.removesuffix("s"))
        assert len({topic_of[stem] for stem in stems}) == 1


def test_the_probabilities_of_a_hidden_word_are_counts_of_sentences(generator):
    every = language.sentences()
    for row in every[torch.randint(4096, (20,), generator=generator)]:
        hidden = torch.rand(6, generator=generator) < 0.5
        hidden[2] = True
        visible = torch.where(hidden, language.MASK, row)
        counts = torch.zeros(len(language.WORDS))
        for other in every:
            if other[~hidden].equal(row[~hidden]):
                counts[other[2]] += 1
        torch.testing.assert_close(language.posterior(visible[None], at=2)[0], counts / counts.sum())


def test_a_pair_has_both_sentences_and_the_topic_is_shared_as_often_as_said(generator):
    tokens, segments, follows = language.sentence_pairs(4000, generator)
    first, second = tokens[:, 1:7], tokens[:, 8:14]
    assert language.valid(first).all()
    assert language.valid(second).all()
    assert tokens[0, [0, 7, 14]].tolist() == [language.CLS, language.SEP, language.SEP]
    assert segments[0].tolist() == [0] * 8 + [1] * 7
    home = {row: i // 1024 for i, row in enumerate(map(tuple, language.sentences().tolist()))}
    topics = [torch.tensor([home[tuple(row)] for row in part.tolist()]) for part in (first, second)]
    same = topics[0] == topics[1]
    assert same[follows].all()
    assert same[~follows].double().mean().item() == pytest.approx(0.25, abs=0.04)
    assert (same == follows).double().mean().item() == pytest.approx(0.875, abs=0.02)


class Oracle(torch.nn.Module):
    """Knows the second sentence's words from its own visible ones."""

    def words(self, tokens):
        chances = torch.zeros(*tokens.shape, len(language.WORDS))
        for at in range(6):
            chances[:, 8 + at] = language.posterior(tokens[:, 8:14], at)
        return chances


def test_exact_probabilities_one_by_one_make_sentences_and_at_once_do_not(generator):
    tokens = language.sentence_pairs(200, generator)[0]
    assert masked_model.written(Oracle(), tokens, "one by one", seed=1).all()
    assert masked_model.written(Oracle(), tokens, "at once", seed=1).double().mean() < 0.05
    with pytest.raises(ValueError, match="order is 'at once' or 'one by one': got 'backwards'"):
        masked_model.written(Oracle(), tokens, "backwards", seed=1)


def test_an_untrained_model_knows_nothing_and_the_measures_say_so():
    assert masked_model.missing(0, steps=0) > 1.5
    assert 30 < masked_model.follows_right(0, steps=0) < 70


def test_the_words_drawn_are_a_sentence_and_what_a_model_may_read():
    index = [language.WORDS.index(word) for word in words.SENTENCE]
    assert language.valid(torch.tensor([index])).all()
    changed = [i for i, (old, new) in enumerate(zip(words.SENTENCE, words.READ, strict=True)) if old != new]
    assert set(changed) < set(words.CHOSEN)
    for canvas in (pictures.masked_words().wide, pictures.masked_words().narrow):
        texts = [text.said for text in read(canvas.svg())[0]]
        assert [texts.count(words.SENTENCE[i]) for i in words.CHOSEN] == [2, 3, 2]
        assert [texts.count(how) for how in ("masked", "kept", "random")] == [1, 1, 1]
