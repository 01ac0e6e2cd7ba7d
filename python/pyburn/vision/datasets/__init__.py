"""torchvision.datasets: images and their targets, from files in the usual layouts."""

from pyburn.vision.datasets.folder import DatasetFolder, ImageFolder
from pyburn.vision.datasets.mnist import KMNIST, MNIST, FashionMNIST
from pyburn.vision.datasets.vision import VisionDataset

__all__ = ["KMNIST", "MNIST", "DatasetFolder", "FashionMNIST", "ImageFolder", "VisionDataset"]
