"""A model of the reader's own in the Glass Transformer: what is refused, what is sent, and what the page says of it.

What the browser shows of it is held against PyTorch in ``tests/site/test_glass.py``.
"""

import pytest
import torch
from safetensors.torch import load

from companion import interpret, tasks
from companion.book.weights import name_of
from companion.chapters.architecture.training_lab import TrainingLab
from companion.config import toy
from companion.explorers import Glass
from companion.transformer import Transformer

WORDS = [tasks.PAD, tasks.START, tasks.END, *"abcde"]
ROWS = [["a", "b", "c"], ["e", "e", "d", "a"]]


def own(**changes):
    return Transformer(toy(len(WORDS), **{"d_model": 16, "n_layers": 3, "n_heads": 4, **changes}), seed=1)


def test_a_figure_of_an_own_model_has_its_sizes_its_words_and_its_weights():
    model = own().double()
    figure = Glass(model, WORDS, ROWS, kinds=[list("abcde")])
    assert repr(figure) == "Glass(2 sentences, 36 heads)"
    assert (figure.layer, figure.head, figure.step, figure.languages) == (2, 3, 0, ["source", ""])
    assert (figure.sentences, figure.kinds) == (["a b c", "e e d a"], [list("abcde")])
    figure.block, figure.off, figure.swapped = 31, 36, {"0": "e"}
    sent = []
    figure.send = lambda content, buffers: sent.append((content, buffers))
    figure._answer(figure, "weights", [])
    ((content, (packed,)),) = sent
    assert content == "weights"
    assert figure.file[0] == name_of("own", packed)
    assert {name: value.tolist() for name, value in load(packed).items()} == {
        name: value.float().tolist() for name, value in model.named_parameters()
    }
    assert model.training, "the reader's model stays as it was"
    assert next(model.parameters()).dtype == torch.float64
    assert Glass(own(d_model=32), WORDS, ROWS).file != figure.file == Glass(own(), WORDS, ROWS).file


def test_the_first_picture_has_the_weights_of_the_last_head_on_the_first_sentence():
    model = own().eval()
    still = Glass(model, WORDS, ROWS).still
    with torch.no_grad(), interpret.record_attention(model) as found:
        target = [tasks.START, *still["target"][:-1]]
        model(*(torch.tensor([[WORDS.index(word) for word in text]]) for text in (ROWS[0], target)))
    want = found["decoder.layers.2.cross_attention"][0, 3]
    torch.testing.assert_close(torch.tensor(still["weights"]), want, rtol=0, atol=0.00051)
    assert (still["source"], still["layer"], still["head"]) == (ROWS[0], 2, 3)


@pytest.mark.parametrize(
    ("name", "value"), [("layer", 3), ("head", 4), ("block", 32), ("off", 37), ("sentence", 2), ("tour", 1)]
)
def test_a_number_beyond_the_own_model_is_refused(name, value):
    with pytest.raises(ValueError, match=f"{name} is a whole number from 0 to {value - 1}: got {value}"):
        setattr(Glass(own(), WORDS, ROWS), name, value)


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ((None, WORDS, ROWS), "got no model"),
        ((None, (), ROWS), "got no model"),
        ((own(norm_placement="pre"), WORDS, ROWS), "norm_placement='post': got 'pre'"),
        ((own(n_kv_heads=2), WORDS, ROWS), "n_kv_heads=None: got 2"),
        ((own(tied=False), WORDS, ROWS), "tied=True: got False"),
        ((own(), WORDS[:-1], ROWS), "8 tokens, .*: got 7 words"),
        ((own(), list("abcdefgh"), ROWS), "8 tokens, .*among them"),
        ((own(), WORDS, []), "at least one"),
        ((own(), WORDS, ["a b c"]), "Split the texts first"),
        ((own(), WORDS, [[]]), "at least one"),
        ((own(), WORDS, [["a", "x"]]), r"got \['x'\]"),
    ],
)
def test_what_does_not_fit_an_own_model_is_refused(given, rule):
    with pytest.raises(ValueError, match=rule):
        Glass(*given)


def test_words_to_swap_must_be_in_the_vocabulary():
    with pytest.raises(ValueError, match=r"got \['z'\]"):
        Glass(own(), WORDS, ROWS, kinds=[["a", "z"]])


def test_each_head_of_the_last_layer_of_the_model_that_reverses_looks_mostly_at_the_symbol_to_copy():
    rows, unseen = tasks.reverse_task(5000, 20, length=(3, 8))  # as on the page
    places = [[[len(row) - 1 - k] for k in range(len(row))] for row, _ in unseen]
    lab = TrainingLab(rows, unseen, places, every=1000)
    lab.advance(300)
    model, number = lab.trainer.model.eval(), lab.words.index
    found = []
    for row, goal in unseen:
        with torch.no_grad(), interpret.record_attention(model) as weights:
            model(torch.tensor([[*map(number, row)]]), torch.tensor([[number(tasks.START), *map(number, goal)]]))
        looks = weights["decoder.layers.1.cross_attention"][0, :, : len(row)].argmax(-1)
        found.append(looks == torch.arange(len(row)).flip(0))
    assert torch.cat(found, 1).double().mean(1).min() > 0.6
