"""Plant mutants, one at a time, in copies of the tree, and require that the tests named for each one fail.

A test that cannot fail proves nothing, and nothing but a planted fault shows that it can.

    python -m tests.mutants                     all that were not caught since anything they depend on changed
    python -m tests.mutants --area package      those in tests/mutants/package*.yml
    python -m tests.mutants --only scale        those with "scale" in their name
    python -m tests.mutants --sample 60         a random part, from every area alike
    python -m tests.mutants --random 40         random operator faults in the library in place of the records
    python -m tests.mutants --time-limit 30     start none after 30 minutes; the next run goes on

A mutant counts as caught only if its tests pass on an unbroken copy, and on the broken copy one of them fails by an
assertion (or by the reason that the record names): an error while tests are collected does not count, nor does no test.
"""

import argparse
import itertools
import json
import os
import queue
import random
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.mutants import Mutant, load, operators, planting, stale
from tests.mutants.planting import Copy, Outcome, States

RESULTS = planting.ROOT / "_build" / "mutants.json"
NOT_CLEAN = "its tests fail without it"


def choose(mutants: list[Mutant], areas: Sequence[str] | None, texts: Sequence[str] | None) -> list[Mutant]:
    if areas:
        mutants = [mutant for mutant in mutants if mutant.area.startswith(tuple(areas))]
    if texts:
        mutants = [mutant for mutant in mutants if any(text in mutant.name for text in texts)]
    return mutants


def sample(mutants: list[Mutant], number: int, seed: int) -> list[Mutant]:
    """Draw mutants at random, so that each area has its share."""
    draw = random.Random(seed)
    places = {}
    for _, group in itertools.groupby(mutants, key=lambda mutant: mutant.area):
        members = list(group)
        draw.shuffle(members)
        places |= {mutant.name: (place + draw.random()) / len(members) for place, mutant in enumerate(members)}
    kept = sorted(places, key=places.get)[:number]
    return [mutant for mutant in mutants if mutant.name in set(kept)]


class Run:
    """Mutants that workers take from a queue by their test files, and what is known of them.

    `_build/mutants.json` holds the state of the tree (a hash) in which a mutant was last caught, and that in which a
    test last passed on an unbroken copy.
    """

    def __init__(self, folder: Path, results: Path, deadline: float) -> None:
        self.folder, self.results, self.deadline = folder, results, deadline
        self.context = planting.warm_processes()
        self.source = planting.snapshot(folder)
        self.states = States(self.source)
        self.known: dict[str, str] = json.loads(results.read_text("utf-8")) if results.exists() else {}
        self.outcomes: dict[str, Outcome] = {}
        self._lock = threading.Lock()

    def left(self, mutants: Sequence[Mutant]) -> list[Mutant]:
        """Leave out those caught before, while nothing that they depend on has changed."""
        return [mutant for mutant in mutants if self.known.get(mutant.name) != self.states.of_mutant(mutant)]

    def plant(self, mutants: Sequence[Mutant], workers: int) -> None:
        groups: dict[tuple, list[Mutant]] = {}
        for mutant in mutants:
            groups.setdefault(tuple(test.split("::")[0] for test in mutant.tests), []).append(mutant)
        self.number = len(mutants)
        waiting = queue.SimpleQueue()
        for group in sorted(groups.values(), key=len, reverse=True):
            waiting.put(group)
        with ThreadPoolExecutor(workers) as pool:
            for worker in [pool.submit(self._work, waiting) for _ in range(min(workers, len(groups)))]:
                worker.result()

    def _work(self, waiting: queue.SimpleQueue) -> None:
        copy = Copy(self.source, self.folder)
        while time.monotonic() < self.deadline:
            try:
                group = waiting.get_nowait()
            except queue.Empty:
                return
            problem = self._check_clean(group, copy)
            for mutant in group:
                if time.monotonic() >= self.deadline:
                    return
                self._note(mutant, problem or planting.plant(self.context, mutant, copy))

    def _check_clean(self, group: Sequence[Mutant], copy: Copy) -> Outcome | None:
        """Run the tests of a group on the unbroken copy, those that have not passed in this state before."""
        site = any(mutant.built for mutant in group) or "tests/site" in group[0].tests[0]
        tests = sorted({test for mutant in group for test in mutant.tests})
        states = {test: self.states.of_clean(test, site=site) for test in tests if not test.startswith("-")}
        fresh = {test: state for test, state in states.items() if self.known.get(test) != state}
        if fresh:
            arguments = [test for test in tests if test in fresh or test not in states]
            status, output, _ = planting.run_tests(
                self.context, arguments, copy.tree, stop=False, timeout=planting.SITE_TIMEOUT
            )
            if status:
                return Outcome(NOT_CLEAN, 0.0, planting.last_lines(output))
            self._keep(fresh)
        return None

    def _note(self, mutant: Mutant, outcome: Outcome) -> None:
        self.outcomes[mutant.name] = outcome
        print(
            f"{len(self.outcomes):4} of {self.number}  {outcome.verdict:9} {outcome.seconds:5.1f} s  "
            f"{mutant.area:18} {mutant.name}",
            flush=True,
        )
        if outcome.verdict == "caught":
            self._keep({mutant.name: self.states.of_mutant(mutant)})

    def _keep(self, found: dict[str, str]) -> None:
        with self._lock:
            self.known |= found
            self.results.parent.mkdir(exist_ok=True)
            self.results.write_text(json.dumps(self.known, indent=1), "utf-8")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutants", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--area", action="append", metavar="NAME", help="only the files of records that begin so")
    parser.add_argument("--only", action="append", metavar="TEXT", help="only mutants with TEXT in their name")
    parser.add_argument("--sample", type=int, metavar="N", help="plant N of them, drawn at random")
    parser.add_argument("--random", type=int, metavar="N", help="plant N random operator faults instead")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="of --sample and --random")
    parser.add_argument("--no-resume", action="store_true", help="plant those too that were caught before")
    parser.add_argument("--time-limit", type=float, default=float("inf"), metavar="MINUTES", help="start none later")
    parser.add_argument("--workers", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--list", action="store_true", help="name the mutants and stop")
    return parser.parse_args()


def chosen(given: argparse.Namespace) -> list[Mutant]:
    mutants = operators.sample(planting.ROOT, given.random, given.seed) if given.random else load()
    mutants = choose(mutants, given.area, given.only)
    return sample(mutants, given.sample, given.seed) if given.sample else mutants


def refuse(mutants: list[Mutant]) -> str | None:
    """Say why these mutants cannot be planted."""
    if not mutants:
        return "No mutant has this name or area. See --list."
    if any(mutant.built for mutant in mutants) and not (planting.ROOT / planting.SITE).exists():
        return "Mutants of the site need a built site: run `make book` first, or name other areas."
    if old := [message for mutant in mutants for message in stale(mutant, planting.ROOT)]:
        return "\n  ".join(["The records no longer fit the tree:", *old])
    return None


def main() -> int:
    given = arguments()
    mutants = chosen(given)
    if given.list:
        print("\n".join(f"{mutant.area:18} {mutant.name}" for mutant in mutants))
        return 0
    if reason := refuse(mutants):
        print(reason, file=sys.stderr)
        return 2
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        run = Run(Path(folder), RESULTS, started + 60 * given.time_limit)
        todo = mutants if given.no_resume else run.left(mutants)
        seed = f", drawn with --seed {given.seed}" if given.sample or given.random else ""
        print(f"{len(mutants)} mutants{seed}; {len(mutants) - len(todo)} were caught before.", flush=True)
        run.plant(todo, given.workers)
    return report(mutants, todo, run.outcomes, time.monotonic() - started, fatal=not given.random)


def report(
    mutants: list[Mutant], todo: list[Mutant], outcomes: dict[str, Outcome], seconds: float, *, fatal: bool
) -> int:
    """Say what was not caught; the exit status is 1 if that is anything, unless the faults were drawn at random."""
    missed = [mutant for mutant in todo if mutant.name in outcomes and outcomes[mutant.name].verdict != "caught"]
    for mutant in missed:
        outcome = outcomes[mutant.name]
        print(f"\n{mutant.name} ({mutant.file}): {outcome.verdict}\n{outcome.detail}", file=sys.stderr)
    left = len(todo) - len(outcomes)
    caught = len(mutants) - left - len(missed)
    print(f"\n{caught} of {len(mutants)} mutants caught, {len(missed)} not, {left} not planted; {seconds:.0f} s.")
    if left:
        print("The same command goes on with those that are left.")
    return 1 if missed and fatal else 0


if __name__ == "__main__":
    sys.exit(main())
