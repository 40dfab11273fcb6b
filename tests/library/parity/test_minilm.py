"""Parity of the sentence embeddings of all-MiniLM-L6-v2 with those of `transformers` from the same local folder."""

import pytest
import torch
import torch.nn.functional as F
from transformers import AutoModel, AutoTokenizer

from companion.pretrained import load_bert, minilm_folder, sentence_embedding

SENTENCES = [
    "A man is eating food.",
    "Attention weighs the values; the weights sum to one, and nobody needs more than seven heads.",
    "注意力机制 works on any language (badly, here).",
    "",  # only the two special tokens
    "one two three " * 200,  # longer than the 512 positions of the model: cut
]


@pytest.fixture(scope="module")
def theirs():
    return AutoModel.from_pretrained(minilm_folder()).eval()


@pytest.fixture(scope="module")
def ours():
    return load_bert(minilm_folder())


def their_embedding(model, sentences):
    tokenizer = AutoTokenizer.from_pretrained(minilm_folder())
    batch = tokenizer(sentences, padding=True, truncation=True, max_length=512, return_tensors="pt")
    assert batch["input_ids"].shape[1] == 512
    with torch.no_grad():
        hidden = model(**batch).last_hidden_state
    real = batch["attention_mask"][..., None].to(hidden.dtype)
    return F.normalize((hidden * real).sum(dim=1) / real.sum(dim=1), dim=-1)


def test_sentence_embeddings_agree_to_the_rounding_of_float32(ours, theirs):
    got = sentence_embedding(*ours, SENTENCES)
    assert got.dtype == torch.float32
    torch.testing.assert_close(got, their_embedding(theirs, SENTENCES), rtol=0, atol=1e-5)  # 3e-7 here


def test_sentence_embeddings_agree_in_float64(ours, theirs):
    """The same weights, widened: what is left is the rounding of float64, on vectors of length 1."""
    model, tokenizer = ours
    try:
        got, want = (
            sentence_embedding(model.double(), tokenizer, SENTENCES),
            their_embedding(theirs.double(), SENTENCES),
        )
    finally:
        model.float(), theirs.float()
    torch.testing.assert_close(got, want, rtol=0, atol=1e-12)


def test_a_sentence_means_the_same_alone_and_in_a_batch(ours):
    model, tokenizer = ours
    whole = sentence_embedding(model, tokenizer, SENTENCES)
    alone = torch.cat([sentence_embedding(model, tokenizer, [sentence]) for sentence in SENTENCES])
    torch.testing.assert_close(whole, alone, rtol=0, atol=1e-5)  # float32: the products are summed in another order


def test_sentences_of_one_meaning_are_close_and_others_are_not(ours):
    """What the model is for: the paraphrase is nearer than a sentence that shares more of the words."""
    vectors = sentence_embedding(*ours, ["A man is eating food.", "Someone has a meal.", "A man is riding a horse."])
    cosines = vectors @ vectors.T
    torch.testing.assert_close(cosines.diag(), torch.ones(3), rtol=0, atol=1e-5)
    assert cosines[0, 1] > cosines[0, 2] + 0.1


def test_the_checkpoint_has_22_6_million_parameters_without_the_pooler(ours, theirs):
    count = sum(parameter.numel() for parameter in ours[0].parameters())
    pooler = sum(parameter.numel() for parameter in theirs.pooler.parameters())
    assert (count, pooler) == (22_565_376, 384 * 384 + 384)
    assert count + pooler == sum(parameter.numel() for parameter in theirs.parameters())
