"""The three models of the book: encoder-decoder (2017), decoder-only (GPT, 2018) and encoder-only (BERT, 2018).

Chapter: book/architecture.
"""

from companion.transformer.decoder_only import DecoderOnly
from companion.transformer.encoder_decoder import Transformer, shift_right
from companion.transformer.encoder_only import EncoderOnly

__all__ = ["DecoderOnly", "EncoderOnly", "Transformer", "shift_right"]
