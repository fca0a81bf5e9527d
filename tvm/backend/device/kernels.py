"""Lowered device functions to the text of one file."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tvm.backend.c_family.code import Code
from tvm.error import CheckError, message
from tvm.ir.expr import GlobalVar, PrimExpr
from tvm.ir.function import CallingConv
from tvm.ir.module import IRModule
from tvm.ir.type import PointerType, PrimType
from tvm.support.dtype import DataType
from tvm.support.kernel_info import KernelInfo
from tvm.support.recursion import nested_programs
from tvm.target import Target
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.functor import statements

from .stmt import DeviceStmtEmitter
from .text import FunctionText, SourceFile


@dataclass(frozen=True)
class Signature:
    """A function of the file."""

    name: str
    func: PrimFunc
    kernel: bool  # launched by the host, as opposed to called by kernels

    @property
    def result(self) -> DataType:
        """The type of what it returns; void for kernels."""
        kind = self.func.ret_type
        return kind.dtype if isinstance(kind, PrimType) and not self.kernel else DataType("void")

    @property
    def extents(self) -> dict[str, PrimExpr]:
        """The launch extents by thread tag."""
        return {
            node.node.thread_tag: node.value
            for node in statements(self.func.body, s.AttrStmt) if node.attr_key == "thread_extent"
            and isinstance(node.node, e.IterVar)
        }

    @property
    def threads(self) -> tuple[int, int, int] | None:
        """Threads of a block along x, y and z; None where that is known only at launch."""
        sizes = [self.extents.get(f"threadIdx.{axis}") for axis in "xyz"]
        known = [1 if size is None else getattr(size, "value", None) for size in sizes]
        return None if None in known else (int(known[0]), int(known[1]), int(known[2]))  # type: ignore[arg-type]


class DeviceEmitter(DeviceStmtEmitter):
    """The text of one function; a language adds its words."""

    def __init__(
        self, out: FunctionText, signature: Signature, functions: dict[str, Signature],
        target: Target,
    ) -> None:  # fmt: skip
        super().__init__(out, signature.name)
        self.signature = signature
        self.functions = functions
        self.target = target

    def emit_function(self) -> None:
        """Write the function into the file."""
        func = self.signature.func
        head = self.head()
        self.begin()
        self.emit(func.body)
        body = "\n".join([f"{head} {{", *self.out.lines, "}", ""])
        self.out.file.functions.append(body)

    def head(self) -> str:
        """The function's first line without the bracket; parameters get their names."""
        raise NotImplementedError

    def begin(self) -> None:
        """What stands before the body."""

    def name_param(self, param: e.Var) -> str:
        """A parameter's name."""
        name = self.out.fresh(param.name)
        self.values[param] = Code(name)
        if param.dtype.is_handle:
            self.pointees[param] = self.pointee(param)
        return name

    def pointee(self, var: e.Var) -> str:
        """The type that a pointer points to."""
        kind = var.type_annotation
        if isinstance(kind, PointerType) and isinstance(kind.element_type, PrimType):
            dtype = kind.element_type.dtype
            if not (dtype.is_void or dtype.is_handle):
                return self.memory_type(dtype.element_of())
        return "void"

    def written(self) -> Collection[e.Var]:
        """The parameters whose memory the function may change; all that point to some."""
        return [param for param in self.signature.func.params if param.dtype.is_handle]

    # --- what languages say in words of their own ---

    def barrier(self, scope: str) -> str:
        """Wait for the threads that share a scope's memory."""
        raise NotImplementedError

    def shift(self, dtype: DataType, a: str, sign: str, b: str) -> str:
        """Bits moved left or right."""
        return self.fit(dtype, Code(f"({a} {sign} {b})")) if sign == "<<" else f"({a} {sign} {b})"

    def popcount(self, dtype: DataType, text: str) -> str:
        """How many bits are set."""
        raise NotImplementedError

    def leading_zeros(self, dtype: DataType, text: str) -> str:
        """How many bits are zero before the first that is set."""
        raise NotImplementedError

    def same_bits(self, value: PrimExpr, target: DataType) -> str:
        """The bits of a value as another type of the same size."""
        raise NotImplementedError

    def atomic_add(self, pointer: PrimExpr, value: PrimExpr) -> str:
        """Add to memory, seen by all threads; what was there before."""
        raise NotImplementedError

    def access_pointer(self, dtype: DataType, data: PrimExpr, offset: PrimExpr) -> str:
        """A pointer to an element."""
        assert isinstance(data, e.Var), "buffers lie behind variables"
        base: str = self.known(data)
        start, kind = self.lane_of(offset, None), self.memory_type(dtype)
        if self.pointees.get(data) != kind:
            base = f"({self.pointer_in(data, kind)}){base}"
        return f"({base} + {start})"

    def pointer_in(self, data: e.Var, kind: str) -> str:
        """The type of a pointer into the memory behind a variable."""
        return f"{kind}*"

    def dot_of_bytes(self, a: PrimExpr, b: PrimExpr, start: PrimExpr | None) -> str:
        """Four products of bytes and their sum."""
        terms = [
            f"(({self.type_of(DataType('int32'))}){self.lane_of(a, n)} * "
            f"{self.convert(b.dtype.element_of(), DataType('int32'), self.lane_of(b, n))})"
            for n in range(4)
        ]
        head = [self.lane_of(start, None)] if start is not None else []
        return f"({' + '.join([*head, *terms])})"

    # --- calls ---

    def leave(self, value: PrimExpr | None) -> str:
        """Return from the function."""
        if value is None or self.signature.kernel:
            return self.jump("return")
        return self.jump(f"return {self.lane_of(value, None)}")

    def call_function(self, name: str, op: e.Call) -> str:
        found = self.functions.get(name)
        if found is None:
            self.refuse(f"call of {name}", "no such function for this target",
                        ", ".join(sorted(self.functions)))  # fmt: skip
        return f"{found.name}({', '.join(self.value(arg) for arg in op.args)})"

    def call_named(self, name: str, op: e.Call, args: Sequence[PrimExpr]) -> str:
        """A call of a function that is known by its name only."""
        known = self.functions.get(name)
        given = ", ".join(self.value(arg) for arg in args)
        return f"{known.name if known else name}({given})"


class DeviceText(NamedTuple):
    """A file of kernels, and how each is launched."""

    text: str
    kernels: dict[str, KernelInfo]


def emit_kernels(
    mod: IRModule, target: Target, language: type[DeviceEmitter], file: SourceFile
) -> dict[str, KernelInfo]:
    """Write all functions of a module into a file; what is known of the kernels."""
    with nested_programs():
        functions = {var.name_hint: signature_of(var, func) for var, func in device_functions(mod)}
        for one in functions.values():
            file.names.reserve(one.name)
        by_symbol = {one.name: one for one in functions.values()}
        # functions that kernels call stand before them
        infos = {}
        for one in sorted(functions.values(), key=lambda f: f.kernel):
            known = {**by_symbol, **functions}
            emitter = language(FunctionText(file), one, known, target)
            emitter.emit_function()
            if one.kernel:
                infos[one.name] = launch_info(one, emitter.written())
    return infos


def device_functions(mod: IRModule) -> list[tuple[GlobalVar, PrimFunc]]:
    """The functions of a lowered module, or a CheckError."""
    found = []
    for var, func in mod.functions_items():
        if not isinstance(func, PrimFunc) or func.buffer_map:
            kind = "parameters that are still buffers" if isinstance(func, PrimFunc) else (
                type(func).__name__)  # fmt: skip
            raise CheckError(
                message(
                    f"device code for {var.name_hint}",
                    found=kind,
                    legal="lowered PrimFuncs; tvm.compile lowers and builds in one step",
                )
            )
        found.append((var, func))
    return found


def signature_of(var: GlobalVar, func: PrimFunc) -> Signature:
    """How a function is called."""
    convention = func.attrs.get("calling_conv")
    launched = (
        convention is not None and int(str(convention)) == CallingConv.DEVICE_KERNEL_LAUNCH
    )
    symbol = func.attrs.get("global_symbol")
    return Signature(str(symbol) if symbol is not None else var.name_hint, func, launched)


def launch_info(one: Signature, changed: Collection[e.Var]) -> KernelInfo:
    """What the host has to know to launch a kernel that changes the memory of some parameters."""
    tags: Any = one.func.attrs.get("tir.kernel_launch_params") or ()
    kinds = tuple("handle" if p.dtype.is_handle else str(p.dtype) for p in one.func.params)
    written = tuple(i for i, param in enumerate(one.func.params) if param in changed)
    return KernelInfo(kinds, tuple(str(tag) for tag in tags), written)
