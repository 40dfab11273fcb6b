"""Exercise on attention over the states of an encoder: ``additive-context``."""

import torch
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs

F32 = torch.float32


def _additive_context(s: Tensor, states: Tensor, w: Tensor, u: Tensor, v: Tensor, n: int) -> Tensor:
    scores = (w @ s + states @ u.T).tanh() @ v
    real = torch.arange(len(scores)) < n
    return scores.masked_fill(~real, -torch.inf).softmax(dim=-1) @ states


def _cases() -> list[Case]:
    draw = RandomInputs(77)

    def case(
        t: int, n: int, widths: tuple[int, ...], note: str = "", dtype: torch.dtype = torch.float64, scale: float = 1.0
    ) -> Case:
        d_s, d_h, d = widths
        s, states = draw.normal(d_s, dtype=dtype), draw.normal(t, d_h, dtype=dtype, scale=scale)
        weights = (draw.normal(*shape, dtype=dtype) for shape in ((d, d_s), (d, d_h), (d,)))
        return Case((s, states, *weights, n), note)

    one = torch.ones(1, 1, dtype=torch.float64)
    states = torch.tensor([[0.0], [2.0], [5.0]], dtype=torch.float64)
    far = torch.tensor([[-1.0], [1.0]]), torch.ones(1, 1), torch.tensor([[9.0]]), torch.tensor([1000.0])
    low = torch.tensor([[5.0], [0.0]]), torch.ones(1, 1), torch.ones(1, 1), torch.tensor([-20_000.0])
    least = torch.tensor([[5.0], [0.0]], dtype=torch.float64), one, one, torch.tensor([-1e20], dtype=torch.float64)
    return [
        Case((torch.zeros(1, dtype=torch.float64), states, one, one, one[0], 2), "the example"),
        case(1, 1, (2, 3, 4), "one state"),
        case(3, 3, (2, 3, 4), "no padding"),
        case(5, 2, (3, 2, 5), "three states of padding"),
        case(7, 4, (5, 3, 2), dtype=F32),
        case(11, 10, (2, 7, 3), "widths that differ"),
        case(4, 3, (2, 3, 4), "states near a thousand", scale=1e3),
        Case((torch.zeros(1), *far, 1), "a pad that scores higher by thousands"),
        Case((torch.zeros(1), *low, 1), "a score of minus twenty thousand before a pad"),
        Case((torch.zeros(1, dtype=torch.float64), *least, 1), "a score of -1e20 before a pad"),
        Case((torch.zeros(1), *far, 2), "scores of a thousand either way, no padding"),
        case(4, 3, (3, 2, 3), "a query as wide as the network"),
    ]


ADDITIVE_CONTEXT = Exercise(
    name="additive-context",
    title="Attend with a small network",
    chapter="history",
    level=3,
    place=6,
    reference=_additive_context,
    cases=_cases,
    tested="one state, padding, a pad with a high score, scores far from 0, widths that differ and that do not, both "
    "dtypes",
    hints=(
        "Score each state, turn the scores into weights, average the states. Which of the three must know n?",
        "The product with s is the same for every state, so it can be added to all rows of states times u transposed.",
        "Put minus infinity in place of the scores of padding, before the softmax, so that their weights are 0 and the "
        "others still sum to 1.",
    ),
    mistakes=(
        Mistake(
            "no-mask",
            Edit(".masked_fill(~real, -torch.inf)", ""),
            "Padding got weight. Only the first n states are real.",
        ),
        Mistake(
            "zeroed-scores",
            Edit("-torch.inf", "0.0"),
            "A score of 0 is a score like another. Use minus infinity for padding.",
        ),
        Mistake(
            "zeroed-states",
            (
                Edit("    scores =", "    states = states * (torch.arange(len(states)) < n)[:, None]\n    scores ="),
                Edit(".masked_fill(~real, -torch.inf)", ""),
            ),
            "You set the states of padding to 0 and left their scores in the softmax. They take weight there: use "
            "minus infinity for their scores.",
        ),
        Mistake(
            "mask-after",
            Edit(".masked_fill(~real, -torch.inf).softmax(dim=-1) @ states", ".softmax(dim=-1)[:n] @ states[:n]"),
            "You cut the padding off after the softmax, so your weights sum to less than 1.",
        ),
        Mistake(
            "renormalised",
            Edit(
                "scores.masked_fill(~real, -torch.inf).softmax(dim=-1) @ states",
                "(scores.softmax(dim=-1) * real / (scores.softmax(dim=-1) * real).sum()) @ states",
            ),
            "You took padding out after the softmax and divided by what was left. In this case padding took all the "
            "weight: nothing is left to divide by. Hide scores, not weights.",
        ),
        Mistake(
            "finite-stand-in",
            Edit("-torch.inf", "-100.0"),
            "You hid padding with a negative number that is not large enough. Hide it with minus infinity.",
            also=(Edit("masked_fill(~real, -torch.inf)", "sub(~real * 1e3)"),),
        ),
        Mistake(
            "no-shift",
            Edit(
                "scores.masked_fill(~real, -torch.inf).softmax(dim=-1) @ states",
                "scores[:n].exp() @ states[:n] / scores[:n].exp().sum()",
            ),
            "You exponentiated the scores as they are. Large ones overflow, and where all are far below 0 nothing is "
            "left to divide by. Subtract the largest real score first, as `softmax` does.",
        ),
        Mistake(
            "no-tanh",
            Edit(".tanh()", ""),
            "You left tanh out. Then the query shifts all scores alike and has no effect.",
        ),
        Mistake(
            "scores-as-weights",
            Edit("scores.masked_fill(~real, -torch.inf).softmax(dim=-1) @ states", "scores[:n] @ states[:n]"),
            "You averaged with the scores. Turn them into weights first.",
        ),
        Mistake(
            "summed-late",
            Edit("(w @ s + states @ u.T).tanh()", "((w @ s).tanh() + (states @ u.T).tanh())"),
            "You took tanh of each product. Add the two products first.",
        ),
        Mistake(
            "scaled",
            Edit(".tanh() @ v", ".tanh() @ v / len(v) ** 0.5"),
            "You divided the scores by a root, as dot products are. The additive score is not scaled.",
        ),
        Mistake(
            "one-state-too-many",
            Edit("< n", "<= n"),
            "You counted the first pad as a state. The states are those with a number below n.",
        ),
    ),
)
