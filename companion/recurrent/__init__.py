"""Sequence models before the Transformer, each small enough to read: what the book measures attention against.

Recurrent cells and layers, encoder-decoders with a fixed vector, Sutskever et al. (2014), and with attention, Bahdanau
et al. (2015) and Luong et al. (2015), linear recurrences by a parallel scan, and causal dilated convolutions.

Chapter: book/history.
"""

from companion.recurrent.attention import AdditiveAttention, MultiplicativeAttention, additive_scores, distribution
from companion.recurrent.cells import ElmanCell
from companion.recurrent.convolution import CausalConv, CausalConvStack, causal_convolution, receptive_field
from companion.recurrent.cores import BahdanauCore, Decoded, LuongCore, Memory
from companion.recurrent.gated import GRUCell, GRUGates, LSTMCell, LSTMGates
from companion.recurrent.layers import RNN, BidirectionalRNN, not_padding
from companion.recurrent.scan import linear_recurrence, scan_passes
from companion.recurrent.seq2seq import AttentionSeq2Seq, FixedVectorSeq2Seq

__all__ = [
    "RNN",
    "AdditiveAttention",
    "AttentionSeq2Seq",
    "BahdanauCore",
    "BidirectionalRNN",
    "CausalConv",
    "CausalConvStack",
    "Decoded",
    "ElmanCell",
    "FixedVectorSeq2Seq",
    "GRUCell",
    "GRUGates",
    "LSTMCell",
    "LSTMGates",
    "LuongCore",
    "Memory",
    "MultiplicativeAttention",
    "additive_scores",
    "causal_convolution",
    "distribution",
    "linear_recurrence",
    "not_padding",
    "receptive_field",
    "scan_passes",
]
