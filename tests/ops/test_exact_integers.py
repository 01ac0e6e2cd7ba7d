"""Integer tensors where torch has a rule of its own: pooled averages, folded truth, resized bytes; and random draws."""

import numpy as np
import pytest
import torch

from oracle import Case, check_op

RNG = np.random.default_rng(11)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_average_pools_of_int64_drop_the_fraction(n: int) -> None:
    x = RNG.integers(-50, 50, (2, 3, *[7] * n))
    check_op(lambda lib, x: getattr(lib.nn.functional, f"avg_pool{n}d")(x, 3, 2, 1), x)


def test_fold_of_truth() -> None:
    x = RNG.integers(0, 2, (1, 4, 4)).astype(bool)
    check_op(lambda lib, x: lib.nn.functional.fold(x, (3, 3), 2), x)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("size", [(5, 9), (20, 3), (40, 40)])
def test_resized_bytes_are_torchs(mode: str, antialias: bool, size: tuple[int, int]) -> None:
    image = RNG.integers(0, 256, (1, 3, 13, 17)).astype("uint8")
    check_op(lambda lib, x: lib.nn.functional.interpolate(x, size, mode=mode, antialias=antialias), image)


DRAWS = {
    "rrelu": lambda lib, x: lib.nn.functional.rrelu(x, 0.1, 0.6, training=True),
    "gumbel_softmax": lambda lib, x: lib.nn.functional.gumbel_softmax(x, tau=0.7),
    "gumbel_softmax_hard": lambda lib, x: lib.nn.functional.gumbel_softmax(x, hard=True),
    "attention": lambda lib, x: lib.nn.functional.scaled_dot_product_attention(x, x, x, dropout_p=0.5),
    "dropout3d": lambda lib, x: lib.nn.functional.dropout3d(x, 0.5),
}


@pytest.mark.parametrize("name", DRAWS)
def test_random_functions_draw_torchs_numbers(name: str) -> None:
    def seeded(lib: object, x: object) -> object:
        lib.manual_seed(5)
        return DRAWS[name](lib, x)

    check_op(seeded, Case(RNG.standard_normal((2, 3, 4, 5)), "float32"), rtol=1e-5)


def test_logit_with_crossed_bounds_and_cosine_of_broadcast_vectors() -> None:
    check_op(lambda lib, x: lib.logit(x, 0.6), RNG.random((4, 4)))
    check_op(
        lambda lib, a, b: lib.nn.functional.cosine_similarity(a, b, dim=-2),
        RNG.standard_normal((1, 2, 3)),
        RNG.standard_normal((2, 1, 3)),
    )


def test_draws_have_a_gradient_of_zero() -> None:
    mean = RNG.standard_normal((3, 4)).astype("float32")

    def drawn(lib: object, mean: object, std: object) -> object:
        lib.manual_seed(1)
        return lib.normal(mean, std), lib.bernoulli(std / 2)

    check_op(drawn, mean, np.abs(mean) / np.abs(mean).max())
    assert torch.normal(torch.zeros(1, requires_grad=True), 1.0).requires_grad
