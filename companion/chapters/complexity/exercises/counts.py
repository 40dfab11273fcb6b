"""Exercises on counting: ``layer-flops``, ``crossing`` and ``cache-bytes``."""

from companion.practice.definition import Case, Edit, Exercise, Mistake


def _layer_flops(n: int, d: int, d_ff: int) -> tuple[int, int, int]:
    return 8 * n * d * d, 4 * n * n * d, 4 * n * d * d_ff


LAYER_FLOPS = Exercise(
    name="layer-flops",
    title="Count the FLOPs of a layer",
    chapter="complexity",
    level=1,
    place=1,
    minutes=15,
    same_dtype=True,
    reference=_layer_flops,
    cases=lambda: [
        Case((3, 2, 8), "the example"),
        Case((1, 1, 1), "one position"),
        Case((7, 5, 11), "sizes that all differ"),
        Case((512, 64, 256)),
        Case((20, 30, 90)),
        Case((50, 512, 2048), "the base model"),
        Case((100_000, 128, 512), "a long text"),
        Case((2**27 + 1, 3, 11), "more than a float holds to the unit"),
        Case((2**23 + 1, 2**21 + 1, 2**22 + 1), "more than 64 bits hold"),
    ],
    tested="one position, sizes that all differ, the base model, a long text, numbers beyond 2^53 and 2^63",
    returns=("projections", "pairs", "feed-forward"),
    hints=(
        "Write down the shape of every product in the layer. There are four projections, two products for the pairs, "
        "and two in the feed-forward network.",
        "A product of an a x b with a b x c matrix has a c entries, each a sum of b products. How many operations is "
        "that, if a multiplication and an addition count as one each?",
        "A projection is (n x d)(d x d). Scores are (n x d)(d x n), and the second product for the pairs is as large. "
        "The network is (n x d)(d x d_ff) and back.",
    ),
    mistakes=(
        Mistake(
            "multiply-adds",
            lambda n, d, d_ff: (4 * n * d * d, 2 * n * n * d, 2 * n * d * d_ff),
            "You counted a multiplication and an addition as one. Here they count as two.",
        ),
        Mistake(
            "no-output-projection",
            lambda n, d, d_ff: (6 * n * d * d, 4 * n * n * d, 4 * n * d * d_ff),
            "You counted three projections. After the heads are joined there is a fourth, W_O.",
        ),
        Mistake(
            "scores-only",
            lambda n, d, d_ff: (8 * n * d * d, 2 * n * n * d, 4 * n * d * d_ff),
            "For the pairs you counted half. Either the weights times the values are missing, a product of the same "
            "size, or the factor of 2: a multiply-add is two FLOPs.",
        ),
        Mistake(
            "one-matrix",
            lambda n, d, d_ff: (8 * n * d * d, 4 * n * n * d, 2 * n * d * d_ff),
            "The feed-forward network has two matrices, one out to d_ff and one back.",
        ),
        Mistake(
            "no-width-in-pairs",
            lambda n, d, d_ff: (8 * n * d * d, 4 * n * n, 4 * n * d * d_ff),
            "Each score is a dot product of width d, not a single operation.",
        ),
        Mistake(
            "half-the-pairs",
            lambda n, d, d_ff: (8 * n * d * d, 2 * n * (n + 1) * d, 4 * n * d * d_ff),
            "You left out the pairs that a causal mask hides. They are computed too, unless a kernel skips them: "
            "here all n times n count.",
        ),
        Mistake(
            "pairs-as-projections",
            lambda n, d, d_ff: (8 * n * d * d, 4 * n * d * d, 4 * n * d * d_ff),
            "Your pairs grow with n. Each of n queries meets each of n keys, at a cost of d.",
        ),
    ),
)


def _crossing(d: int, d_ff: int) -> int:
    return 2 * d + d_ff + 1


CROSSING = Exercise(
    name="crossing",
    title="Find the length at which attention is quadratic",
    chapter="complexity",
    level=1,
    place=2,
    minutes=10,
    same_dtype=True,
    reference=_crossing,
    cases=lambda: [
        Case((4, 16), "the example"),
        Case((1, 1)),
        Case((8, 24)),
        Case((30, 20)),
        Case((512, 2048), "the base model"),
        Case((64, 64), "a narrow network"),
        Case((4096, 11_008), "a network that is not 4 d wide"),
    ],
    tested="two models of other proportions, a narrow network, the smallest sizes",
    hints=(
        "Write the three numbers of the last exercise as functions of n. Two of them grow like n, one like n squared.",
        "Set the pairs equal to the sum of the other two, and divide by what all three have in common.",
        "What is left is linear: the pairs have an n that the others lack. The length asked for lies just above "
        "the point where both sides are equal.",
    ),
    mistakes=(
        Mistake(
            "at-the-tie",
            lambda d, d_ff: 2 * d + d_ff,
            "At this length both are equal. The smallest length at which the pairs take more is one further.",
        ),
        Mistake(
            "without-network",
            lambda d, d_ff: 2 * d + 1,
            "You compared the pairs with the projections only. The feed-forward network belongs to the layer.",
        ),
        Mistake(
            "always-six",
            lambda d, d_ff: 6 * d + 1,
            "That is right for a network four times as wide as the model. Here its width is given.",
        ),
        Mistake(
            "width-alone",
            lambda d, d_ff: d + 1,
            "n = d is where n^2 d and n d^2 meet, without constants. Count the products.",
        ),
        Mistake(
            "without-projections",
            lambda d, d_ff: d_ff + 1,
            "You compared the pairs with the feed-forward network only. The projections grow like n too.",
        ),
        Mistake(
            "scores-only",
            lambda d, d_ff: 4 * d + 2 * d_ff + 1,
            "You counted the scores alone. The pairs take two products, of queries with keys and of weights with "
            "values.",
        ),
    ),
)


def _cache_bytes(n_layers: int, n_heads: int, n_kv_heads: int, d_model: int, batch: int, t: int, size: int) -> int:
    return 2 * n_layers * n_kv_heads * (d_model // n_heads) * batch * t * size


CACHE_BYTES = Exercise(
    name="cache-bytes",
    title="Size the cache",
    chapter="complexity",
    level=1,
    place=3,
    minutes=10,
    same_dtype=True,
    reference=_cache_bytes,
    cases=lambda: [
        Case((2, 4, 2, 8, 1, 3, 2), "the example"),
        Case((1, 1, 1, 4, 1, 1, 4), "one of everything"),
        Case((2, 4, 4, 8, 3, 2, 4), "three texts"),
        Case((3, 6, 2, 30, 5, 7, 1), "sizes that all differ"),
        Case((32, 32, 32, 4096, 1, 4096, 2), "LLaMA-7B"),
        Case((80, 64, 8, 8192, 16, 4096, 2), "grouped heads, 16 texts"),
        Case((4, 8, 1, 64, 2, 100, 2), "a single key-value head"),
        Case((61, 7, 3, 49, 3, 10**15 + 1, 1), "more than a float holds to the unit"),
        Case((61, 7, 3, 49, 3, 10**17 + 1, 1), "more than 64 bits hold"),
    ],
    tested="numbers beyond 2^53 and 2^63, grouped heads, a single key-value head, several texts, sizes that all differ",
    hints=(
        "What does a layer have to remember of a position that has been read, so that later positions can look at it?",
        "Two vectors for each position, in each layer, for each text. How wide is each of them when heads are shared?",
        "A key vector of all key-value heads together is n_kv_heads times as wide as one head. The width of a head "
        "comes from the number of query heads.",
    ),
    mistakes=(
        Mistake(
            "query-heads",
            Edit("n_kv_heads * (d_model // n_heads)", "d_model"),
            "You took the full width. Only key-value heads are kept, and they may be fewer than query heads.",
        ),
        Mistake(
            "keys-only",
            Edit("2 * n_layers", "n_layers"),
            "You counted one vector for each position. Keys and values are kept.",
        ),
        Mistake(
            "one-layer",
            Edit("n_layers * ", ""),
            "You counted one layer. Each layer has keys and values of its own.",
        ),
        Mistake(
            "numbers-not-bytes",
            Edit(" * size", ""),
            "You counted numbers. Each of them takes `size` bytes.",
        ),
        Mistake(
            "one-text",
            Edit(" * batch", ""),
            "You counted one text. The weights are shared among the texts of a batch, the cache is not.",
        ),
        Mistake(
            "whole-width-for-each-head",
            Edit("(d_model // n_heads)", "d_model"),
            "You gave each head the width of the model. A head has d_model / n_heads.",
        ),
    ),
)
