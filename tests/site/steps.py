"""What the checks of derivations in steps share: the marks that a step draws, as attributes, and their texts."""

from tests.site.browser import put

SCENE = """(root) => [...root.querySelectorAll(".ex-moving .ex-scene > *")].map((node) => ({
  tag: node.tagName, words: node.textContent,
  ...Object.fromEntries([...node.attributes].map(({ name, value }) => [name, value])),
}))"""


class Scene:
    """The marks of the step that is shown."""

    def __init__(self, root, step):
        put(root, step=str(step))
        assert root.query_selector(".ex-scene[data-moving]") is None, "the checks want reduced motion"
        self.marks = root.evaluate(SCENE)
        self.texts = [mark["words"] for mark in self.marks if mark["tag"] == "text"]
        self.said = root.query_selector(".ex-readout").text_content()

    def all(self, name, tag=None):
        """The marks of a class."""
        return [mark for mark in self.marks if name in mark["class"].split() and tag in (None, mark["tag"])]

    def numbers(self, name, attribute, tag=None):
        """One attribute of all marks of a class, as numbers."""
        return [float(mark[attribute]) for mark in self.all(name, tag)]


def spoken(numbers):
    """A sentence as the readout has it: without the sign for a subscript."""
    return numbers.replace("d_k", "dk")
