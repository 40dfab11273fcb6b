"""The drills of interviews: closed forms, limits of cost, code to repair, and the list of all drills of the book."""

import itertools
import math
import re

import pytest
import torch
from torch import nn

from companion.book.topics import TOPICS as BOOK_TOPICS
from companion.generate.search import length_penalty
from companion.masks import causal
from companion.multihead import MultiHeadAttention
from companion.practice import check_exercise, exercises, inputs, limits, plan, progress
from companion.practice.budget import Cost, Limits, Meter
from companion.practice.checker import NotAnswered, check, examine
from companion.practice.definition import Case, Exercise, Mistake
from companion.practice.inputs import Draw, Stream
from companion.practice.plan import steps, tier_of
from companion.practice.unchanged import is_as_given, statements
from tests.tools.mistakes import as_written, refused

BY_NAME = {exercise.name: exercise for exercise in exercises()}
NEW = (*exercises("exercises"), *exercises("debugging"))
LIMITED = [pytest.param(exercise, id=exercise.name) for exercise in exercises() if exercise.limits]
BROKEN = [pytest.param(exercise, id=exercise.name) for exercise in exercises() if exercise.broken]


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """Give each test a progress of its own."""
    monkeypatch.setattr(progress, "PROGRESS", progress.Progress())


def one_line(error):
    return " ".join(str(error).split())


# What is right.

LN2 = math.log(2)
BY_HAND = {
    "grouped-query": ([[[3.0, 6.0]]],),
    "cross-attention": ([[[6.0]]],),
    "encoder-block": ([[[6.0, -1.0]]],),
    "temperature-top-k": ([[0.0, 1.0, 0.0]],),
    "top-p": ([[0.0, 0.625, 0.375]],),
    "beam-step": ([0, 1], [0, 0], [-2.0, -2.5]),
    "speculative-step": (0, [0.0, 1.0]),
    "cached-decoder": ([1, 1], [[4.0, 8.0], [7.0, 14.0]]),
    "cached-step": ([[4.0]], [[[[1.0], [6.0]]]], [[[[2.0], [6.0]]]]),
    "stream-softmax": ([4 / (2 + math.exp(2))],),
    "tiled-attention": ([[3.0]],),
    "window-attention": ([[0.0], [2.0], [6.0]],),
    "linear-recurrent": ([[0.0], [3.0]],),
    "bpe-merge": (("l", "o"), [["lo", "w"], ["lo", "t"]]),
    "perplexity": (2**1.5, 0.5),
    "mask-tokens": ([[1, 99, 32, 22, 23]], [[-100, 20, 21, 22, -100]]),
    "lora": ([[14.0]], [[7.0]]),
    "adamw-step": ([9.4], [9.9]),
    "training-memory": (2, 2, 12),
    "checkpointed-backward": ([[3.0]], [[[3 * math.atanh(0.5)]]]),
    "debug-layer-norm": ([[-1.0, 1.0], [1.0, -1.0]],),
    "debug-heads": ([[[3.0, 6.0], [3.0, 6.0]]],),
    "debug-label-shift": (LN2,),
    "debug-training-step": ([2.0],),
    "debug-top-p": ([2],),
    "debug-cache": ([[2.0], [4.0]],),
    "debug-left-padding": ([[20.0, 4.0]],),
}


def test_the_hand_examples_are_the_first_cases():
    """Closed form: the numbers that the statements work out."""
    assert BY_HAND.keys() | {"bpe-encode"} == {exercise.name for exercise in NEW}
    assert BY_NAME["bpe-encode"].reference(*inputs("bpe-encode", 1)) == ["a", "bc"]
    for name, by_hand in BY_HAND.items():
        result = BY_NAME[name].reference(*inputs(name, 1))
        for got, want in zip(result if isinstance(result, tuple) else (result,), by_hand, strict=True):
            if isinstance(got, torch.Tensor):
                torch.testing.assert_close(got, torch.tensor(want, dtype=got.dtype), rtol=0, atol=2e-5, msg=name)
            else:
                assert got == want, name


def test_grouped_query_attention_is_the_layer_of_the_package():
    draw = Draw(9)
    x, w_q, w_o = draw.normal(2, 5, 12), draw.normal(12, 12), draw.normal(12, 12)
    w_k, w_v = draw.normal(12, 6), draw.normal(12, 6)
    layer = MultiHeadAttention(12, 4, n_kv_heads=2, bias=False).to(torch.float64)
    for name, weight in zip(("w_q", "w_k", "w_v", "w_o"), (w_q, w_k, w_v, w_o), strict=True):
        getattr(layer, name).weight.data = weight.mT.clone()
    want = layer(x, x, causal(5)).detach()
    torch.testing.assert_close(
        BY_NAME["grouped-query"].reference(x, w_q, w_k, w_v, w_o, 4, 2), want, rtol=0, atol=1e-10
    )


def test_the_encoder_block_is_that_of_torch():
    draw = Draw(7)
    x, w_qkv, w_o = draw.normal(2, 5, 6), draw.normal(3, 6, 6), draw.normal(6, 6)
    gains, w_1, w_2, lengths = 1 + draw.normal(2, 6), draw.normal(6, 11), draw.normal(11, 6), torch.tensor([5, 3])
    layer = nn.TransformerEncoderLayer(6, 3, 11, dropout=0.0, batch_first=True, norm_first=True, dtype=torch.float64)
    layer.self_attn.in_proj_weight.data = torch.cat([w.mT for w in w_qkv])
    for matrix, weight in ((layer.self_attn.out_proj, w_o), (layer.linear1, w_1), (layer.linear2, w_2)):
        matrix.weight.data = weight.mT.clone()
        matrix.bias.data.zero_()
    layer.self_attn.in_proj_bias.data.zero_()
    for norm, gain in zip((layer.norm1, layer.norm2), gains, strict=True):
        norm.weight.data = gain.clone()
    want = layer(x, src_key_padding_mask=torch.arange(5) >= lengths[:, None])
    got = BY_NAME["encoder-block"].reference(x, lengths, gains, w_qkv, w_o, w_1, w_2, 3)
    torch.testing.assert_close(got[0], want[0].detach(), rtol=0, atol=1e-10)
    torch.testing.assert_close(got[1, :3], want[1, :3].detach(), rtol=0, atol=1e-10)


def test_a_speculative_step_writes_with_the_probabilities_of_the_target():
    """Exact, over all proposals: acceptance plus the draw after a refusal give the target."""
    draft, target = torch.tensor([[0.5, 0.3, 0.2]]), torch.tensor([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])
    written = torch.zeros(3)
    for token in range(3):
        limit = min(1.0, (target[0, token] / draft[0, token]).item())
        n, _ = BY_NAME["speculative-step"].reference(draft, target, torch.tensor([token]), torch.tensor([limit - 1e-4]))
        assert n == 1
        written[token] += draft[0, token] * limit
        if limit < 1:
            u = torch.tensor([limit + 1e-4])
            n, left = BY_NAME["speculative-step"].reference(draft, target, torch.tensor([token]), u)
            assert n == 0
            written += draft[0, token] * (1 - limit) * left
    torch.testing.assert_close(written, target[0], rtol=0, atol=1e-6)


def test_the_penalty_of_a_beam_is_that_of_the_package():
    log_p, totals = torch.tensor([[-1.0, -9.0], [-1.0, -9.0]]), torch.tensor([-2.0, -1.0])
    lengths, finished = torch.tensor([6, 1]), torch.tensor([False, False])
    for alpha in (0.0, 0.5, 1.0, 2.0):
        parent, _, _ = BY_NAME["beam-step"].reference(log_p, totals, lengths, finished, 1, alpha)
        ranks = [-3.0 / length_penalty(7, alpha), -2.0 / length_penalty(2, alpha)]
        assert parent[0] == ranks.index(max(ranks))


def test_tokens_are_corrupted_in_the_shares_of_the_paper():
    generator = torch.Generator().manual_seed(3)
    n = 200_000
    tokens = torch.arange(n)[None]
    chance, action = torch.rand(1, n, generator=generator), torch.rand(1, n, generator=generator)
    drawn = tokens + n, -1
    inputs_, labels = BY_NAME["mask-tokens"].reference(tokens, tokens < 0, chance, action, *drawn)
    picked = labels != -100
    assert abs(picked.double().mean() - 0.15) < 0.005
    shares = [(x[picked].double().mean().item()) for x in (inputs_ == -1, inputs_ >= n, inputs_ == tokens)]
    assert all(abs(share - want) < 0.01 for share, want in zip(shares, (0.8, 0.1, 0.1), strict=True))
    assert (inputs_ == tokens)[~picked].all()


def test_bits_per_byte_do_not_depend_on_the_tokens():
    """The same text in two cuts: half as many tokens of twice the loss."""
    fine, coarse = torch.full((1, 8), 0.7), torch.full((1, 4), 1.4)
    one = BY_NAME["perplexity"].reference(fine, fine > 0, 16)
    other = BY_NAME["perplexity"].reference(coarse, coarse > 0, 16)
    torch.testing.assert_close(one[1], other[1])
    assert one[0] < other[0]


def test_the_gradients_with_checkpoints_are_those_of_autograd():
    x, weights, every, d_output = BY_NAME["checkpointed-backward"].cases()[5].arguments
    leaves = [y.clone().requires_grad_() for y in (x, weights)]
    h = leaves[0]
    for w in leaves[1]:
        h = torch.tanh(h @ w)
    want = torch.autograd.grad(h, leaves, d_output)
    got = BY_NAME["checkpointed-backward"].reference(x, weights, every, d_output)
    for a, b in zip(got, want, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)


# Limits.


def spent_by(function, *arguments):
    with Meter() as meter:
        kept = function(*arguments)
    assert kept is not None
    return meter.cost


def test_the_meter_counts_what_is_made_held_and_multiplied():
    """Closed form, on operations whose cost can be told by hand."""
    x, y = torch.ones(5, 3), torch.ones(3, 7)
    assert spent_by(lambda: x @ y) == Cost(largest=35, held=35, work=105)
    assert spent_by(lambda: x + 1) == Cost(15, 15, 15)
    assert spent_by(lambda: x.T[1:].reshape(-1)[:4]) == Cost(10, 10, 10)  # the views make nothing
    assert spent_by(lambda: x[:2].mT) == Cost(0, 0, 0)
    assert spent_by(lambda: x @ y[:, 0]) == Cost(5, 5, 15)
    assert spent_by(lambda: torch.einsum("ij,jk->ik", x, y)).work == 105
    assert spent_by(lambda: torch.tensor([1.0, 2.0])) == Cost(2, 2, 2)
    assert spent_by(lambda: x.expand(9, 5, 3)) == Cost(0, 0, 0)


def test_what_is_let_go_is_not_held():
    def one_by_one():
        for _ in range(10):
            x = torch.zeros(100)
        return x

    assert spent_by(one_by_one) == Cost(100, 200, 1000)  # the new one is made before the old one goes
    assert spent_by(lambda: [torch.zeros(100) for _ in range(10)]).held == 1000


def test_what_autograd_keeps_is_held():
    def chain(n):
        h = torch.ones(50, requires_grad=True)
        for _ in range(n):
            h = torch.tanh(h)
        return h

    assert spent_by(chain, 20).held - spent_by(chain, 10).held == 500


@pytest.mark.parametrize("exercise", LIMITED)
def test_a_costly_answer_is_refused_with_what_it_used_and_what_is_allowed(exercise):
    mistake = next(
        m
        for m in exercise.mistakes
        if m.name in ("recomputed", "all-kept", "whole-matrix", "all-pairs", "all-pairs-or-all-states")
    )
    for function in (mistake.function, *mistake.also):
        error = refused(exercise, function)
        text = one_line(error)
        assert error.mistake == mistake.name
        assert "The numbers are right, but they cost too much: " in text
        used, allowed = re.search(r"([\d,]+) (?:numbers|units)[^;]*?, and ([\d,]+) are allowed", text).groups()
        assert int(used.replace(",", "")) > int(allowed.replace(",", ""))
        assert exercise.allowed(exercise.cases()[error.case - 1]) != limits.NO_LIMITS


@pytest.mark.parametrize("exercise", LIMITED)
def test_the_limits_lie_between_the_solution_and_the_costly_way(exercise):
    """The reference uses at most nine tenths of what is allowed. Other right answers pass too: see `right_answers`."""
    measured = 0
    for case, outcome in zip(exercise.cases(), examine(exercise, exercise.reference), strict=True):
        for _, used, allowed in limits._pairs(outcome.cost, exercise.allowed(case)):
            measured += 1
            assert 0 < used <= 0.9 * allowed, case.note
    assert measured


def doubling(x):
    return 2 * x


def doubled_twice(x):
    return (x + 1) + (x - 1)


def toy(**changes):
    settings = {
        "name": "toy",
        "title": "Twice",
        "chapter": "none",
        "reference": doubling,
        "cases": lambda: [Case((torch.arange(1.0, n),)) for n in (3, 8, 50)],
        "tested": "little",
        "hints": ("one", "two", "three"),
        "mistakes": (
            Mistake("half", lambda x: x / 2, "You halved."),
            Mistake("square", lambda x: x * x, "You squared."),
            Mistake("sum", lambda x: x.sum(), "You summed."),
            Mistake("costly", doubled_twice, "You went through it three times."),
        ),
    }
    return Exercise(**settings | changes)


def limited(**allowed):
    return toy(limits=lambda x: Limits(**allowed) if len(x) > 40 else Limits())


def test_an_answer_at_the_border_passes_and_one_beyond_it_does_not():
    assert check(limited(work=147), doubled_twice) == 3
    error = refused(limited(work=146), doubled_twice)
    assert (error.case, error.mistake) == (3, "costly")
    assert "it does 147 units of work, and 146 are allowed." in one_line(error)
    assert check(limited(largest=49), doubling) == 3
    assert refused(limited(largest=48), doubling).case == 3
    text = one_line(refused(limited(held=146, largest=10), doubled_twice))
    assert "the largest tensor that it makes has 49 numbers, and 10 are allowed; at its peak it holds 147" in text


def test_a_wrong_answer_is_told_what_is_wrong_before_what_it_costs():
    text = one_line(refused(limited(work=1), lambda x: x / 2))
    assert "You halved." in text
    assert "cost" not in text


def test_a_right_answer_with_limits_prints_its_bill(capsys):
    check_exercise("stream-softmax", BY_NAME["stream-softmax"].reference)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Average a stream with softmax weights: correct (9 cases)."
    assert re.match(r"Cost of case 9: at its peak it holds \d+ numbers at once, .*\(300", lines[2])
    check_exercise("scaled-scores", BY_NAME["scaled-scores"].reference)
    assert "Cost" not in capsys.readouterr().out


def test_a_stream_is_read_once_and_in_chunks():
    stream = Stream(torch.arange(5.0), torch.arange(10.0).reshape(5, 2), 2)
    assert [(tuple(s.shape), tuple(v.shape)) for s, v in stream] == [((2,), (2, 2)), ((2,), (2, 2)), ((1,), (1, 2))]
    with pytest.raises(RuntimeError, match="a stream is read once, and this one was read already"):
        list(stream)
    assert repr(stream) == "of 3 chunks"
    assert stream == Stream(torch.arange(5.0), torch.arange(10.0).reshape(5, 2), 2)
    assert stream != Stream(torch.arange(5.0), torch.arange(10.0).reshape(5, 2), 3)
    assert stream != Stream(1 + torch.arange(5.0), torch.arange(10.0).reshape(5, 2), 2)
    assert stream != "a stream"
    twice = refused(BY_NAME["stream-softmax"], lambda stream, d_v: [max(s.max() for s, _ in stream), list(stream)])
    assert "a stream is read once" in one_line(twice)


# Code to repair.


@pytest.mark.parametrize("exercise", BROKEN)
def test_code_as_given_is_not_answered_and_the_same_fault_written_differently_is_named(exercise, capsys):
    with pytest.raises(NotAnswered, match="This is still the code as it was given"):
        check(exercise, exercise.broken)
    check_exercise(exercise.name, exercise.broken)
    assert "not answered yet" in capsys.readouterr().out
    assert progress.PROGRESS.state(exercise.name) == "open"
    assert exercise.mistakes[0].name == "as-given"
    error = refused(exercise, lambda *given: exercise.broken(*given))
    assert error.mistake == "as-given"
    assert "This does what the code as given does." in one_line(error)


def test_seven_pieces_of_code_are_handed_over():
    assert len(BROKEN) == 7


def given(x, n):
    y = x * n
    return y


def test_code_is_as_given_whatever_its_name_comments_and_annotations():
    def mine(x: int, n: int = 2) -> int:
        """Say it."""
        y = x * n  # a comment

        return y

    def other(x, n):
        y = x * (n + 0)
        return y

    def other_names(x, m):
        y = x * m
        return y

    def other_order(n, x):
        y = x * n
        return y

    assert is_as_given(given, mine)
    assert not is_as_given(given, other_order)
    assert not is_as_given(given, other)
    assert not is_as_given(given, other_names)
    assert not is_as_given(None, mine)
    assert not is_as_given(given, math.sqrt)
    assert not is_as_given(given, lambda x, n: x * n)


def test_what_is_no_function_definition_has_no_statements():
    assert statements("x = 1") is None
    assert statements("") is None
    assert statements("def f(:") is None
    assert statements("def f(x):\n    return x") == statements("  def g(x):\n      return x")


# The list of all drills.

TOPICS = {  # what interviewers ask for: each is practised by a drill of the book
    "softmax": "softmax-stable",
    "scaled scores": "scaled-scores",
    "masked weights": "masked-weights",
    "whole attention": "attention",
    "causal mask": "causal-mask",
    "padding mask": "padding-mask",
    "softmax backward": "softmax-jacobian",
    "attention backward": "attention-backward",
    "heads cut": "split-heads",
    "heads joined": "merge-heads",
    "heads repeated": "repeat-heads",
    "multi-head layer": "multi-head",
    "importance of heads": "head-importance",
    "sinusoidal positions": "encode-positions",
    "matrix of a step": "shift-matrix",
    "RoPE": "rotate-pairs",
    "ALiBi": "alibi-bias",
    "T5 buckets": "t5-bucket",
    "relative shift": "relative-shift",
    "LayerNorm": "layer-norm",
    "LayerNorm backward": "norm-backward",
    "RMSNorm": "rms-norm",
    "feed-forward": "feed-forward",
    "SwiGLU": "swiglu",
    "add and norm": "norm-order",
    "decoder layer": "decoder-layer",
    "tied table": "tied-embedding",
    "shift right": "shift-target",
    "greedy": "greedy-decode",
    "label smoothing": "smoothed-loss",
    "warm-up": "warmup-rate",
    "Adam": "adam-steps",
    "clipping": "clip-gradient",
    "accumulation": "accumulate",
    "loss scale": "scaled-gradient",
    "FLOPs": "layer-flops",
    "size of the cache": "cache-bytes",
    "merging softmaxes": "merge-softmax",
    "grouped-query attention": "grouped-query",
    "cross-attention": "cross-attention",
    "encoder block": "encoder-block",
    "beam search": "beam-step",
    "top-p": "top-p",
    "temperature and top-k": "temperature-top-k",
    "a step with a cache": "cached-step",
    "a cached decoder": "cached-decoder",
    "sliding window": "window-attention",
    "online softmax": "stream-softmax",
    "tiled attention": "tiled-attention",
    "linear attention": "linear-recurrent",
    "LoRA": "lora",
    "learning BPE": "bpe-merge",
    "encoding with BPE": "bpe-encode",
    "perplexity": "perplexity",
    "masked language model": "mask-tokens",
    "weight decay": "adamw-step",
    "speculative decoding": "speculative-step",
    "gradient checkpointing": "checkpointed-backward",
    "memory of training": "training-memory",
    "broken heads": "debug-heads",
    "broken cache": "debug-cache",
    "broken training loop": "debug-training-step",
    "broken left padding": "debug-left-padding",
    "broken label shift": "debug-label-shift",
    "broken top-p": "debug-top-p",
    "broken layer norm": "debug-layer-norm",
    "broken padded batch": "debug-padded-batch",
}


def test_the_book_has_forty_drills_or_more_in_three_tiers(capsys):
    every = plan().steps
    tiers = [sum(step.tier == tier for step in every) for tier in (1, 2, 3)]
    with capsys.disabled():
        print(f"\n{len(every)} drills: {tiers[0]} warm-ups, {tiers[1]} core, {tiers[2]} hard")
    assert len(every) == len(exercises()) >= 80
    assert min(tiers) >= 10
    assert len({step.exercise.name for step in every}) == len(every)
    assert len({step.exercise.title for step in every}) == len(every)
    assert [step.number for step in every] == list(range(1, len(every) + 1))


def test_every_topic_has_its_drill_and_every_new_drill_its_topic():
    assert sorted(set(TOPICS.values()) - BY_NAME.keys()) == []
    assert len(set(TOPICS.values())) == len(TOPICS)
    assert {exercise.name for exercise in NEW} <= set(TOPICS.values())


def test_the_list_goes_by_tier_and_then_through_the_book():
    tiers = [step.tier for step in plan().steps]
    assert tiers == sorted(tiers)
    book = list(BOOK_TOPICS)
    for tier, group in itertools.groupby(plan().steps, key=lambda step: step.tier):
        places = [book.index(step.topic) for step in group]
        assert places == sorted(places), tier
    assert [step.number for step in plan(2).steps] == [step.number for step in plan().steps if step.tier == 2]


def test_each_drill_that_has_no_tier_gets_one_from_its_place():
    """A chapter that comes later joins the list by itself."""
    group = [toy(name=f"toy-{i}", chapter="later") for i in range(7)]
    assert [tier_of(exercise, group) for exercise in group] == [1, 1, 1, 2, 2, 3, 3]
    assert tier_of(toy(tier=3), group) == 3
    found = steps([group[:2], [toy(name="last", tier=1, minutes=7, chapter="end", topic="later")]])
    assert [(step.exercise.name, step.tier, step.minutes) for step in found] == [
        ("toy-0", 1, 10),
        ("last", 1, 7),
        ("toy-1", 2, 20),
    ]


def test_a_list_is_a_table_with_links_and_plain_text_with_names():
    rows = plan(3)._repr_markdown_().splitlines()
    assert rows[0] == "| No. | Drill | Topic | Task | Min. |"
    assert len(rows) == 2 + len(plan(3).steps)
    assert sum("{ref}`exr-window-attention` | Complexity | write, cost limited | 35 |" in row for row in rows) == 1
    assert sum("{ref}`exr-debug-left-padding` | Inference | repair | 30 |" in row for row in rows) == 1
    topics = [
        re.search(r"\| \d+ \| \{ref\}`exr-[a-z0-9-]+` \| ([^|]+) \| [a-z, ]+ \| \d+ \|", row)[1] for row in rows[2:]
    ]
    assert set(topics) <= set(BOOK_TOPICS.values())
    lines = repr(plan(1)).splitlines()
    assert sum(re.fullmatch(r" +\d+  scaled-scores +10 min  Attention", line) is not None for line in lines) == 1
    assert "{ref}" not in repr(plan())


@pytest.mark.parametrize("tier", [0, 4, -1])
def test_a_tier_that_is_not_there_is_refused(tier):
    with pytest.raises(ValueError, match=rf"a tier is 1, 2 or 3: got {tier!r}"):
        plan(tier)


def test_an_exercise_refuses_a_tier_that_is_not_there():
    with pytest.raises(ValueError, match="a tier is 1, 2 or 3, or 0 for by its place: 'toy' has 5"):
        toy(tier=5)


# Classic mistakes as a reader would write them, which is not how the package does.


def tiled_heads(x, w_q, w_k, w_v, w_o, n_heads, n_kv_heads):
    b, t, _ = x.shape
    q = (x @ w_q).reshape(b, t, n_heads, -1).permute(0, 2, 1, 3)
    k, v = (
        torch.cat([(x @ w).reshape(b, t, n_kv_heads, -1).permute(0, 2, 1, 3)] * (n_heads // n_kv_heads), 1)
        for w in (w_k, w_v)
    )
    out = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    return out.permute(0, 2, 1, 3).reshape(b, t, -1) @ w_o


def nucleus_without_its_last(scores, p):
    ranked, order = torch.sort(scores.softmax(-1), descending=True, stable=True)
    ranked = torch.where(ranked.cumsum(-1) > p, 0.0, ranked)
    return (ranked / ranked.sum(-1, keepdim=True)).gather(-1, order.argsort(-1))


def stepped_without_itself(x, keys, values, w_q, w_k, w_v, w_o):
    n, h, _, d = keys.shape
    q, k, v = ((x @ w).reshape(n, h, 1, d) for w in (w_q, w_k, w_v))
    out = (torch.softmax(q @ keys.mT / math.sqrt(d), -1) @ values).reshape(n, h * d) @ w_o
    return out, torch.cat([keys, k], 2), torch.cat([values, v], 2)


def adam_twice(weight, gradient, m, v, step, rate, decay):
    w = weight - BY_NAME["adamw-step"].reference(weight, gradient, m, v, step, rate, decay)[1]
    return weight - w, weight - w


AS_WRITTEN = [
    ("grouped-query", "tiled", tiled_heads),
    ("top-p", "crossing-token-dropped", nucleus_without_its_last),
    ("temperature-top-k", "not-renormalised", lambda s, t, k: top_probabilities(s, t, k)),
    ("cached-step", "own-key-missing", stepped_without_itself),
    ("adamw-step", "both-coupled", adam_twice),
    ("perplexity", "per-token", lambda x, r, n: (x[r].mean().exp(), x[r].mean() / math.log(2))),
    ("perplexity", "two-to-the-mean", lambda x, r, n: (torch.pow(2.0, x[r].mean()), x[r].sum() / n / math.log(2))),
    ("lora", "no-scale", lambda x, w, a, b, alpha: (x @ (w + a @ b), w + a @ b)),
    (
        "training-memory",
        "no-float32-copy",
        lambda f, t, mixed: ((f + t) * (2 if mixed else 4), t * (2 if mixed else 4), 8 * t),
    ),
    ("stream-softmax", "no-shift", lambda stream, d: exponentiated(stream)),
    ("stream-softmax", "all-kept", lambda stream, d: one_result_a_chunk(stream)),
    ("tiled-attention", "no-shift", lambda *given: unshifted_tiles(*given)),
    ("tiled-attention", "whole-matrix", lambda *given: one_result_a_block(*given)),
    ("window-attention", "all-pairs", lambda *given: copied_at_each_position(*given)),
    ("debug-heads", "only-the-scale", lambda *given: heads_with_the_scale_alone(*given)),
    ("window-attention", "both-sides", lambda q, k, v, size: both_sides(q, k, v, size)),
    ("linear-recurrent", "not-causal", lambda q, k, v: not_causal(q, k, v)),
    (
        "debug-layer-norm",
        "still-unbiased",
        lambda x, g, b, e: g * (x - x.mean(-1, True)) / (x.var(-1, keepdim=True) + e) ** 0.5 + b,
    ),
    ("debug-label-shift", "not-shifted", lambda s, y, pad: nn.functional.cross_entropy(s.mT, y, ignore_index=pad)),
]


def top_probabilities(scores, temperature, k):
    best = (scores / temperature).softmax(-1)
    order = best.sort(dim=-1, descending=True, stable=True).indices[:, :k]
    return torch.zeros_like(best).scatter(-1, order, best.gather(-1, order))


def without_copy(frozen, trained, mixed):
    size = 2 if mixed else 4
    return size * (frozen + trained), size * trained, 8 * trained


def unbiased_norm(x, gain, bias, eps):
    return gain * (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + eps) ** 0.5 + bias


def exponentiated(stream):
    total, output = 0.0, 0.0
    for scores, values in stream:
        total, output = total + torch.exp(scores).sum(), output + torch.exp(scores) @ values
    return output / total


def one_result_a_chunk(stream):
    parts = [(scores.logsumexp(0), scores.softmax(0) @ values) for scores, values in stream]
    return torch.stack([part[0] for part in parts]).softmax(0) @ torch.stack([part[1] for part in parts])


def unshifted_tiles(query, key, value, block):
    parts = zip(key.split(block), value.split(block), strict=True)
    powers = [((query @ k.mT / query.shape[1] ** 0.5).exp(), v) for k, v in parts]
    return sum(p @ v for p, v in powers) / sum(p.sum(1, keepdim=True) for p, _ in powers)


def one_result_a_block(query, key, value, block):
    sums, outputs = [], []
    for k, v in zip(key.split(block), value.split(block), strict=True):
        scores = query @ k.mT / query.shape[1] ** 0.5
        sums.append(scores.logsumexp(1))
        outputs.append(scores.softmax(1) @ v)
    return (torch.stack(sums).softmax(0)[..., None] * torch.stack(outputs)).sum(0)


def copied_at_each_position(query, key, value, size):
    rows = value[:0]
    for i in range(len(query)):
        near = slice(max(0, i - size + 1), i + 1)
        row = (key[near] @ query[i] / query.shape[1] ** 0.5).softmax(0) @ value[near]
        rows = torch.cat([rows, row[None]])
    return rows


def heads_with_the_scale_alone(x, lengths, w_q, w_k, w_v, n_heads):
    batch, t = x.shape[:2]
    query, key, value = ((x @ w).view(batch, n_heads, t, -1) for w in (w_q, w_k, w_v))
    rows = (torch.arange(t) < lengths[:, None])[:, None, :, None]
    scores = torch.where(rows, query @ key.mT / query.shape[-1] ** 0.5, -1e4)
    return (scores.softmax(-1) @ value).reshape(batch, t, -1)


def both_sides(query, key, value, size):
    t = len(query)
    mask = torch.ones(t, t, dtype=torch.bool).triu(-size + 1).tril(size - 1)
    return nn.functional.scaled_dot_product_attention(query[None], key[None], value[None], mask)[0]


def not_causal(query, key, value):
    query, key = nn.functional.elu(query) + 1, nn.functional.elu(key) + 1
    return query @ (key.mT @ value) / (query @ key.sum(0))[:, None]


@as_written(AS_WRITTEN)
def test_a_mistake_is_recognised_when_written_differently(name, mistake, function):
    assert refused(BY_NAME[name], function).mistake == mistake
