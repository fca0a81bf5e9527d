"""What is noted of functions that are compiled ahead of time: memory, inputs, outputs, devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from tvm.error import TVMError, message
from tvm.ffi.object import Object
from tvm.ir.module import IRModule
from tvm.relay.ty import TensorType
from tvm.support.dtype import DataType
from tvm.support.lazy import lazy_names
from tvm.target import Target
from tvm.tir import stmt as s
from tvm.tir.children import inner_statements
from tvm.tir.expr import IntImm, Var
from tvm.tir.function import PrimFunc
from tvm.tir.functor import statements

from .executor import Executor

MAIN = "__tvm_main__"


class FunctionInfo(Object):
    """One function: bytes by target, and the function itself in both forms."""

    def __init__(
        self,
        workspace_sizes: Mapping[Target, int],
        io_sizes: Mapping[Target, int],
        constant_sizes: Mapping[Target, int],
        tir_primfuncs: Mapping[Target, PrimFunc],
        relay_primfuncs: Mapping[Target, Any],
    ) -> None:
        self.workspace_sizes = dict(workspace_sizes)
        self.io_sizes = dict(io_sizes)
        self.constant_sizes = dict(constant_sizes)
        self.tir_primfuncs = dict(tir_primfuncs)
        self.relay_primfuncs = dict(relay_primfuncs)

    def __repr__(self) -> str:
        sizes = ("workspace_sizes", "io_sizes", "constant_sizes")
        told = [f"{name}={[*getattr(self, name).values()]}" for name in sizes]
        return f"FunctionInfo({', '.join(told)})"


class ExecutorCodegenMetadata(Object):
    """What a program that calls a module compiled ahead must know of it."""

    def __init__(
        self,
        inputs: Sequence[Var],
        input_tensor_types: Sequence[TensorType],
        outputs: Sequence[str],
        output_tensor_types: Sequence[TensorType],
        pools: Sequence[Var],
        devices: Sequence[str],
        executor: str,
        mod_name: str,
        interface_api: str,
        unpacked_api: bool,
        workspace_alignment: int,
        constant_alignment: int,
        pool_inputs: Mapping[Var, Any],
        io_pool_allocations: Mapping[str, Any],
    ) -> None:
        self.inputs = list(inputs)
        self.input_tensor_types = list(input_tensor_types)
        self.outputs = list(outputs)
        self.output_tensor_types = list(output_tensor_types)
        self.pools = list(pools)
        self.devices = list(devices)
        self.executor = executor
        self.mod_name = mod_name
        self.interface_api = interface_api
        self.unpacked_api = unpacked_api
        self.workspace_alignment = workspace_alignment
        self.constant_alignment = constant_alignment
        self.pool_inputs = dict(pool_inputs)
        self.io_pool_allocations = dict(io_pool_allocations)


def CreateFunctionMetadata(
    mod: IRModule, workspace_byte_alignment: int, constant_byte_alignment: int
) -> dict[str, FunctionInfo]:
    """What the PrimFuncs of a module need, by their names; each says its target.

    Workspace is what is allocated at once at most, each allocation rounded up to the alignment.
    """
    return {
        var.name_hint: _info(var.name_hint, func, workspace_byte_alignment, constant_byte_alignment)
        for var, func in mod.functions.items()
        if isinstance(func, PrimFunc)
    }


def _info(name: str, func: PrimFunc, workspace: int, constants: int) -> FunctionInfo:
    target = func.attrs.get("target")
    if not isinstance(target, Target):
        raise TVMError(
            message(
                "Target must be defined for all primfuncs.", found=f"{name} without one",
                legal='the attribute "target"',
            )
        )
    buffers = [func.buffer_map[p] for p in func.params if p in func.buffer_map]
    io = sum(tensor_bytes(buffer.shape, buffer.dtype) for buffer in buffers)
    return FunctionInfo(
        {target: _at_once(func.body, workspace)}, {target: io},
        {target: _of_constants(func.body, constants)}, {target: func}, {},
    )  # fmt: skip


def tensor_bytes(shape: Sequence[Any], dtype: Any) -> int:
    """The bytes of a tensor; 0 where an extent is not known."""
    extents = [int(e.value) if isinstance(e, IntImm) else e for e in shape]
    if not all(isinstance(extent, int) for extent in extents):
        return 0
    kind = DataType(str(dtype))
    return prod(extents) * ((kind.bits * kind.lanes + 7) // 8)


def aligned(size: int, alignment: int) -> int:
    """The bytes that a size takes where each begins at a multiple of the alignment."""
    return -(-size // alignment) * alignment


def _at_once(body: s.Stmt, alignment: int) -> int:
    """The most bytes of global memory that are allocated at one time."""
    most = 0
    stack: list[tuple[s.Stmt, int]] = [(body, 0)]
    while stack:
        stmt, held = stack.pop()
        if isinstance(stmt, s.Allocate) and _is_global(stmt.buffer_var):
            held += aligned(tensor_bytes(stmt.extents, stmt.dtype), alignment)
        most = max(most, held)
        stack.extend((part, held) for part in inner_statements(stmt))
    return most


def _is_global(var: Var) -> bool:
    scope = getattr(var.type_annotation, "storage_scope", "")
    return scope in ("", "global") or str(scope).startswith("global.")


def _of_constants(body: s.Stmt, alignment: int) -> int:
    """The bytes of all constants."""
    constants = list(statements(body, s.AllocateConst))
    return sum(aligned(tensor_bytes(node.extents, node.dtype), alignment) for node in constants)


def CreateExecutorMetadata(
    mod: IRModule, mod_name: str, executor: Executor, workspace_byte_alignment: int,
    constant_byte_alignment: int,
) -> ExecutorCodegenMetadata:  # fmt: skip
    """What `__tvm_main__` of a module says of its inputs, outputs, pools and devices.

    It has the attributes `input_vars` and `output_vars`, and may have `output_tensor_names`,
    `devices`, `pool_args` and `io_tensor_pool_allocations`.
    """
    if MAIN not in mod:
        raise TVMError(message("CreateExecutorMetadata", found="no function", legal=MAIN))
    main = mod[MAIN]
    assert isinstance(main, PrimFunc), "the main function is in loops"
    inputs, outputs = _listed(main, "input_vars"), _listed(main, "output_vars")
    said: dict[str, Any] = dict(main.attrs.items())
    names = [str(name) for name in said.get("output_tensor_names") or ()]
    if not names:
        many = len(outputs) > 1
        names = [f"output{at}" if many else "output" for at in range(len(outputs))]
    pools = list(said.get("pool_args") or ())
    pool_vars = [p for p in main.params if p not in main.buffer_map][: len(pools)]
    return ExecutorCodegenMetadata(
        inputs, [_type(main, v) for v in inputs], names, [_type(main, v) for v in outputs],
        pool_vars, [str(d) for d in said.get("devices") or ()], "aot", mod_name,
        str(executor.options.get("interface-api", "packed")),
        bool(executor.options.get("unpacked-api", False)),
        workspace_byte_alignment, constant_byte_alignment, dict(zip(pool_vars, pools)),
        said.get("io_tensor_pool_allocations") or {},
    )  # fmt: skip


def _listed(main: PrimFunc, name: str) -> list[Var]:
    found: Any = main.attrs.get(name)
    if found is None:
        raise TVMError(
            message(
                "CreateExecutorMetadata", found=f"{MAIN} without the attribute {name!r}",
                legal="input_vars and output_vars, lists of its parameters",
            )
        )
    return list(found)


def _type(main: PrimFunc, var: Var) -> TensorType:
    buffer = main.buffer_map[var]
    return TensorType(buffer.shape, str(buffer.dtype))


__getattr__ = lazy_names(
    __name__, {"AOTLowerMain": "tvm.relay.backend.aot_lower_main:AOTLowerMain"}
)
