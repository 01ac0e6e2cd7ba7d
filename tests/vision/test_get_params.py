"""`get_params` of transforms, which programs call to treat image and mask alike, draws torchvision's numbers."""

import pyburn
import pytest
import torch
import torchvision.transforms as first
import torchvision.transforms.v2 as second
from pyburn.vision import transforms as ours

from oracle import to_torch

IMAGE, MINE = torch.zeros(3, 40, 30), pyburn.zeros(3, 40, 30)
CASES = [
    ("RandomCrop", ((20, 20),), True),
    ("RandomCrop", ((40, 30),), True),
    ("RandomCrop", ((40, 20),), True),
    ("RandomResizedCrop", ([0.08, 1.0], [0.75, 1.33]), True),
    ("RandomResizedCrop", ([2.0, 3.0], [5.0, 6.0]), True),
    ("RandomErasing", ((0.02, 0.33), (0.3, 3.3), [0.5]), True),
    ("RandomErasing", ((0.02, 0.33), (0.3, 3.3), None), True),
    ("RandomErasing", ((2.0, 2.0), (0.3, 3.3), [0.0]), True),
    ("RandomRotation", ([-30.0, 60.0],), False),
    ("RandomAffine", ([-10.0, 10.0], (0.1, 0.3), (0.5, 2.0), [1.0, 5.0], [30, 40]), False),
    ("RandomAffine", ([-10.0, 10.0], None, None, [1.0, 5.0, -3.0, 3.0], [30, 40]), False),
    ("RandomPerspective", (30, 41, 0.5), False),
    ("ColorJitter", ((0.5, 1.5), None, (0.1, 0.9), (-0.1, 0.1)), False),
    ("GaussianBlur", (0.1, 2.0), False),
    ("ElasticTransform", ([50.0, 20.0], [0.9, 0.5], [12, 9]), False),
    ("AutoAugment", (25,), False),
]


def plain(value):
    if isinstance(value, pyburn.Tensor):
        value = to_torch(value.detach().contiguous())
    if isinstance(value, torch.Tensor):
        return value.tolist()
    return [plain(part) for part in value] if isinstance(value, tuple | list) else value


@pytest.mark.parametrize("judge", [first, second])
@pytest.mark.parametrize(("name", "arguments", "of_image"), CASES)
def test_numbers_are_torchvisions(name, arguments, of_image, judge):
    for seed in range(3):
        torch.manual_seed(seed)
        expected = getattr(judge, name).get_params(*([IMAGE] if of_image else []), *arguments)
        after = torch.rand(1).item()
        pyburn.manual_seed(seed)
        found = getattr(ours, name).get_params(*([MINE] if of_image else []), *arguments)
        assert pyburn.rand(1).item() == after
        if name == "ElasticTransform":
            torch.testing.assert_close(torch.tensor(plain(found)), expected, rtol=1e-5, atol=1e-6)
        else:
            assert plain(found) == plain(expected)


def test_a_part_larger_than_the_image_is_refused():
    with pytest.raises(ValueError, match=r"Required crop size \(50, 50\) is larger than input image size \(40, 30\)"):
        ours.RandomCrop.get_params(MINE, (50, 50))
