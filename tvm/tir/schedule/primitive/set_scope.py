"""Keep a buffer in other memory."""

from __future__ import annotations

from tvm.tir.block_scope import StmtSRef
from tvm.tir.buffer import Buffer
from tvm.tir.schedule.analysis.query import block_of, buffer_at, require_allocated
from tvm.tir.schedule.buffers import BufferReplacer, replace_buffers, with_scope
from tvm.tir.schedule.error import Illegal
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.tree import SRefTree

KIND = kind("SetScope", "set_scope", "block", "=buffer_index", "=storage_scope")

# The memories that programs may name; targets lower those that they have.
_SCOPES = (
    "global", "shared", "shared.dyn", "local", "warp", "wmma.matrix_a", "wmma.matrix_b",
    "wmma.accumulator", "texture", "m16n8k8.matrixA", "m16n8k8.matrixB", "m16n8k8.matrixC",
    "metal.simdgroup",
)  # fmt: skip


def require_scope(scope: str) -> None:
    """Refuse memories that do not exist; a known name may carry a tag, as `global.vtcm`."""
    if scope in _SCOPES or scope.partition(".")[0] in ("global", "shared", "local", "texture"):
        return
    raise Illegal(
        f"The storage scope {scope!r} is unknown",
        legal=f"one of {', '.join(_SCOPES)}, or one of them with a tag",
        fast="The input storage scope is invalid",
        detail=f'The input storage scope "{scope}" is invalid.',
    )


def set_scope(state: SRefTree, block: StmtSRef, buffer_index: int, storage_scope: str) -> None:
    """Change the scope of a buffer that the block writes.

    B = T.alloc_buffer(shape)  ->  B_shared = T.alloc_buffer(shape, scope="shared")

    Its name tells the scope, as do those of the buffers that blocks match to regions of it.
    """
    require_scope(storage_scope)
    buffer = buffer_at(block_of(block), buffer_index, written=True)
    if buffer.scope() == storage_scope:
        return
    site = require_allocated(state, block, buffer)

    def moved(old: Buffer) -> Buffer:
        return with_scope(old, storage_scope, f"{old.name}_{storage_scope}")

    replace_buffers(state, site, BufferReplacer({buffer: moved(buffer)}, moved))
