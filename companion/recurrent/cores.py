"""The networks of the two papers that brought attention to translation: Bahdanau et al. (2015), Luong et al. (2015).

Both work on embedded tokens, and both give the weights of their attention.

Chapter: book/history.
"""

from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from companion.recurrent.attention import AdditiveAttention, MultiplicativeAttention, distribution
from companion.recurrent.gated import GRUCell, LSTMCell
from companion.recurrent.layers import RNN, BidirectionalRNN, Lengths, State, not_padding


class Memory(NamedTuple):
    """What an encoder hands to a decoder with attention."""

    states: Float[Tensor, "batch t_k d_memory"]  # one for each source token, 0 beyond the lengths
    keys: Float[Tensor, "batch t_k d_align"]  # the same, multiplied once by the weights of the attention
    mask: Bool[Tensor, "batch 1 t_k"] | None  # True for the real tokens; None where all are real
    start: State  # the state that the decoder begins with


class Decoded(NamedTuple):
    """What a decoder with attention computes from some target tokens."""

    logits: Float[Tensor, "batch t_q target_vocab"]  # of what follows each token
    weights: Float[Tensor, "batch t_q t_k"]  # of the attention when it does
    state: State  # after the last token


class BahdanauCore(nn.Module):
    r"""An encoder in both directions, and a decoder that attends before each step: Bahdanau et al. (2015), section 3.

    .. math::
        \alpha_i = \operatorname{softmax}_j\left(v^\top \tanh(W s_{i-1} + U h_j)\right) \quad
        c_i = \sum_j \alpha_{ij} h_j \quad s_i = \operatorname{GRU}(y_{i-1}, c_i; s_{i-1})

    The decoder begins with :math:`s_0 = \tanh(W_s \overleftarrow{h}_1)`. The paper ends in a maxout layer over
    :math:`s_{i-1}, y_{i-1}, c_i`; here the logits are linear in :math:`s_i, y_{i-1}, c_i`. The GRU is that of torch.

    Args:
        d_embed: width of the embeddings.
        d_hidden: width of the states, in each direction, and of the layer that aligns.
        target_vocab: number of target symbols.
    """

    def __init__(self, d_embed: int, d_hidden: int, target_vocab: int) -> None:
        super().__init__()
        d_memory = 2 * d_hidden
        self.encoder = BidirectionalRNN(GRUCell(d_embed, d_hidden), GRUCell(d_embed, d_hidden))
        self.w_start = nn.Linear(d_hidden, d_hidden)
        self.attention = AdditiveAttention(d_hidden, d_memory, d_hidden)
        self.decoder = GRUCell(d_embed, d_hidden)
        self.w_context = nn.Linear(d_memory, 3 * d_hidden, bias=False)  # rows: r, z, n, as in the cell
        self.w_out = nn.Linear(d_hidden + d_embed + d_memory, target_vocab)

    def encode(self, x: Float[Tensor, "batch t_k d_embed"], lengths: Lengths | None = None) -> Memory:
        """Run the encoder.

        Args:
            x: embedded source.
            lengths: number of real tokens of each source; ``None`` means that all are real.

        Returns:
            What the decoder needs.
        """
        states, (_, first) = self.encoder(x, lengths=lengths)
        return Memory(states, self.attention.project(states), _mask(x, lengths), self.w_start(first).tanh())

    def decode(self, x: Float[Tensor, "batch t_q d_embed"], memory: Memory, state: State) -> Decoded:
        """Run the decoder, which attends in its loop: what it looks for depends on the state before the step.

        Args:
            x: embedded target tokens.
            memory: what :meth:`encode` gave.
            state: the state before the first of these tokens.

        Returns:
            Logits, attention weights and state.
        """
        states, contexts, weights = [], [], []
        for projected in self.decoder.project(x).unbind(dim=1):
            scores = self.attention.scores(state[:, None], memory.keys)  # (batch, 1, t_k)
            weights.append(distribution(scores, memory.mask))
            contexts.append((weights[-1] @ memory.states)[:, 0])
            state = self.decoder.step(projected + self.w_context(contexts[-1]), state)
            states.append(state)
        features = torch.cat([torch.stack(states, dim=1), x, torch.stack(contexts, dim=1)], dim=-1)
        return Decoded(self.w_out(features), torch.cat(weights, dim=1), state)


class LuongCore(nn.Module):
    r"""An encoder in one direction, and a decoder that attends after its steps: Luong et al. (2015), section 3.1.

    .. math::
        \alpha_t = \operatorname{softmax}_s\left(\operatorname{score}(h_t, \bar h_s)\right) \quad
        c_t = \sum_s \alpha_{ts} \bar h_s \quad \tilde h_t = \tanh(W_c [c_t; h_t])

    The logits are linear in :math:`\tilde h_t`. The decoder begins with the last state of the encoder. This is the
    global attention of the paper with one layer a side, without its input feeding; so nothing of the attention enters
    the recurrence, and all steps attend at once.

    Args:
        d_embed: width of the embeddings.
        d_hidden: width of the states.
        target_vocab: number of target symbols.
        score: ``"dot"`` or ``"general"``.
    """

    def __init__(
        self, d_embed: int, d_hidden: int, target_vocab: int, *, score: Literal["dot", "general"] = "general"
    ) -> None:
        super().__init__()
        self.encoder = RNN(LSTMCell(d_embed, d_hidden))
        self.attention = MultiplicativeAttention(d_hidden, d_hidden, score=score)
        self.decoder = RNN(LSTMCell(d_embed, d_hidden))
        self.w_c = nn.Linear(2 * d_hidden, d_hidden, bias=False)
        self.w_out = nn.Linear(d_hidden, target_vocab)

    def encode(self, x: Float[Tensor, "batch t_k d_embed"], lengths: Lengths | None = None) -> Memory:
        """Run the encoder.

        Args:
            x: embedded source.
            lengths: number of real tokens of each source; ``None`` means that all are real.

        Returns:
            What the decoder needs.
        """
        states, last = self.encoder(x, lengths=lengths)
        return Memory(states, self.attention.project(states), _mask(x, lengths), last)

    def decode(self, x: Float[Tensor, "batch t_q d_embed"], memory: Memory, state: State) -> Decoded:
        """Run the decoder, then attend from all its states.

        Args:
            x: embedded target tokens.
            memory: what :meth:`encode` gave.
            state: the state before the first of these tokens.

        Returns:
            Logits, attention weights and state.
        """
        h, state = self.decoder(x, state)
        weights = distribution(self.attention.scores(h, memory.keys), memory.mask)
        attentional = self.w_c(torch.cat([weights @ memory.states, h], dim=-1)).tanh()
        return Decoded(self.w_out(attentional), weights, state)


def _mask(x: Tensor, lengths: Lengths | None) -> Tensor | None:
    return None if lengths is None else not_padding(lengths, *x.shape[:2], device=x.device)[:, None]
