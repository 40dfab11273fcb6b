"""Masks: closed forms drawn by hand, then properties for all sizes, then every refusal."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from companion.masks import and_masks, causal, check_mask, padding, window

sizes = st.integers(1, 7)


def table(*rows):
    """Read a mask as it is drawn: x = may look, . = may not."""
    return torch.tensor([[cell == "x" for cell in row] for row in rows])


def test_causal_shows_each_query_its_own_position_and_the_past():
    assert torch.equal(causal(4), table("x...", "xx..", "xxx.", "xxxx"))


def test_causal_with_more_keys_lets_the_last_query_stand_at_the_last_key():
    assert torch.equal(causal(2, 5), table("xxxx.", "xxxxx"))


def test_causal_of_one_query_hides_nothing():
    assert torch.equal(causal(1, 3), table("xxx"))


@given(t_q=sizes, past=st.integers(0, 5))
def test_causal_with_a_past_is_the_last_rows_of_the_square_mask(t_q, past):
    assert torch.equal(causal(t_q, t_q + past), causal(t_q + past)[-t_q:])


@given(t_q=sizes, past=st.integers(0, 5))
def test_causal_shows_one_key_more_to_each_next_query(t_q, past):
    counts = causal(t_q, t_q + past).sum(dim=-1).tolist()
    assert counts == list(range(past + 1, past + t_q + 1))


def test_a_causal_window_holds_its_own_position_and_those_before():
    assert torch.equal(window(5, 2), table("x....", "xx...", ".xx..", "..xx.", "...xx"))


def test_a_two_sided_window_reaches_as_far_ahead_as_behind():
    assert torch.equal(window(5, 2, causal=False), table("xx...", "xxx..", ".xxx.", "..xxx", "...xx"))


def test_a_window_with_more_keys_lets_the_last_query_stand_at_the_last_key():
    assert torch.equal(window(2, 3, 5), table(".xxx.", "..xxx"))
    assert torch.equal(window(2, 2, 5, causal=False), table("..xxx", "...xx"))


@given(t_q=sizes, past=st.integers(0, 5), causal=st.booleans())
def test_a_window_of_one_holds_only_the_own_position(t_q, past, causal):
    own = window(t_q, 1, t_q + past, causal=causal)
    assert own.nonzero().tolist() == [[i, i + past] for i in range(t_q)]


@given(t_q=sizes, past=st.integers(0, 5), extra=st.integers(0, 3))
def test_a_window_as_long_as_the_keys_hides_nothing_more(t_q, past, extra):
    t_k = t_q + past
    assert torch.equal(window(t_q, t_k + extra, t_k), causal(t_q, t_k))
    assert window(t_q, t_k + extra, t_k, causal=False).all()


@given(t_q=sizes, past=st.integers(0, 5), size=st.integers(1, 9))
def test_a_two_sided_window_cut_at_the_query_is_the_causal_window(t_q, past, size):
    both = window(t_q, size, t_q + past, causal=False)
    assert torch.equal(both & causal(t_q, t_q + past), window(t_q, size, t_q + past))


def test_padding_hides_what_lies_beyond_each_length():
    assert torch.equal(padding([3, 1, 0]), table("xxx", "x..", "...")[:, None, :])


def test_padding_can_be_longer_than_the_longest_sequence():
    assert torch.equal(padding([2, 1], 4), table("xx..", "x...")[:, None, :])


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32])
def test_padding_takes_a_tensor_of_any_whole_number_type(dtype):
    lengths = torch.tensor([2, 5, 3], dtype=dtype)
    assert torch.equal(padding(lengths, 7), padding([2, 5, 3], 7))
    assert lengths.tolist() == [2, 5, 3]


@given(lengths=st.lists(st.integers(0, 6), min_size=1, max_size=5), beyond=st.integers(1, 3))
def test_padding_shows_as_many_keys_as_the_length_and_the_first_ones(lengths, beyond):
    mask = padding(lengths, 6 + beyond)
    assert mask.shape == (len(lengths), 1, 6 + beyond)
    assert mask.sum(dim=-1)[:, 0].tolist() == lengths
    assert (mask[..., :-1] | ~mask[..., 1:]).all()  # once hidden, the rest of a row is hidden


def test_joint_allows_what_every_mask_allows():
    both = and_masks(causal(3), padding([3, 1]))
    assert both.shape == (2, 3, 3)
    assert torch.equal(both[0], table("x..", "xx.", "xxx"))
    assert torch.equal(both[1], table("x..", "x..", "x.."))


def test_joint_skips_none_and_of_nothing_is_none():
    assert torch.equal(and_masks(None, causal(3), None), causal(3))
    assert and_masks(None, None) is None
    assert and_masks() is None


def test_joint_takes_three_masks():
    assert torch.equal(and_masks(causal(4), window(4, 3), padding([3], 4)), table("x...", "xx..", "xxx.", ".xx.")[None])


@given(t_q=sizes, past=st.integers(0, 4), size=sizes, short=st.integers(0, 4))
def test_joint_does_not_depend_on_the_order_of_the_masks(t_q, past, size, short):
    t_k = t_q + past
    a, b, c = causal(t_q, t_k), window(t_q, size, t_k, causal=False), padding([t_k, max(t_k - short, 0)])
    assert torch.equal(and_masks(a, b, c), and_masks(c, b, a))
    assert torch.equal(and_masks(and_masks(a, b), c), and_masks(a, b, c))
    assert torch.equal(and_masks(a, a), a)


@pytest.mark.parametrize(
    "shapes",
    [
        [(2, 2, 5, 7), (2, 1, 7)],  # as many heads as sequences: broadcasting would take the one for the other
        [(2, 1, 7), (2, 2, 5, 7)],
        [(2, 3, 5, 7), (5, 7), (2, 1, 7)],
        [(2, 3, 5, 7), (1, 5, 7)],
        [(3, 5, 7), (11, 2, 3, 5, 7)],
    ],
    ids=str,
)
def test_masks_that_differ_in_their_leading_axes_are_not_joined(shapes):
    with pytest.raises(
        ValueError, match=r"more than two axes can be joined only where they have equally many"
    ) as refusal:
        and_masks(*(torch.ones(shape, dtype=torch.bool) for shape in shapes))
    assert f"got {', '.join(map(str, shapes))}." in str(refusal.value)


def test_padding_is_joined_to_a_mask_with_heads_by_the_remedy_that_the_refusal_names():
    mask, real = torch.ones(2, 2, 5, 7, dtype=torch.bool), padding([4, 7])
    with pytest.raises(ValueError, match=r"insert its head axis with mask\[:, None\]\.$"):
        and_masks(mask, real)
    both = and_masks(mask, real[:, None])
    assert both.shape == (2, 2, 5, 7)
    assert both.sum(dim=-1).tolist() == [[[4] * 5] * 2, [[7] * 5] * 2]  # the length follows the sequence, not the head


def test_a_mask_of_query_by_key_is_joined_to_a_mask_with_any_leading_axes():
    assert torch.equal(and_masks(causal(5), torch.ones(2, 3, 5, 5, dtype=torch.bool)), causal(5).expand(2, 3, 5, 5))
    assert and_masks(padding([3, 5])[:, None], causal(5), torch.ones(1, 3, 5, 5, dtype=torch.bool)).shape == (
        2,
        3,
        5,
        5,
    )


@pytest.mark.parametrize("others", ["alone", "none", "window", "padding"])
def test_joint_gives_a_new_mask_that_may_be_written_to(others):
    mask, more = causal(3), {"alone": [], "none": [None], "window": [window(3, 2)], "padding": [padding([2, 3])]}
    and_masks(mask, *more[others]).fill_(False)
    assert torch.equal(mask, causal(3))


MAKERS = [
    lambda **where: causal(2, 5, **where),
    lambda **where: window(2, 3, 5, **where),
    lambda **where: window(2, 3, 5, causal=False, **where),
    lambda **where: padding([2, 5], **where),
    lambda **where: padding(torch.tensor([2, 5]), **where),
]
each_maker = pytest.mark.parametrize("make", MAKERS, ids=["causal", "window", "two-sided", "padding", "of a tensor"])


@each_maker
@pytest.mark.parametrize("device", ["meta", torch.device("meta")], ids=["name", "device"])
def test_a_mask_is_made_on_the_device_asked_for(make, device):
    """The device `meta` stores shapes without numbers; it is the one besides the processor that every machine has."""
    assert make(device=device).device.type == "meta"
    assert make(device=device).shape == make().shape


@each_maker
def test_a_mask_holds_the_same_whether_its_device_is_named_or_not(make):
    assert make().device.type == "cpu"
    assert torch.equal(make(device="cpu"), make())
    assert torch.equal(make(device=None), make())


@pytest.mark.parametrize("make", MAKERS[:3], ids=["causal", "window", "two-sided"])
def test_a_mask_without_a_device_follows_the_default_of_torch(make):
    with torch.device("meta"):
        assert make().device.type == "meta"
        assert make(device="cpu").device.type == "cpu"


def test_padding_stays_beside_the_lengths_whatever_the_default_device():
    lengths = torch.tensor([2, 5])
    with torch.device("meta"):
        mask = padding(lengths)
    assert mask.device == lengths.device
    assert torch.equal(mask, padding([2, 5]))


LEGAL = [
    ((5, 7), (5, 7)),
    ((1, 7), (5, 7)),
    ((5, 7), (2, 5, 7)),
    ((1, 7), (2, 5, 7)),
    ((2, 5, 7), (2, 5, 7)),
    ((2, 1, 7), (2, 5, 7)),
    ((1, 5, 7), (2, 5, 7)),
    ((5, 7), (2, 3, 5, 7)),
    ((2, 3, 5, 7), (2, 3, 5, 7)),
    ((2, 1, 5, 7), (2, 3, 5, 7)),
    ((1, 3, 5, 7), (2, 3, 5, 7)),
    ((2, 1, 1, 7), (2, 3, 5, 7)),
    ((1, 1, 1, 7), (2, 3, 5, 7)),
]


@pytest.mark.parametrize(("shape", "scores"), LEGAL)
def test_a_legal_shape_passes(shape, scores):
    assert check_mask(torch.ones(shape, dtype=torch.bool), scores) is None


ILLEGAL = [
    ((), (5, 7)),
    ((7,), (5, 7)),  # broadcasting would take it for (1, t_k); nothing says so
    ((7, 5), (5, 7)),
    ((5, 1), (5, 7)),
    ((1, 1), (5, 7)),
    ((3, 7), (5, 7)),
    ((1, 5, 7), (5, 7)),
    ((7,), (2, 5, 7)),
    ((2, 7), (2, 5, 7)),
    ((2, 7, 5), (2, 5, 7)),
    ((2, 5, 1), (2, 5, 7)),
    ((3, 5, 7), (2, 5, 7)),
    ((2, 3, 7), (2, 5, 7)),
    ((1, 2, 5, 7), (2, 5, 7)),
    ((2, 7), (2, 3, 5, 7)),
    ((2, 5, 7), (2, 3, 5, 7)),
    ((3, 5, 7), (2, 3, 5, 7)),  # broadcasting would take the batch for the heads
    ((1, 5, 7), (2, 3, 5, 7)),
    ((3, 2, 5, 7), (2, 3, 5, 7)),
    ((2, 3, 7, 5), (2, 3, 5, 7)),
    ((2, 3, 5, 1), (2, 3, 5, 7)),
    ((1, 2, 3, 5, 7), (2, 3, 5, 7)),
]


@pytest.mark.parametrize(("shape", "scores"), ILLEGAL)
def test_an_illegal_shape_is_refused_with_what_came_and_for_which_scores(shape, scores):
    with pytest.raises(ValueError, match="a mask of scores") as refusal:
        check_mask(torch.ones(shape, dtype=torch.bool), scores)
    assert f"scores {scores} has shape (5 or 1, 7)" in str(refusal.value)
    assert f"got {shape}." in str(refusal.value)


@given(scores=st.lists(st.integers(1, 3), min_size=2, max_size=4), shape=st.lists(st.integers(1, 3), max_size=5))
def test_a_legal_mask_broadcasts_to_the_scores_and_leaves_their_shape_alone(scores, shape):
    try:
        check_mask(torch.ones(shape, dtype=torch.bool), scores)
    except ValueError:
        assert shape not in (scores, scores[-2:])
    else:
        assert torch.broadcast_shapes(shape, scores) == tuple(scores)
        assert len(shape) in (2, len(scores))
        assert shape[-1] == scores[-1]


def test_the_refusal_of_scores_with_a_batch_names_both_legal_shapes():
    with pytest.raises(ValueError, match=r"shape \(5 or 1, 7\) or \(2 or 1, 3 or 1, 5 or 1, 7\): got \(7, 5\)\. Two"):
        check_mask(torch.ones(7, 5, dtype=torch.bool), (2, 3, 5, 7))


@pytest.mark.parametrize(
    ("scores", "shown"),
    [
        ((1, 7), r"shape \(1, 7\): got"),
        ((1, 5, 7), r"shape \(5 or 1, 7\) or \(1, 5 or 1, 7\): got"),
        ((2, 1, 7), r"shape \(1, 7\) or \(2 or 1, 1, 7\): got"),
        ((2, 1, 1, 7), r"shape \(1, 7\) or \(2 or 1, 1, 1, 7\): got"),
    ],
)
def test_the_refusal_names_an_axis_of_size_one_once(scores, shown):
    with pytest.raises(ValueError, match=shown):
        check_mask(torch.ones(3, 3, dtype=torch.bool), scores)


def test_a_mask_of_batch_by_keys_is_refused_with_a_remedy_that_works():
    mask = padding([4, 7])[:, 0, :]
    with pytest.raises(ValueError, match=r"looks like \(batch, t_k\).* mask\[:, None, :\], or padding\(lengths\)"):
        check_mask(mask, (2, 5, 7))
    assert check_mask(mask[:, None, :], (2, 5, 7)) is None


def test_a_mask_without_the_head_axis_is_refused_with_a_remedy_that_works():
    mask = padding([4, 7])
    with pytest.raises(ValueError, match=r"Insert the head axis with mask\[:, None\]"):
        check_mask(mask, (2, 3, 5, 7))
    assert check_mask(mask[:, None], (2, 3, 5, 7)) is None


def test_a_mask_that_adds_is_refused_with_a_remedy_that_works():
    additive = torch.zeros(3, 3).masked_fill(~causal(3), -torch.inf)
    with pytest.raises(ValueError, match=r"boolean, True = may look: got torch.float32.* mask == 0 for an additive"):
        check_mask(additive, (3, 3))
    assert torch.equal(additive == 0, causal(3))


@pytest.mark.usefixtures("shape_checks_off")
def test_a_mask_of_whole_numbers_is_refused_by_joint():
    with pytest.raises(ValueError, match=r"got torch\.int64\. Use mask\.bool\(\)"):
        and_masks(causal(3), torch.ones(3, 3, dtype=torch.int64))


@pytest.mark.parametrize(("t_q", "t_k"), [(3, 2), (0, 2), (0, 0), (-1, 3)])
@pytest.mark.parametrize("make", [causal, lambda t_q, t_k: window(t_q, 2, t_k)], ids=["causal", "window"])
def test_fewer_keys_than_queries_are_refused(make, t_q, t_k):
    with pytest.raises(ValueError, match=rf"1 <= t_q <= t_k: got t_q={t_q} and t_k={t_k}\. Give at least"):
        make(t_q, t_k)


def test_a_single_size_below_one_is_refused():
    with pytest.raises(ValueError, match="got t_q=0 and t_k=0"):
        causal(0)


@pytest.mark.parametrize("size", [0, -2])
def test_a_window_without_room_for_the_query_is_refused(size):
    with pytest.raises(ValueError, match=rf"own position: got size={size}\. Use size >= 1"):
        window(4, size)


@pytest.mark.parametrize(
    ("lengths", "t_k"), [([3, -1], 4), ([5, 2], 4), ([2, 1], 1), ([0, 0], None), ([0], 0)], ids=str
)
def test_lengths_outside_zero_to_t_k_are_refused(lengths, t_k):
    shown = max(lengths) if t_k is None else t_k
    with pytest.raises(ValueError, match="between 0 and t_k, and t_k is at least 1") as refusal:
        padding(lengths, t_k)
    assert f"got lengths {lengths} and t_k={shown}. Shorten" in str(refusal.value)


@pytest.mark.usefixtures("shape_checks_off")
@pytest.mark.parametrize("lengths", [[], [[3, 1], [2, 2]], 3, torch.tensor(3)], ids=str)
def test_lengths_with_other_than_one_axis_are_refused(lengths):
    shape = tuple(torch.as_tensor(lengths).shape)
    with pytest.raises(ValueError, match=r"one number a sequence, shape \(batch,\)") as refusal:
        padding(lengths)
    assert f"got shape {shape}" in str(refusal.value)


@pytest.mark.usefixtures("shape_checks_off")
@pytest.mark.parametrize(
    ("lengths", "dtype"),
    [([2.5, 1.0], "torch.float32"), ([True, False], "torch.bool"), (torch.tensor([1 + 0j]), "torch.complex64")],
)
def test_lengths_that_are_not_whole_numbers_are_refused(lengths, dtype):
    with pytest.raises(ValueError, match=rf"whole numbers: got {dtype}\. To turn a mask into lengths, sum it"):
        padding(lengths)


def test_a_mask_summed_gives_the_lengths_back():
    mask = padding([4, 0, 7])
    assert torch.equal(padding(mask.sum(dim=-1)[:, 0], 7), mask)


def test_masks_that_do_not_broadcast_are_refused_with_every_shape():
    with pytest.raises(
        ValueError, match=r"broadcast to one shape: got \(3, 3\), \(2, 1, 4\)\. Write each as"
    ) as refusal:
        and_masks(causal(3), None, padding([4, 2]))
    assert refusal.value.__suppress_context__  # torch's own message would only distract
