"""Parity of `companion.contrastive` with CLIP of `transformers`, in float64, and what the loss must keep."""

import math

import pytest
import torch
from transformers import CLIPConfig, CLIPModel

from companion.contrastive import contrastive_loss, similarities

ATOL = 1e-12  # float64 on numbers of unit size: four orders above the rounding


def make_clip(randn):
    """Make a small CLIP with random weights and a temperature of its own."""
    sizes = {"hidden_size": 12, "intermediate_size": 20, "num_hidden_layers": 1, "num_attention_heads": 3}
    text = sizes | {"vocab_size": 30, "max_position_embeddings": 6}
    text |= {"bos_token_id": 28, "eos_token_id": 29}
    vision = sizes | {"image_size": 8, "patch_size": 4}
    model = CLIPModel(CLIPConfig(text_config=text, vision_config=vision, projection_dim=7)).double().eval()
    with torch.no_grad():
        for numbers in model.parameters():
            numbers.copy_(randn(numbers.numel()).view_as(numbers) / 2)
        model.logit_scale.fill_(math.log(5.0))
    return model


def test_scores_loss_and_gradients_equal_those_of_clip(randn):
    model = make_clip(randn)
    pixels, tokens = randn(5, 3, 8, 8), torch.randint(28, (5, 6), generator=torch.Generator().manual_seed(0))
    tokens[:, -1] = 29
    theirs = model(input_ids=tokens, pixel_values=pixels, return_loss=True)
    images = model.visual_projection(model.vision_model(pixels).pooler_output)
    texts = model.text_projection(model.text_model(tokens).pooler_output)
    ours = similarities(images, texts, model.logit_scale)
    torch.testing.assert_close(ours, theirs.logits_per_image, rtol=0, atol=ATOL)
    loss = contrastive_loss(images, texts, model.logit_scale)
    torch.testing.assert_close(loss, theirs.loss, rtol=0, atol=ATOL)
    learned = [model.logit_scale, model.visual_projection.weight, model.text_projection.weight]
    got, want = (torch.autograd.grad(x, learned, retain_graph=True) for x in (loss, theirs.loss))
    for our, their in zip(got, want, strict=True):
        torch.testing.assert_close(our, their, rtol=0, atol=ATOL)


def test_the_lengths_of_the_vectors_do_not_count(randn):
    images, texts, scale = randn(4, 6), randn(3, 6), torch.tensor(0.7).double()
    expected = similarities(images, texts, scale)
    longer = similarities(images * randn(4, 1).exp(), texts * randn(3, 1).exp(), scale)
    torch.testing.assert_close(longer, expected, rtol=0, atol=ATOL)


def test_equal_scores_cost_the_logarithm_of_the_batch(randn):
    images = randn(1, 6).expand(9, 6)
    loss = contrastive_loss(images, randn(9, 6), torch.tensor(-50.0).double())
    assert loss.item() == pytest.approx(math.log(9))


@pytest.mark.parametrize(("n", "m"), [(3, 2), (2, 3), (0, 0)])
@pytest.mark.usefixtures("shape_checks_off")
def test_images_without_a_text_of_their_own_are_refused(randn, n, m):
    with pytest.raises(ValueError, match=rf"got {n} images and {m} texts\. Give one text an image"):
        contrastive_loss(randn(n, 6), randn(m, 6), torch.tensor(0.0).double())
