"""All entries by name: operators plainly, modules as `module:nn.Linear`, optimizers as `optim:SGD`."""

from __future__ import annotations

from opinfo import bank, modules, optimizers
from opinfo.bank import Outcome


def names() -> list[str]:
    return [*bank.entries(), *modules.entries(), *optimizers.entries()]


def run(name: str, limit: int | None = None) -> Outcome:
    if name.startswith("module:"):
        return modules.run_entry(name, limit)
    if name.startswith("optim:"):
        return optimizers.run_entry(name, limit)
    return bank.run_entry(name, limit)
