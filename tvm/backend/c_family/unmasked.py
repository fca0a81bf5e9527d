"""Accesses under a predicate, lane by lane: the languages of C's family have none."""

from __future__ import annotations

from tvm.error import CheckError, message
from tvm.tir.expr import BufferLoad
from tvm.tir.stmt import BufferStore


def refuse_predicate(access: BufferLoad | BufferStore) -> None:
    """A CheckError for a load or store whose lanes are masked."""
    if access.predicate is None:
        return
    kind = "load" if isinstance(access, BufferLoad) else "store"
    raise CheckError(
        message(
            f"Predicated buffer {kind} is not supported.",
            found=f"a predicate of an access to {access.buffer.name}",
            legal="predicates for LLVM; a condition around the access elsewhere",
        )
    )
