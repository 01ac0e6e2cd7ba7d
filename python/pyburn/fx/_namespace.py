"""Names of values in graphs: no two the same, none that hides one of Python's."""

from __future__ import annotations

import builtins
import keyword
import re

from pyburn import _core

_PARTS = re.compile(r"^([a-zA-Z_][0-9a-zA-Z_]*?)(?:_(\d+))?$")
_UNFIT = re.compile("[^0-9a-zA-Z_]+")
_HUMP = re.compile(r"(?<=[a-z])([A-Z])")
# Names that generated code finds among its globals.
GLOBALS = ("inf", "nan", "NoneType", "device", "fx_pytree", "pytree")
_TAKEN: dict[str, object] = {name: object() for name in (*keyword.kwlist, *GLOBALS)} | vars(builtins)


def _snake_case(s: str) -> str:
    return _HUMP.sub(r"_\1", s).lower()


class _Namespace:
    """Gives each object one name, and each name to one object."""

    def __init__(self) -> None:
        self._obj_to_name: dict[object, str] = {}
        self._used_names: set[str] = set()
        self._base_count: dict[str, int] = {}

    def create_name(self, candidate: str, obj: object | None) -> str:
        """A name like `candidate` that nothing has yet, or the one that `obj` has."""
        if obj is not None and obj in self._obj_to_name:
            return self._obj_to_name[obj]
        match = _PARTS.match(candidate)
        if match is None:
            candidate = _UNFIT.sub("_", candidate) or "_unnamed"
            candidate = f"_{candidate}" if candidate[0].isdigit() else candidate
            match = _PARTS.match(candidate)
        base, suffix = match.group(1, 2) if match is not None else (candidate, None)
        if suffix is None or candidate in self._used_names:
            count = self._base_count.get(base, 0)
            taken = candidate == _core._library() or candidate in _TAKEN
            if taken and _TAKEN.get(candidate) is not obj:
                count += 1
                candidate = f"{base}_{count}"
        else:
            count = int(suffix)
        while candidate in self._used_names:
            count += 1
            candidate = f"{base}_{count}"
        self._used_names.add(candidate)
        self._base_count[base] = count
        if obj is not None:
            self._obj_to_name[obj] = candidate
        return candidate

    def associate_name_with_obj(self, name: str, obj: object) -> None:
        """Nothing; `obj` has this name from now on."""
        if self._obj_to_name.setdefault(obj, name) is not name:
            raise AssertionError("obj is already associated")

    def _rename_object(self, obj: object, name: str) -> None:
        if obj not in self._obj_to_name:
            raise AssertionError(f"Object {obj} is not in _obj_to_name")
        self._obj_to_name[obj] = name
        self._used_names.add(name)
