"""The encoder-only model: Devlin et al. (2018), BERT. Chapter: book/architecture."""

from collections.abc import Sequence

from jaxtyping import Float, Int
from torch import Tensor, nn

from companion.config import ModelConfig
from companion.seeding import seeded
from companion.transformer.build import InputEmbedding, initialise, make_encoder, padding_mask


class EncoderOnly(nn.Module):
    """A model that reads a whole sequence at once and gives a vector for each token.

    BERT is ``position="learned", segments=2, embedding_norm=True, activation="gelu", eps=1e-12,
    scale_embedding=False`` with ``norm_placement="post"``. Its pooler, a linear map and a tanh on the first token's
    vector, is left out, and so is the transformation before its output matrix.

    Args:
        config: sizes and choices.
        seed: draws the weights, and leaves torch's global state alone. ``None`` draws from the global state.

    >>> import torch
    >>> from companion.config import ModelConfig
    >>> model = EncoderOnly(ModelConfig(vocab=11, d_model=8, n_layers=2, n_heads=2, d_ff=32), seed=0).eval()
    >>> hidden = model(torch.tensor([[3, 1, 4, 1, 5]]))
    >>> hidden.shape, model.logits(hidden).shape
    (torch.Size([1, 5, 8]), torch.Size([1, 5, 11]))
    """

    def __init__(self, config: ModelConfig, *, seed: int | None = None) -> None:
        super().__init__()
        if config.target_vocab is not None:
            raise ValueError(
                f"an encoder-only model has one vocabulary: got target_vocab={config.target_vocab}. Set None."
            )
        self.config = config
        with seeded(seed):
            self.embedding = InputEmbedding(config, config.vocab)
            self.encoder = make_encoder(config)
            self.output = None if config.tied else nn.Linear(config.d_model, config.vocab, bias=False)
            initialise(self)

    def forward(
        self,
        tokens: Int[Tensor, "batch t"],
        *,
        lengths: Sequence[int] | Int[Tensor, " batch"] | None = None,
        segments: Int[Tensor, "batch t"] | None = None,
    ) -> Float[Tensor, "batch t d_model"]:
        """Give each token a vector that depends on the whole sequence.

        Args:
            tokens: ``(batch, t)``, padded on the right.
            lengths: real tokens of each sequence; the rest is hidden.
            segments: the segment of each token, below ``config.segments``; ``None`` means 0.

        Returns:
            ``(batch, t, d_model)``.
        """
        x = self.embedding(tokens, segments=segments)
        return self.encoder(x, padding_mask(lengths, tokens))

    def logits(self, hidden: Float[Tensor, "batch t d_model"]) -> Float[Tensor, "batch t vocab"]:
        """Score every token of the vocabulary at each position, for masked tokens to be guessed."""
        return self.embedding.token.logits(hidden) if self.output is None else self.output(hidden)
