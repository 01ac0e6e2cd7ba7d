"""torchvision.datasets: images and their targets, from files in the usual layouts."""

from pyburn.vision.datasets.cifar import CIFAR10, CIFAR100
from pyburn.vision.datasets.coco import CocoCaptions, CocoDetection
from pyburn.vision.datasets.fakedata import FakeData
from pyburn.vision.datasets.folder import DatasetFolder, ImageFolder
from pyburn.vision.datasets.mnist import KMNIST, MNIST, FashionMNIST
from pyburn.vision.datasets.svhn import SVHN
from pyburn.vision.datasets.vision import VisionDataset
from pyburn.vision.datasets.voc import SegmentationFolder, VOCDetection, VOCSegmentation

__all__ = [
    "CIFAR10",
    "CIFAR100",
    "KMNIST",
    "MNIST",
    "SVHN",
    "CocoCaptions",
    "CocoDetection",
    "DatasetFolder",
    "FakeData",
    "FashionMNIST",
    "ImageFolder",
    "SegmentationFolder",
    "VOCDetection",
    "VOCSegmentation",
    "VisionDataset",
]
