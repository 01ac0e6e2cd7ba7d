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


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("shape", [(3, 5, 7, 4), (2, 16, 9, 9), (2, 3, 4, 5, 6), (4, 1, 5, 5)])
def test_norms_and_means_of_images(shape, training):
    """Values, strides, running statistics and gradients."""
    format = {4: "channels_last", 5: "channels_last_3d"}[len(shape)]
    numbers = torch.randn(shape, generator=torch.Generator().manual_seed(1)).tolist()
    made = []
    for lib in (pyburn, torch):
        norm = (lib.nn.BatchNorm2d if len(shape) == 4 else lib.nn.BatchNorm3d)(shape[1]).train(training)
        pool = lib.nn.AdaptiveAvgPool2d(1) if len(shape) == 4 else lib.nn.AdaptiveAvgPool3d(1)
        with lib.no_grad():
            norm.weight.copy_(lib.arange(shape[1]) + 0.5)
        x = lib.tensor(numbers).to(memory_format=getattr(lib, format)).requires_grad_()
        y, z = norm(x), pool(x)
        (y.square().mul(lib.tensor(numbers)).sum() + z.square().sum()).backward()
        values = [y, z, x.grad, norm.weight.grad, norm.bias.grad, norm.running_mean, norm.running_var]
        layout = (tuple(y.stride()), tuple(z.stride()), type(y.grad_fn).__name__)
        made.append(([value.tolist() for value in values], *layout))
    for ours, theirs in zip(made[0][0], made[1][0], strict=True):
        torch.testing.assert_close(torch.tensor(ours), torch.tensor(theirs), rtol=1e-4, atol=1e-4)
    assert made[0][1:] == made[1][1:]
