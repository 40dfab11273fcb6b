"""Sizes of published models, to try the formulas on.

Each cites the table it was read from; ``companion.cost.model_parameters`` gives their parameters.

Made for this book. Chapter: book/complexity.
"""

from companion.config import ModelConfig

GPT2_SMALL = ModelConfig(
    vocab=50_257,
    d_model=768,
    n_layers=12,
    n_heads=12,
    d_ff=3072,
    max_len=1024,
    position="learned",
    activation="gelu-tanh",
    norm_placement="pre",
    scale_embedding=False,
)
"""Decoder-only; Radford et al. (2019), section 2.3 and Table 2, first row."""

BERT_BASE = ModelConfig(
    vocab=30_522,
    d_model=768,
    n_layers=12,
    n_heads=12,
    d_ff=3072,
    max_len=512,
    position="learned",
    activation="gelu",
    eps=1e-12,
    scale_embedding=False,
    segments=2,
    embedding_norm=True,
)
"""Encoder-only; Devlin et al. (2018), section 3; the vocabulary is that of the released uncased model."""

GPT3 = ModelConfig(
    vocab=50_257,
    d_model=12_288,
    n_layers=96,
    n_heads=96,
    d_ff=49_152,
    max_len=2048,
    position="learned",
    activation="gelu-tanh",
    norm_placement="pre",
    scale_embedding=False,
)
"""Decoder-only; Brown et al. (2020), section 2.1 and Table 2.1, last row. Every second layer of theirs is sparse."""

LLAMA_7B = ModelConfig(
    vocab=32_000,
    d_model=4096,
    n_layers=32,
    n_heads=32,
    d_ff=11_008,
    position="rope",
    activation="swiglu",
    norm="rms",
    norm_placement="pre",
    bias=False,
    tied=False,
    scale_embedding=False,
)
"""Decoder-only; Touvron et al. (2023), section 2.2 and Table 2; ``d_ff`` is that of the released model."""
