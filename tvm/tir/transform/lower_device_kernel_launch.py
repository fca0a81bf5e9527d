"""Calls of functions for another device become launches, by name and with their extents.

    def main(A):                                     def main(A):
        kernel(A.data, n)                                call_packed("kernel", A.data, n, n, 32)
    def kernel(A, n):  # target cuda           ->    def kernel(A, n):
        launch blockIdx.x = n                            # kernel_launch_params:
        launch threadIdx.x = 32                          #     ["blockIdx.x", "threadIdx.x"]

Functions for the same target are called as before; those for another target of the same device,
by their C symbol.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tvm.error import CheckError, message
from tvm.ir.expr import GlobalVar, PrimExpr
from tvm.ir.function import CallingConv
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext, declare_module_pass
from tvm.ir.type import PrimType
from tvm.support.dtype import DataType
from tvm.target.target import Target
from tvm.tir import expr as e
from tvm.tir import op as ops
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, substitute, vars_in, walk

DYNAMIC_SHARED = "tir.use_dyn_shared_memory"


@declare_module_pass("tir.LowerDeviceKernelLaunch")
def LowerDeviceKernelLaunch(mod: IRModule, ctx: PassContext) -> IRModule:
    """No function calls one for another target by its GlobalVar."""
    kernels = {
        var: _Kernel(var, func)
        for var, func in mod.functions.items()
        if isinstance(func, PrimFunc)
    }
    functions = dict(mod.functions.items())
    launched: set[GlobalVar] = set()
    called: set[GlobalVar] = set()
    for var, func in mod.functions.items():
        target = func.attrs.get("target")
        if isinstance(func, PrimFunc) and isinstance(target, Target):
            caller = _Caller(kernels, target, launched, called)
            functions[var] = func.with_body(caller.visit_stmt(func.body))
    for var in launched | called:
        func = functions[var]
        assert isinstance(func, PrimFunc), "only these are launched"
        functions[var] = _visible(func, kernels[var], var in launched)
    return mod.with_functions(functions)


@dataclass
class _Kernel:
    """What a launch has to know of a function."""

    var: GlobalVar
    func: PrimFunc
    tags: list[str] = field(default_factory=list)
    extents: list[PrimExpr] = field(default_factory=list)

    def __post_init__(self) -> None:
        shared: PrimExpr | None = None
        for node in walk(self.func.body):
            if isinstance(node, s.AttrStmt) and node.attr_key == "thread_extent":
                tag = getattr(node.node, "thread_tag", "")
                if tag and tag not in self.tags:
                    self.tags.append(tag)
                    self.extents.append(node.value)
            elif isinstance(node, s.Allocate) and _scope(node) == "shared.dyn":
                if shared is not None:
                    raise CheckError(
                        message(
                            f"LowerDeviceKernelLaunch: kernel {self.var.name_hint}",
                            found="two allocations of dynamic shared memory",
                            where=str(node.buffer_var.name),
                            legal="one; MergeSharedMemoryAllocations makes it so",
                        )
                    )
                shared = ops.const(node.dtype.itemsize, "int32")
                for extent in node.extents:
                    shared = shared * extent
        if shared is not None:
            self.tags.append(DYNAMIC_SHARED)
            self.extents.append(shared)

    @property
    def symbol(self) -> str:
        """The name by which it is launched."""
        return str(self.func.attrs.get("global_symbol") or self.var.name_hint)


def _scope(node: s.Allocate) -> str:
    return str(getattr(node.buffer_var.type_annotation, "storage_scope", ""))


class _Caller(StmtExprMutator):
    def __init__(
        self, kernels: dict[GlobalVar, _Kernel], target: Target, launched: set[GlobalVar],
        called: set[GlobalVar],
    ) -> None:  # fmt: skip
        super().__init__()
        self._kernels, self._target = kernels, target
        self._launched, self._called = launched, called

    def visit_call_(self, op: e.Call) -> PrimExpr:
        new = super().visit_call_(op)
        kernel = self._kernels.get(op.op) if isinstance(op.op, GlobalVar) else None
        if kernel is None or not isinstance(new, e.Call):
            return new
        target = kernel.func.attrs.get("target")
        if not isinstance(target, Target):
            raise CheckError(
                message(
                    f"LowerDeviceKernelLaunch: a call of {kernel.var.name_hint}",
                    found="a function without a target",
                    where=str(op),
                    legal="functions with the attribute target; BindTarget sets it",
                )
            )
        if str(target) == str(self._target):
            return new
        kind = DataType("int32") if op.dtype.is_void else op.dtype
        if target.get_target_device_type() == self._target.get_target_device_type():
            self._called.add(kernel.var)
            name = e.StringImm(kernel.symbol)
            given_back = kernel.func.ret_type
            dtype = given_back.dtype if isinstance(given_back, PrimType) else DataType("void")
            return e.Call(dtype, "tir.call_extern", [name, *new.args], op.span)
        self._launched.add(kernel.var)
        given = dict(zip(kernel.func.params, new.args))
        extents = [substitute(extent, given) for extent in kernel.extents]
        unknown = [
            v.name
            for extent in kernel.extents
            for v in vars_in(extent)
            if v not in given
        ]
        if unknown:
            raise CheckError(
                message(
                    f"LowerDeviceKernelLaunch: the extents of kernel {kernel.var.name_hint}",
                    found=f"{', '.join(unknown)}, known inside of the kernel only",
                    legal="extents in terms of the kernel's parameters",
                )
            )
        args = [e.StringImm(kernel.symbol), *new.args, *extents]
        return e.Call(kind, "tir.tvm_call_packed", args, op.span)


def _visible(func: PrimFunc, kernel: _Kernel, launched: bool) -> PrimFunc:
    """The function under its own name; a kernel with what a launch has to bring."""
    func = func.with_attr("global_symbol", kernel.symbol).with_attr("tir.is_global_func", True)
    if not launched:
        return func
    func = func.with_attr("calling_conv", int(CallingConv.DEVICE_KERNEL_LAUNCH))
    func = func.with_attr("tir.kernel_launch_params", kernel.tags)
    body = _WithoutReturn().visit_stmt(func.body)
    void = PrimFunc(func.params, body, None, func.buffer_map, func.attrs, func.span)
    return func if body is func.body else void


class _WithoutReturn(StmtExprMutator):
    """A kernel gives nothing back; that it succeeded is not said by it."""

    def visit_evaluate_(self, op: s.Evaluate) -> s.Stmt:
        call = op.value
        if e.is_call_of(call, "tir.ret"):
            value = call.args[0] if call.args else None
            if value is not None and not (isinstance(value, e.IntImm) and value.value == 0):
                raise CheckError(
                    message(
                        "LowerDeviceKernelLaunch: a kernel",
                        found=f"it returns {value}",
                        legal="kernels that return nothing, or 0 for success",
                    )
                )
            return s.Evaluate(e.IntImm("int32", 0), op.span)
        return super().visit_evaluate_(op)
