"""Python values as bytes for another process of ours, lambdas and local functions included.

Functions that can be imported go by name, others by their code with what they refer to. Nodes of
the IR go as JSON, tensors as arrays. Reading the bytes may run code: they are for a pipe between
this process and its child, never for files or the network.
"""

from __future__ import annotations

import builtins
import importlib
import io
import marshal
import pickle
import sys
import types
from typing import Any

from tvm.ir.json import load_json, save_json
from tvm.ir.node import Node
from tvm.runtime import Tensor, tensor


def to_bytes(value: object) -> bytes:
    """A value as bytes that `from_bytes` reads."""
    out = io.BytesIO()
    _ByValue(out, pickle.HIGHEST_PROTOCOL).dump(value)
    return out.getvalue()


def from_bytes(data: bytes) -> Any:
    """The value of bytes that `to_bytes` made."""
    return pickle.loads(data)


class _ByValue(pickle.Pickler):
    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, types.FunctionType) and not _importable(obj):
            return _function_parts(obj)
        if isinstance(obj, types.ModuleType):
            return importlib.import_module, (obj.__name__,)
        if isinstance(obj, types.CellType):
            return _cell, (), obj.cell_contents, None, None, _fill_cell
        if isinstance(obj, Node):
            return load_json, (save_json(obj),)
        if isinstance(obj, Tensor):
            return tensor, (obj.numpy(),)
        return NotImplemented


def _importable(func: types.FunctionType) -> bool:
    """Whether another process finds the function under its name."""
    found: Any = sys.modules.get(func.__module__)
    # a module that was made and not imported is known to this process alone
    if getattr(found, "__spec__", None) is None or func.__module__ == "__main__":
        return False
    for name in func.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is func


def _function_parts(func: types.FunctionType) -> tuple[Any, ...]:
    """How to make the function again: its code first, as it may refer to itself."""
    known = {n: func.__globals__[n] for n in _names(func.__code__) if n in func.__globals__}
    code = marshal.dumps(func.__code__)
    state = (known, func.__defaults__, func.__kwdefaults__, func.__dict__)
    cells = func.__closure__ or ()
    return _function, (code, func.__name__, func.__module__, cells), state, None, None, _fill


def _names(code: types.CodeType) -> set[str]:
    """The names that code, and code inside of it, may look up."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _names(constant)
    return found


def _function(
    code: bytes, name: str, module: str, cells: tuple[types.CellType, ...]
) -> types.FunctionType:
    home = {"__builtins__": builtins, "__name__": module}
    return types.FunctionType(marshal.loads(code), home, name, None, cells)


def _fill(func: types.FunctionType, state: tuple[Any, ...]) -> None:
    known, func.__defaults__, func.__kwdefaults__, attributes = state
    func.__globals__.update(known)
    func.__dict__.update(attributes)


def _cell() -> types.CellType:
    return types.CellType()


def _fill_cell(cell: types.CellType, value: object) -> None:
    cell.cell_contents = value


