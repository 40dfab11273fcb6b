"""A whole model to repair: the hand examples, what must hold of each part, and that a fault hides another."""

import torch

from companion.chapters.interview.exercises import task_repair_1_attention as first
from companion.practice import inputs
from tests.tools.practice import BY_NAME

ATTENTION, BLOCK, MODEL = (BY_NAME[f"repair-{name}"] for name in ("attention", "block", "model"))


def result(exercise):
    return exercise.results(exercise.reference, inputs(exercise.name, 1))


def test_the_hand_examples_are_the_first_cases():
    """Closed form: the numbers that the statements work out."""
    torch.testing.assert_close(result(ATTENTION), torch.tensor([[[4.0, 8.0], [3.0, 6.0]]]))
    torch.testing.assert_close(result(BLOCK), torch.tensor([[[5.0, 7.0]]]))
    torch.testing.assert_close(result(MODEL), torch.tensor([[[3.0, 1.0]]]))


def leak(function, n_heads):
    """How much the outputs before the last change with the last of the inputs."""
    x, w_qkv, w_o, _ = next(c.arguments for c in ATTENTION.cases() if c.arguments[0].shape == (3, 5, 4))
    other = torch.cat([x[:, :-1], -x[:, -1:]], dim=1)
    return (function(other, w_qkv, w_o, n_heads) - function(x, w_qkv, w_o, n_heads))[:, :-1].abs().max().item()


def test_one_fault_of_attention_hides_the_other():
    """Each of the two alone lets the future through, the second one with several heads only."""
    masked_late, side_by_side = (ATTENTION.wrong_answers[m.name][0] for m in ATTENTION.mistakes[1:3])
    assert leak(ATTENTION.reference, 2) == leak(ATTENTION.reference, 1) == 0
    assert min(leak(masked_late, 1), leak(masked_late, 2), leak(side_by_side, 2)) > 1e-3
    assert leak(side_by_side, 1) == 0
    assert leak(first._broken_attention, 2) > 1e-3


def test_a_block_whose_sublayers_give_nothing_hands_on_its_input():
    """Identity: with zeros in both last maps a pre-norm block is the identity; the code as given is not."""
    x, w_qkv, w_o, gains, w_up, w_down, n_heads = BLOCK.cases()[4].arguments
    nothing = x, w_qkv, 0 * w_o, gains, w_up, 0 * w_down, n_heads
    assert torch.equal(BLOCK.reference(*nothing), x)
    assert not torch.equal(BLOCK.broken(*nothing), x)


def test_the_faults_of_the_whole_do_not_show_in_one_layer_at_full_length():
    """Identity: there the code as given and the right one agree; with more layers or a shorter text they do not."""
    agree = {
        case.note: torch.equal(MODEL.reference(*case.arguments), MODEL.broken(*case.arguments))
        for case in MODEL.cases()[1:]
    }
    assert [note for note, same in agree.items() if same] == ["one layer, the full length"]
