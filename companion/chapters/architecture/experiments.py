"""What the chapter reads from measurements/architecture: three arrangements of one translator, and one without shift.

All are trained on the grammar of ``tasks.english_chinese``. A model of one stack reads source and target as one row;
its mask is causal, or lets the source be read in both directions (a prefix mask).
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import cache, partial

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from companion import generate, interpret, tasks
from companion.config import toy
from companion.measure import Experiment
from companion.training import Batches, Loss, Pairs, Trainer, cosine_schedule, pairs_batch, seq2seq_loss, summed_loss
from companion.transformer import EncoderOnly, Transformer

STEPS = 600
UNSEEN = 200
"""Test sentences, none of which is in the training set."""


@cache
def data() -> tuple[list[str], list[tuple[list[int], list[int]]], list[tasks.Pair]]:
    """Draw the training and test sentences.

    Returns:
        The one vocabulary of both languages; the training pairs as numbers; the test pairs as words.
    """
    train, test = tasks.english_chinese(16_000, UNSEEN, seed=0)
    words = tasks.vocabulary(sentence for pair in train + test for sentence in pair)
    number = {word: i for i, word in enumerate(words)}
    pairs = [
        ([number[w] for w in en], [number[tasks.START], *(number[w] for w in zh), number[tasks.END]])
        for en, zh in train
    ]
    return words, pairs, test


def fit(model: nn.Module, loss: Callable[[nn.Module, Pairs], Loss], seed: int, steps: int) -> nn.Module:
    """Train a model with Adam, 600 tokens a step; the rate rises to 0.005 in 60 steps and falls to 0 along a cosine.

    Args:
        model: whose parameters are trained.
        loss: of the model on a batch of pairs.
        seed: of the order of the sentences.
        steps: of training.

    Returns:
        The model, in evaluation mode.
    """
    adam = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    rate = partial(cosine_schedule, peak=5e-3, warmup=min(60, steps // 4), total=steps)
    batches = Batches(data()[1], pairs_batch, tokens=600, seed=seed)
    Trainer(model, loss, batches, optimizer=adam, schedule=rate, clip=1.0).run(steps, progress=False)
    return model.eval()


class OneStack(nn.Module):
    """One stack of layers for source and target in a row; only the mask says which model it is.

    Args:
        prefix: whether the source is read in both directions; without it the mask is causal.
        seed: of the first parameters.
    """

    def __init__(self, *, prefix: bool, seed: int) -> None:
        super().__init__()
        self.prefix, self.stack = prefix, EncoderOnly(toy(len(data()[0]), n_heads=2), seed=seed)

    def mask(self, sources: Int[Tensor, " batch"], t: int) -> Bool[Tensor, "batch t t"]:
        """Say which positions of a row may look at which.

        Args:
            sources: the number of source words in each row, which come first.
            t: length of the rows.

        Returns:
            ``(batch, t, t)``, ``True`` = may look.
        """
        position = torch.arange(t)
        causal = (position <= position[:, None]).expand(len(sources), t, t)
        return causal | (position < sources[:, None, None]) if self.prefix else causal

    def forward(self, rows: Int[Tensor, "batch t"], sources: Int[Tensor, " batch"]) -> Float[Tensor, "batch t vocab"]:
        """Return the logits of the token after each position.

        Args:
            rows: source and target of each pair, one behind the other.
            sources: the number of source words in each row.

        Returns:
            The logits.
        """
        x = self.stack.encoder(self.stack.embedding(rows), self.mask(sources, rows.shape[1]))
        return self.stack.logits(x)

    def translate(self, sources: Sequence[Sequence[int]], start: int, end: int, most: int = 25) -> list[list[int]]:
        """Continue sources greedily, with the whole rows computed anew at each step.

        Args:
            sources: tokens of each sentence.
            start: token that begins each target.
            end: token after which to stop.
            most: number of tokens to generate at most.

        Returns:
            The generated tokens of each, with the end if it came.
        """
        rows, lengths = [[*source, start] for source in sources], torch.tensor([len(source) for source in sources])
        for _ in range(most):  # no token of a row can look at the padding behind it
            padded = nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True)
            for row, logits in zip(rows, self(padded, lengths), strict=True):
                if row[-1] != end:
                    row.append(int(logits[len(row) - 1].argmax()))
        return [row[n + 1 :] for row, n in zip(rows, lengths.tolist(), strict=True)]


def rows_of(batch: Pairs) -> tuple[Int[Tensor, "batch t"], Int[Tensor, "batch t"]]:
    """Lay source and target of each pair one behind the other.

    Args:
        batch: padded pairs.

    Returns:
        The rows without their last token, and what each position is to predict: 0, which the loss leaves out, at the
        source words but the last token before the target.
    """
    reads, wants = [], []
    for source, target, n in zip(batch.source, batch.target, batch.source_lengths, strict=True):
        real = target[target > 0]
        reads.append(torch.cat([source[:n], real[:-1]]))
        wants.append(torch.cat([torch.zeros_like(source[:n]), real[1:]]))
    fill = partial(nn.utils.rnn.pad_sequence, batch_first=True)
    return fill(reads), fill(wants)


def one_stack_loss(model: nn.Module, batch: Pairs) -> Loss:
    """Add the losses of the target words of rows that hold source and target.

    Args:
        model: of one stack.
        batch: padded pairs.

    Returns:
        The loss of the batch.
    """
    reads, wants = rows_of(batch)
    return summed_loss(model(reads, batch.source_lengths), wants, padding=0)


def unshifted_loss(model: nn.Module, batch: Pairs) -> Loss:
    """Add the losses of a translator that reads the very words that it is to predict.

    Args:
        model: an encoder and a decoder.
        batch: padded pairs.

    Returns:
        The loss of the batch.
    """
    target = batch.target[:, 1:]
    return summed_loss(model(batch.source, target, source_lengths=batch.source_lengths), target, padding=0)


LOSSES = {"shifted": seq2seq_loss(padding=0), "not shifted": unshifted_loss}


def percent_right(model: Transformer, *, masked: bool = True) -> float:
    """Translate the test sentences greedily, in one batch; return the percentage in which every word is right.

    Args:
        model: an encoder and a decoder.
        masked: whether the padding of the sources is hidden.

    Returns:
        The percentage.
    """
    words, _, test = data()
    batch, start = tasks.encode_pairs(test, words), torch.full((len(test), 1), words.index(tasks.START))
    given = {"source": batch.source, "source_lengths": batch.source_lengths if masked else None}
    written = generate.greedy(model, start, 25, end=words.index(tasks.END), **given)
    return 100 * tasks.exact_match(tasks.decode(written, words), [zh for _, zh in test])


def sentences_right(seed: int, model: str, steps: int = STEPS) -> float:
    """Train a translator of 2 layers and width 64, and translate the test sentences.

    Args:
        seed: of the first parameters and the order of the sentences.
        model: ``"encoder-decoder"``, ``"no self-attention in the decoder"``, ``"decoder-only"`` or ``"prefix"``.
        steps: of training.

    Returns:
        The percentage of unseen sentences in which every word is right.
    """
    words, _, test = data()
    if model in ("decoder-only", "prefix"):
        stack = fit(OneStack(prefix=model == "prefix", seed=seed), one_stack_loss, seed, steps)
        with torch.no_grad():
            sources = [[words.index(w) for w in en] for en, _ in test]
            written = stack.translate(sources, words.index(tasks.START), words.index(tasks.END))
        found = [tasks.decode(torch.tensor([row]), words)[0] for row in written]
        return 100 * tasks.exact_match(found, [zh for _, zh in test])
    translator = Transformer(toy(len(words), n_heads=2), seed=seed)
    off = {name: range(2) for name in interpret.attention_layers(translator) if "self_attention" in name}
    with interpret.ablate(translator, off) if model.startswith("no ") else nullcontext():
        return percent_right(fit(translator, LOSSES["shifted"], seed, steps))


@cache
def _translator(seed: int) -> Transformer:
    return fit(Transformer(toy(len(data()[0]), n_heads=2), seed=seed), LOSSES["shifted"], seed, STEPS // 2)


def right_in_a_batch(seed: int, mask: str) -> float:
    """Train a translator for 300 steps, and translate the test sentences in one batch.

    Args:
        seed: of the first parameters and the order of the sentences.
        mask: ``"with the padding mask"`` or ``"without it"``, when the trained model generates.

    Returns:
        The percentage of unseen sentences in which every word is right.
    """
    return percent_right(_translator(seed), masked=mask.startswith("with the"))


@cache
def _early(seed: int, reads: str, steps: int) -> tuple[float, float]:
    words, _, test = data()
    model = fit(Transformer(toy(len(words), n_heads=2), seed=seed), LOSSES[reads], seed, steps)
    with torch.no_grad():
        loss = LOSSES[reads](model, Pairs(*tasks.encode_pairs(test, words)[:3])).mean.item()
    return loss, percent_right(model)


def unseen_loss(seed: int, reads: str, steps: int) -> float:
    """Train a translator for some steps, and return its loss on unseen sentences.

    Args:
        seed: of the first parameters and the order of the sentences.
        reads: ``"shifted"``, or ``"not shifted"`` where the decoder reads what it is to predict.
        steps: of training.

    Returns:
        The mean loss of a word, in nats.
    """
    return _early(seed, reads, steps)[0]


def unseen_right(seed: int, reads: str, steps: int) -> float:
    """Train as :func:`unseen_loss`, and translate the unseen sentences.

    Args:
        seed: of the first parameters and the order of the sentences.
        reads: ``"shifted"`` or ``"not shifted"``.
        steps: of training.

    Returns:
        The percentage that is translated without a mistake.
    """
    return _early(seed, reads, steps)[1]


MASKS = ("with the padding mask", "without it")
MODELS = ("encoder-decoder", "no self-attention in the decoder", "decoder-only", "prefix")
READS = [{"reads": reads, "steps": steps} for reads in LOSSES for steps in (60, STEPS)]
EXPERIMENTS = [
    *(Experiment("loss", "nats", unseen_loss, settings) for settings in READS),
    *(Experiment("right", "%", unseen_right, settings, "min") for settings in READS),
    *(Experiment("sentences right", "%", sentences_right, {"model": model}, "min") for model in MODELS),
    *(Experiment("in a batch", "%", right_in_a_batch, {"mask": mask}, "min") for mask in MASKS),
]
