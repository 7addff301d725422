"""From declarations to callables: the function, the method, the in-place form and ``out=`` of every operator.

A declaration becomes a Python function with torch's signature, written as source text once at import, so that Python binds
the arguments and nothing is looked up at a call. Operands of common types go straight to the tape; anything else (NumPy
numbers, subclasses, wrong types) takes ``slow``.
"""

from __future__ import annotations

import collections
import numbers
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from torchlike.autograd import tape
from torchlike.autograd.tape import Variable, apply
from torchlike.ops.declare import ARRAY, ARRAY_OR_SCALAR, ARRAYS, REQUIRED, SCALAR, Op, Param
from torchlike.tensor import dtypes, overrides
from torchlike.tensor.layouts import restride
from torchlike.tensor.size import Size
from torchlike.tensor.tensor import Tensor

# Types that need no look: exact types, so that subclasses with their own behaviour go to ``slow``.
TENSORS: set[type] = {Tensor}
NUMBERS: set[type] = {float, int, bool, complex}
PLAIN: set[type] = {Tensor, float, int, bool, complex}
OPTIONAL_TENSORS: set[type] = {Tensor, type(None)}
OPTIONAL_PLAIN: set[type] = {*PLAIN, type(None)}
OPTIONAL_NUMBERS: set[type] = {*NUMBERS, type(None)}
_SETS = {
    (ARRAY, False): "TENSORS", (ARRAY, True): "OPTIONAL_TENSORS", (ARRAY_OR_SCALAR, False): "PLAIN",
    (ARRAY_OR_SCALAR, True): "OPTIONAL_PLAIN", (SCALAR, False): "NUMBERS", (SCALAR, True): "OPTIONAL_NUMBERS",
}  # fmt: skip


def register_plain(cls: type) -> None:
    """A Tensor subclass that behaves like Tensor (``nn.Parameter``) takes the fast way."""
    for kinds in (TENSORS, PLAIN, OPTIONAL_TENSORS, OPTIONAL_PLAIN):
        kinds.add(cls)


# -- static arguments -------------------------------------------------------------------------------------------------


_seen_ints: set[tuple[int, ...]] = set()  # tuples that were found to hold only ints: layers pass the same ones each time


def ints(x: Any) -> Any:
    """An int, or a tuple of ints from any sequence of them (lists, sizes, tensors, NumPy numbers)."""
    kind = type(x)
    if kind is int or x is None or kind is str:  # convolutions take padding="same"
        return x
    if kind is tuple and x in _seen_ints:
        return x
    if kind is tuple or kind is list or kind is Size:
        for n in x:
            if type(n) is not int:
                return tuple([n if n is None else index(n) for n in x])
        if kind is tuple and len(_seen_ints) < 4096:
            _seen_ints.add(x)
        return tuple(x)
    if isinstance(x, (tuple, list)):
        return tuple(map(index, x))
    if isinstance(x, Variable) and x.ndim == 1:
        return tuple(x.tolist())
    if isinstance(x, range):
        return tuple(x)
    return index(x)


def index(x: Any) -> Any:
    """An int from whatever has ``__index__``."""
    if type(x) is int or x is None:
        return x
    if isinstance(x, bool):
        return int(x)
    try:
        return x.__index__()
    except AttributeError:
        if (isinstance(x, float) and x.is_integer() is False) or not hasattr(x, "__int__"):
            raise TypeError(f"argument must be int, not {type(x).__name__}") from None
        raise TypeError(f"argument must be int, not {type(x).__name__}") from None


def flag(x: Any) -> bool:
    """A bool argument; 0-d tensors and NumPy bools count."""
    return bool(x)


def static_float(x: Any) -> Any:
    """A static float argument."""
    return None if x is None else float(x)


def static_dtype(x: Any) -> Any:
    """A dtype argument as a NumPy dtype."""
    return None if x is None else dtypes.numpy_of(x)


def static_number(x: Any) -> Any:
    """A static number."""
    return x.item() if isinstance(x, (Variable, np.generic)) else x


_NORMAL = {
    "int": "{0} if {0}.__class__ is int else index({0})",
    "Dim": "{0} if {0}.__class__ is int else index({0})",
    "Dims": "{0} if {0}.__class__ is int or {0} is None else ints({0})",
    "Ints": "{0} if {0}.__class__ is int else ints({0})",
    "bool": "{0} if {0}.__class__ is bool or {0} is None else flag({0})",
    "float": "{0} if {0}.__class__ is float else static_float({0})",
    "DType": "None if {0} is None else static_dtype({0})",
    "Number": "static_number({0})",
}


def _normal(p: Param, name: str) -> str:
    return _NORMAL.get(p.annotation, "{0}").format(name)


_NORMALIZE: dict[str, Callable[[Any], Any]] = {
    "int": index, "Dim": index, "Dims": ints, "Ints": ints, "bool": lambda x: None if x is None else bool(x),
    "float": static_float, "DType": static_dtype, "Number": static_number,
}  # fmt: skip


# -- results ----------------------------------------------------------------------------------------------------------


def named_result(op: Op) -> Any:
    """The class of a result with names (``torch.return_types.max``)."""
    found = RETURN_TYPES.get(op.name)
    if found is None or found._fields != op.returns:
        found = RETURN_TYPES[op.name] = return_type(op.name, op.returns)
    return found


RETURN_TYPES: dict[str, Any] = {}


def return_type(name: str, fields: Sequence[str]) -> Any:
    """A named tuple class that prints as torch's structured results do."""

    def __repr__(self: Any) -> str:
        inner = ",\n".join(f"{f}={getattr(self, f)!r}" for f in fields)
        return f"torch.return_types.{name}(\n{inner})"

    base = collections.namedtuple(name, fields)  # noqa: PYI024 - the fields are data here

    def __new__(cls: type, *values: Any) -> Any:
        # torch's structured results are made from one sequence; namedtuple's own way works as well.
        if len(values) == 1 and len(fields) > 1:
            values = tuple(values[0])
        return tuple.__new__(cls, values)

    return type(name, (base,), {"__repr__": __repr__, "__new__": __new__, "__slots__": (), "__module__": "torch.return_types",
                                "__reduce__": lambda self: (tuple, (tuple(self),))})  # fmt: skip


def into(out: Any, results: Sequence[Any]) -> Any:
    """Write results into ``out`` tensors, which take the results' shape; ``out``."""
    outs = (out,) if isinstance(out, Variable) else tuple(out)
    if len(outs) != len(results):
        raise TypeError(f"expected {len(results)} out tensors, got {len(outs)}")
    for o, r in zip(outs, results, strict=True):
        if not isinstance(o, Variable):
            raise TypeError(f"argument 'out' must be Tensor, not {type(o).__name__}")
        write_out(o, r)
    return out


def write_out(out: Any, result: Any) -> Any:
    """Write one result into an ``out`` tensor; ``out``."""
    if result.requires_grad or (out.requires_grad and tape.local.grad):
        raise RuntimeError("functions with out=... arguments don't support automatic differentiation, but one of the arguments "
                           "requires grad.")  # fmt: skip
    have, want = tape.current(result).aval, tape.current(out).aval
    if have.device != want.device:
        raise RuntimeError(
            f"Expected out tensor to be on {dtype_device(have.device)}, but got {dtype_device(want.device)} instead"
        )
    if have.dtype != want.dtype:
        from_, to = dtypes.of_numpy(have.dtype), dtypes.of_numpy(want.dtype)
        if not dtypes.can_cast(from_, to):
            raise RuntimeError(f"result type {from_} can't be cast to the desired output type {to}")
        result = result.to(to)
    if have.shape != want.shape:
        out.resize_(have.shape)
    out._write(result)
    return out


def dtype_device(name: str) -> str:
    """A device's name in messages."""
    return name


# -- the slow way -----------------------------------------------------------------------------------------------------


def _type_error(op: Op, p: Param, position: int, x: Any, wanted: str) -> TypeError:
    return TypeError(f"{op.name}(): argument '{p.name}' (position {position}) must be {wanted}, not {type(x).__name__}")


def coerce(op: Op, p: Param, position: int, x: Any) -> Any:
    """An operand as tensor, number or None; torch's TypeError for anything else."""
    if isinstance(x, Variable) or (x is None and p.optional):
        if p.role is SCALAR and x is not None:
            if tape.current(x).aval.size != 1:
                raise _type_error(op, p, position, x, "Number")
            return x.item()
        return x
    if p.role is not ARRAY:
        if type(x) in NUMBERS:
            return x
        if isinstance(x, np.generic) and x.dtype.kind in "biufc":
            return x.item()
        if isinstance(x, numbers.Number):
            return complex(x) if isinstance(x, complex) else float(x) if isinstance(x, float) else int(x)
        if isinstance(x, np.ndarray) and p.role is ARRAY_OR_SCALAR and x.dtype.kind in "biufc":
            return Tensor._from_numpy(x.copy())
    raise _type_error(op, p, position, x, "Number" if p.role is SCALAR else "Tensor")


def slow(op: Op, form: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """The general way to call an operator: overrides of ``__torch_function__``, conversions, type errors."""
    out = arguments.pop("out", None)
    tensors = []
    for p in op.operands:
        x = arguments[p.name]
        tensors.extend(x if isinstance(x, (tuple, list)) and p.role is ARRAYS else [x])
    handler = overrides.overridden(tensors)
    if handler is not None:
        return overrides.handle(handler, form, tensors, op, arguments)
    operands: list[Any] = []
    counts: list[Any] = []
    for position, p in enumerate(op.params, start=1):
        if not p.is_operand:
            continue
        x = arguments[p.name]
        if p.role is ARRAYS:
            if x is None and p.optional:
                counts.append(-1)
                continue
            if isinstance(x, Variable) or not isinstance(x, (tuple, list)):
                raise TypeError(
                    f"{op.name}(): argument '{p.name}' (position {position}) must be tuple of Tensors, not {type(x).__name__}"
                )
            for i, item in enumerate(x):
                if not (isinstance(item, Variable) or (item is None and "None" in p.annotation)):
                    raise TypeError(
                        f"expected Tensor as element {i} in argument {position - 1}, but got {type(item).__name__}"
                    )
            counts.append(len(x))
            operands.extend(x)
        else:
            operands.append(coerce(op, p, position, x))
    statics = tuple(_NORMALIZE.get(p.annotation, lambda v: v)(arguments[p.name]) for p in op.statics)
    markers = tuple(type(s).__name__ for s, p in zip(statics, op.statics, strict=True) if p.annotation == "Number")
    results = apply(op, ((*counts, *markers), statics), operands)
    if op.strides == "elementwise":
        for r in results:
            restride(r, operands)
    cls = overrides.result_class(tensors)
    if cls is not None:
        results = [r.as_subclass(cls) for r in results]
    if out is not None:
        return into(out, results)
    return finish(op, results)


def finish(op: Op, results: Sequence[Any]) -> Any:
    """Results in the form that torch returns."""
    if op.returns:
        return named_result(op)(*results)
    return results[0] if len(results) == 1 else tuple(results)


# -- code -------------------------------------------------------------------------------------------------------------


def make_function(op: Op) -> Callable[..., Any]:
    """The function form: torch's signature, straight to the tape."""
    scope: dict[str, Any] = {
        "OP": op, "apply": apply, "slow": slow, "into": into, "finish": finish, "restride": restride, "index": index,
        "ints": ints, "flag": flag, "static_dtype": static_dtype, "static_float": static_float,
        "static_number": static_number, "TENSORS": TENSORS, "PLAIN": PLAIN, "NUMBERS": NUMBERS,
        "OPTIONAL_TENSORS": OPTIONAL_TENSORS, "OPTIONAL_PLAIN": OPTIONAL_PLAIN, "OPTIONAL_NUMBERS": OPTIONAL_NUMBERS,
    }  # fmt: skip
    head: list[str] = []
    starred = False
    vararg = op.params[-1].name if op.varargs and not op.params[-1].kw_only else None
    if op.varargs and vararg is None:
        positional = [p for p in op.params if not p.kw_only]
        vararg = positional[-1].name
    pre: list[str] = []
    for i, p in enumerate(op.params):
        if p.kw_only and not starred:
            if vararg is None:
                head.append("*")
            starred = True
        if p.name == vararg:
            head.append(f"*{p.name}_")
            starred = True
            default = "None" if p.default is REQUIRED else f"default_{i}"
            scope[f"default_{i}"] = p.default
            pre.append(f"{p.name} = kwargs_.pop('{p.name}', {default}) if not {p.name}_ else {p.name}_[0] if "
                       f"len({p.name}_) == 1 and not isinstance({p.name}_[0], int) else {p.name}_")  # fmt: skip
            continue
        if p.default is REQUIRED:
            head.append(p.name)
        else:
            scope[f"default_{i}"] = p.default
            head.append(f"{p.name}=default_{i}")
    if op.out:
        if not starred:
            head.append("*")
        head.append("out=None")
    if vararg is not None:
        head.append("**kwargs_")
        pre.append("if kwargs_: raise TypeError(f\"" + op.name + "() got an unexpected keyword argument '{next(iter(kwargs_))}'\")")
    tests, operands, counts, statics, strided = [], [], [], [], []
    for p in op.params:
        n = p.name
        if not p.is_operand:
            statics.append(_normal(p, n))
        elif p.role is ARRAYS:
            item_set = "OPTIONAL_TENSORS" if p.annotation == "Sequence[Array|None]" or "None" in p.annotation else "TENSORS"
            if p.optional:
                tests.append(f"({n} is not None and ({n}.__class__ not in SEQUENCES or not all([x_.__class__ in {item_set} for x_ in {n}])))")
                operands.append(f"*({n} or ())")
                counts.append(f"-1 if {n} is None else len({n})")
            else:
                tests.append(f"({n}.__class__ not in SEQUENCES or not all([x_.__class__ in {item_set} for x_ in {n}]))")
                operands.append(f"*{n}")
                counts.append(f"len({n})")
        else:
            tests.append(f"{n}.__class__ not in {_SETS[p.role, p.optional]}")
            operands.append(n)
            if p.role is ARRAY and not p.optional:
                strided.append(f"{n}._dense")
            elif p.role in (ARRAY, ARRAY_OR_SCALAR):
                strided.append(f"({n}.__class__ in OPTIONAL_NUMBERS or {n}._dense)")
    scope["SEQUENCES"] = {tuple, list}
    markers = [f"({n}).__class__.__name__" for n in (_normal(p, p.name) for p in op.statics if p.annotation == "Number")]
    given = ", ".join(f"{p.name!r}: {p.name}" for p in op.params) + (", 'out': out" if op.out else "")
    scalar_only = [p.name for p in op.operands if p.role is ARRAY_OR_SCALAR]
    lines = [f"def {op.name}({', '.join(head)}):", *(f"    {line}" for line in pre)]
    if tests:
        lines.append(f"    if {' or '.join(tests)}: return slow(OP, {op.name}, {{{given}}})")
    if scalar_only and not any(p.role in (ARRAY, ARRAYS) for p in op.operands):
        # at least one of them must be a tensor; the first stands for all in the message
        lines.append(
            f"    if {' and '.join(f'{n}.__class__ in OPTIONAL_NUMBERS' for n in scalar_only)}: "
            f"raise TypeError(\"{op.name}(): argument '{scalar_only[0]}' (position 1) must be Tensor, not \" + {scalar_only[0]}.__class__.__name__)"
        )

    def tup(items: Sequence[str]) -> str:
        return f"({', '.join(items)},)" if items else "()"

    lines.append(f"    r_ = apply(OP, ({tup(counts + markers)}, {tup(statics)}), {tup(operands)})")
    if op.strides == "elementwise" and strided:
        lines.append(f"    if not ({' and '.join(strided)}):")
        lines.append(f"        for x_ in r_: restride(x_, {tup(operands)})")
    if op.out:
        lines.append("    if out is not None: return into(out, r_)")
    lines.append("    return finish(OP, r_)" if op.returns else "    return r_[0] if len(r_) == 1 else tuple(r_)")
    exec(compile("\n".join(lines), f"<torchlike {op.name}>", "exec"), scope)
    function = scope[op.name]
    function.__doc__ = op.__doc__
    function.__module__ = "torch"
    function.torchlike_op = op
    return function


def make_inplace(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The in-place form of a function: computes, then writes into the first argument."""

    def inplace(self: Any, *args: Any, **kwargs: Any) -> Any:
        self._check_inplace()
        return self._update(function(self, *args, **kwargs), name)

    inplace.__name__ = inplace.__qualname__ = name
    inplace.__doc__ = f"In-place ``{name[:-1]}``."
    inplace.__module__ = "torch"
    return inplace


class Overloads:
    """Several declarations under one name: the first whose parameters fit the arguments is called."""

    def __init__(self, name: str, ops: Sequence[Op]) -> None:
        self.name = name
        self.ops = list(ops)
        self.functions = [make_function(o) for o in ops]
        self.chosen: dict[Any, Callable[..., Any]] = {}

    def resolve(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[..., Any]:
        """The function for these arguments; ``TypeError`` that lists what there is when none fits."""
        key = (tuple(map(type, args)), tuple((k, type(v)) for k, v in kwargs.items()))
        found = self.chosen.get(key)
        if found is None:
            for o, function in zip(self.ops, self.functions, strict=True):
                if fits(o, args, kwargs):
                    found = function
                    break
            else:
                forms = "\n".join(f" * ({', '.join(p.name for p in o.params)})" for o in self.ops)
                got = ", ".join([type(a).__name__ for a in args] + [f"{k}={type(v).__name__}" for k, v in kwargs.items()])
                raise TypeError(
                    f"{self.name}() received an invalid combination of arguments - got ({got}), but expected one of:\n{forms}"
                )
            self.chosen[key] = found
        return found


def fits(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether arguments have the number, names and types of an operator's parameters."""
    positional = [p for p in op.params if not p.kw_only]
    if op.varargs and len(args) > len(positional):
        head, rest = args[: len(positional) - 1], args[len(positional) - 1:]
        args = (*head, tuple(rest))
    if len(args) > len(positional):
        return False
    given = dict(zip((p.name for p in positional), args, strict=False))
    for k, v in kwargs.items():
        if k in given or (k == "out" and not op.out):
            return False
        given[k] = v
    given.pop("out", None)
    by_name = {p.name: p for p in op.params}
    if not set(given) <= set(by_name):
        return False
    for p in op.params:
        if p.name not in given:
            if p.default is REQUIRED:
                return False
            continue
        if not _accepts(p, given[p.name]):
            return False
    return True


def _accepts(p: Param, x: Any) -> bool:
    if x is None:
        return p.optional or p.default is None or p.annotation in ("Dims", "DType")
    tensor = isinstance(x, Variable) or (hasattr(type(x), "__torch_function__") and not isinstance(x, type))
    number = isinstance(x, (int, float, complex, np.generic)) or (isinstance(x, Variable) and x.ndim == 0)
    if p.role is ARRAY:
        return tensor
    if p.role is ARRAY_OR_SCALAR:
        return tensor or number
    if p.role is ARRAYS:
        return isinstance(x, (tuple, list)) and all(i is None or isinstance(i, Variable) or hasattr(type(i), "__torch_function__") for i in x)
    if p.role is SCALAR:
        return number
    is_int = (isinstance(x, (int, np.integer)) and not isinstance(x, bool)) or (isinstance(x, Variable) and x.ndim == 0 and x.dtype.numpy.kind in "iu")
    if p.annotation in ("int", "Dim"):
        return bool(is_int)
    if p.annotation in ("Ints", "Dims"):
        return bool(is_int) or (isinstance(x, (tuple, list, range)) and all(isinstance(i, (int, np.integer, Variable)) for i in x))
    if p.annotation == "bool":
        return isinstance(x, (bool, np.bool_)) or (isinstance(x, int) and p.default is not REQUIRED and type(x) is int and x in (0, 1))
    if p.annotation == "str":
        return isinstance(x, str)
    if p.annotation == "float":
        return isinstance(x, (int, float, np.generic)) and not isinstance(x, bool)
    if p.annotation == "DType":
        return isinstance(x, dtypes.dtype) or x in (float, int, bool, complex)
    return True


def make_overloaded(name: str, ops: Sequence[Op]) -> Callable[..., Any]:
    """One function over several declarations."""
    overloads = Overloads(name, ops)
    resolve = overloads.resolve

    def function(*args: Any, **kwargs: Any) -> Any:
        try:
            chosen = resolve(args, kwargs)
        except TypeError:
            renamed = numpy_names(args, kwargs)
            if renamed is None:
                raise
            return function(*args, **renamed)
        return chosen(*args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "\n\n".join(filter(None, (o.__doc__ for o in ops)))
    function.__module__ = "torch"
    function.torchlike_op = ops[0]  # type: ignore[attr-defined]
    function.torchlike_overloads = overloads  # type: ignore[attr-defined]
    return function


_NUMPY_NAMES = {"axis": "dim", "axes": "dims", "keepdims": "keepdim", "x": "input", "a": "input", "x1": "input", "x2": "other"}


def numpy_names(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any] | None:
    """Keyword arguments with NumPy's names replaced by torch's, as torch's parser allows; None when there are none."""
    if not any(k in _NUMPY_NAMES for k in kwargs):
        return None
    return {_NUMPY_NAMES.get(k, k): v for k, v in kwargs.items()}


def accept_numpy_names(function: Callable[..., Any]) -> Callable[..., Any]:
    """For functions with ``dim``: a call with ``axis=`` or ``keepdims=`` works too, at no cost for other calls."""
    import functools

    code = function.__code__
    known = set(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    if not known & {"dim", "keepdim", "dims"} or "axis" in known:
        return function
    inner = function

    @functools.wraps(inner)
    def wrapper(*args: Any, axis: Any = REQUIRED, keepdims: Any = REQUIRED, **kwargs: Any) -> Any:
        if axis is not REQUIRED:
            kwargs["dims" if "dims" in known else "dim"] = axis
        if keepdims is not REQUIRED:
            kwargs["keepdim"] = keepdims
        return inner(*args, **kwargs)

    return wrapper


class Registry:
    """Every callable made from declarations, by namespace and name."""

    def __init__(self) -> None:
        self.functions: dict[str, dict[str, Any]] = collections.defaultdict(dict)
        self.methods: dict[str, Any] = {}
        self.ops: list[Op] = []

    def load(self, modules: Sequence[ModuleType]) -> None:
        """Build the callables of all declarations in the modules."""
        groups: dict[tuple[str, str], list[Op]] = {}
        for module in modules:
            for o in vars(module).values():
                if isinstance(o, Op) and o.body.__module__ == module.__name__ and not o.view:
                    self.ops.append(o)
                    groups.setdefault((o.namespace, o.name), []).append(o)
        for (namespace, name), ops in groups.items():
            self.add(namespace, name, ops)

    def add(self, namespace: str, name: str, ops: Sequence[Op]) -> None:
        """The forms of one operator."""
        if ops[0].host:
            function = host_function(ops[0])
        elif len(ops) == 1:
            function = accept_numpy_names(make_function(ops[0]))
        else:
            function = make_overloaded(name, ops)
        names = [(namespace, name)]
        for alias in {a: None for o in ops for a in o.aliases}:
            where, dot, last = alias.rpartition(".")
            names.append((where if dot else namespace, last))
        first = ops[0]
        for where, n in names:
            own = where == namespace
            if any(o.function for o in ops) and where != "Tensor":
                self.functions[where][n] = function
            if any(o.method for o in ops) and own:
                self.methods[n] = function
            if any(o.inplace for o in ops):
                inplace = make_inplace(f"{n}_", function)
                if any(o.method for o in ops) and own:
                    self.methods[f"{n}_"] = inplace
                if first.function and where in ("torch", "nn.functional"):
                    self.functions[where][f"{n}_"] = inplace


def host_function(op: Op) -> Callable[..., Any]:
    """A function that computes on the host at once: its results' shapes depend on the values."""
    import inspect

    signature = inspect.signature(op.body)

    def function(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        given = {}
        device = "cpu"
        for position, p in enumerate(op.params, start=1):
            x = bound.arguments[p.name]
            if p.role is ARRAYS:
                x = tuple(i if i is None else i.detach()._host() for i in x)
            elif p.is_operand:
                x = coerce(op, p, position, x)
                if isinstance(x, Variable):
                    device = x._value.aval.device
                    x = x._host()
            else:
                x = _NORMALIZE.get(p.annotation, lambda v: v)(x)
            given[p.name] = x
        results = op.body(**given)
        single = not isinstance(results, (tuple, list))
        made = [Tensor._from_numpy(np.array(r), device=device) for r in ((results,) if single else results)]
        if out is not None:
            return into(out, made)
        return made[0] if single else finish(op, made) if op.returns else tuple(made)

    function.__name__ = function.__qualname__ = op.name
    function.__doc__ = op.__doc__
    function.torchlike_op = op  # type: ignore[attr-defined]
    return function


def binary_operator(name: str, function: Callable[..., Any], reflected: bool = False) -> Callable[..., Any]:
    """``__add__`` and its like: tensors and numbers go to the operator, other types get their own try."""

    def forward(self: Any, other: Any) -> Any:
        if other.__class__ in PLAIN:
            return function(self, other)
        if isinstance(other, (np.ndarray, np.generic, Variable, numbers.Number)) or hasattr(type(other), "__torch_function__"):
            return function(self, other)
        return NotImplemented

    def backward(self: Any, other: Any) -> Any:
        if other.__class__ in PLAIN or isinstance(other, (np.ndarray, np.generic, Variable, numbers.Number)):
            return function(other, self)
        return NotImplemented

    made = backward if reflected else forward
    made.__name__ = made.__qualname__ = name
    return made
