"""torch.export: programs as graphs, which pyburn does not make; it can be imported, and raises when it is used."""

from typing import Any

from pyburn._absent import absent_class, absent_function

_WHY = ("pyburn does not trace programs", "call the module itself, and save its state_dict()")

export = absent_function("export.export", *_WHY)
load = absent_function("export.load", *_WHY)
save = absent_function("export.save", *_WHY)
Dim: Any = absent_class("export.Dim", *_WHY)
ExportedProgram: Any = absent_class("export.ExportedProgram", *_WHY)
