"""No operand gives a wrong number: sparse tensors and all dtypes over torch's bank."""

import pytest
import torch

from opinfo import bank, operands

DTYPES = [torch.complex64, torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.bool]
# What real programs do with sparse matrices, and one of each way in which an op reads its operands.
QUICK = """
    __rmatmul__ add addbmm addcmul addmm addmv bmm cat clamp cumsum dot einsum eq gather hstack index_add index_select
    item lerp linalg.inv linalg.solve masked.sum masked_fill matmul mm mul mv nn.functional.linear
    nn.functional.mse_loss nn.functional.relu softmax reshape rsub scatter
    sort stack sub sum t to_sparse where zero_
""".split()
# Small errors of the last bits in large results, and what torch leaves to chance.
ROUNDED = {
    ("pow", torch.complex64): "the logarithm of torch's pow is less exact",
    ("__rpow__", torch.complex64): "the logarithm of torch's pow is less exact",
    ("sinc", torch.complex64): "large arguments of sin",
    ("histc", torch.float16): "edges of bins in halves",
    ("histc", torch.bfloat16): "edges of bins in halves",
    ("cov", torch.float16): "torch averages with weights in halves",
    ("cov", torch.bfloat16): "torch averages with weights in halves",
    ("linalg.cond", torch.complex64): "torch computes small singular values in float32",
    ("fft.hfft", torch.complex64): "the last digit of large sums, of which torch's is as far off",
    ("fft.hfft2", torch.complex64): "the last digit of large sums, of which torch's is as far off",
    ("fft.hfft2", torch.int64): "the last digit of large sums, of which torch's is as far off",
    ("fft.hfftn", torch.complex64): "the last digit of large sums, of which torch's is as far off",
    ("nn.functional.conv_transpose3d", torch.float16): "torch's sums in halves are off by 1 of 900, pyburn's by 0.25",
    ("addbmm", torch.float16): "torch rounds after each product of the batch",
    ("addbmm", torch.bfloat16): "torch rounds after each product of the batch",
}


@pytest.mark.parametrize("name", QUICK)
def test_sparse_operands(name: str) -> None:
    assert operands.complaints_of_sparse(name, 2) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", bank.entries())
def test_sparse_operands_of_each_entry(name: str) -> None:
    assert operands.complaints_of_sparse(name, 3) == []


@pytest.mark.parametrize("name", QUICK)
def test_dtypes(name: str) -> None:
    for dtype in DTYPES:
        assert operands.complaints_of_dtype(name, dtype, 2) == []


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", bank.entries())
def test_dtypes_of_each_entry(name: str, dtype: torch.dtype) -> None:
    if (name, dtype) not in ROUNDED:
        assert operands.complaints_of_dtype(name, dtype, 4) == []


REAL = """
    grid_sampler_3d nn.functional.batch_norm nn.functional.cosine_similarity nn.functional.glu nn.functional.group_norm
    nn.functional.huber_loss nn.functional.instance_norm nn.functional.interpolate.bilinear nn.functional.kl_div
    nn.functional.layer_norm nn.functional.max_unpool2d nn.functional.mse_loss nn.functional.nll_loss
    nn.functional.pdist nn.functional.smooth_l1_loss
""".split()


@pytest.mark.parametrize("name", REAL)
def test_complex_operands_are_refused_as_by_torch(name: str) -> None:
    assert operands.accepted_by_mistake(name, torch.complex64, 1) == []
