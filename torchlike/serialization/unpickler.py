"""A restricted unpickler: builds tensors and plain containers, and can call nothing that is not on its list.

It is a machine of its own, not Python's unpickler with a filter. A name in a pickle is looked up in a table of full
names and nowhere else: nothing is imported, no attribute is followed. What is called must be callable by that table,
what is built upon must be of a class in it; so no sequence of opcodes leads to other code. ``Skimmer`` runs the same
machine with nothing behind it: it finds out what a pickle contains.
"""

from __future__ import annotations

import _compat_pickle
import pickle
import struct
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any

from torchlike.serialization import allowlist

__all__ = ["Skimmer", "Unpickler"]

_Handler = Callable[["Unpickler"], None]
_handlers: dict[int, _Handler] = {}


def _opcode(*codes: bytes) -> Callable[[_Handler], _Handler]:
    def register(handler: _Handler) -> _Handler:
        for code in codes:
            _handlers[code[0]] = handler
        return handler

    return register


class _Stop(Exception):
    pass


class Unpickler:
    """Loads one pickle from a binary file.

    Args:
        file: has ``read`` and ``readline``; it is left just behind the pickle.
        persistent_load: gives the storage for a persistent id ``("storage", ...)``.
        encoding: of Python 2 strings; "bytes" leaves them as bytes.

    Raises:
        pickle.UnpicklingError: the pickle is malformed, or asks for something that is not allowed.
        EOFError: the file is at its end.
    """

    def __init__(
        self, file: Any, persistent_load: Callable[[tuple[Any, ...]], Any] | None = None, encoding: str = "utf-8"
    ) -> None:
        self._read = file.read
        self._readline = file.readline
        self._persistent_load = persistent_load
        self.encoding = encoding
        self.memo: dict[int, Any] = {}
        self.stack: list[Any] = []
        self.marks: list[list[Any]] = []
        self.protocol = 0

    def load(self) -> Any:
        """The object of the pickle."""
        read, handlers = self._read, _handlers
        code = read(1)
        if not code:
            raise EOFError("the file is empty or ends where a pickle should begin")
        if not isinstance(code, bytes):
            raise TypeError(f"the file must be opened in binary mode: reading gave {type(code).__name__}, not bytes")
        try:
            while True:
                try:
                    handler = handlers[code[0]]
                except KeyError:
                    raise pickle.UnpicklingError(f"Unsupported operand {code[0]}") from None
                handler(self)
                code = read(1)
                if not code:
                    raise pickle.UnpicklingError("the pickle is cut off")
        except _Stop:
            pass
        except (LookupError, ValueError, TypeError, AttributeError, ArithmeticError, struct.error, MemoryError) as e:
            raise pickle.UnpicklingError(f"the data is not a pickle, or a damaged one ({type(e).__name__}: {e})") from e
        if self.marks or len(self.stack) != 1:
            raise pickle.UnpicklingError("the data is not a pickle, or a damaged one (objects left over)")
        return self.stack.pop()

    # -- what the machine may reach ---------------------------------------------------------------------------------

    def find(self, module: str, name: str) -> Any:
        """The object that the table has under this full name."""
        return allowlist.find(module, name)

    def call(self, function: Any, args: Any) -> Any:
        """``function(*args)`` for a function of the table."""
        if type(args) is not tuple:
            raise pickle.UnpicklingError(f"arguments of a call must be a tuple, but got {type(args).__name__}")
        return allowlist.checked_call(function)(*args)

    def new(self, cls: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """An instance of a class of the table."""
        if type(args) is not tuple:
            raise pickle.UnpicklingError(f"arguments of a class must be a tuple, but got {type(args).__name__}")
        return allowlist.checked_new(cls)(*args, **kwargs)

    def build(self, instance: Any, state: Any) -> None:
        """Give an instance its state."""
        if type(instance) is OrderedDict:
            if type(state) is not dict or not all(type(k) is str for k in state):
                raise pickle.UnpicklingError("the state of an OrderedDict must be a dictionary of names")
            instance.__dict__.update(state)
            return
        allowlist.check_build(instance)
        setstate = getattr(type(instance), "__setstate__", None)
        if setstate is not None:
            setstate(instance, state)
            return
        slots = None
        if isinstance(state, tuple) and len(state) == 2:
            state, slots = state
        if state:
            instance.__dict__.update(state)
        for name, value in (slots or {}).items():
            setattr(instance, name, value)

    def persistent(self, pid: Any) -> Any:
        """The storage that a persistent id stands for."""
        if type(pid) is not tuple:
            raise pickle.UnpicklingError(f"persistent_load id must be tuple, but got {type(pid)}")
        if not pid or _decoded(pid[0]) != "storage":
            raise pickle.UnpicklingError(f"Only persistent_load of storage is allowed, but got {pid[:1]}")
        if self._persistent_load is None:
            raise pickle.UnpicklingError("unsupported persistent id encountered")
        return self._persistent_load(pid)

    def as_list(self, x: Any) -> list[Any]:
        """``x``, to be appended to."""
        if type(x) is not list:
            raise pickle.UnpicklingError(f"Can only append to lists, but got {type(x)}")
        return x

    def as_dict(self, x: Any) -> dict[Any, Any]:
        """``x``, to have items set."""
        if type(x) not in (dict, OrderedDict, Counter):
            raise pickle.UnpicklingError(
                f"Can only SETITEM for dict, collections.OrderedDict, collections.Counter, but got {type(x)}"
            )
        return x

    # -- reading ------------------------------------------------------------------------------------------------------

    def take(self, n: int) -> bytes:
        """The next ``n`` bytes."""
        data = self._read(n)
        if len(data) != n:
            raise pickle.UnpicklingError(f"the pickle is cut off: {len(data)} bytes left where {n} are announced")
        return data

    def number(self, form: str, n: int) -> int:
        """The next ``n`` bytes as a number."""
        return struct.unpack(form, self.take(n))[0]

    def line(self) -> str:
        """The rest of the line."""
        line = self._readline()
        if line[-1:] != b"\n":
            raise pickle.UnpicklingError("the pickle is cut off")
        return line[:-1].decode("utf-8")

    def pop_mark(self) -> list[Any]:
        """What was pushed since the last mark."""
        items = self.stack
        self.stack = self.marks.pop()
        return items


def _decoded(s: Any) -> Any:
    return s.decode("ascii", "replace") if isinstance(s, bytes) else s


# -- the opcodes ----------------------------------------------------------------------------------------------------


@_opcode(pickle.PROTO)
def _(u: Unpickler) -> None:
    u.protocol = u.take(1)[0]
    if u.protocol > pickle.HIGHEST_PROTOCOL:
        raise pickle.UnpicklingError(f"unsupported pickle protocol: {u.protocol}")


@_opcode(pickle.FRAME)
def _(u: Unpickler) -> None:
    u.take(8)  # the size of a frame is only a hint for reading ahead


@_opcode(pickle.STOP)
def _(u: Unpickler) -> None:
    raise _Stop


@_opcode(pickle.GLOBAL)
def _(u: Unpickler) -> None:
    module, name = u.line(), u.line()
    # protocols 0 to 2 have Python 2's names
    if (module, name) in _compat_pickle.NAME_MAPPING:
        module, name = _compat_pickle.NAME_MAPPING[module, name]
    else:
        module = _compat_pickle.IMPORT_MAPPING.get(module, module)
    u.stack.append(u.find(module, name))


@_opcode(pickle.STACK_GLOBAL)
def _(u: Unpickler) -> None:
    name, module = u.stack.pop(), u.stack.pop()
    if type(name) is not str or type(module) is not str:
        raise pickle.UnpicklingError("STACK_GLOBAL requires str")
    u.stack.append(u.find(module, name))


@_opcode(pickle.REDUCE)
def _(u: Unpickler) -> None:
    args = u.stack.pop()
    u.stack[-1] = u.call(u.stack[-1], args)


@_opcode(pickle.NEWOBJ)
def _(u: Unpickler) -> None:
    args = u.stack.pop()
    u.stack[-1] = u.new(u.stack[-1], args, {})


@_opcode(pickle.NEWOBJ_EX)
def _(u: Unpickler) -> None:
    kwargs, args = u.stack.pop(), u.stack.pop()
    if type(kwargs) is not dict:
        raise pickle.UnpicklingError("keyword arguments of a class must be a dictionary")
    u.stack[-1] = u.new(u.stack[-1], args, kwargs)


@_opcode(pickle.BUILD)
def _(u: Unpickler) -> None:
    state = u.stack.pop()
    u.build(u.stack[-1], state)


@_opcode(pickle.BINPERSID)
def _(u: Unpickler) -> None:
    u.stack[-1] = u.persistent(u.stack[-1])


@_opcode(pickle.APPEND)
def _(u: Unpickler) -> None:
    item = u.stack.pop()
    u.as_list(u.stack[-1]).append(item)


@_opcode(pickle.APPENDS)
def _(u: Unpickler) -> None:
    items = u.pop_mark()
    u.as_list(u.stack[-1]).extend(items)


@_opcode(pickle.SETITEM)
def _(u: Unpickler) -> None:
    value, key = u.stack.pop(), u.stack.pop()
    u.as_dict(u.stack[-1])[key] = value


@_opcode(pickle.SETITEMS)
def _(u: Unpickler) -> None:
    items = u.pop_mark()
    target = u.as_dict(u.stack[-1])
    for key, value in zip(items[::2], items[1::2], strict=True):
        target[key] = value


@_opcode(pickle.ADDITEMS)
def _(u: Unpickler) -> None:
    items = u.pop_mark()
    if type(u.stack[-1]) is not set:
        raise pickle.UnpicklingError(f"Can only add to sets, but got {type(u.stack[-1])}")
    u.stack[-1].update(items)


@_opcode(pickle.FROZENSET)
def _(u: Unpickler) -> None:
    items = u.pop_mark()
    u.stack.append(frozenset(items))


@_opcode(pickle.MARK)
def _(u: Unpickler) -> None:
    u.marks.append(u.stack)
    u.stack = []


@_opcode(pickle.TUPLE)
def _(u: Unpickler) -> None:
    items = u.pop_mark()
    u.stack.append(tuple(items))


@_opcode(pickle.LIST)
def _(u: Unpickler) -> None:
    items = u.pop_mark()
    u.stack.append(items)


@_opcode(pickle.DICT)
def _(u: Unpickler) -> None:
    items = u.pop_mark()
    u.stack.append(dict(zip(items[::2], items[1::2], strict=True)))


@_opcode(pickle.TUPLE1)
def _(u: Unpickler) -> None:
    u.stack[-1] = (u.stack[-1],)


@_opcode(pickle.TUPLE2)
def _(u: Unpickler) -> None:
    u.stack[-2:] = [(u.stack[-2], u.stack[-1])]


@_opcode(pickle.TUPLE3)
def _(u: Unpickler) -> None:
    u.stack[-3:] = [(u.stack[-3], u.stack[-2], u.stack[-1])]


@_opcode(pickle.POP)
def _(u: Unpickler) -> None:
    if u.stack:
        u.stack.pop()
    else:
        u.pop_mark()


@_opcode(pickle.POP_MARK)
def _(u: Unpickler) -> None:
    u.pop_mark()


@_opcode(pickle.DUP)
def _(u: Unpickler) -> None:
    u.stack.append(u.stack[-1])


@_opcode(pickle.BINPUT)
def _(u: Unpickler) -> None:
    u.memo[u.take(1)[0]] = u.stack[-1]


@_opcode(pickle.LONG_BINPUT)
def _(u: Unpickler) -> None:
    u.memo[u.number("<I", 4)] = u.stack[-1]


@_opcode(pickle.MEMOIZE)
def _(u: Unpickler) -> None:
    u.memo[len(u.memo)] = u.stack[-1]


@_opcode(pickle.BINGET)
def _(u: Unpickler) -> None:
    u.stack.append(u.memo[u.take(1)[0]])


@_opcode(pickle.LONG_BINGET)
def _(u: Unpickler) -> None:
    u.stack.append(u.memo[u.number("<I", 4)])


def _constant(code: bytes, value: Any) -> None:
    _opcode(code)(lambda u: u.stack.append(value))


_constant(pickle.NONE, None)
_constant(pickle.NEWTRUE, True)
_constant(pickle.NEWFALSE, False)
_constant(pickle.EMPTY_TUPLE, ())


def _fresh(code: bytes, cls: type) -> None:
    _opcode(code)(lambda u: u.stack.append(cls()))


_fresh(pickle.EMPTY_LIST, list)
_fresh(pickle.EMPTY_DICT, dict)
_fresh(pickle.EMPTY_SET, set)


def _plain(code: bytes, form: str, n: int) -> None:
    _opcode(code)(lambda u: u.stack.append(struct.unpack(form, u.take(n))[0]))


_plain(pickle.BININT, "<i", 4)
_plain(pickle.BININT1, "<B", 1)
_plain(pickle.BININT2, "<H", 2)
_plain(pickle.BINFLOAT, ">d", 8)


def _sized(code: bytes, form: str, n: int, make: Callable[[Unpickler, bytes], Any]) -> None:
    _opcode(code)(lambda u: u.stack.append(make(u, u.take(u.number(form, n)))))


def _python2_string(u: Unpickler, data: bytes) -> Any:
    return data if u.encoding == "bytes" else data.decode(u.encoding)


_LENGTHS = (("<B", 1), ("<I", 4), ("<Q", 8))
_UNICODE = (pickle.SHORT_BINUNICODE, pickle.BINUNICODE, pickle.BINUNICODE8)
_BYTES = (pickle.SHORT_BINBYTES, pickle.BINBYTES, pickle.BINBYTES8)
for _unicode, _bytes, (_form, _n) in zip(_UNICODE, _BYTES, _LENGTHS, strict=True):
    _sized(_unicode, _form, _n, lambda u, data: data.decode("utf-8", "surrogatepass"))
    _sized(_bytes, _form, _n, lambda u, data: data)
_sized(pickle.BYTEARRAY8, "<Q", 8, lambda u, data: bytearray(data))
for _code, _form, _n in ((pickle.LONG1, "<B", 1), (pickle.LONG4, "<I", 4)):
    _sized(_code, _form, _n, lambda u, data: int.from_bytes(data, "little", signed=True))
for _code, _form, _n in ((pickle.SHORT_BINSTRING, "<B", 1), (pickle.BINSTRING, "<I", 4)):
    _sized(_code, _form, _n, _python2_string)


# -- looking without building ---------------------------------------------------------------------------------------


class _Unmade:
    """What a name, a call or a storage in a pickle would have been."""

    __slots__ = ()


class Skimmer(Unpickler):
    """Runs a pickle without making or calling anything: collects its full names and its persistent ids."""

    def __init__(self, file: Any, encoding: str = "utf-8") -> None:
        super().__init__(file, encoding=encoding)
        self.names: dict[str, None] = {}
        self.ids: list[tuple[Any, ...]] = []

    def find(self, module: str, name: str) -> Any:
        """A storage type as such, since the ids need it; else only the name is remembered."""
        full = f"{module}.{name}"
        self.names[full] = None
        return allowlist.builtin().get(full) if name.endswith("Storage") else _Unmade()

    def call(self, function: Any, args: Any) -> Any:
        """Nothing is called."""
        return _Unmade()

    def new(self, cls: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Nothing is made."""
        return _Unmade()

    def build(self, instance: Any, state: Any) -> None:
        """Nothing is built."""

    def persistent(self, pid: Any) -> Any:
        """The id is remembered; what a "module" id carries passes through."""
        if type(pid) is tuple:
            self.ids.append(pid)
        return _Unmade()

    def as_list(self, x: Any) -> list[Any]:
        """``x``, or something to throw items into."""
        return x if type(x) is list else []

    def as_dict(self, x: Any) -> dict[Any, Any]:
        """``x``, or something to throw items into."""
        return x if type(x) is dict else {}
