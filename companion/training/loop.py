"""The training loop: one step written out, and around it evaluation, progress and checkpoints.

Vaswani et al. (2017), section 5. Mixed precision: Micikevicius et al. (2018).

Chapter: book/training.
"""

import contextlib
import math
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import torch
from torch import nn
from torch.optim import Optimizer
from tqdm import tqdm

from companion.training import distributed
from companion.training.checkpoint import load_checkpoint, random_state, save_checkpoint, set_random_state
from companion.training.data import Batches, to_device
from companion.training.evaluation import evaluating
from companion.training.history import History
from companion.training.loss import Loss
from companion.training.optimizer import clip_gradients, scale_gradients
from companion.training.schedule import Schedule

DTYPES = {"full": None, "bfloat16": torch.bfloat16, "float16": torch.float16}


class Trainer:
    """Everything that changes while a model is trained, and the step that changes it.

    Args:
        model: on the device where it is to be trained.
        loss_fn: gives the :class:`~companion.training.Loss` of ``(model, batch)``, such as
            :func:`~companion.training.seq2seq_loss`. It must call the model itself, not one of its methods.
        batches: gives one batch after another.
        optimizer: of the model's parameters. Its learning rate is overwritten at each step.
        schedule: learning rate at a step, counted from 1.
        clip: greatest length of the gradient; ``None`` to leave it as it is (its length is recorded all the same).
        accumulate: number of batches whose gradients are added up for one step.
        precision: ``"full"`` computes in the model's own dtype; ``"bfloat16"`` and ``"float16"`` do the matrix products
            in that dtype (``torch.autocast``), and float16, on CUDA alone, scales the loss against underflow.

    Raises:
        ValueError: a number is out of range, or float16 is asked for without CUDA.

    >>> from companion.training import paper_adam, texts_batch, language_model_loss
    >>> model = nn.Sequential(nn.Embedding(5, 16), nn.Linear(16, 5))  # each token from the one before
    >>> batches = Batches([[1, 2, 3, 4], [4, 1, 2]], texts_batch, size=2)
    >>> optimizer = paper_adam(model.parameters())
    >>> loss_fn = language_model_loss(padding=0)
    >>> trainer = Trainer(model, loss_fn, batches, optimizer=optimizer, schedule=lambda step: 0.05)
    >>> trainer.run(100, progress=False).loss[-1] < 0.1
    True
    """

    def __init__(
        self,
        model: nn.Module,
        loss_fn: Callable[[nn.Module, Any], Loss],
        batches: Batches,
        *,
        optimizer: Optimizer,
        schedule: Schedule,
        clip: float | int | None = None,
        accumulate: int = 1,
        precision: Literal["full", "bfloat16", "float16"] = "full",
    ) -> None:
        self.model, self.loss_fn, self.batches = model, loss_fn, batches
        self.optimizer, self.schedule = optimizer, schedule
        self.device = next(model.parameters()).device
        if precision not in DTYPES or (precision == "float16" and self.device.type != "cuda"):
            raise ValueError(
                f"precision is one of {sorted(DTYPES)}, float16 only on CUDA: got {precision!r} on {self.device.type}. "
                "Use 'bfloat16' or 'full'."
            )
        if accumulate < 1 or (clip is not None and not clip > 0):
            raise ValueError(f"accumulate is at least 1, clip above 0: got accumulate={accumulate} and clip={clip}.")
        self.clip = math.inf if clip is None else clip
        self.accumulate, self.precision = accumulate, precision
        # torch begins at 2**16 for a mean; the losses here are sums over hundreds of tokens
        self.scaler = torch.amp.GradScaler(self.device.type, init_scale=2.0**8, enabled=precision == "float16")
        self.parallel = distributed.data_parallel(model)
        self.history = History()

    def step(self) -> None:
        """Take one step: gradients, learning rate, clipping, update, and a line in the history.

        Raises:
            ValueError: the loss or, without float16, the gradient is not finite.
        """
        started = time.perf_counter()
        number = len(self.history.step) + 1
        self.model.train()
        self.optimizer.zero_grad()
        loss, tokens = self._add_gradients()  # of the *sum* of the losses
        self.scaler.unscale_(self.optimizer)
        scale_gradients(self.model.parameters(), distributed.world_size() / tokens)  # now of the mean over all tokens
        norm = clip_gradients(self.model.parameters(), self.clip).item()
        if not math.isfinite(loss) or not (math.isfinite(norm) or self.scaler.is_enabled()):
            raise ValueError(
                f"loss and gradient are finite: got a loss of {loss / tokens} and a gradient norm of {norm} at step "
                f"{number}. Lower the learning rate, clip the gradients, or look for bad numbers in the data."
            )
        rate = self.schedule(number)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.scaler.step(self.optimizer)  # without float16: optimizer.step()
        self.scaler.update()
        speed = tokens / (time.perf_counter() - started)
        self.history.add(loss=loss / tokens, learning_rate=rate, gradient_norm=norm, tokens_per_second=speed)

    def _add_gradients(self) -> tuple[float, float | int]:
        """Add up the gradients of the summed losses of some batches; return loss and tokens of all processes.

        A mean of the batches' means would give a token of a short batch more weight than one of a long batch.
        """
        loss, tokens = 0.0, 0
        for i in range(self.accumulate):
            batch = to_device(next(self.batches), self.device)
            exchange = i + 1 == self.accumulate or self.parallel is self.model  # once a step, between processes
            with contextlib.nullcontext() if exchange else self.parallel.no_sync():
                with torch.autocast(self.device.type, DTYPES[self.precision], enabled=self.precision != "full"):
                    part = self.loss_fn(self.parallel, batch)
                self.scaler.scale(part.total).backward()
            loss, tokens = loss + part.total.item(), tokens + part.tokens
        loss, tokens = distributed.all_reduce_sum(loss, tokens, device=self.device)
        return loss, tokens

    def run(
        self,
        steps: int,
        *,
        evaluate: Callable[[nn.Module], dict[str, float | int]] | None = None,
        every: int | None = None,
        checkpoint: Path | str | None = None,
        progress: bool = True,
    ) -> History:
        """Train until so many steps have been taken in all, those before a checkpoint included.

        Args:
            steps: number of the last step.
            evaluate: gives numbers by name for the history; the model is in evaluation mode, without gradients.
            every: evaluate and save after every so many steps; ``None`` means after the last.
            checkpoint: file to save to.
            progress: whether to show a bar.

        Returns:
            The history since the first step.

        Raises:
            ValueError: ``every`` is below 1.
        """
        if every is not None and every < 1:
            raise ValueError(f"every is a number of steps, at least 1: got {every}.")
        hidden = not progress or distributed.rank() > 0
        with tqdm(total=steps, initial=len(self.history.step), unit="step", disable=hidden) as bar:
            while (done := len(self.history.step)) < steps:
                self.step()
                done += 1
                bar.update()
                bar.set_postfix(loss=f"{self.history.loss[-1]:.4f}", refresh=False)
                if done == steps or (every is not None and done % every == 0):
                    if evaluate is not None:
                        with evaluating(self.model):
                            self.history.evaluations.append({"step": done, **evaluate(self.model)})
                    if checkpoint is not None:
                        self.save(checkpoint)
        return self.history

    def state_dict(self) -> dict[str, Any]:
        """Return all that decides the numbers to come; the schedule needs only the number of steps taken."""
        return {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scaler": self.scaler.state_dict(),
            "batches": self.batches.state_dict(),
            "history": asdict(self.history),
            "random": distributed.all_gather(random_state()),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where :meth:`state_dict` was called.

        Raises:
            ValueError: it was called with another number of processes.
        """
        if len(state["random"]) != distributed.world_size():
            raise ValueError(
                f"a run goes on with as many processes as before: it had {len(state['random'])}, "
                f"now there are {distributed.world_size()}. Start as many."
            )
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scaler.load_state_dict(state["scaler"])
        self.batches.load_state_dict(state["batches"])
        self.history = History(**state["history"])
        set_random_state(state["random"][distributed.rank()])

    def save(self, path: Path | str) -> None:
        """Write a checkpoint; one process writes for all."""
        state = self.state_dict()
        if distributed.rank() == 0:
            save_checkpoint(path, state)

    def load(self, path: Path | str) -> None:
        """Go on from a checkpoint."""
        self.load_state_dict(load_checkpoint(path))
