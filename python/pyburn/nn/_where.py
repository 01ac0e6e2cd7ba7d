"""Says in which module an error happened; costs nothing until one does."""

from __future__ import annotations

from typing import Any

_KEY = "_pyburn_where"


class _Where:
    """What an error that travels up through modules carries: the outermost module so far, and the path."""

    def __init__(self, module: Any, message: str | None) -> None:
        self.module = module
        self.names: list[str] = []
        self.kind = type(module).__name__
        self.message = message
        self.note = 0

    def text(self) -> str:
        return f"in {'.'.join(['model', *self.names])} ({self.kind})" if self.names else f"in {self.kind}"


def say_where(module: Any, error: Exception) -> None:
    """Nothing; the error's text ends with the path of the module in which it was first raised.

    Each module that the error passes puts its own name for the inner one before the path. The
    message of errors of Python and of pyburn is amended; another library's error, whose
    arguments may have a meaning, gets a note instead.

    Args:
        module: The module whose call the error is leaving.
        error: The error, changed in place.
    """
    where: _Where | None = getattr(error, _KEY, None)
    if where is None:
        where = _Where(module, _amendable(error))
        try:
            setattr(error, _KEY, where)
        except AttributeError:
            return
        if where.message is None:
            error.add_note("")
            where.note = len(error.__notes__) - 1
    elif where.module is not module:
        name = next((name for name, inner in module.named_modules() if inner is where.module), "")
        if not name:
            return
        where.names.insert(0, name)
        where.module = module
    if where.message is None:
        error.__notes__[where.note] = where.text()
    else:
        error.args = (f"{where.message} {where.text()}",)


def _amendable(error: Exception) -> str | None:
    """The message when it is safe to change it, else None."""
    if type(error).__module__.partition(".")[0] not in ("builtins", "pyburn"):
        return None
    if isinstance(error, StopIteration | KeyError | OSError) or len(error.args) != 1:
        return None
    message = error.args[0]
    return message if isinstance(message, str) else None
