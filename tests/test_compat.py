"""`import torch` gives pyburn: the alias, `python -m pyburn run`, and packages that ask for torch."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pyburn
import pytest
from pyburn.torch_version import TorchVersion


def python(*arguments: str, succeeds: bool = True) -> str:
    """What a fresh interpreter prints; its errors when it must fail."""
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True)
    assert (done.returncode == 0) is succeeds, done.stderr + done.stdout
    return done.stdout if succeeds else done.stderr


def aliased(code: str) -> list[str]:
    """The lines that a program prints under the alias."""
    return python("-m", "pyburn", "run", "-c", textwrap.dedent(code)).splitlines()


def test_modules_are_pyburns_own():
    lines = aliased("""
        import torch, torch.nn as nn, torch.nn.functional as F, pyburn
        from torch.optim.lr_scheduler import StepLR
        from torch.utils.data import DataLoader
        from torch.nn.parameter import Parameter
        import torch.utils.checkpoint, torch.cuda, torch.autograd
        print(nn is pyburn.nn, F is pyburn.nn.functional, torch.Tensor is pyburn.Tensor)
        print(StepLR is pyburn.optim.lr_scheduler.StepLR, Parameter is nn.Parameter, torch.nn is nn)
        print(nn.__spec__.name, torch.cuda is pyburn.cuda)
    """)
    assert lines == ["True True True", "True True True", "pyburn.nn True"]


def test_version_is_one_that_programs_can_compare():
    lines = aliased("""
        import torch
        from packaging.version import parse
        print(torch.__version__, parse(torch.__version__) >= parse("2.0"), torch.__version__ >= "1.13")
        print(int(torch.__version__.split(".")[0]), torch.version.cuda, torch.__version__ > (2, 9))
    """)
    assert lines == ["2.15.0+pyburn True True", "2 None True"]


def test_modules_that_torch_imports_itself_need_no_import():
    lines = aliased("""
        import torch
        print(torch.distributed.device_mesh.DeviceMesh.__name__, torch.fx.experimental.proxy_tensor.make_fx.__name__)
        print(hasattr(torch.distributed, "no_such_module"), hasattr(torch.nn, "no_such_module"))
    """)
    assert lines == ["DeviceMesh make_fx", "False False"]


def test_a_module_that_is_not_there_is_said_so():
    lines = aliased("""
        import importlib.util
        try:
            import torch.no_such_module
        except ModuleNotFoundError as error:
            print(error.name)
        print(importlib.util.find_spec("torch.no_such_module"), importlib.util.find_spec("torch") is not None)
    """)
    assert lines == ["torch.no_such_module", "None True"]


def test_star_import_leaves_python_types_alone():
    lines = aliased("""
        from torch import *
        print(int, zeros(2).tolist(), "float" in dir())
    """)
    assert lines == ["<class 'int'> [0.0, 0.0] False"]


def test_alias_is_refused_beside_torch():
    code = "import torch, pyburn.compat; pyburn.compat.alias_torch()"
    assert "already imported" in python("-c", code, succeeds=False)


def test_alias_twice_is_one_alias():
    code = "from pyburn.compat import alias_torch, is_aliased; print(alias_torch() is alias_torch(), is_aliased())"
    assert python("-c", code) == "True True\n"


def test_packages_that_probe_torch_work_under_the_alias():
    lines = aliased("""
        import torch, numpy, scipy.stats, sklearn.linear_model, sklearn.preprocessing
        x = torch.arange(12.0).reshape(6, 2)
        fitted = sklearn.linear_model.LinearRegression().fit(x, x.sum(1))
        print(fitted.predict(numpy.ones((1, 2))).round(4), numpy.asarray(x).shape)
        print(sklearn.preprocessing.scale(x.numpy()).shape, scipy.stats.zscore(numpy.arange(3.0)).shape)
    """)
    assert lines == ["[2.] (6, 2)", "(6, 2) (3,)"]


def test_run_gives_a_script_its_arguments_and_neighbours(tmp_path):
    (tmp_path / "helper.py").write_text("import torch\nsize = torch.zeros(3).shape[0]\n")
    script = tmp_path / "script.py"
    script.write_text("import sys, helper\nprint(__name__, sys.argv[1:], helper.size, __file__ == sys.argv[0])\n")
    assert python("-m", "pyburn", "run", str(script), "--lr", "1") == "__main__ ['--lr', '1'] 3 True\n"


def test_run_runs_modules(tmp_path, monkeypatch):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__main__.py").write_text("import sys, torch\nprint(torch.ones(2), sys.argv[1:])\n")
    monkeypatch.chdir(tmp_path)
    assert python("-m", "pyburn", "run", "-m", "package", "x") == "tensor([1., 1.]) ['x']\n"


def test_spawned_processes_have_the_alias(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
            import multiprocessing
            import torch

            def work(queue):
                queue.put((torch.__version__, torch.full((2,), 3.0)))

            if __name__ == "__main__":
                context = multiprocessing.get_context("spawn")
                queue = context.Queue()
                process = context.Process(target=work, args=(queue,))
                process.start()
                print(*queue.get(), sep=" ")
                process.join()
        """)
    )
    assert python("-m", "pyburn", "run", str(script)) == "2.15.0+pyburn tensor([3., 3.])\n"


@pytest.mark.parametrize("arguments", [[], ["run"], ["run", "-m"], ["walk", "x.py"]])
def test_a_wrong_command_shows_the_usage(arguments):
    done = subprocess.run([sys.executable, "-m", "pyburn", *arguments], capture_output=True, text=True)
    assert done.returncode == 2 and "python -m pyburn run script.py" in done.stdout + done.stderr


def test_a_missing_script_is_named():
    assert "there is no file" in python("-m", "pyburn", "run", "no_such_script.py", succeeds=False)


def test_versions_compare_by_number():
    version = TorchVersion("2.15.0+pyburn")
    assert version > "2.9" and version >= "2.15" and version < "2.16" and version == "2.15.0" and version != "2.14"
    assert version >= (2, 15) and version < (3,) and isinstance(version, str) and hash(version)
    assert pyburn.__version__ != version


def test_names_of_types_are_torchs_under_the_alias():
    lines = aliased("""
        import torch
        x = torch.ones(2)
        print(x.dtype, str(x.dtype).split("."), repr(torch.int64), x.type(), x.long().type() == "torch.LongTensor")
        print(x.shape, x.type("torch.LongTensor").dtype, x.type("pyburn.LongTensor").dtype, torch.strided)
        print(torch.channels_last, repr(torch.device("cpu")), x.to(torch.float64), x.untyped_storage().device)
        print(getattr(torch, str(x.dtype).split(".")[-1]) is x.dtype, f"{x.dtype}", torch.preserve_format)
    """)
    assert lines == [
        "torch.float32 ['torch', 'float32'] torch.int64 torch.FloatTensor True",
        "torch.Size([2]) torch.int64 torch.int64 torch.strided",
        "torch.channels_last device(type='cpu') tensor([1., 1.], dtype=torch.float64) cpu",
        "True torch.float32 torch.preserve_format",
    ]
    assert (str(pyburn.float32), repr(pyburn.Size([2]))) == ("pyburn.float32", "pyburn.Size([2])")
    assert pyburn.ones(1).type() == "pyburn.FloatTensor"
    assert pyburn.ones(1).type("torch.LongTensor").dtype is pyburn.int64


def test_functorch_is_there_with_and_without_torch():
    code = """
        import importlib.machinery, sys, warnings
        if {hide}:
            finder = importlib.machinery.PathFinder.find_spec
            importlib.machinery.PathFinder.find_spec = classmethod(
                lambda cls, name, *rest: None if name == "functorch" else finder(name, *rest))
        warnings.simplefilter("ignore")
        from functorch import grad, make_functional, vmap
        import pyburn
        function, values = make_functional(pyburn.nn.Linear(2, 1))
        print(vmap is pyburn.func.vmap, function(values, pyburn.ones(3, 2)).shape == (3, 1))
    """
    for hide in (True, False):
        assert aliased(code.format(hide=hide)) == ["True True"]


def test_what_is_absent_says_that_it_is_not_available():
    lines = aliased("""
        import torch.distributed.autograd as autograd
        import torch.distributed.sharded_things as other
        print(autograd.is_available(), other.is_available())
        try:
            autograd.backward(0, [])
        except NotImplementedError as error:
            print("one process" in str(error))
    """)
    assert lines == ["False False", "True"]
