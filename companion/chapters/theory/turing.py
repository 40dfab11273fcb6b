"""A Turing machine that runs inside a decoder: one generated token is one step of the machine.

Pérez, Barceló & Marinkovic (2021), with two simplifications: the input is typed by the first tokens, so there is no
encoder, and a key of its own stands for cells that were never visited.

Chapter: book/theory.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import torch
from torch import Tensor

BLANK, TYPING = "_", "typing"
Rule = tuple[str, str, int]
"""Next state, symbol to write, move of the head: -1, 0 or 1."""


@dataclass(frozen=True)
class Machine:
    """A Turing machine: what to do in a state, above a symbol. It halts where no rule fits.

    The head starts on the blank to the right of the input.

    Raises:
        ValueError: the start has no rule, a move is not -1, 0 or 1, or the name of a state is taken.
    """

    start: str
    rules: Mapping[tuple[str, str], Rule]

    def __post_init__(self) -> None:
        """Refuse what is no machine."""
        if not any(state == self.start for state, _ in self.rules):
            raise ValueError(f"the start must have a rule: got {self.start!r}. Take one of {sorted(self.states)}.")
        moves = {move for *_, move in self.rules.values()} - {-1, 0, 1}
        if moves:
            raise ValueError(f"a move is -1, 0 or 1: got {sorted(moves)}. Use more states for a longer way.")
        if TYPING in self.states:
            raise ValueError(f"the state {TYPING!r} is taken: it types the input. Rename yours.")

    @property
    def states(self) -> list[str]:
        """List the states, those without a rule included."""
        return list(dict.fromkeys([*(q for q, _ in self.rules), *(rule[0] for rule in self.rules.values())]))

    @property
    def symbols(self) -> list[str]:
        """List the symbols, the blank first."""
        return list(dict.fromkeys([BLANK, *(s for _, s in self.rules), *(rule[1] for rule in self.rules.values())]))

    def check(self, word: Sequence[str]) -> None:
        """Refuse a word with symbols that the machine does not know.

        Raises:
            ValueError: there is such a symbol.
        """
        strange = sorted(set(word) - set(self.symbols))
        if strange:
            raise ValueError(f"the input has the symbols {strange}, and the machine knows {self.symbols}.")


def simulate(machine: Machine, word: Sequence[str], steps: int) -> list[tuple[str, str]]:
    """Run a machine on a tape, for comparison.

    Args:
        machine: that is run.
        word: the input.
        steps: how many to run at most.

    Returns:
        The state and the symbol under the head before each step; fewer than ``steps + 1`` if the machine halts.

    Raises:
        ValueError: the machine does not know a symbol of the word.
    """
    machine.check(word)
    tape, head, state = dict(enumerate(word)), len(word), machine.start
    trace = [(state, BLANK)]
    while len(trace) <= steps and trace[-1] in machine.rules:
        state, tape[head], move = machine.rules[trace[-1]]
        head += move
        trace.append((state, tape.get(head, BLANK)))
    return trace


class TuringDecoder:
    r"""A decoder of fixed size whose generated tokens are the steps of a Turing machine.

    A token is a state, the symbol under the head, and the move before: ``(q_i, s_i, m_{i-1})``. Three layers make the
    next one. The first is a feed-forward network on one-hot vectors, the table of rules. The second averages the moves,
    which gives the place of the head divided by the number of tokens. The third finds the last token at that place, by
    hard attention with the score :math:`-|q_i \cdot k_j|`, and reads what was written there.
    """

    def __init__(self, machine: Machine, dtype: torch.dtype | None = None) -> None:
        """Set the weights.

        Args:
            machine: that is run.
            dtype: of every number; ``None`` means exact fractions.
        """
        self.machine, self.dtype = machine, dtype
        self.states, self.symbols = [TYPING, *machine.states], machine.symbols
        typing = {(TYPING, symbol): (TYPING, symbol, 1) for symbol in self.symbols}
        self.rules = {**typing, **machine.rules}
        n_q, n_s = len(self.states), len(self.symbols)
        self.w_in = self.numbers(np.zeros((n_q + n_s, len(self.rules)), dtype=int))
        self.w_out = self.numbers(np.zeros((len(self.rules), n_q + n_s + 1), dtype=int))
        for unit, ((state, symbol), (after, written, move)) in enumerate(self.rules.items()):
            self.w_in[self.states.index(state), unit] = self.w_in[n_q + self.symbols.index(symbol), unit] = 1
            self.w_out[unit, self.states.index(after)] = self.w_out[unit, n_q + self.symbols.index(written)] = 1
            self.w_out[unit, -1] = move

    def numbers(self, values: Sequence | np.ndarray) -> Tensor | np.ndarray:
        """Make an array of fractions, or of floating-point numbers of the decoder's type."""
        if self.dtype is None:
            return np.vectorize(Fraction, otypes=[object])(np.asarray(values, dtype=object))
        return torch.as_tensor(np.asarray(values, dtype=float)).to(self.dtype)

    def rule(self, state: str, symbol: str) -> Tensor | np.ndarray:
        """Look up a rule by a feed-forward network: a hidden unit for each rule is 1 if both its inputs are.

        Args:
            state: of the machine.
            symbol: under the head.

        Returns:
            ``(states + symbols + 1,)``: the next state and the written symbol as one-hot vectors, and the move; 0 where
            no rule fits.
        """
        x = [float(q == state) for q in self.states] + [float(s == symbol) for s in self.symbols]
        hidden = (self.numbers(x) @ self.w_in - 1).clip(0)  # ReLU
        return hidden @ self.w_out

    def run(self, word: Sequence[str], steps: int) -> list[tuple[str, str]]:
        """Generate the steps of the machine, one token each.

        Args:
            word: the input.
            steps: how many tokens to generate at most.

        Returns:
            As :func:`simulate`.

        Raises:
            ValueError: the machine does not know a symbol of the word.
        """
        self.machine.check(word)
        n_q = len(self.states)
        tokens = [(TYPING, symbol) for symbol in word] + [(self.machine.start, BLANK)]
        length = len(tokens) + steps
        before, moves = self.numbers(np.zeros(length)), self.numbers(np.zeros(length))  # m_{i-1} and m_i
        keys, values = self.numbers(np.zeros((length + 1, 3))), self.numbers(np.zeros((length + 1, len(self.symbols))))
        keys[0] = self.numbers([0, 0, Fraction(1, 2)])  # the key of cells without a visit,
        values[0, 0] = 1  # and its value, the blank
        for i in range(1, length + 1):
            if tokens[i - 1] not in self.rules:
                break
            out = self.rule(*tokens[i - 1])  # layer 1
            moves[i - 1] = out[-1]
            before[i - 1] = moves[i - 2] if i > 1 else 0
            one, square, third = self.numbers([Fraction(1, i), Fraction(1, i * i), Fraction(1, 3 * i)])
            here, there = before[:i].sum() * one, moves[:i].sum() * one  # layer 2: averages, c_i / i and c_{i+1} / i
            keys[i, 0], keys[i, 1], keys[i, 2] = one, -here, third
            values[i] = out[n_q:-1]
            scores = -abs(keys[: i + 1, 0] * there + keys[: i + 1, 1] * one + keys[: i + 1, 2] * square)  # layer 3
            if i >= len(tokens):
                tokens.append((self.states[int(out[:n_q].argmax())], self._most(scores, values[: i + 1])))
        return tokens[len(word) :][: steps + 1]

    def _most(self, scores: Tensor | np.ndarray, values: Tensor | np.ndarray) -> str:
        """Read a symbol by hard attention: the values with the largest score, averaged where several have it."""
        chosen = values[scores == scores.max()].sum(0)
        return self.symbols[int(chosen.argmax())]


def first_error(got: Sequence, want: Sequence) -> int | None:
    """Give the first step at which two runs differ, the end of one included, or ``None``.

    Args:
        got: one run.
        want: the other.

    Returns:
        The index of the step; ``None`` for equal runs.

    >>> first_error("aab", "abb"), first_error("ab", "ab"), first_error("a", "ab")
    (1, None, 1)
    """
    wrong = (step for step, (one, other) in enumerate(zip(got, want, strict=False)) if one != other)
    return next(wrong, None if len(got) == len(want) else min(len(got), len(want)))


COUNTER = Machine(
    "return",
    {
        ("carry", "1"): ("carry", "0", -1),
        ("carry", "0"): ("return", "1", 1),
        ("carry", BLANK): ("return", "1", 1),
        ("return", "0"): ("return", "0", 1),
        ("return", "1"): ("return", "1", 1),
        ("return", BLANK): ("carry", BLANK, -1),
    },
)
"""Counts upwards in binary, from the number of the input, and never halts."""
BRACKETS = Machine(
    "rewind",
    {
        ("rewind", BLANK): ("rewind-on", BLANK, -1),
        ("rewind-on", "("): ("rewind-on", "(", -1),
        ("rewind-on", ")"): ("rewind-on", ")", -1),
        ("rewind-on", BLANK): ("close", BLANK, 1),
        ("close", "("): ("close", "(", 1),
        ("close", "x"): ("close", "x", 1),
        ("close", ")"): ("open", "x", -1),
        ("close", BLANK): ("check", BLANK, -1),
        ("open", "x"): ("open", "x", -1),
        ("open", "("): ("close", "x", 1),
        ("open", BLANK): ("no", BLANK, 0),
        ("check", "x"): ("check", "x", -1),
        ("check", "("): ("no", "(", 0),
        ("check", BLANK): ("yes", BLANK, 0),
    },
)
"""Tells whether brackets are balanced: crosses out each closing bracket with the last open one before it."""
