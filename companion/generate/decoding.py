"""A model that writes, one token at a time: its cache, its memory, and the greedy choice.

Made for this book. Chapter: book/architecture.
"""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from companion.transformer import DecoderOnly, Transformer

Lengths = Sequence[int] | Int[Tensor, " batch"] | None


class IncrementalDecoder:
    """A model while it writes: its cache and, for an encoder-decoder, its memory.

    Args:
        model: in evaluation mode.
        prompt: ``(batch, t)``, what it reads first.
        source: ``(batch, t_k)`` for an encoder-decoder, else ``None``.
        lengths: real tokens of each source; ``None`` without a source.

    Raises:
        ValueError: the model is in training mode or no decoder, or prompt, source and lengths do not fit it.
    """

    def __init__(
        self, model: DecoderOnly | Transformer, prompt: Tensor, source: Tensor | None, lengths: Lengths
    ) -> None:
        if not isinstance(model, DecoderOnly | Transformer):
            raise ValueError(f"DecoderOnly and Transformer can write text: got {type(model).__name__}.")
        if model.training:
            raise ValueError("a model writes in evaluation mode: got one in training mode. Call model.eval() first.")
        if isinstance(model, Transformer) != (source is not None):
            raise ValueError(
                f"Transformer needs a source and DecoderOnly has none: got {type(model).__name__} and "
                f"source={None if source is None else tuple(source.shape)}."
            )
        if source is None and lengths is not None:
            raise ValueError(
                f"lengths are those of a source: got {lengths} without one. Leave them out: prompts have one length."
            )
        if source is not None and (prompt.ndim != 2 or len(source) != len(prompt)):
            raise ValueError(
                f"each source (t_k,) has one prompt (t,): got source {tuple(source.shape)} and prompt "
                f"{tuple(prompt.shape)}. Give one start symbol for each source."
            )
        self.model, self.cache = model, model.new_cache()
        self.lengths = None if lengths is None else torch.as_tensor(lengths, device=prompt.device)
        self.memory = None
        if source is not None:
            with torch.no_grad():
                self.memory = model.encode(source, self.lengths)

    @torch.no_grad()
    def __call__(self, tokens: Int[Tensor, "batch t"]) -> Float[Tensor, "batch vocab"]:
        """Read tokens and predict the one after the last; logits of half precision come as float32, to be added up."""
        if self.memory is None:
            logits = self.model(tokens, cache=self.cache)[:, -1]
        else:
            logits = self.model.decode(tokens, self.memory, source_lengths=self.lengths, cache=self.cache)[:, -1]
        if logits.isnan().any():
            raise ValueError(
                "the model predicts NaN, so no token is the best: look for NaN or infinity in its weights."
            )
        return logits.to(torch.promote_types(logits.dtype, torch.float32))

    def reorder(self, rows: Int[Tensor, " rows"], *, same_sources: bool = False) -> None:
        """Go on with these rows of the batch, in this order.

        Args:
            rows: for each row of the new batch, the row of the old one that it continues.
            same_sources: no row gets another source by that, so the memory stays where it is.
        """
        self.cache.reorder(rows, memory=not same_sources)
        if self.memory is not None and not same_sources:
            self.memory = self.memory[rows]
            self.lengths = None if self.lengths is None else self.lengths[rows]


def greedy(
    model: DecoderOnly | Transformer,
    prompt: Int[Tensor, "batch t"],
    max_new: int,
    *,
    end: int | None = None,
    source: Int[Tensor, "batch t_k"] | None = None,
    source_lengths: Lengths = None,
) -> Int[Tensor, "batch t_new"]:
    """Continue each prompt with the most probable token, again and again.

    Args:
        model: in evaluation mode.
        prompt: ``(batch, t)``, all of one length; for an encoder-decoder the start symbols, ``(batch, 1)``.
        max_new: number of tokens to write at most.
        end: the token after which a row is finished; ``None`` writes ``max_new`` tokens.
        source: what an encoder-decoder translates, ``(batch, t_k)``.
        source_lengths: real tokens of each source, for an encoder-decoder only.

    Returns:
        The new tokens, ``(batch, t_new)`` with ``t_new <= max_new``; a finished row is filled up with ``end``.

    Raises:
        ValueError: the model is in training mode, an argument does not fit it, or it predicts NaN.
    """
    decoder = IncrementalDecoder(model, prompt, source, source_lengths)
    return decode_loop(decoder, prompt, max_new, end, lambda logits: logits.argmax(-1))


def decode_loop(
    decoder: IncrementalDecoder,
    prompt: Int[Tensor, "batch t"],
    max_new: int,
    end: int | None,
    choose: Callable[[Tensor], Tensor],
) -> Int[Tensor, "batch t_new"]:
    """Let a model write, one token a row and step, as ``choose`` picks it from the logits ``(batch, vocab)``.

    Args:
        decoder: the model's state, which has read nothing yet.
        prompt: ``(batch, t)``.
        max_new: number of tokens to write at most.
        end: the token after which a row is finished, or ``None``.
        choose: from logits ``(batch, vocab)`` to tokens ``(batch,)``.

    Returns:
        The new tokens, ``(batch, t_new)``; a finished row is filled up with ``end``.
    """
    check_steps(max_new)
    token, made = prompt, []
    ended = torch.zeros(len(prompt), dtype=torch.bool, device=prompt.device)
    for _ in range(max_new):
        logits = decoder(token)
        check_end(end, logits)
        chosen = choose(logits)
        if end is not None:
            chosen = chosen.masked_fill(ended, end)
            ended = ended | (chosen == end)
        made.append(chosen)
        if end is not None and bool(ended.all()):
            break
        token = chosen[:, None]
    return torch.stack(made, dim=1)


def check_steps(max_new: int) -> None:
    """Refuse to write no token.

    Raises:
        ValueError: ``max_new`` is below 1.
    """
    if max_new < 1:
        raise ValueError(f"a text has at least one new token: got max_new={max_new}. Use max_new >= 1.")


def check_end(end: int | None, logits: Float[Tensor, "*batch vocab"]) -> None:
    """Refuse an end symbol that the model can never write.

    Args:
        end: the token after which a row is finished, or ``None``.
        logits: what the model predicts, ``(*batch, vocab)``.

    Raises:
        ValueError: it is not in the vocabulary.
    """
    vocab = logits.shape[-1]
    if end is not None and not 0 <= end < vocab:
        raise ValueError(f"end is a token of the vocabulary, 0 to {vocab - 1}: got {end}. Name one, or None.")
