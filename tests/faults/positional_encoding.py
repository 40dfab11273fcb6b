"""Faults of the chapter on positional encoding: its explorers and its exercises."""

from faults import Fault

EXERCISES = "companion/exercises/positional_encoding"
WIDGETS = "companion/widgets"
HERE = f"{WIDGETS}/positions.py"


def own(test: str) -> tuple[str, ...]:
    return (f"tests/unit/test_exercises_positional_encoding.py::test_{test}",)


def unit(test: str) -> tuple[str, ...]:
    return (f"tests/unit/test_widgets_positional_encoding.py::test_{test}",)


NUMBERS = (
    "tests/site/test_explorers.py::test_an_explorer_in_any_state_shows_what_the_package_gives[positional_encoding]",
)
CONTROLS = ("tests/site/test_explorers.py::test_every_control_changes_what_the_reader_sees[positional_encoding]",)

FAULTS = [
    Fault(
        "the reference encoding has all sines first",
        f"{EXERCISES}/absolute.py",
        "    return _encode(positions, d_model)\n",
        '    return _encode(positions, d_model, order="halves")\n',
        own("the_hand_examples_are_the_first_cases"),
    ),
    Fault(
        "the reference matrix of a step is the one for columns",
        f"{EXERCISES}/absolute.py",
        "    return _matrix(k, d_model)\n",
        "    return _matrix(k, d_model, sign=-1)\n",
        own("the_hand_examples_are_the_first_cases"),
    ),
    Fault(
        "the reference bias counts heads from 0",
        f"{EXERCISES}/distance.py",
        "    return _bias(n_heads, t)\n",
        "    return _bias(n_heads, t, first=0)\n",
        own("the_hand_examples_are_the_first_cases"),
    ),
    Fault(
        "the reference buckets have no last one",
        f"{EXERCISES}/distance.py",
        "    return _sort(distances, buckets, max_distance)\n",
        "    return _sort(distances, buckets, max_distance, cap=False)\n",
        own("the_hand_examples_are_the_first_cases"),
    ),
    Fault(
        "the reference does not shift",
        f"{EXERCISES}/distance.py",
        "    return relative_shift(by_distance).contiguous()\n",
        '    return _windows(by_distance, "same")\n',
        own("the_hand_examples_are_the_first_cases"),
    ),
    Fault(
        "the reference turns with the clock",
        f"{EXERCISES}/rotary.py",
        "    return _turn(x, positions)\n",
        "    return _turn(x, positions, sign=-1)\n",
        own("the_hand_examples_are_the_first_cases"),
    ),
    Fault(
        "the reference sorts the rows of all heads together",
        f"{EXERCISES}/rotary.py",
        "    return w.unflatten(0, (n_heads, -1, 2)).transpose(1, 2).reshape(w.shape)\n",
        "    return torch.cat((w[0::2], w[1::2]))\n",
        own("sorted_rows_give_the_other_layout_the_same_scores"),
    ),
    Fault(
        "the second position of the clocks is before the first",
        HERE,
        "self.position, self.position + self.step]",
        "self.position, self.position - self.step]",
        unit("the_hands_are_the_encodings_of_the_two_positions"),
    ),
    Fault(
        "the key of the rotary figure stands after the query",
        HERE,
        "torch.tensor([self.position, self.position - self.distance])",
        "torch.tensor([self.position, self.position + self.distance])",
        unit("the_rotary_score_knows_the_distance_and_not_the_position"),
    ),
    Fault(
        "the rotary figure takes an odd number of features",
        HERE,
        "len(query) != len(key) or len(query) % 2 or",
        "len(query) != len(key) or",
        unit("a_rotary_explorer_takes_pairs_only"),
        reason=r"DID NOT RAISE|Failed",
    ),
    Fault(
        "a head beyond the last has a slope of its own",
        HERE,
        "alibi_slopes(self.n_heads)[min(self.head, self.n_heads - 1)]",
        "alibi_slopes(self.head + 1)[self.head]",
        unit("the_slope_is_that_of_the_head"),
    ),
    Fault(
        "the buckets are those of a decoder, whatever the switch says",
        HERE,
        "max_distance=self.max_distance, causal=self.causal)",
        "max_distance=self.max_distance, causal=True)",
        unit("the_buckets_are_those_of_the_package"),
    ),
    Fault(
        "the browser's hands turn at the rate of the pair, not twice",
        f"{WIDGETS}/sinusoids.js",
        "10000 ** ((-2 * i) / d)",
        "10000 ** (-i / d)",
        NUMBERS,
    ),
    Fault(
        "the browser's clocks run backwards",
        f"{WIDGETS}/sinusoids.js",
        "(x + (n ? 22 : 29) * Math.sin(angles[n]))",
        "(x - (n ? 22 : 29) * Math.sin(angles[n]))",
        NUMBERS,
    ),
    Fault(
        "the step of the sinusoids is not listened to",
        f"{WIDGETS}/sinusoids.js",
        'view.watch("d_model position step", draw);',
        'view.watch("d_model position", draw);',
        CONTROLS,
    ),
    Fault(
        "the browser pairs neighbours in both layouts",
        f"{WIDGETS}/rotary.js",
        'layout === "half" ? [i, i + pairs] :',
        'layout === "never" ? [i, i + pairs] :',
        NUMBERS,
    ),
    Fault(
        "the browser turns the key by the position of the query",
        f"{WIDGETS}/rotary.js",
        "turn(key, i, p - distance, layout)",
        "turn(key, i, p, layout)",
        NUMBERS,
    ),
    Fault(
        "the product of a pair is printed with the signs of one feature lost",
        f"{WIDGETS}/rotary.js",
        "product: q[0] * k[0] + q[1] * k[1]",
        "product: q[0] * k[0] + Math.abs(q[1] * k[1])",
        NUMBERS,
    ),
    Fault(
        "the browser counts the slopes from 0",
        f"{WIDGETS}/distance_bias.js",
        "2 ** ((-8 * (head + 1)) / n)",
        "2 ** ((-8 * head) / n)",
        NUMBERS,
    ),
    Fault(
        "the browser gives one direction all buckets of T5",
        f"{WIDGETS}/distance_bias.js",
        "causal ? buckets : buckets / 2",
        "causal ? buckets : buckets",
        NUMBERS,
    ),
    Fault(
        "the largest distance of the buckets cannot be chosen",
        f"{WIDGETS}/distance_bias.js",
        'view.watch("n_heads head distance buckets max_distance causal", draw);',
        'view.watch("n_heads head distance buckets causal", draw);',
        CONTROLS,
    ),
]
