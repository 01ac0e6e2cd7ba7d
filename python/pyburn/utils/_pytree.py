"""torch.utils._pytree: containers taken apart into leaves and put together again."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, namedtuple
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

__all__ = [
    "LeafSpec",
    "TreeSpec",
    "register_pytree_node",
    "tree_all",
    "tree_any",
    "tree_flatten",
    "tree_leaves",
    "tree_map",
    "tree_map_only",
    "tree_structure",
    "tree_unflatten",
]

PyTree = Any


class _Kind(NamedTuple):
    """How one class of containers is taken apart, and put together from its children and what else it needs."""

    flatten: Callable[[Any], tuple[list[Any], Any]]
    unflatten: Callable[[Iterable[Any], Any], Any]

    @property
    def flatten_fn(self) -> Callable[[Any], tuple[list[Any], Any]]:
        """The first of the two, under torch's name."""
        return self.flatten

    @property
    def unflatten_fn(self) -> Callable[[Iterable[Any], Any], Any]:
        """The second of the two, under torch's name."""
        return self.unflatten


_KINDS: dict[type, _Kind] = {
    list: _Kind(lambda value: (list(value), None), lambda children, _: list(children)),
    tuple: _Kind(lambda value: (list(value), None), lambda children, _: tuple(children)),
    dict: _Kind(lambda value: (list(value.values()), list(value)), lambda children, keys: dict(zip(keys, children))),
    OrderedDict: _Kind(
        lambda value: (list(value.values()), list(value)), lambda children, keys: OrderedDict(zip(keys, children))
    ),
    defaultdict: _Kind(
        lambda value: (list(value.values()), (value.default_factory, list(value))),
        lambda children, facts: defaultdict(facts[0], zip(facts[1], children)),
    ),
}
SUPPORTED_NODES: dict[Any, _Kind] = _KINDS
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
    _KINDS[cls] = _Kind(flatten_fn, unflatten_fn)


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
