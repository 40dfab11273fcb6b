"""Right answers to the stages of LoRA on a given model, written in other ways than the references."""

import torch
import torch.nn.functional as F
from torch import nn

from companion.chapters.interview.exercises.task_lora_1_layer import _layer


class Drawn(nn.Module):
    """Kaiming for `a`, the product of both matrices formed at each call."""

    def __init__(self, base, rank, alpha):
        super().__init__()
        self.base, self.rank, self.scale = base, rank, alpha / rank
        for p in self.base.parameters():
            p.requires_grad = False
        self.a = nn.Parameter(base.weight.new_empty(rank, base.weight.shape[1]))
        self.b = nn.Parameter(base.weight.new_zeros(base.weight.shape[0], rank))
        nn.init.kaiming_uniform_(self.a, a=5**0.5)

    def forward(self, x):
        return F.linear(x, self.base.weight + self.scale * torch.matmul(self.b, self.a), self.base.bias)


class Registered(nn.Module):
    """Parameters made by `register_parameter`, the scale on the narrow side, and `F.linear` twice."""

    def __init__(self, base, rank, alpha):
        super().__init__()
        self.add_module("base", base)
        self.scale = float(alpha) / float(rank)
        dtype = base.weight.dtype
        self.register_parameter("a", nn.Parameter(torch.rand(rank, base.in_features, dtype=dtype) - 0.5))
        self.register_parameter("b", nn.Parameter(torch.zeros((base.out_features, rank), dtype=dtype)))
        base.weight.requires_grad_(False)
        if base.bias is not None:
            base.bias.requires_grad_(False)

    def forward(self, x):
        narrow = F.linear(x, self.a) * self.scale
        return self.base.forward(x).add(F.linear(narrow, self.b))


def layer_by_attributes(base, rank, alpha):
    """Put forward and parameters into a plain module."""
    module = nn.Module()
    module.base, module.scale = base.requires_grad_(False), alpha / rank
    module.a = nn.Parameter(torch.rand_like(base.weight[:1].repeat(rank, 1)))
    module.b = nn.Parameter(torch.zeros_like(base.weight[:, :1]).repeat(1, rank))
    module.forward = lambda x: base(x) + module.scale * torch.einsum("...i,ri,or->...o", x, module.a, module.b)
    return module


def add_by_paths(model, names, rank, alpha):
    for p in model.parameters():
        p.requires_grad = False
    made, found = {}, []
    for path, module in [*model.named_modules(remove_duplicate=False)]:
        parent, _, name = path.rpartition(".")
        if type(module) is nn.Linear and name in names:
            adapter = made.setdefault(id(module), Drawn(module, rank, alpha) if id(module) not in made else None)
            model.get_submodule(parent).add_module(name, adapter)
            found.append(path)
    return tuple(found)


def add_by_recursion(model, names, rank, alpha):
    """Walk down the tree; freeze what is no adapter at the end."""
    made = {}

    def walk(module, path):
        found = []
        for name, child in module._modules.items():
            here = [*path, name]
            if isinstance(child, nn.Linear) and name in names:
                made[child] = made.get(child) or _layer(child, rank, alpha)
                setattr(module, name, made[child])
                found.append(".".join(here))
            elif child is not None:
                found += walk(child, here)
        return found

    found = walk(model, [])
    ours = {id(p) for module in made.values() for p in (module.a, module.b)}
    for p in model.parameters():
        p.requires_grad_(id(p) in ours)
    return found


def merge_by_the_identity(model):
    """Read the merged weight off the adapter's outputs for the unit vectors."""
    made = {}
    for path, module in list(model.named_modules(remove_duplicate=False)):
        if hasattr(module, "scale"):
            with torch.no_grad():
                eye = torch.eye(module.base.in_features, dtype=module.base.weight.dtype)
                plain = nn.Linear(*module.base.weight.shape[::-1], bias=module.base.bias is not None, dtype=eye.dtype)
                zero = module(torch.zeros_like(eye[0]))
                plain.weight.copy_((module(eye) - zero).T)
                if module.base.bias is not None:
                    plain.bias.copy_(zero)
            made.setdefault(id(module), plain)
            parent, _, name = path.rpartition(".")
            setattr(model.get_submodule(parent), name, made[id(module)])
    return model


def merge_into_the_base(model):
    """Give the base a new weight of its own and put the base back."""
    done = set()
    for module in list(model.modules()):
        for name, child in module.named_children():
            if hasattr(child, "a"):
                if child not in done:
                    child.base.weight = nn.Parameter(
                        torch.addmm(child.base.weight, child.b, child.a, alpha=child.scale)
                    )
                    done.add(child)
                setattr(module, name, child.base)
    return model


ALTERNATIVES = {
    "lora-layer": (Drawn, Registered, layer_by_attributes),
    "lora-model": (add_by_paths, add_by_recursion),
    "lora-merge": (merge_by_the_identity, merge_into_the_base),
}


def adapters_place_by_place(model, names, rank, alpha):
    model.requires_grad_(False)
    found = [path for path, _ in model.named_modules(remove_duplicate=False) if path.split(".")[-1] in names]
    found = [path for path in found if isinstance(model.get_submodule(path), nn.Linear)]
    for path in found:
        model.set_submodule(path, _layer(model.get_submodule(path), rank, alpha))
    return found


AS_WRITTEN = [("lora-model", "two-for-one-map", adapters_place_by_place)]
