"""The Transformer: Vaswani et al. (2017), section 3 and Fig. 1. Chapter: book/architecture."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from companion.cache import DecoderCache
from companion.config import ModelConfig
from companion.seeding import seeded
from companion.transformer.build import InputEmbedding, initialise, make_decoder, make_encoder, padding_mask


class Transformer(nn.Module):
    """The encoder-decoder of 2017: it reads a source and writes a target, one token after the other.

    With ``target_vocab=None`` both sides and the output share one matrix (section 3.4); with a target vocabulary the
    target side shares its own with the output. ``tied=False`` gives the output a matrix of its own.

    Args:
        config: sizes and choices; ``config.base(vocab)`` is the base model of Table 3.
        seed: draws the weights, and leaves torch's global state alone. ``None`` draws from the global state.

    >>> from companion.config import ModelConfig
    >>> model = Transformer(ModelConfig(vocab=11, d_model=8, n_layers=2, n_heads=2, d_ff=32), seed=0).eval()
    >>> source, target = torch.tensor([[3, 1, 4, 1, 5]]), torch.tensor([[9, 2, 6]])
    >>> model(source, shift_right(target, start=0)).shape
    torch.Size([1, 3, 11])
    """

    def __init__(self, config: ModelConfig, *, seed: int | None = None) -> None:
        super().__init__()
        if config.segments:
            raise ValueError(f"only EncoderOnly has segments: got segments={config.segments}. Set segments=0.")
        self.config = config
        shared = config.target_vocab is None
        vocab = config.vocab if shared else config.target_vocab
        with seeded(seed):
            self.source_embedding = InputEmbedding(config, config.vocab)
            self.target_embedding = InputEmbedding(config, vocab, self.source_embedding.token if shared else None)
            self.encoder = make_encoder(config)
            self.decoder = make_decoder(config, cross=True)
            self.output = None if config.tied else nn.Linear(config.d_model, vocab, bias=False)
            initialise(self)

    def forward(
        self,
        source: Int[Tensor, "batch t_k"],
        target: Int[Tensor, "batch t"],
        *,
        source_lengths: Sequence[int] | Int[Tensor, " batch"] | None = None,
        target_lengths: Sequence[int] | Int[Tensor, " batch"] | None = None,
    ) -> Float[Tensor, "batch t target_vocab"]:
        """Predict, from the source and the target's tokens up to each position, the next token.

        Args:
            source: ``(batch, t_k)``, padded on the right.
            target: ``(batch, t)``, padded on the right: the decoder's input, see :func:`shift_right`.
            source_lengths: real tokens of each source; the rest is hidden from encoder and decoder.
            target_lengths: real tokens of each target. Checked, and otherwise without effect: the decoder is causal,
                so no real token sees padding. Leave padding out of the loss.

        Returns:
            Logits ``(batch, t, target_vocab)``.

        Raises:
            ValueError: tokens or lengths do not fit.
        """
        padding_mask(target_lengths, target)
        return self.decode(target, self.encode(source, source_lengths), source_lengths=source_lengths)

    def encode(
        self,
        source: Int[Tensor, "batch t_k"],
        source_lengths: Sequence[int] | Int[Tensor, " batch"] | None = None,
    ) -> Float[Tensor, "batch t_k d_model"]:
        """Turn the source into a memory for :meth:`decode`.

        Args:
            source: ``(batch, t_k)``, padded on the right.
            source_lengths: real tokens of each source.

        Returns:
            ``(batch, t_k, d_model)``.
        """
        x = self.source_embedding(source)
        return self.encoder(x, padding_mask(source_lengths, source))

    def decode(
        self,
        target: Int[Tensor, "batch t"],
        memory: Float[Tensor, "batch t_k d_model"],
        *,
        source_lengths: Sequence[int] | Int[Tensor, " batch"] | None = None,
        cache: DecoderCache | None = None,
    ) -> Float[Tensor, "batch t target_vocab"]:
        """Predict the next token after each token of the target.

        Args:
            target: ``(batch, t)``; with a cache, the tokens after those that it holds.
            memory: what :meth:`encode` returned, for the same batch. With a cache, the same one in each call: its keys
                and values are kept from the first call on.
            source_lengths: real tokens of each source; the memory of the rest is hidden.
            cache: from :meth:`new_cache`; it grows by ``t``.

        Returns:
            Logits ``(batch, t, target_vocab)``.

        Raises:
            ValueError: the memory is of another batch, or the lengths do not fit it.
        """
        if memory.ndim != 3 or len(memory) != len(target):
            raise ValueError(
                f"each target has one memory (t_k, d_model): got target {tuple(target.shape)} and memory "
                f"{tuple(memory.shape)}. Encode as many sources as there are targets."
            )
        x = self.target_embedding(target, start=0 if cache is None else cache.length)
        x = self.decoder(x, memory, memory_mask=padding_mask(source_lengths, memory), cache=cache)
        return self.target_embedding.token.logits(x) if self.output is None else self.output(x)

    def new_cache(self) -> DecoderCache:
        """Return an empty cache for one batch of targets."""
        return DecoderCache(self.config.n_layers)


def shift_right(target: Int[Tensor, "batch t"], start: int) -> Int[Tensor, "batch t"]:
    """Turn what the decoder shall write into what it reads: the start symbol, then all tokens but the last.

    Args:
        target: ``(batch, t)``.
        start: id of the start symbol.

    Returns:
        ``(batch, t)``.

    Raises:
        ValueError: the target is not ``(batch, t)`` with at least one token.

    >>> shift_right(torch.tensor([[5, 6, 7]]), start=1)
    tensor([[1, 5, 6]])
    """
    if target.ndim != 2 or 0 in target.shape:
        raise ValueError(f"a target is (batch, t), neither of them 0: got {tuple(target.shape)}. Add what is missing.")
    return torch.cat([torch.full_like(target[:, :1], start), target[:, :-1]], dim=1)
