"""``python -m pyburn run script.py [arguments]``: a program written for PyTorch, unchanged, on pyburn."""

from __future__ import annotations

import os
import runpy
import sys

USAGE = """usage: python -m pyburn run script.py [arguments]
       python -m pyburn run -m module [arguments]
       python -m pyburn run -c code [arguments]

Runs a program written for PyTorch on pyburn: its `import torch` gives pyburn."""


def main(arguments: list[str]) -> int:
    """Runs the command; 2 when it is not understood."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE)
        return 0 if arguments else 2
    if arguments[0] != "run" or len(arguments) < 2 or (arguments[1] in ("-m", "-c") and len(arguments) < 3):
        print(USAGE, file=sys.stderr)
        return 2
    from pyburn.compat import alias_torch

    alias_torch()
    _run(arguments[1:])
    return 0


def _run(arguments: list[str]) -> None:
    """As the interpreter itself runs a script, a module or a string of code."""
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        sys.path[0] = os.getcwd()
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    elif arguments[0] == "-c":
        sys.argv = ["-c", *arguments[2:]]
        sys.path[0] = ""
        exec(compile(arguments[1], "<string>", "exec"), {"__name__": "__main__"})
    else:
        script = os.path.abspath(arguments[0])
        if not os.path.exists(script):
            raise SystemExit(f"python -m pyburn run: there is no file {script}")
        sys.argv = arguments
        sys.path[0] = os.path.dirname(script)
        runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
