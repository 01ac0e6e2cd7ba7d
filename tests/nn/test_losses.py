"""Every loss against torch's, for each reduction."""

import numpy as np
import pyburn
import pytest
import torch

from nn.compare import check_module, ours, same

REDUCTIONS = pytest.mark.parametrize("reduction", ["none", "mean", "sum"])


def x(*shape):
    generator = torch.Generator().manual_seed(sum(shape) + 10 * len(shape))
    return torch.randn(*shape, generator=generator).requires_grad_()


def target(*shape):
    return x(*shape).detach() * 0.7 + 0.1


def classes(high, *shape):
    return torch.randint(0, high, shape, generator=torch.Generator().manual_seed(5))


def signs(*shape):
    return classes(2, *shape) * 2 - 1


def probabilities(*shape):
    return x(*shape).detach().sigmoid()


@REDUCTIONS
@pytest.mark.parametrize(
    ("name", "kwargs"),
    [
        ("L1Loss", {}),
        ("MSELoss", {}),
        ("SmoothL1Loss", {"beta": 0.5}),
        ("SmoothL1Loss", {"beta": 0.0}),
        ("HuberLoss", {"delta": 0.4}),
    ],
)
def test_regression(name, kwargs, reduction):
    check_module(name, reduction=reduction, inputs=(x(3, 4), target(3, 4)), **kwargs)


@REDUCTIONS
@pytest.mark.parametrize("kwargs", [{}, {"label_smoothing": 0.2}, {"ignore_index": 1}], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_cross_entropy_of_classes(kwargs, weighted, reduction):
    weight = torch.tensor([0.5, 1.0, 2.0, 0.3]) if weighted else None
    for scores, truth in ((x(6, 4), classes(4, 6)), (x(2, 4, 3), classes(4, 2, 3)), (x(4), classes(4))):
        if truth.dim() == 0 and int(truth) == kwargs.get("ignore_index"):
            continue
        check_module("CrossEntropyLoss", weight, reduction=reduction, inputs=(scores, truth), **kwargs)


@REDUCTIONS
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_cross_entropy_of_probabilities(smoothing, reduction):
    weight = torch.tensor([0.5, 1.0, 2.0, 0.3])
    truth = target(5, 4).softmax(1)
    check_module("CrossEntropyLoss", label_smoothing=smoothing, reduction=reduction, inputs=(x(5, 4), truth))
    check_module("CrossEntropyLoss", weight, label_smoothing=smoothing, reduction=reduction, inputs=(x(5, 4), truth))


@REDUCTIONS
def test_nll(reduction):
    weight = torch.tensor([0.5, 1.0, 2.0, 0.3])
    check_module("NLLLoss", weight, reduction=reduction, inputs=(x(6, 4), classes(4, 6)))
    check_module("NLLLoss", ignore_index=0, reduction=reduction, inputs=(x(2, 4, 3, 2), classes(4, 2, 3, 2)))


@REDUCTIONS
@pytest.mark.parametrize("name", ["NLLLoss", "CrossEntropyLoss"])
def test_nothing_but_ignored_classes_has_no_gradient(name, reduction):
    check_module(name, ignore_index=2, reduction=reduction, inputs=(x(5, 4), torch.full((5,), 2)))


@REDUCTIONS
def test_binary_cross_entropy(reduction):
    likely = torch.tensor([0.0, 1.0, 0.3, 0.9, 1.0, 0.0]).requires_grad_()
    truth = torch.tensor([0.0, 1.0, 0.4, 0.0, 0.0, 1.0])
    check_module("BCELoss", reduction=reduction, inputs=(likely, truth))
    check_module(
        "BCELoss",
        target(4).abs(),
        reduction=reduction,
        inputs=(probabilities(3, 4).requires_grad_(), probabilities(3, 4)),
    )


@REDUCTIONS
def test_binary_cross_entropy_with_logits(reduction):
    scores = (x(3, 4).detach() * 40).index_fill(1, torch.tensor([1]), 0.0).requires_grad_()
    check_module("BCEWithLogitsLoss", reduction=reduction, inputs=(scores, probabilities(3, 4)))
    check_module(
        "BCEWithLogitsLoss",
        target(4).abs(),
        pos_weight=target(4).abs() + 1,
        reduction=reduction,
        inputs=(x(3, 4), probabilities(3, 4)),
    )


@pytest.mark.parametrize("reduction", ["none", "batchmean", "sum"])
@pytest.mark.parametrize("log_target", [False, True])
def test_kl_divergence(reduction, log_target):
    truth = target(3, 4).softmax(1)
    truth = truth.log() if log_target else truth.index_fill(1, torch.tensor([2]), 0.0)
    check_module("KLDivLoss", reduction=reduction, log_target=log_target, inputs=(x(3, 4), truth))


@REDUCTIONS
@pytest.mark.parametrize("full", [False, True])
def test_likelihoods(full, reduction):
    counts = classes(5, 3, 4).float()
    check_module("PoissonNLLLoss", full=full, reduction=reduction, inputs=(x(3, 4), counts))
    positive = (x(3, 4).detach().exp()).requires_grad_()
    check_module("PoissonNLLLoss", False, full=full, reduction=reduction, inputs=(positive, counts))
    var = target(3, 4).exp().requires_grad_()
    check_module("GaussianNLLLoss", full=full, reduction=reduction, inputs=(x(3, 4), target(3, 4), var))
    var = target(3, 1).exp().requires_grad_()
    check_module("GaussianNLLLoss", full=full, eps=0.9, reduction=reduction, inputs=(x(3, 4), target(3, 4), var))


@REDUCTIONS
def test_margins(reduction):
    check_module("HingeEmbeddingLoss", 0.5, reduction=reduction, inputs=(x(3, 4), signs(3, 4)))
    check_module("SoftMarginLoss", reduction=reduction, inputs=(x(3, 4), signs(3, 4).float()))
    check_module("MarginRankingLoss", 0.2, reduction=reduction, inputs=(x(5), target(5), signs(5)))
    check_module("MultiLabelSoftMarginLoss", reduction=reduction, inputs=(x(3, 4), classes(2, 3, 4).float()))
    check_module("CosineEmbeddingLoss", 0.1, reduction=reduction, inputs=(x(5, 3), target(5, 3), signs(5)))


@REDUCTIONS
@pytest.mark.parametrize("p", [1, 2])
def test_multi_margin(p, reduction):
    weight = torch.tensor([0.5, 1.0, 2.0, 0.3])
    check_module("MultiMarginLoss", p, 0.7, reduction=reduction, inputs=(x(5, 4), classes(4, 5)))
    check_module("MultiMarginLoss", p, 0.7, weight, reduction=reduction, inputs=(x(5, 4), classes(4, 5)))


@REDUCTIONS
def test_multilabel_margin(reduction):
    truth = torch.tensor([[3, 0, -1, 1], [1, -1, 0, 0], [0, 1, 2, 3]])
    check_module("MultiLabelMarginLoss", reduction=reduction, inputs=(x(3, 4), truth))


@REDUCTIONS
@pytest.mark.parametrize("swap", [False, True])
def test_triplets(swap, reduction):
    triple = (x(5, 3), target(5, 3), target(5, 3) * -0.5)
    check_module("TripletMarginLoss", 0.8, 1.0, swap=swap, reduction=reduction, inputs=triple)
    check_module("TripletMarginWithDistanceLoss", margin=0.8, swap=swap, reduction=reduction, inputs=triple)


@REDUCTIONS
@pytest.mark.parametrize("targets", [((1, 2, 2), (3, 1, 0), (4, 4, 4)), (1, 2, 2, 3, 1)], ids=["padded", "joined"])
def test_ctc(reduction, targets):
    # torch's gradient is that of the scores before log_softmax, so it is compared there.
    scores = x(8, 3, 5)
    mine, lengths = ours(scores), [3, 2, 0]
    loss = pyburn.nn.CTCLoss(reduction=reduction)(mine.log_softmax(2), pyburn.tensor(targets), [8, 6, 7], lengths)
    expected = torch.nn.CTCLoss(reduction=reduction)(scores.log_softmax(2), torch.tensor(targets), [8, 6, 7], lengths)
    same(loss, expected)
    loss.sum().backward(), expected.sum().backward()
    same(mine.grad, scores.grad)


def test_ctc_of_a_target_that_cannot_fit():
    log_probs = x(2, 1, 3).detach().log_softmax(2)
    check_module("CTCLoss", inputs=(log_probs, torch.tensor([[1, 1, 1]]), (2,), (3,)), grads=False)
    check_module("CTCLoss", zero_infinity=True, inputs=(log_probs, torch.tensor([[1, 1, 1]]), (2,), (3,)), grads=False)


def test_ctc_of_classes_that_cannot_be():
    scores = x(6, 2, 4).detach()
    scores[3, 0, 0] = scores[3, 0, 2] = -float("inf")
    scores[3, 1, :3] = -float("inf")
    check_module(
        "CTCLoss",
        reduction="none",
        inputs=(scores.log_softmax(2), torch.tensor([[1, 3], [2, 1]]), (6, 6), (2, 2)),
        grads=False,
    )


def test_scores_may_be_written_to_after_the_loss():
    """torch keeps log-probabilities, so that a later write to the scores changes no gradient."""
    grads = []
    for lib in (pyburn, torch):
        scores = lib.linspace(-1, 1, 12).reshape(4, 3).requires_grad_()
        middle = scores * 2
        loss = lib.nn.functional.cross_entropy(middle, lib.tensor([0, 2, 1, 1]))
        middle.mul_(3)
        (first,) = lib.autograd.grad(loss, scores, create_graph=True)
        (second,) = lib.autograd.grad(first.square().sum(), scores)
        grads.append((first.tolist(), second.tolist()))
    np.testing.assert_allclose(grads[0][0], grads[1][0], rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(grads[0][1], grads[1][1], rtol=1e-4, atol=1e-6)
