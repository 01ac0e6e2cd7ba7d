"""Images of bytes in another size have torch's very bytes, whatever the sizes."""

import itertools

import pyburn
import pytest
import torch
from pyburn import _core
from pyburn.nn import functional as ours
from torch.nn import functional as theirs

from oracle import from_torch

SIZES = [((1, 1), (5, 7)), ((3, 9), (2, 4)), ((17, 40), (8, 33)), ((64, 65), (100, 2)), ((200, 300), (31, 16))]


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize(("antialias", "align"), [(True, False), (False, False), (False, True)])
def test_bytes_are_torchs(mode, antialias, align):
    torch.manual_seed(0)
    for (old, new), channels, last in itertools.product(SIZES, (1, 3, 4, 6), (False, True)):
        images = torch.randint(0, 256, (2, channels, *old), dtype=torch.uint8)
        images[0] = (images[0] > 128) * 255  # edges, where sums leave the range
        mine = from_torch(images)
        if last:
            images = images.to(memory_format=torch.channels_last)
            mine = mine.to(memory_format=pyburn.channels_last)
        options = {"size": new, "mode": mode, "antialias": antialias, "align_corners": align}
        found, expected = ours.interpolate(mine, **options), theirs.interpolate(images, **options)
        assert found.tolist() == expected.tolist(), (old, new, channels)
        assert found.dtype == pyburn.uint8


def test_a_part_and_an_empty_batch_are_resized_too():
    images = torch.arange(2 * 3 * 20 * 30).reshape(2, 3, 20, 30).to(torch.uint8)
    part, mine = images[:, ::2, 3:, ::2], from_torch(images)[:, ::2, 3:, ::2]
    options = {"size": (9, 8), "mode": "bilinear", "antialias": True}
    assert ours.interpolate(mine, **options).tolist() == theirs.interpolate(part, **options).tolist()
    assert ours.interpolate(mine[:0], **options).shape == (0, 2, 9, 8)


def test_weights_out_of_range_are_refused():
    image = pyburn.zeros(1, 1, 4, 4, dtype=pyburn.uint8)
    numbers = _core.from_numpy(torch.tensor([14, 3, 2, 1, 1], dtype=torch.int32).numpy())._bytes()
    with pytest.raises(RuntimeError, match="out of range"):
        _core._resample_bytes(image, numbers, None)
    with pytest.raises(TypeError, match="bytes"):
        _core._resample_bytes(image.float(), None, None)
