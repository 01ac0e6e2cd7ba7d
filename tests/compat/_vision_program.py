"""A program that uses torchvision; run on torch with torchvision, and on pyburn where torchvision is not installed."""

import importlib.machinery
import io
import sys
import warnings

warnings.simplefilter("ignore")
if "--alone" in sys.argv:
    plain = importlib.machinery.PathFinder.find_spec

    def without_torchvision(name, path=None, target=None):
        return None if name.split(".")[0] in ("torch", "torchvision") else plain(name, path, target)

    importlib.machinery.PathFinder.find_spec = without_torchvision
    import pyburn.compat

    pyburn.compat.alias_torch()

# ruff: noqa: E402
import torch
import torchvision
import torchvision.transforms.functional as TF
from PIL import Image
from torchvision import datasets, models, ops, transforms, utils
from torchvision.datasets.folder import is_image_file
from torchvision.datasets.utils import verify_str_arg
from torchvision.models._utils import IntermediateLayerGetter
from torchvision.models.detection import fasterrcnn_resnet50_fpn  # noqa: F401
from torchvision.models.resnet import BasicBlock, ResNet, ResNet18_Weights, conv1x1
from torchvision.models.segmentation import FCN_ResNet50_Weights, fcn_resnet50  # noqa: F401
from torchvision.models.vgg import cfgs, make_layers
from torchvision.ops import roi_align
from torchvision.ops.misc import Conv2dNormActivation, FrozenBatchNorm2d
from torchvision.ops.roi_align import RoIAlign
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F2  # noqa: F401


def show(name, *values):
    print(name, *(f"{value:.4g}" if isinstance(value, float) else value for value in values))


torch.manual_seed(0)
show("version", torchvision.__version__.partition("+")[0])
data = datasets.FakeData(8, (3, 24, 20), 3, transforms.Compose([transforms.Resize((16, 16)), transforms.ToTensor()]))
images, labels = next(iter(torch.utils.data.DataLoader(data, 4, shuffle=True)))
show("data", images.mean().item(), labels.tolist())
picture = Image.new("RGB", (20, 24), (200, 100, 50))
place = transforms.RandomCrop.get_params(picture, output_size=(8, 8))
show("crop", place, TF.to_tensor(TF.crop(img=picture, top=place[0], left=place[1], height=8, width=8)).sum().item())
show("named", TF.normalize(tensor=images, mean=[0.5] * 3, std=[0.5] * 3).mean().item())
model = ResNet(BasicBlock, [1, 1, 1, 1], num_classes=3, norm_layer=FrozenBatchNorm2d)
body = IntermediateLayerGetter(model, {"layer1": "low", "layer3": "high"})
show("features", [(name, tuple(value.shape)) for name, value in body(images).items()])
show("weights", ResNet18_Weights.DEFAULT.name, len(ResNet18_Weights.IMAGENET1K_V1.meta["categories"]))
show("layers", len(make_layers(cfgs["A"], batch_norm=True)), conv1x1(3, 4).weight.shape[0])
show("block", Conv2dNormActivation(3, 4)(images).shape[1])
features = torch.arange(64.0).reshape(1, 1, 8, 8)
box = torch.tensor([[0.0, 1, 1, 6, 7]])
show("roi", roi_align(features, box, 2).sum().item(), RoIAlign(2, 1.0, -1)(features, box).sum().item())
keep = ops.nms(boxes=torch.tensor([[0.0, 0, 2, 2], [0, 0, 2, 2.1]]), scores=torch.tensor([0.5, 0.9]), iou_threshold=0.5)
show("nms", keep.tolist())
show("grid", tuple(utils.make_grid(images, nrow=2).shape), is_image_file("a.PNG"), verify_str_arg("a", "x", ("a", "b")))
show("v2", tuple(v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])(picture).shape))
target = io.BytesIO()
picture.save(target, "PNG")
raw = torch.frombuffer(bytearray(target.getvalue()), dtype=torch.uint8)
show("decoded", torchvision.io.decode_image(raw).float().mean().item())
show("models", models.list_models(include="vgg1*"))
