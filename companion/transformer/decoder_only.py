"""The decoder-only model: Radford et al. (2018, 2019), GPT and GPT-2; with other choices, Touvron et al. (2023).

Chapter: book/architecture.
"""

from collections.abc import Sequence

from jaxtyping import Float, Int
from torch import Tensor, nn

from companion.cache import DecoderCache
from companion.config import ModelConfig
from companion.seeding import seeded
from companion.transformer.build import InputEmbedding, initialise, make_decoder, padding_mask


class DecoderOnly(nn.Module):
    """A language model: it reads tokens and predicts, after each one, the next.

    GPT-2 is ``norm_placement="pre", position="learned", activation="gelu-tanh", scale_embedding=False``; Llama is
    ``norm_placement="pre", position="rope", norm="rms", activation="swiglu", bias=False, tied=False,
    scale_embedding=False``.

    Args:
        config: sizes and choices.
        seed: draws the weights, and leaves torch's global state alone. ``None`` draws from the global state.

    >>> import torch
    >>> from companion.config import ModelConfig
    >>> model = DecoderOnly(ModelConfig(vocab=11, d_model=8, n_layers=2, n_heads=2, d_ff=32), seed=0).eval()
    >>> model(torch.tensor([[3, 1, 4, 1, 5]])).shape
    torch.Size([1, 5, 11])
    """

    def __init__(self, config: ModelConfig, *, seed: int | None = None) -> None:
        super().__init__()
        if config.target_vocab is not None or config.segments:
            raise ValueError(
                "a decoder-only model has one vocabulary and no segments: got "
                f"target_vocab={config.target_vocab} and segments={config.segments}. Set None and 0."
            )
        self.config = config
        with seeded(seed):
            self.embedding = InputEmbedding(config, config.vocab)
            self.decoder = make_decoder(config, cross=False)
            self.output = None if config.tied else nn.Linear(config.d_model, config.vocab, bias=False)
            initialise(self)

    def forward(
        self,
        tokens: Int[Tensor, "batch t"],
        *,
        lengths: Sequence[int] | Int[Tensor, " batch"] | None = None,
        cache: DecoderCache | None = None,
    ) -> Float[Tensor, "batch t vocab"]:
        """Predict the next token after each token.

        Args:
            tokens: ``(batch, t)``, padded on the right; with a cache, the tokens after those that it holds.
            lengths: real tokens of each sequence. Checked, and otherwise without effect: no token sees what comes
                after it, so no real token sees padding. Leave padding out of the loss.
            cache: from :meth:`new_cache`; it grows by ``t``. It holds no padding: all sequences have length ``t``.

        Returns:
            Logits ``(batch, t, vocab)``.

        Raises:
            ValueError: tokens or lengths do not fit, or padding would enter the cache.
        """
        mask = padding_mask(lengths, tokens)
        if cache is not None and mask is not None and not mask.all():
            raise ValueError(
                "a cache holds no padding, later tokens would see it: got lengths "
                f"{[int(n) for n in lengths]} for tokens {tuple(tokens.shape)}. Batch sequences of one length."
            )
        x = self.embedding(tokens, start=0 if cache is None else cache.length)
        x = self.decoder(x, cache=cache)
        return self.embedding.token.logits(x) if self.output is None else self.output(x)

    def new_cache(self) -> DecoderCache:
        """Return an empty cache for one batch of sequences."""
        return DecoderCache(self.config.n_layers)
