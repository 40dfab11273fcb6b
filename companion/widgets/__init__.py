"""Interactive figures for the chapters: each class keeps its browser half in a ``.js`` file beside this one.

How to write one stands in CONTRIBUTING; ``book/extensions/light_widgets.py`` shows them without a kernel.
"""

from companion.widgets.attention import AttentionMap, AttentionWalk
from companion.widgets.explorer import Explorer
from companion.widgets.heads import HeadGrid, HeadSizes, HeadSwitches
from companion.widgets.masks import MaskExplorer
from companion.widgets.softmax import ScalingExplorer, SoftmaxExplorer

__all__ = [
    "AttentionMap",
    "AttentionWalk",
    "Explorer",
    "HeadGrid",
    "HeadSizes",
    "HeadSwitches",
    "MaskExplorer",
    "ScalingExplorer",
    "SoftmaxExplorer",
]
