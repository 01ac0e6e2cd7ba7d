"""The values and small programs that the expressions of cases.txt are written with, for torch and for pyburn alike."""

from __future__ import annotations

import io
import os
import tempfile
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np


def scene(torch: Any) -> dict[str, Any]:
    """The names that an expression may use, with `torch` being one of the two libraries."""
    return {**values(torch), **programs(torch), **training(torch), "torch": torch, "nn": torch.nn, "numpy": np}


def values(torch: Any) -> dict[str, Any]:
    x = torch.arange(6.0).reshape(2, 3) / 5 - 0.4
    return {
        "F": torch.nn.functional,
        "x": x,
        "y": torch.tensor([[0.3, -0.7, 0.1], [-0.2, 0.9, 0.4]]),
        "i": torch.tensor([[0, 1, 2], [3, 1, 0]]),
        "labels": torch.tensor([2, 0]),
        "square": torch.tensor([[1.0, 2.0, -1.0], [0.5, -1.5, 2.5], [0.0, 3.0, 1.0]]),
        "img": torch.sin(torch.arange(64.0)).reshape(2, 2, 4, 4),
        "kernel": torch.cos(torch.arange(54.0)).reshape(3, 2, 3, 3),
        "grid": torch.linspace(-1, 1, 36).reshape(2, 3, 3, 2),
        "seq": torch.sin(torch.arange(24.0)).reshape(2, 2, 6),
        "vol": torch.sin(torch.arange(128.0)).reshape(1, 2, 4, 4, 4),
        "tokens": torch.cos(torch.arange(24.0)).reshape(2, 3, 4),
        "leaf": lambda tensor: tensor.clone().requires_grad_(),
        "torch_version": torch.version.__version__,
    }


def programs(torch: Any) -> dict[str, Callable[..., Any]]:
    def saved_file(value: Any) -> io.BytesIO:
        file = io.BytesIO()
        torch.save(value, file)
        file.seek(0)
        return file

    def saved(value: Any) -> Any:
        return torch.load(saved_file(value), weights_only=True)

    def grad_flags(block: Any, after: Any = None) -> list[bool]:
        with block:
            w = torch.ones(1, requires_grad=True)
            inside = (w * 2).requires_grad
        return [inside, torch.is_grad_enabled()]

    def nested(block: Callable[[], Any]) -> list[bool]:
        with torch.no_grad():
            return grad_flags(block())

    def in_world(function: Callable[[Any], Any]) -> Any:
        distributed = torch.distributed
        with tempfile.TemporaryDirectory() as folder:
            address = f"file://{folder}/store"
            distributed.init_process_group("gloo", init_method=address, rank=0, world_size=1)
            try:
                return function(distributed)
            finally:
                distributed.destroy_process_group()

    def function_case() -> Any:
        class Cube(torch.autograd.Function):
            @staticmethod
            def forward(ctx, a):
                ctx.save_for_backward(a)
                return a**3

            @staticmethod
            def backward(ctx, grad):
                return grad * 3 * ctx.saved_tensors[0] ** 2

        w = torch.full((2,), 2.0, requires_grad=True)
        Cube.apply(w).sum().backward()
        return w.grad

    def autocast_case() -> Any:
        a = torch.ones(2, 2)
        with torch.amp.autocast("cpu"):
            return a @ a

    def scripted(module: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return torch.jit.script(module)

    def hub_case() -> Any:
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "hubconf.py"), "w", encoding="utf-8") as file:
                file.write("def tiny(width):\n    return width + 1\n")
            return torch.hub.load(folder, "tiny", 3, source="local")

    def sdpa_case() -> Any:
        q = torch.ones(1, 2, 4)
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            return torch.nn.functional.scaled_dot_product_attention(q, q, q)

    def tree_case() -> Any:
        tree = torch.utils._pytree
        leaves, spec = tree.tree_flatten({"a": [1, 2], "b": 3})
        return tree.tree_unflatten([leaf * 2 for leaf in leaves], spec)

    def failing(function: Callable[[], Any]) -> str:
        try:
            function()
        except Exception as error:
            return type(error).__name__
        return "nothing"

    def added_globals() -> list[int]:
        before = len(torch.serialization.get_safe_globals())
        torch.serialization.add_safe_globals([Fraction])
        after = len(torch.serialization.get_safe_globals())
        torch.serialization.clear_safe_globals()
        return [after - before, len(torch.serialization.get_safe_globals())]

    def profiled(profile: Any) -> Any:
        with profile() as kept:
            result = torch.ones(2) + 1
        return result, isinstance(kept.key_averages().table(), str)

    def managed() -> list[int]:
        with torch.multiprocessing.Manager() as manager:
            shared = manager.list([1, 2])
            shared.append(3)
            return list(shared)

    def dataset_case() -> Any:
        class Squares(torch.utils.data.Dataset):
            def __len__(self):
                return 3

            def __getitem__(self, index):
                return torch.tensor(index**2)

        data = Squares()
        loader = torch.utils.data.DataLoader(data + data, batch_size=4)
        return [isinstance(data, torch.utils.data.Dataset), *loader]

    return {
        "added_globals": added_globals,
        "dataset_case": dataset_case,
        "failing": failing,
        "managed": managed,
        "profiled": profiled,
        "saved": saved,
        "saved_file": saved_file,
        "no_grad_case": lambda: grad_flags(torch.no_grad()),
        "inference_case": lambda: grad_flags(torch.inference_mode()),
        "enable_grad_case": lambda: nested(torch.enable_grad),
        "set_grad_case": lambda: grad_flags(torch.set_grad_enabled(False)),
        "in_world": in_world,
        "function_case": function_case,
        "autocast_case": autocast_case,
        "scripted": scripted,
        "hub_case": hub_case,
        "sdpa_case": sdpa_case,
        "tree_case": tree_case,
    }


def training(torch: Any) -> dict[str, Callable[..., Any]]:
    def problem() -> Any:
        return torch.tensor([1.0, -2.0, 3.0], requires_grad=True)

    def steps(kind: Any, **options: Any) -> Any:
        w = problem()
        optimizer = kind([w], **options)
        for _ in range(3):
            optimizer.zero_grad()
            (w**2).sum().backward()
            optimizer.step()
        return w.detach()

    def sparse_steps() -> Any:
        layer = torch.nn.Embedding(4, 2, sparse=True)
        optimizer = torch.optim.SparseAdam(layer.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            (layer(torch.tensor([0, 2, 2])) ** 2).sum().backward()
            optimizer.step()
        return layer.weight.detach()

    def lbfgs() -> Any:
        w = problem()
        optimizer = torch.optim.LBFGS([w], lr=0.5)

        def closure() -> Any:
            optimizer.zero_grad()
            loss = ((w - 1) ** 4).sum()
            loss.backward()
            return loss

        optimizer.step(closure)
        return w.detach()

    def rates(kind: str, **options: Any) -> list[float]:
        optimizer = torch.optim.SGD([problem()], lr=1.0)
        schedule = getattr(torch.optim.lr_scheduler, kind)(optimizer, **options)
        found = []
        for _ in range(5):
            optimizer.step()
            schedule.step()
            found.append(optimizer.param_groups[0]["lr"])
        return found

    def plateau() -> list[float]:
        optimizer = torch.optim.SGD([problem()], lr=1.0)
        schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
        found = []
        for loss in (1.0, 1.0, 1.0, 1.0, 0.5):
            schedule.step(loss)
            found.append(optimizer.param_groups[0]["lr"])
        return found

    def parametrize_case() -> Any:
        class Twice(torch.nn.Module):
            def forward(self, value):
                return value * 2

        layer = torch.nn.Linear(2, 1)
        torch.nn.utils.parametrize.register_parametrization(layer, "weight", Twice())
        return layer(torch.ones(1, 2)), sorted(layer.state_dict())

    def weight_norm_case() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            layer = torch.nn.utils.weight_norm(torch.nn.Linear(2, 1))
        return layer(torch.ones(1, 2)), sorted(layer.state_dict())

    return {
        "steps": steps,
        "lbfgs": lbfgs,
        "rates": rates,
        "sparse_steps": sparse_steps,
        "plateau": plateau,
        "parametrize_case": parametrize_case,
        "weight_norm_case": weight_norm_case,
    }
