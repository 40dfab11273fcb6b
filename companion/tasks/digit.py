"""Handwritten digits of 8 by 8 pixels, which networks of the book name and find.

The images are the test set of the UCI "Optical Recognition of Handwritten Digits" (Alpaydin and Kaynak, 1998), as in
scikit-learn; NOTICE says more. Chapter: book/theory.
"""

import gzip
from functools import cache
from pathlib import Path

import torch
from jaxtyping import Float, Int
from torch import Tensor

DATA = Path(__file__).parent / "data" / "digits.csv.gz"
SIDE = 8
"""Pixels along a side."""


@cache
def digits() -> tuple[Float[Tensor, "count side side"], Int[Tensor, " count"]]:
    """Return the 1,797 images, with numbers from 0 to 4, and what they show."""
    lines = gzip.decompress(DATA.read_bytes()).decode("ascii").split()
    table = torch.tensor([[float(entry) for entry in line.split(",")] for line in lines])
    return table[:, :-1].view(-1, SIDE, SIDE) / 4, table[:, -1].long()
