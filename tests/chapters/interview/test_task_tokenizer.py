"""The tokenizer in stages: hand examples, the way there and back, and merges that are learned again."""

import pytest

from companion.chapters.interview.exercises.task_tokenizer_1_train import _words
from companion.practice import inputs
from tests.tools.practice import BY_NAME

TRAIN, ENCODE, DECODE, SPECIAL = (
    BY_NAME[f"tokenizer-{name}"].reference for name in ("train", "encode", "decode", "special")
)
TEXT = "Été: low lower lowest — näher, näher!\n\n  low  été 🙂🙂\tlow"


def test_the_hand_examples_are_the_first_cases():
    """Closed form: what the statements work out."""
    assert TRAIN(*inputs("tokenizer-train", 1)) == [(97, 98), (256, 256)]
    assert ENCODE(*inputs("tokenizer-encode", 1)) == [97, 256]
    assert DECODE(*inputs("tokenizer-decode", 1)) == "abb"
    assert BY_NAME["tokenizer-special"].results(SPECIAL, inputs("tokenizer-special", 1)) == [256, 300]


@pytest.mark.parametrize("n_merges", [0, 1, 7, 500])
def test_what_is_encoded_comes_back(n_merges):
    """Identity: decoding undoes encoding, for the text of the training and for another."""
    merges = TRAIN(TEXT, n_merges)
    assert len(merges) <= n_merges
    for text in (TEXT, "", " ", "slow été…\r\n", "\x00\u2028 🙃"):
        ids = ENCODE(text, merges)
        assert DECODE(ids, merges) == text
        assert len(ids) <= len(text.encode())


def test_with_all_merges_each_word_of_the_training_is_one_number():
    """Identity: training goes on until no pair is left, and encoding repeats it."""
    merges = TRAIN(TEXT, 500)
    assert len(merges) < 500
    assert len(ENCODE(TEXT, merges)) == len(_words(TEXT))


def test_special_tokens_part_a_text_into_texts():
    """Identity: what stands between two special tokens is encoded as if it stood alone."""
    merges = TRAIN(TEXT, 12)
    parts = (" low ", "été", "  lower\n")
    want = [n for part in parts for n in [*ENCODE(part, merges), 999]]
    assert SPECIAL("".join(part + "<|e|>" for part in parts), merges, {"<|e|>": 999, "|": 998}) == want
