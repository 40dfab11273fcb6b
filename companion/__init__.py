"""The companion package: every piece of the Transformer that the book derives, small enough to read in one sitting.

Import the modules by name, for example ``from companion.attention import attention``. Drawing (``companion.plots``)
and interactive figures (``companion.widgets``) load matplotlib and ipywidgets; nothing else does.
"""

from companion import attention, masks

__all__ = ["attention", "masks"]
