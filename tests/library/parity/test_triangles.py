"""Triangle updates equal the modules of ESMFold in transformers, and keep the symmetries of pairs."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn
from transformers.models.esm import modeling_esmfold as esmfold

from companion.seeding import seeded
from companion.triangles import TriangleAttention, TriangleMultiplication

MULTIPLICATION = {
    "layer_norm_in": "norm_in",
    "layer_norm_out": "norm_out",
    "linear_a_p": "a",
    "linear_a_g": "a_gate",
    "linear_b_p": "b",
    "linear_b_g": "b_gate",
    "linear_g": "gate",
    "linear_z": "out",
}
ATTENTION = {
    "layer_norm": "norm",
    "linear": "bias",
    "mha.linear_q": "q",
    "mha.linear_k": "k",
    "mha.linear_v": "v",
    "mha.linear_g": "gate",
    "mha.linear_o": "out",
}
LAYERS = {
    "multiplication": (lambda first: TriangleMultiplication(8, outgoing=first), MULTIPLICATION),
    "attention": (lambda first: TriangleAttention(8, 2, 3, starting=first), ATTENTION),
}


def pair_of_layers(kind, first):
    """Our layer and theirs in float64, with the same random parameters."""
    with seeded(1):
        make, names = LAYERS[kind]
        ours = make(first).double()
        if kind == "multiplication":
            theirs = esmfold.EsmFoldTriangleMultiplicativeUpdate(SimpleNamespace(pairwise_state_dim=8), _outgoing=first)
        else:
            theirs = esmfold.EsmFoldTriangleAttention(8, 3, 2, starting=first)
        theirs = theirs.double()
        for parameter in theirs.parameters():
            nn.init.normal_(parameter)
    for their, our in names.items():
        getattr(ours, our).load_state_dict(theirs.get_submodule(their).state_dict())
    return ours, theirs


def pairs(*shape):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(2))


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("first", [True, False])
def test_a_triangle_update_equals_that_of_transformers(kind, first):
    ours, theirs = pair_of_layers(kind, first)
    z = pairs(2, 5, 5, 8)
    assert sum(p.numel() for p in ours.parameters()) == sum(p.numel() for p in theirs.parameters())
    torch.testing.assert_close(ours(z), theirs(z), rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("first", [True, False])
def test_renaming_the_residues_renames_the_update(kind, first):
    layer, z, order = pair_of_layers(kind, first)[0], pairs(5, 5, 8), torch.tensor([3, 0, 4, 1, 2])
    torch.testing.assert_close(layer(z[order][:, order]), layer(z)[order][:, order], rtol=0, atol=1e-12)


def test_triangle_attention_around_the_other_node_is_the_first_with_all_edges_turned_round():
    first, second = (pair_of_layers("attention", way)[0] for way in (True, False))
    second.load_state_dict(first.state_dict())
    z = pairs(5, 5, 8)
    torch.testing.assert_close(second(z.transpose(0, 1)), first(z).transpose(0, 1), rtol=0, atol=1e-12)


def test_an_edge_reads_the_two_other_edges_of_its_triangles():
    """Which edges does the update of (0, 1) depend on? Rows 0 and 1, columns 0 and 1, or what shares a node."""
    z = pairs(4, 4, 8).requires_grad_()
    read = {}
    for kind in LAYERS:
        for first in (True, False):
            gradient = torch.autograd.grad(pair_of_layers(kind, first)[0](z)[0, 1].square().sum(), z)[0]
            read[kind, first] = gradient.abs().sum(-1) > 0
    rows = torch.zeros(4, 4, dtype=torch.bool)
    rows[:2] = True
    assert read["multiplication", True].equal(rows)
    columns = rows.T.clone()
    columns[0, 1] = True
    assert read["multiplication", False].equal(columns)
    assert read["attention", True].equal(rows)  # its own row, and the third edges
    assert read["attention", False].equal(columns)


@pytest.mark.usefixtures("shape_checks_off")
@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("shape", [(5, 4, 8), (5, 5, 7), (5, 8)])
def test_what_is_no_table_of_pairs_is_refused(kind, shape):
    layer = LAYERS[kind][0](True)
    with pytest.raises(ValueError, match=r"shape \(\.\.\., n, n, 8\)"):
        layer(torch.zeros(shape))


@pytest.mark.parametrize("sizes", [{"c": 0, "n_heads": 2, "d_k": 4}, {"c": 8, "n_heads": 0, "d_k": 4}])
def test_sizes_of_triangle_attention_are_positive(sizes):
    with pytest.raises(ValueError, match="at least 1"):
        TriangleAttention(**sizes)
