"""Faults of the explorers on training."""

from faults import Fault

HERE = "companion/widgets/training.py"
SCHEDULE = "companion/widgets/schedule.js"
ADAM = "companion/widgets/adam_steps.js"
CLINIC = "companion/widgets/curve_clinic.js"


def unit(test: str) -> tuple[str, ...]:
    return (f"tests/unit/test_widgets_training.py::test_{test}",)


NUMBERS = ("tests/site/test_explorers.py::test_an_explorer_in_any_state_shows_what_the_package_gives[training]",)
CONTROLS = ("tests/site/test_explorers.py::test_every_control_changes_what_the_reader_sees[training]",)

FAULTS = [
    Fault(
        "the schedule of the cosine is that of the root",
        HERE,
        'if self.kind == "root":',
        "if self.kind:",
        unit("the_schedule_is_the_packages"),
    ),
    Fault(
        "the marks leave the end out",
        HERE,
        "self.total // 2, self.total})",
        "self.total // 2})",
        unit("the_schedule_is_the_packages"),
    ),
    Fault(
        "a mark can be step 0",
        HERE,
        "max(1, self.warmup // 2)",
        "self.warmup // 2",
        unit("a_warm_up_of_one_step_is_marked_once"),
    ),
    Fault(
        "the mean of the squares is corrected by the first beta",
        HERE,
        "v / (1 - self.beta_2**t)",
        "v / (1 - self.beta_1**t)",
        unit("the_steps_are_those_of_torch"),
    ),
    Fault(
        "the correction counts from zero",
        HERE,
        "enumerate(self.gradients, start=1)",
        "enumerate(self.gradients, start=2)",
        unit("the_steps_are_those_of_torch"),
    ),
    Fault(
        "the correction cannot be left out",
        HERE,
        "m / (1 - self.beta_1**t) if self.correct else m",
        "m / (1 - self.beta_1**t)",
        unit("the_first_step_is_the_rate_and_without_the_correction_it_is_not"),
    ),
    Fault(
        "a gradient may be zero",
        HERE,
        "or 0 in list(gradients)",
        "",
        unit("adam_takes_two_to_eight_gradients_that_are_not_zero"),
    ),
    Fault(
        "curves of different length are taken",
        HERE,
        'len(given["train"]) != len(given["new"]) or',
        "",
        unit("the_clinic_refuses_curves_that_do_not_fit"),
    ),
    Fault(
        "any guess is right",
        HERE,
        'return self.guess == self.curves[self.curve]["cause"]',
        "return self.guess >= 0",
        unit("the_clinic_keeps_its_curves_and_knows_the_right_answer"),
    ),
    Fault(
        "the curve may lie outside",
        HERE,
        "if not 0 <= curve < len(curves) or",
        "if",
        unit("the_clinic_names_what_is_missing_and_places_that_do_not_exist"),
    ),
    Fault("the page's warm-up is too steep", SCHEDULE, "step * w ** -1.5", "step / w", NUMBERS),
    Fault(
        "the page's cosine begins at step 0",
        SCHEDULE,
        '(step - w) / (view.get("total") - w)',
        'step / view.get("total")',
        NUMBERS,
    ),
    Fault("the page's share of the peak is one", SCHEDULE, "num(rate(step) / top, 3)", "num(1, 3)", NUMBERS),
    Fault("the page's second mean is not squared", ADAM, "(1 - b2) * g * g", "(1 - b2) * Math.abs(g)", NUMBERS),
    Fault("the page corrects by the step before", ADAM, "m / (1 - b1 ** (k + 1))", "m / (1 - b1 ** (k + 2))", NUMBERS),
    Fault("the page ignores the factor", ADAM, "gradient * factor", "gradient", NUMBERS),
    Fault("the switch of the correction does nothing", ADAM, "correct ? [m / (1", "true ? [m / (1", CONTROLS),
    Fault("the page takes every guess for right", CLINIC, "guess === curve.cause ? `Yes", "true ? `Yes", NUMBERS),
    Fault("losses are not cut at the top", CLINIC, "Math.min(loss, top) / top", "loss / top", NUMBERS),
    Fault("the menu of faults does nothing", CLINIC, 'view.watch("guess", speak);', "", CONTROLS),
]
