"""Attention in tiles in stages: the hand examples, the package's tiled attention, autograd, and any tiling."""

import dataclasses
import itertools

import pytest
import torch

from companion.efficient import tiled_attention
from companion.practice import inputs
from companion.practice.checker import check
from tests.chapters.interview import right_answers_task_tiles as answers
from tests.tools.practice import BY_NAME, one_line, refused

TILES = list(itertools.product((1, 3, 11), (1, 4, 11)))
FOLD, CAUSAL, BACKWARD = (BY_NAME[f"tiles-{name}"].reference for name in ("fold", "causal", "backward"))


def drawn(t, d_k=4, d_v=3):
    generator = torch.Generator().manual_seed(t)
    return [torch.randn(t, d, generator=generator, dtype=torch.float64) for d in (d_k, d_k, d_v)]


def result(name):
    return BY_NAME[name].results(BY_NAME[name].reference, inputs(name, 1))


def test_the_hand_examples_are_the_first_cases():
    """Closed form: the numbers that the statements work out."""
    found = [x.item() for x in result("tiles-fold")]
    assert found[1:3] == pytest.approx([4 / 3, 4])
    assert found[4:6] == pytest.approx([5 / 3, 11])
    assert torch.tensor([found[0], found[3]]).exp().tolist() == pytest.approx([3, 6])
    output, lse = result("tiles-causal")
    assert output[:, 0].tolist() == pytest.approx([0, 3])
    assert lse.exp().tolist() == pytest.approx([1, 4])
    d_query, d_key, d_value = (x[:, 0].tolist() for x in result("tiles-backward"))
    assert d_query == pytest.approx([0, 0.824], abs=5e-4)
    assert d_key == pytest.approx([-0.75, 0.75])
    assert d_value == pytest.approx([1.25, 0.75])


@pytest.mark.parametrize(("rows", "cols"), TILES)
def test_the_forward_pass_is_that_of_the_package_in_any_tiling(rows, cols):
    """Oracle: `tiled_attention`, and the logsumexp of all scores."""
    query, key, value = drawn(11)
    output, lse = CAUSAL(query, key, value, rows, cols)
    torch.testing.assert_close(output, tiled_attention(query, key, value, causal=True, block=4), rtol=0, atol=1e-12)
    hidden = torch.ones(11, 11, dtype=torch.bool).triu(1)
    scores = (query @ key.mT / 2).masked_fill(hidden, -torch.inf)
    torch.testing.assert_close(lse, scores.logsumexp(-1), rtol=0, atol=1e-12)


@pytest.mark.parametrize(("rows", "cols"), TILES)
def test_the_backward_pass_is_that_of_autograd_in_any_tiling(rows, cols):
    """Oracle: autograd through torch's own attention."""
    leaves = [x.requires_grad_() for x in drawn(11)]
    output = torch.nn.functional.scaled_dot_product_attention(*(x[None] for x in leaves), is_causal=True)[0]
    d_output = torch.linspace(-1, 2, output.numel(), dtype=torch.float64).view_as(output)
    want = torch.autograd.grad(output, leaves, d_output)
    given = [x.detach() for x in leaves]
    found = BACKWARD(*given, *CAUSAL(*given, rows, cols), d_output, rows, cols)
    for mine, theirs in zip(found, want, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=0, atol=1e-12)


def test_folding_in_tiles_is_folding_in_their_union():
    """Identity: two tiles one after the other give what both give as one, also where a row is hidden in the first."""
    query, _, value = drawn(7)
    scores = query @ query.mT
    scores[1, :3] = scores[2] = -torch.inf
    start = scores.new_full((7, 1), -torch.inf), scores.new_zeros(7, 1), scores.new_zeros(7, 3)
    once = FOLD(start, scores, value)
    twice = FOLD(FOLD(start, scores[:, :3], value[:3]), scores[:, 3:], value[3:])
    for mine, theirs in zip(twice, once, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=0, atol=1e-12)
    assert once[1][2] == 0


as_a_reader = pytest.mark.usefixtures("mistakes_run_once", "shape_checks_off")  # costs are counted the same without


def padded(*tensors, width):
    return (torch.nn.functional.pad(x, (0, width - x.shape[1]))[None, None] for x in tensors)


def causal_by_one_kernel(query, key, value, rows, cols):
    d_k, d_v = query.shape[1], value.shape[1]
    given = padded(query, key, value, width=max(d_k, d_v))
    output, lse = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(*given, 0.0, True, scale=d_k**-0.5)
    return output[0, 0, :, :d_v], lse.flatten().to(query.dtype)


def backward_by_one_kernel(query, key, value, output, lse, d_output, rows, cols):
    d_k, d_v = query.shape[1], value.shape[1]
    given = *padded(d_output, query, key, value, output, width=max(d_k, d_v)), lse[None, None]
    kernel = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward
    grads = kernel(*given, 0.0, True, scale=d_k**-0.5)
    return tuple(grad[0, 0, :, :d] for grad, d in zip(grads, (d_k, d_k, d_v), strict=True))


@pytest.mark.parametrize(
    ("name", "function"), [("tiles-causal", causal_by_one_kernel), ("tiles-backward", backward_by_one_kernel)]
)
def test_torch_s_own_attention_is_refused(name, function):
    """It would cost next to nothing, since the check does not see into one kernel."""
    error = refused(BY_NAME[name], function)
    assert "calls `scaled_dot_product_flash_attention_for_cpu" in one_line(error)
    assert error.mistake is None


ONE_MORE_CAUSAL, ONE_MORE_BACKWARD = answers.lean_causal(answers.one_more), answers.lean_backward(answers.one_more)
ROW_BACKWARD = answers.one_row_of_tiles(answers.lean_backward(answers.needed))


@as_a_reader
@pytest.mark.parametrize(
    ("name", "function", "heads", "words"),
    [
        ("tiles-causal", ONE_MORE_CAUSAL, "wide", "it does"),
        ("tiles-causal", answers.scores_of_all_later_queries, "narrow", "at its peak it holds"),
        ("tiles-backward", ONE_MORE_BACKWARD, "wide", "it does"),
        ("tiles-backward", ROW_BACKWARD, "narrow", "at its peak it holds"),
    ],
)
def test_one_tile_too_many_and_scores_of_many_at_once_cost_too_much(name, function, heads, words):
    """However little else they cost: these answers work in place."""
    cases = [case for case in BY_NAME[name].cases() if case.note.startswith(f"{heads} heads")]
    text = one_line(refused(dataclasses.replace(BY_NAME[name], cases=lambda: cases), function))
    assert f"cost too much: {words}" in text


def old_sums_lost_in_a_tie(state, scores, value):
    made, tie = FOLD(state, scores, value), scores.amax(1, keepdim=True) == state[0]
    start = torch.full_like(state[0], -torch.inf), *(torch.zeros_like(x) for x in state[1:])
    alone = FOLD(start, scores, value)
    return tuple(torch.where(tie & (state[1] > 0), one, both) for one, both in zip(alone, made, strict=True))


def zero_for_no_key(state, scores, value):
    made = FOLD(state, scores, value)
    return tuple(torch.where(made[0] == 0, old, new) for old, new in zip(state, made, strict=True))


@pytest.mark.parametrize("function", [old_sums_lost_in_a_tie, zero_for_no_key])
def test_equal_scores_of_0_are_folded_as_others_are(function):
    error = refused(BY_NAME["tiles-fold"], function)
    assert "(equal scores of 0)" in one_line(error)


def into_the_state(state, scores, value):
    made = FOLD(state, scores, value)
    for old, new in zip(state, made, strict=True):
        old.copy_(new)
    return made


def into_the_scores(state, scores, value):
    made = FOLD(state, scores, value)
    scores.sub_(made[0]).exp_()
    return made


@pytest.mark.parametrize(("function", "name"), [(into_the_state, "state"), (into_the_scores, "scores")])
def test_a_fold_that_writes_into_what_it_is_given_is_refused(function, name):
    error = refused(BY_NAME["tiles-fold"], function)
    assert error.case == 1
    assert f"Your code changed its argument `{name}` in place" in one_line(error)


def unchanged_by_hidden_keys(state, scores, value):
    return state if (scores == -torch.inf).all() else FOLD(state, scores, value)


def test_a_fold_returns_new_tensors_also_where_nothing_changes():
    assert "Your top is a tensor of the old state" in one_line(refused(BY_NAME["tiles-fold"], unchanged_by_hidden_keys))


@as_a_reader
@pytest.mark.parametrize(
    ("name", "reference"), [("tiles-causal", CAUSAL), ("tiles-backward", BACKWARD)], ids=["causal", "backward"]
)
@pytest.mark.parametrize("size", [lambda rows, cols: (max(rows, cols),) * 2, lambda *_: (8, 8)], ids=["square", "8"])
def test_tiles_larger_than_asked_for_take_too_much_memory(name, reference, size):
    text = one_line(refused(BY_NAME[name], lambda *given: reference(*given[:-2], *size(*given[-2:]))))
    assert "memory is counted). The numbers are right, but they cost too much: at its peak it holds" in text


def one_query_at_a_time(query, key, value, rows, cols):
    outputs, sums = [], []
    for i in range(len(query)):
        state = query.new_full((1, 1), -torch.inf), query.new_zeros(1, 1), value.new_zeros(1, value.shape[1])
        for first in range(0, i + 1, cols):
            keys = slice(first, min(first + cols, i + 1))
            state = FOLD(state, query[i : i + 1] @ key[keys].mT / query.shape[1] ** 0.5, value[keys])
        outputs.append(state[2] / state[1])
        sums.append((state[0] + state[1].log())[:, 0])
    return torch.cat(outputs), torch.cat(sums)


@as_a_reader
def test_tiles_may_be_smaller_than_asked_for():
    """With state made by `new_zeros`, which costs what it makes."""
    cases = [case for case in BY_NAME["tiles-causal"].cases() if case.note.startswith(("wide", "small", "high"))]
    assert check(dataclasses.replace(BY_NAME["tiles-causal"], cases=lambda: cases), one_query_at_a_time) == len(cases)
