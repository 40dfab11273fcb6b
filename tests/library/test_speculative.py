"""Speculative decoding: exact over all draws, in distribution with power, and its cache."""

from itertools import product

import pytest
import torch
from transformers.generation.utils import _speculative_sampling

from companion.config import ModelConfig
from companion.generate import expected_tokens, sample, speculate, verify
from companion.transformer import DecoderOnly
from tests.library.tensors import close

VOCAB = 4
CHI_LIMIT = 44.3  # of 15 degrees of freedom: a right program exceeds it with one seed in 10,000


def distributions(seed, *shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).softmax(-1)


class Recorded:
    """A stand-in for `torch.rand` and `torch.multinomial` that tells what they were asked."""

    def __init__(self, uniform):
        self.uniform, self.asked = uniform, None

    def rand(self, size, **_):
        return self.uniform[:size]

    def multinomial(self, weights, count, **_):
        self.asked = weights
        return torch.tensor([0])


def test_over_all_draws_one_guess_has_exactly_the_distribution_of_the_target(monkeypatch):
    """The uniform number is cut where the rule changes its mind, so the probabilities are exact and not sampled."""
    for seed in range(20):
        p, q = distributions(seed, 2, VOCAB), distributions(100 + seed, 1, VOCAB)
        reached = torch.zeros(VOCAB, dtype=torch.float64)
        for guess in range(VOCAB):
            edge = min(1.0, (p[0, guess] / q[0, guess]).item())
            for low, high in ((0.0, edge), (edge, 1.0)):
                recorded = Recorded(torch.tensor([(low + high) / 2], dtype=torch.float64))
                with monkeypatch.context() as patch:
                    patch.setattr(torch, "rand", recorded.rand)
                    patch.setattr(torch, "multinomial", recorded.multinomial)
                    kept = len(verify(p, q, torch.tensor([guess]), generator=torch.Generator())) == 2
                share = q[0, guess] * (high - low)
                if share > 0:
                    if kept:
                        reached[guess] += share
                    else:
                        reached += share * recorded.asked / recorded.asked.sum()
        close(reached, p[0])


def test_the_rule_is_that_of_transformers():
    for seed in range(300):
        p, q = distributions(seed, 1, 6, 7), distributions(1000 + seed, 1, 5, 7)
        guessed = torch.multinomial(q[0], 1, generator=torch.Generator().manual_seed(seed)).T
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            theirs, count = _speculative_sampling(guessed, q.log(), 5, p.log())
        ours = verify(p[0], q[0], guessed[0], generator=torch.Generator().manual_seed(seed))
        assert ours.tolist() == theirs[0].tolist()
        assert len(ours) == count + 1


@pytest.fixture(scope="module")
def model():
    sizes = {"vocab": VOCAB, "d_model": 8, "n_layers": 2, "n_heads": 2, "d_ff": 7, "max_len": 24}
    model = DecoderOnly(ModelConfig(**sizes, norm_placement="pre", tied=False), seed=0)
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 2:
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.7)
    return model.double().eval()


TABLE = distributions(7, VOCAB, VOCAB)
PROMPT = torch.tensor([1, 3])


def draft(text):
    return TABLE[text[-1]]


def chi_squared(model, new, runs, guesses):
    """Compare the texts of `speculate` with their probabilities under the model, all of them computed."""
    generator = torch.Generator().manual_seed(5)
    seen = torch.zeros((VOCAB,) * new, dtype=torch.float64)
    for _ in range(runs):
        tokens = speculate(model, draft, PROMPT, new, guesses=guesses, generator=generator).tokens
        seen[tuple(tokens.tolist())] += 1
    texts = torch.tensor(list(product(range(VOCAB), repeat=new)))
    with torch.no_grad():
        p = model(torch.cat([PROMPT.expand(len(texts), 2), texts], 1)).softmax(-1)[:, 1:-1]
    expected = runs * p.gather(-1, texts[..., None]).prod(1).flatten()
    return ((seen.flatten() - expected) ** 2 / expected).sum().item()


@pytest.mark.usefixtures("shape_checks_off")
def test_texts_have_the_distribution_of_the_model(model):
    assert chi_squared(model, 2, 600, 2) < CHI_LIMIT


@pytest.mark.parametrize("guesses", [0, 1, 3, 8])
def test_a_pass_gives_one_token_to_one_more_than_the_guesses(model, guesses):
    given = speculate(model, draft, PROMPT, 17, guesses=guesses, generator=torch.Generator().manual_seed(2))
    assert len(given.tokens) == 17 == sum(given.steps)
    assert all(1 <= step <= guesses + 1 for step in given.steps)


def test_with_a_cache_the_text_is_that_of_a_fresh_pass_each_time(model, monkeypatch):
    with_cache = speculate(model, draft, PROMPT, 18, guesses=3, generator=torch.Generator().manual_seed(4))

    class Fresh:
        """A cache that forgets everything, so that the model reads the whole text anew."""

        def __init__(self):
            self.length = 0

        def truncate(self, length):
            pass

    forward = DecoderOnly.forward
    monkeypatch.setattr(DecoderOnly, "new_cache", lambda self: Fresh())
    monkeypatch.setattr(DecoderOnly, "forward", lambda self, tokens, cache=None: forward(self, tokens))
    without = speculate(model, draft, PROMPT, 18, guesses=3, generator=torch.Generator().manual_seed(4))
    assert with_cache.tokens.tolist() == without.tokens.tolist()
    assert with_cache.steps == without.steps
    assert len(with_cache.steps) < 18


def test_without_guesses_it_is_sampling(model):
    ours = speculate(model, draft, PROMPT, 12, guesses=0, generator=torch.Generator().manual_seed(6))
    theirs = sample(model, PROMPT[None], 12, generator=torch.Generator().manual_seed(6))
    assert ours.tokens.tolist() == theirs[0].tolist()
    assert ours.steps == [1] * 12


def test_a_perfect_draft_is_always_accepted(model):
    def perfect(text):
        with torch.no_grad():
            return model(text[None])[0, -1].softmax(-1)

    given = speculate(model, perfect, PROMPT, 12, guesses=3, generator=torch.Generator().manual_seed(8))
    assert given.steps == [4, 4, 4]


def test_a_draft_equal_to_the_target_leaves_no_residual(monkeypatch):
    p = distributions(1, 2, VOCAB)
    monkeypatch.setattr(torch, "rand", lambda size, **_: torch.full((size,), 1.5))  # refuse, as rounding might
    assert len(verify(p, p[:1], torch.tensor([2]), generator=torch.Generator().manual_seed(0))) == 1


def test_a_token_that_the_target_never_gives_is_refused_by_the_smallest_draw_too(monkeypatch):
    monkeypatch.setattr(torch, "rand", lambda size, **_: torch.zeros(size))
    p, q = torch.tensor([[0.0, 1.0], [1.0, 0.0]]), torch.tensor([[0.5, 0.5]])
    assert verify(p, q, torch.tensor([0]), generator=torch.Generator()).tolist() == [1]


def test_the_expected_tokens_are_the_mean_over_all_outcomes():
    rate, guesses = 0.7, 4
    mean = sum((rate**k * (1 - rate) if k < guesses else rate**k) * (k + 1) for k in range(guesses + 1))
    assert expected_tokens(rate, guesses) == pytest.approx(mean, abs=1e-12)
    assert expected_tokens(rate, guesses) == pytest.approx((1 - rate**5) / (1 - rate), abs=1e-12)
    assert expected_tokens(1, 3) == 4
    assert expected_tokens(0.3, 0) == 1


@pytest.mark.usefixtures("shape_checks_off")
def test_bad_input_is_refused(model):
    p, generator = distributions(1, 3, VOCAB), torch.Generator()
    with pytest.raises(ValueError, match=r"got 3 guesses, draft \(3, 4\) and target \(3, 4\)\. Run the model"):
        verify(p, p, torch.tensor([0, 1, 2]), generator=generator)
    with pytest.raises(ValueError, match=r"a prompt is \(t,\) with t >= 1: got \(1, 2\)"):
        speculate(model, draft, PROMPT[None], 3, guesses=1, generator=generator)
    with pytest.raises(ValueError, match=r"guesses >= 0: got -1"):
        speculate(model, draft, PROMPT, 3, guesses=-1, generator=generator)
    with pytest.raises(ValueError, match=r"at least one new token: got max_new=0"):
        speculate(model, draft, PROMPT, 0, guesses=1, generator=generator)
    with pytest.raises(ValueError, match=r"got rate=1\.1 and guesses=2\. Measure"):
        expected_tokens(1.1, 2)
    model.train()
    with pytest.raises(ValueError, match=r"got one in training mode\. Call model\.eval\(\)"):
        speculate(model, draft, PROMPT, 3, guesses=1, generator=generator)
    model.eval()
