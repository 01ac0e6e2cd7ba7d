"""Every layer against torch's: repr, state_dict both ways, values, gradients, eval, pickle, deepcopy."""

import pytest
import torch

from nn.compare import check_module


def x(*shape, grad=True):
    generator = torch.Generator().manual_seed(sum(shape) + len(shape))
    return torch.randn(*shape, generator=generator).requires_grad_(grad)


def ints(high, *shape):
    return torch.randint(0, high, shape, generator=torch.Generator().manual_seed(3))


ELEMENTWISE = [
    ("ReLU", {}),
    ("ReLU6", {}),
    ("ELU", {"alpha": 0.7}),
    ("SELU", {}),
    ("CELU", {"alpha": 1.3}),
    ("LeakyReLU", {"negative_slope": 0.2}),
    ("GELU", {}),
    ("GELU", {"approximate": "tanh"}),
    ("SiLU", {}),
    ("Mish", {}),
    ("Softplus", {"beta": 2.0, "threshold": 1.5}),
    ("Softshrink", {"lambd": 0.3}),
    ("Hardshrink", {"lambd": 0.3}),
    ("Tanhshrink", {}),
    ("Softsign", {}),
    ("Hardtanh", {"min_val": -0.5}),
    ("Hardsigmoid", {}),
    ("Hardswish", {}),
    ("LogSigmoid", {}),
    ("Sigmoid", {}),
    ("Tanh", {}),
    ("Threshold", {"threshold": 0.1, "value": 20.0}),
    ("GLU", {"dim": 1}),
    ("Softmax", {"dim": 1}),
    ("Softmin", {"dim": -1}),
    ("LogSoftmax", {"dim": 0}),
    ("PReLU", {}),
    ("PReLU", {"num_parameters": 4}),
]


@pytest.mark.parametrize(("name", "kwargs"), ELEMENTWISE)
def test_activation(name, kwargs):
    check_module(name, inputs=(x(3, 4, 2),), **kwargs)


@pytest.mark.parametrize(("name", "kwargs"), ELEMENTWISE)
def test_activation_at_its_bends_and_far_out(name, kwargs):
    points = [0.0, -0.0, 0.3, -0.3, 0.5, -0.5, 1.0, -1.0, 0.75, 3.0, -3.1, 6.0, 25.0, -25.0, 60.0, -60.0]
    check_module(name, inputs=(torch.tensor(points).reshape(4, 4).requires_grad_(),), **kwargs)


INPLACE = ["ReLU", "ReLU6", "ELU", "SELU", "CELU", "LeakyReLU", "SiLU", "Mish", "Hardtanh", "Hardsigmoid", "Hardswish"]


@pytest.mark.parametrize("name", INPLACE)
def test_activation_in_place(name):
    import pyburn

    from nn.compare import ours, same

    start = x(5)
    mine, theirs = ours(start), start.detach().clone().requires_grad_()
    written, expected = mine * 1, theirs * 1
    assert getattr(pyburn.nn, name)(inplace=True)(written) is written
    getattr(torch.nn, name)(inplace=True)(expected)
    same(written, expected)
    written.sum().backward(), expected.sum().backward()
    same(mine.grad, theirs.grad)


def test_softmax2d():
    check_module("Softmax2d", inputs=(x(2, 3, 2, 2),))


def test_rrelu_in_evaluation():
    check_module("RReLU", 0.1, 0.3, inputs=(x(3, 4),), random=True)


@pytest.mark.parametrize("name", ["Dropout", "AlphaDropout", "FeatureAlphaDropout"])
def test_dropout_in_evaluation(name):
    check_module(name, 0.3, inputs=(x(3, 4),), random=True)


def test_linear():
    check_module("Linear", 3, 5, inputs=(x(2, 4, 3),))
    check_module("Linear", 3, 5, bias=False, inputs=(x(3),))


def test_bilinear():
    check_module("Bilinear", 3, 4, 5, inputs=(x(2, 6, 3), x(2, 6, 4)))


def test_shape_layers():
    check_module("Identity", inputs=(x(2, 3),))
    check_module("Flatten", 1, 2, inputs=(x(2, 3, 4, 5),))
    check_module("Unflatten", 1, (2, 3), inputs=(x(2, 6, 4),))


CONV = [
    {},
    {"stride": 2},
    {"padding": 1},
    {"padding": "same"},
    {"padding": "valid"},
    {"dilation": 2},
    {"groups": 2},
    {"bias": False},
    {"padding": 1, "padding_mode": "reflect"},
    {"padding": 1, "padding_mode": "replicate"},
    {"padding": 2, "padding_mode": "circular"},
    {"padding": "same", "padding_mode": "circular", "dilation": 2},
]


@pytest.mark.parametrize("kwargs", CONV, ids=str)
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_conv(dims, kwargs):
    check_module(f"Conv{dims}d", 4, 6, 3, inputs=(x(2, 4, *[7, 6, 5][:dims]),), **kwargs)


@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel lengths")
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_conv_without_batch_and_with_even_kernel(dims):
    check_module(f"Conv{dims}d", 2, 3, 2, padding="same", inputs=(x(2, *[7, 6, 5][:dims]),))


@pytest.mark.parametrize(
    "kwargs",
    [{}, {"stride": 2}, {"padding": 1}, {"stride": 3, "output_padding": 2}, {"dilation": 2}, {"groups": 2}],
    ids=str,
)
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_conv_transpose(dims, kwargs):
    check_module(f"ConvTranspose{dims}d", 4, 6, 3, inputs=(x(2, 4, *[4, 3, 3][:dims]),), **kwargs)


def test_conv_transpose_to_a_given_size():
    import pyburn

    from nn.compare import _load, ours, same

    mine, theirs = pyburn.nn.ConvTranspose2d(2, 3, 3, stride=2), torch.nn.ConvTranspose2d(2, 3, 3, stride=2)
    _load(mine, theirs)
    image = x(1, 2, 4, 4)
    same(mine(ours(image), output_size=[10, 9]), theirs(image, output_size=[10, 9]))
    with pytest.raises(ValueError, match="can only be from 9 to 10"):
        mine(ours(image), output_size=[11, 9])


@pytest.mark.parametrize("kwargs", [{}, {"stride": 1}, {"padding": 1}, {"ceil_mode": True}, {"dilation": 2}], ids=str)
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_max_pool(dims, kwargs):
    check_module(f"MaxPool{dims}d", 3, inputs=(x(2, 3, *[8, 7, 6][:dims]),), **kwargs)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_max_unpool(dims):
    image = x(2, 3, *[8, 6, 4][:dims])
    check_module(f"MaxPool{dims}d", 2, return_indices=True, inputs=(image,))
    pooled, places = getattr(torch.nn, f"MaxPool{dims}d")(2, return_indices=True)(image.detach())
    check_module(f"MaxUnpool{dims}d", 2, inputs=(pooled.requires_grad_(), places))


@pytest.mark.parametrize(
    "kwargs",
    [{}, {"stride": 2}, {"padding": 1}, {"padding": 1, "count_include_pad": False}, {"ceil_mode": True}],
    ids=str,
)
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_avg_pool(dims, kwargs):
    check_module(f"AvgPool{dims}d", 3, inputs=(x(2, 3, *[8, 7, 6][:dims]),), **kwargs)


def test_avg_pool_with_a_divisor():
    check_module("AvgPool2d", 2, divisor_override=3, inputs=(x(1, 2, 4, 4),))


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_power_pool(dims):
    check_module(f"LPPool{dims}d", 2, 2, inputs=(x(2, 3, *[8, 6, 4][:dims]),))


@pytest.mark.parametrize("kind", ["Avg", "Max"])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_adaptive_pool(dims, kind):
    check_module(f"Adaptive{kind}Pool{dims}d", 3, inputs=(x(2, 3, *[8, 7, 5][:dims]),))


@pytest.mark.parametrize("size", [(1, None), (2, 3), 1], ids=str)
def test_adaptive_pool_keeps_a_size(size):
    check_module("AdaptiveAvgPool2d", size, inputs=(x(2, 3, 7, 5),))


NORM_SHAPES = {1: (4, 3, 5), 2: (4, 3, 5, 2), 3: (4, 3, 2, 2, 3)}


@pytest.mark.parametrize(
    "kwargs",
    [{}, {"momentum": None}, {"affine": False}, {"track_running_stats": False}, {"eps": 0.1}, {"bias": False}],
    ids=str,
)
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_batch_norm(dims, kwargs):
    check_module(f"BatchNorm{dims}d", 3, inputs=(x(*NORM_SHAPES[dims]),), **kwargs)


def test_batch_norm_of_plain_vectors():
    check_module("BatchNorm1d", 3, inputs=(x(5, 3),))


@pytest.mark.parametrize("kwargs", [{}, {"affine": True}, {"track_running_stats": True}], ids=str)
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_instance_norm(dims, kwargs):
    check_module(f"InstanceNorm{dims}d", 3, inputs=(x(*NORM_SHAPES[dims]),), **kwargs)
    check_module(f"InstanceNorm{dims}d", 3, inputs=(x(*NORM_SHAPES[dims][1:]),), **kwargs)


@pytest.mark.parametrize("kwargs", [{}, {"bias": False}, {"elementwise_affine": False}], ids=str)
def test_layer_norm(kwargs):
    check_module("LayerNorm", 5, inputs=(x(2, 3, 5),), **kwargs)
    check_module("LayerNorm", (3, 5), inputs=(x(2, 3, 5),), **kwargs)


@pytest.mark.parametrize("kwargs", [{}, {"eps": 0.1}, {"elementwise_affine": False}], ids=str)
def test_rms_norm(kwargs):
    check_module("RMSNorm", (3, 5), inputs=(x(2, 3, 5),), **kwargs)


@pytest.mark.parametrize("kwargs", [{}, {"affine": False}, {"bias": False}], ids=str)
def test_group_norm(kwargs):
    check_module("GroupNorm", 2, 4, inputs=(x(3, 4, 5),), **kwargs)


def test_local_response_norm():
    check_module("LocalResponseNorm", 3, inputs=(x(2, 5, 4),))
    check_module("LocalResponseNorm", 2, 0.1, 0.5, 2.0, inputs=(x(2, 5, 4, 3),))


@pytest.mark.parametrize("kwargs", [{}, {"padding_idx": 2}, {"scale_grad_by_freq": True}, {"max_norm": 0.8}], ids=str)
def test_embedding(kwargs):
    check_module("Embedding", 6, 3, inputs=(ints(6, 4, 5),), **kwargs)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("padding_idx", [None, 1])
def test_embedding_bag(mode, padding_idx):
    check_module("EmbeddingBag", 6, 3, mode=mode, padding_idx=padding_idx, inputs=(ints(6, 4, 5),))
    offsets = torch.tensor([0, 2, 2, 5])
    check_module("EmbeddingBag", 6, 3, mode=mode, padding_idx=padding_idx, inputs=(ints(6, 9), offsets))


def test_embedding_bag_with_weights():
    check_module("EmbeddingBag", 6, 3, mode="sum", inputs=(ints(6, 4, 5), None, x(4, 5)))


def test_distances():
    check_module("PairwiseDistance", 3.0, keepdim=True, inputs=(x(4, 3), x(4, 3).detach() + 1))
    check_module("CosineSimilarity", 1, inputs=(x(4, 3, 2), x(4, 3, 2).detach() + 1))


@pytest.mark.parametrize("kind", ["ConstantPad", "ZeroPad", "ReflectionPad", "ReplicationPad", "CircularPad"])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_padding(kind, dims):
    value = (3.5,) if kind == "ConstantPad" else ()
    image = x(2, 3, *[4, 3, 5][:dims])
    check_module(f"{kind}{dims}d", 2, *value, inputs=(image,))
    check_module(f"{kind}{dims}d", (1, 2, 0, 1, 2, 1)[: 2 * dims], *value, inputs=(image,))


@pytest.mark.parametrize(
    ("shape", "kwargs"),
    [
        ((1, 2, 3), {"scale_factor": 2}),
        ((1, 2, 3), {"size": 7, "mode": "linear"}),
        ((1, 2, 3, 4), {"scale_factor": (2, 3)}),
        ((1, 2, 3, 4), {"scale_factor": 2, "mode": "bilinear", "align_corners": True}),
        ((1, 2, 3, 4), {"size": (5, 6), "mode": "bicubic"}),
        ((1, 2, 2, 3, 2), {"scale_factor": 2, "mode": "trilinear"}),
    ],
)
def test_upsample(shape, kwargs):
    check_module("Upsample", inputs=(x(*shape),), **kwargs)


def test_fixed_upsampling():
    check_module("UpsamplingNearest2d", scale_factor=2, inputs=(x(1, 2, 3, 3),))
    check_module("UpsamplingBilinear2d", size=(5, 4), inputs=(x(1, 2, 3, 3),))


def test_shuffles():
    check_module("PixelShuffle", 2, inputs=(x(1, 8, 3, 2),))
    check_module("PixelUnshuffle", 2, inputs=(x(1, 2, 4, 6),))
    check_module("ChannelShuffle", 2, inputs=(x(1, 6, 2, 2),))


def test_fold():
    check_module("Unfold", 2, stride=2, padding=1, inputs=(x(2, 3, 4, 5),))
    check_module("Fold", (4, 5), 2, inputs=(x(2, 12, 12),))
