"""Faults of the drills of interviews: references, limits, code to repair, and the list of all drills."""

from faults import Fault

HERE = "companion/exercises"
DRILLS = f"{HERE}/drills"
REPAIR = f"{HERE}/debugging"
WRONG = r"WrongAnswer|AssertionError|IndexError|Failed: DID NOT RAISE"


def drills(*tests: str) -> tuple[str, ...]:
    return tuple(f"tests/unit/test_exercises_drills.py::test_{test}" for test in tests)


EXAMPLES = drills("the_hand_examples_are_the_first_cases")
METER = drills("the_meter_counts_what_is_made_held_and_multiplied")
BORDER = drills("an_answer_at_the_border_passes_and_one_beyond_it_does_not")
GIVEN = drills("code_as_given_is_not_answered_and_the_same_fault_written_differently_is_named")

FAULTS = [
    Fault(
        "the reference of grouped-query attention repeats the key heads in turn",
        f"{DRILLS}/layers.py",
        'if how == "tiled":',
        'if how == "right":',
        drills("grouped_query_attention_is_the_layer_of_the_package"),
    ),
    Fault(
        "the reference of the encoder block is post-norm",
        f"{DRILLS}/blocks.py",
        'if how == "post-norm":',
        'if how == "right":',
        drills("the_encoder_block_is_that_of_torch"),
    ),
    Fault(
        "the reference of top-p drops the token that crosses",
        f"{DRILLS}/sampling.py",
        'if how == "crossing dropped" else before < p',
        'if how != "crossing" else before < p',
        EXAMPLES,
    ),
    Fault(
        "the reference of a beam step ranks without the penalty",
        f"{DRILLS}/search.py",
        '(0.0 if how == "no penalty" else alpha)',
        "(0.0 * alpha)",
        drills("the_penalty_of_a_beam_is_that_of_the_package"),
    ),
    Fault(
        "the reference of a speculative step draws from the target after a refusal",
        f"{DRILLS}/search.py",
        'or how == "target itself":',
        'or how == "right":',
        drills("a_speculative_step_writes_with_the_probabilities_of_the_target"),
    ),
    Fault(
        "the reference of masked tokens replaces the share that should stay",
        f"{DRILLS}/objectives.py",
        "(action >= 0.8) & (action < 0.9)",
        "action >= 0.8",
        drills("tokens_are_corrupted_in_the_shares_of_the_paper"),
    ),
    Fault(
        "bits per byte are bits per token",
        f"{DRILLS}/objectives.py",
        "bits = total / n_bytes / nat",
        "bits = mean / nat",
        drills("bits_per_byte_do_not_depend_on_the_tokens"),
    ),
    Fault(
        "the reference with checkpoints forgets the slope",
        f"{DRILLS}/checkpoints.py",
        'if how == "no slope" else d * slope',
        'if how != "slope" else d * slope',
        drills("the_gradients_with_checkpoints_are_those_of_autograd"),
    ),
    Fault(
        "the reference of AdamW decays without the rate",
        f"{DRILLS}/updates.py",
        'if how == "no rate" else',
        'if how != "rate" else',
        EXAMPLES,
    ),
    Fault(
        "the long window has no limit",
        f"{DRILLS}/tiles.py",
        "work=30 * t * size * width) if t >= LONG else",
        "work=30 * t * size * width) if t >= 1000 else",
        drills("a_costly_answer_is_refused_with_what_it_used_and_what_is_allowed"),
        reason=WRONG,
    ),
    Fault(
        "the limit of the tiles is so narrow that the solution fails",
        f"{DRILLS}/tiles.py",
        "Limits(held=8 * t * width)",
        "Limits(held=4 * t * width)",
        drills("the_limits_lie_between_the_solution_and_the_costly_way"),
        reason=WRONG,
    ),
    Fault(
        "costs are not looked at",
        f"{HERE}/checker.py",
        "if found else outcome.excess",
        "if found else None",
        drills("a_costly_answer_is_refused_with_what_it_used_and_what_is_allowed"),
    ),
    Fault(
        "an answer at the border is refused",
        f"{HERE}/limits.py",
        "if used > allowed",
        "if used >= allowed",
        BORDER,
        reason=WRONG,
    ),
    Fault(
        "a view counts as a new tensor",
        f"{HERE}/limits.py",
        "else {x.untyped_storage()._cdata for x in given}",
        "else set()",
        METER,
    ),
    Fault(
        "a multiply-add counts twice",
        f"{HERE}/limits.py",
        "out_val=result) // 2",
        "out_val=result)",
        METER,
    ),
    Fault(
        "tensors that are let go still count as held",
        f"{HERE}/limits.py",
        "        self._alive.pop(key, None)\n",
        "        self._alive[-len(self._alive) - 1] = self._alive.pop(key)\n",
        drills("what_is_let_go_is_not_held"),
    ),
    Fault(
        "the bill is not printed",
        f"{HERE}/catalogue.py",
        "if text := bill(exercise, outcomes):",
        "if (text := bill(exercise, outcomes)) and False:",
        drills("a_right_answer_with_limits_prints_its_bill"),
        reason=r"IndexError|AssertionError",
    ),
    Fault(
        "a stream can be read twice",
        f"{HERE}/draw.py",
        "        self._read = True\n",
        "",
        drills("a_stream_is_read_once_and_in_chunks"),
    ),
    Fault(
        "code as given is marked as a wrong answer",
        f"{HERE}/checker.py",
        "    if is_as_given(exercise.broken, function):\n",
        "    if False:\n",
        GIVEN,
        reason=WRONG,
    ),
    Fault(
        "the broken cache begins its positions where it should",
        f"{REPAIR}/decoding.py",
        "h = h + positions[: len(h)]",
        "h = h + positions[i : i + 1]",
        GIVEN,
    ),
    Fault(
        "the broken loop clears its gradient",
        f"{REPAIR}/training.py",
        "        errors = (batch @ w - wanted) ** 2\n",
        "        errors, w.grad = (batch @ w - wanted) ** 2, None\n",
        GIVEN,
    ),
    Fault(
        "a stub is another code than the package hands over",
        f"{REPAIR}/layers.py",
        "deviation = x.std(dim=0, keepdim=True)",
        "deviation = x.std(dim=0, keepdim=True, correction=1)",
        ("tests/notebooks/test_chapter_exercises.py::test_each_exercise_has_stub_hints_and_solution",),
    ),
    Fault(
        "any code passes for the code as given",
        "tests/notebooks/test_chapter_exercises.py",
        "return statements(source) == broken",
        "return True",
        (
            "tests/notebooks/test_chapter_exercises.py"
            "::test_a_stub_that_is_the_broken_code_is_let_through_and_no_other_code",
        ),
    ),
    Fault(
        "another name of an argument passes for the code as given",
        f"{HERE}/broken.py",
        '", ".join(names)',
        '""',
        drills("code_is_as_given_whatever_its_name_comments_and_annotations"),
    ),
    Fault(
        "the list is not sorted by tier",
        f"{HERE}/plan.py",
        "key=lambda pair: (pair[0], order",
        "key=lambda pair: (0, order",
        drills("the_list_goes_by_tier_and_then_through_the_book"),
    ),
    Fault(
        "a drill without a tier falls out of its thirds",
        f"{HERE}/plan.py",
        "1 + group.index(exercise) * len(TIERS) // len(group)",
        "1",
        drills("each_drill_that_has_no_tier_gets_one_from_its_place"),
    ),
    Fault(
        "the list links to no exercise",
        f"{HERE}/plan.py",
        "`exr-{s.exercise.name}`",
        "`{s.exercise.name}`",
        drills("a_list_is_a_table_with_links_and_plain_text_with_names"),
    ),
    Fault(
        "the drills of the new page are left out of the list",
        f"{HERE}/catalogue.py",
        "for step in steps(CHAPTERS) if",
        "for step in steps(CHAPTERS[:-2]) if",
        drills("the_book_has_forty_drills_or_more_in_three_tiers"),
    ),
    Fault(
        "no scores of the tiles are far apart, so that the shift is not needed",
        f"{DRILLS}/tiles.py",
        "query = 3e3 * draw",
        "query = 3.0 * draw",
        drills("a_mistake_is_recognised_when_written_differently"),
        reason=WRONG,
    ),
    Fault(
        "no gradient is small enough to show where epsilon stands",
        f"{DRILLS}/updates.py",
        "1e-6 * one",
        "1.0 * one",
        ("tests/unit/test_exercises.py::test_a_named_mistake_gets_its_own_diagnosis",),
        reason=WRONG,
    ),
]
