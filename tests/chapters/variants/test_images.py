"""The small DETR of the page on images, against simpler ways to get what it draws, matches and counts."""

from itertools import permutations

import pytest
import torch

from companion import pictures
from companion.chapters.variants import detection, experiments_images
from companion.chapters.variants.pictures import images as drawn
from companion.tasks import digits
from companion.vision import VisionTransformer
from tests.tools.layout import read


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(0)


@pytest.fixture
def outputs(generator):
    """Answers of six queries on 20 canvases in which class and position both matter, and what is on them."""
    _, kinds, places = detection.canvases(20, generator)
    logits = 3 * torch.randn(20, 6, 11, generator=generator)
    return logits, 0.45 + 0.1 * torch.rand(20, 6, 2, generator=generator), kinds, places


@pytest.mark.parametrize(("train", "own"), [(True, slice(0, 1000)), (False, slice(1000, 1797))])
def test_a_canvas_holds_digits_of_its_own_part_in_cells_of_their_own(generator, train, own):
    images, kinds, places = detection.canvases(60, generator, train=train)
    count = (kinds != detection.NONE).sum(1)
    assert set(count.tolist()) == {1, 2, 3}
    shapes, labels = (x[own] for x in digits())
    for image, row, centres, n in zip(images[:, 0], kinds, places, count.tolist(), strict=True):
        assert (row[n:] == detection.NONE).all()
        rest = image.clone()
        for kind, centre in zip(row[:n], centres[:n], strict=True):
            top, left = (centre * 24 - 4).round().long().tolist()
            cell = rest[top : top + 8, left : left + 8]
            assert any((4 * cell).equal(shape) for shape in shapes[labels == kind])
            cell.zero_()
        assert rest.abs().max() == 0


def test_the_matching_is_the_cheapest_of_all(outputs):
    logits, centres, kinds, places = outputs
    found = detection.chosen_queries(logits, centres, kinds, places)
    chances = logits.softmax(-1)
    for row in range(20):
        n = int((kinds[row] != detection.NONE).sum())

        def cost(queries, row=row):
            return sum(
                5 * (centres[row, j] - places[row, i]).abs().sum() - chances[row, j, kinds[row, i]]
                for i, j in enumerate(queries)
            )

        best = min(cost(queries) for queries in permutations(range(6), n))
        assert len(set(found[row, :n].tolist())) == n
        torch.testing.assert_close(cost(found[row, :n].tolist()), best)


def test_a_fixed_order_gives_the_first_query_the_topmost_object_or_the_first(outputs):
    logits, centres, kinds, places = outputs
    assert (detection.chosen_queries(*outputs, way="as drawn") == torch.arange(3)).all()
    found = detection.chosen_queries(*outputs, way="top to bottom")
    for row in range(20):
        n = int((kinds[row] != detection.NONE).sum())
        there = sorted(range(n), key=lambda i: places[row, i].tolist())
        assert [there.index(i) for i in range(n)] == found[row, :n].tolist()
    with pytest.raises(ValueError, match="way is one of matched, top to bottom, as drawn: got 'sorted'"):
        detection.chosen_queries(logits, centres, kinds, places, "sorted")


def test_the_loss_is_that_of_each_query_and_of_the_distances(outputs):
    logits, centres, kinds, places = outputs
    chosen = detection.chosen_queries(*outputs)
    for none in (1.0, 0.3):
        total = weight = distance = 0.0
        for row in range(20):
            targets = [detection.NONE] * 6
            for kind, place, query in zip(kinds[row], places[row], chosen[row].tolist(), strict=True):
                if kind != detection.NONE:
                    targets[query] = int(kind)
                    distance += (centres[row, query] - place).abs().sum()
            for query, target in enumerate(targets):
                w = none if target == detection.NONE else 1.0
                total -= w * logits[row, query].log_softmax(-1)[target]
                weight += w
        expected = total / weight + 5 * distance / (kinds != detection.NONE).sum()
        torch.testing.assert_close(detection.set_loss(*outputs, none=none), expected)


def test_the_order_of_queries_and_of_objects_does_not_matter_to_the_matched_loss(outputs, generator):
    logits, centres, kinds, places = outputs
    turn = torch.randperm(6, generator=generator)
    loss = detection.set_loss(*outputs)
    torch.testing.assert_close(detection.set_loss(logits[:, turn], centres[:, turn], kinds, places), loss)
    full = (kinds != detection.NONE).all(1)
    some = [x[full] for x in outputs]
    swapped = [some[0], some[1], some[2].flip(1), some[3].flip(1)]
    torch.testing.assert_close(detection.set_loss(*swapped), detection.set_loss(*some))
    fixed = [detection.set_loss(*x, way="as drawn") for x in (some, swapped)]
    assert not torch.allclose(*fixed)


def test_what_is_found_and_what_is_too_much(outputs):
    _, _, kinds, places = outputs
    kinds, places = kinds[:1].clone(), places[:1]
    kinds[0] = torch.tensor([7, 2, detection.NONE])
    logits, centres = torch.zeros(1, 6, 11), torch.full((1, 6, 2), 0.5)
    said = [7, 7, 10, 2, 10, 10]
    logits[0, torch.arange(6), torch.tensor(said)] = 9.0
    centres[0, 0] = centres[0, 1] = places[0, 0] + 1.9 / 24
    centres[0, 3] = places[0, 1] + torch.tensor([0.0, 2.1]) / 24
    assert detection.judge(logits, centres, kinds, places) == {"found": 50.0, "extra": 2.0, "right": 0.0}
    centres[0, 3] = places[0, 1]
    logits[0, 1, 10] = 99.0
    assert detection.judge(logits, centres, kinds, places) == {"found": 100.0, "extra": 0.0, "right": 100.0}


def test_a_training_run_changes_the_model_and_an_untrained_one_finds_nothing():
    before, after = (detection.trained(0, steps=steps) for steps in (0, 3))
    assert not before.queries.equal(after.queries)
    assert experiments_images.judged(0, "matched", 1.0, 0)["found"] < 5
    assert experiments_images.mark(0, "matched", 1.0, 0, "right") == 0


def test_the_networks_that_are_compared_are_as_large_and_one_has_no_positions():
    sizes = {
        kind: sum(p.numel() for p in experiments_images.network(kind, 0).parameters())
        for kind in experiments_images.RATES
    }
    assert (sizes["ViT"], sizes["CNN"]) == (18218, 18346)
    blind = experiments_images.network("ViT, no positions", 0)
    images = torch.rand(2, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    upside_down = images.unflatten(2, (4, 2)).flip(2).flatten(2, 3)
    with torch.no_grad():
        torch.testing.assert_close(blind(images), blind(upside_down))
    assert not blind.position.requires_grad
    assert isinstance(experiments_images.network("ViT", 0), VisionTransformer)


def test_a_network_that_is_trained_on_more_digits_names_more(monkeypatch):
    monkeypatch.setattr(experiments_images, "UPDATES", 60)
    few, many = (experiments_images.named(0, "CNN", size) for size in (10, 500))
    assert 5 < few < many < 100


def test_the_digit_drawn_is_the_fourth_of_the_book_and_all_its_patches_are_there():
    image, label = (x[3] for x in digits())
    assert tuple("".join(str(round(v)) for v in row) for row in image.tolist()) == drawn.DIGIT
    assert label == 3
    for canvas in (pictures.patches_as_tokens().wide, pictures.patches_as_tokens().narrow):
        texts = [text.said for text in read(canvas.svg())[0]]
        assert f"{(8 // drawn.PATCH) ** 2} patches" in texts
        assert texts.count(str(label.item())) == 1


def test_the_queries_drawn_say_what_is_there_and_each_object_has_its_own():
    assert len(drawn.SAID) == detection.QUERIES
    assert all(drawn.SAID[query] == name for name, query in drawn.OBJECTS.items())
    assert len(set(drawn.OBJECTS.values())) == len(drawn.OBJECTS)
    assert drawn.SAID.count("3") == 2
    for canvas in (pictures.object_queries().wide, pictures.object_queries().narrow):
        texts = [text.said for text in read(canvas.svg())[0]]
        assert texts.count("none") == 3
        assert [texts.count(name) for name in ("8", "3")] == [3, 4]
