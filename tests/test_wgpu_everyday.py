"""What programs do with tensors besides computing, on wgpu: save, copy, print, load, sample, index, mix precision."""

from __future__ import annotations

import copy
import io
import pickle
import threading
from pathlib import Path
from typing import Any

import pyburn
import pytest
from pyburn import nn
from pyburn.data import DataLoader, TensorDataset
from pyburn.safetensors import load_file, save_file


def there(*shape: int) -> pyburn.Tensor:
    count = 1
    for size in shape:
        count *= size
    return pyburn.arange(float(count)).reshape(shape).to("wgpu")


def test_copies_stay_on_the_device() -> None:
    x = there(2, 3).requires_grad_()
    for copied in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert copied.device == x.device and copied.requires_grad and copied.tolist() == x.tolist()
        with pyburn.no_grad():
            copied.add_(1)
        assert x.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert copy.copy(x).tolist() == x.tolist()


def test_save_and_load(tmp_path: Path) -> None:
    state = {"x": there(2, 3), "n": pyburn.tensor([1, 2]).to("wgpu"), "m": pyburn.tensor([True, False]).to("wgpu")}
    file = io.BytesIO()
    pyburn.save(state, file)
    for location, device in ((None, "cpu"), ("cpu", "cpu"), ("wgpu", "wgpu:0")):
        file.seek(0)
        back = pyburn.load(file, map_location=location)
        for name, value in state.items():
            assert str(back[name].device) == device and back[name].dtype is value.dtype
            assert back[name].tolist() == value.tolist()
    save_file(state, tmp_path / "state.safetensors")
    back = load_file(tmp_path / "state.safetensors", device="wgpu")
    assert back["x"].device == state["x"].device and back["n"].tolist() == [1, 2]


def test_modules_move_and_return() -> None:
    layer = nn.BatchNorm1d(3)
    before = {name: value.tolist() for name, value in layer.state_dict().items()}
    moved = layer.to("wgpu")
    assert moved is layer and {str(value.device) for value in layer.state_dict().values()} == {"wgpu:0"}
    back = pickle.loads(pickle.dumps(layer)).cpu()
    assert {name: value.tolist() for name, value in back.state_dict().items()} == before


def test_batches_move() -> None:
    data = TensorDataset(pyburn.arange(10.0).reshape(5, 2), pyburn.arange(5))
    seen = []
    for x, y in DataLoader(data, batch_size=2):
        x, y = x.to("wgpu"), y.to("wgpu", non_blocking=True)
        assert y.dtype is pyburn.int64 and x.device == y.device == pyburn.device("wgpu")
        seen += (x.sum(1) + y).tolist()
    assert seen == [1.0, 6.0, 11.0, 16.0, 21.0]


def test_printing_names_the_device() -> None:
    assert repr(there(3)) == "tensor([0., 1., 2.], device='wgpu:0')"
    assert repr(there(2) > 0) == "tensor([False,  True], device='wgpu:0')"
    assert repr(pyburn.tensor(3).to("wgpu")) == "tensor(3, device='wgpu:0')"
    assert "..." in repr(there(2000)) and f"{there(1).sum():.1f}" == "0.0"


def test_index_assignment() -> None:
    x, here = there(3, 4), pyburn.arange(12.0).reshape(3, 4)
    for value in (x, here):
        value[0] = 9.0
        value[:, 1] += 2
        value[value > 10] = -1.0
        value[pyburn.tensor([1, 2]), pyburn.tensor([0, 3])] = pyburn.tensor([5.0, 6.0]).to(value.device)
        value[..., -1:] *= 2
        value[1:, ::2] = value[:2, 1::2].clone()
    assert x.tolist() == here.tolist()


def test_distributions_sample_there() -> None:
    pyburn.manual_seed(0)
    normal = pyburn.distributions.Normal(there(3), pyburn.ones(3).to("wgpu"))
    drawn = normal.sample((200,))
    assert str(drawn.device) == "wgpu:0" and drawn.shape == (200, 3)
    assert pyburn.allclose(drawn.mean(0).cpu(), pyburn.arange(3.0), atol=0.3)
    scale = there(2).add(0.5).requires_grad_()
    pyburn.distributions.Normal(0.0, scale).rsample((4,)).sum().backward()
    assert scale.grad is not None and str(scale.grad.device) == "wgpu:0"
    choice = pyburn.distributions.Categorical(logits=there(3))
    assert choice.log_prob(pyburn.tensor(2).to("wgpu")).item() == pytest.approx(-0.4076, abs=1e-4)
    assert set(choice.sample((50,)).tolist()) <= {0, 1, 2}


def test_random_numbers_repeat_after_a_seed() -> None:
    def draw() -> list[Any]:
        pyburn.manual_seed(3)
        like = there(4)
        return [f().tolist() for f in (like.clone().uniform_, like.clone().normal_, lambda: pyburn.rand_like(like))]

    assert draw() == draw()


def test_dropout_keeps_its_share() -> None:
    pyburn.manual_seed(0)
    x = pyburn.ones(4000).to("wgpu").requires_grad_()
    out = nn.functional.dropout(x, 0.25)
    out.sum().backward()
    assert sorted({round(value, 5) for value in out.tolist()}) == [0.0, 1.33333] and x.grad is not None
    assert out.detach().cpu().equal(x.grad.cpu()) and 0.7 < (out > 0).float().mean().item() < 0.8


def has_float16() -> bool:
    try:
        pyburn.ones(1).to("wgpu").half()
    except pyburn.DTypeError:
        return False
    return True


def test_autocast() -> None:
    a, b = there(2, 3).requires_grad_(), there(3, 2)
    with pyburn.autocast("wgpu", dtype=pyburn.float16):
        if not has_float16():
            with pytest.raises(pyburn.DTypeError, match="float16"):
                a @ b
            return
        product = a @ b
        assert product.dtype is pyburn.float16 and product.softmax(1).dtype is pyburn.float32
    product.float().sum().backward()
    assert a.grad is not None and a.grad.dtype is pyburn.float32 and a.grad.tolist() == [[1.0, 5.0, 9.0]] * 2


@pytest.mark.parametrize("name", ["torch.cuda.LongTensor", "torch.cuda.FloatTensor"])
def test_types_of_cuda_are_what_cuda_gives(name: str) -> None:
    x = pyburn.ones(2)
    with pytest.raises(RuntimeError, match="GPU") as moved:
        x.cuda()
    for kind in (name, getattr(pyburn.cuda, name.rsplit(".", 1)[-1])):
        with pytest.raises(type(moved.value), match="GPU"):
            x.type(kind)


def test_types_name_devices() -> None:
    x = there(2)
    assert x.type() == "pyburn.wgpu.FloatTensor"
    assert pyburn.ones(1, dtype=pyburn.int64).type(x.type()).device == x.device
    assert x.type("torch.LongTensor").device == pyburn.device("cpu")
    assert x.type(pyburn.LongTensor).tolist() == [0, 1] and x.type(pyburn.LongTensor).is_cpu
    assert x.type(pyburn.int64).device == x.device


def test_threads_train_at_once() -> None:
    losses: dict[int, list[float]] = {}

    def work(number: int) -> None:
        w = there(3).add(number).requires_grad_()
        optimizer = pyburn.optim.SGD([w], lr=0.1)
        losses[number] = []
        for _ in range(5):
            optimizer.zero_grad()
            loss = (w * w).mean() + w[1:].sum() * 0.1
            loss.backward()
            optimizer.step()
            losses[number].append(loss.item())

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert not any(thread.is_alive() for thread in threads)
    together, losses = losses, {}
    for number in range(4):
        work(number)
    assert together == losses and losses[0][-1] < losses[0][0]


@pytest.mark.parametrize("dtype", [pyburn.float64, pyburn.bfloat16])
def test_a_cpu_number_of_a_type_that_the_gpu_lacks(dtype: pyburn.dtype) -> None:
    x, number = there(3), pyburn.tensor(2.0, dtype=dtype)
    for made in (x * number, number - x, x**number, pyburn.where(x > 1, x, number), x.masked_fill(x > 1, number)):
        assert made.dtype is pyburn.float32 and made.device == x.device
    assert (x * number).tolist() == [0.0, 2.0, 4.0] and (x > number).tolist() == [False, False, False]
    assert x.clone().copy_(pyburn.tensor([5.0, 6.0, 7.0], dtype=dtype)).tolist() == [5.0, 6.0, 7.0]
    x[x > 1] = number * 3
    x[0] = number
    assert x.tolist() == [2.0, 1.0, 6.0]


def test_the_gradient_of_a_power_of_a_number() -> None:
    x = there(3).requires_grad_()
    (2.0**x).sum().backward()
    assert x.grad is not None and x.grad.tolist() == pytest.approx([0.693147, 1.386294, 2.772589])
