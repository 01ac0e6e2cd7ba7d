"""Distances in features, against torchmetrics and the formulas of the papers in numpy."""

from __future__ import annotations

import copy
import math

import numpy as np
import pyburn
import pytest
import scipy.linalg
import torch
from pyburn import nn, train
from pyburn.train import metrics

from .metric_checks import agree, check_splits, ours


def pictures(seed=0, samples=24, offset=0.0):
    rng = np.random.default_rng(seed)
    target = rng.normal(offset, 1, (samples, 2, 6, 6))
    return (target + rng.normal(0.3, 0.7, target.shape)).astype(np.float32), target.astype(np.float32)


def flat(images):
    return images[:, :, ::3, ::2].flatten(1)


@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_fid(offset):
    output, target = pictures(samples=60, offset=offset)
    first, second = (np.asarray(flat(torch.tensor(array)), np.float64) for array in (output, target))
    root = scipy.linalg.sqrtm(np.cov(first.T) @ np.cov(second.T)).real
    expected = np.sum((first.mean(0) - second.mean(0)) ** 2) + np.trace(np.cov(first.T) + np.cov(second.T) - 2 * root)
    agree(check_splits(lambda: metrics.FID(flat), ours(output), ours(target)), expected, 1e-5)


def test_fid_of_too_few_images():
    one = pyburn.rand(1, 1, 2, 2)
    assert math.isnan(metrics.FID(lambda images: images.flatten(1))(one, one))
    few = metrics.FID(lambda images: images.flatten(1))
    few.update(pyburn.rand(3, 2, 4, 4), pyburn.rand(3, 2, 4, 4))  # fewer than features: the covariance is singular
    assert math.isfinite(few.compute())


def layers(images):
    return [images, images[:, :1, ::2, ::2] ** 2 - images[:, 1:, ::2, ::2]]


def lpips(output, target, weights):
    total = 0
    for index, (a, b) in enumerate(zip(layers(output), layers(target))):
        a, b = (x / (np.sqrt((x**2).sum(1, keepdims=True)) + 1e-10) for x in (a, b))
        total = total + ((a - b) ** 2 * np.reshape(weights[index], (1, -1, 1, 1))).sum(1).mean((1, 2))
    return total.mean()


def test_lpips():
    output, target = pictures()
    wide = output.astype(np.float64), target.astype(np.float64)
    agree(check_splits(lambda: metrics.LPIPS(layers), ours(output), ours(target)), lpips(*wide, [[1, 1], [1]]), 1e-5)
    weights = [[0.2, 0.7], [1.5]]
    make = lambda: metrics.LPIPS(layers, weights=[pyburn.tensor(weights[0]), weights[1]])  # noqa: E731
    agree(check_splits(make, ours(output), ours(target)), lpips(*wide, weights), 1e-5)


def dists(output, target, alpha, beta):
    total, weight = 0, 0
    for index, (a, b) in enumerate(zip(layers(output), layers(target))):
        axes = (2, 3)
        mean_a, mean_b = a.mean(axes), b.mean(axes)
        shared = (a * b).mean(axes) - mean_a * mean_b
        texture = (2 * mean_a * mean_b + 1e-6) / (mean_a**2 + mean_b**2 + 1e-6)
        structure = (2 * shared + 1e-6) / (a.var(axes) + b.var(axes) + 1e-6)
        total = total + (texture * alpha[index]).sum(1) + (structure * beta[index]).sum(1)
        weight += np.sum(alpha[index]) + np.sum(beta[index])
    return (1 - total / weight).mean()


def test_dists():
    output, target = pictures()
    wide = output.astype(np.float64), target.astype(np.float64)
    ones = [[1, 1], [1]]
    agree(check_splits(lambda: metrics.DISTS(layers), ours(output), ours(target)), dists(*wide, ones, ones), 1e-4)
    alpha, beta = [[0.2, 0.7], [1.5]], [[0.1, 0.4], [0.3]]
    make = lambda: metrics.DISTS(layers, alpha, beta)  # noqa: E731
    agree(check_splits(make, ours(output), ours(target)), dists(*wide, alpha, beta), 1e-4)


def test_networks_are_asked_as_in_evaluation():
    network = nn.Sequential(nn.Conv2d(2, 3, 3), nn.Dropout(0.5), nn.BatchNorm2d(3))
    image = ours(pictures(samples=3)[0])
    before = network[2].running_mean.clone()
    assert metrics.LPIPS(network)(image, image) == 0.0
    assert network.training and network[2].training
    assert bool((network[2].running_mean == before).all())


def test_copies_share_the_network():
    first = metrics.LPIPS(nn.Conv2d(2, 3, 3))
    image = ours(pictures(samples=3)[0])
    first.update(image, image + 1)
    second = copy.deepcopy(first)
    second.update(image, image)
    assert second.network is first.network
    assert second.compute() == first.compute() / 2


def test_wrong_inputs_say_what_to_do():
    image = pyburn.rand(2, 2, 4, 4)
    with pytest.raises(pyburn.ShapeError, match=r"fid: the network gave \[2, 2, 4, 4\]; expected features \(N, D\)"):
        metrics.FID(lambda images: images).update(image, image)
    with pytest.raises(pyburn.ShapeError, match=r"lpips: the network gave \[\[2, 32\]\]; expected a list of maps"):
        metrics.LPIPS(lambda images: [images.flatten(1)]).update(image, image)
    with pytest.raises(pyburn.ShapeError, match="give images of one shape"):
        metrics.DISTS(layers).update(image, pyburn.rand(2, 2, 6, 6))
    with pytest.raises(pyburn.ShapeError, match="layer 0 has 2 channels but 3 weights"):
        metrics.LPIPS(layers, weights=[[1, 1, 1], [1]]).update(image, image)
    with pytest.raises(ValueError, match="2 maps but 1 weights"):
        metrics.DISTS(layers, alpha=[[1, 1]]).update(image, image)
    with pytest.raises(TypeError, match="fid: target is None"):
        metrics.FID(flat).update(image, None)


def test_fid_beside_torchmetrics():
    """The same network in both libraries, batches of unequal size."""
    from torchmetrics.image.fid import FrechetInceptionDistance

    torch.manual_seed(0)
    theirs = torch.nn.Sequential(
        torch.nn.Conv2d(3, 6, 3), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten()
    )
    theirs.num_features = 6
    network = nn.Sequential(nn.Conv2d(3, 6, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    network.load_state_dict({name: pyburn.tensor(value.numpy()) for name, value in theirs.state_dict().items()})
    rng = np.random.default_rng(1)
    real = rng.random((90, 3, 8, 8)).astype(np.float32)
    made = (real + rng.normal(0.1, 0.2, real.shape)).astype(np.float32)
    judge, own = FrechetInceptionDistance(feature=theirs, normalize=True), metrics.FID(network)
    for part in (slice(0, 40), slice(40, 83), slice(83, 90)):
        judge.update(torch.tensor(real[part]), real=True)
        judge.update(torch.tensor(made[part]), real=False)
        own.update(ours(made[part]), ours(real[part]))
    agree(own.compute(), judge.compute().item(), 1e-4)


@pytest.mark.filterwarnings("ignore:.*'(pretrained|weights)' .*:UserWarning")  # what lpips asks of torchvision
def test_lpips_beside_its_authors_own():
    """Their linear layers and a random AlexNet, which both ask for the maps."""
    import lpips as original

    torch.manual_seed(0)
    theirs = original.LPIPS(net="alex", pnet_rand=True, verbose=False)
    layers = [layer.model[-1].weight.detach().flatten().numpy() for layer in theirs.lins]
    output, target = (torch.rand(5, 3, 64, 64) * 2 - 1 for _ in range(2))

    def network(images):
        with torch.no_grad():
            return [ours(maps.numpy()) for maps in theirs.net(theirs.scaling_layer(torch.tensor(images.numpy())))]

    made = metrics.LPIPS(network, weights=[pyburn.tensor(layer) for layer in layers])
    for part in (slice(0, 2), slice(2, 5)):
        made.update(ours(output[part].numpy()), ours(target[part].numpy()))
    expected = theirs(output, target).mean().item()
    assert expected > 1e-4  # a random network sees differences too
    agree(made.compute(), expected, 1e-4)


def test_dists_beside_piq():
    """Random weights and a random network, which both ask for the maps; as in the paper the first map is the image."""
    import piq
    from piq.perceptual import ContentLoss

    torch.manual_seed(0)
    channels = [3, 8, 12]
    body = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.AvgPool2d(2), torch.nn.Conv2d(8, 12, 3), torch.nn.ReLU()
    )
    weights = torch.rand(2, sum(channels))
    weights = weights / weights.sum()

    class Shared(piq.DISTS):
        def __init__(self):  # its own would download the published weights
            parts = [part.reshape(1, -1, 1, 1) for row in weights for part in row.split(channels)]
            ContentLoss.__init__(
                self, body, ["1", "4"], parts, mean=[0.0] * 3, std=[1.0] * 3, allow_layers_weights_mismatch=True
            )

    theirs = Shared()
    output, target = (torch.rand(5, 3, 24, 20) for _ in range(2))

    def network(images):
        with torch.no_grad():
            return [ours(maps.numpy()) for maps in theirs.get_features(torch.tensor(images.numpy()))]

    alpha, beta = ([pyburn.tensor(part.numpy()) for part in row.split(channels)] for row in weights)
    made = metrics.DISTS(network, alpha, beta)
    for part in (slice(0, 4), slice(4, 5)):
        made.update(ours(output[part].numpy()), ours(target[part].numpy()))
    agree(made.compute(), theirs(output, target).item(), 1e-4)


def test_in_a_learner():
    """An autoencoder is judged by the features of a network that the user gives."""
    images = ours(pictures(samples=24)[0])
    network = nn.Sequential(nn.Conv2d(2, 4, 3), nn.ReLU())
    watched = [metrics.FID(lambda x: network(x).mean([2, 3])), metrics.LPIPS(network), metrics.DISTS(network)]
    made = train.Learner(
        nn.Conv2d(2, 2, 1), nn.MSELoss(), "adam", lr=0.05, metrics=watched, folder=False, renderer=None
    )
    history = made.fit((images, images), (images, images), epochs=15)
    for name in ("valid_fid", "valid_lpips", "valid_dists"):
        assert history[-1][name] < history[0][name]


def test_batches_without_images():
    images, real, none = pyburn.rand(8, 3), pyburn.rand(8, 3), pyburn.rand(0, 3)
    plain, empty = metrics.FID(lambda images: images), metrics.FID(lambda images: images)
    plain.update(images, real)
    for pair in ((none, none), (images, real), (none, none)):
        empty.update(*pair)
    assert empty.compute() == pytest.approx(plain.compute())
