"""torch.utils._pytree: containers taken apart into leaves and put together again."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, namedtuple
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

__all__ = [
    "GetAttrKey",
    "LeafSpec",
    "MappingKey",
    "SequenceKey",
    "TreeSpec",
    "keystr",
    "register_pytree_node",
    "tree_all",
    "tree_any",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_only",
    "tree_map_with_path",
    "tree_structure",
    "tree_unflatten",
]

PyTree = Any


@dataclass(frozen=True)
class SequenceKey:
    """The place of a child in a list or tuple."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        """The child at this place."""
        return sequence[self.idx]


@dataclass(frozen=True)
class MappingKey:
    """The key of a child in a dict."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """The child of this key."""
        return mapping[self.key]


@dataclass(frozen=True)
class GetAttrKey:
    """The name of a child that is an attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """The attribute of this name."""
        return getattr(obj, self.name)


def keystr(kp: Iterable[Any]) -> str:
    """The text of a path to a leaf.

    Example:
        >>> keystr((MappingKey("a"), SequenceKey(1), GetAttrKey("x")))
        "['a'][1].x"
    """
    return "".join(str(key) for key in kp)


class _Kind(NamedTuple):
    """How one class of containers is taken apart, and put together from its children and what else it needs."""

    flatten: Callable[[Any], tuple[list[Any], Any]]
    unflatten: Callable[[Iterable[Any], Any], Any]
    flatten_with_keys: Callable[[Any], tuple[list[tuple[Any, Any]], Any]] | None = None

    @property
    def flatten_fn(self) -> Callable[[Any], tuple[list[Any], Any]]:
        """The first of the two, under torch's name."""
        return self.flatten

    @property
    def unflatten_fn(self) -> Callable[[Iterable[Any], Any], Any]:
        """The second of the two, under torch's name."""
        return self.unflatten


def _dict_flatten(d: Any) -> tuple[list[Any], Any]:
    """A dict's values, and its keys."""
    return list(d.values()), list(d)


def _dict_unflatten(values: Iterable[Any], context: Any) -> dict[Any, Any]:
    """The dict of these values and keys."""
    return dict(zip(context, values))


def _dict_flatten_with_keys(d: Any) -> tuple[list[tuple[Any, Any]], Any]:
    """A dict's values, each with the key of its place, and its keys."""
    return [(MappingKey(key), value) for key, value in d.items()], list(d)


def _list_flatten(d: Any) -> tuple[list[Any], Any]:
    """A sequence's items."""
    return list(d), None


def _list_flatten_with_keys(d: Any) -> tuple[list[tuple[Any, Any]], Any]:
    """A sequence's items, each with its place."""
    return [(SequenceKey(index), value) for index, value in enumerate(d)], None


def _list_unflatten(values: Iterable[Any], context: Any) -> list[Any]:
    """The list of these items."""
    return list(values)


def _tuple_unflatten(values: Iterable[Any], context: Any) -> tuple[Any, ...]:
    """The tuple of these items."""
    return tuple(values)


_tuple_flatten, _tuple_flatten_with_keys = _list_flatten, _list_flatten_with_keys


_KINDS: dict[type, _Kind] = {
    list: _Kind(_list_flatten, _list_unflatten),
    tuple: _Kind(_tuple_flatten, _tuple_unflatten),
    dict: _Kind(_dict_flatten, _dict_unflatten),
    OrderedDict: _Kind(
        lambda value: (list(value.values()), list(value)), lambda children, keys: OrderedDict(zip(keys, children))
    ),
    defaultdict: _Kind(
        lambda value: (list(value.values()), (value.default_factory, list(value))),
        lambda children, facts: defaultdict(facts[0], zip(facts[1], children)),
    ),
}
SUPPORTED_NODES: dict[Any, _Kind] = _KINDS
Context = Any
_NAMED = _Kind(lambda value: (list(value), type(value)), lambda children, kind: kind(*children))

SUPPORTED_NODES[namedtuple] = _NAMED


def _kind_of(value: Any) -> tuple[type | None, _Kind | None]:
    kind = type(value)
    if kind in _KINDS:
        return kind, _KINDS[kind]
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        return namedtuple, _NAMED  # type: ignore[return-value]
    return None, None


def _get_node_type(tree: Any) -> Any:
    """The class under which `SUPPORTED_NODES` knows a container; that of the value itself for any other.

    Example:
        >>> _get_node_type([1]), _get_node_type(1)
        (<class 'list'>, <class 'int'>)
    """
    return _kind_of(tree)[0] or type(tree)


def _is_leaf(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether it is no container, or `is_leaf` says so."""
    return (is_leaf is not None and is_leaf(tree)) or _kind_of(tree)[0] is None


tree_is_leaf = _is_leaf


class TreeSpec:
    """The shape of a tree without its leaves."""

    def __init__(self, type: Any, context: Any, children_specs: list[TreeSpec]) -> None:
        self.type, self.context, self.children_specs = type, context, children_specs
        self.num_leaves: int = 1 if type is None else sum(child.num_leaves for child in children_specs)

    def is_leaf(self) -> bool:
        """Whether it is one leaf."""
        return self.type is None

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree with these leaves."""
        return tree_unflatten(leaves, self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeSpec):
            return NotImplemented
        mine = (self.type, self.context, self.children_specs)
        return mine == (other.type, other.context, other.children_specs)

    def __hash__(self) -> int:
        return hash((self.type, self.num_leaves))

    def __repr__(self) -> str:
        if self.type is None:
            return "*"
        return f"TreeSpec({self.type.__name__}, {self.context}, {self.children_specs})"


class LeafSpec(TreeSpec):
    """The shape of one leaf."""

    def __init__(self) -> None:
        super().__init__(None, None, [])


def register_pytree_node(
    cls: type,
    flatten_fn: Callable[[Any], tuple[list[Any], Any]],
    unflatten_fn: Callable[[Iterable[Any], Any], Any],
    **kwargs: Any,
) -> None:
    """Nothing; from now on this class is a container, taken apart and put together by these functions."""
    if cls in _KINDS:
        raise ValueError(f"{cls} is already registered as pytree node.")
    _KINDS[cls] = _Kind(flatten_fn, unflatten_fn, kwargs.get("flatten_with_keys_fn"))


_register_pytree_node = register_pytree_node


def tree_flatten(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """The leaves in order, and the shape that is left.

    Example:
        >>> tree_flatten({"a": [1, 2], "b": 3})[0]
        [1, 2, 3]
    """
    name, kind = _kind_of(tree)
    if kind is None or (is_leaf is not None and is_leaf(tree)):
        return [tree], LeafSpec()
    children, context = kind.flatten(tree)
    leaves: list[Any] = []
    specs = []
    for child in children:
        below, spec = tree_flatten(child, is_leaf)
        leaves += below
        specs.append(spec)
    return leaves, TreeSpec(name, context, specs)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """The tree of this shape with these leaves.

    Example:
        >>> leaves, shape = tree_flatten({"a": [1, 2], "b": 3})
        >>> tree_unflatten([leaf * 2 for leaf in leaves], shape)
        {'a': [2, 4], 'b': 6}
    """
    values = list(leaves)
    if len(values) != treespec.num_leaves:
        raise ValueError(
            f"tree_unflatten(leaves, treespec): `leaves` has length {len(values)} but the spec refers to a pytree "
            f"that holds {treespec.num_leaves} items ({treespec})."
        )
    return _unflatten(iter(values), treespec)


def _unflatten(leaves: Any, spec: TreeSpec) -> Any:
    if spec.type is None:
        return next(leaves)
    children = [_unflatten(leaves, child) for child in spec.children_specs]
    kind = _NAMED if spec.type is namedtuple else _KINDS[spec.type]
    return kind.unflatten(children, spec.context)


def tree_leaves(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves in order."""
    return tree_flatten(tree, is_leaf)[0]


def tree_iter(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> Iterator[Any]:
    """The leaves in order, one after the other."""
    yield from tree_leaves(tree, is_leaf)


def tree_structure(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> TreeSpec:
    """The shape without the leaves."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: Any = None) -> PyTree:
    """The tree whose leaves are what the function makes of the leaves.

    Example:
        >>> tree_map(lambda x, y: x + y, {"a": 1, "b": (2,)}, {"a": 10, "b": (20,)})
        {'a': 11, 'b': (22,)}
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    others = []
    for rest in rests:
        values, shape = tree_flatten(rest, is_leaf)
        if shape != spec:
            raise ValueError(f"tree_map: the trees differ in shape: {spec} and {shape}")
        others.append(values)
    return tree_unflatten(map(func, leaves, *others), spec)


def tree_map_only(kind: Any, func: Any, tree: PyTree, is_leaf: Any = None) -> PyTree:
    """As `tree_map`, for leaves of one type; the others stay."""
    return tree_map(lambda leaf: func(leaf) if isinstance(leaf, kind) else leaf, tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: Any = None) -> bool:
    """Whether all leaves pass."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: Any = None) -> bool:
    """Whether a leaf passes."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_flatten_with_path(
    tree: PyTree, is_leaf: Callable[[Any], bool] | None = None
) -> tuple[list[tuple[tuple[Any, ...], Any]], TreeSpec]:
    """The leaves in order, each with the path to it, and the shape that is left.

    Example:
        >>> [(keystr(path), leaf) for path, leaf in tree_flatten_with_path({"a": [1, 2]})[0]]
        [("['a'][0]", 1), ("['a'][1]", 2)]
    """
    return list(_with_paths(tree, (), is_leaf)), tree_structure(tree, is_leaf)


def _with_paths(
    tree: PyTree, path: tuple[Any, ...], is_leaf: Callable[[Any], bool] | None
) -> Iterable[tuple[tuple[Any, ...], Any]]:
    _, kind = _kind_of(tree)
    if kind is None or (is_leaf is not None and is_leaf(tree)):
        yield path, tree
        return
    for key, child in _children_with_keys(tree, kind):
        yield from _with_paths(child, (*path, key), is_leaf)


def _children_with_keys(tree: PyTree, kind: _Kind) -> list[tuple[Any, Any]]:
    if kind.flatten_with_keys is not None:
        return kind.flatten_with_keys(tree)[0]
    if kind is _NAMED:
        return [(GetAttrKey(name), getattr(tree, name)) for name in tree._fields]
    if isinstance(tree, dict):
        return _dict_flatten_with_keys(tree)[0]
    if isinstance(tree, list | tuple):
        return _list_flatten_with_keys(tree)[0]
    raise ValueError(
        f"Did not find a flatten_with_keys_fn for type: {type(tree)}. Please pass a flatten_with_keys_fn argument to "
        "register_pytree_node."
    )


def tree_leaves_with_path(tree: PyTree, is_leaf: Any = None) -> list[tuple[tuple[Any, ...], Any]]:
    """The leaves in order, each with the path to it."""
    return tree_flatten_with_path(tree, is_leaf)[0]


def tree_map_with_path(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: Any = None) -> PyTree:
    """The tree of what `func` gives for each path and leaf, and for the leaves of `rests` at the same place.

    Example:
        >>> tree_map_with_path(lambda path, leaf: keystr(path), {"a": [1, 2]})
        {'a': ["['a'][0]", "['a'][1]"]}
    """
    found, spec = tree_flatten_with_path(tree, is_leaf)
    others = [tree_leaves(rest, is_leaf) for rest in rests]
    return tree_unflatten([func(path, leaf, *more) for (path, leaf), *more in zip(found, *others)], spec)


def is_namedtuple_class(cls: type) -> bool:
    """Whether it is a class of named tuples.

    Example:
        >>> import collections
        >>> is_namedtuple_class(collections.namedtuple("Pair", "a b")), is_namedtuple_class(tuple)
        (True, False)
    """
    return isinstance(cls, type) and issubclass(cls, tuple) and isinstance(getattr(cls, "_fields", None), tuple)


def is_namedtuple_instance(obj: object) -> bool:
    """Whether its class is one of named tuples."""
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj: object) -> bool:
    """Whether it is a named tuple or a class of them."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_structseq_class(cls: type) -> bool:
    """Whether it is a class of C's sequences with names (`time.struct_time`)."""
    return isinstance(cls, type) and issubclass(cls, tuple) and isinstance(getattr(cls, "n_fields", None), int)


def is_structseq_instance(obj: object) -> bool:
    """Whether its class is one of C's sequences with names."""
    return is_structseq_class(type(obj))


def is_structseq(obj: object) -> bool:
    """Whether it is one of C's sequences with names, or a class of them."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))
