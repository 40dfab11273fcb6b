"""Sub-words: learnt the same way each time, and every text comes back as it was."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from companion import tasks

TEXTS = [" ".join(english) + "".join(chinese) for english, chinese in tasks.english_chinese(300, 1)[0]]
LEARNED = tasks.subwords(TEXTS, 600)


def test_the_most_frequent_pair_is_joined_first():
    """Closed form: "ab" occurs 5 times and "cd" 3 times; once joined, "ab" and "cd" are neighbours 2 times."""
    learned = tasks.subwords(["abcd abcd cd ab ab ab"], 262)
    assert len(learned.words) == 262
    assert learned.words[259] == "ab"
    assert "cd" in learned.words[260:]
    assert tasks.subwords(["abcd"], 259).split("abcd") == ["a", "b", "c", "d"]  # no room for a pair


def test_the_words_begin_with_the_special_ones_and_hold_every_byte():
    assert LEARNED.words[:3] == [tasks.PAD, tasks.START, tasks.END]
    assert len(set(LEARNED.words)) == len(LEARNED.words) == 600
    assert sum(len(word) == 1 for word in LEARNED.words) == 256


def test_the_same_texts_give_the_same_sub_words_in_another_process():
    code = (
        "from companion import tasks\n"
        "texts = [' '.join(en) + ''.join(zh) for en, zh in tasks.english_chinese(300, 1)[0]]\n"
        "print(' '.join(tasks.subwords(texts, 600).words).encode('unicode_escape').decode())"
    )
    root = Path(__file__).parents[2]
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=root)
    assert run.stdout.strip() == " ".join(tasks.subwords(TEXTS, 600).words).encode("unicode_escape").decode()
    assert run.stderr == ""


@given(st.text())
def test_every_text_comes_back_as_it_was(text):
    pieces = LEARNED.split(text)
    assert LEARNED.join(pieces) == text
    assert set(pieces) <= set(LEARNED.words)


@pytest.mark.parametrize("text", ["", " two  spaces ", "</s> <s><pad>", "龘 𝄞 é", "a\n\tb"])
def test_unusual_texts_come_back_as_they_were(text):
    pieces = LEARNED.split(text)
    assert LEARNED.join(pieces) == text
    assert not {tasks.PAD, tasks.START, tasks.END} & set(pieces)


def test_sub_words_are_shorter_than_bytes_and_go_through_encode():
    texts = ["she bought two new chairs .", "她昨天买了两把新椅子。"]
    pieces = [LEARNED.split(text) for text in texts]
    assert all(len(own) < len(text.encode()) / 2 for own, text in zip(pieces, texts, strict=True))
    decoded = tasks.decode(tasks.encode(pieces, LEARNED.words, start=True, end=True), LEARNED.words)
    assert [LEARNED.join(own) for own in decoded] == texts


def test_too_small_a_vocabulary_is_refused():
    with pytest.raises(ValueError, match="at least 259, for 256 bytes and 3 special words: got 258"):
        tasks.subwords(["abc"], 258)


@pytest.mark.parametrize("texts", [[], [""], ["", ""]])
def test_learning_from_nothing_is_refused(texts):
    with pytest.raises(ValueError, match=f"at least one text: got {len(texts)}, all empty"):
        tasks.subwords(texts, 300)


@pytest.mark.parametrize("word", [tasks.PAD, tasks.START, tasks.END])
def test_a_text_with_a_special_word_is_refused(word):
    with pytest.raises(ValueError, match=rf"holds none of .*: got \['{word}'\]"):
        tasks.subwords(["good", f"a text {word}"], 300)
