"""Several things to choose from, as check boxes: the form of the mock interview. Page: book/mock-interview.ipynb.

A list of several lines would be shorter, but JupyterLab takes the arrow keys away from it: no keyboard would reach it.
"""

from collections.abc import Sequence

import ipywidgets

__all__ = ["Choices"]


class Choices(ipywidgets.VBox):
    """A title and a check box for each option, all of them checked at first.

    Args:
        title: what is chosen.
        options: values with the words for them.
    """

    def __init__(self, title: str, options: Sequence[tuple[object, str]]) -> None:
        layout = {"width": "auto"}
        made = [ipywidgets.Checkbox(value=True, description=words, indent=False, layout=layout) for _, words in options]
        self.boxes = {value: box for (value, _), box in zip(options, made, strict=True)}
        super().__init__([ipywidgets.Label(title), *made])

    @property
    def value(self) -> tuple[object, ...]:
        """The values of the boxes that are checked."""
        return tuple(value for value, box in self.boxes.items() if box.value)

    @value.setter
    def value(self, values: Sequence[object]) -> None:
        for value, box in self.boxes.items():
            box.value = value in values
