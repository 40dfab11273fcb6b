"""Sub-words by byte-pair encoding, for the book's texts: Sennrich, Haddow and Birch (2016), section 3.2.

On bytes instead of characters, as in GPT-2 (Radford et al., 2019, section 2.2), so that no text is unknown. The library
`tokenizers` does the work and is loaded by `subwords` only.

Chapter: book/architecture.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from companion.tasks.text import END, PAD, START

if TYPE_CHECKING:
    from tokenizers import Tokenizer

BYTES = 256


class Subwords:
    """A trained byte-pair encoding: text to sub-words and back. Made by :func:`subwords`.

    A space in front of a word is written Ġ, as in GPT-2, and belongs to the word. Each byte has a printed character;
    a Chinese character has three bytes and may be one sub-word or several.

    Args:
        tokenizer: of the library `tokenizers`, trained, with a byte-level decoder.
    """

    def __init__(self, tokenizer: "Tokenizer") -> None:
        numbers = tokenizer.get_vocab()
        self._tokenizer = tokenizer
        self.words = [PAD, START, END, *sorted(numbers, key=numbers.__getitem__)]  # for `encode` and `decode`

    def split(self, text: str) -> list[str]:
        """Cut a text into sub-words."""
        return self._tokenizer.encode(text).tokens

    def join(self, pieces: Sequence[str]) -> str:
        """Put sub-words together again."""
        return self._tokenizer.decoder.decode(list(pieces))


def subwords(texts: Sequence[str], vocab_size: int) -> Subwords:
    """Learn sub-words: begin with the 256 bytes, and join the most frequent pair of neighbours again and again.

    >>> learned = subwords(["low lower lowest", "slow slower slowest"], vocab_size=268)
    >>> learned.split("slow lowest slowly")
    ['slow', 'Ġlowe', 'st', 'Ġ', 'slow', 'l', 'y']
    >>> learned.join(learned.split("slowly 慢"))
    'slowly 慢'

    Args:
        texts: to learn from.
        vocab_size: number of sub-words, with the 256 bytes and the three special words; fewer are made where the texts
            have no pair left to join.

    Returns:
        The encoding. The same texts and size always give the same.

    Raises:
        ValueError: the size leaves no room for the bytes, there is no text, or a text holds a special word.
    """
    special = [PAD, START, END]
    if vocab_size < BYTES + len(special):
        raise ValueError(
            f"vocab_size is at least {BYTES + len(special)}, for {BYTES} bytes and {len(special)} special words: "
            f"got {vocab_size}. Ask for more."
        )
    if not any(texts):
        raise ValueError(f"sub-words are learnt from at least one text: got {len(texts)}, all empty. Give some text.")
    if found := [word for word in special if any(word in text for text in texts)]:
        raise ValueError(f"a text holds none of {special}, which stand for themselves: got {found}. Remove them.")
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size - len(special),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return Subwords(tokenizer)
