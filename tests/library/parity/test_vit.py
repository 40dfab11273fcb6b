"""Parity of `VisionTransformer` with ViT of `transformers`: values and every gradient, in float64, at unit scale."""

import pytest
import torch
from transformers import ViTConfig, ViTForImageClassification

from companion.vision import VisionTransformer, patchify

BATCH, SIDE, SIZE, CHANNELS, D, HEADS, FF, LAYERS, CLASSES = 2, 20, 4, 3, 12, 6, 7, 5, 11
EPS = 1e-3  # far from the default of both
ATOL = 1e-12  # float64 on numbers of unit size: four orders above the rounding

NAMES = {
    "vit.embeddings.patch_embeddings.projection": "embed",
    "vit.embeddings.cls_token": "token",
    "vit.embeddings.position_embeddings": "position",
    "vit.layernorm": "encoder.final_norm",
    "classifier": "head",
}
LAYER = {
    "attention.q_proj": "attention.w_q",
    "attention.k_proj": "attention.w_k",
    "attention.v_proj": "attention.w_v",
    "attention.o_proj": "attention.w_o",
    "layernorm_before": "norm_1",
    "layernorm_after": "norm_2",
    "mlp.fc1": "feed_forward.w_1",
    "mlp.fc2": "feed_forward.w_2",
}


def make_pair(randn):
    """Make both models with the same numbers, of a size that keeps every layer's output at unit size."""
    sizes = {"image_size": SIDE, "patch_size": SIZE, "num_channels": CHANNELS, "hidden_size": D}
    sizes |= {"num_attention_heads": HEADS, "intermediate_size": FF, "num_hidden_layers": LAYERS}
    sizes |= {"layer_norm_eps": EPS, "num_labels": CLASSES}
    theirs = ViTForImageClassification(ViTConfig(**sizes)).double().eval()
    ours = VisionTransformer(SIDE, SIZE, CHANNELS, D, HEADS, FF, LAYERS, CLASSES, eps=EPS, seed=0).double()
    names = NAMES | {
        f"vit.layers.{i}.{their}": f"encoder.layers.{i}.{our}" for i in range(LAYERS) for their, our in LAYER.items()
    }
    their_numbers, our_numbers = dict(theirs.named_parameters()), dict(ours.named_parameters())
    pairs = []
    for their, our in names.items():
        for kind in ("", ".weight", ".bias"):
            if their + kind in their_numbers:
                pairs.append((their_numbers.pop(their + kind), our_numbers.pop(our + kind)))
    assert not their_numbers
    assert not our_numbers
    with torch.no_grad():
        for their, our in pairs:
            their.copy_(randn(*their.shape) * (their[0].numel() ** -0.5 if their.ndim in (2, 4) else 1.0))
            our.copy_(their.reshape(our.shape))
    return theirs, ours, pairs


def test_logits_hidden_states_and_gradients_equal_those_of_vit(randn):
    theirs, ours, pairs = make_pair(randn)
    images = randn(BATCH, CHANNELS, SIDE, SIDE)
    expected = theirs(images, output_hidden_states=True)
    torch.testing.assert_close(ours(images), expected.logits, rtol=0, atol=ATOL)
    torch.testing.assert_close(ours.hidden(images), theirs.vit(images).last_hidden_state, rtol=0, atol=ATOL)
    upstream = randn(BATCH, CLASSES)
    got = torch.autograd.grad(ours(images), [our for _, our in pairs], upstream)
    want = torch.autograd.grad(expected.logits, [their for their, _ in pairs], upstream)
    for our, their in zip(got, want, strict=True):
        torch.testing.assert_close(our, their.reshape(our.shape), rtol=0, atol=ATOL)


@pytest.mark.parametrize(("height", "width", "size"), [(6, 9, 3), (4, 4, 4), (5, 7, 1)])
def test_a_linear_map_of_patches_is_a_convolution_with_as_large_a_stride(randn, height, width, size):
    images, kernel, bias = randn(2, 3, height, width), randn(11, 3, size, size), randn(11)
    expected = torch.nn.functional.conv2d(images, kernel, bias, stride=size).flatten(2).mT
    got = torch.nn.functional.linear(patchify(images, size), kernel.flatten(1), bias)
    torch.testing.assert_close(got, expected, rtol=0, atol=ATOL)


def test_patches_come_row_by_row_and_keep_every_number(randn):
    images = randn(7, 2, 3, 6, 10)  # two axes of a batch
    patches = patchify(images, 2)
    assert patches.shape == (7, 2, 15, 12)
    for number in range(15):
        row, column = divmod(number, 5)
        square = images[..., 2 * row : 2 * row + 2, 2 * column : 2 * column + 2]
        assert patches[..., number, :].equal(square.flatten(-3))


@pytest.mark.parametrize(("shape", "size"), [((3, 8, 9), 2), ((3, 9, 8), 2), ((8, 8), 2)])
@pytest.mark.usefixtures("shape_checks_off")
def test_images_that_do_not_fit_the_patches_are_refused(randn, shape, size):
    with pytest.raises(ValueError, match=r"size divides height and width: got \(.*\) and size=2\. Pad or resize them"):
        patchify(randn(*shape), size)


@pytest.mark.usefixtures("shape_checks_off")
def test_sizes_that_do_not_fit_the_model_are_refused(randn):
    with pytest.raises(ValueError, match=r"size divides side: got size=3 and side=8\. Take another size of patches"):
        VisionTransformer(8, 3, 1, 8, 2, 16, 1, 10)
    model = VisionTransformer(8, 2, 1, 8, 2, 16, 1, 10, seed=0)
    with pytest.raises(ValueError, match=r"16 patches, one a learned position: got 25\. Resize the image"):
        model(torch.zeros(1, 1, 10, 10))


def test_the_seed_decides_the_weights_and_positions_tell_patches_apart():
    first, again, other = (VisionTransformer(8, 2, 1, 8, 2, 16, 1, 10, seed=seed) for seed in (0, 0, 1))
    images = torch.randn(1, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        assert first(images).equal(again(images))
        assert not first(images).equal(other(images))
        upside_down = images.unflatten(2, (4, 2)).flip(2).flatten(2, 3)  # rows of patches in the other order
        torch.testing.assert_close(patchify(upside_down, 2).sum(1), patchify(images, 2).sum(1))
        assert not torch.allclose(first(images), first(upside_down), atol=1e-6)
        first.position.zero_()
        torch.testing.assert_close(first(images), first(upside_down))
