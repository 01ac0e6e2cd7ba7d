"""Features from the middle of a model are those that torchvision's extractor gives."""

import copy

import pyburn
import pytest
import torch
import torchvision.models as theirs
from pyburn.vision import models as ours
from pyburn.vision.models.feature_extraction import create_feature_extractor, get_graph_node_names
from torchvision.models import feature_extraction as judge

from oracle import from_torch
from vision.model_checks import close

NODES = {"layer1": "early", "layer2.1.relu_1": "twice", "layer2.1.relu": "once", "avgpool": "late"}


def pair(nodes=NODES, **kwargs):
    torch.manual_seed(0)
    expected = theirs.resnet18(num_classes=3)
    found = ours.resnet18(num_classes=3, weights={k: from_torch(v) for k, v in expected.state_dict().items()})
    judged = judge.create_feature_extractor(expected, nodes, **kwargs)
    return found, create_feature_extractor(found, nodes, **kwargs), judged


def test_features_are_torchvisions():
    _, found, expected = pair()
    found.double(), expected.double()
    images = torch.randn(4, 3, 32, 32).double()
    for mode in (True, False):
        others = expected.train(mode)(images)
        mine = found.train(mode)(from_torch(images))
        assert sorted(mine) == sorted(others)
        for name, other in others.items():
            close(mine[name], other, name, 1e-9)


def test_the_last_layers_are_not_run():
    model, found, _ = pair()
    model.fc = pyburn.nn.Linear(1, 1)
    assert found.eval()(pyburn.zeros(1, 3, 32, 32))["late"].shape == (1, 512, 1, 1)
    assert not any(module._forward_hooks for module in model.modules())


def test_weights_are_the_models():
    model, found, _ = pair()
    assert list(found.state_dict()) == list(model.state_dict())
    assert all(a is b for a, b in zip(found.parameters(), model.parameters(), strict=True))
    found.eval()
    assert not model.training and not model.layer1[0].bn1.training
    found.double()
    assert model.conv1.weight.dtype == pyburn.float64
    found(pyburn.zeros(1, 3, 32, 32).double())["early"].sum().backward()
    assert model.conv1.weight.grad is not None and model.layer4[0].conv1.weight.grad is None
    twin = copy.deepcopy(found)
    pyburn.nn.init.zeros_(twin.conv1.weight)
    assert bool(model.conv1.weight.any())
    assert not bool(twin(pyburn.zeros(1, 3, 32, 32).double())["early"].isnan().any())


def test_other_layers_while_training():
    _, found, _ = pair(None, train_return_nodes=["layer1"], eval_return_nodes={"layer2": "features"})
    images = pyburn.zeros(1, 3, 32, 32)
    assert list(found.train()(images)) == ["layer1"] and list(found.eval()(images)) == ["features"]


def test_mistakes_are_named():
    model = ours.squeezenet1_1(num_classes=2)
    with pytest.raises(ValueError, match="no layer 'layer9'"):
        create_feature_extractor(model, ["layer9"])
    with pytest.raises(ValueError, match="give both"):
        create_feature_extractor(model, train_return_nodes=["features"])
    with pytest.raises(ValueError, match="give return_nodes"):
        create_feature_extractor(model)
    with pytest.raises(ValueError, match="'features' was not called that often"):
        create_feature_extractor(model, ["features_1"])(pyburn.zeros(1, 3, 64, 64))


@pytest.mark.filterwarnings("ignore:NOTE. The nodes obtained:UserWarning")
@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v3_small", "densenet121", "squeezenet1_1", "convnext_tiny"])
def test_names_of_nodes_are_torchvisions(name):
    model = ours.get_model(name).eval()
    assert get_graph_node_names(model) == judge.get_graph_node_names(theirs.get_model(name))
    assert not model.training


def test_weights_know_their_classes():
    for name in ("ResNet50_Weights.IMAGENET1K_V2", "FCN_ResNet50_Weights.COCO_WITH_VOC_LABELS_V1"):
        assert ours.get_weight(name).meta["categories"] == theirs.get_weight(name).meta["categories"]


def test_functions_inside_layers_have_names_too():
    nodes = {"layer1.0.add": "sum", "layer2.1.relu_1": "twice", "flatten": "flat", "layer3": "whole"}
    model, found, expected = pair(nodes)
    found.double(), expected.double()
    images = torch.randn(2, 3, 40, 33).double()
    for mode in (True, False):
        others, mine = expected.train(mode)(images), found.train(mode)(from_torch(images))
        assert sorted(mine) == sorted(others)
        for name, other in others.items():
            close(mine[name], other, name, 1e-9)
    assert list(found.state_dict()) == list(model.state_dict())
    found(from_torch(images))["flat"].sum().backward()
    assert model.conv1.weight.grad is not None and model.fc.weight.grad is None


def test_tokens_of_a_vision_transformer():
    model = ours.vit_b_32(image_size=32, num_classes=2).eval()
    extractor = create_feature_extractor(model, ["getitem_5"])
    image = pyburn.rand(1, 3, 32, 32)
    assert pyburn.allclose(model.heads(extractor(image)["getitem_5"]), model(image))


def test_an_unknown_function_is_refused():
    with pytest.raises(ValueError, match=r"no layer 'layer1\.0\.minus' and computes nothing"):
        create_feature_extractor(ours.resnet18(), ["layer1.0.minus"])
