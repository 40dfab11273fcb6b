"""The decoder that runs a Turing machine, against a direct simulation."""

import itertools
from fractions import Fraction

import pytest
import torch

from companion.chapters.theory.turing import (
    BLANK,
    BRACKETS,
    COUNTER,
    TYPING,
    Machine,
    TuringDecoder,
    first_error,
    simulate,
)


def balanced(word):
    depth = 0
    for symbol in word:
        depth += 1 if symbol == "(" else -1
        if depth < 0:
            return False
    return depth == 0


def test_the_counter_counts():
    """Closed form: each time the head is back at the right end, the tape holds the next number."""
    trace, tape, head, numbers = simulate(COUNTER, "101", 400), dict(enumerate("101")), 3, []
    for state, symbol in trace:
        if (state, symbol) == ("return", BLANK):
            numbers.append(int("".join(tape[cell] for cell in sorted(tape) if tape[cell] != BLANK), 2))
        _, tape[head], move = COUNTER.rules[state, symbol]
        head += move
    assert numbers == list(range(5, 5 + len(numbers)))
    assert len(numbers) > 50


@pytest.mark.parametrize("length", [0, 2, 3, 4, 6])
def test_the_brackets_that_are_balanced_are_told_from_the_others(length):
    for word in map("".join, itertools.product("()", repeat=length)):
        trace = simulate(BRACKETS, word, 500)
        assert trace[-1] not in BRACKETS.rules
        assert trace[-1][0] == ("yes" if balanced(word) else "no")


def test_the_decoder_with_fractions_takes_the_steps_of_the_machine():
    for machine, word, steps in ((COUNTER, "0", 250), (COUNTER, "1011", 60), (BRACKETS, "(()())()", 500)):
        assert TuringDecoder(machine).run(word, steps) == simulate(machine, word, steps)


def test_the_decoder_runs_machines_drawn_at_random():
    """Property: any table, moves of 0 included, until it halts or for 60 steps."""
    generator = torch.Generator().manual_seed(0)

    def draw(options):
        return options[int(torch.randint(len(options), (), generator=generator))]

    for _ in range(12):
        states, symbols = ["a", "b", "c"], [BLANK, "0", "1"]
        rules = {pair: (draw(states), draw(symbols), draw([-1, 0, 1])) for pair in itertools.product(states, symbols)}
        machine = Machine("a", rules)
        word = [draw(["0", "1"]) for _ in range(5)]
        assert TuringDecoder(machine).run(word, 60) == simulate(machine, word, 60)


def test_sixteen_bits_fail_within_two_hundred_steps_and_sixty_four_do_not():
    want = simulate(COUNTER, "0", 1000)
    assert first_error(TuringDecoder(COUNTER, torch.float64).run("0", 1000), want) is None
    for dtype in (torch.float16, torch.bfloat16):
        assert 20 < first_error(TuringDecoder(COUNTER, dtype).run("0", 1000), want) < 200


def test_float32_fails_sooner_the_farther_the_head_is_from_the_first_cell():
    found = []
    for zeros in (50, 100):
        want = simulate(COUNTER, "0" * zeros, 600)
        found.append(first_error(TuringDecoder(COUNTER, torch.float32).run("0" * zeros, 600), want))
    assert found[0] > found[1] > 100


def test_the_first_layer_is_the_table_and_gives_nothing_where_no_rule_fits():
    decoder = TuringDecoder(COUNTER)
    n_q = len(decoder.states)
    out = decoder.rule("carry", "1")
    assert decoder.states[int(out[:n_q].argmax())] == "carry"
    assert decoder.symbols[int(out[n_q:-1].argmax())] == "0"
    assert out[-1] == Fraction(-1)
    assert sum(out[:-1]) == 2
    halting = TuringDecoder(BRACKETS)
    assert not any(halting.rule("yes", BLANK))


def test_several_largest_scores_share_the_weight():
    """By hand: two of three keys tie, and the values of both are counted."""
    decoder = TuringDecoder(COUNTER)
    values = decoder.numbers([[0, 3, 0], [0, 0, 2], [0, 0, 2]])
    assert decoder._most(decoder.numbers([-1, -1, -1]), values) == decoder.symbols[2]
    assert decoder._most(decoder.numbers([-1, -2, -1]), values) == decoder.symbols[1]


@pytest.mark.usefixtures("shape_checks_off")
def test_machines_and_words_that_do_not_fit_are_refused():
    rules = COUNTER.rules
    with pytest.raises(ValueError, match=r"the start must have a rule: got 'stop'. Take one of \['carry', 'return'\]"):
        Machine("stop", rules)
    with pytest.raises(ValueError, match=r"a move is -1, 0 or 1: got \[2\]. Use more states"):
        Machine("a", {("a", "0"): ("a", "0", 2)})
    with pytest.raises(ValueError, match=r"the state 'typing' is taken: it types the input. Rename yours"):
        Machine(TYPING, {(TYPING, "0"): (TYPING, "0", 1)})
    for run in (simulate, lambda machine, word, steps: TuringDecoder(machine).run(word, steps)):
        with pytest.raises(
            ValueError, match=r"the input has the symbols \['2'\], and the machine knows \['_', '1', '0'\]"
        ):
            run(COUNTER, "102", 5)


def test_an_end_that_comes_too_early_is_an_error():
    assert first_error("aab", "abb") == 1
    assert first_error("ab", "ab") is None
    assert first_error("a", "ab") == first_error("ab", "a") == 1
