"""Samples of convolutions, pools, resampling, norms, attention, embeddings and losses."""

from __future__ import annotations

from typing import Any

from sample_inputs import Call, Make
from sample_inputs import functional as _f


def _resized(mode: str, shape: tuple[int, ...], **options: Any) -> Call:
    return lambda m: _f(m).interpolate(m.x(*shape), mode=mode, **options)


def _sampled(mode: str, padding: str) -> Call:
    return lambda m: _f(m).grid_sample(m.x(1, 2, 4, 4), m.unit(1, 3, 3, 2) * 1.5, mode, padding, align_corners=True)


def _loss(name: str, **options: Any) -> Call:
    return lambda m: getattr(_f(m), name)(m.x(3, 4), m.unit(3, 4), **options)


def _labelled(name: str, **options: Any) -> Call:
    return lambda m: getattr(_f(m), name)(m.x(3, 4), m.index(4, 3), **options)


def _attention(**options: Any) -> Call:
    return lambda m: _f(m).scaled_dot_product_attention(m.x(1, 2, 3, 4), m.x(1, 2, 5, 4), m.unit(1, 2, 5, 4), **options)


def _signs(m: Make, *shape: int) -> Any:
    """1 or -1, of the dtype."""
    return (m.mask(*shape).to(getattr(m.lib, m.dtype)) * 2 - 1).detach()


def _unpooled(m: Make) -> Any:
    values, places = _f(m).max_pool2d(m.x(1, 2, 4, 4), 2, return_indices=True)
    return _f(m).max_unpool2d(values, places, 2)


CONVOLUTIONS: dict[str, Call] = {
    "conv1d_dilated": lambda m: _f(m).conv1d(m.x(2, 4, 9), m.unit(6, 2, 3), m.unit(6), 2, 1, 2, 2),
    "conv1d_same": lambda m: _f(m).conv1d(m.x(2, 2, 7), m.unit(3, 2, 3), padding="same"),
    "conv2d_groups": lambda m: _f(m).conv2d(m.x(2, 4, 5, 6), m.unit(6, 2, 3, 2), m.unit(6), (1, 2), (1, 0), 1, 2),
    "conv2d_depthwise": lambda m: _f(m).conv2d(m.x(1, 3, 5, 5), m.unit(3, 1, 3, 3), None, 1, 1, 1, 3),
    "conv2d_dilated": lambda m: _f(m).conv2d(m.x(1, 2, 7, 7), m.unit(3, 2, 3, 3), None, 2, 2, 2),
    "conv2d_unbatched": lambda m: _f(m).conv2d(m.x(2, 5, 5), m.unit(3, 2, 1, 1)),
    "conv3d_stride": lambda m: _f(m).conv3d(m.x(1, 2, 4, 5, 4), m.unit(2, 2, 2, 3, 2), m.unit(2), 2, 1),
    "conv_transpose1d_groups": lambda m: _f(m).conv_transpose1d(m.x(1, 4, 5), m.unit(4, 1, 3), None, 2, 1, 1, 2),
    "conv_transpose2d_all": lambda m: _f(m).conv_transpose2d(
        m.x(1, 2, 4, 3), m.unit(2, 3, 3, 3), m.unit(3), 2, 1, 1, 1, 1
    ),
    "conv_transpose3d_stride": lambda m: _f(m).conv_transpose3d(m.x(1, 1, 3, 2, 3), m.unit(1, 2, 2, 2, 2), stride=2),
}

POOLS: dict[str, Call] = {
    "avg_pool1d_padded": lambda m: _f(m).avg_pool1d(m.x(2, 2, 7), 3, 2, 1, count_include_pad=False),
    "avg_pool2d_ceil": lambda m: _f(m).avg_pool2d(m.x(1, 2, 5, 6), 3, 2, 1, ceil_mode=True),
    "avg_pool2d_divisor": lambda m: _f(m).avg_pool2d(m.x(1, 2, 4, 4), 2, divisor_override=3),
    "avg_pool3d": lambda m: _f(m).avg_pool3d(m.x(1, 1, 4, 4, 4), 2),
    "max_pool1d_dilated": lambda m: _f(m).max_pool1d(m.x(2, 2, 9), 3, 2, 1, 2),
    "max_pool1d_indices": lambda m: _f(m).max_pool1d(m.x(1, 2, 6), 2, return_indices=True),
    "max_pool2d_padded": lambda m: _f(m).max_pool2d(m.x(1, 2, 5, 6), 3, 2, 1, ceil_mode=True),
    "max_pool2d_dilated": lambda m: _f(m).max_pool2d(m.x(1, 2, 7, 7), 2, 2, 0, 2, return_indices=True),
    "max_pool2d_special": lambda m: _f(m).max_pool2d(m.special(1, 2, 4, 4), 2, return_indices=True),
    "max_pool3d": lambda m: _f(m).max_pool3d(m.x(1, 1, 4, 4, 4), 2, return_indices=True),
    "adaptive_max_pool1d": lambda m: _f(m).adaptive_max_pool1d(m.x(1, 2, 7), 3, return_indices=True),
    "adaptive_max_pool2d": lambda m: _f(m).adaptive_max_pool2d(m.x(1, 2, 5, 6), (3, 2)),
    "adaptive_max_pool3d": lambda m: _f(m).adaptive_max_pool3d(m.x(1, 1, 4, 4, 4), 2),
    "adaptive_avg_pool2d_uneven": lambda m: _f(m).adaptive_avg_pool2d(m.x(1, 2, 5, 7), (2, 3)),
    "lp_pool1d": lambda m: _f(m).lp_pool1d(m.positive(1, 2, 6), 2, 2),
    "lp_pool2d": lambda m: _f(m).lp_pool2d(m.positive(1, 2, 4, 4), 2, 2),
    "max_unpool2d": _unpooled,
}

RESIZED: dict[str, Call] = {
    "interpolate_nearest": _resized("nearest", (1, 2, 3, 4), size=(5, 6)),
    "interpolate_nearest1d": _resized("nearest", (1, 2, 5), scale_factor=2),
    "interpolate_nearest3d": _resized("nearest", (1, 1, 2, 3, 2), scale_factor=2),
    "interpolate_exact": _resized("nearest-exact", (1, 2, 3, 4), size=(5, 6)),
    "interpolate_linear": _resized("linear", (1, 2, 5), size=8, align_corners=False),
    "interpolate_bilinear": _resized("bilinear", (1, 2, 4, 4), scale_factor=1.5, align_corners=False),
    "interpolate_antialias": _resized("bilinear", (1, 2, 6, 6), size=(3, 4), antialias=True),
    "interpolate_bicubic": _resized("bicubic", (1, 2, 4, 4), size=(6, 5), align_corners=False),
    "interpolate_trilinear": _resized("trilinear", (1, 1, 3, 3, 3), size=(4, 5, 4), align_corners=True),
    "interpolate_area": _resized("area", (1, 2, 5, 6), size=(2, 3)),
    "grid_sample_nearest": _sampled("nearest", "zeros"),
    "grid_sample_border": _sampled("bilinear", "border"),
    "grid_sample_reflection": _sampled("bicubic", "reflection"),
    "affine_grid": lambda m: _f(m).affine_grid(m.x(1, 2, 3), (1, 1, 3, 3), align_corners=False),
}

NORMS: dict[str, Call] = {
    "batch_norm_images": lambda m: _f(m).batch_norm(m.x(2, 3, 2, 2), None, None, m.unit(3), m.unit(3), training=True),
    "batch_norm_eval": lambda m: _f(m).batch_norm(m.x(4, 3), m.still.unit(3), m.still.positive(3)),
    "layer_norm_affine": lambda m: _f(m).layer_norm(m.x(2, 3, 4), (3, 4), m.unit(3, 4), m.x(3, 4)),
    "group_norm": lambda m: _f(m).group_norm(m.x(2, 4, 3), 2, m.unit(4), m.x(4)),
    "instance_norm": lambda m: _f(m).instance_norm(m.x(2, 3, 5), weight=m.unit(3), bias=m.x(3)),
    "rms_norm": lambda m: _f(m).rms_norm(m.x(2, 4), (4,), m.unit(4)),
    "local_response_norm": lambda m: _f(m).local_response_norm(m.x(1, 4, 3, 3), 2),
    "normalize": lambda m: _f(m).normalize(m.x(2, 3), dim=1),
    "cosine_similarity": lambda m: _f(m).cosine_similarity(m.x(2, 3), m.positive(2, 3)),
    "pairwise_distance": lambda m: _f(m).pairwise_distance(m.x(2, 3), m.positive(2, 3)),
}

OTHERS: dict[str, Call] = {
    "glu": lambda m: _f(m).glu(m.x(2, 4), 1),
    "gelu_tanh": lambda m: _f(m).gelu(m.x(2, 3), approximate="tanh"),
    "softplus_beta": lambda m: _f(m).softplus(m.x(2, 3), beta=2, threshold=3),
    "threshold": lambda m: _f(m).threshold(m.x(2, 3), 0.1, 2),
    "dropout_eval": lambda m: _f(m).dropout(m.x(2, 3), 0.5, training=False),
    "bilinear": lambda m: _f(m).bilinear(m.x(2, 3), m.x(2, 4), m.unit(5, 3, 4), m.unit(5)),
    "linear_batch": lambda m: _f(m).linear(m.x(2, 3, 4), m.unit(5, 4), m.unit(5)),
    "attention_causal": lambda m: _f(m).scaled_dot_product_attention(
        m.x(1, 2, 4, 3), m.unit(1, 2, 4, 3), m.x(1, 2, 4, 3), is_causal=True
    ),
    "attention_scaled": _attention(scale=0.3),
    "attention_mask": lambda m: _f(m).scaled_dot_product_attention(
        m.x(1, 2, 3, 4), m.unit(1, 2, 5, 4), m.x(1, 2, 5, 4), attn_mask=m.mask(3, 5)
    ),
    "embedding_padding": lambda m: _f(m).embedding(m.index(4, 2, 3), m.x(4, 3), padding_idx=0),
    "embedding_bag": lambda m: _f(m).embedding_bag(m.index(4, 6), m.x(4, 3), m.index(1, 1), mode="sum"),
    "embedding_bag_mean": lambda m: _f(m).embedding_bag(m.index(4, 2, 3), m.x(4, 3), mode="mean"),
    "embedding_bag_max": lambda m: _f(m).embedding_bag(m.index(4, 2, 3), m.x(4, 3), mode="max"),
}

LOSSES: dict[str, Call] = {
    "cross_entropy": _labelled("cross_entropy"),
    "cross_entropy_smooth": _labelled("cross_entropy", label_smoothing=0.1, reduction="sum"),
    "cross_entropy_ignore": _labelled("cross_entropy", ignore_index=1),
    "cross_entropy_weight": lambda m: _f(m).cross_entropy(m.x(3, 4), m.index(4, 3), weight=m.still.positive(4)),
    "cross_entropy_images": lambda m: _f(m).cross_entropy(m.x(2, 3, 2, 2), m.index(3, 2, 2, 2), reduction="none"),
    "cross_entropy_soft": lambda m: _f(m).cross_entropy(m.x(3, 4), m.chance(3, 4)),
    "nll_loss": lambda m: _f(m).nll_loss(_f(m).log_softmax(m.x(3, 4), 1), m.index(4, 3)),
    "mse_loss": _loss("mse_loss"),
    "l1_loss": _loss("l1_loss"),
    "smooth_l1_loss": _loss("smooth_l1_loss"),
    "huber_loss": _loss("huber_loss", delta=0.7),
    "kl_div": lambda m: _f(m).kl_div(m.x(3, 4), m.chance(3, 4), reduction="batchmean"),
    "binary_cross_entropy": lambda m: _f(m).binary_cross_entropy(m.chance(3, 4), m.chance(3, 4)),
    "bce_with_logits": lambda m: _f(m).binary_cross_entropy_with_logits(m.x(3, 4), m.chance(3, 4)),
    "poisson_nll_loss": lambda m: _f(m).poisson_nll_loss(m.x(3, 4), m.positive(3, 4)),
    "gaussian_nll_loss": lambda m: _f(m).gaussian_nll_loss(m.x(3, 4), m.unit(3, 4), m.positive(3, 4)),
    "soft_margin_loss": lambda m: _f(m).soft_margin_loss(m.x(3, 4), _signs(m, 3, 4)),
    "hinge_embedding_loss": lambda m: _f(m).hinge_embedding_loss(m.x(3, 4), _signs(m, 3, 4)),
    "margin_ranking_loss": lambda m: _f(m).margin_ranking_loss(m.x(4), m.unit(4), _signs(m, 4)),
    "multi_margin_loss": _labelled("multi_margin_loss"),
    "multilabel_soft_margin_loss": lambda m: _f(m).multilabel_soft_margin_loss(m.x(3, 4), m.chance(3, 4)),
    "multilabel_margin_loss": lambda m: _f(m).multilabel_margin_loss(m.x(2, 3), m.index(3, 2, 3)),
    "cosine_embedding_loss": lambda m: _f(m).cosine_embedding_loss(m.x(3, 4), m.positive(3, 4), _signs(m, 3)),
    "triplet_margin_loss": lambda m: _f(m).triplet_margin_loss(m.x(3, 4), m.unit(3, 4), m.positive(3, 4)),
}

NN_CALLS: dict[str, Call] = {**CONVOLUTIONS, **POOLS, **RESIZED, **NORMS, **OTHERS, **LOSSES}
