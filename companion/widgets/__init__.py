"""Interactive figures for the chapters: each class keeps its browser half in a ``.js`` file beside this one.

How to write one stands in CONTRIBUTING; ``book/extensions/light_widgets.py`` shows them without a kernel. A live lab,
such as ``TrainingLab``, is made of plain ipywidgets and needs a kernel.
"""

from companion.widgets.architecture import ParameterCounter, TranslatorView, VisibilityExplorer
from companion.widgets.attention import AttentionMap, AttentionWalk
from companion.widgets.cost import CostCalculator, PathExplorer
from companion.widgets.explorer import Explorer
from companion.widgets.heads import HeadGrid, HeadSizes, HeadSwitches
from companion.widgets.history import AlignmentView, GradientProduct, MemoryCell
from companion.widgets.masks import MaskExplorer
from companion.widgets.norms import DepthExplorer, NormExplorer
from companion.widgets.positions import DistanceBiasExplorer, RotaryExplorer, SinusoidExplorer
from companion.widgets.softmax import ScalingExplorer, SoftmaxExplorer
from companion.widgets.training import AdamSteps, CurveClinic, ScheduleExplorer
from companion.widgets.training_lab import TrainingLab

__all__ = [
    "AdamSteps",
    "AlignmentView",
    "AttentionMap",
    "AttentionWalk",
    "CostCalculator",
    "CurveClinic",
    "DepthExplorer",
    "DistanceBiasExplorer",
    "Explorer",
    "GradientProduct",
    "HeadGrid",
    "HeadSizes",
    "HeadSwitches",
    "MaskExplorer",
    "MemoryCell",
    "NormExplorer",
    "ParameterCounter",
    "PathExplorer",
    "RotaryExplorer",
    "ScalingExplorer",
    "ScheduleExplorer",
    "SinusoidExplorer",
    "SoftmaxExplorer",
    "TrainingLab",
    "TranslatorView",
    "VisibilityExplorer",
]
