"""Last stage of repairing a whole model: ``repair-model``, and the task of all three stages."""

import torch
from torch import Tensor

from companion.chapters.interview.exercises.task_repair_1_attention import ATTENTION
from companion.chapters.interview.exercises.task_repair_2_block import BLOCK, _block, _weights, norm
from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs
from companion.practice.task import Task

F32, F64 = torch.float32, torch.float64
block = _block  # as the page calls it


def _broken_model(
    tokens: Tensor,
    table: Tensor,
    places: Tensor,
    w_qkv: Tensor,
    w_o: Tensor,
    gains: Tensor,
    w_up: Tensor,
    w_down: Tensor,
    n_heads: int,
) -> Tensor:
    x = table[tokens] + places[-tokens.shape[1] :]
    for layer in zip(w_qkv, w_o, gains, w_up, w_down, strict=True):
        y = block(x, *layer, n_heads)
    return norm(y) @ table.mT


def _model(
    tokens: Tensor,
    table: Tensor,
    places: Tensor,
    w_qkv: Tensor,
    w_o: Tensor,
    gains: Tensor,
    w_up: Tensor,
    w_down: Tensor,
    n_heads: int,
) -> Tensor:
    x = table[tokens] + places[: tokens.shape[1]]
    for layer in zip(w_qkv, w_o, gains, w_up, w_down, strict=True):
        x = block(x, *layer, n_heads)
    return norm(x) @ table.mT


def _cases() -> list[Case]:
    draw = RandomInputs(193)
    generator = torch.Generator().manual_seed(193)

    def model(
        b: int,
        t: int,
        longest: int,
        layers: int,
        *,
        d: int = 4,
        d_ff: int = 6,
        n_heads: int = 2,
        vocab: int = 7,
        dtype: torch.dtype = F64,
        scale: float = 1.0,
    ) -> tuple:
        table, places = (draw.normal(n, d, dtype=dtype, scale=scale) for n in (vocab, longest))
        made = zip(*(_weights(draw, d, d_ff, dtype) for _ in range(layers)), strict=True)
        return torch.randint(vocab, (b, t), generator=generator), table, places, *map(torch.stack, made), n_heads

    zeros = torch.zeros(1, 2, 6), torch.zeros(1, 2, 2), torch.ones(1, 2, 2), torch.zeros(1, 2, 1), torch.zeros(1, 1, 2)
    table, places = torch.tensor([[3.0, 0.0], [0.0, 1.0]]), torch.tensor([[0.0, 3.0], [9.0, 0.0]])
    large = model(2, 5, 7, 2, d=6, d_ff=9, vocab=11, scale=1e3)
    return [
        Case((torch.tensor([[0]]), table, places, *zeros, 1), "the example"),
        Case(model(2, 4, 4, 1), "one layer, the full length"),
        Case(model(2, 3, 6, 1, dtype=F32), "one layer"),
        Case(model(3, 5, 5, 2), "the full length"),
        Case(model(2, 4, 9, 3, d=6, n_heads=6), "three layers"),
        Case(model(1, 1, 8, 2, dtype=F32), "one token"),
        Case((*large[:5], 100 * large[5], *large[6:]), "large embeddings, large gains"),
    ]


FROM_THE_END = Edit("places[: tokens.shape[1]]", "places[-tokens.shape[1] :]")
LAST_LAYER = (Edit("x = block(x", "y = block(x"), Edit("norm(x)", "norm(y)"))

MODEL = Exercise(
    name="repair-model",
    title="Repair the whole",
    chapter="task-repair",
    topic="architecture",
    level=2,
    place=3,
    minutes=10,
    reference=_model,
    fixed=("places",),  # one for each token, or more
    broken=_broken_model,
    cases=_cases,
    tested="one layer and several, texts of all lengths, large embeddings, both dtypes",
    hints=(
        "There are two faults, and neither shows in a model of one layer that reads a text of the full length. Vary "
        "one of the two at a time.",
        "Exchange the weights of the first layer of two: do the outputs change? Then give the model one token alone, "
        "and the same token with others after it.",
        "What each layer reads is what the layer before it gave. And the first token has the first position, however "
        "many follow.",
    ),
    mistakes=(
        Mistake(
            "as-given",
            (FROM_THE_END, *LAST_LAYER),
            "This does what the code as given does. The first token's outputs change with the length of the text.",
        ),
        Mistake(
            "positions-from-the-end",
            FROM_THE_END,
            "The layers follow each other now. The positions still are the last ones of the table, so a token's "
            "position depends on how many follow.",
        ),
        Mistake(
            "last-layer-alone",
            LAST_LAYER,
            "The positions are right now. Each layer still reads the embeddings, so only the last one counts.",
        ),
        Mistake(
            "positions-in-each-layer",
            Edit("block(x, *layer", "block(x + places[: tokens.shape[1]], *layer"),
            "You add the positions again in each layer. They are added once, to the embeddings.",
        ),
        Mistake(
            "no-last-norm",
            Edit("norm(x)", "x"),
            "The norm before the last map is gone.",
        ),
        Mistake(
            "residual-around-the-block",
            Edit("x = block(x", "x = x + block(x"),
            "You add a block to its input. The block has its residuals inside.",
        ),
    ),
)

REPAIR_A_MODEL = Task(
    name="repair-a-model",
    title="Repair a whole model",
    stages=(ATTENTION, BLOCK, MODEL),
)
