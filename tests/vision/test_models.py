"""The models of pyburn.vision are torchvision's: keys, first weights, outputs and gradients."""

import pyburn
import pytest
import torch
import torchvision.models as theirs
from pyburn.vision import models as ours

from vision.model_checks import NAMES, TINY, check_step, same_state, their_model, tiny

# One of each kind; the others differ by their sizes.
KINDS = "alexnet convnext_tiny deeplabv3_mobilenet_v3_large densenet121 efficientnet_b0 efficientnet_v2_s fcn_resnet50"
KINDS += " googlenet inception_v3 lraspp_mobilenet_v3_large mnasnet0_5 mobilenet_v2 mobilenet_v3_large regnet_x_400mf"
KINDS += " regnet_y_400mf resnet18 resnext50_32x4d shufflenet_v2_x0_5 squeezenet1_0 squeezenet1_1 swin_t swin_v2_t"
KINDS += " maxvit_t vgg11 vgg11_bn vit_b_16 wide_resnet50_2"
# The larger ones of those that have no small version, and ResNets under segmentation heads.
WHOLE = ["alexnet", "vgg11", "vgg13_bn", "inception_v3", "fcn_resnet50", "deeplabv3_resnet50", "vit_b_32", "swin_v2_t"]
WHOLE += ["resnet50", "densenet121", "efficientnet_b1", "efficientnet_v2_s", "convnext_tiny", "mobilenet_v3_large"]


# torchvision warns that the drawing of these weights may change.
pytestmark = pytest.mark.filterwarnings("ignore:The default weight initialization:FutureWarning")


def described(model):
    state = {key: (tuple(v.shape), str(v.dtype).split(".")[1]) for key, v in model.state_dict().items()}
    parameters = [(name, p.numel(), p.requires_grad) for name, p in model.named_parameters()]
    return list(state.items()), parameters, repr(model)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in KINDS.split() else pytest.mark.slow) for name in NAMES]
)
def test_every_model_has_torchvisions_layers_and_keys(name, monkeypatch):
    # torchvision computes RegNet's sizes with tensors, which have no values on the meta device.
    sizes = theirs.regnet.BlockParams
    made = sizes.from_init_params.__func__

    def from_init_params(cls, *args, **kwargs):
        with torch.device("cpu"):
            return made(cls, *args, **kwargs)

    monkeypatch.setattr(sizes, "from_init_params", classmethod(from_init_params))
    with torch.device("meta"):
        expected = described(their_model(name, num_classes=7))
    with pyburn.device("meta"):
        assert described(ours.get_model(name, num_classes=7)) == expected


def test_every_classifier_of_torchvision_is_there():
    names = theirs.list_models(theirs) + theirs.list_models(theirs.segmentation)
    assert set(names) <= set(ours.list_models())


@pytest.mark.parametrize("name", TINY)
def test_first_weights_are_torchvisions(name):
    # torch's vectorised log2 of Swin v2's distances may differ in the last bit.
    same_state(tiny(ours, name), tiny(theirs, name), 2e-7 if name == "swin_transformer/v2" else 0.0)


@pytest.mark.parametrize("name", TINY)
def test_outputs_and_gradients_are_torchvisions(name):
    torch.manual_seed(1)
    size = {"vision_transformer": 48, "swin_transformer": 33, "googlenet": 40}.get(name.partition("/")[0], 64)
    check_step(tiny(ours, name), tiny(theirs, name), torch.randn(4, 3, size, size))


@pytest.mark.slow
@pytest.mark.parametrize("name", WHOLE)
def test_whole_models_are_torchvisions(name):
    size = {"inception_v3": 299, "vit_b_32": 224}.get(name, 96)
    torch.manual_seed(7)
    expected = their_model(name, num_classes=5)
    pyburn.manual_seed(7)
    found = ours.get_model(name, num_classes=5)
    same_state(found, expected, 2e-7 if "swin_v2" in name else 0.0)
    check_step(found, expected, torch.randn(2, 3, size, size))
