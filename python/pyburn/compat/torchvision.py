"""torchvision where it is not installed: `import torchvision` gives pyburn.vision, under torchvision's paths.

Where torchvision is installed, its own Python code runs on pyburn instead, and this file is not used.
"""

from __future__ import annotations

import functools
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import FunctionType, ModuleType
from typing import Any

from pyburn._absent import absent_class, absent_function

__all__ = ["VERSION", "Finder"]

VERSION = "0.29.2"

# torchvision's path below its package: the modules of pyburn.vision whose names stand together there.
SHARED: dict[str, str] = {
    "_internally_replaced_utils": "models._utils",
    "datasets.mnist": "datasets.mnist datasets.idx",
    "io.image": "io",
    "models._meta": "models._categories",
    "models.mobilenet": "models.mobilenetv2 models.mobilenetv3",
    "models.segmentation._utils": "models.segmentation._common",
    "models.segmentation.segmentation": "models.segmentation",
    "models.utils": "models._utils",
    "ops._box_convert": "ops.boxes",
    "ops.ciou_loss": "ops.losses",
    "ops.deform_conv": "ops.layers",
    "ops.diou_loss": "ops.losses",
    "ops.drop_block": "ops.layers",
    "ops.feature_pyramid_network": "ops.layers",
    "ops.focal_loss": "ops.losses",
    "ops.giou_loss": "ops.losses",
    "ops.misc": "ops.layers models._blocks",
    "ops.poolers": "ops.pooling",
    "ops.ps_roi_align": "ops.pooling",
    "ops.ps_roi_pool": "ops.pooling",
    "ops.roi_align": "ops.pooling",
    "ops.roi_pool": "ops.pooling",
    "ops.stochastic_depth": "models._blocks",
    "transforms._functional_pil": "transforms.functional",
    "transforms._functional_tensor": "transforms.functional",
    "transforms._presets": "models._presets",
    "transforms.autoaugment": "transforms.auto",
    "transforms.functional": "transforms.functional",
    "transforms.functional_pil": "transforms.functional",
    "transforms.functional_tensor": "transforms.functional",
    "transforms.transforms": "transforms",
    "transforms.v2.functional": "transforms.functional",
}

# A function of the same name stands in the parent, which importing the path must not replace.
EARLY = (
    "ops.ps_roi_align",
    "ops.ps_roi_pool",
    "ops.roi_align",
    "ops.roi_pool",
    "ops.stochastic_depth",
    "ops.deform_conv",
)

# Parts that pyburn.vision has not, with any name in them: why, and what to do.
ABSENT: dict[str, tuple[str, str]] = {
    "io.video": ("pyburn does not decode videos", "read frames with another package and stack them to (T, C, H, W)"),
    "io.video_reader": ("pyburn does not decode videos", "read frames with another package and stack them"),
    "models.detection": ("pyburn.vision has no detectors", "install torchvision: its detectors run on pyburn"),
    "models.optical_flow": ("pyburn.vision has no optical flow", "install torchvision: its models run on pyburn"),
    "models.quantization": (
        "pyburn does not quantize networks",
        "use the model of the same name in torchvision.models",
    ),
    "models.video": ("pyburn.vision has no models of videos", "install torchvision: its models run on pyburn"),
    "prototype": (
        "pyburn.vision follows torchvision's releases",
        "use torchvision.transforms.v2 and torchvision.models",
    ),
}

# Names that pyburn.vision has not in parts that it has: they can be imported, and raise when they are used.
ABSENT_NAMES: dict[str, tuple[str, str, str]] = {
    "datasets": (
        "CLEVRClassification CREStereo Caltech101 Caltech256 CarlaStereo CelebA Cityscapes Country211 DTD EMNIST "
        "ETH3DStereo EuroSAT FER2013 FGVCAircraft FallingThingsStereo Flickr30k Flickr8k Flowers102 FlyingChairs "
        "FlyingThings3D Food101 GTSRB HD1K HMDB51 INaturalist ImageNet Imagenette InStereo2k Kinetics Kitti "
        "Kitti2012Stereo Kitti2015Stereo KittiFlow LFWPairs LFWPeople LSUN LSUNClass Middlebury2014Stereo MovingMNIST "
        "Omniglot OxfordIIITPet PCAM PhotoTour Places365 QMNIST RenderedSST2 SBDataset SBU SEMEION STL10 SUN397 "
        "SceneFlowStereo Sintel SintelStereo StanfordCars UCF101 USPS WIDERFace wrap_dataset_for_transforms_v2",
        "pyburn.vision has no reader of this dataset",
        "read its files with ImageFolder or a Dataset of your own, or install torchvision, which runs on pyburn",
    ),
    "io": (
        "VideoReader read_video read_video_timestamps write_video decode_avif decode_heic",
        "pyburn reads images only",
        "read frames with another package and stack them to (T, C, H, W)",
    ),
}


class _Torchvision(ModuleType):
    """The module that `import torchvision` gives: pyburn.vision's, with torchvision's version."""

    def __init__(self) -> None:
        vision = importlib.import_module("pyburn.vision")
        super().__init__("torchvision", vision.__doc__)
        self.__version__, self.__file__ = VERSION, vision.__file__
        self.__path__: list[str] = []
        self._image_backend = "PIL"

    def __getattr__(self, name: str) -> Any:
        if _resolve(name) is not None:
            return importlib.import_module(f"torchvision.{name}")
        raise AttributeError(f"module 'torchvision' has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__, "datasets", "io", "models", "ops", "transforms", "tv_tensors", "utils"})

    def set_image_backend(self, backend: str) -> None:
        """Nothing; images are read by Pillow, whatever the name."""
        if backend not in ("PIL", "accimage"):
            raise ValueError(f"Invalid backend '{backend}'. Options are 'PIL' and 'accimage'")
        self._image_backend = backend

    def get_image_backend(self) -> str:
        """The name that was set."""
        return self._image_backend

    def disable_beta_transforms_warning(self) -> None:
        """Nothing; there is no such warning."""


class _Loader(importlib.abc.Loader):
    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        """A module of its own name, so that importing below it changes nothing in pyburn."""
        if spec.name == "torchvision":
            return self._module
        return ModuleType(spec.name, self._module.__doc__)

    def exec_module(self, module: ModuleType) -> None:
        """Gives the module pyburn's names, and looks up later ones there."""
        if module is self._module:
            return
        for name, value in vars(self._module).items():
            if not name.startswith("__") or name in ("__all__", "__version__"):
                vars(module).setdefault(name, value)
        vars(module)["__getattr__"] = _later(module.__name__, self._module)
        vars(module)["__path__"] = []


def _later(name: str, source: ModuleType) -> Callable[[str], Any]:
    """What finds names that pyburn's module makes when they are asked for, and modules below this one."""
    below = name.removeprefix("torchvision.")

    def find(attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(f"module {name!r} has no attribute {attribute!r}")
        try:
            return getattr(source, attribute)
        except AttributeError:
            if below in ABSENT_NAMES and attribute in ABSENT_NAMES[below][0].split():
                kind = absent_class if attribute[0].isupper() else absent_function
                return kind(f"{name}.{attribute}", *ABSENT_NAMES[below][1:])
            if _resolve(f"{below}.{attribute}") is None:
                raise AttributeError(f"module {name!r} has no attribute {attribute!r}") from None
            return importlib.import_module(f"{name}.{attribute}")

    return find


def _joined(below: str) -> ModuleType:
    made = ModuleType(f"torchvision.{below}", f"torchvision.{below}: see pyburn.compat.torchvision.")
    for source in SHARED[below].split():
        found = vars(importlib.import_module(f"pyburn.vision.{source}"))
        kept = {name: value for name, value in found.items() if not name.startswith("__") or name == "__all__"}
        made.__dict__.update(kept)
    if below.startswith("transforms.") and "functional" in below and ".v2." not in below:
        for name in made.__all__:
            if isinstance(made.__dict__[name], FunctionType):
                made.__dict__[name] = _by_older_name(made.__dict__[name])
    return made


def _by_older_name(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, whose first argument may also have the name that it had before v2."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        for name in ("img", "tensor"):
            if not args and name in kwargs:
                args = (kwargs.pop(name),)
        return function(*args, **kwargs)

    return call


def _absent(below: str, why: tuple[str, str]) -> ModuleType:
    made = ModuleType(f"torchvision.{below}", f"torchvision.{below} is not in pyburn.vision: {why[0]}.")

    def find(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module 'torchvision.{below}' has no attribute {name!r}")
        kind = absent_class if name.lstrip("_")[:1].isupper() else absent_function
        return kind(f"torchvision.{below}.{name}", *why)

    made.__dict__["__getattr__"] = find
    return made


def _resolve(below: str) -> ModuleType | None:
    """The module of pyburn for ``torchvision.<below>``, or None where there is none."""
    if below in SHARED:
        return _joined(below)
    for path, why in ABSENT.items():
        if below == path or below.startswith(f"{path}."):
            return _absent(below, why)
    if below == "version":
        made = ModuleType("torchvision.version")
        made.__dict__.update(__version__=VERSION, cuda=None, git_version="")
        return made
    try:
        found = importlib.util.find_spec(f"pyburn.vision.{below}")
    except ModuleNotFoundError as error:
        if error.name is None or not f"pyburn.vision.{below}".startswith(error.name):
            raise
        return None
    return None if found is None else importlib.import_module(f"pyburn.vision.{below}")


class Finder(importlib.abc.MetaPathFinder):
    """Answers for `torchvision` and everything below it, where nobody else does."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The place of pyburn.vision's module of this name, or None where it has none."""
        root, _, below = fullname.partition(".")
        if root != "torchvision":
            return None
        if below and not isinstance(sys.modules.get(root), _Torchvision):
            return None  # torchvision itself is loaded: what it has not, it has not
        module = _resolve(below) if below else _Torchvision()
        if module is None:
            return None
        if not below:
            _load_early()
        spec = importlib.machinery.ModuleSpec(fullname, _Loader(module), is_package=True)
        spec.submodule_search_locations = []
        return spec


def _load_early() -> None:
    for below in EARLY:
        made = ModuleType(f"torchvision.{below}", f"torchvision.{below}: see pyburn.compat.torchvision.")
        made.__dict__["__getattr__"] = _early(below)
        sys.modules.setdefault(made.__name__, made)


def _early(below: str) -> Callable[[str], Any]:
    def find(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module 'torchvision.{below}' has no attribute {name!r}")
        return getattr(_joined(below), name)

    return find
