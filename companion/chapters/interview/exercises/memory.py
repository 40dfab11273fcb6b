"""Drill on the memory of training: ``training-memory``."""

from companion.practice.definition import Case, Edit, Exercise, Mistake


def _training_memory(frozen: int, trained: int, mixed: bool) -> tuple[int, int, int]:
    size = 2 if mixed else 4
    weights = (frozen + trained) * size
    gradients = trained * size
    means = trained * 8  # two in float32
    copies = trained * 4 if mixed else 0  # in float32
    return weights, gradients, means + copies


def _memory_cases() -> list[Case]:
    return [
        Case((0, 1, True), "the example"),
        Case((0, 10, False), "float32 throughout"),
        Case((100, 3, True), "most of it frozen"),
        Case((7, 5, False), "float32, a part frozen"),
        Case((0, 7_000_000_000, True), "seven billion"),
        Case((7_000_000_000, 4_194_304, True), "seven billion frozen and a small adapter"),
        Case((5, 0, False), "nothing trained"),
        Case((124_000_000, 1_000_000, False)),
        Case((2**53 + 1, 2, True), "more than a float can count"),
        Case((2**62 + 1, 2**62 + 3, True), "more than 64 bits can count"),
        Case((2**62 + 1, 2**62 + 3, False), "float32, more than 64 bits can count"),
    ]


TRAINING_MEMORY = Exercise(
    name="training-memory",
    title="Count the bytes of a training run",
    chapter="exercises",
    level=1,
    place=20,
    minutes=10,
    topic="complexity",
    same_dtype=True,
    reference=_training_memory,
    cases=_memory_cases,
    tested="float32 and mixed precision, nothing frozen, most of it and all, numbers beyond 2**53 and 2**63",
    returns=("weights", "gradients", "optimiser"),
    hints=(
        "Go through the three groups one after the other. Which of them does a frozen parameter belong to?",
        "Every parameter has a weight. Only trained ones have a gradient and a state of the optimiser. Adam keeps two "
        "running means for each.",
        "Mixed precision has 2 bytes for weights and gradients, and puts a float32 copy of each trained weight beside "
        "the two running means. Without it everything has 4 bytes, and there is no copy.",
    ),
    mistakes=(
        Mistake(
            "no-float32-copy",
            Edit("means + copies", "means"),
            "In mixed precision the optimiser works on a float32 copy of the trained weights. It is missing.",
        ),
        Mistake(
            "frozen-have-gradients",
            Edit("gradients = trained", "gradients = (frozen + trained)"),
            "You count gradients of frozen parameters. They have none.",
        ),
        Mistake(
            "frozen-are-optimised",
            (
                Edit("means = trained", "means = (frozen + trained)"),
                Edit("copies = trained", "copies = (frozen + trained)"),
            ),
            "The optimiser keeps nothing for a frozen parameter.",
        ),
        Mistake(
            "one-moment",
            Edit("trained * 8", "trained * 4"),
            "Adam keeps two running means: one of the gradients, one of their squares.",
        ),
        Mistake(
            "copy-of-all",
            Edit("copies = trained", "copies = (frozen + trained)"),
            "You count a float32 copy of frozen weights as well. They never change, so the 2 bytes are enough.",
        ),
        Mistake(
            "full-weights",
            Edit("(frozen + trained) * size", "(frozen + trained) * 4"),
            "In mixed precision the weights of the passes have 2 bytes each.",
        ),
        Mistake(
            "copy-without-mixed-precision",
            Edit("trained * 4 if mixed else 0", "trained * 4"),
            "Without mixed precision the weights are float32 already: there is no copy.",
        ),
        Mistake(
            "frozen-weights-left-out",
            Edit("(frozen + trained) * size", "trained * size"),
            "You left out the frozen weights. The passes use them too.",
        ),
        Mistake(
            "full-gradients",
            Edit("trained * size", "trained * 4"),
            "In mixed precision gradients have 2 bytes each.",
        ),
        Mistake(
            "copy-among-the-weights",
            (Edit("return weights,", "return weights + copies,"), Edit("means + copies", "means")),
            "You count the float32 copy among the weights of the passes. It belongs to the optimiser's state.",
        ),
        Mistake(
            "counted-in-floats",
            lambda frozen, trained, mixed: tuple(int(float(part)) for part in _training_memory(frozen, trained, mixed)),
            "Your numbers went through a float, which has 53 bits. Count in whole numbers of Python.",
        ),
    ),
)
