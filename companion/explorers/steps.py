"""The base of a derivation that moves: a picture in steps, each with the sentence that says what changed."""

from companion.explorers.base import Explorer, Switch, Whole, Words


class StepsExplorer(Explorer):
    """Base class: sentences, the step that is shown, and all steps as stills.

    A subclass computes its numbers and writes ``sentences``, one a step. Its script, behind ``steps.js`` in ``_js``,
    gives the marks of each step, always the same ones in the same order; ``steps.js`` moves them from step to step.
    """

    sentences = Words(fixed=True)
    step = Whole(1, 1, lambda steps: len(steps.sentences), help="which step is shown, counted from 1")
    all_steps = Switch(False, help="whether all steps stand one below another, as stills")

    def _about(self) -> str:
        return f"{len(self.sentences)} steps"


def shown(x: float, digits: int = 2) -> str:
    """Write a number as the figures do: fixed decimals, a real minus sign, no minus zero.

    >>> shown(-1.5), shown(-0.001), shown(0.5, 1)
    ('−1.50', '0.00', '0.5')

    Args:
        x: the number.
        digits: its decimals.

    Returns:
        The text.
    """
    return f"{round(x, digits) + 0.0:.{digits}f}".replace("-", "−")
