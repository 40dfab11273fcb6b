"""Greedy, sampled and beam-searched text: against brute force, against the model without its cache, and refusals."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from companion.cache import DecoderCache
from companion.config import ModelConfig
from companion.generate import beam, greedy, keep_min_p, keep_top_k, keep_top_p, length_penalty, sample, search
from companion.transformer import DecoderOnly, EncoderOnly, Transformer

VOCAB, END, START = 5, 2, 1
SIZES = {
    "vocab": VOCAB,
    "d_model": 12,
    "n_layers": 2,
    "n_heads": 3,
    "d_ff": 7,
    "max_len": 13,
    "norm_placement": "pre",
    "tied": False,
}


def sharpen(model):
    """Redraw the weights at a size where the predictions differ clearly from token to token."""
    generator = torch.Generator().manual_seed(8)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 2:
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.8)
    return model.double().eval()


@pytest.fixture(scope="module")
def decoder():
    return sharpen(DecoderOnly(ModelConfig(**SIZES), seed=0))


@pytest.fixture(scope="module")
def translator():
    return sharpen(Transformer(ModelConfig(**SIZES), seed=0))


PROMPT = torch.tensor([[1, 3], [4, 0], [1, 1]])
SOURCE, SOURCE_LENGTHS = torch.tensor([[3, 4, 0], [4, 3, 1]]), [2, 3]
STARTS = torch.tensor([[START], [START]])


def next_logits(model, tokens, source=None, lengths=None):
    """Predict without a cache."""
    with torch.no_grad():
        if source is None:
            return model(tokens)[:, -1]
        return model(source, tokens, source_lengths=lengths)[:, -1]


# Greedy


def test_greedy_takes_the_most_probable_token_each_time(decoder):
    text = PROMPT
    for _ in range(6):
        text = torch.cat([text, next_logits(decoder, text).argmax(-1, keepdim=True)], 1)
    written = greedy(decoder, PROMPT, 6)
    assert torch.equal(written, text[:, 2:])
    assert len({tuple(row) for row in written.tolist()}) == 3  # three prompts, three texts


def test_greedy_translates_each_source_as_if_it_were_alone(translator):
    text = STARTS
    for _ in range(6):
        logits = next_logits(translator, text, SOURCE, SOURCE_LENGTHS)
        text = torch.cat([text, logits.argmax(-1, keepdim=True)], 1)
    both = greedy(translator, STARTS, 6, source=SOURCE, source_lengths=SOURCE_LENGTHS)
    assert torch.equal(both, text[:, 1:])
    alone = greedy(translator, STARTS[:1], 6, source=SOURCE[:1, :2])
    assert torch.equal(both[:1], alone)


def test_a_finished_row_is_filled_with_the_end_symbol_and_the_others_go_on(decoder):
    free = greedy(decoder, PROMPT, 8)
    end = next(token for token in range(VOCAB) if (free == token).int().argmax(1).max() > 1 and (free == token).any())
    written = greedy(decoder, PROMPT, 8, end=end)
    assert written.shape == free.shape  # one row never ends
    for before, after in zip(free.tolist(), written.tolist(), strict=True):
        stop = before.index(end) + 1 if end in before else len(before)
        assert after[:stop] == before[:stop]
        assert set(after[stop:]) <= {end}


def test_writing_stops_when_every_row_has_ended(decoder):
    first = greedy(decoder, PROMPT[:1], 1).item()
    assert greedy(decoder, PROMPT[:1], 9, end=first).tolist() == [[first]]


# Sampling


def draws(model, n, **choices):
    prompt = PROMPT[:1].expand(n, -1)
    return sample(model, prompt, 1, generator=torch.Generator().manual_seed(0), **choices).flatten()


@pytest.mark.parametrize("temperature", [0.5, 1, 3.0])
def test_tokens_come_as_often_as_the_tempered_distribution_says(decoder, temperature):
    n = 20_000
    wanted = (next_logits(decoder, PROMPT[:1])[0] / temperature).softmax(-1)
    counts = draws(decoder, n, temperature=temperature).bincount(minlength=VOCAB)
    spread = (n * wanted * (1 - wanted)).sqrt()
    assert ((counts - n * wanted).abs() <= 4 * spread + 1).all()  # four standard deviations of a binomial count


def test_however_cold_the_likeliest_token_is_drawn(decoder):
    """Any logit over the smallest float64 is infinite; those less the largest are 0 or minus infinity."""
    cold = sample(decoder, PROMPT, 4, generator=torch.Generator().manual_seed(0), temperature=5e-324)
    assert torch.equal(cold, greedy(decoder, PROMPT, 4))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_probabilities_of_half_precision_are_added_up_in_float32(dtype):
    model = sharpen(DecoderOnly(ModelConfig(**SIZES), seed=0)).to(dtype)
    (best,) = beam(model, PROMPT[:1], 9, width=1, end=END)[0]
    cache, tokens, total = model.new_cache(), PROMPT[:1], 0.0
    for token in best.tokens:
        with torch.no_grad():
            logits = model(tokens, cache=cache)[0, -1]
        total += logits.double().log_softmax(-1)[token].item()
        tokens = torch.tensor([[token]])
    assert best.log_probability == pytest.approx(total, abs=1e-4)  # from one bfloat16 near 8 to the next it is 0.03


def test_only_the_kept_tokens_are_drawn(decoder):
    order = next_logits(decoder, PROMPT[:1])[0].argsort(descending=True).tolist()
    assert set(draws(decoder, 3000, top_k=2, temperature=5.0).tolist()) == set(order[:2])
    assert set(draws(decoder, 300, top_p=1e-6, temperature=5.0).tolist()) == set(order[:1])


def test_the_nucleus_is_that_of_the_tempered_distribution(decoder):
    logits = next_logits(decoder, PROMPT[:1])[0]
    cold, hot = (keep_top_p(logits / t, 0.7).isfinite().sum().item() for t in (0.2, 50.0))
    assert cold < hot
    assert len(set(draws(decoder, 3000, top_p=0.7, temperature=50.0).tolist())) == hot


def test_the_same_seed_writes_the_same_text(decoder, translator):
    texts = [
        sample(decoder, PROMPT, 9, generator=torch.Generator().manual_seed(seed), temperature=2.0).tolist()
        for seed in (0, 0, 1)
    ]
    assert texts[0] == texts[1] != texts[2]
    with_source = sample(translator, STARTS, 4, generator=torch.Generator().manual_seed(0), source=SOURCE)
    assert with_source.shape == (2, 4)


@given(k=st.integers(1, 9), seed=st.integers(0, 99))
def test_top_k_keeps_the_k_largest_as_they_are(k, seed):
    logits = torch.randn(3, 7, generator=torch.Generator().manual_seed(seed))
    kept = keep_top_k(logits, k)
    assert (kept.isfinite().sum(-1) == min(k, 7)).all()
    assert torch.equal(kept[kept.isfinite()], logits[kept.isfinite()])
    if k < 7:
        assert (
            kept.masked_fill(~kept.isfinite(), torch.inf).amin(-1) >= logits.masked_fill(kept.isfinite(), -9).amax(-1)
        ).all()


def test_among_equal_logits_top_k_keeps_as_many_as_asked():
    assert keep_top_k(torch.tensor([1.0, 1.0, 1.0]), 2).tolist() == [1.0, 1.0, -math.inf]


@given(p=st.sampled_from([0.01, 0.3, 0.5, 0.9, 0.999, 1]), seed=st.integers(0, 99))
def test_top_p_keeps_the_smallest_set_that_reaches_p(p, seed):
    logits = torch.randn(7, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * 3
    inside = keep_top_p(logits, p).isfinite()
    weights = logits.softmax(-1)
    assert weights[inside].sum() >= p - 1e-12
    assert weights[inside].sum() - weights[inside].min() < p
    assert inside.all() or weights[inside].min() >= weights[~inside].max()


def test_a_p_of_one_keeps_even_what_rounds_to_nothing():
    logits = torch.tensor([0.0, -200.0])
    assert torch.equal(keep_top_p(logits, 1), logits)


@given(p=st.sampled_from([0.01, 0.1, 0.5, 0.99]), scale=st.sampled_from([0.1, 3.0, 1e6]), seed=st.integers(0, 99))
def test_min_p_keeps_what_has_the_share_of_the_largest_probability(p, scale, seed):
    logits = torch.randn(3, 7, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * scale
    kept, weights = keep_min_p(logits, p), logits.softmax(-1)
    assert torch.equal(kept.isfinite(), weights >= p * weights.amax(-1, keepdim=True))
    assert torch.equal(kept[kept.isfinite()], logits[kept.isfinite()])


def test_a_min_p_of_one_keeps_all_of_the_largest():
    assert keep_min_p(torch.tensor([2.0, 1.0, 2.0]), 1).tolist() == [2.0, -math.inf, 2.0]


def test_min_p_is_that_of_the_tempered_distribution(decoder):
    logits = next_logits(decoder, PROMPT[:1])[0]
    cold, hot = (keep_min_p(logits / t, 0.3).isfinite().sum().item() for t in (0.2, 50.0))
    assert (cold, hot) == (1, VOCAB)
    for temperature, wanted in ((0.2, cold), (50.0, hot)):
        rows = PROMPT[:1].expand(400, -1)
        generator = torch.Generator().manual_seed(0)
        drawn = sample(decoder, rows, 1, generator=generator, temperature=temperature, min_p=0.3)
        assert len(drawn.unique()) == wanted


@pytest.mark.parametrize("p", [0, -0.5, 1.5, math.nan])
def test_a_share_of_the_largest_probability_is_one(p):
    with pytest.raises(ValueError, match=f"above 0 and at most 1: got p={p}"):
        keep_min_p(torch.zeros(3), p)


# Beam search


def exhaustive(model, prompt, max_new, alpha, **source):
    """Score every text of at most `max_new` tokens that ends with END, or has the full length; the best first."""
    found = []

    def grow(text, log_p):
        tokens = text[0, prompt.shape[1] :].tolist()
        if len(tokens) == max_new or END in tokens:
            found.append((log_p / ((5 + len(tokens)) / 6) ** alpha, log_p, tokens))
            return
        logits = next_logits(model, text, **source).log_softmax(-1)[0].tolist()
        for token in range(VOCAB):
            grow(torch.cat([text, torch.tensor([[token]])], 1), log_p + logits[token])

    grow(prompt, 0.0)
    return sorted(found, reverse=True)


@pytest.mark.parametrize("alpha", [0, 0.6, 2.0])
def test_a_beam_wide_enough_finds_the_best_of_all_texts(decoder, alpha):
    wanted = exhaustive(decoder, PROMPT[:1], 3, alpha)
    (found,) = beam(decoder, PROMPT[:1], 3, width=5**3, end=END, alpha=alpha)
    for hypothesis, (score, log_p, tokens) in zip(found, wanted, strict=True):
        assert hypothesis.tokens == tokens
        assert hypothesis.score == pytest.approx(score, abs=1e-12)
        assert hypothesis.log_probability == pytest.approx(log_p, abs=1e-12)


def test_a_beam_translates_each_source_as_if_it_were_alone(translator):
    both = beam(translator, STARTS, 6, width=3, end=END, source=SOURCE, source_lengths=SOURCE_LENGTHS)
    for row, length in enumerate(SOURCE_LENGTHS):
        (alone,) = beam(translator, STARTS[:1], 6, width=3, end=END, source=SOURCE[row : row + 1, :length])
        assert [h.tokens for h in both[row]] == [h.tokens for h in alone]
        for ours, theirs in zip(both[row], alone, strict=True):
            assert ours.score == pytest.approx(theirs.score, abs=1e-12)
    wanted = exhaustive(translator, STARTS[:1], 3, 0.6, source=SOURCE[:1, :2])
    (found,) = beam(translator, STARTS[:1], 3, width=99, end=END, source=SOURCE[:1, :2])
    assert found[0].tokens == wanted[0][2]


def test_a_beam_moves_the_memory_only_when_it_widens(translator, monkeypatch):
    moved, reorder = [], DecoderCache.reorder

    def watched(cache, rows, *, memory=True):
        moved.append((len(rows), memory))
        reorder(cache, rows, memory=memory)

    monkeypatch.setattr(DecoderCache, "reorder", watched)
    beam(translator, STARTS, 5, width=3, end=END, source=SOURCE, source_lengths=SOURCE_LENGTHS)
    assert moved[0] == (6, True)
    assert len(moved) > 2
    assert set(moved[1:]) == {(6, False)}


def test_a_hypothesis_carries_the_probability_of_its_tokens(translator):
    for hypothesis in beam(translator, STARTS[:1], 7, width=4, end=END, source=SOURCE[:1], alpha=1)[0]:
        text, log_p = STARTS[:1], 0.0
        for token in hypothesis.tokens:
            log_p += next_logits(translator, text, SOURCE[:1]).log_softmax(-1)[0, token].item()
            text = torch.cat([text, torch.tensor([[token]])], 1)
        assert hypothesis.log_probability == pytest.approx(log_p, abs=1e-12)
        assert hypothesis.score == pytest.approx(log_p / length_penalty(len(hypothesis.tokens), 1), abs=1e-12)


def test_a_beam_of_one_without_a_penalty_is_greedy(decoder):
    for row, found in enumerate(beam(decoder, PROMPT, 6, width=1, end=END, alpha=0)):
        written = greedy(decoder, PROMPT[row : row + 1], 6, end=END)[0].tolist()
        assert [h.tokens for h in found] == [written]


@pytest.mark.parametrize("width", [1, 2])
def test_stopping_early_loses_nothing_and_saves_steps(decoder, monkeypatch, width):
    prompts = torch.cartesian_prod(torch.arange(2), torch.arange(VOCAB))
    early = [beam(decoder, prompt[None], 11, width=width, end=END, alpha=2)[0] for prompt in prompts]
    steps = []
    settled = search._settled
    monkeypatch.setattr(search, "_settled", lambda *state: steps.append(settled(*state)))  # notes it, and goes on
    assert [beam(decoder, prompt[None], 11, width=width, end=END, alpha=2)[0] for prompt in prompts] == early
    assert any(steps)


def test_a_wider_beam_finds_nothing_worse(decoder):
    prompts = torch.cartesian_prod(torch.arange(VOCAB), torch.arange(VOCAB))
    narrow, wide = (beam(decoder, prompts, 4, width=width, end=END) for width in (1, 99))
    assert all(one[0].score <= many[0].score + 1e-12 for one, many in zip(narrow, wide, strict=True))


def test_a_beam_gives_at_most_its_width_the_best_first(decoder):
    for found in beam(decoder, PROMPT, 5, width=3, end=END):
        assert 1 <= len(found) <= 3
        assert [h.score for h in found] == sorted((h.score for h in found), reverse=True)


def test_the_length_penalty_is_that_of_the_paper():
    assert length_penalty(1, 0.6) == 1.0
    assert length_penalty(13, 0.6) == 3**0.6
    assert length_penalty(50, 0) == 1.0


# Refusals


@pytest.mark.usefixtures("shape_checks_off")
def test_a_model_that_is_training_or_no_decoder_does_not_write(decoder):
    encoder = EncoderOnly(ModelConfig(**SIZES), seed=0).eval()
    with pytest.raises(ValueError, match="DecoderOnly and Transformer can write text: got EncoderOnly"):
        greedy(encoder, PROMPT, 3)
    decoder.train()
    try:
        with pytest.raises(ValueError, match=r"got one in training mode\. Call model\.eval\(\)"):
            greedy(decoder, PROMPT, 3)
    finally:
        decoder.eval()


def test_a_source_goes_with_an_encoder_and_only_there(decoder, translator):
    with pytest.raises(ValueError, match=r"got DecoderOnly and source=\(2, 3\)"):
        greedy(decoder, STARTS, 3, source=SOURCE)
    with pytest.raises(ValueError, match=r"got Transformer and source=None"):
        beam(translator, STARTS, 3, width=2, end=END)


def test_lengths_without_a_source_are_refused(decoder):
    with pytest.raises(
        ValueError, match=r"lengths are those of a source: got \[2, 1, 2\] without one\. Leave them out"
    ):
        greedy(decoder, PROMPT, 3, source_lengths=[2, 1, 2])


@pytest.mark.usefixtures("shape_checks_off")
def test_each_source_has_one_prompt(translator):
    with pytest.raises(ValueError, match=r"one prompt \(t,\): got source \(2, 3\) and prompt \(1, 1\)"):
        greedy(translator, STARTS[:1], 3, source=SOURCE)


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"temperature": 0.0}, r"a temperature is above 0: got 0\.0.*use greedy"),
        ({"temperature": math.inf}, r"a temperature is above 0: got inf"),
        ({"top_k": 0}, r"at least one token: got k=0"),
        ({"top_p": 0.0}, r"above 0 and at most 1: got p=0\.0"),
        ({"top_p": 1.1}, r"above 0 and at most 1: got p=1\.1"),
    ],
)
def test_a_choice_out_of_its_range_is_refused(decoder, choices, message):
    with pytest.raises(ValueError, match=message):
        draws(decoder, 1, **choices)


def test_a_text_has_at_least_one_token_and_a_beam_one_beginning(decoder):
    with pytest.raises(ValueError, match="at least one new token: got max_new=0"):
        greedy(decoder, PROMPT, 0)
    with pytest.raises(ValueError, match="at least one new token: got max_new=0"):
        beam(decoder, PROMPT, 0, width=2, end=END)
    with pytest.raises(ValueError, match=r"width >= 1 and alpha >= 0: got width=0 and alpha=0\.6"):
        beam(decoder, PROMPT, 3, width=0, end=END)
    with pytest.raises(ValueError, match="width >= 1 and alpha >= 0: got width=1 and alpha=-1"):
        beam(decoder, PROMPT, 3, width=1, end=END, alpha=-1)


@pytest.mark.parametrize("end", [-1, VOCAB])
def test_an_end_that_the_model_cannot_write_is_refused(decoder, end):
    message = rf"a token of the vocabulary, 0 to 4: got {end}\."
    with pytest.raises(ValueError, match=message):
        greedy(decoder, PROMPT, 3, end=end)
    with pytest.raises(ValueError, match=message):
        beam(decoder, PROMPT, 3, width=2, end=end)


def test_a_model_that_predicts_nan_does_not_choose():
    model = sharpen(DecoderOnly(ModelConfig(**SIZES), seed=0))
    with torch.no_grad():
        model.output.weight[3, 0] = torch.nan
    with pytest.raises(ValueError, match="the model predicts NaN"):
        greedy(model, PROMPT, 3)
