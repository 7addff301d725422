"""``torch.utils._pytree``: nested containers taken apart into leaves and a specification, and put together again.

Private in torch, and used by many libraries. JAX's own pytrees differ where it shows: there None has no leaf and dictionaries
are sorted, here None is a leaf and dictionaries keep their order. ``namedtuple`` (the function) is the node type of every
namedtuple class, as in torch.
"""

from __future__ import annotations

import dataclasses
import json
import threading
import types
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar, Union

from torchlike.tensor.size import Size

T = TypeVar("T")
PyTree = Any
Context = Any
FlattenFunc = Callable[[Any], tuple[list[Any], Context]]
UnflattenFunc = Callable[[Iterable[Any], Context], Any]
IsLeaf = Union[Callable[[Any], bool], None]

__all__ = [
    "Context", "GetAttrKey", "KeyEntry", "LeafSpec", "MappingKey", "NodeDef", "PyTree", "SequenceKey", "TreeSpec", "arg_tree_leaves",
    "is_namedtuple", "is_namedtuple_class", "is_namedtuple_instance", "key_get", "keystr", "map_only", "register_dataclass",
    "register_pytree_node", "tree_all", "tree_all_only", "tree_any", "tree_any_only", "tree_flatten", "tree_flatten_with_path", "tree_is_leaf",
    "tree_iter", "tree_leaves", "tree_leaves_with_path", "tree_map", "tree_map_", "tree_map_only", "tree_map_only_", "tree_map_with_path",
    "tree_structure", "tree_unflatten", "treespec_dumps", "treespec_loads", "treespec_pprint",
]  # fmt: skip


# -- Keys: how a leaf is reached ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SequenceKey:
    """A position in a sequence."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        """What is there."""
        return sequence[self.idx]


@dataclass(frozen=True)
class MappingKey:
    """A key of a mapping."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """What is there."""
        return mapping[self.key]


@dataclass(frozen=True)
class GetAttrKey:
    """A field of an object."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """What is there."""
        return getattr(obj, self.name)


KeyEntry = Union[SequenceKey, MappingKey, GetAttrKey, Any]
KeyPath = tuple[Any, ...]


def keystr(kp: KeyPath) -> str:
    """A path as Python text: ``['a'][0].x``."""
    return "".join(str(key) for key in kp)


def key_get(obj: Any, kp: KeyPath) -> Any:
    """What lies at a path."""
    for key in kp:
        obj = key.get(obj)
    return obj


# -- Node types -----------------------------------------------------------------------------------------------------------


class NodeDef(NamedTuple):
    """How a container is taken apart and put together."""

    type: Any
    flatten_fn: FlattenFunc
    unflatten_fn: UnflattenFunc
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Context]] | None


class _Serialized(NamedTuple):
    """How a node type is written as JSON."""

    name: str | None
    to_dumpable_context: Callable[[Context], Any] | None
    from_dumpable_context: Callable[[Any], Context] | None


SUPPORTED_NODES: dict[Any, NodeDef] = {}
BUILTIN_TYPES = frozenset({tuple, list, dict, namedtuple, OrderedDict, defaultdict, deque})
_DICTS = frozenset({dict, OrderedDict, defaultdict})
_serialized: dict[Any, _Serialized] = {}
_by_serialized_name: dict[str, Any] = {}
_namedtuples: dict[Any, str] = {}
_lock = threading.RLock()


def register_pytree_node(cls: Any, flatten_fn: FlattenFunc, unflatten_fn: UnflattenFunc, *, serialized_type_name: str | None = None,
                         to_dumpable_context: Callable[[Context], Any] | None = None,
                         from_dumpable_context: Callable[[Any], Context] | None = None,
                         flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Context]] | None = None) -> None:  # fmt: skip
    """Make a class a container.

    Args:
        cls: The class; its subclasses stay leaves.
        flatten_fn: Gives a list of an object's children and a context.
        unflatten_fn: Makes an object of children and a context.
        serialized_type_name: What ``treespec_dumps`` calls the class.
        to_dumpable_context: Makes JSON data of a context.
        from_dumpable_context: Makes a context of JSON data.
        flatten_with_keys_fn: As ``flatten_fn``, with (key, child) for a child.

    Raises:
        ValueError: the class is one already.
    """
    if (to_dumpable_context is None) is not (from_dumpable_context is None):
        raise ValueError(f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or registered.")
    with _lock:
        if cls in SUPPORTED_NODES:
            raise ValueError(f"{cls} is already registered as pytree node.")
        SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
        _serialized[cls] = _Serialized(serialized_type_name, to_dumpable_context, from_dumpable_context)
        if serialized_type_name is not None:
            _by_serialized_name[serialized_type_name] = cls


_private_register_pytree_node = register_pytree_node


def _register_pytree_node(cls: Any, flatten_fn: FlattenFunc, unflatten_fn: UnflattenFunc, *unused: Any, **keywords: Any) -> None:
    """The former name of ``register_pytree_node``."""
    register_pytree_node(cls, flatten_fn, unflatten_fn, **keywords)


def _deregister_pytree_node(cls: Any) -> None:
    with _lock:
        del SUPPORTED_NODES[cls]
        _by_serialized_name.pop(_serialized.pop(cls).name or "", None)


def _register_namedtuple(cls: Any, *, serialized_type_name: str) -> None:
    """Name a namedtuple class for ``treespec_dumps``."""
    _namedtuples[cls] = serialized_type_name


def register_dataclass(cls: Any, *, field_names: list[str] | None = None, drop_field_names: list[str] | None = None,
                       serialized_type_name: str | None = None) -> None:  # fmt: skip
    """Make a dataclass a container of its fields; fields that are None are part of the context.

    Raises:
        ValueError: ``cls`` is no dataclass, or not all of its ``__init__`` fields are named.
    """
    if field_names is None:
        if not dataclasses.is_dataclass(cls):
            raise ValueError("field_names must be specified with a list of all fields used to initialize the class when it is not a dataclass.")
        field_names = [f.name for f in dataclasses.fields(cls) if f.init and f.name not in (drop_field_names or ())]
    names = list(field_names)

    def flatten_with_keys(obj: Any) -> tuple[list[tuple[Any, Any]], Context]:
        present = [n for n in names if getattr(obj, n) is not None]
        return [(GetAttrKey(n), getattr(obj, n)) for n in present], [present, [n for n in names if n not in present]]

    def flatten(obj: Any) -> tuple[list[Any], Context]:
        children, context = flatten_with_keys(obj)
        return [child for _, child in children], context

    def unflatten(values: Iterable[Any], context: Context) -> Any:
        return cls(**dict(zip(context[0], values, strict=True)), **dict.fromkeys(context[1]))

    register_pytree_node(cls, flatten, unflatten, serialized_type_name=serialized_type_name, flatten_with_keys_fn=flatten_with_keys)


def is_namedtuple_class(cls: Any) -> bool:
    """Whether a class is a namedtuple or derived from one."""
    return isinstance(cls, type) and issubclass(cls, tuple) and isinstance(getattr(cls, "_fields", None), tuple) and callable(getattr(cls, "_make", None))


def is_namedtuple_instance(obj: Any) -> bool:
    """Whether an object is a namedtuple."""
    return is_namedtuple_class(type(obj))


_is_namedtuple_instance = is_namedtuple_instance


def is_namedtuple(obj: Any) -> bool:
    """Whether an object or class is a namedtuple."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def _keyed_by_position(flatten: FlattenFunc) -> Callable[[Any], tuple[list[tuple[Any, Any]], Context]]:
    def with_keys(obj: Any) -> tuple[list[tuple[Any, Any]], Context]:
        children, context = flatten(obj)
        return [(SequenceKey(i), child) for i, child in enumerate(children)], context

    return with_keys


def _list_flatten(d: list[Any]) -> tuple[list[Any], Context]:
    return d, None


def _list_unflatten(values: Iterable[Any], context: Context) -> list[Any]:
    return list(values)


def _tuple_flatten(d: tuple[Any, ...]) -> tuple[list[Any], Context]:
    return list(d), None


def _tuple_unflatten(values: Iterable[Any], context: Context) -> tuple[Any, ...]:
    return tuple(values)


def _dict_flatten(d: dict[Any, Any]) -> tuple[list[Any], Context]:
    return list(d.values()), list(d.keys())


def _dict_flatten_with_keys(d: dict[Any, Any]) -> tuple[list[tuple[Any, Any]], Context]:
    return [(MappingKey(k), v) for k, v in d.items()], list(d.keys())


def _dict_unflatten(values: Iterable[Any], context: Context) -> dict[Any, Any]:
    return dict(zip(context, values, strict=False))


def _ordereddict_unflatten(values: Iterable[Any], context: Context) -> OrderedDict[Any, Any]:
    return OrderedDict(zip(context, values, strict=False))


def _defaultdict_flatten(d: defaultdict[Any, Any]) -> tuple[list[Any], Context]:
    return list(d.values()), [d.default_factory, list(d.keys())]


def _defaultdict_flatten_with_keys(d: defaultdict[Any, Any]) -> tuple[list[tuple[Any, Any]], Context]:
    return [(MappingKey(k), v) for k, v in d.items()], [d.default_factory, list(d.keys())]


def _defaultdict_unflatten(values: Iterable[Any], context: Context) -> defaultdict[Any, Any]:
    return defaultdict(context[0], _dict_unflatten(values, context[1]))


def _deque_flatten(d: deque[Any]) -> tuple[list[Any], Context]:
    return list(d), d.maxlen


def _deque_unflatten(values: Iterable[Any], context: Context) -> deque[Any]:
    return deque(values, maxlen=context)


def _namedtuple_flatten(d: Any) -> tuple[list[Any], Context]:
    return list(d), type(d)


def _namedtuple_flatten_with_keys(d: Any) -> tuple[list[tuple[Any, Any]], Context]:
    return [(GetAttrKey(name), value) for name, value in zip(d._fields, d, strict=True)], type(d)


def _namedtuple_unflatten(values: Iterable[Any], context: Context) -> Any:
    return context(*values)


register_pytree_node(tuple, _tuple_flatten, _tuple_unflatten, serialized_type_name="builtins.tuple", flatten_with_keys_fn=_keyed_by_position(_tuple_flatten))
register_pytree_node(list, _list_flatten, _list_unflatten, serialized_type_name="builtins.list", flatten_with_keys_fn=_keyed_by_position(_list_flatten))
register_pytree_node(dict, _dict_flatten, _dict_unflatten, serialized_type_name="builtins.dict", flatten_with_keys_fn=_dict_flatten_with_keys)
register_pytree_node(namedtuple, _namedtuple_flatten, _namedtuple_unflatten, serialized_type_name="collections.namedtuple",
                     flatten_with_keys_fn=_namedtuple_flatten_with_keys)  # fmt: skip
register_pytree_node(OrderedDict, _dict_flatten, _ordereddict_unflatten, serialized_type_name="collections.OrderedDict",
                     flatten_with_keys_fn=_dict_flatten_with_keys)  # fmt: skip
register_pytree_node(defaultdict, _defaultdict_flatten, _defaultdict_unflatten, serialized_type_name="collections.defaultdict",
                     flatten_with_keys_fn=_defaultdict_flatten_with_keys)  # fmt: skip
register_pytree_node(deque, _deque_flatten, _deque_unflatten, serialized_type_name="collections.deque", flatten_with_keys_fn=_keyed_by_position(_deque_flatten))
register_pytree_node(Size, _tuple_flatten, lambda values, context: Size(values), flatten_with_keys_fn=_keyed_by_position(_tuple_flatten))


def _get_node_type(tree: Any) -> Any:
    kind = type(tree)
    return namedtuple if kind not in SUPPORTED_NODES and is_namedtuple_class(kind) else kind


def tree_is_leaf(tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether an object is a leaf: ``is_leaf`` says so, or it is no container."""
    return (is_leaf is not None and is_leaf(tree)) or _get_node_type(tree) not in SUPPORTED_NODES


_is_leaf = tree_is_leaf


# -- Specifications -------------------------------------------------------------------------------------------------------


class TreeSpec:
    """The shape of a tree: the type of its root, what the root keeps beside its children, and the children's shapes."""

    def __init__(self, type: Any, context: Context, children_specs: list[TreeSpec]) -> None:
        self.type, self.context, self._children = type, context, children_specs
        self.num_nodes: int = 1 + sum(c.num_nodes for c in children_specs)
        self.num_leaves: int = sum(c.num_leaves for c in children_specs)
        self.num_children: int = len(children_specs)

    def is_leaf(self) -> bool:
        """Whether the tree is a single leaf."""
        return False

    def children(self) -> list[TreeSpec]:
        """The children's shapes."""
        return list(self._children)

    children_specs = property(children)

    def child(self, index: int) -> TreeSpec:
        """One child's shape."""
        return self._children[index]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return self is other or (self.type, self.context, self._children) == (other.type, other.context, other._children)

    def __hash__(self) -> int:
        return hash((self.type, repr(self.context), tuple(self._children)))

    def __repr__(self, indent: int = 0) -> str:
        inner = f",\n{' ' * (indent + 2)}".join(c.__repr__(indent + 2) for c in self._children)
        return f"TreeSpec({getattr(self.type, '__name__', self.type)}, {self.context}, [{inner}])"

    def unflatten(self, leaves: Iterable[Any]) -> PyTree:
        """The tree with these leaves.

        Raises:
            ValueError: they are not as many as the tree has.
        """
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to a pytree that holds "
                             f"{self.num_leaves} items ({self}).")  # fmt: skip
        return self._build(iter(leaves))

    def _build(self, leaves: Iterator[Any]) -> PyTree:
        return SUPPORTED_NODES[self.type].unflatten_fn([c._build(leaves) for c in self._children], self.context)

    def flatten_up_to(self, tree: PyTree) -> list[PyTree]:
        """What the tree has where this shape has leaves.

        Raises:
            ValueError: the tree's containers are others.
        """
        kind = _get_node_type(tree)
        alike = kind is self.type or (kind in _DICTS and self.type in _DICTS)
        if not alike:
            raise ValueError(f"Node type mismatch; expected {self.type!r}, but got {kind!r}.")
        children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
        if len(children) != self.num_children:
            raise ValueError(f"Node arity mismatch; expected {self.num_children!r}, but got {len(children)!r}.")
        if self.type in _DICTS:
            keys = self.context[1] if self.type is defaultdict else self.context
            absent, extra = set(keys) - set(tree), set(tree) - set(keys)
            if absent or extra:
                raise ValueError("Node keys mismatch" + (f"; missing key(s): {absent}" if absent else "") + (f"; extra key(s): {extra}" if extra else "") + ".")
            children = [tree[k] for k in keys]
        elif self.type is not deque and context != self.context:
            raise ValueError(f"Node context mismatch for node type {self.type!r}; expected {self.context!r}, but got {context!r}.")
        return [part for spec, child in zip(self._children, children, strict=True) for part in spec.flatten_up_to(child)]


PyTreeSpec = TreeSpec


class LeafSpec(TreeSpec):
    """The shape of a leaf."""

    def __init__(self) -> None:
        super().__init__(None, None, [])
        self.num_leaves = 1

    def is_leaf(self) -> bool:
        return True

    def __repr__(self, indent: int = 0) -> str:
        return "*"

    def _build(self, leaves: Iterator[Any]) -> PyTree:
        return next(leaves)

    def flatten_up_to(self, tree: PyTree) -> list[PyTree]:
        return [tree]


_LEAF_SPEC = LeafSpec()


# -- Taking apart, putting together -----------------------------------------------------------------------------------------


def _flatten(tree: PyTree, leaves: list[Any], is_leaf: IsLeaf) -> TreeSpec:
    if tree_is_leaf(tree, is_leaf):
        leaves.append(tree)
        return _LEAF_SPEC
    kind = _get_node_type(tree)
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    return TreeSpec(kind, context, [_flatten(child, leaves, is_leaf) for child in children])


def tree_flatten(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """The leaves, and the shape of the tree."""
    leaves: list[Any] = []
    spec = _flatten(tree, leaves, is_leaf)
    return leaves, spec


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """The tree of a shape with these leaves."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"Expected `treespec` to be an instance of PyTreeSpec but got item of type {type(treespec)}.")
    return treespec.unflatten(leaves)


def tree_iter(tree: PyTree, is_leaf: IsLeaf = None) -> Iterator[Any]:
    """The leaves, one by one."""
    yield from tree_leaves(tree, is_leaf)


def tree_leaves(tree: PyTree, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: PyTree, is_leaf: IsLeaf = None) -> TreeSpec:
    """The shape of the tree."""
    return tree_flatten(tree, is_leaf)[1]


def arg_tree_leaves(*args: PyTree, **kwargs: PyTree) -> list[Any]:
    """The leaves of all arguments."""
    return tree_leaves((args, kwargs))


def _with_paths(tree: PyTree, path: KeyPath, is_leaf: IsLeaf) -> Iterator[tuple[KeyPath, Any]]:
    if tree_is_leaf(tree, is_leaf):
        yield path, tree
        return
    with_keys = SUPPORTED_NODES[_get_node_type(tree)].flatten_with_keys_fn
    if with_keys is None:
        raise ValueError(f"Did not find a flatten_with_keys_fn for type: {type(tree)}. Please pass a flatten_with_keys_fn argument to "
                         "register_pytree_node.")  # fmt: skip
    for key, child in with_keys(tree)[0]:
        yield from _with_paths(child, (*path, key), is_leaf)


def tree_leaves_with_path(tree: PyTree, is_leaf: IsLeaf = None) -> list[tuple[KeyPath, Any]]:
    """The leaves, each with its path."""
    return list(_with_paths(tree, (), is_leaf))


def tree_flatten_with_path(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """The leaves, each with its path, and the shape of the tree."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """The tree with ``func(leaf, *leaves of the others at its place)`` for each leaf."""
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten(map(func, leaves, *(spec.flatten_up_to(rest) for rest in rests)))


def tree_map_(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """Call ``func`` as ``tree_map`` does, for what it does to the leaves; returns the tree."""
    leaves, spec = tree_flatten(tree, is_leaf)
    deque(map(func, leaves, *(spec.flatten_up_to(rest) for rest in rests)), maxlen=0)
    return tree


def tree_map_with_path(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """``tree_map`` with the leaf's path as first argument."""
    keyed, spec = tree_flatten_with_path(tree, is_leaf)
    paths, leaves = [path for path, _ in keyed], [leaf for _, leaf in keyed]
    return spec.unflatten(map(func, paths, leaves, *(spec.flatten_up_to(rest) for rest in rests)))


def map_only(type_or_types_or_pred: Any, /) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """A decorator: the function for leaves of some types (or for which a predicate holds), the leaf itself otherwise."""
    if isinstance(type_or_types_or_pred, (type, tuple, types.UnionType)):
        applies: Callable[[Any], bool] = lambda x: isinstance(x, type_or_types_or_pred)  # noqa: E731
    elif callable(type_or_types_or_pred):
        applies = type_or_types_or_pred
    else:
        raise TypeError("Argument must be a type, a tuple of types, or a callable.")
    return lambda func: lambda x: func(x) if applies(x) else x


def tree_map_only(type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """``tree_map`` on leaves of some types (or for which a predicate holds); others stay."""
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """``tree_map_`` on leaves of some types (or for which a predicate holds)."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether a predicate holds for every leaf."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether a predicate holds for some leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether a predicate holds for every leaf of some types."""
    return all(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether a predicate holds for some leaf of some types."""
    return any(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def _broadcast_to_and_flatten(tree: PyTree, treespec: TreeSpec, is_leaf: IsLeaf = None) -> list[Any] | None:
    """The leaves of a tree that may be a beginning of the shape, each repeated for the leaves below it; None if it is not."""
    if tree_is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    kind = _get_node_type(tree)
    if treespec.is_leaf() or kind is not treespec.type:
        return None
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    if len(children) != treespec.num_children or context != treespec.context:
        return None
    parts = [_broadcast_to_and_flatten(child, spec, is_leaf) for child, spec in zip(children, treespec.children(), strict=True)]
    return None if any(part is None for part in parts) else [leaf for part in parts for leaf in part or ()]


# -- Specifications as text -------------------------------------------------------------------------------------------------


def _to_json(spec: TreeSpec) -> dict[str, Any]:
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    name, dumpable, _ = _serialized[spec.type]
    if name is None:
        raise NotImplementedError(f"No registered serialization name for {spec.type} found. Please update your _register_pytree_node call with a "
                                  "`serialized_type_name` kwarg.")  # fmt: skip
    if spec.type is namedtuple:
        if spec.context not in _namedtuples:
            raise NotImplementedError(f"Can't serialize TreeSpec of namedtuple class {spec.context} because we didn't register a "
                                      "serializated_type_name. Please register using `_register_namedtuple`.")  # fmt: skip
        context: Any = json.dumps(_namedtuples[spec.context])
    elif spec.type is defaultdict:
        factory = spec.context[0]
        context = {"default_factory_module": factory.__module__, "default_factory_name": factory.__qualname__, "dict_context": spec.context[1]}
    else:
        context = dumpable(spec.context) if dumpable is not None else json.dumps(spec.context)
    return {"type": name, "context": context, "children_spec": [_to_json(c) for c in spec.children()]}


def _find(module: str, name: str) -> Any:
    import importlib

    found = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _from_json(data: Mapping[str, Any]) -> TreeSpec:
    if data["type"] is None:
        return LeafSpec()
    if data["type"] not in _by_serialized_name:
        raise NotImplementedError(f"Deserializing {data['type']} in pytree is not registered.")
    kind = _by_serialized_name[data["type"]]
    loaded = _serialized[kind].from_dumpable_context
    if kind is namedtuple:
        wanted = json.loads(data["context"])
        context = next(cls for cls, name in _namedtuples.items() if name == wanted)
    elif kind is defaultdict:
        parts = data["context"]
        context = [_find(parts["default_factory_module"], parts["default_factory_name"]), parts["dict_context"]]
    else:
        context = loaded(data["context"]) if loaded is not None else json.loads(data["context"])
    return TreeSpec(kind, context, [_from_json(c) for c in data["children_spec"]])


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """A shape as JSON, in torch's format (protocol 1)."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"treespec_dumps(treespec, protocol): Expected `treespec` to be instance of TreeSpec but got item of type {type(treespec)}.")
    if protocol not in (None, 1):
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [1]")
    return json.dumps([1, _to_json(treespec)])


def treespec_loads(serialized: str) -> TreeSpec:
    """A shape from JSON."""
    protocol, data = json.loads(serialized)
    if protocol != 1:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [1]")
    return _from_json(data)


def treespec_pprint(treespec: TreeSpec) -> str:
    """A shape as the tree that it is, with asterisks for leaves."""
    return repr(treespec.unflatten([_Asterisk()] * treespec.num_leaves))


class _Asterisk:
    def __repr__(self) -> str:
        return "*"
