"""What is timed: functions of a torch-like library that return the statement to repeat."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Case = Callable[[Any], Callable[[], object]]


def tiny_add(lib: Any) -> Callable[[], object]:
    """`a + b` on 4x4: the cost of one call."""
    a, b = lib.ones(4, 4), lib.ones(4, 4)
    return lambda: a + b


def tiny_add_grad(lib: Any) -> Callable[[], object]:
    """`a + b` on 4x4 with recording."""
    a, b = lib.ones(4, 4, requires_grad=True), lib.ones(4, 4)
    return lambda: a + b


def tiny_mul_scalar(lib: Any) -> Callable[[], object]:
    """`a * 2.0` on 4x4."""
    a = lib.ones(4, 4)
    return lambda: a * 2.0


def tiny_inplace(lib: Any) -> Callable[[], object]:
    """`a.add_(b)` on 4x4."""
    a, b = lib.ones(4, 4), lib.zeros(4, 4)
    return lambda: a.add_(b)


def tiny_index(lib: Any) -> Callable[[], object]:
    """`a[1, 2:]` on 4x4: a view."""
    a = lib.ones(4, 4)
    return lambda: a[1, 2:]


def tiny_matmul(lib: Any) -> Callable[[], object]:
    """`a @ b` on 4x4."""
    a, b = lib.ones(4, 4), lib.ones(4, 4)
    return lambda: a @ b


def tiny_sum(lib: Any) -> Callable[[], object]:
    """`a.sum()` on 4x4."""
    a = lib.ones(4, 4)
    return lambda: a.sum()


def chain_100(lib: Any) -> Callable[[], object]:
    """100 tiny ops forward and backward."""
    weight = lib.ones(4, 4, requires_grad=True)

    def run() -> None:
        y = weight
        for _ in range(50):
            y = y * weight
            y = y + 1.0
        y.sum().backward()
        weight.grad = None

    return run


def linear_step(lib: Any) -> Callable[[], object]:
    """One forward and backward of a 64-64 linear layer, batch 32."""
    weight, x = lib.ones(64, 64, requires_grad=True), lib.ones(32, 64)

    def run() -> None:
        (x @ weight).sum().backward()
        weight.grad = None

    return run


def large_randn(lib: Any) -> Callable[[], object]:
    """`randn` of a million floats."""
    return lambda: lib.randn(1_000_000)


def large_add(lib: Any) -> Callable[[], object]:
    """`a + b` on a million floats."""
    a, b = lib.ones(1000, 1000), lib.ones(1000, 1000)
    return lambda: a + b


def large_exp(lib: Any) -> Callable[[], object]:
    """`exp` on a million floats."""
    a = lib.ones(1000, 1000)
    return lambda: a.exp()


def large_softmax(lib: Any) -> Callable[[], object]:
    """`softmax` of rows of a thousand random floats."""
    a = lib.rand(1000, 1000)
    return lambda: a.softmax(1)


def large_half(lib: Any) -> Callable[[], object]:
    """A million floats to float16."""
    a = lib.rand(1000, 1000)
    return lambda: a.half()


def large_long(lib: Any) -> Callable[[], object]:
    """A million floats to int64."""
    a = lib.rand(1000, 1000)
    return lambda: a.long()


def large_gather(lib: Any) -> Callable[[], object]:
    """`gather` of a million floats along the first dimension."""
    a, index = lib.rand(1000, 1000), lib.randint(0, 1000, (1000, 1000))
    return lambda: a.gather(0, index)


def large_sum(lib: Any) -> Callable[[], object]:
    """`sum` of a million floats."""
    a = lib.ones(1000, 1000)
    return lambda: a.sum()


def large_sum_rows(lib: Any) -> Callable[[], object]:
    """`sum` over the first dimension of a million floats."""
    a = lib.ones(1000, 1000)
    return lambda: a.sum(0)


def large_argmax(lib: Any) -> Callable[[], object]:
    """`argmax` over the last dimension of a million floats."""
    a = lib.ones(1000, 1000)
    return lambda: a.argmax(1)


def large_cumsum(lib: Any) -> Callable[[], object]:
    """`cumsum` over the last dimension of a million floats."""
    a = lib.ones(1000, 1000)
    return lambda: a.cumsum(1)


def large_sort(lib: Any) -> Callable[[], object]:
    """`sort` of rows of a thousand random floats."""
    a = lib.rand(1000, 1000)
    return lambda: a.sort()


def large_rfft(lib: Any) -> Callable[[], object]:
    """`rfft` of rows of a thousand random floats."""
    a = lib.rand(1000, 1000)
    return lambda: lib.fft.rfft(a)


def large_fft_columns(lib: Any) -> Callable[[], object]:
    """`fft` of columns of a thousand complex numbers."""
    a = lib.rand(1000, 1000, dtype=lib.complex64)
    return lambda: lib.fft.fft(a, dim=0)


def large_searchsorted(lib: Any) -> Callable[[], object]:
    """`searchsorted` of a million floats in a thousand."""
    a, b = lib.linspace(0, 1, 1000), lib.rand(1000, 1000)
    return lambda: lib.searchsorted(a, b)


def large_contiguous(lib: Any) -> Callable[[], object]:
    """A transposed 1000x1000 made contiguous."""
    a = lib.ones(1000, 1000).t()
    return lambda: a.contiguous()


def large_matmul(lib: Any) -> Callable[[], object]:
    """`a @ b` on 512x512."""
    a, b = lib.ones(512, 512), lib.ones(512, 512)
    return lambda: a @ b


def large_solve(lib: Any) -> Callable[[], object]:
    """`linalg.solve` with 256x256 and 16 right-hand sides."""
    a, b = lib.eye(256) + lib.linspace(0, 1, 256 * 256).reshape(256, 256), lib.ones(256, 16)
    return lambda: lib.linalg.solve(a, b)


def large_svdvals(lib: Any) -> Callable[[], object]:
    """`linalg.svdvals` of 128x128."""
    a = lib.eye(128) + lib.linspace(0, 1, 128 * 128).reshape(128, 128)
    return lambda: lib.linalg.svdvals(a)


def conv2d(lib: Any) -> Callable[[], object]:
    """A 3x3 convolution, 16 to 32 channels, batch 8, 32x32."""
    x, w = lib.ones(8, 16, 32, 32), lib.ones(32, 16, 3, 3)
    return lambda: lib.nn.functional.conv2d(x, w, padding=1)


def conv_electrodes(lib: Any) -> Callable[[], object]:
    """A convolution over all 22 electrodes of an EEG and back, 40 to 40 channels, batch 16, 976 samples."""
    x, w = lib.randn(16, 40, 22, 976, requires_grad=True), lib.randn(40, 40, 22, 1, requires_grad=True)
    return lambda: lib.autograd.grad(lib.nn.functional.conv2d(x, w).sum(), (x, w))


def depthwise_5x5(lib: Any) -> Callable[[], object]:
    """A depthwise convolution of MobileNetV3: 240 channels of 28x28, batch 4."""
    x, w = lib.randn(4, 240, 28, 28), lib.randn(240, 1, 5, 5)
    return lambda: lib.nn.functional.conv2d(x, w, padding=2, groups=240)


def depthwise_7x7(lib: Any) -> Callable[[], object]:
    """A depthwise convolution of ConvNeXt: 384 channels of 14x14, batch 4."""
    x, w = lib.randn(4, 384, 14, 14), lib.randn(384, 1, 7, 7)
    return lambda: lib.nn.functional.conv2d(x, w, padding=3, groups=384)


def attention_of_one(lib: Any) -> Callable[[], object]:
    """The attention of one token over a cache of 1024, 8 heads."""
    q, k, v = (lib.randn(1, 8, tokens, 64) for tokens in (1, 1024, 1024))
    return lambda: lib.nn.functional.scaled_dot_product_attention(q, k, v)


def conv_transpose_points(lib: Any) -> Callable[[], object]:
    """Images of 4x4 from 32 points, 64 to 128 channels, as generators begin."""
    x, w = lib.randn(32, 64, 1, 1), lib.randn(64, 128, 4, 4)
    return lambda: lib.nn.functional.conv_transpose2d(x, w)


def spatial_filter(lib: Any) -> Callable[[], object]:
    """40 filters over all 22 channels of EEG that lie side by side, forward and backward."""
    x, conv = lib.randn(32, 40, 976, 22, requires_grad=True), lib.nn.Conv2d(40, 40, (1, 22))

    def run() -> None:
        conv(x).sum().backward()
        x.grad = None

    return run


def max_pool2d(lib: Any) -> Callable[[], object]:
    """A 2x2 maximum, 16 channels, batch 8, 64x64."""
    x = lib.rand(8, 16, 64, 64)
    return lambda: lib.nn.functional.max_pool2d(x, 2)


def pad(lib: Any) -> Callable[[], object]:
    """A reflected frame around 56x56, 64 channels, batch 8."""
    x = lib.rand(8, 64, 56, 56)
    return lambda: lib.nn.functional.pad(x, (1, 1, 1, 1), mode="reflect")


def large_norm(lib: Any) -> Callable[[], object]:
    """Norms of a thousand rows of a thousand floats."""
    a = lib.rand(1000, 1000)
    return lambda: a.norm(dim=1)


def large_cdist(lib: Any) -> Callable[[], object]:
    """Distances of a thousand points of 64 coordinates."""
    a = lib.rand(1000, 64)
    return lambda: lib.cdist(a, a)


def city_cdist(lib: Any) -> Callable[[], object]:
    """Sums of absolute differences between 500 points and 600 of 64 coordinates."""
    a, b = lib.rand(500, 64), lib.rand(600, 64)
    return lambda: lib.cdist(a, b, 1)


def small_solve(lib: Any) -> Callable[[], object]:
    """Determinants, inverses and solutions of a thousand matrices of 4x4."""
    a, b = lib.rand(1000, 4, 4) + 4 * lib.eye(4), lib.rand(1000, 4, 1)
    return lambda: (lib.linalg.det(a), lib.linalg.inv(a), lib.linalg.solve(a, b))


def small_eigh(lib: Any) -> Callable[[], object]:
    """Eigenvalues and eigenvectors of a thousand symmetric matrices of 4x4."""
    a = lib.rand(1000, 4, 4)
    return lambda: lib.linalg.eigh(a + a.mT)


def small_svd(lib: Any) -> Callable[[], object]:
    """Singular values and vectors of a thousand matrices of 4x4."""
    a = lib.rand(1000, 4, 4)
    return lambda: lib.linalg.svd(a)


def large_nonzero(lib: Any) -> Callable[[], object]:
    """The places of a million numbers that are not zero."""
    a = lib.rand(1000, 1000)
    return lambda: a.nonzero()


def large_histc(lib: Any) -> Callable[[], object]:
    """A million numbers counted in a hundred bins."""
    a = lib.rand(1000, 1000)
    return lambda: lib.histc(a)


def double_matmul(lib: Any) -> Callable[[], object]:
    """A product of float64 as of a layer's: 256 rows, 128 features."""
    a, b = (lib.randn(rows, 128, dtype=lib.float64) for rows in (256, 128))
    return lambda: a @ b.t()


def fold_windows(lib: Any) -> Callable[[], object]:
    """Windows of 64x64 put together to an image of 256x256, as after segmenting each of them."""
    x = lib.randn(1, 2 * 64 * 64, 49)
    return lambda: lib.nn.functional.fold(x, (256, 256), 64, stride=32)


def unfold_windows(lib: Any) -> Callable[[], object]:
    """The windows of images as columns, and the gradient of that."""
    x, g = lib.randn(8, 32, 21, 21, requires_grad=True), lib.ones(8, 32 * 9, 361)

    def run() -> None:
        lib.nn.functional.unfold(x, 3).backward(g)
        x.grad = None

    return run


def cross_products(lib: Any) -> Callable[[], object]:
    """Normals of a hundred thousand triangles."""
    a, b = lib.randn(100_000, 3), lib.randn(100_000, 3)
    return lambda: lib.cross(a, b, dim=1)


def pairs_of_points(lib: Any) -> Callable[[], object]:
    """Distances of all pairs of 500 points of 32 coordinates."""
    x = lib.randn(500, 32)
    return lambda: lib.nn.functional.pdist(x)


def double_remainder(lib: Any) -> Callable[[], object]:
    """Remainders of float64, as of coordinates in a periodic box."""
    a, b = lib.randn(100_000, 3, dtype=lib.float64), lib.rand(3, dtype=lib.float64) + 1
    return lambda: lib.remainder(a, b)


def short_rows(lib: Any) -> Callable[[], object]:
    """Four of seven columns scaled in place, as of boxes in a table of detections."""
    x, factors = lib.ones(100_000, 7), lib.ones(4)
    boxes = x[:, :4]
    return lambda: boxes.mul_(factors)


def best_of_ten(lib: Any) -> Callable[[], object]:
    """The greatest of ten scores of many samples, and where it stands."""
    x = lib.randn(20_000, 10)
    return lambda: x.max(1)


def last_max_pool(lib: Any) -> Callable[[], object]:
    """Maxima of 3x3 windows of images with channels last."""
    x = lib.rand(8, 64, 56, 56).to(memory_format=lib.channels_last)
    return lambda: lib.nn.functional.max_pool2d(x, 3, 2, 1)


def last_conv_1x1(lib: Any) -> Callable[[], object]:
    """Every pixel of images with channels last by a matrix."""
    x = lib.rand(8, 64, 56, 56).to(memory_format=lib.channels_last)
    m = lib.nn.Conv2d(64, 128, 1)
    return lambda: m(x)


def last_depthwise(lib: Any) -> Callable[[], object]:
    """A filter for each channel of images with channels last."""
    x = lib.rand(8, 64, 56, 56).to(memory_format=lib.channels_last)
    m = lib.nn.Conv2d(64, 64, 3, padding=1, groups=64)
    return lambda: m(x)


def last_strided(lib: Any) -> Callable[[], object]:
    """Every second window of images with channels last, there and back."""
    x = lib.rand(8, 64, 56, 56).to(memory_format=lib.channels_last)
    m = lib.nn.Conv2d(64, 128, 3, stride=2, padding=1)
    return lambda: m(x).sum().backward()


def last_patches(lib: Any) -> Callable[[], object]:
    """Windows side by side of photographs as they are read."""
    x = lib.rand(8, 224, 224, 3).permute(0, 3, 1, 2)
    m = lib.nn.Conv2d(3, 96, 4, stride=4)
    return lambda: m(x)


def channels_first(lib: Any) -> Callable[[], object]:
    """Photographs as they are read, turned to what networks take."""
    x = lib.rand(8, 224, 224, 3).permute(0, 3, 1, 2)
    return lambda: x.contiguous()


def normalized_pixels(lib: Any) -> Callable[[], object]:
    """Four cut out photographs, pixel by pixel, less a number and over a number for each colour."""
    x = lib.rand(4, 256, 256, 3).permute(0, 3, 1, 2)[:, :, 16:240, 16:240]
    mean, std = lib.rand(3, 1, 1), lib.rand(3, 1, 1) + 1
    return lambda: (x - mean) / std


def last_batch_norm(lib: Any) -> Callable[[], object]:
    """Batch norm of images with channels last, and its average of each."""
    x = lib.rand(8, 64, 56, 56).to(memory_format=lib.channels_last)
    m, p = lib.nn.BatchNorm2d(64), lib.nn.AdaptiveAvgPool2d(1)
    return lambda: p(m(x))


def large_linspace(lib: Any) -> Callable[[], object]:
    """`linspace` of a million points."""
    return lambda: lib.linspace(0, 1, 1_000_000)


def avg_pool2d(lib: Any) -> Callable[[], object]:
    """A 2x2 mean, 16 channels, batch 8, 64x64."""
    x = lib.rand(8, 16, 64, 64)
    return lambda: lib.nn.functional.avg_pool2d(x, 2)


def large_to(lib: Any) -> Callable[[], object]:
    """A million floats as float64."""
    a = lib.rand(1000, 1000)
    return lambda: a.to(lib.float64)


def large_tanh(lib: Any) -> Callable[[], object]:
    """`tanh` of a million floats."""
    a = lib.rand(1000, 1000)
    return lambda: a.tanh()


def large_gelu(lib: Any) -> Callable[[], object]:
    """`gelu` of a million floats."""
    a = lib.randn(1000, 1000)
    return lambda: lib.nn.functional.gelu(a)


def layer_norm(lib: Any) -> Callable[[], object]:
    """`layer_norm` of rows of a thousand floats."""
    a, weight, bias = lib.randn(1000, 1000), lib.ones(1000), lib.zeros(1000)
    return lambda: lib.nn.functional.layer_norm(a, (1000,), weight, bias)


def layer_norm_step(lib: Any) -> Callable[[], object]:
    """`layer_norm` of rows of a thousand floats, forward and backward."""
    a = lib.randn(1000, 1000, requires_grad=True)
    weight, bias = lib.ones(1000, requires_grad=True), lib.zeros(1000, requires_grad=True)

    def run() -> None:
        lib.nn.functional.layer_norm(a, (1000,), weight, bias).sum().backward()
        a.grad = weight.grad = bias.grad = None

    return run


def cross_entropy_step(lib: Any) -> Callable[[], object]:
    """`cross_entropy` of a thousand rows of a thousand classes, forward and backward."""
    a, target = lib.randn(1000, 1000, requires_grad=True), lib.arange(1000)

    def run() -> None:
        lib.nn.functional.cross_entropy(a, target).backward()
        a.grad = None

    return run


def lstm_step(lib: Any) -> Callable[[], object]:
    """One forward and backward of an LSTM, 32 steps, batch 16, 64 to 64."""
    model, x = lib.nn.LSTM(64, 64), lib.randn(32, 16, 64)

    def run() -> None:
        model(x)[0].sum().backward()
        model.zero_grad()

    return run


def double_softplus(lib: Any) -> Callable[[], object]:
    """`softplus` of a million doubles, forward and backward, as networks of molecules have it."""
    a = lib.randn(1000, 1000, dtype=lib.float64, requires_grad=True)

    def run() -> None:
        lib.nn.functional.softplus(a).sum().backward()
        a.grad = None

    return run


def bags_of_words(lib: Any) -> Callable[[], object]:
    """Sums of 2048 bags of ten rows of a table."""
    table, words = lib.randn(50_000, 128), lib.randint(0, 50_000, (2048, 10))
    return lambda: lib.nn.functional.embedding_bag(words, table, mode="sum")


def bags_of_words_step(lib: Any) -> Callable[[], object]:
    """Means of 250 bags of a small table, cut by offsets, forward and backward."""
    table, words = lib.randn(10_000, 64, requires_grad=True), lib.randint(0, 10_000, (5000,))
    offsets, grad = lib.arange(0, 5000, 20), lib.randn(250, 64)

    def run() -> None:
        lib.nn.functional.embedding_bag(words, table, offsets).backward(grad)
        table.grad = None

    return run


def small_glu(lib: Any) -> Callable[[], object]:
    """`glu` of 64 rows of 128 floats."""
    a = lib.randn(64, 128)
    return lambda: lib.nn.functional.glu(a)


def cosines_of_rows(lib: Any) -> Callable[[], object]:
    """`cosine_similarity` of 64 pairs of rows of 128 floats."""
    a, b = lib.randn(64, 128), lib.randn(64, 128)
    return lambda: lib.nn.functional.cosine_similarity(a, b, -1)


def small_probability_loss(lib: Any) -> Callable[[], object]:
    """`binary_cross_entropy` of 64 numbers."""
    a, b = lib.rand(64), lib.rand(64)
    return lambda: lib.nn.functional.binary_cross_entropy(a, b)


def small_interpolate(lib: Any) -> Callable[[], object]:
    """`interpolate` of an image of 16 pixels to twice its size."""
    a = lib.randn(1, 1, 4, 4)
    return lambda: lib.nn.functional.interpolate(a, scale_factor=2, mode="bilinear")


def complex_rows(lib: Any) -> Callable[[], object]:
    """Sums of a thousand rows of a thousand complex numbers."""
    a = lib.randn(1000, 1000, dtype=lib.complex64)
    return lambda: a.sum(1)


def double_angles(lib: Any) -> Callable[[], object]:
    """`atan2` of a hundred thousand doubles."""
    a, b = lib.randn(100_000, dtype=lib.float64), lib.randn(100_000, dtype=lib.float64)
    return lambda: lib.atan2(a, b)


def incomplete_gamma(lib: Any) -> Callable[[], object]:
    """`gammainc` of ten thousand pairs."""
    a, b = lib.rand(10_000) * 20, lib.rand(10_000) * 20
    return lambda: lib.special.gammainc(a, b)


# The three limits of the foundation; the rest is shown without one.
LIMITS = {"tiny_add": 0.35, "tiny_add_grad": 0.5, "chain_100": 0.4}

CASES: dict[str, Case] = {
    case.__name__: case
    for case in (
        tiny_add,
        tiny_add_grad,
        tiny_mul_scalar,
        tiny_inplace,
        tiny_index,
        tiny_matmul,
        tiny_sum,
        chain_100,
        linear_step,
        large_randn,
        large_add,
        large_exp,
        large_softmax,
        large_half,
        large_long,
        large_gather,
        large_sum,
        large_sum_rows,
        large_argmax,
        large_cumsum,
        large_sort,
        large_rfft,
        large_fft_columns,
        large_searchsorted,
        large_contiguous,
        large_matmul,
        large_solve,
        large_svdvals,
        conv2d,
        conv_electrodes,
        conv_transpose_points,
        spatial_filter,
        depthwise_5x5,
        depthwise_7x7,
        attention_of_one,
        max_pool2d,
        pad,
        large_norm,
        large_cdist,
        city_cdist,
        small_solve,
        small_eigh,
        small_svd,
        large_nonzero,
        large_histc,
        double_matmul,
        double_softplus,
        fold_windows,
        unfold_windows,
        cross_products,
        pairs_of_points,
        double_remainder,
        short_rows,
        best_of_ten,
        last_max_pool,
        last_conv_1x1,
        last_depthwise,
        last_strided,
        last_patches,
        channels_first,
        normalized_pixels,
        last_batch_norm,
        large_linspace,
        avg_pool2d,
        large_to,
        large_tanh,
        large_gelu,
        bags_of_words,
        bags_of_words_step,
        small_glu,
        cosines_of_rows,
        small_probability_loss,
        small_interpolate,
        complex_rows,
        double_angles,
        incomplete_gamma,
        layer_norm,
        layer_norm_step,
        cross_entropy_step,
        lstm_step,
    )
}
