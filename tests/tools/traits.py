"""What the tests of explorers share: a trait that a reader sets takes a good value and refuses a bad one."""

import pytest


def assert_takes_and_refuses(explorer, name, good, bad, rule):
    setattr(explorer, name, good)
    assert getattr(explorer, name) == good
    with pytest.raises(ValueError, match=rule):
        setattr(explorer, name, bad)
    assert getattr(explorer, name) == good
