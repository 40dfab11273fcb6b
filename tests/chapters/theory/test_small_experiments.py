"""What the chapter's small experiments draw and measure, against simpler ways to get it."""

import pytest
import torch
from torch import nn

from companion.attention import attention
from companion.chapters.theory import digits, induction, languages, parity, sensitivity
from companion.interpret import head_contributions, record_attention
from companion.masks import causal
from companion.multihead import merge_heads, split_heads


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(0)


def test_a_repeated_sequence_is_its_piece_again_and_again(generator):
    tokens, piece = induction.repeated(20, generator)
    assert tokens.shape == (20, induction.LENGTH)
    assert set(piece.tolist()) <= set(range(induction.SHORTEST, induction.LONGEST + 1))
    assert len(set(piece.tolist())) > 3
    for row, size in zip(tokens.tolist(), piece.tolist(), strict=True):
        assert row[size:] == row[:-size]


def test_the_scores_of_heads_equal_loops_over_the_weights():
    model = induction.AttentionOnly(2, seed=0)
    found = induction.measure(model, count=3)
    tokens, piece = induction.repeated(3, torch.Generator().manual_seed(10**6))
    with torch.no_grad(), record_attention(model) as weights:
        logits = model(tokens)
    losses, previous, followed = [], [], []
    for row, size in enumerate(piece.tolist()):
        for query in range(size, induction.LENGTH):
            seen = torch.stack([layer[row, :, query] for layer in weights.values()])
            previous.append(seen[..., query - 1])
            followed.append(sum(seen[..., key] for key in range(query - size + 1, -1, -size)))
            if query + 1 < induction.LENGTH:
                losses.append(-logits[row, query].log_softmax(-1)[tokens[row, query + 1]])
    assert found["loss"].item() == pytest.approx(torch.stack(losses).mean().item(), abs=1e-5)
    torch.testing.assert_close(found["previous"], torch.stack(previous).mean(0))
    torch.testing.assert_close(found["induction"], torch.stack(followed).mean(0))


def test_a_path_is_hidden_from_the_one_thing_that_reads_it():
    """Beside a second layer by hand, whose queries, keys and values read streams of their own."""
    model = induction.AttentionOnly(2, seed=1)
    tokens, piece = induction.repeated(128, torch.Generator().manual_seed(10**6))
    (first, second), (below, above) = model.layers, model.norms
    with torch.no_grad():
        x = model.embedding(tokens)
        contributions = head_contributions(first, below(x), causal=True)
        whole = x + contributions.sum((1, 3))
        reads = {"whole": above(whole), "cut": above(whole - contributions[:, 1].sum(2))}
        for hidden in ("queries", "keys", "values"):
            names = ["cut" if hidden == part else "whole" for part in ("queries", "keys", "values")]
            projections = (second.w_q, second.w_k, second.w_v)
            q, k, v = (split_heads(project(reads[name]), 2) for project, name in zip(projections, names, strict=True))
            q, k = (second.position.embed(part, 0) for part in (q, k))
            merged = merge_heads(attention(q, k, v, causal(induction.LENGTH)))
            logits = model.output(whole + second.w_o(merged))
            losses = nn.functional.cross_entropy(logits[:, :-1].mT, tokens[:, 1:], reduction="none")
            expected = losses[induction.later(piece)].mean().item()
            assert induction.loss_without(model, 1, hidden) == pytest.approx(expected, abs=1e-5)


def test_circuits_are_read_from_the_parameters():
    """A model built by hand: head 0 of layer 1 stores its token, layer 2 looks for it and writes it."""
    model = induction.AttentionOnly(2, seed=0)
    width, half = induction.WIDTH, induction.WIDTH // 2
    with torch.no_grad():
        for norm in model.norms:
            norm.weight.fill_(1)
        for layer in model.layers:
            for projection in (layer.w_q, layer.w_k, layer.w_v, layer.w_o):
                projection.weight.copy_(torch.eye(width))
        shares = induction.matched(model, 0)
        low = nn.functional.layer_norm(model.embedding.weight, (width,))
        first = low[:, :half] @ low[:, :half].T  # head 0 reads and writes the first half of the features
        assert shares[0].tolist() == [(first.argmax(1) == torch.arange(32)).float().mean().item(), 1 / 32]
        for head, part in enumerate((slice(half), slice(half, width))):
            logits = low[:, part] @ model.output.weight[:, part].T
            assert shares[1, head].item() == (logits.argmax(1) == torch.arange(32)).float().mean().item()


def test_the_logit_lens_ends_in_the_loss_of_the_model():
    model = induction.AttentionOnly(2, seed=0)
    losses = induction.loss_by_layer(model)
    assert len(losses) == 3
    assert losses[-1] == pytest.approx(induction.measure(model)["loss"].item(), abs=1e-5)
    tokens, piece = induction.repeated(128, torch.Generator().manual_seed(10**6))
    with torch.no_grad():
        logits = model.output(model.embedding(tokens))
    found = [
        -logits[row, i].log_softmax(-1)[tokens[row, i + 1]]
        for row, size in enumerate(piece.tolist())
        for i in range(size, induction.LENGTH - 1)
    ]
    assert losses[0] == pytest.approx(torch.stack(found).mean().item(), abs=1e-4)


def test_parity_is_that_of_each_beginning(generator):
    tokens, wanted = parity.parity(10, 7, generator)
    assert (tokens[:, -1] == parity.EQUALS).all()
    for row, answers in zip(tokens.tolist(), wanted.tolist(), strict=True):
        assert answers == [sum(row[: i + 1]) % 2 for i in range(7)]


def test_brackets_are_balanced_beginnings_and_the_answer_is_the_innermost(generator):
    tokens, wanted = parity.brackets(50, 9, generator)
    assert set(wanted.flatten().tolist()) == {0, 1}
    for row, answer in zip(tokens[:, :-1].tolist(), wanted[:, 0].tolist(), strict=True):
        stack = []
        for bracket in row:
            if bracket < 2:
                stack.append(bracket)
            else:
                assert stack.pop() == bracket - 2
        assert stack[-1] == answer


class Counter(nn.Module):
    """Says the number of tokens that it has read, modulo 5."""

    def forward(self, tokens):
        count = torch.arange(1, tokens.shape[1] + 1) % 5
        return nn.functional.one_hot(count, 5).expand(len(tokens), -1, -1).float()


def test_a_model_reads_what_it_has_written():
    tokens, answer = parity.write(Counter(), torch.zeros(2, 3, dtype=torch.long), 3)
    assert tokens.tolist() == [[0, 0, 0, 3, 4, 0]] * 2
    assert answer.tolist() == [0, 0]


def test_the_lookup_asks_for_a_key_that_is_there(generator):
    tokens, values = languages.lookup(40, generator)
    for row, value in zip(tokens.tolist(), values.tolist(), strict=True):
        pairs = dict(divmod(token, languages.KEYS) for token in row[:-1])
        assert len(pairs) == languages.PAIRS
        assert pairs[row[-1] - languages.KEYS**2] == value


def test_the_chain_follows_its_table(generator):
    table, tokens = languages.chances(), languages.chain(4000, generator)
    counts = torch.zeros_like(table)
    index = tokens[:, :-2], tokens[:, 1:-1], tokens[:, 2:]
    counts.index_put_(index, torch.ones(index[0].shape), accumulate=True)
    often = counts.sum(-1) > 2000
    assert often.any()
    assert (counts / counts.sum(-1, keepdim=True) - table)[often].abs().max() < 0.05


class Table(nn.Module):
    """Predicts by the chain's own table, or by none of it: each of the six symbols alike."""

    def __init__(self, *, knows):
        super().__init__()
        self.knows = knows

    def forward(self, tokens):
        logits = torch.full((*tokens.shape, languages.VOCAB), -1e4)
        logits[..., : languages.SYMBOLS] = 0
        if self.knows:
            logits[:, 1:, : languages.SYMBOLS] = languages.chances()[tokens[:, :-1], tokens[:, 1:]].log()
        return logits


def test_the_score_of_the_chain_is_its_excess_in_bits(generator):
    data = languages._data("chain", 40, generator)
    assert languages._score(Table(knows=True), "chain", *data) == pytest.approx(0, abs=1e-5)
    tokens = data[0].tolist()
    told = [languages.chances()[row[i - 2], row[i - 1], row[i]].log2() for row in tokens for i in range(2, len(row))]
    missed = torch.tensor(float(languages.SYMBOLS)).log2() + sum(told) / len(told)
    assert languages._score(Table(knows=False), "chain", *data) == pytest.approx(missed.item(), abs=1e-4)


def test_a_digit_is_moved_whole(generator):
    images, labels = digits.digits()
    assert images.shape == (1797, 8, 8)
    assert torch.bincount(labels, minlength=10).tolist() == pytest.approx([180] * 10, abs=10)
    moved = digits.move(images[:30], generator)
    patches = moved.unfold(1, 8, 1).unfold(2, 8, 1).flatten(1, 2)  # (30, 9, 8, 8)
    same = (patches == images[:30, None]).all(-1).all(-1)
    assert (same.sum(1) >= 1).all()
    assert same[:, 0].any()
    assert same[:, 1:].any()
    torch.testing.assert_close(moved.sum((1, 2)), images[:30].sum((1, 2)))


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        (lambda bits: bits.sum(-1) % 2 - 0.5, 12),
        (lambda bits: bits[:, 3] - 0.5, 1),
        (lambda bits: torch.ones(len(bits)), 0),
    ],
)
def test_the_sensitivity_of_known_functions(answer, wanted, generator):
    assert sensitivity.average_sensitivity(answer, generator) == wanted
