"""The second table of keras.ops, keras.random and their like against real Keras."""

from __future__ import annotations

import numpy as np
import pyburn
import pytest
from keras_oracle import array, forget_names, keras
from pyburn import keras as ours

A, B = array((4, 5)), np.abs(array((4, 5), 1)) + np.float32(0.1)
U = np.clip(A, -0.9, 0.9)
W, J = array((4, 5), 0, 0, 9).astype("int32"), array((4, 5), 2, 1, 5).astype("int32")
S = (array((4, 4)) @ array((4, 4)).T + 5 * np.eye(4)).astype("float32")

CALLS = """
arccos(U)
arcsin(U)
arctan(A)
arccosh(B+1)
arcsinh(A)
arctanh(U)
bitwise_invert(W)
fabs(A)
ravel(A)
cosh(A)
sinh(A)
tan(A)
exp2(A)
expm1(A)
log2(B)
log10(B)
reciprocal(B)
trunc(A)
erfinv(U)
signbit(A)
deg2rad(A)
rad2deg(A)
sinc(A)
isneginf(A)
isposinf(A)
fliplr(A)
flipud(A)
relu6(A)
selu(A)
hard_sigmoid(A)
hard_silu(A)
hard_swish(A)
hard_tanh(A)
log_sigmoid(A)
softsign(A)
swish(A)
tanh_shrink(A)
arctan2(A,B)
bitwise_and(W,J)
bitwise_or(W,J)
bitwise_xor(W,J)
left_shift(W,J)
right_shift(W,J)
fmod(A,B)
gcd(W,J)
hypot(A,B)
lcm(W,J)
logaddexp(A,B)
logical_xor(A>0,B>1)
heaviside(A,B)
fmax(A,B)
inner(A,B)
outer(A[0],B[0])
kron(A,B)
amax(A,axis=1)
amax(A)
amin(A,axis=[0,1],keepdims=True)
append(A,B)
append(A,B,axis=1)
average(A)
average(A,axis=1,weights=B)
bincount(W[0])
cholesky(S)
celu(A)
copy(A)
count_nonzero(W)
count_nonzero(W,axis=1)
cross(A[:,:3],B[:,:3])
cumprod(A,axis=1)
cumprod(A)
det(S)
diag(A[0])
diag(S,k=1)
diagonal(A)
diff(A)
diff(A,n=2,axis=0)
digitize(A,np.array([-1.,0.,1.],dtype='float32'))
divide_no_nan(A,np.array([0.,1.,2.,0.,1.],dtype='float32'))
dot(A,B.T)
dot(A[0],B[0])
full_like(A,3.)
glu(A[:,:4])
hard_shrink(A)
hstack([A,B])
identity(3)
in_top_k(J[:,0],A,2)
inv(S)
isclose(A,A)
median(A)
median(A,axis=1)
median(B,axis=0,keepdims=True)
nan_to_num(A/np.array([0,1,1,1,1],dtype='float32'))
ndim(A)
normalize(A)
normalize(A,axis=0,order=1)
pinv(A)
ptp(A,axis=1)
quantile(A,0.3)
quantile(A,0.3,axis=1)
quantile(A,np.array([.1,.9],dtype='float32'),axis=1)
rot90(A)
scatter(np.array([[0],[2],[0]]),A[:3],(5,5))
scatter_update(A,np.array([[0,1],[2,2]]),B[0,:2])
searchsorted(np.array([0.,1.,2.],dtype='float32'),A)
segment_max(A,np.array([0,0,1,2]),num_segments=4)
segment_sum(A,np.array([0,0,1,2]))
size(A)
slice(A,(1,2),(2,2))
slice_update(A,(1,2),B[:2,:2])
soft_shrink(A)
solve(S,A)
svd(A,compute_uv=False)
take_along_axis(A,np.argsort(A,1),axis=1)
take_along_axis(A,W)
tensordot(A,B.T,axes=1)
tensordot(A,B)
threshold(A,0.,5.)
top_k(A,2)
trace(S)
trace(S,offset=1)
tri(3,k=1)
vstack([A,B])
moments(A,axes=[0])
meshgrid(A[0],B[0,:3])
percentile(A,30.,axis=1)
conj(A)
real(A)
erfc(A)
logaddexp2(A,B)
isreal(A)
angle(A)
identity(2)
nonzero(W)
""".strip().splitlines()


def parts(found):
    return [parts(each) for each in found] if isinstance(found, (list, tuple)) else np.asarray(plain(found))


def plain(value):
    return value.detach().cpu().numpy() if hasattr(value, "detach") else value


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.filterwarnings("ignore")
def test_functions(call):
    names = {"np": np, "A": A, "B": B, "U": U, "W": W, "J": J, "S": S}
    expected, found = (parts(eval(f"ops.{call}", names | {"ops": each.ops})) for each in (keras, ours))
    if isinstance(expected, list):
        assert len(found) == len(expected)
    for one, two in zip(*((each if isinstance(each, list) else [each]) for each in (found, expected)), strict=True):
        assert one.shape == two.shape and one.dtype.kind == two.dtype.kind
        np.testing.assert_allclose(one, two, rtol=2e-4, atol=2e-5)


def test_functions_on_symbolic_tensors_are_part_of_a_model():
    def program(k):
        x = k.Input((5,))
        best, places = k.ops.top_k(k.ops.normalize(x), 2)
        model = k.Model(x, [best, places, k.ops.arctan2(x, k.ops.cosh(x)), k.ops.average(x, axis=1)])
        return [plain(each) for each in model(A)], model.output_shape

    forget_names()
    (expected, shapes), (found, mine) = program(keras), program(ours)
    assert [tuple(each) for each in mine] == [tuple(each) for each in shapes]
    for one, two in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-5, atol=1e-6)


def test_random_numbers_have_their_distributions():
    random = ours.random
    normal = random.normal((4000,), mean=2.0, stddev=3.0, seed=1)
    assert abs(float(normal.mean()) - 2) < 0.2 and abs(float(normal.std()) - 3) < 0.2
    assert (random.normal((3,), seed=1) == random.normal((3,), seed=1)).all()
    even = random.uniform((4000,), 2.0, 4.0, seed=2)
    assert 2 <= float(even.min()) < 2.1 and 3.9 < float(even.max()) < 4
    assert sorted(random.randint((200,), 3, 6, seed=3).unique().tolist()) == [3, 4, 5]
    cut = random.truncated_normal((20000,), seed=4)
    assert float(cut.abs().max()) <= 2 and abs(float(cut.std()) - 0.8796) < 0.02
    dropped = random.dropout(np.ones((4000,), "float32"), 0.25, seed=5)
    assert abs(float((dropped == 0).float().mean()) - 0.25) < 0.03
    assert float(dropped.max()) == pytest.approx(1 / 0.75)
    assert sorted(random.shuffle(pyburn.arange(9), seed=6).tolist()) == list(range(9))
    drawn = random.categorical(np.log([[0.1, 0.9]]).astype("float32"), 4000, seed=7)
    assert drawn.shape == (1, 4000) and abs(float(drawn.float().mean()) - 0.9) < 0.03


def test_a_seed_generator_goes_on_and_can_be_made_again():
    one, two = ours.random.SeedGenerator(3), ours.random.SeedGenerator(3)
    first, second = ours.random.normal((4,), seed=one), ours.random.normal((4,), seed=one)
    assert not (first == second).any()
    assert (ours.random.normal((4,), seed=two) == first).all()
    assert ours.random.SeedGenerator.from_config(one.get_config())._initial_seed == 3


def test_the_names_of_saving_and_metrics_are_there():
    @ours.saving.register_keras_serializable(package="newcomer")
    class Doubled(ours.Layer):
        def call(self, x):
            return 2 * x

    config = ours.saving.serialize_keras_object(Doubled(name="twice"))
    assert ours.saving.deserialize_keras_object(config).name == "twice"
    found = ours.metrics.mean_squared_error(pyburn.tensor([[1.0, 2.0]]), pyburn.tensor([[1.0, 4.0]]))
    assert found.tolist() == [2.0]


def test_two_layers_of_one_name_are_refused():
    for k in (keras, ours):
        x = k.Input((2,))
        with pytest.raises(ValueError, match=r"(name|called)"):
            k.Model(x, k.layers.Dense(2, name="a")(k.layers.Dense(2, name="a")(x)))


def test_a_loss_of_another_shape_names_the_output_and_both_shapes():
    model = ours.Sequential([ours.Input((4,)), ours.layers.Dense(3, name="last")])
    model.compile("sgd", "mse")
    with pytest.raises(ValueError, match=r"output 'last': y has shape \(8, 2\), but the model gives \(8, 3\)"):
        model.fit(array((8, 4)), array((8, 2)), verbose=0)
