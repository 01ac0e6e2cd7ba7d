"""What only the functions do: randomness, weights, and mistakes with their text."""

import pyburn
import pytest
import torch

from nn.compare import ours, same
from oracle import Case, check_error, check_op

F = pyburn.nn.functional


@pytest.mark.parametrize(
    ("name", "shape", "mask"),
    [
        ("dropout", (200, 50), (200, 50)),
        ("dropout1d", (200, 50, 3), (200, 50, 1)),
        ("dropout2d", (200, 50, 2, 2), (200, 50, 1, 1)),
        ("dropout3d", (200, 50, 2, 1, 2), (200, 50, 1, 1, 1)),
    ],
)
def test_dropout_drops_the_right_part(name, shape, mask):
    pyburn.manual_seed(1)
    x = pyburn.ones(shape, requires_grad=True)
    y = getattr(F, name)(x, 0.3, training=True)
    values = torch.tensor(y.tolist())
    assert sorted(set(values.flatten().tolist())) == pytest.approx([0.0, 1 / 0.7])
    dims = [d for d, size in enumerate(mask) if size == 1]
    if dims:
        assert torch.equal(values.amax(dims), values.amin(dims))
    assert (values == 0).float().mean().item() == pytest.approx(0.3, abs=0.02)
    y.sum().backward()
    assert x.grad.tolist() == y.tolist()


@pytest.mark.parametrize("name", ["alpha_dropout", "feature_alpha_dropout"])
def test_alpha_dropout_keeps_mean_and_variance(name):
    pyburn.manual_seed(2)
    x = pyburn.randn(400, 250)
    values = torch.tensor(getattr(F, name)(x, 0.25, training=True).tolist())
    assert values.mean().item() == pytest.approx(0.0, abs=0.02)
    assert values.std().item() == pytest.approx(1.0, abs=0.02)


def test_dropout_of_all_or_nothing():
    x = pyburn.ones(3)
    assert F.dropout(x, 1.0).tolist() == [0.0, 0.0, 0.0]
    assert F.dropout(x, 0.0) is x
    assert F.alpha_dropout(x, 1.0, training=True).tolist() == [0.0, 0.0, 0.0]
    for p in (-0.1, 1.1):
        with pytest.raises(ValueError, match="has to be between 0 and 1"):
            F.dropout(x, p)
    y = pyburn.ones(3)
    assert F.dropout(y, 1.0, inplace=True) is y
    assert y.tolist() == [0.0, 0.0, 0.0]


def test_rrelu_draws_its_slopes():
    pyburn.manual_seed(3)
    y = F.rrelu(-pyburn.ones(500), 0.2, 0.4, training=True)
    assert 0.2 <= -y.max().item() < 0.21
    assert 0.39 < -y.min().item() <= 0.4


def test_gumbel_softmax_is_one_hot_with_soft_gradients():
    pyburn.manual_seed(4)
    logits = pyburn.zeros(50, 3, requires_grad=True)
    hard = F.gumbel_softmax(logits, tau=0.5, hard=True)
    assert sorted({round(v, 5) for row in hard.tolist() for v in row}) == [0.0, 1.0]
    (hard * pyburn.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert any(v != 0 for row in logits.grad.tolist() for v in row)


@pytest.mark.parametrize("name", ["l1_loss", "mse_loss", "huber_loss"])
def test_weighted_losses(name):
    x, y, w = torch.tensor([1.0, 2.0]), torch.tensor([0.0, 4.0]), torch.tensor([0.5, 2.0])
    for reduction in ("none", "sum", "mean"):
        mine = getattr(F, name)(ours(x), ours(y), weight=ours(w), reduction=reduction)
        same(mine, getattr(torch.nn.functional, name)(x, y, weight=w, reduction=reduction))


def test_older_reduction_arguments():
    x, y = pyburn.tensor([1.0, 3.0]), pyburn.zeros(2)
    assert F.mse_loss(x, y, size_average=False).item() == 10.0
    assert F.mse_loss(x, y, reduce=False).tolist() == [1.0, 9.0]
    assert F.mse_loss(x, y, size_average=True).item() == 5.0


@pytest.mark.parametrize("dim", [None, 0, 1, -1])
@pytest.mark.parametrize("p", [1.0, 2.0, 3.0])
def test_normalize(dim, p):
    x = torch.tensor([[3.0, 4.0], [0.0, 0.0], [-1.0, 2.0]])
    settings = {"p": p} if dim is None else {"p": p, "dim": dim}
    same(F.normalize(ours(x), **settings), torch.nn.functional.normalize(x, **settings))


def test_softmax_takes_torchs_dim_when_none_is_given():
    for shape in ((), (3,), (2, 3), (2, 3, 2), (2, 3, 1, 2)):
        x = torch.linspace(0, 1, max(1, torch.Size(shape).numel())).reshape(shape)
        with pytest.warns(UserWarning, match="Implicit dimension"):
            expected = torch.nn.functional.softmax(x)
        with pytest.warns(UserWarning, match="Implicit dimension"):
            result = F.softmax(ours(x))
        same(result, expected)


MISTAKES = [
    (lambda: F.cross_entropy(pyburn.zeros(3, 2), pyburn.tensor([0, 1, 2])), IndexError, "Target 2 is out of bounds"),
    (lambda: F.cross_entropy(pyburn.zeros(3, 2), pyburn.tensor([0, 1])), ValueError, r"needs \[3\]"),
    (
        lambda: F.cross_entropy(pyburn.zeros(1, 2), pyburn.tensor([0]), label_smoothing=2.0),
        RuntimeError,
        "label_smoothing",
    ),
    (lambda: F.nll_loss(pyburn.zeros(1, 2), pyburn.tensor([0]), pyburn.ones(3)), RuntimeError, "for all 2 classes"),
    (
        lambda: F.mse_loss(pyburn.zeros(1), pyburn.zeros(1), reduction="max"),
        ValueError,
        "not a valid value for reduction",
    ),
    (lambda: F.binary_cross_entropy(pyburn.ones(1) * 2, pyburn.ones(1)), RuntimeError, "between 0 and 1"),
    (lambda: F.binary_cross_entropy(pyburn.ones(1), pyburn.ones(2)), ValueError, "different to the input size"),
    (lambda: F.binary_cross_entropy_with_logits(pyburn.ones(1), pyburn.ones(2)), ValueError, "must be the same"),
    (lambda: F.gaussian_nll_loss(pyburn.ones(1), pyburn.ones(1), -pyburn.ones(1)), ValueError, "negative"),
    (lambda: F.smooth_l1_loss(pyburn.ones(1), pyburn.ones(1), beta=-1.0), RuntimeError, "negative values for beta"),
    (lambda: F.huber_loss(pyburn.ones(1), pyburn.ones(1), delta=0.0), RuntimeError, "non-positive values for delta"),
    (lambda: F.bilinear(pyburn.ones(1), pyburn.ones(1), pyburn.ones(1, 2, 1)), RuntimeError, "in1_features"),
    (lambda: F.batch_norm(pyburn.ones(1, 3), None, None, training=True), ValueError, "more than 1 value per channel"),
    (lambda: F.local_response_norm(pyburn.ones(1, 3), 2), ValueError, "3D or higher"),
    (lambda: F.dropout1d(pyburn.ones(1), 0.5), RuntimeError, "needs 2"),
    (
        lambda: F.embedding(pyburn.tensor([0]), pyburn.ones(2, 2), padding_idx=5),
        AssertionError,
        "within num_embeddings",
    ),
    (lambda: F.embedding_bag(pyburn.tensor([0]), pyburn.ones(2, 2)), ValueError, "offsets has to be a 1D Tensor"),
    (lambda: F.embedding_bag(pyburn.tensor([[0]]), pyburn.ones(2, 2), mode="prod"), ValueError, "sum, mean or max"),
    (lambda: F.ctc_loss(pyburn.zeros(2, 1, 3), pyburn.tensor([[1]]), [5], [1]), RuntimeError, "input_lengths"),
    (lambda: F.ctc_loss(pyburn.zeros(2, 1, 3), pyburn.tensor([[1]]), [2], [1], blank=3), RuntimeError, "blank is 3"),
    (lambda: F.triplet_margin_loss(*[pyburn.ones(1, 2)] * 3, margin=0), ValueError, "greater than 0"),
    (lambda: F.margin_ranking_loss(pyburn.ones(1), pyburn.ones(1, 1), pyburn.ones(1)), RuntimeError, "same dimension"),
]


@pytest.mark.parametrize(("call", "error", "text"), MISTAKES)
def test_mistakes_are_named(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_losses_warn_of_broadcasting():
    with pytest.warns(UserWarning, match="will likely lead to incorrect results"):
        F.mse_loss(pyburn.zeros(2), pyburn.zeros(2, 2))


@pytest.mark.parametrize("name", ["smooth_l1_loss", "huber_loss"])
def test_losses_far_away(name):
    far = Case([0.25, 1.0, -1.0, 3.0, float("inf"), -float("inf"), float("nan")], "float64")
    check_op(lambda t, x: getattr(t.nn.functional, name)(x, t.zeros_like(x), reduction="none"), far)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize(
    ("left", "right", "ends"),
    [((16, 8), (3, 8, 16), [4, 4, 16]), ((3, 5, 8), (8, 16), [0, 8, 16]), ((5, 16), (16, 8), [4, 12, 16])],
)
def test_grouped_mm(left, right, ends, dtype):
    torch.manual_seed(0)

    def run(lib, a, b):
        offs = lib.tensor(ends, dtype=lib.int32)
        return lib.nn.functional.grouped_mm(a, b, offs=offs)

    check_op(run, Case(torch.randn(left), dtype), Case(torch.randn(right), dtype), rtol=2e-2, atol=2e-2)


def test_grouped_mm_of_matrices_and_behind_the_last_group():
    torch.manual_seed(0)
    pair = Case(torch.randn(3, 4, 8)), Case(torch.randn(3, 8, 4))
    check_op(lambda lib, a, b: lib.nn.functional.grouped_mm(a, b), *pair)
    ends = pyburn.tensor([1, 2], dtype=pyburn.int32)
    assert F.grouped_mm(pyburn.ones(3, 1), pyburn.ones(2, 1, 2), offs=ends).tolist() == [[1, 1], [1, 1], [0, 0]]


@pytest.mark.parametrize(
    ("left", "right", "ends", "more"),
    [
        ((4, 8), (2, 8, 4), None, {}),
        ((4, 8), (2, 8, 4), "int64", {}),
        ((4, 8), (3, 8, 4), "int32", {}),
        ((4, 4), (2, 8, 4), "int32", {}),
        ((4,), (2, 8, 4), "int32", {}),
        ((2, 4, 8), (2, 8, 4), "int32", {}),
        ((2, 4, 8), (3, 8, 4), None, {}),
        ((4, 8), (2, 8, 4), "int32", {"out_dtype": "float16"}),
        ((4, 8), (2, 8, 4), "int32", {"bias": "float32"}),
    ],
)
def test_grouped_mm_refuses_what_torch_refuses(left, right, ends, more):
    def run(lib, a, b):
        offs = None if ends is None else lib.tensor([2, 4], dtype=getattr(lib, ends))
        kwargs = {key: lib.ones(2, 4) if key == "bias" else getattr(lib, value) for key, value in more.items()}
        return lib.nn.functional.grouped_mm(a, b, offs=offs, **kwargs)

    check_error(run, Case(torch.ones(left)), Case(torch.ones(right)), same_class=True)
