"""Runs one program and prints its curve; started by `python -m pyburn run`, so that `torch` is pyburn."""

import importlib.util
import json
import sys

import torch

if __name__ == "__main__":
    spec = importlib.util.spec_from_file_location("program", sys.argv[1])
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    print(json.dumps({"torch": torch.__version__, "curve": program.main()}))
