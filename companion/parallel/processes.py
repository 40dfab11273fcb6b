"""Processes that a notebook starts, joined by gloo: each runs the same function on its own data.

A function of a notebook cannot be imported elsewhere, so its source is sent, and runs among the names of a module.

Made for this book. Chapter: book/scaling.
"""

import importlib
import inspect
import linecache
import os
import pickle
import sys
import tempfile
import textwrap
import traceback
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from companion.checks import check_sizes


class Processes:
    """Processes on this machine that know each other, and wait for functions to run.

    A script that starts them does so below ``if __name__ == "__main__":``; a notebook need not.

    Args:
        number: how many.
        names: a module; the functions find its names as their global ones.
        seconds: how long to wait for the start, and for each function, before all are ended.

    Raises:
        TimeoutError: they did not start in time.
    """

    def __init__(self, number: int, names: str, *, seconds: float | int = 120) -> None:
        check_sizes(number=number)
        self.seconds, self._folder = seconds, tempfile.TemporaryDirectory()
        context = mp.get_context("forkserver" if sys.platform == "linux" else "spawn")
        context.set_forkserver_preload([names])  # on Linux one process imports it, and the others are its copies
        store = str(Path(self._folder.name) / "store")
        self._pairs = []
        for rank in range(number):
            ours, theirs = context.Pipe()
            arguments = (rank, number, store, names, theirs, seconds)
            process = context.Process(target=_serve, args=arguments, daemon=True)
            process.start()
            theirs.close()
            self._pairs.append((process, ours))
        self._collect("their start")

    def run(self, function: Callable[..., Any], *arguments: object) -> list[Any]:
        """Run a function in all processes at once.

        Args:
            function: written with ``def``; it uses its arguments and the names of the module, nothing else.
            *arguments: the same for all, sent by value.

        Returns:
            What each process returned, in the order of their ranks.

        Raises:
            RuntimeError: a process raised an error, whose traceback is in the message, or ended.
            TimeoutError: they did not finish in time. In all these cases the processes are gone.
            ValueError: they have been closed.
        """
        if not self._pairs:
            raise ValueError("the processes are closed: got another function to run. Start new ones.")
        message = pickle.dumps((textwrap.dedent(inspect.getsource(function)), function.__name__, arguments))
        for _, connection in self._pairs:
            with suppress(OSError):  # it has ended, which reading from it will show
                connection.send_bytes(message)
        return self._collect(function.__name__)

    def close(self, patience: float | int = 5) -> None:
        """End the processes.

        Args:
            patience: seconds for each to leave by itself before it is killed.
        """
        for _, connection in self._pairs:
            connection.close()  # a process that waits reads the end of it, and leaves
        for process, _ in self._pairs:
            process.join(patience)
            process.kill()
            process.join()
        self._pairs = []
        self._folder.cleanup()

    def __enter__(self) -> "Processes":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _collect(self, what: str) -> list[Any]:
        values: dict[int, Any] = {}
        try:
            while len(values) < len(self._pairs):
                open_ones = {c: rank for rank, (_, c) in enumerate(self._pairs) if rank not in values}
                ready = wait(open_ones, timeout=self.seconds)
                if not ready:
                    raise TimeoutError(
                        f"the processes have {self.seconds} seconds for {what}: {len(open_ones)} of "
                        f"{len(self._pairs)} did not finish. Do all of them take part in each exchange?"
                    )
                for connection in ready:
                    values[open_ones[connection]] = self._read(connection, open_ones[connection], what)
        except BaseException:
            self.close(patience=0)  # the others may wait for one that is gone
            raise
        return [values[rank] for rank in range(len(self._pairs))]

    def _read(self, connection: Connection, rank: int, what: str) -> object:
        try:
            done, value = pickle.loads(connection.recv_bytes())
        except (EOFError, OSError):
            raise RuntimeError(f"process {rank} ended during {what}. Is there enough memory?") from None
        if not done:
            raise RuntimeError(f"process {rank} raised an error in {what}:\n{value}")
        return value


def _serve(rank: int, number: int, store: str, names: str, connection: Connection, seconds: float) -> None:
    torch.set_num_threads(1)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo0" if sys.platform == "darwin" else "lo")
    try:
        space = vars(importlib.import_module(names))
        limit = timedelta(seconds=seconds)
        dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=number, timeout=limit)
        connection.send_bytes(pickle.dumps((True, None)))
        while True:
            source, name, arguments = pickle.loads(connection.recv_bytes())
            try:
                linecache.cache[f"<{name}>"] = (len(source), None, source.splitlines(True), f"<{name}>")
                exec(compile(source, f"<{name}>", "exec"), own := dict(space))
                reply = pickle.dumps((True, own[name](*arguments)))
            except Exception:
                reply = pickle.dumps((False, traceback.format_exc()))
            connection.send_bytes(reply)
    except (EOFError, OSError):  # nobody waits any more
        os._exit(0)
    except Exception:
        connection.send_bytes(pickle.dumps((False, traceback.format_exc())))
