"""The exercise on counting a model's parameters: ``count-parameters``."""

from companion.practice.definition import Case, Edit, Exercise, Mistake


def _count(vocab: int, d_model: int, n_layers: int, d_ff: int) -> int:
    attention = 4 * d_model * d_model + 4 * d_model
    network = 2 * d_model * d_ff + d_ff + d_model
    norm = 2 * d_model
    encoder = attention + network + 2 * norm
    decoder = 2 * attention + network + 3 * norm
    return vocab * d_model + n_layers * (encoder + decoder)


COUNT_PARAMETERS = Exercise(
    name="count-parameters",
    title="Count the parameters",
    chapter="architecture",
    level=2,
    place=5,
    minutes=25,
    reference=_count,
    cases=lambda: [
        Case((10, 2, 1, 4), "the example"),
        Case((11, 4, 1, 8)),
        Case((13, 3, 2, 12)),
        Case((5, 1, 4, 1), "width 1"),
        Case((7, 6, 3, 5), "a hidden layer narrower than the model"),
        Case((37_000, 512, 6, 2048), "the base model"),
        Case((32_000, 1024, 6, 4096), "the big model"),
        Case((7, 2**20 + 1, 999, 2**22 + 1), "more than a float holds to the unit"),
    ],
    tested="the example, a narrow hidden layer, the base and the big model, numbers beyond 2^53",
    hints=(
        "Count one attention, one network and one normalisation first. Then ask how many of each an encoder layer "
        "and a decoder layer have.",
        "A matrix from width a to width b has a times b numbers and a bias of b. An attention has four square ones, a "
        "network two. A normalisation has two numbers for each feature.",
        "Per layer of both stacks together: three attentions, two networks, five normalisations. The embedding is "
        "counted once, because source, target and output share it.",
    ),
    mistakes=(
        Mistake(
            "untied",
            Edit("vocab * d_model +", "3 * vocab * d_model +"),
            "You counted the embedding three times. Source, target and output share one table.",
        ),
        Mistake(
            "two-tables",
            Edit("vocab * d_model +", "2 * vocab * d_model +"),
            "You counted two tables. Source, target and output share one.",
        ),
        Mistake(
            "no-biases",
            (Edit(" + 4 * d_model", ""), Edit(" + d_ff + d_model", "")),
            "The biases of the linear maps are missing.",
        ),
        Mistake(
            "no-cross-attention",
            Edit("2 * attention", "attention"),
            "Your decoder layer has one attention. It has two: to itself and to the memory.",
        ),
        Mistake(
            "two-norms",
            Edit("3 * norm", "2 * norm"),
            "Your decoder layer has two normalisations. It has one for each sub-layer, so three.",
        ),
        Mistake(
            "decoder-as-encoder",
            Edit("encoder + decoder", "encoder + encoder"),
            "You counted the decoder like the encoder. Its layers have a third sub-layer, with a normalisation.",
        ),
        Mistake(
            "one-layer",
            Edit("n_layers * (encoder", "(encoder"),
            "You counted one layer of each stack. There are n_layers of them, with weights of their own.",
        ),
        Mistake(
            "output-bias",
            Edit("return vocab * d_model +", "return vocab + vocab * d_model +"),
            "You counted a bias for the output. The table serves as the output matrix, and has none.",
        ),
        Mistake(
            "final-norms",
            Edit("(encoder + decoder)", "(encoder + decoder) + 2 * norm"),
            "You counted a norm after each stack, as pre-norm has. In post-norm the last sub-layer's norm is the last.",
        ),
        Mistake(
            "gain-only",
            Edit("norm = 2 * d_model", "norm = d_model"),
            "You counted one vector for each norm. It has a gain and an offset.",
        ),
    ),
)
