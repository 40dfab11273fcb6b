"""Kernels that are copies of one process: what they hold, and that they end."""

import os
import sys

import psutil
import pytest
from jupyter_client.manager import start_new_kernel
from jupyter_client.provisioning import local_provisioner

from tests.tools import warm_kernels

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems start kernels as they always do")
ASKED = "__import__('os').getcwd(), __import__('os').environ.get('FOR'), __import__('matplotlib').get_backend()"
HELD = "[name in __import__('sys').modules for name in ('torch', 'matplotlib.pyplot', 'companion')]"
PATHS = "[path for path in __import__('sys').path if path]"


def answers(client, **expressions):
    """Evaluate expressions in a kernel."""
    reply = client.execute_interactive("", silent=True, user_expressions=expressions, timeout=60)
    found = reply["content"]["user_expressions"]
    return {name: found[name]["data"]["text/plain"] for name in expressions}


@pytest.fixture
def kernel():
    """Start a kernel with a folder and a variable; all of them end with the test."""
    made = []

    def start(folder, word):
        made.append(start_new_kernel(cwd=str(folder), env=os.environ | {"FOR": word}))
        return made[-1]

    yield start
    for manager, client in made:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def test_a_copy_has_the_packages_of_others_imported_and_its_own_folder_and_variables(kernel, tmp_path):
    alone = answers(kernel(tmp_path, "alone")[1], asked=ASKED, paths=PATHS)
    with warm_kernels.started() as seconds:
        for number in range(2):
            folder = tmp_path / str(number)
            folder.mkdir()
            found = answers(kernel(folder, f"copy {number}")[1], held=HELD, asked=ASKED, paths=PATHS)
            assert found["held"] == "[True, True, False]"
            for old, new in ((str(tmp_path), str(folder)), ("alone", f"copy {number}")):
                assert new in found["asked"]
                found["asked"] = found["asked"].replace(new, old)
            assert found["asked"] == alone["asked"]
            assert found["paths"] == alone["paths"]
        assert seconds > 0.2


def test_a_copy_ends_when_it_is_told_to_and_with_the_process_that_it_is_a_copy_of(kernel, tmp_path):
    usual = local_provisioner.launch_kernel
    with warm_kernels.started():
        told, left = (kernel(tmp_path, "copy")[0] for _ in range(2))
        processes = [psutil.Process(manager.provisioner.pid) for manager in (told, left)]
        assert [psutil.Process(process.ppid()) == processes[0].parent() for process in processes] == [True, True]
        told.shutdown_kernel(now=True)
        assert not processes[0].is_running()
        assert processes[1].is_running()
    processes[1].wait(timeout=60)
    assert local_provisioner.launch_kernel is usual
