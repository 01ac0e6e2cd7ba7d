"""What is made of one image with channels last lies in memory as in torch: masks of dropout follow that order."""

import pyburn
import pytest
import torch

CASES = {
    "stack": lambda lib, x: lib.stack([x, x]),
    "cat": lambda lib, x: lib.cat([x[None], x[None]]),
    "cat of batches": lambda lib, x: lib.cat([x[None].clone(), x[None].contiguous()]),
    "conv": lambda lib, x: lib.nn.functional.conv2d(x[None], lib.ones(2, 3, 3, 3)),
    "max_pool": lambda lib, x: lib.nn.functional.max_pool2d(x[None], 2),
    "avg_pool": lambda lib, x: lib.nn.functional.avg_pool2d(x[None], 2),
    "interpolate": lambda lib, x: lib.nn.functional.interpolate(x[None], size=(5, 5), mode="bilinear"),
    "real batch": lambda lib, x: lib.cat([x.permute(1, 2, 0)[None].permute(0, 3, 1, 2)] * 2),
    "cut batch": lambda lib, x: lib.nn.functional.max_pool2d(
        lib.zeros(2, 9, 9, 3).permute(0, 3, 1, 2)[:, :, 1:, 2:], 2
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_strides_are_torchs(name):
    made = [CASES[name](lib, lib.zeros(8, 9, 3).permute(2, 0, 1)) for lib in (pyburn, torch)]
    assert tuple(made[0].stride()) == tuple(made[1].stride())
