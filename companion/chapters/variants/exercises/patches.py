"""Exercise on the tokens of an image: ``padded-patches``."""

import torch
import torch.nn.functional as F
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs


def _padded_patches(images: Tensor, size: int) -> Tensor:
    down, across = -images.shape[-2] % size, -images.shape[-1] % size
    images = F.pad(images, (0, across, 0, down))
    batch, channels, height, width = images.shape
    grid = images.reshape(batch, channels, height // size, size, width // size, size)
    return grid.permute(0, 2, 4, 1, 3, 5).reshape(batch, -1, channels * size**2)


def _cropped(images: Tensor, size: int) -> Tensor:
    rows, columns = images.shape[-2] // size, images.shape[-1] // size
    grid = images[..., : rows * size, : columns * size].unflatten(-1, (columns, size)).unflatten(-3, (rows, size))
    return grid.permute(0, 2, 4, 1, 3, 5).reshape(len(images), rows * columns, images.shape[1] * size**2)


def _cases() -> list[Case]:
    draw = RandomInputs(63)

    def images(*shape: int, dtype: torch.dtype = torch.float64, scale: float = 1.0) -> Tensor:
        return draw.normal(*shape, dtype=dtype, scale=scale)

    by_hand = torch.arange(1.0, 9.0).view(1, 1, 2, 4)
    return [
        Case((by_hand, 2), "the example"),
        Case((by_hand[..., :3], 2), "a column too few"),
        Case((images(2, 1, 5, 4), 2), "a row too few"),
        Case((images(1, 3, 3, 5), 1), "patches of one pixel"),
        Case((images(2, 3, 4, 4, dtype=torch.float32), 4), "one patch"),
        Case((images(3, 2, 2, 3), 5), "a patch larger than the image"),
        Case((images(2, 3, 7, 11, dtype=torch.float32), 3), "padding on both sides"),
        Case((images(1, 2, 6, 9, scale=1e3), 3), "large entries"),
    ]


PADDED_PATCHES = Exercise(
    name="padded-patches",
    title="Cut an image of any size into patches",
    chapter="variants",
    level=2,
    place=2,
    minutes=15,
    reference=_padded_patches,
    cases=_cases,
    tested="rows or columns too few, one patch, patches of one pixel, a patch larger than the image, both dtypes",
    hints=(
        "First make height and width multiples of size. How many rows are missing, as a remainder?",
        "One reshape gives six axes: image, channel, row of patches, row inside, column of patches, column inside.",
        "Which of the six tell the patch, and which the place inside? Bring them into this order, then reshape.",
    ),
    mistakes=(
        Mistake(
            "columns-first",
            Edit("0, 2, 4, 1, 3, 5", "0, 4, 2, 1, 3, 5"),
            "Your patches come column by column. The first row of patches comes first.",
        ),
        Mistake(
            "channels-last",
            Edit("0, 2, 4, 1, 3, 5", "0, 2, 4, 3, 5, 1"),
            "Inside a patch you put the channels of a pixel together. All pixels of the first channel come first.",
        ),
        Mistake(
            "no-permutation",
            Edit("grid.permute(0, 2, 4, 1, 3, 5)", "grid"),
            "You reshaped without reordering the axes: your rows hold strips of the image, not squares.",
        ),
        Mistake(
            "padding-first",
            Edit("(0, across, 0, down)", "(across, 0, down, 0)"),
            "You put the zeros above and to the left. They go below and to the right.",
        ),
        Mistake(
            "needless-padding",
            Edit(
                "-images.shape[-2] % size, -images.shape[-1] % size",
                "size - images.shape[-2] % size, size - images.shape[-1] % size",
            ),
            "Where size divides the image, you added a whole row or column of empty patches.",
        ),
        Mistake(
            "rests-interchanged",
            Edit("(0, across, 0, down)", "(0, down, 0, across)"),
            "You padded each side by what the other lacks. `F.pad` begins with the last axis, the width.",
        ),
        Mistake(
            "cropped",
            _cropped,
            "Pixels that fill no whole patch are missing. Pad the image, and each axis by its own rest: `F.pad` begins "
            "with the last axis, the width.",
        ),
        Mistake(
            "patches-transposed",
            Edit("0, 2, 4, 1, 3, 5", "0, 2, 4, 1, 5, 3"),
            "Inside a patch you list the columns. A channel is listed row by row.",
        ),
        Mistake(
            "unfold-not-transposed",
            lambda images, size: F.unfold(
                F.pad(images, (0, -images.shape[-1] % size, 0, -images.shape[-2] % size)), size, stride=size
            ).reshape(len(images), -1, images.shape[1] * size**2),
            "`F.unfold` returns (batch, channels · size², patches). Swap the last two axes: a reshape mixes patches.",
        ),
    ),
)
