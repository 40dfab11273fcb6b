"""What the tests of plots share."""

import matplotlib
import pytest

from companion import plots

matplotlib.use("Agg")


@pytest.fixture
def ax():
    """Give axes of 4 by 2 inches, closed after the test."""
    figure, ax = plots.axes(4.0, 2.0)
    yield ax
    plots.plt.close(figure)
