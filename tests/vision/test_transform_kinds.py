"""Kinds of input that transforms meet rarely: no masks, no boxes, videos, images of PIL among them; as torchvision."""

import numpy as np
import PIL.Image
import pyburn
import pyburn.vision.transforms as ours
import pytest
import torch
from pyburn.vision import tv_tensors as our_kinds
from torchvision import tv_tensors as their_kinds

from oracle import from_torch, to_torch
from vision.test_transforms import compare, make


def both(text, value, value_too, seed=3):
    torch.manual_seed(seed)
    expected = make("theirs", text)(value)
    pyburn.manual_seed(seed)
    return make("ours", text)(value_too), expected


@pytest.mark.parametrize("text", ["CenterCrop(9)", "Pad(2)", "RandomCrop(12, pad_if_needed=True)", "Resize(4)"])
def test_no_masks_get_the_new_size(text):
    for shape in ((0, 6, 5), (2, 0, 6, 5)):
        plain = torch.zeros(shape, dtype=torch.bool)
        found, expected = both(text, their_kinds.Mask(plain), our_kinds.Mask(from_torch(plain)))
        assert tuple(found.shape) == tuple(expected.shape) and type(found) is our_kinds.Mask


def test_no_boxes_keep_their_canvas_when_the_image_grows():
    about = {"format": "XYXY", "canvas_size": (8, 30)}
    plain = torch.zeros(0, 4)
    text = "RandomRotation((30, 31), expand=True)"
    found, expected = both(
        text, their_kinds.BoundingBoxes(plain, **about), our_kinds.BoundingBoxes(from_torch(plain), **about)
    )
    assert found.canvas_size == tuple(expected.canvas_size) == (8, 30)


def test_masks_of_a_part_take_the_nearest_pixels():
    torch.manual_seed(0)
    plain = torch.randint(0, 9, (1, 40, 31))
    text = "RandomResizedCrop((5, 5), interpolation='nearest-exact')"
    compare(*both(text, their_kinds.Mask(plain), our_kinds.Mask(from_torch(plain))))


@pytest.mark.parametrize("text", ["Grayscale()", "Grayscale(3)", "RandomGrayscale(1.0)", "RGB()"])
@pytest.mark.parametrize("channels", [3, 4])
def test_videos_keep_their_colours(text, channels):
    plain = torch.randint(0, 256, (2, channels, 5, 6), dtype=torch.uint8)
    found, expected = both(text, their_kinds.Video(plain), our_kinds.Video(from_torch(plain)))
    compare(found, expected)
    assert torch.equal(to_torch(found.as_subclass(pyburn.Tensor)), plain)


def test_a_video_is_one_sample_of_augmix():
    plain = torch.randint(0, 256, (3, 3, 9, 8), dtype=torch.uint8)
    for seed in range(4):
        found, expected = both("AugMix()", their_kinds.Video(plain), our_kinds.Video(from_torch(plain)), seed)
        compare(found, expected, 1)
        assert pyburn.rand(1).item() == torch.rand(1).item()


def test_an_image_of_pil_passes_convert_image_dtype():
    picture = PIL.Image.fromarray(np.zeros((4, 5, 3), np.uint8))
    assert ours.ConvertImageDtype(pyburn.float32)(picture) is picture


@pytest.mark.parametrize("name", ["AugMix", "MixUp", "CutMix"])
def test_mixtures_have_torchvisions_shares(name):
    # Shares of one last digit less made pixels of bytes one less.
    torch.manual_seed(1)
    images, labels = torch.randint(0, 256, (4, 3, 12, 13), dtype=torch.uint8), torch.tensor([0, 1, 2, 0])
    text = "AugMix(mixture_width=1)" if name == "AugMix" else f"{name}(num_classes=3)"
    for seed in range(6):
        torch.manual_seed(seed)
        judge = make("theirs", text)
        expected = judge(images) if name == "AugMix" else judge(images.float(), labels)
        pyburn.manual_seed(seed)
        mine = make("ours", text)
        found = mine(from_torch(images)) if name == "AugMix" else mine(from_torch(images).float(), from_torch(labels))
        if name == "AugMix":
            apart = (to_torch(found).int() - expected.int()).abs()
            assert apart.max() <= 1 and (apart > 0).float().mean() < 0.01
        else:
            assert found[1].tolist() == expected[1].tolist()
