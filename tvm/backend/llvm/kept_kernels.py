"""Kernels kept in the cache: of a changed program the changed ones alone are lowered and written.

    def conv(...): <loops>           def conv(...): 0       # attribute "llvm.kept": its code
    def dense(...): <loops>    ->    def dense(...): ...    # attribute "llvm.keep": its name there

A kernel is a function that only others of the module call, and that calls none. Its code follows
from the function, its name, and the setting; all of it makes the name of the entry. The rest of the
module is lowered with the parameters that it has.
"""

from __future__ import annotations

from typing import Final

from tvm.error import TVMError
from tvm.ir.exact import exact_digest
from tvm.ir.expr import GlobalVar
from tvm.ir.function import BaseFunc
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.ir.type import PrimType
from tvm.target.target import Target
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.functor import walk
from tvm.tir.op import arith as ops

from . import cache
from .fragment import Fragment
from .setting import setting

KEPT: Final = "llvm.kept"
KEEP: Final = "llvm.keep"
_FORMAT: Final = "kernel 1"


class OtherParameters(Exception):
    """A kernel was kept with other parameters than the module calls it with."""


def with_kept_kernels(mod: IRModule, target: Target) -> IRModule:
    """The module where the kernels that are in the cache have their code as an attribute.

    Those that are not there are marked, so that they will be. All functions have their target.
    """
    if len(mod.functions) < 2 or PassContext.current().option("tir.enable_debug", False):
        return mod
    given = setting(target) if all(map(_is_for_llvm, mod.functions.values())) else None
    if given is None:
        return mod
    functions: dict[GlobalVar, BaseFunc] = {}
    for var, func in mod.functions.items():
        functions[var] = func
        if not isinstance(func, PrimFunc) or not _is_kernel(func):
            continue
        try:
            key = cache.key_of([_FORMAT, *given, var.name_hint, exact_digest(func)])
        except TVMError:  # constants, or objects of users
            continue
        content = cache.load(key)
        if content is None:
            functions[var] = func.with_attr(KEEP, key)
        else:
            functions[var] = with_code(func, content.decode())
    return mod.with_functions(functions)


def store_kernel(key: str, text: str) -> None:
    """Keep the code of a function that is marked with this name, as a fragment's text."""
    cache.store(key, text.encode())


def with_code(func: PrimFunc, text: str) -> PrimFunc:
    """The function with its code, a fragment's text, in place of its body."""
    empty = func.with_body(s.Evaluate(ops.const(0, "int32")))
    return empty.without_attr(KEEP).with_attr(KEPT, text)


def kept_code(func: PrimFunc, params: tuple[str, ...]) -> Fragment | None:
    """The code that a function has as its attribute; it has to take parameters of these types."""
    text = func.attrs.get(KEPT)
    if text is None:
        return None
    found = Fragment.from_text(str(text))
    if found.params != params:
        raise OtherParameters
    return found


def _is_for_llvm(func: BaseFunc) -> bool:
    target = func.attrs.get("target")
    return isinstance(target, Target) and target.kind.name == "llvm"


def _is_kernel(func: PrimFunc) -> bool:
    """Whether the function is one of the module alone, by itself."""
    returned = isinstance(func.ret_type, PrimType) and not func.ret_type.dtype.is_void
    if returned or func.attrs.get("global_symbol") is not None:
        return False
    calls = (n for n in walk(func.body) if isinstance(n, e.Call))
    return not any(isinstance(call.op, GlobalVar) for call in calls)
