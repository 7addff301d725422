"""``torch.utils._pytree`` against torch's own."""

from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest

from torchlike.utils import _pytree as ours

Point = namedtuple("Point", "x y")
Named = namedtuple("Named", "x")
TREE = {"a": [1, (2, 3)], "b": Point(4, None), "c": OrderedDict(z=5), "d": defaultdict(int, k=1), "e": deque([1, 2], maxlen=3), "f": ()}

# Expressions in p (the module) and tree; their answers must be torch's.
EXPRESSIONS = [
    "p.tree_leaves(tree)",
    "repr(p.tree_structure(tree))",
    "p.tree_unflatten(range(11), p.tree_structure(tree))",
    "[getattr(p.tree_structure(tree), n) for n in ('num_leaves', 'num_nodes', 'num_children', 'context')]",
    "[(p.keystr(path), leaf) for path, leaf in p.tree_leaves_with_path(tree)]",
    "p.treespec_dumps(p.tree_structure([1, {'a': (2, OrderedDict(b=3))}]))",
    "p.treespec_dumps(p.tree_structure(defaultdict(list, a=1)))",
    "p.treespec_dumps(p.tree_structure(tree))",
    "p._register_namedtuple(Named, serialized_type_name=p.__name__), p.treespec_loads(p.treespec_dumps(p.tree_structure([Named(1), defaultdict(int, a=1)]))) == p.tree_structure([Named(1), defaultdict(int, a=1)])",
    "p.tree_map(lambda x, y: (x, y), {'a': 1, 'b': 2}, {'b': 1, 'a': 5})",
    "p.tree_map(lambda x, y: (x, y), [1], [[2, 3]])",
    "p.tree_map(lambda x, y: x + y, [1, 2], [3])",
    "p.tree_map(lambda x, y: x + y, [1, 2], (3, 4))",
    "p.tree_map(lambda x, y: x + y, {'a': 1}, {'b': 1})",
    "p.tree_map(str, None)",
    "p.tree_map(sorted, {3, 4})",
    "p.tree_map_only(int, str, [1, 'a', 2.0, True])",
    "p.tree_map_only((int, float), str, [1, 'a', 2.0])",
    "p.tree_map_only(int | str, str, [1, 'a', 2.0])",
    "p.tree_map_only(lambda x: x == 1, str, [1, 'a', 2.0])",
    "p.tree_map_only(5, str, [1])",
    "p.tree_map_with_path(lambda k, x, y: (p.keystr(k), x, y), [1, {'a': 2}], [3, {'a': 4}])",
    "p.tree_map_(lambda x: x, [1])",
    "p.tree_any(lambda x: x > 1, [1, 2])",
    "p.tree_all_only(int, lambda x: x > 1, [1, 'a'])",
    "p.tree_unflatten([1], p.tree_structure(tree))",
    "p.tree_unflatten([1], 3)",
    "p.tree_structure([1, 2]).flatten_up_to({})",
    "p._broadcast_to_and_flatten(1, p.tree_structure([1, {'a': 2}]))",
    "p._broadcast_to_and_flatten([1, 5], p.tree_structure([1, {'a': 2, 'b': 3}]))",
    "p._broadcast_to_and_flatten([1], p.tree_structure([1, 2]))",
    "p.tree_flatten([1, [2]], is_leaf=lambda x: x == [2])[0]",
    "p.arg_tree_leaves(1, [2], a=3)",
    "p.tree_structure({'a': 1, 'b': 2}) == p.tree_structure({'b': 1, 'a': 2})",
    "p.tree_structure((1, [2])) == p.tree_structure((5, [6]))",
    "p.key_get({'a': [1]}, (p.MappingKey('a'), p.SequenceKey(0)))",
    "repr(p.LeafSpec()), p.LeafSpec().num_nodes, p.LeafSpec().is_leaf()",
    "p.register_pytree_node(list, None, None)",
    "p.is_namedtuple(Point), p.is_namedtuple_instance((1,)), p.is_namedtuple_class(Point)",
    "p._get_node_type(Point(1, 2)) is namedtuple",
    "p.treespec_pprint(p.tree_structure({'a': [1, 2]}))",
]


def answer(module, expression):
    try:
        return eval(expression, {**globals(), "p": module, "tree": TREE})
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_as_torch(expression):
    theirs = pytest.importorskip("torch.utils._pytree", reason="compares with real torch, which is not installed")
    assert answer(ours, expression) == answer(theirs, expression)


def test_round_trip():
    leaves, spec = ours.tree_flatten(TREE)
    assert leaves == [1, 2, 3, 4, None, 5, 1, 1, 2]
    again = ours.tree_unflatten(leaves, spec)
    assert again == TREE and [type(v) for v in again.values()] == [type(v) for v in TREE.values()]


def test_own_containers():
    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

    ours.register_pytree_node(Pair, lambda p: ([p.a, p.b], None), lambda children, _: Pair(*children))
    assert ours.tree_leaves([Pair(1, [2])]) == [1, 2]
    assert ours.tree_map(lambda x: -x, Pair(1, 2)).b == -2
    with pytest.raises(ValueError, match="flatten_with_keys_fn"):
        ours.tree_flatten_with_path(Pair(1, 2))
    with pytest.raises(ValueError, match="already registered"):
        ours.register_pytree_node(Pair, None, None)
