"""The companion package: every piece of the Transformer that the book derives, small enough to read in one sitting.

Import modules by name, for example ``from companion.attention import attention``; importing the package alone loads
nothing. What is not the library stands apart: ``companion.chapters`` (what the chapters have beside their pages),
``companion.practice``, ``companion.explorers`` and ``companion.pictures`` (the engines of exercises, of interactive
figures and of drawn pictures), and ``companion.book`` (the tools that make the book, without torch).
"""
