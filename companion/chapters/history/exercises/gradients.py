"""Exercises on gradients through time: ``product-norms`` and ``rnn-backward``."""

import torch
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs

F32 = torch.float32


def _products(jacobians: Tensor) -> list[Tensor]:
    product = torch.eye(jacobians.shape[-1], dtype=jacobians.dtype)
    found = []
    for jacobian in jacobians:
        product = jacobian @ product
        found.append(product)
    return found


def _product_norms(jacobians: Tensor) -> Tensor:
    return torch.stack([torch.linalg.matrix_norm(product, 2) for product in _products(jacobians)])


def _of_each(jacobians: Tensor) -> Tensor:
    return torch.linalg.matrix_norm(jacobians, 2).cumprod(0)


def _determinants(jacobians: Tensor) -> Tensor:
    return torch.linalg.det(jacobians).abs().cumprod(0)


def _norms_cases() -> list[Case]:
    draw = RandomInputs(75)
    turns = torch.tensor([[[0.0, 2.0], [0.0, 0.0]], [[0.0, 0.0], [3.0, 0.0]]], dtype=torch.float64)
    return [
        Case((turns,), "the example"),
        Case((draw.normal(1, 3, 3),), "one step"),
        Case((draw.normal(2, 2, 2),), "two steps"),
        Case((draw.normal(5, 3, 3, dtype=F32, scale=0.5),)),
        Case((draw.normal(7, 4, 4, scale=0.4),), "seven steps"),
        Case((draw.normal(4, 1, 1),), "one unit"),
        Case((draw.normal(2, 3, 3, scale=1e3),), "numbers near a thousand"),
        Case((torch.tensor([[[1.0, -1.0], [0.0, 0.0]]], dtype=torch.float64),), "rows that sum to 0"),
        Case((torch.full((7, 1, 1), 1e3, dtype=F32),), "a gradient that explodes"),
    ]


PRODUCT_NORMS = Exercise(
    name="product-norms",
    title="Follow the norm of a gradient",
    chapter="history",
    level=2,
    place=5,
    reference=_product_norms,
    cases=_norms_cases,
    tested="one step, one unit, matrices that do not commute, rows that sum to 0, a norm of 1e21, both dtypes",
    hints=(
        "The derivative after two steps is a product of two matrices. Which of them stands on the left?",
        "Build the products one by one, and take the largest singular value of each.",
        "Begin with the identity. Multiply it by each new Jacobian from the left; torch.linalg.matrix_norm with ord 2 "
        "gives the largest singular value.",
    ),
    mistakes=(
        Mistake(
            "wrong-side",
            Edit("jacobian @ product", "product @ jacobian", of=_products),
            "You put the later Jacobian on the right. The chain rule puts it on the left.",
        ),
        Mistake(
            "norm-of-each",
            _of_each,
            "You multiplied the norms of the single matrices. That is the bound, not the norm of the product.",
        ),
        Mistake(
            "eigenvalues",
            Edit("torch.linalg.matrix_norm(product, 2)", "torch.linalg.eigvals(product).abs().max()"),
            "You took eigenvalues. The most a matrix lengthens a vector is a singular value.",
        ),
        Mistake("determinants", _determinants, "You multiplied determinants. They measure volumes, not lengths."),
        Mistake(
            "frobenius",
            Edit("torch.linalg.matrix_norm(product, 2)", "product.norm()"),
            "You took the root of the sum of all squares. Asked for is the largest singular value.",
        ),
        Mistake(
            "largest-entry",
            Edit("torch.linalg.matrix_norm(product, 2)", "product.abs().max()"),
            "You took the largest entry. Asked for is the largest singular value.",
        ),
    ),
)


def _rnn_backward(states: Tensor, w_h: Tensor, gradient: Tensor) -> Tensor:
    found = [gradient]
    for h in reversed(states[1:]):
        found.append((found[-1] * (1 - h**2)) @ w_h)
    return torch.stack(found[::-1])


def _backward_cases() -> list[Case]:
    draw = RandomInputs(76)

    def case(t: int, d: int, note: str = "", dtype: torch.dtype = torch.float64, scale: float = 1.0) -> Case:
        states = draw.normal(t, d, dtype=dtype).tanh()
        return Case((states, draw.normal(d, d, dtype=dtype), draw.normal(d, dtype=dtype, scale=scale)), note)

    by_hand = ([[0.0], [0.5]], [[2.0]], [4.0])
    return [
        Case(tuple(torch.tensor(rows, dtype=torch.float64) for rows in by_hand), "the example"),
        case(1, 3, "one step"),
        case(2, 2, "two steps"),
        case(5, 3, dtype=F32),
        case(7, 4, "seven steps"),
        case(3, 5, "a gradient near a thousand", scale=1e3),
        case(4, 1, "one unit"),
    ]


RNN_BACKWARD = Exercise(
    name="rnn-backward",
    title="Go backward through time",
    chapter="history",
    level=3,
    place=7,
    reference=_rnn_backward,
    cases=_backward_cases,
    tested="one step, seven steps, a matrix that is not symmetric, both dtypes",
    hints=(
        "The gradient with respect to the last state is given. What does the chain rule need to go one step back?",
        "Through tanh first: its derivative is known from the state after the step. Then through the matrix.",
        "Multiply the gradient by 1 - h^2, with h the state after the step, and the resulting row by w_h. Repeat, and "
        "put the results in the order of the steps.",
    ),
    mistakes=(
        Mistake("no-slope", Edit(" * (1 - h**2)", ""), "You left out the derivative of tanh, 1 - h^2."),
        Mistake(
            "not-transposed",
            Edit("(found[-1] * (1 - h**2)) @ w_h", "w_h @ (found[-1] * (1 - h**2))"),
            "Going back, a row is multiplied by w_h, or a column by its transpose.",
        ),
        Mistake(
            "earlier-slope",
            Edit("states[1:]", "states[:-1]"),
            "You took 1 - h^2 from the state before the step, not from that after it.",
        ),
        Mistake(
            "slope-after",
            Edit("(found[-1] * (1 - h**2)) @ w_h", "(found[-1] @ w_h) * (1 - h**2)"),
            "You went through the matrix before tanh. Backward, tanh comes first.",
        ),
        Mistake(
            "from-the-front",
            Edit("found[::-1]", "found"),
            "Your gradients stand in the order of computing. Row 0 is the first.",
        ),
        Mistake(
            "tanh-twice",
            Edit("1 - h**2", "1 - h.tanh() ** 2"),
            "You took tanh of the states again. They have passed it already: its derivative is 1 - h^2.",
        ),
        Mistake(
            "slope-not-squared",
            Edit("1 - h**2", "1 - h"),
            "The derivative of tanh is 1 - h^2; you left the square out.",
        ),
    ),
)
