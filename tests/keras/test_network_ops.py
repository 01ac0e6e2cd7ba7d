"""The third table of keras.ops against real Keras: control flow, networks, and what skips NaN."""

from __future__ import annotations

import numpy as np
import pyburn
import pytest
from keras_oracle import keras
from pyburn import keras as ours

RANDOM = np.random.default_rng(0)
X, K = RANDOM.random((2, 6, 6, 3)).astype("float32"), RANDOM.normal(size=(3, 3, 3, 2)).astype("float32")
M = RANDOM.normal(size=(4, 4)).astype("float32")
N, P = np.where(np.eye(4, k=1) > 0, np.nan, M).astype("float32"), (M @ M.T + np.eye(4)).astype("float32")
CALLS = """
nn.relu(X-.5)
numpy.mean(X)
linalg.norm(M)
image.resize(X,(4,5))
image.resize(X,(9,8),interpolation='nearest')
image.resize(X,(4,4),interpolation='bicubic',antialias=True)
average_pool(X,2)
max_pool(X,3,strides=2,padding='same')
conv(X,K,padding='same',strides=2)
conv(X,K,dilation_rate=2)
cond(True,lambda:ops.ones(2),lambda:ops.zeros(2))
switch(1,[lambda v:v,lambda v:v*2],X)
while_loop(lambda i:i<5,lambda i:(i+1,),(ops.convert_to_tensor(0),))
fori_loop(0,4,lambda i,v:v+i,ops.convert_to_tensor(0.))
scan(lambda c,v:(c+v,c*v),ops.convert_to_tensor(0.),ops.convert_to_tensor([1.,2.,3.]))
scan(lambda c,v:(c+v,c*v),ops.convert_to_tensor(0.),ops.convert_to_tensor([1.,2.,3.]),reverse=True)
map(lambda v:ops.sum(v)+1,ops.convert_to_tensor(M))
vectorized_map(lambda v:v*2,ops.convert_to_tensor(M))
binary_crossentropy(np.array([[0.,1.]],'float32'),np.array([[.3,.8]],'float32'))
binary_crossentropy(np.array([0.,1.],'float32'),np.array([.3,-.8],'float32'),from_logits=True)
categorical_crossentropy(np.eye(3,dtype='float32'),np.abs(M[:3,:3])+.1)
sparse_categorical_crossentropy(np.array([0,2,1]),M[:3,:3],from_logits=True)
layer_normalization(X)
layer_normalization(X,gamma=np.ones(3,'float32')*2,beta=np.ones(3,'float32'),axis=-1)
rms_normalization(X)
batch_normalization(X,np.zeros(3,'float32'),np.ones(3,'float32'),-1,offset=np.ones(3,'float32'))
dot_product_attention(X,X,X)
dot_product_attention(X,X,X,is_causal=True)
multi_hot(np.array([[0,1],[3,3]]),num_classes=4)
multi_hot(np.array([0,2]),num_classes=4)
squareplus(M)
nanmax(N,axis=1)
nanmin(N)
nansum(N,axis=(0,))
nanmean(N,axis=0)
nanvar(N)
nanstd(N,axis=1,keepdims=True)
allclose(M,M)
isin(np.array([1,2]),np.array([2,3]))
cbrt(M)
dstack([M,M])
hsplit(M,2)
vsplit(M,2)
array_split(M,3)
logdet(P)
slogdet(P)
lstsq(P,P)
trapezoid(M)
geomspace(1.,100.,5)
logspace(0.,2.,5)
diagflat(np.array([1.,2.],'float32'))
corrcoef(M)
ldexp(M,np.array(2))
""".strip().splitlines()


def parts(found):
    if isinstance(found, (list, tuple)):
        return [leaf for each in found for leaf in parts(each)]
    return [found.detach().cpu().numpy() if hasattr(found, "detach") else np.asarray(found)]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.filterwarnings("ignore")
def test_functions(call):
    names = {"np": np, "X": X, "K": K, "M": M, "N": N, "P": P}
    expected, found = (parts(eval(f"ops.{call}", names | {"ops": each.ops})) for each in (keras, ours))
    for one, two in zip(found, expected, strict=True):
        assert one.shape == two.shape and one.dtype.kind == two.dtype.kind
        np.testing.assert_allclose(one, two, rtol=1e-3, atol=1e-4)


def test_a_kernel_of_ones_own_has_a_gradient():
    kernel = pyburn.ones(3, 3, 3, 2, requires_grad=True)
    ours.ops.conv(X, kernel, padding="same").sum().backward()
    assert kernel.grad.shape == kernel.shape and bool((kernel.grad > 0).all())
    with pytest.raises(ValueError, match=r"input has shape \(2, 6, 6, 3\), but the kernel \(3, 3, 2, 2\)"):
        ours.ops.conv(X, np.ones((3, 3, 2, 2), "float32"))


def test_functions_of_symbolic_tensors_are_part_of_a_model():
    def program(k):
        x = k.Input((6, 6, 3))
        return k.Model(x, k.ops.image.resize(k.ops.layer_normalization(k.ops.max_pool(x, 2)), (4, 4))).predict(
            X, verbose=0
        )

    np.testing.assert_allclose(program(ours), program(keras), rtol=1e-3, atol=1e-4)


def test_eigenvalues_and_what_is_refused():
    np.testing.assert_allclose(ours.ops.eigh(P)[0], parts(keras.ops.eigh(P))[0], rtol=1e-4)
    with pytest.raises(ValueError, match="give num_classes"):
        ours.ops.multi_hot([0])
    with pytest.raises(ValueError, match="give xs or length"):
        ours.ops.scan(lambda carry, x: (carry, x), 0)
    with pytest.raises(ValueError, match="interpolation is 'area'"):
        ours.ops.image.resize(X, (3, 3), interpolation="area")
    with pytest.raises(NotImplementedError, match="crop_to_aspect_ratio"):
        ours.ops.image.resize(X, (3, 3), crop_to_aspect_ratio=True)
