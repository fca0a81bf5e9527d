"""Device code becomes functions of its own, which the host code calls.

    def main(...):                                  def main(...):
        with T.attr(cuda, "target", 0):                 main_kernel(A, n)
            body over A and n              ->       def main_kernel(A: pointer, n: int32):
                                                        body over A and n

The parameters are what the code uses from around it: addresses first, each kind by name. Buffers
over these are declared. No variable is shared between the two functions.
"""

from __future__ import annotations

from typing import Final

from tvm.error import CheckError, message
from tvm.ir.expr import GlobalVar, PrimExpr
from tvm.ir.function import BaseFunc
from tvm.ir.module import IRModule
from tvm.ir.supply import GlobalVarSupply
from tvm.ir.transform import PassContext, declare_module_pass
from tvm.ir.type import PointerType, PrimType
from tvm.support.dtype import DataType
from tvm.target.target import Target
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.analysis.undefined_vars import free_variables
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, walk
from tvm.tir.op import builtin
from tvm.tir.renew_defs import renew_defs


@declare_module_pass("tir.SplitHostDevice")
def SplitHostDevice(mod: IRModule, ctx: PassContext) -> IRModule:
    """No function contains code for another target than its own."""
    names = GlobalVarSupply(mod)
    functions: dict[GlobalVar, BaseFunc] = {}
    kernels: dict[GlobalVar, BaseFunc] = {}
    for var, func in mod.functions.items():
        if not isinstance(func, PrimFunc):
            functions[var] = func
            continue
        symbol = func.attrs.get("global_symbol")
        prefix = str(symbol) if symbol is not None else var.name_hint
        splitter = _Splitter(names, prefix, kernels)
        functions[var] = func.with_body(splitter.visit_stmt(func.body))
    return mod.with_functions({**functions, **kernels})


class _Splitter(StmtExprMutator):
    def __init__(
        self, names: GlobalVarSupply, prefix: str, kernels: dict[GlobalVar, BaseFunc]
    ) -> None:
        super().__init__()
        self._names = names
        self._prefix = prefix
        self._kernels = kernels
        self._planned: set[e.Var] = set()  # memory of blocks, whose allocation has no place yet

    def visit_block_(self, op: s.Block) -> s.Stmt:
        self._planned.update([buffer.data for buffer in op.alloc_buffers])
        return super().visit_block_(op)

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_attr_stmt_(self, op: s.AttrStmt) -> s.Stmt:
        if op.attr_key != "target" or not isinstance(op.node, Target):
            return super().visit_attr_stmt_(op)
        params = sorted(free_variables(op.body, []), key=_addresses_first)
        if not _tells_errors(op.node):
            _check_scopes([var for var in params if var not in self._planned], op)
        var = self._names.fresh_global(f"{self._prefix}_kernel", add_prefix=False)
        attrs = {"target": op.node, "tir.noalias": True, "tir.is_global_func": True}
        if not _tells_errors(op.node):
            kernel = PrimFunc(params, _declared(op.body, params), attrs=attrs, span=op.span)
            self._kernels[var] = renew_defs(kernel)
            return s.Evaluate(e.Call(DataType("void"), var, params, op.span), op.span)
        body = _declared(s.SeqStmt.flatten(op.body, s.Evaluate(builtin.ret(0))), params)
        kernel = PrimFunc(params, body, PrimType("int32"), attrs=attrs, span=op.span)
        self._kernels[var] = renew_defs(kernel)
        error = e.Var("err", "int32")
        fine = s.AssertStmt(
            error.equal(0), e.StringImm("Error executing compute kernel"), s.Evaluate(0)
        )
        return s.LetStmt(error, e.Call(DataType("int32"), var, params, op.span), fine, op.span)


def _declared(body: s.Stmt, params: list[e.Var]) -> s.Stmt:
    """The body below declarations of the buffers that it knows from around it."""
    found: dict[Buffer, None] = {}
    own: set[Buffer] = set()
    passed = set(params)
    for node in walk(body):
        if isinstance(node, s.DeclBuffer):
            own.add(node.buffer)
        elif isinstance(node, (s.BufferStore, e.BufferLoad)) and node.buffer.data in passed:
            found.setdefault(node.buffer)
    for buffer in found:
        if buffer not in own:
            body = s.DeclBuffer(buffer, body, body.span)
    return body


def _check_scopes(params: list[e.Var], op: s.AttrStmt) -> None:
    """Memory of a group of threads, or of one, is none that a host can pass to all of them."""
    for var in params:
        kind = var.type_annotation
        scope = kind.storage_scope if isinstance(kind, PointerType) else ""
        if scope.split(".")[0] in _OF_THREADS:
            raise CheckError(
                message(
                    f"SplitHostDevice: memory {var.name} of scope {scope}",
                    found="a kernel uses it, and it is allocated around the kernel",
                    where=None if op.span is None else str(op.span),
                    legal="an allocation within the thread loops, or memory of scope global",
                )
            )


def _tells_errors(target: Target) -> bool:
    """Code that runs like a function of the host says by its result whether it failed."""
    return target.get_target_device_type() in _LIKE_THE_HOST


_OF_THREADS: Final = ("shared", "local", "warp", "wmma", "m16n8k8")

# DLPack's numbers for CPUs, extension devices, and Hexagon.
_LIKE_THE_HOST: Final = (1, 12, 16)


def _addresses_first(var: e.Var) -> tuple[bool, str]:
    return (not var.dtype.is_handle, var.name)
