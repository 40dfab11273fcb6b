"""Measuring time and memory, and the files that keep what was measured.

Made for this book. Chapter: book/complexity.
"""

from companion.measure.clock import Quartiles, benchmark, exponent, one_thread, peak_bytes, time_call, time_ratio
from companion.measure.experiments import Experiment, results
from companion.measure.files import Row, device_name, load, machine, save

__all__ = [
    "Experiment",
    "Quartiles",
    "Row",
    "benchmark",
    "device_name",
    "exponent",
    "load",
    "machine",
    "one_thread",
    "peak_bytes",
    "results",
    "save",
    "time_call",
    "time_ratio",
]
