"""Models as people use them: backends, weights from files, training, and all that a module can do."""

import copy
import functools
import pickle
import re

import pyburn
import pytest
import torch
import torchvision.models as theirs
from pyburn.vision import models as ours
from pyburn.vision.ops import StochasticDepth

from oracle import from_torch, to_torch
from vision.model_checks import NAMES, check_step, close, same_state, tiny

# torchvision warns that the drawing of these weights may change.
pytestmark = pytest.mark.filterwarnings("ignore:The default weight initialization:FutureWarning")


BACKENDS = [("cpu", "cpu"), (pyburn.Backend.NDARRAY, "cpu"), ("NdArray", "cpu"), (pyburn.device("cpu"), "cpu")]


@pytest.mark.parametrize(("backend", "kind"), BACKENDS)
def test_a_model_is_made_on_its_backend(backend, kind):
    for model in (
        ours.shufflenet_v2_x0_5(backend, num_classes=3),
        ours.shufflenet_v2_x0_5(backend=backend, num_classes=3),
        ours.get_model("shufflenet_v2_x0_5", backend, num_classes=3),
    ):
        assert {p.device.type for p in model.parameters()} == {kind}
        assert model.fc.out_features == 3


def test_the_first_weights_do_not_depend_on_the_backend():
    pyburn.manual_seed(0)
    there = ours.squeezenet1_1("Wgpu", num_classes=3)
    pyburn.manual_seed(0)
    here = ours.squeezenet1_1(num_classes=3)
    assert there.features[0].weight.device.type == "wgpu"
    for key, value in there.state_dict().items():
        assert pyburn.equal(value.cpu(), here.state_dict()[key]), key


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["convnext", "squeezenet/1.1", "vision_transformer"])
def test_a_step_on_wgpu_is_that_of_the_cpu(name):
    losses = []
    for device in ("cpu", "wgpu"):
        model = tiny(ours, name).to(device)
        for module in model.modules():
            if isinstance(module, pyburn.nn.Dropout):
                module.p = 0.0
            elif isinstance(module, pyburn.nn.MultiheadAttention):
                module.dropout = 0.0
            elif isinstance(module, StochasticDepth):
                module.p = 0.0
        optimizer = pyburn.optim.SGD(model.parameters(), lr=0.05)
        pyburn.manual_seed(2)
        images, classes = pyburn.randn(4, 3, 48, 48).to(device), pyburn.tensor([0, 1, 2, 3]).to(device)
        run = []
        for _ in range(2):
            optimizer.zero_grad()
            loss = pyburn.nn.functional.cross_entropy(model(images), classes)
            loss.backward()
            optimizer.step()
            run.append(loss.item())
        losses.append(run)
    assert losses[1] == pytest.approx(losses[0], rel=1e-3)


def same_weights(one, other):
    assert list(one.state_dict()) == list(other.state_dict())
    return all(pyburn.equal(a, b) for a, b in zip(one.state_dict().values(), other.state_dict().values(), strict=True))


def test_weights_come_from_files_of_torch_and_from_dictionaries(tmp_path):
    expected = theirs.mobilenet_v3_small(num_classes=4)
    torch.save(expected.state_dict(), tmp_path / "weights.pth")
    torch.save({"model": expected.state_dict(), "epoch": 3}, tmp_path / "checkpoint.pth")
    torch.save(expected.state_dict(), tmp_path / "old.pth", _use_new_zipfile_serialization=False)
    found = ours.mobilenet_v3_small(weights=tmp_path / "weights.pth", num_classes=4)
    same_state(found, expected)
    assert same_weights(found, ours.mobilenet_v3_small(weights=tmp_path / "old.pth", num_classes=4))
    assert same_weights(found, ours.mobilenet_v3_small("cpu", weights=str(tmp_path / "checkpoint.pth"), num_classes=4))
    assert same_weights(found, ours.mobilenet_v3_small(weights=found.state_dict(), num_classes=4))
    pyburn.safetensors.save_file(found.state_dict(), tmp_path / "weights.safetensors")
    assert same_weights(found, ours.mobilenet_v3_small(weights=tmp_path / "weights.safetensors", num_classes=4))
    with pytest.raises(RuntimeError, match=r"size mismatch for classifier\.3\.weight"):
        ours.mobilenet_v3_small(weights=tmp_path / "weights.pth")


def test_names_of_weights_say_where_the_file_belongs(tmp_path, monkeypatch):
    monkeypatch.setattr(pyburn.hub, "_directory", str(tmp_path))
    for name in ("DEFAULT", "IMAGENET1K_V1", "SqueezeNet1_1_Weights.IMAGENET1K_V1"):
        with pytest.raises(RuntimeError, match=r"download it by hand to .*squeezenet1_1-b8a52dc0\.pth"):
            ours.squeezenet1_1(weights=name)
    with pytest.raises(RuntimeError, match="download it by hand"):
        ours.squeezenet1_1(pretrained=True)
    with pytest.raises(ValueError, match="no file; pass the path"):
        ours.squeezenet1_1(weights="IMAGENET1K_V9")
    with pytest.raises(ValueError, match="no published weights"):
        ours.segmentation.unet(weights="DEFAULT")
    for first in (True, ours.SqueezeNet1_1_Weights.DEFAULT):  # torchvision's first argument
        with pytest.raises(RuntimeError, match="download it by hand"):
            ours.squeezenet1_1(first)
    assert ours.squeezenet1_1(False, num_classes=2).num_classes == 2
    (tmp_path / "checkpoints").mkdir()
    expected = theirs.squeezenet1_1()
    torch.save(expected.state_dict(), tmp_path / "checkpoints" / "squeezenet1_1-b8a52dc0.pth")
    same_state(ours.squeezenet1_1(weights="DEFAULT"), expected)


def test_every_published_file_is_known():
    for name, files in ours._files.FILES.items():
        members = theirs.get_model_weights(name).__members__
        urls = {key: value.url for key, value in members.items() if key != "DEFAULT"}
        assert {key: ours._files.FOLDER + file for key, file in files.items()} == urls
        assert list(files.values())[-1] == members["DEFAULT"].url.rpartition("/")[2]
    assert set(ours._files.FILES) == set(NAMES)


def test_weights_have_torchvisions_names(tmp_path, monkeypatch):
    from torchvision import models

    names = [
        name for name in [*dir(models), *dir(models.segmentation)] if name.endswith("_Weights") and "_Q" not in name
    ]
    for name in names:
        other = getattr(models, name, None) or getattr(models.segmentation, name)
        if "MaxVit" in name or "Quantized" in name:
            continue
        mine = getattr(ours, name)
        assert {key: member.url for key, member in mine.__members__.items()} == {
            key: member.url for key, member in other.__members__.items()
        }
    assert ours.get_weight("ResNet50_Weights.DEFAULT") is ours.ResNet50_Weights.IMAGENET1K_V2
    assert list(ours.get_model_weights(ours.resnet18)) == list(ours.get_model_weights("resnet18"))
    monkeypatch.setattr(pyburn.hub, "_directory", str(tmp_path))
    with pytest.raises(RuntimeError, match=r"download it by hand to .*resnet18-f37072fd\.pth"):
        ours.resnet18(weights=ours.ResNet18_Weights.DEFAULT)
    with pytest.raises(ValueError, match="Invalid weight name"):
        ours.get_weight("ResNet50_Weights.V9")
    with pytest.raises(AttributeError, match="ResNet19_Weights"):
        ours.ResNet19_Weights  # noqa: B018


def test_transforms_of_weights_are_torchvisions():
    """Every preset has torchvision's numbers, and one of each kind makes its images."""
    for name in NAMES:
        for key, member in theirs.get_model_weights(name).__members__.items():
            expected, found = member.transforms(), ours.get_model_weights(name)[key].transforms()
            for setting in ("crop_size", "resize_size", "antialias"):
                assert getattr(found, setting, None) == getattr(expected, setting, None), (name, key, setting)
            assert found.interpolation.value == expected.interpolation.value
            assert found.mean == pytest.approx(expected.mean) and found.std == pytest.approx(expected.std)
    image = torch.randint(0, 256, (3, 300, 260), dtype=torch.uint8)
    for name in ("resnet18", "swin_t", "lraspp_mobilenet_v3_large"):
        expected = theirs.get_model_weights(name).DEFAULT.transforms()(image)
        found = ours.get_model_weights(name).DEFAULT.transforms()(from_torch(image))
        # Where a value lies between two whole numbers, the two may round it differently.
        assert to_torch(found).shape == expected.shape
        assert float((to_torch(found) - expected).abs().max()) < 0.02


def test_published_googlenet_is_torchvisions(tmp_path):
    """The published file has auxiliary classifiers, which torchvision drops, and wants inputs in another range."""
    torch.manual_seed(0)
    expected = theirs.googlenet(num_classes=3, transform_input=True, init_weights=False)
    torch.save(expected.state_dict(), tmp_path / "googlenet-1378be20.pth")
    torch.save(expected.state_dict(), tmp_path / "mine.pth")
    published = ours.googlenet(weights=tmp_path / "googlenet-1378be20.pth", num_classes=3)
    assert published.transform_input and published.aux1 is None
    images = torch.randn(2, 3, 32, 32)
    found = published.eval()(from_torch(images))
    close(found, expected.eval()(images), "scores", 1e-5)
    mine = ours.googlenet(weights=tmp_path / "mine.pth", num_classes=3)
    assert not mine.transform_input and mine.aux1 is not None
    without = ours.googlenet(weights=tmp_path / "mine.pth", num_classes=3, aux_logits=False)
    assert without.aux1 is None and not any(key.startswith("aux") for key in without.state_dict())


def test_old_names_in_published_files():
    state = tiny(ours, "densenet").state_dict()
    old = {re.sub(r"(denselayer\d\.(?:norm|conv))([12])\.", r"\1.\2.", key): value for key, value in state.items()}
    assert old.keys() != state.keys()
    fresh = ours.DenseNet(4, (2, 2), 8, bn_size=2, num_classes=5)
    fresh.load_state_dict(old)
    assert same_weights(fresh, tiny(ours, "densenet"))

    state = tiny(ours, "vision_transformer").state_dict()
    names = {"mlp.0.": "mlp.linear_1.", "mlp.3.": "mlp.linear_2."}
    old = {re.sub(r"mlp\.[03]\.", lambda found: names[found[0]], key): value for key, value in state.items()}
    fresh = tiny(ours, "vision_transformer")
    pyburn.nn.init.zeros_(fresh.encoder.layers.encoder_layer_0.mlp[0].weight)
    fresh.load_state_dict(old)
    assert same_weights(fresh, tiny(ours, "vision_transformer"))


def test_vit_takes_another_image_size():
    expected, found = tiny(theirs, "vision_transformer"), tiny(ours, "vision_transformer")
    other = theirs.vision_transformer.interpolate_embeddings(80, 16, expected.state_dict(), reset_heads=True)
    mine = ours.interpolate_embeddings(80, 16, found.state_dict(), reset_heads=True)
    assert list(mine) == list(other)
    close(mine["encoder.pos_embedding"], other["encoder.pos_embedding"], "places", 1e-5)
    with pytest.raises(AssertionError, match="Wrong image height! Expected 48 but got 40!"):
        found(pyburn.zeros(1, 3, 40, 48))


def test_segmentation_files_say_whether_there_is_an_auxiliary_head():
    state = ours.segmentation.deeplabv3_mobilenet_v3_large(num_classes=2, aux_loss=True).state_dict()
    make = functools.partial(ours.segmentation.deeplabv3_mobilenet_v3_large, weights=state, num_classes=2)
    assert make().aux_classifier is not None and make(aux_loss=False).aux_classifier is None


def test_models_are_ordinary_modules(tmp_path):
    model = ours.mobilenet_v3_small(num_classes=10, width_mult=0.5)
    seen = []
    hook = model.features[1].register_forward_hook(lambda module, args, output: seen.append(tuple(output.shape)))
    model.classifier[3] = pyburn.nn.Linear(model.classifier[3].in_features, 2)
    images = pyburn.randn(2, 3, 32, 32)
    assert model.eval()(images).shape == (2, 2) and seen == [(2, 8, 8, 8)]
    hook.remove()
    assert same_weights(pickle.loads(pickle.dumps(model)), model)
    twin = copy.deepcopy(model)
    assert same_weights(twin, model) and pyburn.equal(twin(images), model(images))
    pyburn.nn.init.zeros_(twin.features[0][0].weight)
    assert not same_weights(twin, model)
    pyburn.safetensors.save_file(model.state_dict(), tmp_path / "model.safetensors")
    twin.load_state_dict(pyburn.safetensors.load_file(tmp_path / "model.safetensors"))
    assert pyburn.equal(twin(images), model(images))
    half = copy.deepcopy(model).half()(images.half())
    assert half.dtype == pyburn.float16
    assert pyburn.allclose(half.float(), model(images), atol=2e-2)
    assert "Conv2dNormActivation" in str(model.summary(images))


def test_train_by_data_and_config():
    """M32: `model = googlenet(backend)`, `model.train(train_data, config)`."""
    pyburn.manual_seed(0)
    images = pyburn.randn(8, 3, 32, 32)
    classes = pyburn.arange(8) % 2
    images[:, 0] += 4.0 * classes.reshape(-1, 1, 1)
    config = {"epochs": 2, "batch_size": 4, "optimizer": "adam", "lr": 1e-3, "folder": False, "renderer": None}
    model = ours.googlenet(pyburn.Backend.NDARRAY, num_classes=2)
    history = model.train((images, classes), config)
    assert [line["epoch"] for line in history] == [1, 2] and "train_accuracy" in history[-1]
    assert model.train() is model and model.eval().training is False


def test_segmentation_models_train():
    pyburn.manual_seed(0)
    images = pyburn.randn(4, 3, 32, 32)
    masks = (images[:, 0] > 0).long()
    settings = {"epochs": 12, "batch_size": 4, "optimizer": "adam", "lr": 2e-2, "folder": False, "renderer": None}
    history = ours.segmentation.unet(num_classes=2, width=4, depth=2).train((images, masks), settings)
    assert history[-1]["train_loss"] < 0.8 * history[0]["train_loss"]
    model = ours.segmentation.deeplabv3_mobilenet_v3_large(num_classes=2, aux_loss=True)
    assert len(model.train((images, masks), {**settings, "epochs": 1})) == 1


class TorchUNet(torch.nn.Module):
    """U-Net written anew, straight down and up, as the judge of ours."""

    def __init__(self, channels, classes, width, bilinear):
        super().__init__()
        nn = torch.nn

        def block(before, after):
            layers = []
            for source in (before, after):
                layers += [nn.Conv2d(source, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU()]
            return nn.Sequential(*layers)

        def larger(wide, narrow):
            if not bilinear:
                return nn.ConvTranspose2d(wide, narrow, 2, 2)
            return nn.Sequential(nn.UpsamplingBilinear2d(scale_factor=2), nn.Conv2d(wide, narrow, 1))

        self.down = nn.ModuleList([block(channels, width), block(width, 2 * width), block(2 * width, 4 * width)])
        self.grow = nn.ModuleList([larger(4 * width, 2 * width), larger(2 * width, width)])
        self.up = nn.ModuleList([block(4 * width, 2 * width), block(2 * width, width)])
        self.head = nn.Conv2d(width, classes, 1)
        self.bilinear = bilinear

    def larger(self, i, x):
        if not self.bilinear:
            return self.grow[i](x)
        return self.grow[i][1](torch.nn.functional.interpolate(x, scale_factor=2, mode="bilinear"))

    def forward(self, x):
        a = self.down[0](x)
        b = self.down[1](torch.nn.functional.max_pool2d(a, 2))
        c = self.down[2](torch.nn.functional.max_pool2d(b, 2))
        grown = self.larger(0, c)
        b2 = torch.zeros_like(b)
        b2[:, :, : grown.shape[2], : grown.shape[3]] = grown
        b = self.up[0](torch.cat([b, b2], 1))
        grown = self.larger(1, b)
        a2 = torch.zeros_like(a)
        a2[:, :, : grown.shape[2], : grown.shape[3]] = grown
        return self.head(self.up[1](torch.cat([a, a2], 1)))


@pytest.mark.parametrize("bilinear", [False, True])
@pytest.mark.parametrize("size", [(16, 24), (19, 22)])
def test_unet_is_what_the_paper_draws(bilinear, size):
    torch.manual_seed(0)
    expected = TorchUNet(2, 3, 4, bilinear)
    found = ours.segmentation.unet(in_channels=2, num_classes=3, width=4, depth=2, bilinear=bilinear)
    check_step(found, expected, torch.randn(2, 2, *size))


def test_weights_are_found_beside_their_models_too():
    from pyburn.vision.models import resnet, segmentation

    assert resnet.ResNet18_Weights is ours.ResNet18_Weights
    assert segmentation.FCN_ResNet50_Weights.DEFAULT.name == "COCO_WITH_VOC_LABELS_V1"
    with pytest.raises(AttributeError, match="ResNet17_Weights"):
        _ = resnet.ResNet17_Weights
    assert repr(resnet.ResNet50_Weights.DEFAULT.transforms()) == repr(theirs.ResNet50_Weights.DEFAULT.transforms())


def test_layers_that_programs_build_models_of():
    from pyburn.vision.models import resnet, vgg
    from torchvision.models import resnet as their_resnet
    from torchvision.models import vgg as their_vgg

    assert {name: list(widths) for name, widths in their_vgg.cfgs.items()} == vgg.cfgs
    assert list(vgg.make_layers([8, "M", 4], True).state_dict()) == list(
        their_vgg.make_layers([8, "M", 4], True).state_dict()
    )
    assert repr(resnet.conv3x3(4, 8, 2, 2, 3)) == repr(their_resnet.conv3x3(4, 8, 2, 2, 3))
    assert repr(resnet.conv1x1(4, 8, 2)) == repr(their_resnet.conv1x1(4, 8, 2))


def test_a_model_of_a_program_is_registered():
    from pyburn.vision.models._api import register_model

    @register_model("test_register_own_model")
    def own(num_classes=3):
        return pyburn.nn.Linear(2, num_classes)

    try:
        assert ours.get_model("test_register_own_model", num_classes=5).out_features == 5
        with pytest.raises(ValueError, match="already registered"):
            register_model("test_register_own_model")(own)
    finally:
        del ours._building.builders["test_register_own_model"]


def test_patches_of_a_vision_transformer_are_torchvisions():
    expected = theirs.vit_b_32(image_size=64, num_classes=2).eval()
    found = ours.vit_b_32(
        image_size=64, weights={k: from_torch(v) for k, v in expected.state_dict().items()}, num_classes=2
    )
    images = torch.rand(2, 3, 64, 64)
    tokens = found.eval()._process_input(from_torch(images))
    torch.testing.assert_close(to_torch(tokens.detach().contiguous()), expected._process_input(images).detach())
    with pytest.raises(AssertionError, match="Wrong image height! Expected 64 but got 32!"):
        found(from_torch(images[..., :32, :]))
