"""Whether kernels stay within the limits of a GPU."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tvm.error import CheckError
from tvm.support.arguments import explained
from tvm.support.suggest import did_you_mean
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprVisitor

NO_LIMIT: Final = 1 << 62
_KEYS: Final = (
    "max_local_memory_per_block", "max_shared_memory_per_block", "max_threads_per_block",
    "max_thread_x", "max_thread_y", "max_thread_z", "max_vthread", "max_vector_bytes",
    "max_kernels",
)  # fmt: skip


@explained
def verify_gpu_code(func: PrimFunc, constraints: Mapping[str, int]) -> bool:
    """True when each kernel of the function keeps to the limits.

    Legal keys: max_local_memory_per_block, max_shared_memory_per_block (bytes),
    max_threads_per_block, max_thread_x, _y, _z, max_vthread, max_vector_bytes, max_kernels.
    """
    return not gpu_errors(func, constraints)


def gpu_errors(func: PrimFunc, constraints: Mapping[str, int]) -> list[str]:
    """A sentence for each limit that is broken."""
    for key in constraints:
        if key not in _KEYS:
            raise CheckError(
                f"verify_gpu_code: unknown limit {key!r}{did_you_mean(key, _KEYS)}; "
                f"legal: {', '.join(_KEYS)}"
            )
    verifier = _Verifier({key: int(value) for key, value in constraints.items()})
    verifier.visit_stmt(func.body)
    verifier.check_total()
    return verifier.errors


class _Verifier(StmtExprVisitor):
    """Counts what a kernel uses; a kernel is the outermost thread extent."""

    def __init__(self, limits: Mapping[str, int]) -> None:
        super().__init__()
        self.errors: list[str] = []
        self._limits = limits
        self._level = 0
        self._kernels = 0
        self._threads: dict[str, int] = {}
        self._vthreads = 1
        self._bytes: dict[str, int] = {}

    def _limit(self, key: str) -> int:
        return self._limits.get(key, NO_LIMIT)

    def _require(self, key: str, used: int) -> None:
        if used > self._limit(key):
            self.errors.append(f"{key}: {used} is used; legal: at most {self._limit(key)}")

    def visit_attr_stmt_(self, op: s.AttrStmt) -> None:
        if op.attr_key not in ("thread_extent", "virtual_thread"):
            self.visit_stmt_default_(op)
            return
        if self._level == 0:
            self._kernels += 1
            self._threads, self._vthreads, self._bytes = {}, 1, {}
        self._note_thread(op.node, op.value)
        self._level += 1
        self.visit_stmt_default_(op)
        self._level -= 1
        if self._level == 0:
            self._check_kernel()

    def visit_for_(self, op: s.For) -> None:
        if op.kind is not s.ForKind.THREAD_BINDING:
            self.visit_stmt_default_(op)
            return
        if self._level == 0:
            self._kernels += 1
            self._threads, self._vthreads, self._bytes = {}, 1, {}
        self._note_thread(op.thread_binding, op.extent)
        self._level += 1
        self.visit_stmt_default_(op)
        self._level -= 1
        if self._level == 0:
            self._check_kernel()

    def _note_thread(self, node: object, value: object) -> None:
        if not isinstance(node, e.IterVar):
            return
        name = node.thread_tag or node.var.name
        if name.startswith("blockIdx"):
            return  # no limit counts blocks
        extent = value.value if isinstance(value, e.IntImm) else None
        if extent is None:
            self.errors.append(f"the extent of {name} is symbolic; legal: a literal")
            return
        if name == "vthread" or name.startswith("vthread."):
            self._vthreads *= extent
        elif name.startswith("threadIdx."):
            known = self._threads.setdefault(name, extent)
            if known != extent:
                self.errors.append(f"{name} has extents {known} and {extent}; legal: one extent")

    def _check_kernel(self) -> None:
        total = 1
        for name, extent in self._threads.items():
            total *= extent
            self._require(f"max_thread_{name[-1]}", extent)
        self._require("max_threads_per_block", total)
        self._require("max_vthread", self._vthreads)
        self._require("max_local_memory_per_block", self._bytes.get("local", 0))
        self._require("max_shared_memory_per_block", self._bytes.get("shared", 0))

    def check_total(self) -> None:
        """What concerns the function as a whole."""
        self._require("max_kernels", self._kernels)

    def _note_bytes(self, scope: str, extents: tuple[object, ...], itemsize: int) -> None:
        size = itemsize
        for extent in extents:
            size *= extent.value if isinstance(extent, e.IntImm) else 0
        kind = scope.partition(".")[0]
        self._bytes[kind] = self._bytes.get(kind, 0) + size

    def visit_allocate_(self, op: s.Allocate) -> None:
        scope = getattr(op.buffer_var.type_annotation, "storage_scope", "")
        self._note_bytes(scope, op.extents, op.dtype.itemsize)
        self._require("max_vector_bytes", op.dtype.itemsize if op.dtype.is_vector else 0)
        self.visit_stmt_default_(op)

    def visit_block_(self, op: s.Block) -> None:
        for buffer in op.alloc_buffers:
            self._note_bytes(buffer.scope(), buffer.shape, buffer.dtype.itemsize)
        super().visit_block_(op)

    def visit_buffer_load_(self, op: e.BufferLoad) -> None:
        self._require("max_vector_bytes", op.dtype.itemsize if op.dtype.is_vector else 0)
        super().visit_buffer_load_(op)

    def visit_buffer_store_(self, op: s.BufferStore) -> None:
        dtype = op.value.dtype
        self._require("max_vector_bytes", dtype.itemsize if dtype.is_vector else 0)
        super().visit_buffer_store_(op)

    def visit_ramp_(self, op: e.Ramp) -> None:
        self.visit_expr_default_(op)

    def visit_cast_(self, op: e.Cast) -> None:
        dtype = op.dtype
        self._require("max_vector_bytes", dtype.itemsize if dtype.is_vector else 0)
        self.visit_expr_default_(op)
