"""Faults of `companion.exercises`."""

from faults import Fault

HERE = "companion/exercises"


def exercises(*tests: str) -> tuple[str, ...]:
    return tuple(f"tests/unit/test_exercises.py::test_{test}" for test in tests)


FAULTS = [
    Fault(
        "the checker accepts every answer",
        f"{HERE}/checker.py",
        "        if problem is None:\n",
        "        if True:\n",
        exercises("a_named_mistake_gets_its_own_diagnosis"),
    ),
    Fault(
        "the checker tries the first case only",
        f"{HERE}/checker.py",
        "    cases = exercise.cases()\n",
        "    cases = exercise.cases()[:1]\n",
        exercises("a_named_mistake_gets_its_own_diagnosis"),
    ),
    Fault(
        "the tolerance is 10",
        f"{HERE}/compare.py",
        "torch.float32: 1e-5}",
        "torch.float32: 10.0}",
        exercises("what_differs_is_said"),
    ),
    Fault(
        "the float32 tolerance is wide enough for a mistake",
        f"{HERE}/compare.py",
        "{torch.float64: 1e-8, torch.float32: 1e-5}",
        "{torch.float64: 1e-3, torch.float32: 1e-3}",
        exercises("the_tolerance_is_far_below_the_mildest_mistake", "what_differs_is_said"),
    ),
    Fault(
        "the tolerance is narrower than rounding",
        f"{HERE}/compare.py",
        "torch.float32: 1e-5}",
        "torch.float32: 1e-7}",
        exercises("the_tolerance_is_far_above_rounding"),
    ),
    Fault(
        "NaN counts as equal to a number",
        f"{HERE}/compare.py",
        "torch.allclose(got, want, rtol=0.0, atol=allowed, equal_nan=True)",
        "torch.allclose(got.nan_to_num(0.0), want.nan_to_num(0.0), rtol=0.0, atol=allowed)",
        exercises("a_named_mistake_gets_its_own_diagnosis"),
    ),
    Fault(
        "the shape is not compared",
        f"{HERE}/compare.py",
        "    if got.shape != want.shape:\n",
        "    if got.numel() != want.numel():\n",
        exercises("what_differs_is_said"),
    ),
    Fault(
        "the dtype is not compared",
        f"{HERE}/compare.py",
        "    if got.dtype != want.dtype:\n",
        "    got = got.to(want.dtype)\n    if got.dtype != want.dtype:\n",
        exercises("what_differs_is_said"),
    ),
    Fault(
        "a change in place goes unseen",
        f"{HERE}/checker.py",
        "        if not _unchanged(before, after):\n",
        "        if False:\n",
        exercises("an_argument_changed_in_place_is_named"),
    ),
    Fault(
        "all functions share the arguments of a case",
        f"{HERE}/checker.py",
        "    arguments = copy.deepcopy(case.arguments)\n    try:",
        "    arguments = case.arguments\n    try:",
        exercises("arguments_reach_each_call_fresh"),
    ),
    Fault(
        "of two mistakes that explain an answer the first is named",
        f"{HERE}/checker.py",
        "    return best[0] if len(best) == 1 else None\n",
        "    return best[0] if best else None\n",
        exercises("two_mistakes_that_explain_the_answer_equally_are_not_named"),
    ),
    Fault(
        "a mistake is named though the answer is right where it fails",
        f"{HERE}/checker.py",
        "        if passes and wrong:\n",
        "        if False:\n",
        exercises("a_mistake_is_not_named_for_an_answer_that_is_right_where_the_mistake_fails"),
    ),
    Fault(
        "one agreement is enough for a diagnosis",
        f"{HERE}/checker.py",
        "min(2, len(same))",
        "1",
        exercises("one_agreement_among_several_failures_names_nothing"),
    ),
    Fault(
        "errors alone are enough for a diagnosis",
        f"{HERE}/checker.py",
        " and (values or all(same))",
        "",
        exercises("the_same_error_on_the_same_shapes_is_the_same_mistake"),
    ),
    Fault(
        "a second way to make a mistake is not tried",
        f"{HERE}/checker.py",
        "for function in (mistake.function, *mistake.also):",
        "for function in (mistake.function,):",
        exercises("a_named_mistake_gets_its_own_diagnosis"),
    ),
    Fault(
        "two diagnoses are swapped",
        f"{HERE}/attention/scores.py",
        edit=lambda text: (
            text.replace("query @ key.mT,", "SWAP")
            .replace("query @ key.mT / key.shape[-1],", "query @ key.mT,")
            .replace("SWAP", "query @ key.mT / key.shape[-1],")
        ),
        tests=exercises("a_mistake_is_recognised_when_written_differently"),
    ),
    Fault(
        "the reference leaves out the scale",
        f"{HERE}/attention/forward.py",
        "scores = query @ key.transpose(-2, -1) / math.sqrt(key.shape[-1])\n    if mask",
        "scores = query @ key.transpose(-2, -1)\n    if mask",
        exercises("the_hand_examples_are_the_first_cases"),
    ),
    Fault(
        "the reference backward forgets the average of the row",
        f"{HERE}/attention/backward.py",
        "weights * (d_weights - (weights * d_weights).sum(dim=-1, keepdim=True))",
        "weights * d_weights",
        exercises("the_hand_examples_are_the_first_cases"),
    ),
    Fault(
        "no case has a query with no key",
        f"{HERE}/attention/weights.py",
        "    row[1] = sentence[0] = False\n",
        "",
        exercises("a_named_mistake_gets_its_own_diagnosis"),
    ),
    Fault(
        "the debugging drill never has as many sentences as tokens",
        f"{HERE}/attention/forward.py",
        "batch(1, 2, 3, t=3, dtype=F64)",
        "batch(1, 2, t=3, dtype=F64)",
        exercises("cases_hold_what_the_exercise_says_it_tested"),
    ),
    Fault(
        "the hints open in the wrong order",
        f"{HERE}/hints.py",
        "range(len(self._hints), 0, -1)",
        "range(1, len(self._hints) + 1)",
        exercises("hints_open_one_after_the_other"),
    ),
    Fault(
        "the hints are open from the start",
        f"{HERE}/hints.py",
        "<details>{summary}",
        "<details open>{summary}",
        exercises("hints_open_one_after_the_other"),
    ),
    Fault(
        "hints are not escaped",
        f"{HERE}/hints.py",
        "html.escape(text)",
        "text",
        exercises("hints_are_escaped"),
    ),
    Fault(
        "a stub raises",
        f"{HERE}/checker.py",
        "        if number == 1 and _is_stub(outcome, function):\n",
        "        if False:\n",
        exercises("a_stub_is_not_answered_yet"),
        reason=r"WrongAnswer",
    ),
    Fault(
        "a solution counts as the reader's",
        f"{HERE}/catalogue.py",
        "    if not wanted:\n        return\n",
        "",
        exercises("record_false_leaves_no_trace"),
    ),
    Fault(
        "a wrong answer takes a solved exercise back",
        f"{HERE}/progress.py",
        "        self._states = _merge(self._states, {name: state})\n",
        "        self._states = self._states | {name: state}\n",
        exercises("a_solved_exercise_stays_solved"),
    ),
    Fault(
        "keeping progress overwrites the file",
        f"{HERE}/progress.py",
        "        states = _merge(_read(path), self._states)\n",
        "        states = self._states\n",
        exercises("progress_is_joined_with_the_file_and_never_goes_back"),
    ),
    Fault(
        "a broken progress file hides the verdict",
        f"{HERE}/catalogue.py",
        "    except (OSError, ValueError) as error:",
        "    except OSError as error:",
        exercises("a_file_that_breaks_later_does_not_hide_the_verdict"),
        reason=r"ValueError|AssertionError",
    ),
]
