"""Kernels that have torch imported when they start: copies of one process, for a run of many notebooks.

    with warm_kernels.started() as seconds: ...

A kernel by itself spends two seconds on its imports, in each of the book's notebooks. Only packages of others are
imported here, so that a notebook must still import what it uses of the book's own. Where the system cannot copy a
process (Windows), or is better not asked to (macOS), kernels start as they always do.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from jupyter_client.provisioning import local_provisioner

INLINE = "module://matplotlib_inline.backend_inline"  # where a kernel draws; matplotlib asks when it is imported
ANSWERS = 60.0  # seconds in which a killed kernel must be gone


class Kernel:
    """A kernel's process, with what Jupyter asks of a ``subprocess.Popen``; its end leaves no exit code."""

    stdin = stdout = stderr = None

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def poll(self) -> int | None:
        """Tell whether it has ended: 0, else None."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return 0
        return None

    def wait(self) -> int:
        """Wait for its end."""
        until = time.monotonic() + ANSWERS
        while self.poll() is None:
            if time.monotonic() > until:
                raise subprocess.TimeoutExpired(f"kernel {self.pid}", ANSWERS)
            time.sleep(0.01)
        return 0

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)

    terminate = kill


@contextlib.contextmanager
def started() -> Iterator[float]:
    """Start all kernels as copies of one process while this lasts.

    Yields:
        The seconds of processor time that each kernel is spared; 0 where kernels start as they always do.
    """
    if sys.platform != "linux":
        yield 0.0
        return
    command = [sys.executable, "-P", __file__]
    variables = {**os.environ, "MPLBACKEND": INLINE}
    with subprocess.Popen(
        command, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as original:

        def copied(command: Sequence[str], cwd: str | None = None, **options: object) -> Kernel:
            variables = dict(options.get("env") or os.environ)
            asked = {"arguments": command[command.index("-f") :], "cwd": str(cwd or Path.cwd()), "env": variables}
            original.stdin.write(json.dumps(asked) + "\n")
            return Kernel(int(original.stdout.readline()))

        seconds = float(original.stdout.readline())
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(local_provisioner, "launch_kernel", copied)
            yield seconds
        original.stdin.close()


def serve() -> None:
    """Import, say how long it took, and for each line of the input start a kernel and say its number."""
    os.environ["JPY_PARENT_PID"] = str(os.getpid())  # read at the import; a kernel ends when that process has
    import matplotlib.pyplot  # noqa: F401
    import torch  # noqa: F401
    from ipykernel import kernelapp

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how a kernel ended
    print(time.process_time(), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        if os.fork():
            continue
        os.setsid()  # before its number is known: Jupyter sends signals to the whole group
        print(os.getpid(), flush=True)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.chdir(asked["cwd"])
        os.environ.clear()
        os.environ.update(asked["env"])
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        sys.argv = ["ipykernel_launcher", *asked["arguments"]]
        return kernelapp.launch_new_instance()
    return None


if __name__ == "__main__":
    serve()
