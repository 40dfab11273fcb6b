"""What the pictures of induction and of biases say."""

from companion import pictures
from companion.chapters.theory.pictures.biases import INPUTS, KERNEL
from companion.chapters.theory.pictures.induction import TOKENS
from companion.chapters.theory.pictures.steps import BITS
from tests.tools.layout import read


def said(canvas):
    return [text.said for text in read(canvas.svg())[0]]


def test_the_induction_head_predicts_what_followed_the_earlier_copy():
    earlier = TOKENS[:-1].index(TOKENS[-1])
    drawn = pictures.induction_heads()
    for canvas in (drawn.wide, drawn.narrow):
        texts = said(canvas)
        assert f"next: {TOKENS[earlier + 1]}" in texts
        assert [text for text in texts if text.startswith("after") and not text.endswith("?")] == [
            f"after {token}" for token in TOKENS[:-1]
        ]
        assert f"after {TOKENS[-1]}?" in texts


def test_attention_reads_all_inputs_and_a_convolution_its_neighbours():
    drawn = pictures.three_biases()
    for canvas in (drawn.wide, drawn.narrow):
        arrows = canvas.svg().count('class="f-line f-attention"')
        assert arrows == INPUTS
        plain = canvas.svg().count('class="f-line f-ink"')
        assert plain == KERNEL + INPUTS + (INPUTS - 1) + 1


def test_each_step_adds_one_bit_to_the_last_parity():
    drawn = pictures.once_or_in_steps()
    for canvas in (drawn.wide, drawn.narrow):
        texts = [text for text in said(canvas) if text in ("0", "1")]
        bits, answers = texts[: len(BITS)], texts[len(BITS) :]
        assert bits == [str(bit) for bit in BITS]
        assert answers[0] == str(sum(BITS) % 2)
        parity = 0
        for bit, (read_bit, wrote) in zip(BITS, zip(answers[1::2], answers[2::2], strict=True), strict=True):
            parity ^= bit
            assert (read_bit, wrote) == (str(bit), str(parity))
        assert f"depth {2 * len(BITS)}" in said(canvas)
