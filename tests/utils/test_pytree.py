"""Paths to the leaves of containers, as torch names them."""

from __future__ import annotations

from collections import OrderedDict, namedtuple

import pyburn.utils._pytree as ours
import pytest
import torch.utils._pytree as theirs

Point = namedtuple("Point", ["x", "y"])
TREES = [
    {"a": [1, (2, 3)], "b": 4},
    OrderedDict(z=1, a=Point(2, [3])),
    [Point({"k": 1}, None), ()],
    5,
]


@pytest.mark.parametrize("tree", TREES, ids=range(len(TREES)))
def test_leaves_with_their_paths(tree):
    def flat(library):
        leaves, spec = library.tree_flatten_with_path(tree)
        named = library.tree_map_with_path(lambda path, leaf: library.keystr(path), tree)
        return [(library.keystr(path), leaf) for path, leaf in leaves], named, spec.num_leaves

    assert flat(ours) == flat(theirs)


def test_keys_find_their_children():
    for library in (ours, theirs):
        assert library.SequenceKey(1).get([3, 4]) == 4
        assert library.MappingKey("a").get({"a": 5}) == 5
        assert library.GetAttrKey("x").get(Point(6, 7)) == 6


def test_registered_classes_bring_their_keys():
    for library in (ours, theirs):

        class Output(dict):
            pass

        library.register_pytree_node(
            Output,
            library._dict_flatten,
            lambda values, keys: Output(zip(keys, values)),
            flatten_with_keys_fn=library._dict_flatten_with_keys,
            serialized_type_name=f"{library.__name__}.Output",
        )
        found = library.tree_flatten_with_path(Output(a=1, b=[2]))[0]
        assert [library.keystr(path) for path, _ in found] == ["['a']", "['b'][0]"]
        assert type(library.tree_map(lambda leaf: leaf + 1, Output(a=1))) is Output
