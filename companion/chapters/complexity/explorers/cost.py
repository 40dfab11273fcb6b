"""Interactive figures on cost: what a model of any size needs, and how far a signal has to go in a stack of layers.

Vaswani et al. (2017), section 4 and Table 1. Chapter: book/complexity.

The browser half repeats products of whole numbers and one breadth-first search.
"""

from companion import cost
from companion.config import ModelConfig
from companion.explorers.base import Choice, Explorer, Numbers, Switch, Title, Whole

D_MODELS = (128, 256, 512, 768, 1024, 2048, 4096, 8192, 12288)
LAYERS = (1, 2, 4, 6, 12, 24, 32, 48, 80, 96)
HEAD_WIDTHS = (32, 64, 128)  # each divides each width
GROUPS = (1, 2, 4, 8, 16)  # query heads that share one head of keys and values
VOCABULARIES = (256, 32_000, 50_257, 128_000)
LENGTHS = tuple(2**k for k in range(6, 21))  # 64 to 1,048,576
BATCHES = (1, 4, 16, 64)
PUBLISHED = {  # their own sizes; Llama 3 8B has a vocabulary of 128,256, and d_ff differs in both Llamas
    "Llama 3 8B": {"d_model": 4096, "n_layers": 32, "head_width": 128, "group": 4, "vocab": 128_000, "gated": True},
    "LLaMA-7B": {"d_model": 4096, "n_layers": 32, "head_width": 128, "group": 1, "vocab": 32_000, "gated": True},
    "GPT-2 small": {"d_model": 768, "n_layers": 12, "head_width": 64, "group": 1, "vocab": 50_257, "gated": False},
}
BYTES = {"float32": 4, "float16": 2, "int8": 1}
QUANTITIES = (
    "parameters",
    "prefill",
    "pairs",
    "share",
    "token",
    "weights",
    "adam",
    "matrix",
    "cache",
    "intensity",
)

KINDS = ("self-attention", "recurrent", "convolution", "dilated", "window")
POSITIONS = (8, 16, 32)
SIZES = (2, 3, 4, 6)
WIDTHS = (16, 64, 512)


class CostCalculator(Explorer):
    """Count parameters, FLOPs, memory and cache of a decoder-only model of any sizes."""

    _js = "cost_calculator.js"

    d_model = Choice(D_MODELS, 768, help="width of the model")
    n_layers = Choice(LAYERS, 12, help="layers")
    head_width = Choice(HEAD_WIDTHS, 64, help="width of a head")
    group = Choice(GROUPS, 1, help="query heads that share keys and values; at most all of them")
    vocab = Choice(VOCABULARIES, 50_257, help="entries of the vocabulary")
    t = Choice(LENGTHS, 1024, help="tokens of a sequence")
    batch = Choice(BATCHES, 1, help="number of sequences")
    dtype = Choice(tuple(BYTES), "float16", help="format of weights and cache")
    gated = Switch(False, help="whether the feed-forward network has a gate")
    label = Title("What a model costs")
    published = Numbers(list(PUBLISHED.items()), words=True, fixed=True)
    lists = Numbers(
        {
            "d_model": D_MODELS,
            "n_layers": LAYERS,
            "head_width": HEAD_WIDTHS,
            "group": GROUPS,
            "vocab": VOCABULARIES,
            "t": LENGTHS,
            "batch": BATCHES,
            "dtype": tuple(BYTES),
        },
        words=True,
        fixed=True,
    )

    @property
    def config(self) -> ModelConfig:
        """The model: rotary positions, RMSNorm, no biases, tied embeddings; ``d_ff`` 4 d, or 8/3 d with a gate."""
        heads = self.d_model // self.head_width
        return ModelConfig(
            vocab=self.vocab,
            d_model=self.d_model,
            n_layers=self.n_layers,
            n_heads=heads,
            n_kv_heads=heads // min(self.group, heads),
            d_ff=round(8 * self.d_model / 3) if self.gated else 4 * self.d_model,
            position="rope",
            activation="swiglu" if self.gated else "gelu",
            norm="rms",
            norm_placement="pre",
            bias=False,
        )

    def numbers(self) -> dict[str, int | float]:
        """Compute what the table shows with :mod:`companion.cost`.

        Returns:
            By the names in ``QUANTITIES``: parameters; FLOPs of a pass over ``t`` tokens and of its pairs, their share
            in %, FLOPs of one more token; bytes of the weights, of training with Adam (16 a parameter), of one layer's
            attention weights, of the cache; and FLOPs a byte of that token, which reads the weights and the cache.
        """
        config = self.config
        parameters = cost.model_parameters(config, "decoder-only").total
        prefill = cost.model_flops(config, "decoder-only", self.batch, self.t)
        token = cost.model_flops(config, "decoder-only", self.batch, 1, past=self.t).total
        weights = cost.weight_bytes(parameters, self.dtype)
        cache = cost.model_cache_bytes(config, self.batch, self.t, dtype=self.dtype)
        return {
            "parameters": parameters,
            "prefill": prefill.total,
            "pairs": prefill.pairs,
            "share": 100 * prefill.pairs / prefill.total,
            "token": token,
            "weights": weights,
            "adam": cost.adam_bytes(parameters),
            "matrix": cost.weights_matrix_bytes(self.batch, config.n_heads, self.t, self.t, self.dtype),
            "cache": cache,
            "intensity": cost.intensity(token, weights + cache),
        }

    def _about(self) -> str:
        sizes = f"d_model={self.d_model}, n_layers={self.n_layers}, head_width={self.head_width}, group={self.group}, "
        return f"{sizes}vocab={self.vocab}, t={self.t}, batch={self.batch}, dtype={self.dtype}, gated={self.gated}"


class PathExplorer(Explorer):
    """Draw a shortest path from an input to the last position, for five kinds of layer, with the costs beside it."""

    _js = "path_explorer.js"

    kinds = Numbers(KINDS, words=True, fixed=True)
    lists = Numbers({"n": POSITIONS, "size": SIZES, "d": WIDTHS}, fixed=True)
    kind = Choice(KINDS, "dilated", help="kind of the layers that are drawn")
    n = Choice(POSITIONS, 16, help="positions")
    size = Choice(SIZES, 2, help="width of the kernel, or of the window")
    start = Whole(0, 0, max(POSITIONS) - 1, help="where the signal starts; beyond the last position means the last")
    d = Choice(WIDTHS, 64, help="width of the vectors, for the FLOPs")
    label = Title("The path of a signal")

    def rows(self) -> dict[str, tuple[int, int, int]]:
        """Compute the table: the length of the path, sequential operations and FLOPs of a layer, by kind."""
        start = min(self.start, self.n - 1)
        costs = {
            "self-attention": cost.self_attention_layer(self.n, self.d),
            "recurrent": cost.recurrent_layer(self.n, self.d),
            "convolution": cost.convolution_layer(self.n, self.d, self.size),
            "dilated": cost.convolution_layer(self.n, self.d, self.size, dilated=True),
            "window": cost.window_attention_layer(self.n, self.d, self.size),
        }
        return {
            kind: (
                len(cost.shortest_path(kind, self.n, size=self.size, start=start)) - 1,
                costs[kind].sequential,
                costs[kind].flops,
            )
            for kind in KINDS
        }

    def _about(self) -> str:
        return f"kind={self.kind}, n={self.n}, size={self.size}, start={self.start}, d={self.d}"
