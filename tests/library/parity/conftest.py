"""Print how far the package is at most from the libraries that it is compared with, by file of tests."""

import pytest
import torch

FOUND = pytest.StashKey()


def pytest_configure(config):
    config.stash[FOUND] = {}


@pytest.fixture(autouse=True)
def distances(request, monkeypatch):
    """Keep the largest difference of each comparison that passes, with the bound that it had."""
    compare, found = torch.testing.assert_close, request.config.stash[FOUND]

    def measured(actual, expected, **options):
        compare(actual, expected, **options)
        if isinstance(actual, torch.Tensor) and actual.is_floating_point():
            apart = (actual.detach() - expected.detach()).abs().nan_to_num(0.0)  # two infinities are equal
            bound = (request.path.name, options.get("atol"))
            found[bound] = max(found.get(bound, 0.0), apart.max().item() if apart.numel() else 0.0)

    monkeypatch.setattr(torch.testing, "assert_close", measured)


def pytest_terminal_summary(terminalreporter, config):
    if found := config.stash[FOUND]:
        terminalreporter.section("largest differences in the comparisons with other libraries")
    for (name, bound), apart in sorted(found.items(), key=str):
        within = "torch's own bounds" if bound is None else f"bound {bound:.0e}"
        terminalreporter.write_line(f"{name:32} {apart:.1e}  ({within})")
