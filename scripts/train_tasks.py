"""Train small Transformers to copy, to normalise dates and to translate, and time them: what `make learn` does.

    python scripts/train_tasks.py [--only dates] [--folder measurements] [--threads 1]

Each task is learned three times, with other data, other first weights and another order; the slowest run and the least
accurate one count. The rows go to measurements/learning/DEVICE.json. Runs that are done are kept in _build/ until the
table is complete, so that a stopped script goes on where it was; they are made again where the code has changed.
"""

import argparse
import functools
import hashlib
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from torch import nn

from companion.config import toy
from companion.generate import greedy
from companion.measure import Row, device_name, machine, save
from companion.tasks import END, PAD, START, Pair, copy_task, dates, decode, encode, english_chinese, vocabulary
from companion.training import Batches, Trainer, cosine_schedule, decoding_accuracy, pairs_batch, seq2seq_loss
from companion.transformer import Transformer

ROOT = Path(__file__).resolve().parent.parent
SEEDS = (0, 1, 2)


@dataclass(frozen=True, kw_only=True)
class Task:
    """What is learned, how, and what it has to reach."""

    draw: Callable[[int, int, int], tuple[list[Pair], list[Pair]]]  # (train, test, seed) -> pairs
    train: int  # pairs to draw batches from
    test: int = 1000  # unseen pairs
    model: dict = field(default_factory=dict)  # what differs from companion.config.toy
    steps: int
    tokens: int  # in a batch, source and target together
    peak: float  # learning rate
    warmup: int  # steps
    accuracy: float  # at least: share of test pairs that greedy decoding gets right in every token
    seconds: float  # at most, of training


TASKS = {
    "copy": Task(
        draw=copy_task, train=32_000, steps=700, tokens=1408, peak=3e-3, warmup=100, accuracy=1.0, seconds=30.0
    ),
    "dates": Task(
        draw=dates,
        train=60_000,
        model={"norm_placement": "pre", "n_heads": 2, "position": "rope"},
        steps=1400,
        tokens=1250,
        peak=5e-3,
        warmup=150,
        accuracy=0.99,
        seconds=90.0,
    ),
    "english-chinese": Task(
        draw=english_chinese,
        train=32_000,
        model={"norm_placement": "pre", "n_heads": 2},
        steps=800,
        tokens=1250,
        peak=5e-3,
        warmup=150,
        accuracy=0.97,
        seconds=120.0,
    ),
}


@dataclass(frozen=True)
class Learned:
    """How one run went."""

    seconds: float
    cpu_seconds: float
    accuracy: float
    parameters: int


def numbers(pairs: Sequence[Pair], words: Sequence[str]) -> list[tuple[list[int], list[int]]]:
    """Turn words into their places in the vocabulary; the targets run from START to END."""
    place = {word: i for i, word in enumerate(words)}
    return [([place[w] for w in source], [place[w] for w in (START, *target, END)]) for source, target in pairs]


def write(model: nn.Module, sources: Sequence[Sequence[str]], words: Sequence[str], longest: int) -> list[list[str]]:
    """Let the model write the target of each source, greedily."""
    start = torch.full((len(sources), 1), words.index(START))
    lengths = torch.tensor([len(source) for source in sources])
    source = encode(sources, words)
    return decode(greedy(model, start, longest, end=words.index(END), source=source, source_lengths=lengths), words)


def learn(task: Task, seed: int, *, progress: bool = True) -> Learned:
    """Train a model on a task and test it on pairs that it has not seen."""
    train, test = task.draw(task.train, task.test, seed)
    words = vocabulary(sentence for pair in train + test for sentence in pair)
    items = numbers(train, words)
    started, cpu = time.perf_counter(), time.process_time()
    model = Transformer(toy(len(words), **task.model), seed=seed)
    trainer = Trainer(
        model,
        seq2seq_loss(padding=words.index(PAD)),
        Batches(items, pairs_batch, tokens=task.tokens, seed=seed),
        optimizer=torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9, fused=True),
        schedule=functools.partial(cosine_schedule, peak=task.peak, warmup=task.warmup, total=task.steps),
        clip=1.0,
    )
    trainer.run(task.steps, progress=progress)
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu
    longest = 2 * max(len(target) for _, target in train)
    accuracy = decoding_accuracy(model, test, functools.partial(write, words=words, longest=longest))
    parameters = sum(parameter.numel() for parameter in model.parameters())
    return Learned(round(seconds, 2), round(cpu_seconds, 2), round(accuracy, 5), parameters)


def rows_of(name: str, task: Task, runs: Sequence[Learned]) -> list[Row]:
    """Write the runs of a task as rows of a measurement file."""
    settings = {key: value for key, value in asdict(task).items() if key not in ("draw", "accuracy", "seconds")}
    settings |= {"seeds": list(SEEDS[: len(runs)]), "parameters": runs[0].parameters}
    seconds, cpu = [run.seconds for run in runs], [run.cpu_seconds for run in runs]
    return [
        Row(f"{name}: training time", "s", seconds, settings, "max", {"at_most": task.seconds}),
        Row(f"{name}: processor time of training", "s", cpu, settings, "max"),
        Row(
            f"{name}: exact match on unseen pairs",
            "share",
            [run.accuracy for run in runs],
            settings,
            "min",
            {"at_least": task.accuracy},
        ),
    ]


def table(rows: Sequence[Row]) -> str:
    """Lay the rows out for the terminal."""
    lines = [f"{'':<46}{'counts':>9}{'bar':>9}  all runs"]
    for row in rows:
        (kind, bar), *_ = (row.bound or {"": ""}).items()
        sign = {"at_most": "<= ", "at_least": ">= "}.get(kind, "")
        values = ", ".join(f"{value:g}" for value in row.values)
        lines.append(
            f"{row.name:<46}{row.value:>9g}{f'{sign}{bar}':>9}  {values}{'' if row.within_bound else '  MISSED'}"
        )
    return "\n".join(lines)


def fingerprint(task: Task, seed: int) -> str:
    """Name a run together with all that decides how it goes: settings, code, machine."""
    files = sorted([*(ROOT / "companion").rglob("*.py"), Path(__file__)])
    code = hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()
    settings = asdict(task) | {"draw": task.draw.__name__}
    return hashlib.sha256(f"{settings}{seed}{code}{machine()}".encode()).hexdigest()


def learn_all(tasks: dict[str, Task], scratch: Path) -> list[Row]:
    """Run each task with each seed, unless it was run before, and list the rows."""
    kept = json.loads(scratch.read_text("utf-8")) if scratch.exists() else {}
    rows = []
    for name, task in tasks.items():
        runs = []
        for seed in SEEDS:
            key = fingerprint(task, seed)
            if key not in kept:
                print(f"{name}, seed {seed}", flush=True)
                kept[key] = asdict(learn(task, seed))
                scratch.parent.mkdir(exist_ok=True)
                scratch.write_text(json.dumps(kept, indent=1), "utf-8")
            runs.append(Learned(**kept[key]))
        rows += rows_of(name, task, runs)
    return rows


def main() -> int:
    """Learn, print the table, write the file; 1 where a bar is missed."""
    parser = argparse.ArgumentParser(description="Train small Transformers on three tasks, and time them.")
    parser.add_argument("--only", choices=list(TASKS), help="learn this task alone, and write no file")
    parser.add_argument("--folder", type=Path, default=ROOT / "measurements")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch; a second one gains little here")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    chosen = {name: task for name, task in TASKS.items() if arguments.only in (None, name)}
    scratch = ROOT / "_build" / f"train-tasks-{device_name()}.json"
    rows = learn_all(chosen, scratch)
    print(table(rows))
    if arguments.only is None:
        path = save(arguments.folder, "learning", "scripts/train_tasks.py", rows)
        scratch.unlink()
        print(f"Written: {path}")
    return 0 if all(row.within_bound for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
