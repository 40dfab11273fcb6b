"""Fixtures that every test may ask for. `companion` is not imported here: the shape hook must come first."""

from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import jaxtyping
import pytest
import torch
from torch import Tensor

ROOT = Path(__file__).parents[1]

hypothesis.settings.register_profile(
    "book",
    deadline=None,  # the first example pays for a lazy import
    derandomize=True,  # the same examples on every machine, and no database of earlier failures
    database=None,
    max_examples=60,
    report_multiple_bugs=False,  # one failure, as it was raised, instead of an exception group
    suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture],
)
hypothesis.settings.load_profile("book")
pytest.register_assert_rewrite("tests.tools", "tests.site", "tests.chapters")
torch.set_num_threads(1)  # tensors this small only lose time to a second thread


@pytest.fixture
def shape_checks_off() -> Iterator[None]:
    """Turn the runtime shape checks off, so that a call meets our own refusal as it does in a notebook."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", before)


@pytest.fixture
def randn() -> Callable[..., Tensor]:
    """Normal numbers of unit size in float64, from a generator of the test's own."""
    generator = torch.Generator().manual_seed(20170612)  # the day Vaswani et al. (2017) appeared

    def draw(*shape: int, dtype: torch.dtype = torch.float64, requires_grad: bool = False) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype).requires_grad_(requires_grad)

    return draw


@pytest.fixture
def random_mask() -> Callable[..., Tensor]:
    """Boolean masks with about six pairs in ten allowed, from a generator of the test's own."""
    generator = torch.Generator().manual_seed(1706)

    def draw(*shape: int) -> Tensor:
        return torch.rand(*shape, generator=generator) < 0.6

    return draw


@pytest.fixture
def assert_agrees() -> Callable[..., None]:
    """Compare two functions on the same input; where they differ, say whether float64 makes them agree.

    A failing comparison is rerun in float64 before a tolerance moves: if the difference falls by eight orders it was
    rounding, and the tolerance may be argued about; if it stays, it is a bug.
    """

    def check(
        ours: Callable[..., Tensor], theirs: Callable[..., Tensor], *inputs: Tensor | None, rtol: float, atol: float
    ) -> None:
        got, want = ours(*inputs), theirs(*inputs)
        try:
            torch.testing.assert_close(got, want, rtol=rtol, atol=atol)
        except AssertionError as failure:
            doubled = [x.double() if x is not None and x.is_floating_point() else x for x in inputs]
            before = (got.double() - want.double()).abs().max().item()
            after = (ours(*doubled) - theirs(*doubled)).abs().max().item()
            verdict = "rounding: argue about the tolerance" if after <= before * 1e-8 else "a bug: leave the tolerance"
            sizes = f"The largest difference is {before:.1e} in {got.dtype} and {after:.1e} in float64"
            raise AssertionError(f"{failure}\n{sizes}: {verdict}.") from failure

    return check


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> object:
    """Give a test a progress of its own in the exercises."""
    from companion.practice import progress  # not above: the shape hook must come first

    monkeypatch.setattr(progress, "PROGRESS", progress.Progress())
    return progress.PROGRESS


@pytest.fixture
def mistakes_run_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try each named mistake of the book once in all, where every check would try it on every case."""
    from tests.tools import practice  # not above, for the same reason

    monkeypatch.setattr(practice.running, "run_case", practice.run_once)
