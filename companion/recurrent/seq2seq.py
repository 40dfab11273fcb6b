"""Recurrent encoder-decoders: Sutskever et al. (2014), Cho et al. (2014), Bahdanau et al. (2015), Luong et al. (2015).

Both models are trained by teacher forcing: the decoder reads the true target, shifted right by a start token.

Chapter: book/history.
"""

from collections.abc import Callable
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from companion.checks import check_sizes
from companion.recurrent.cells import ElmanCell
from companion.recurrent.cores import BahdanauCore, Decoded, LuongCore, Memory
from companion.recurrent.gated import GRUCell, LSTMCell
from companion.recurrent.layers import RNN, Lengths, State
from companion.recurrent.tokens import embed, greedy
from companion.seeding import seeded

Step = Callable[[Tensor, State], tuple[Tensor, State]]  # tokens and a state give logits and the next state
CELLS = {"elman": ElmanCell, "lstm": LSTMCell, "gru": GRUCell}


class _Writer(nn.Module):
    """What both models share: writing from what :meth:`encode` gave, which :meth:`_begin` turns into a first state."""

    @torch.no_grad()
    def decode(
        self,
        source: Int[Tensor, "batch t_k"],
        *,
        start: int,
        end: int,
        max_len: int,
        source_lengths: Lengths | None = None,
    ) -> Int[Tensor, "batch t"]:
        """Write a target, the likeliest token at each step.

        Args:
            source: tokens.
            start: the token that the decoder reads first.
            end: the token after which a target is finished.
            max_len: most tokens to write.
            source_lengths: number of real tokens of each source; ``None`` means that all are real.

        Returns:
            What follows the start token, up to the length of the longest; a finished row repeats the end token.
        """
        run, state = self._begin(self.encode(source, source_lengths))
        return greedy(run, state, torch.full_like(source[:, :1], start), end=end, max_len=max_len)


class FixedVectorSeq2Seq(_Writer):
    """Read the source into one state, and write the target from it: Sutskever et al. (2014).

    The state after the source is all that the decoder gets, and its size does not depend on the source. The decoder
    begins with it; Cho et al. (2014) also feed it to each step. One layer a side, where Sutskever et al. have four.

    >>> model = FixedVectorSeq2Seq(7, 5, 4, 6)
    >>> model(torch.tensor([[3, 6, 2]]), torch.tensor([[1, 4]])).shape
    torch.Size([1, 2, 5])

    Args:
        source_vocab: number of source symbols.
        target_vocab: number of target symbols.
        d_embed: width of the embeddings.
        d_hidden: width of the state.
        cell: ``"elman"``, ``"lstm"`` as in Sutskever et al., or ``"gru"`` as in Cho et al.
        reverse_source: read the source from its end: Sutskever et al. (2014), section 3.3.
        seed: draws the weights and leaves torch's global generator alone; ``None`` draws from that one.

    Raises:
        ValueError: a size is below 1, or the cell is unknown.
    """

    def __init__(
        self,
        source_vocab: int,
        target_vocab: int,
        d_embed: int,
        d_hidden: int,
        *,
        cell: Literal["elman", "lstm", "gru"] = "lstm",
        reverse_source: bool = False,
        seed: int | None = None,
    ) -> None:
        super().__init__()
        check_sizes(source_vocab=source_vocab, target_vocab=target_vocab, d_embed=d_embed, d_hidden=d_hidden)
        if cell not in CELLS:
            raise ValueError(f"cell is one of {sorted(CELLS)}: got {cell!r}. Use one of these.")
        with seeded(seed):
            self.embed_source = nn.Embedding(source_vocab, d_embed)
            self.embed_target = nn.Embedding(target_vocab, d_embed)
            self.encoder = RNN(CELLS[cell](d_embed, d_hidden), reverse=reverse_source)
            self.decoder = RNN(CELLS[cell](d_embed, d_hidden))
            self.w_out = nn.Linear(d_hidden, target_vocab)

    def encode(self, source: Int[Tensor, "batch t_k"], source_lengths: Lengths | None = None) -> State:
        """Read the source.

        Args:
            source: tokens.
            source_lengths: number of real tokens of each source; ``None`` means that all are real.

        Returns:
            The fixed vector: the state after the last real token, or after the first where the source is reversed.
        """
        return self.encoder(embed(self.embed_source, source, "source"), lengths=source_lengths)[1]

    def run(
        self, target: Int[Tensor, "batch t_q"], state: State
    ) -> tuple[Float[Tensor, "batch t_q target_vocab"], State]:
        """Read target tokens from a state on.

        Args:
            target: tokens.
            state: what :meth:`encode` gave, or the state after the tokens before these.

        Returns:
            Logits of what follows each token, and the state after the last.
        """
        output, state = self.decoder(embed(self.embed_target, target, "target"), state)
        return self.w_out(output), state

    def forward(
        self,
        source: Int[Tensor, "batch t_k"],
        target: Int[Tensor, "batch t_q"],
        *,
        source_lengths: Lengths | None = None,
    ) -> Float[Tensor, "batch t_q target_vocab"]:
        """Score the next token at each position of a known target.

        Args:
            source: tokens.
            target: what the decoder reads, the start token first.
            source_lengths: number of real tokens of each source; ``None`` means that all are real.

        Returns:
            Logits.
        """
        return self.run(target, self.encode(source, source_lengths))[0]

    def _begin(self, state: State) -> tuple[Step, State]:
        return self.run, state


class AttentionSeq2Seq(_Writer):
    """An encoder-decoder whose decoder looks back at every state of the encoder.

    >>> model = AttentionSeq2Seq(7, 5, 4, 6)
    >>> model.weights(torch.tensor([[3, 6, 2]]), torch.tensor([[1, 4]])).shape  # two target, three source tokens
    torch.Size([1, 2, 3])

    Args:
        source_vocab: number of source symbols.
        target_vocab: number of target symbols.
        d_embed: width of the embeddings.
        d_hidden: width of the states.
        attention: ``"additive"`` for :class:`BahdanauCore`, ``"dot"`` or ``"general"`` for :class:`LuongCore`.
        seed: draws the weights and leaves torch's global generator alone; ``None`` draws from that one.

    Raises:
        ValueError: a size is below 1, or the attention is unknown.
    """

    def __init__(
        self,
        source_vocab: int,
        target_vocab: int,
        d_embed: int,
        d_hidden: int,
        *,
        attention: Literal["additive", "dot", "general"] = "additive",
        seed: int | None = None,
    ) -> None:
        super().__init__()
        check_sizes(source_vocab=source_vocab, target_vocab=target_vocab, d_embed=d_embed, d_hidden=d_hidden)
        if attention not in ("additive", "dot", "general"):
            raise ValueError(f"attention is 'additive', 'dot' or 'general': got {attention!r}. Use one of the three.")
        with seeded(seed):
            self.embed_source = nn.Embedding(source_vocab, d_embed)
            self.embed_target = nn.Embedding(target_vocab, d_embed)
            self.core = (
                BahdanauCore(d_embed, d_hidden, target_vocab)
                if attention == "additive"
                else LuongCore(d_embed, d_hidden, target_vocab, score=attention)
            )

    def encode(self, source: Int[Tensor, "batch t_k"], source_lengths: Lengths | None = None) -> Memory:
        """Read the source.

        Args:
            source: tokens.
            source_lengths: number of real tokens of each source; ``None`` means that all are real.

        Returns:
            The states, with what the decoder needs beside them.
        """
        return self.core.read(embed(self.embed_source, source, "source"), source_lengths)

    def run(self, target: Int[Tensor, "batch t_q"], memory: Memory, state: State | None = None) -> Decoded:
        """Read target tokens from a state on.

        Args:
            target: tokens.
            memory: what :meth:`encode` gave.
            state: the state after the tokens before these; ``None`` means that these are the first.

        Returns:
            Logits, attention weights and state.

        Raises:
            ValueError: there is not one target for each source.
        """
        x = embed(self.embed_target, target, "target")
        if len(target) != len(memory.states):
            raise ValueError(f"each source has one target: got {len(memory.states)} and {len(target)}. Repeat one.")
        return self.core.write(x, memory, memory.start if state is None else state)

    def forward(
        self,
        source: Int[Tensor, "batch t_k"],
        target: Int[Tensor, "batch t_q"],
        *,
        source_lengths: Lengths | None = None,
    ) -> Float[Tensor, "batch t_q target_vocab"]:
        """Score the next token at each position of a known target.

        Args:
            source: tokens.
            target: what the decoder reads, the start token first.
            source_lengths: number of real tokens of each source; ``None`` means that all are real.

        Returns:
            Logits.
        """
        return self.run(target, self.encode(source, source_lengths)).logits

    def weights(
        self,
        source: Int[Tensor, "batch t_k"],
        target: Int[Tensor, "batch t_q"],
        *,
        source_lengths: Lengths | None = None,
    ) -> Float[Tensor, "batch t_q t_k"]:
        """Compute the weights that :meth:`forward` uses: row ``i`` is where the model looks to write token ``i``.

        Args:
            source: tokens.
            target: what the decoder reads, the start token first.
            source_lengths: number of real tokens of each source; ``None`` means that all are real.

        Returns:
            One distribution over the source tokens for each target position.
        """
        return self.run(target, self.encode(source, source_lengths)).weights

    def _begin(self, memory: Memory) -> tuple[Step, State]:
        def step(tokens: Tensor, state: State) -> tuple[Tensor, State]:
            decoded = self.run(tokens, memory, state)
            return decoded.logits, decoded.state

        return step, memory.start
