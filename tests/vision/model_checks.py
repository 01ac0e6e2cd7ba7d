"""Small models of both libraries, and what it means that they are the same."""

import importlib

import pyburn
import torch
import torchvision.models as theirs
from pyburn.vision import models as ours

from oracle import from_torch, to_torch

SEGMENTATION = ours.list_models(ours.segmentation)
NAMES = [name for name in ours.list_models() if name != "unet"]


def tiny_convnext(library, module, **kwargs):
    stages = [module.CNBlockConfig(8, 16, 1), module.CNBlockConfig(16, None, 2)]
    return library.ConvNeXt(stages, 0.5, layer_scale=0.5, **kwargs)


def tiny_efficientnet(library, module, **kwargs):
    stages = [module.FusedMBConvConfig(1, 3, 1, 8, 8, 2), module.FusedMBConvConfig(4, 3, 2, 8, 16, 1)]
    return library.EfficientNet([*stages, module.MBConvConfig(4, 5, 2, 16, 24, 2)], 0.2, last_channel=32, **kwargs)


def tiny_swin_v2(library, module, **kwargs):
    parts = {"block": module.SwinTransformerBlockV2, "downsample_layer": module.PatchMergingV2}
    return library.SwinTransformer([4, 4], 8, [2, 1], [2, 4], [4, 4], **parts, **kwargs)


def tiny_vit_with_stem(library, module, **kwargs):
    stem = [module.ConvStemConfig(8, 3, 2), module.ConvStemConfig(8, 3, 2)]
    return library.VisionTransformer(48, 4, 1, 2, 16, 32, conv_stem_configs=stem, **kwargs)


# Small models, by the module of the architecture: `make(library, module, num_classes=)` for either library.
TINY = {
    "convnext": tiny_convnext,
    "densenet": lambda library, _, **kw: library.DenseNet(4, (2, 2), 8, bn_size=2, drop_rate=0.3, **kw),
    "densenet/memory efficient": lambda library, _, **kw: library.DenseNet(4, (2,), 8, memory_efficient=True, **kw),
    "efficientnet": tiny_efficientnet,
    "googlenet": lambda library, _, **kw: library.GoogLeNet(transform_input=True, **kw),
    "googlenet/without aux": lambda library, _, **kw: library.googlenet(aux_logits=False, **kw),
    "maxvit": lambda library, _, **kw: library.MaxVit(
        (64, 64), 8, 2, [8, 16], [2, 1], 4, 0.3, mlp_dropout=0.1, attention_dropout=0.1, **kw
    ),
    "mnasnet": lambda library, _, **kw: library.MNASNet(0.2, **kw),
    "mobilenetv2": lambda library, _, **kw: library.mobilenet_v2(width_mult=0.35, **kw),
    "mobilenetv3": lambda library, _, **kw: library.mobilenet_v3_small(width_mult=0.5, reduced_tail=True, **kw),
    "mobilenetv3/dilated": lambda library, _, **kw: library.mobilenet_v3_small(width_mult=0.5, dilated=True, **kw),
    "regnet": lambda library, module, **kw: library.RegNet(
        module.BlockParams.from_init_params(4, 16, 12.0, 2.0, 8, se_ratio=0.25), **kw
    ),
    "resnet": lambda library, module, **kw: library.ResNet(module.BasicBlock, [1, 2, 1, 1], **kw),
    "resnet/groups": lambda library, module, **kw: library.ResNet(
        module.Bottleneck, [1, 1, 1, 1], groups=4, width_per_group=4, zero_init_residual=True, **kw
    ),
    "resnet/dilated": lambda library, module, **kw: library.ResNet(
        module.Bottleneck, [1, 2, 2, 1], width_per_group=8, replace_stride_with_dilation=[False, True, True], **kw
    ),
    "segmentation.lraspp": lambda library, _, **kw: library.segmentation.lraspp_mobilenet_v3_large(
        weights_backbone=None, **kw
    ),
    "segmentation.deeplabv3": lambda library, _, **kw: library.segmentation.deeplabv3_mobilenet_v3_large(
        weights_backbone=None, aux_loss=True, **kw
    ),
    "shufflenetv2": lambda library, _, **kw: library.shufflenet_v2_x0_5(**kw),
    "squeezenet/1.0": lambda library, _, **kw: library.squeezenet1_0(**kw),
    "squeezenet/1.1": lambda library, _, **kw: library.squeezenet1_1(**kw),
    "swin_transformer": lambda library, _, **kw: library.SwinTransformer(
        [4, 4], 8, [2, 2], [2, 4], [3, 3], dropout=0.1, attention_dropout=0.1, stochastic_depth_prob=0.3, **kw
    ),
    "swin_transformer/v2": tiny_swin_v2,
    "vision_transformer": lambda library, _, **kw: library.VisionTransformer(
        48, 16, 2, 2, 16, 32, dropout=0.1, attention_dropout=0.1, representation_size=8, **kw
    ),
    "vision_transformer/stem": tiny_vit_with_stem,
}


def tiny(library, name, num_classes=5):
    """The small model `name` of either library, made from the same seed."""
    (torch if library is theirs else pyburn).manual_seed(7)
    module = importlib.import_module(f"{library.__name__}.{name.partition('/')[0]}")
    return TINY[name](library, module, num_classes=num_classes)


def their_model(name, **kwargs):
    return theirs.get_model(name, **({"weights_backbone": None} if name in SEGMENTATION else {}), **kwargs)


def outputs(value):
    """The tensors of an output."""
    if isinstance(value, dict):
        return list(value.values())
    return [each for each in value if each is not None] if isinstance(value, tuple) else [value]


def close(found, expected, where, tolerance):
    """Nothing; both differ by at most `tolerance` of the largest number."""
    expected = expected.detach()
    largest = float(expected.abs().max()) if expected.is_floating_point() and expected.numel() else 0.0
    torch.testing.assert_close(
        to_torch(found.detach()),
        expected,
        rtol=0,
        atol=tolerance * max(largest, 1e-3),
        msg=lambda text: f"{where}: {text}",
    )


def same_state(found, expected, tolerance=0.0):
    state = found.state_dict()
    assert list(state) == list(expected.state_dict())
    for key, value in expected.state_dict().items():
        close(state[key], value, key, tolerance)


def check_step(found, expected, images):
    """Outputs in both modes, and the gradients of a training step, from the same weights and the same seed."""
    found.double().load_state_dict({k: from_torch(v) for k, v in expected.double().state_dict().items()})
    images = images.double().requires_grad_()
    our_images = from_torch(images).requires_grad_()
    for mode in (False, True):
        torch.manual_seed(3)
        others = outputs(expected.train(mode)(images))
        pyburn.manual_seed(3)
        mine = outputs(found.train(mode)(our_images))
        for i, pair in enumerate(zip(mine, others, strict=True)):
            close(*pair, f"output {i}, training {mode}", 1e-10)
    for library, results in ((torch, others), (pyburn, mine)):
        weights = [library.arange(each.numel()).double().cos().reshape(each.shape) for each in results]
        sum((each * weight).sum() for each, weight in zip(results, weights, strict=True)).backward()
    # torch's hardsigmoid has a gradient of single precision.
    close(our_images.grad, images.grad, "gradient of the images", 1e-6)
    for (name, mine), (_, other) in zip(found.named_parameters(), expected.named_parameters(), strict=True):
        assert (mine.grad is None) == (other.grad is None), name
        if other.grad is not None:
            close(mine.grad, other.grad, f"gradient of {name}", 1e-6)
    same_state(found, expected, 1e-10)
