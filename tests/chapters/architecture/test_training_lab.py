"""The lab that trains the translator: what its buttons do, by hand and in an event loop, without a browser."""

import asyncio
import math

import pytest
import torch

from companion import interpret, plots, tasks
from companion.chapters.architecture.training_lab import TrainingLab

TRAIN, TEST = tasks.english_chinese(60, 4, seed=0)
LINKS = tasks.english_chinese_links(60, 4, seed=0)[1]
SMALL = {"d_model": 8, "n_heads": 2, "n_layers": 1, "steps": 12, "every": 100, "sentence": 1}


def make(*, draws=False, **changes):
    """A small lab; drawing takes longer than its training, so most tests leave it out."""
    lab = TrainingLab(TRAIN, TEST, LINKS, **(SMALL | changes))
    if not draws:
        lab.show = lambda: None
    return lab


def press(lab, name):
    assert not lab.buttons[name].disabled, f"{name} cannot be pressed now"
    lab.buttons[name].click()


def numbers(lab):
    return lab.trainer.history.loss, [p.detach().clone() for p in lab.trainer.model.parameters()]


def same(one, other):
    losses, parameters = numbers(one)
    other_losses, other_parameters = numbers(other)
    return losses == other_losses and all(map(torch.equal, parameters, other_parameters))


async def until(true, seconds=60):
    for _ in range(int(seconds / 0.005)):
        if true():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it did not happen in time")


def test_a_training_that_was_stopped_and_resumed_gives_the_numbers_of_one_without_a_break():
    lab, whole = make(draws=True), make(draws=True)

    async def buttons():
        press(lab, "train")
        await until(lambda: lab.step >= 4)
        press(lab, "stop")
        taken = lab.step
        assert taken < 12
        await asyncio.sleep(0.2)
        assert lab.step == taken
        assert f"Step {taken} of 12" in lab.message.value
        assert lab.buttons["train"].description == "Resume"
        press(lab, "train")
        await until(lambda: lab.task is None)

    asyncio.run(buttons())
    whole.advance(12)
    assert (lab.step, lab.progress.value, lab.progress.description, whole.step) == (12, 12, "step 12", 12)
    assert same(lab, whole)
    assert lab.figure.value == whole.figure.value
    assert lab.buttons["train"].disabled


def test_while_it_trains_the_event_loop_goes_on():
    lab, seen = make(), set()

    async def buttons():
        press(lab, "train")
        while lab.task is not None:
            seen.add(lab.step)
            await asyncio.sleep(0)

    asyncio.run(buttons())
    assert seen >= set(range(1, 12)), "the loop got no turn between two steps"


def test_stop_and_resume_at_once_leave_one_training():
    lab, whole = make(), make()

    async def buttons():
        press(lab, "train")
        await until(lambda: lab.step >= 2)
        press(lab, "stop")
        press(lab, "train")
        await until(lambda: lab.task is None)
        assert len(asyncio.all_tasks()) == 1  # this one

    asyncio.run(buttons())
    whole.advance(100)
    assert same(lab, whole)


def test_reset_forgets_the_model_and_the_next_training_begins_anew():
    lab, other = make(), make(seed=3)

    async def buttons():
        press(lab, "train")
        await until(lambda: lab.step >= 2)
        press(lab, "reset")
        assert (lab.step, lab.progress.value, lab.message.value, lab.figure.value) == (0, 0, "", b"")
        assert lab.buttons["train"].description == "Train"
        lab.settings["seed"].value = 3
        press(lab, "train")
        await until(lambda: lab.task is None)

    asyncio.run(buttons())
    other.advance(12)
    assert same(lab, other)


def test_the_seed_decides_the_numbers_and_so_does_every_setting():
    first, *others = labs = [make(), make(), make(seed=1), make(rate=1e-2), make(n_heads=1), make(steps=30)]
    for lab in labs:
        lab.advance(6)
    losses = [lab.trainer.history.loss for lab in labs]
    assert losses[1] == losses[0]
    assert all(loss != losses[0] for loss in losses[2:])
    assert first.trainer.history.learning_rate[1] == pytest.approx(5e-3)  # the peak, after a fifth of 12 steps
    wide = make(d_model=12, n_layers=2)
    wide.prepare()
    assert (wide.trainer.model.config.d_model, wide.trainer.model.config.d_ff) == (12, 24)
    assert len(wide.trainer.model.decoder.layers) == 2
    assert all(other is not first for other in others)


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("n_heads", 3, "n_heads divides d_model: got n_heads=3 and d_model=8. Use one of [1, 2, 4, 8]."),
        ("d_model", 9, "n_heads divides d_model: got n_heads=2 and d_model=9. Use one of [1, 3, 9]."),
        ("d_model", 1024, "d_model lies between 2 and 512: got 1024. Use one in that range."),
        ("n_layers", 0, "n_layers lies between 1 and 8: got 0. Use one in that range."),
        ("steps", 0, "steps lies between 1 and 5000: got 0. Use one in that range."),
        ("seed", -1, "seed lies between 0 and 2147483647: got -1. Use one in that range."),
        ("rate", 0.0, "rate lies between 1e-05 and 1.0: got 0.0. Use one in that range."),
        ("rate", math.nan, "rate lies between 1e-05 and 1.0: got nan. Use one in that range."),
    ],
)
def test_a_setting_that_does_not_work_is_refused_in_words_and_can_be_changed(name, value, sentence):
    lab = make()
    lab.settings[name].value = value
    press(lab, "train")
    assert lab.message.value == sentence
    assert lab.task is None
    assert lab.trainer is None
    assert not any(control.disabled for control in lab.settings.values())
    lab.settings[name].value = {"seed": 0, "rate": 5e-3, **SMALL}[name]
    lab.advance()
    assert lab.step == 1


def test_numbers_that_are_not_finite_end_the_training_with_a_sentence():
    lab = make()

    async def buttons():
        press(lab, "train")
        await until(lambda: lab.step >= 2)
        with torch.no_grad():
            next(lab.trainer.model.parameters()).fill_(math.nan)
        await until(lambda: lab.task is None)

    asyncio.run(buttons())
    assert "got a query (" in lab.message.value
    assert "with NaN or infinity" in lab.message.value
    assert lab.buttons["stop"].disabled
    assert not lab.buttons["reset"].disabled


def test_the_settings_are_fixed_while_there_is_a_model():
    lab = make()
    names = {"train", "stop", "reset"}
    assert {name for name in names if lab.buttons[name].disabled} == {"stop", "reset"}

    async def buttons():
        press(lab, "train")
        assert {name for name in names if lab.buttons[name].disabled} == {"train"}
        assert all(control.disabled for control in lab.settings.values())
        press(lab, "stop")
        assert {name for name in names if lab.buttons[name].disabled} == {"stop"}
        press(lab, "reset")
        assert not any(control.disabled for control in lab.settings.values())

    asyncio.run(buttons())


def test_it_draws_after_every_so_many_steps_and_at_the_end(monkeypatch):
    lab, drawn = make(every=5), []
    monkeypatch.setattr(lab, "show", lambda: drawn.append(lab.step))
    lab.advance(12)
    assert drawn == [5, 10, 12]
    lab.advance(3)  # none is left
    assert (lab.step, drawn) == (12, [5, 10, 12])


def test_a_drawing_gets_the_losses_and_the_weights_with_their_words(monkeypatch):
    lab, curves, maps = make(sentence=3), [], []
    lab.advance(3)
    draw_curves, draw_weights = plots.draw_curves, plots.draw_weights
    monkeypatch.setattr(plots, "draw_curves", lambda *args, **kw: (curves.append(args), draw_curves(*args, **kw)))
    monkeypatch.setattr(plots, "draw_weights", lambda *args, **kw: (maps.append(args), draw_weights(*args, **kw)))
    figure, axes = plots.panels(6.0, 3.0, 2)
    lab.draw(*axes)
    (_, steps, losses), (_, weights, rows, columns) = *curves, *maps
    assert steps == [1, 2, 3]
    assert losses == {"loss": lab.trainer.history.loss}
    source, target = TEST[3]
    assert columns == source == ["your", "friend", "does", "not", "want", "this", "cute", "horse", "."]
    assert rows == ["your", "friend", "not", "want", "this", "–", "cute", "–", "horse", ".", "end"]
    assert len(rows) == len(target) + 1
    unseen = tasks.encode_pairs(TEST[3:4], lab.words)
    with torch.no_grad(), interpret.record_attention(lab.trainer.model.eval()) as found:
        lab.trainer.model(unseen.source, unseen.target[:, :-1])
    assert torch.equal(weights, found["decoder.layers.0.cross_attention"][0].mean(0))
    assert axes[0].get_xlim() == (0, 12)
    assert axes[1].get_title() == "step 3"
    plots.png(figure)


def test_the_text_says_how_far_it_is_and_what_it_writes(monkeypatch):
    lab = make(draws=True)
    lab.advance(2)
    texts = [target for _, target in TEST[:3]] + [["?", "<b>"]]
    monkeypatch.setattr(lab, "translations", lambda: texts)
    lab.show()
    first, source, right, written = lab.message.value.split("<br>")
    assert first == f"Step 2 of 12, loss {lab.trainer.history.loss[-1]:.3f}, 75% of 4 unseen sentences right."
    assert (source, right) == (f"source: {' '.join(TEST[1][0])}", f"right: {' '.join(TEST[1][1])}")
    assert written == f"written: {' '.join(TEST[1][1])}"
    monkeypatch.setattr(lab, "translations", lambda: [texts[-1]] * 4)
    lab.show()
    assert lab.message.value.endswith("written: ? &lt;b&gt;")
    assert bytes(lab.figure.value).startswith(b"\x89PNG")


def test_a_lab_is_named_by_its_settings():
    assert repr(make()) == "TrainingLab(d_model=8, n_heads=2, n_layers=1, rate=0.005, steps=12, seed=0)"


def test_it_learns():
    lab = make(d_model=32, steps=40)
    lab.advance(40)
    assert lab.trainer.history.loss[-1] < 0.5 * lab.trainer.history.loss[0]
    assert len(lab.translations()) == 4
