"""Two processes under torchrun reach the weights that one process reaches on the same batches."""

import io
import os
import re
import subprocess
import sys
from contextlib import redirect_stderr
from pathlib import Path

import pytest
import torch
from torch import nn

from companion.training import Batches, Trainer, language_model_loss, process_group, rank, texts_batch, world_size

ROOT = Path(__file__).parents[2]
TEXTS = [[1 + (n + k) % 5 for k in range(2 + n % 4)] for n in range(15)]  # rows of 2 to 5 tokens


class Bigram(nn.Module):
    def __init__(self, seed, dropout=0.0):
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.embedding = nn.Parameter(torch.randn(6, 3, generator=generator).double())
        self.output = nn.Parameter(torch.randn(6, 3, generator=generator).double())
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens):
        return self.dropout(self.embedding[tokens]) @ self.output.T


def new_trainer(seed=0, dropout=0.0, size=5):
    """Batches of 5 rows: one process gets 3 of them, the other 2."""
    model = Bigram(seed, dropout)
    return Trainer(
        model,
        language_model_loss(padding=0, smoothing=0.1),
        Batches(TEXTS, texts_batch, size=size, seed=1),
        optimizer=torch.optim.SGD(model.parameters(), lr=1.0, momentum=0.9),
        schedule=lambda step: 0.1 * step,
        clip=1.0,
        accumulate=2,
    )


def work(folder):
    """What each of the two processes does; it writes what it found, for the test to look at."""
    with process_group() as device:
        trainer = new_trainer(seed=rank())  # process 0's weights win
        with redirect_stderr(io.StringIO()) as shown:  # in one stream, the lines of two processes would be mixed
            history = trainer.run(4, progress=True)
        found = {"processes": world_size(), "device": str(device), "weights": trainer.model.state_dict()}
        found["shown"] = shown.getvalue()
        found["rows"] = next(Batches(TEXTS, lambda items: [item[0] for item in items], size=5, seed=1))
        found["loss"], found["norm"] = history.loss, history.gradient_norm

        torch.manual_seed(rank())  # another dropout in each process
        whole = new_trainer(dropout=0.5)
        whole.run(2, checkpoint=folder / "run.pt", progress=False)
        whole.run(4, progress=False)
        torch.rand(100)
        resumed = new_trainer(dropout=0.5)
        resumed.load(folder / "run.pt")
        resumed.run(4, progress=False)
        pairs = zip(resumed.model.parameters(), whole.model.parameters(), strict=True)
        found["resumed"] = all(torch.equal(mine, other) for mine, other in pairs)
        try:
            new_trainer(size=1).step()
        except ValueError as refusal:
            found["refusal"] = str(refusal)
        torch.save(found, folder / f"{rank()}.pt")


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """The findings of two processes that torchrun started on this computer."""
    folder = tmp_path_factory.mktemp("torchrun")
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--rdzv-backend=c10d"]
    command += ["--rdzv-endpoint=127.0.0.1:0", "--local-addr=127.0.0.1", __file__, str(folder)]  # port 0: a free one
    loopback = "lo0" if sys.platform == "darwin" else "lo"
    local = {
        "OMP_NUM_THREADS": "1",
        "GLOO_SOCKET_IFNAME": loopback,
        "PYTHONPATH": str(ROOT),
        "CUDA_VISIBLE_DEVICES": "",
    }
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=os.environ | local)
    assert run.returncode == 0, run.stderr
    return [torch.load(folder / f"{number}.pt", weights_only=True) for number in (0, 1)], folder


def test_two_processes_reach_the_weights_of_one(found):
    """Float64: what differs is the order in which the rows' gradients are added."""
    trainer = new_trainer()
    history = trainer.run(4, progress=False)
    for result in found[0]:
        assert result["processes"] == 2
        assert result["loss"] == pytest.approx(history.loss, rel=0, abs=1e-12)
        assert result["norm"] == pytest.approx(history.gradient_norm, rel=0, abs=1e-12)
        for name, weight in trainer.model.state_dict().items():
            torch.testing.assert_close(result["weights"][name], weight, rtol=0, atol=1e-12)


def test_each_process_gets_its_share_of_the_rows(found):
    whole = [TEXTS[i][0] for i in new_trainer().batches.plan[0]]
    assert [result["rows"] for result in found[0]] == [whole[0::2], whole[1::2]]


def test_two_processes_that_were_stopped_go_on_to_the_same_bits(found):
    assert [result["resumed"] for result in found[0]] == [True, True]


def test_their_checkpoint_is_refused_by_one_process(found):
    with pytest.raises(ValueError, match="it had 2, now there are 1"):
        new_trainer(dropout=0.5).load(found[1] / "run.pt")


def test_only_the_first_process_shows_progress(found):
    first, second = (result["shown"] for result in found[0])
    # A bar may be drawn again before it is done; its line ends once.
    assert len(re.findall(r"4/4[^\r\n]*\n", first)) == 1
    assert second == ""


def test_a_batch_with_fewer_rows_than_processes_is_refused(found):
    for result in found[0]:
        assert "each process needs a row of every batch: got 1 rows for 2 processes" in result["refusal"]


def test_alone_there_is_one_process_and_nothing_to_join():
    with process_group() as device:
        assert device.type == ("cuda" if torch.cuda.is_available() else "cpu")
        assert (rank(), world_size(), torch.distributed.is_initialized()) == (0, 1, False)
    trainer = new_trainer()
    assert trainer.parallel is trainer.model


if __name__ == "__main__":
    torch.set_num_threads(1)
    work(Path(sys.argv[1]))
