"""What writers of code for a host ask of the program, whatever language they write."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from tvm.error import CheckError, message
from tvm.ir.expr import GlobalVar, PrimExpr
from tvm.ir.function import CallingConv
from tvm.ir.host_tensor import HostTensor
from tvm.ir.module import IRModule
from tvm.ir.type import PrimType
from tvm.runtime.imports import FFI_PREFIX
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.transform.outline_parallel_loops import OUTLINED_FROM

Function = tuple[GlobalVar, PrimFunc]
_ERROR_KIND: Final = re.compile(r"([A-Z]\w*Error): ")
_LOOPS: Final = "serial, parallel, vectorized and unrolled loops"


@dataclass(frozen=True)
class Signature:
    """A function of the output: types of its result and parameters, in the language's words.

    `fallible` functions return a status (non-zero: an error is set) instead of a value; `private`
    ones are called from within only, and `outlined` ones were cut out of others.
    """

    name: str
    result: str
    params: tuple[str, ...]
    packed: bool = False
    fallible: bool = True
    private: bool = False
    outlined: bool = False


def host_functions(mod: IRModule, code: str) -> list[Function]:
    """The functions of a module, which have to be lowered; `code` is what is made of them."""
    found = []
    for var, func in mod.functions_items():
        if not isinstance(func, PrimFunc):
            raise CheckError(
                message(
                    f"{code} for {var.name_hint}",
                    found=type(func).__name__,
                    legal="PrimFunc; relax functions are compiled by tvm.compile or relax.build",
                )
            )
        if func.buffer_map:
            raise CheckError(
                message(
                    f"{code} for {var.name_hint}",
                    found="parameters that are still buffers",
                    legal="lowered functions; tvm.compile lowers and builds in one step",
                )
            )
        found.append((var, func))
    return found


def signature_of(
    var: GlobalVar,
    func: PrimFunc,
    *,
    param_type: Callable[[e.Var], str],
    value_type: Callable[[DataType], str],
    spelled: Callable[[str], str] = str,
) -> Signature:
    """The signature of a function; `spelled` makes a name of the language of any."""
    convention = func.attrs.get("calling_conv")
    packed = convention is not None and int(str(convention)) == CallingConv.C_PACKED_FUNC
    symbol = func.attrs.get("global_symbol")
    name = spelled(str(symbol) if symbol is not None else var.name_hint)
    if packed and not name.startswith(FFI_PREFIX):
        name = FFI_PREFIX + name
    returned = func.ret_type
    fallible = packed or not isinstance(returned, PrimType) or returned.dtype.is_void
    result = DataType("int32")  # a status
    if not fallible and isinstance(returned, PrimType):
        result = returned.dtype
    return Signature(
        name, value_type(result), tuple(param_type(p) for p in func.params), packed, fallible,
        private=not packed and symbol is None, outlined=OUTLINED_FROM in func.attrs,
    )  # fmt: skip


def own_memory_is_apart(func: PrimFunc) -> bool:
    """Buffers of a TIR function are different memory unless the function says otherwise."""
    asked = func.attrs.get("tir.noalias")
    return asked is None or bool(asked)


def callee_of(
    signatures: Mapping[str, Signature], name: str, args: tuple[PrimExpr, ...], caller: str
) -> Signature:
    """The signature of the function of the module that a call with these arguments means."""
    signature = signatures.get(name)
    if signature is None:
        raise CheckError(
            message(
                f"call of {name}",
                found="no such function in the module",
                where=f"function {caller}",
                legal=", ".join(sorted(signatures)) or "none",
            )
        )
    if len(args) != len(signature.params):
        raise CheckError(
            message(
                f"call of {name} with {len(args)} arguments",
                found=f"a function of {len(signature.params)}",
                where=f"function {caller}",
            )
        )
    return signature


class ErrorWords(NamedTuple):
    """The error of an assertion: its class, and words with values for each `{}`."""

    kind: str
    words: str
    values: tuple[PrimExpr, ...]


def error_words(text: PrimExpr) -> ErrorWords:
    """What an assertion says: `Kind: words`, alone or in a tuple with its values."""
    values: tuple[PrimExpr, ...] = ()
    if e.is_call_of(text, "tir.tvm_tuple"):
        values = text.args[1:]
        text = text.args[0]
    words = text.value if isinstance(text, e.StringImm) else "assertion failed"
    kind = _ERROR_KIND.match(words)
    if kind is None:
        return ErrorWords("TVMError", words, values)
    return ErrorWords(kind[1], words[kind.end() :], values)


def refuse_threads(op: s.AttrStmt | s.For, code: str, function: str) -> None:
    """A CheckError for a loop, or a scope, of GPU threads."""
    if isinstance(op, s.For):
        if op.kind is s.ForKind.THREAD_BINDING:
            asked = f"{code} for loop {op.loop_var.name}"
            raise CheckError(
                message(asked, found="it is bound to GPU threads", where=f"function {function}",
                        legal=_LOOPS)
            )  # fmt: skip
    elif op.attr_key in ("thread_extent", "virtual_thread"):
        name = op.node.var.name if isinstance(op.node, e.IterVar) else str(op.node)
        asked = f"{code} for a loop bound to {name}"
        raise CheckError(
            message(asked, found="CPUs have no such threads", where=f"function {function}",
                    legal=_LOOPS)
        )  # fmt: skip


def constant_data(op: s.AllocateConst) -> HostTensor:
    """The data of a constant, which has to hold it."""
    if op.data is None:
        raise CheckError(
            message(
                f"constant {op.buffer_var.name}",
                found="it names an entry of the module's constants",
                legal="constants that hold their data",
            )
        )
    return op.data
