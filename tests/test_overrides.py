"""`__torch_function__`: the same programs with torch and pyburn see the same calls and get the same results.

Each scenario runs in a process of its own for pyburn's part is armed for good by the first class that takes calls over.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

SCENARIOS = {
    "a_duck_takes_over_functions": """
        import functools
        HANDLED = {}
        class Scalar:
            def __init__(self, value): self.value = value
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                if func not in HANDLED or not all(issubclass(t, (torch.Tensor, Scalar)) for t in types):
                    return NotImplemented
                return HANDLED[func](*args, **(kwargs or {}))
        HANDLED[torch.mean] = lambda x: x.value / 2
        HANDLED[torch.add] = lambda a, b: (getattr(a, "value", a), getattr(b, "value", b))
        HANDLED[torch.nn.functional.relu] = lambda x, inplace=False: ("relu", x.value)
        HANDLED[torch.cat] = lambda tensors, dim=0: ("cat", len(tensors), dim)
        HANDLED[torch.linalg.inv] = lambda x: "inv"
        x = Scalar(4)
        print(torch.mean(x), torch.add(x, 1), torch.add(1, x), torch.nn.functional.relu(x))
        print(torch.cat([torch.ones(1), x], dim=1), torch.linalg.inv(x))
        try:
            torch.mul(x, 2)
        except TypeError:
            print("refused")
        print(torch.mean(torch.tensor([1.0, 3.0])).item(), torch.is_tensor(x))
    """,
    "a_subclass_sees_functions_and_methods": """
        log = []
        class Logged(torch.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                log.append((func.__name__, [t.__name__ for t in types]))
                return super().__torch_function__(func, types, args, kwargs or {})
        x = torch.ones(2, 2).as_subclass(Logged)
        results = [torch.exp(x), x.exp(), torch.add(torch.ones(2, 2), x), torch.nn.functional.softmax(x, -1),
                   torch.stack([x, torch.ones(2, 2)]), torch.max(x, 1)[0], torch.where(x > 0, x, x)]
        print([type(r).__name__ for r in results])
        print(log)
    """,
    "the_most_derived_class_is_asked_first": """
        class A(torch.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                print("asked", cls.__name__, sorted(t.__name__ for t in types))
                return super().__torch_function__(func, types, args, kwargs or {})
        class B(A): pass
        a, b = torch.ones(1).as_subclass(A), torch.ones(1).as_subclass(B)
        print(type(torch.add(a, b)).__name__)
    """,
    "unrelated_classes_decline": """
        class A(torch.Tensor): pass
        class B(torch.Tensor): pass
        try:
            torch.add(torch.ones(1).as_subclass(A), torch.ones(1).as_subclass(B))
        except TypeError:
            print("refused")
    """,
    "a_disabled_class_computes_plain_tensors": """
        class Plain(torch.Tensor):
            __torch_function__ = torch._C._disabled_torch_function_impl
        x = torch.Tensor._make_subclass(Plain, torch.ones(2))
        print(type(x).__name__, type(x + 1).__name__, type(torch.add(x, 1)).__name__)
        print(torch.overrides.has_torch_function((x,)))
        print(type(torch.nn.Parameter(torch.ones(1)) * 2).__name__)
        class Weight(torch.nn.Parameter):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                print("asked for", func.__name__)
                return super().__torch_function__(func, types, args, kwargs or {})
        print(type(torch.exp(Weight(torch.ones(1)))).__name__)
    """,
    "overrides_ask_and_hand_over": """
        from torch.overrides import has_torch_function, handle_torch_function, is_tensor_like, wrap_torch_function
        class Duck:
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return ("duck", func.__name__, len(args), kwargs)
        def mine(x, scale=1):
            if has_torch_function((x,)):
                return handle_torch_function(mine, (x,), x, scale=scale)
            return x * scale
        print(mine(Duck(), scale=3), mine(2, 3), has_torch_function((1, "a", None)))
        print(is_tensor_like(Duck()), is_tensor_like(torch.ones(1)), is_tensor_like(3))
        other = wrap_torch_function(lambda x: (x,))(lambda x: x)
        print(other(Duck()), other(5))
        print(torch.overrides.resolve_name(torch.add), torch.overrides.resolve_name(torch.Tensor.add))
        print(torch.overrides.is_tensor_method_or_property(torch.Tensor.add))
        print(torch.add in torch.overrides.get_overridable_functions()[torch], torch.zeros in
              torch.overrides.get_ignored_functions())
    """,
    "a_mode_sees_every_call": """
        from torch.overrides import TorchFunctionMode
        class Doubled(TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                result = func(*args, **(kwargs or {}))
                return result * 2 if func in (torch.exp, torch.Tensor.cos) else result
        x = torch.zeros(1)
        with Doubled():
            print(torch.exp(x).tolist(), x.cos().tolist(), torch.sin(x).tolist())
            with Doubled():
                print(torch.exp(x).tolist())
        print(torch.exp(x).tolist(), x.cos().tolist())
    """,
    "subclasses_are_made_in_many_ways": """
        class Image(torch.Tensor):
            def __new__(cls, data, *args, tag=None, **kwargs):
                made = torch.as_tensor(data, dtype=torch.float32).as_subclass(cls)
                made.tag = tag
                return made
            def __init__(self, data, tag=None):
                pass
            def twice(self):
                return self + self
        x = Image([1.0, 2.0], tag="a")
        print(type(x).__name__, x.tag, x.twice().tolist(), type(x.twice()).__name__)
        class Wrapped(torch.Tensor):
            @staticmethod
            def __new__(cls, data, extra):
                return torch.Tensor._make_subclass(cls, data, data.requires_grad)
            def __init__(self, data, extra):
                self.extra = extra
        y = Wrapped(torch.ones(2, requires_grad=True), 3)
        print(type(y).__name__, y.extra, y.requires_grad, y.is_leaf)
        class Direct(torch.Tensor): pass
        z = Direct([1.0, 2.0])
        print(type(z).__name__, z.tolist(), type(z * 2).__name__, isinstance(z, torch.Tensor))
        print(type(torch.Tensor.__new__(Direct, [1.0])).__name__)
    """,
}


START = "import pyburn.compat; torch = pyburn.compat.alias_torch(); import torch.overrides\n"


def printed(code: str, start: str) -> str:
    program = start + textwrap.dedent(code)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", SCENARIOS)
def test_calls_are_taken_over_as_in_torch(name: str) -> None:
    expected = printed(SCENARIOS[name], "import torch, torch.overrides\n")
    ours = printed(SCENARIOS[name], START)
    assert ours == expected


def test_nothing_is_armed_before_it_is_needed() -> None:
    code = """
        import pyburn
        import pyburn.nn
        before = pyburn.add.__code__.co_name, pyburn.add.__defaults__
        assert not pyburn._overriding._armed
        class Tagged(pyburn.Tensor): pass
        assert pyburn._overriding._armed
        import inspect
        print(inspect.signature(pyburn.add), pyburn.add(pyburn.ones(1), 1).tolist(), pyburn.add.__name__)
        print(pyburn.sum(pyburn.ones(2, 2), axis=0).tolist(), pyburn.add(pyburn.ones(1), 1, alpha=2).tolist())
    """
    assert printed(code, "") == (
        "(input: 'Tensor | Number', other: 'Tensor | Number', *, alpha: 'Number' = 1, out: 'Tensor | None' = None) -> "
        "'Tensor' [2.0] add\n[2.0, 2.0] [3.0]\n"
    )


def test_a_class_without_memory_is_refused() -> None:
    code = """
        import pyburn
        class Wrapper(pyburn.Tensor):
            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None): pass
        try:
            pyburn.Tensor._make_wrapper_subclass(Wrapper, (2, 3))
        except NotImplementedError as error:
            print("__torch_function__" in str(error))
    """
    assert printed(code, "") == "True\n"
