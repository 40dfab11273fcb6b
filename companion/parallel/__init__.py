"""Several processes of one machine that compute together, and what they send to each other.

The engine is torch's: Li et al. (2020), with gloo on the CPU. Chapter: book/scaling.
"""

from companion.parallel.processes import Processes
from companion.parallel.traffic import Traffic

__all__ = ["Processes", "Traffic"]
