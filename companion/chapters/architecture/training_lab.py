"""A live lab: train the book's translator with sizes of your own, and watch loss and cross-attention change.

Vaswani et al. (2017), sections 3.2.3 and 5. Chapter: book/architecture. The buttons call Python, so on the built
page the cell shows no output. Training is a task of the kernel's event loop: after each step the kernel reads messages.
"""

import asyncio
import functools
import html
from collections.abc import Sequence

import ipywidgets
import torch
from jaxtyping import Float
from torch import Tensor

from companion import generate, interpret, plots, tasks
from companion.config import toy
from companion.training import (
    Batches,
    Trainer,
    cosine_schedule,
    evaluating,
    pairs_batch,
    paper_adam,
    seq2seq_loss,
    to_device,
)
from companion.transformer import Transformer

__all__ = ["TrainingLab"]

LIMITS = {  # of each setting, so that one step takes seconds at most
    "d_model": (2, 512),
    "n_heads": (1, 16),
    "n_layers": (1, 8),
    "rate": (1e-5, 1.0),
    "steps": (1, 5000),
    "seed": (0, 2**31 - 1),
}
LOSSES = (1e-3, 30.0)  # what the curve shows, in nats
PAUSE = 0.01  # seconds after each step in which the kernel reads what buttons say


class TrainingLab(ipywidgets.VBox):
    """Train an encoder-decoder on pairs of sentences; stop it, go on, begin anew with other settings.

    The buttons call ``train``, ``stop`` and ``reset``; Python may call them too, and ``advance`` without a running
    event loop. The same settings give the same numbers, however often the training is stopped. On the GPU if there is
    one, in torch's default dtype.

    Args:
        train: the pairs to train on.
        test: unseen pairs; the share of them that is translated right is shown.
        links: for each word of the targets of ``test`` the places of the source words that it translates.
        sentence: which pair of ``test`` the attention map shows.
        every: steps between two drawings.
        d_model: width. This and the following are the settings to begin with.
        n_heads: attention heads.
        n_layers: layers of the encoder, and of the decoder.
        rate: highest learning rate, after a fifth of the steps; it falls to 0 along a cosine.
        steps: number of steps.
        seed: of the first weights and of the order of the sentences.
    """

    def __init__(
        self,
        train: Sequence[tasks.Pair],
        test: Sequence[tasks.Pair],
        links: Sequence[Sequence[Sequence[int]]],
        *,
        sentence: int = 0,
        every: int = 20,
        d_model: int = 64,
        n_heads: int = 2,
        n_layers: int = 2,
        rate: float | int = 5e-3,
        steps: int = 300,
        seed: int = 0,
    ) -> None:
        self.words = tasks.vocabulary(text for pair in (*train, *test) for text in pair)
        number = {word: i for i, word in enumerate(self.words)}
        self.start, self.end = number[tasks.START], number[tasks.END]
        self.items = [
            ([number[w] for w in source], [self.start, *(number[w] for w in target), self.end])
            for source, target in train
        ]
        self.test, self.links, self.unseen = test, links, tasks.encode_pairs(test, self.words)
        self.sentence, self.every = sentence, every
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.trainer: Trainer | None = None
        self.task: asyncio.Task | None = None
        wide = {"style": {"description_width": "6em"}, "layout": {"width": "14em"}}
        sizes = {"d_model": d_model, "n_heads": n_heads, "n_layers": n_layers}
        self.settings, self.buttons = {}, {}
        for name, value in (sizes | {"rate": rate, "steps": steps, "seed": seed}).items():
            field = ipywidgets.FloatText if name == "rate" else ipywidgets.IntText
            self.settings[name] = field(value, description=name, **wide)
        for name, press in {"train": self.train, "stop": self.stop, "reset": self.reset}.items():
            self.buttons[name] = ipywidgets.Button(description=name.capitalize())
            self.buttons[name].on_click(lambda _, press=press: press())
        self.progress = ipywidgets.IntProgress(style={"description_width": "6em"}, layout={"width": "30em"})
        self.message, self.figure = ipywidgets.HTML(), ipywidgets.Image(format="png", layout={"max_width": "100%"})
        form = ipywidgets.Box(list(self.settings.values()), layout={"flex_flow": "row wrap"})
        buttons = ipywidgets.HBox(list(self.buttons.values()))
        super().__init__([form, buttons, self.progress, self.message, self.figure])
        self.reset()

    def __repr__(self) -> str:
        """Settings without a memory address: the notebook compares it."""
        return f"TrainingLab({', '.join(f'{name}={control.value:g}' for name, control in self.settings.items())})"

    @property
    def step(self) -> int:
        """Number of steps taken."""
        return len(self.trainer.history.step) if self.trainer else 0

    @property
    def finished(self) -> bool:
        """Whether all steps have been taken."""
        return self.step == self.progress.max

    def prepare(self) -> None:
        """Make model and trainer of the settings.

        Raises:
            ValueError: a setting is out of its range, or they do not fit each other.
        """
        given = {name: control.value for name, control in self.settings.items()}
        for name, (least, most) in LIMITS.items():
            if not least <= given[name] <= most:
                raise ValueError(f"{name} lies between {least} and {most}: got {given[name]}. Use one in that range.")
        width, steps, seed = given["d_model"], given["steps"], given["seed"]
        sizes = {"d_model": width, "n_heads": given["n_heads"], "n_layers": given["n_layers"], "d_ff": 2 * width}
        model = Transformer(toy(len(self.words), **sizes), seed=seed).to(self.device)
        rate = functools.partial(cosine_schedule, peak=given["rate"], warmup=steps // 5, total=steps)
        batches = Batches(self.items, pairs_batch, tokens=1250, seed=seed)
        adam = paper_adam(model.parameters())
        self.trainer = Trainer(model, seq2seq_loss(padding=0), batches, optimizer=adam, schedule=rate, clip=1.0)
        self.progress.max = steps
        self._count()

    def train(self) -> None:
        """Begin, or go on where it was stopped; what is wrong with a setting is said in the lab."""
        if self.task is not None or (self.trainer and self.finished):
            return
        try:
            if self.trainer is None:
                self.prepare()
                self.show()
        except ValueError as error:
            self.message.value = html.escape(str(error))
            return
        self.task = asyncio.ensure_future(self._run())
        self._offer()

    def stop(self) -> None:
        """Stop after the present step, and show how far it is."""
        if self.task is not None:
            self.task = None
            self.show()
        self._offer()

    def reset(self) -> None:
        """Forget the model, so that the settings can be changed."""
        self.task = self.trainer = None
        self.message.value, self.figure.value = "", b""
        self._count()
        self._offer()

    def advance(self, steps: int = 1) -> None:
        """Take some steps, at most those that are left, and draw whenever ``every`` of them are done.

        Raises:
            ValueError: a setting does not work, or the loss is not finite.
        """
        if self.trainer is None:
            self.prepare()
        for _ in range(min(steps, self.progress.max - self.step)):
            self.trainer.step()
            self._count()
            if self.step % self.every == 0 or self.finished:
                self.show()

    async def _run(self) -> None:
        mine = asyncio.current_task()  # another task may have taken its place when it wakes up
        try:
            while self.task is mine and not self.finished:
                self.advance()
                await asyncio.sleep(PAUSE)
        except ValueError as error:
            self.task = None
            self.message.value = html.escape(str(error))
        finally:
            if self.task in (mine, None):
                self.task = None
                self._offer()

    def _count(self) -> None:
        self.progress.value, self.progress.description = self.step, f"step {self.step}"

    def _offer(self) -> None:
        """Enable what can be pressed and changed now."""
        running, begun = self.task is not None, self.trainer is not None
        for control in self.settings.values():
            control.disabled = begun
        self.buttons["train"].description = "Resume" if begun else "Train"
        self.buttons["train"].disabled = running or (begun and self.finished)
        self.buttons["stop"].disabled, self.buttons["reset"].disabled = not running, not begun

    def translations(self) -> list[list[str]]:
        """Translate the unseen sentences greedily."""
        batch, model = to_device(self.unseen, self.device), self.trainer.model
        start = torch.full((len(self.test), 1), self.start, device=self.device)
        given = {"source": batch.source, "source_lengths": batch.source_lengths}
        with evaluating(model):
            return tasks.decode(generate.greedy(model, start, batch.target.shape[1], end=self.end, **given), self.words)

    def weights(self) -> Float[Tensor, "t_q t_k"]:
        """Give the cross-attention of the last layer, the mean of its heads, for the sentence of the map."""
        k, batch, model = self.sentence, to_device(self.unseen, self.device), self.trainer.model
        source = batch.source[k : k + 1, : batch.source_lengths[k]]
        with evaluating(model), interpret.record_attention(model) as found:
            model(source, batch.target[k : k + 1, : batch.target_lengths[k] - 1])
        return [table for name, table in found.items() if "cross" in name][-1][0].mean(0).cpu()

    def draw(self, curve: plots.Axes, attention: plots.Axes) -> None:
        """Draw the loss so far and the attention map of the sentence.

        Args:
            curve: where to draw the loss.
            attention: where to draw the map; a row is named by the source words that its word translates.
        """
        history, (source, _) = self.trainer.history, self.test[self.sentence]
        plots.draw_curves(curve, history.step, {"loss": history.loss}, xlabel="step", ylabel="nats", markers=False)
        curve.set(yscale="log", xlim=(0, self.progress.max), ylim=LOSSES)
        rows = [" ".join(source[j] for j in link) or "–" for link in self.links[self.sentence]]
        plots.draw_weights(attention, self.weights(), [*rows, "end"], source, digits=None, title=f"step {self.step}")
        attention.tick_params(axis="x", rotation=90)
        attention.set(xlabel="word of the source", ylabel="word being written")

    def show(self) -> None:
        """Draw, and say in words how far the training is."""
        figure, (curve, attention) = plots.panels(8.0, 3.4, 2)
        self.draw(curve, attention)
        self.figure.value = plots.png(figure)
        texts, (source, target) = self.translations(), self.test[self.sentence]
        right = tasks.exact_match(texts, [chinese for _, chinese in self.test])
        loss = f", loss {self.trainer.history.loss[-1]:.3f}" if self.step else ""
        lines = [f"Step {self.step} of {self.progress.max}{loss}, {right:.0%} of {len(texts)} unseen sentences right."]
        for name, text in {"source": source, "right": target, "written": texts[self.sentence]}.items():
            lines.append(f"{name}: {' '.join(text)}")
        self.message.value = "<br>".join(html.escape(line, quote=False) for line in lines)
