"""TIR operators that CUDA says in words of its own: shuffles and matrix fragments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tvm.backend.c_family.expr import Rule
from tvm.backend.c_family.intrinsics import rule_in
from tvm.backend.device.intrinsics import COMMON
from tvm.ir.expr import PrimExpr
from tvm.tir import expr as e

from .ptx import PTX

if TYPE_CHECKING:
    from .codegen import CudaEmitter

RULES: Final[dict[str, Rule]] = {**COMMON, **PTX}


def _shuffle(suffix: str) -> Rule:
    def rule(emit: CudaEmitter, op: e.Call) -> str:
        return emit.shuffle(suffix, *op.args[:4])

    return rule


for _suffix in ("", "_up", "_down"):
    RULES[f"tir.tvm_warp_shuffle{_suffix}"] = _shuffle(_suffix)
    RULES[f"tir.cuda.__shfl{_suffix}_sync"] = _shuffle(_suffix)


@rule_in(RULES, "tvm_warp_activemask", "cuda.__activemask")
def _activemask(emit: CudaEmitter, op: e.Call) -> str:
    return emit.active_mask()


def _fragment(emit: CudaEmitter, var: PrimExpr, index: PrimExpr) -> str:
    return f"{emit.lane_of(var, None)}[{emit.lane_of(index, None)}]"


def _layout(op: e.Call) -> str:
    layout = op.args[7]
    return layout.value if isinstance(layout, e.StringImm) else "row_major"


@rule_in(RULES, "tvm_fill_fragment")
def _fill(emit: CudaEmitter, op: e.Call) -> str:
    value = emit.lane_of(op.args[5], None)
    return f"nvcuda::wmma::fill_fragment({_fragment(emit, op.args[0], op.args[4])}, {value})"


@rule_in(RULES, "tvm_load_matrix_sync")
def _load(emit: CudaEmitter, op: e.Call) -> str:
    address, stride = emit.lane_of(op.args[5], None), emit.lane_of(op.args[6], None)
    var = op.args[0]
    whole = isinstance(var, e.Var) and "wmma.accumulator" in str(
        getattr(var.type_annotation, "storage_scope", "")
    )
    order = f", nvcuda::wmma::mem_{_layout(op)}" if whole else ""
    target = _fragment(emit, var, op.args[4])
    return f"nvcuda::wmma::load_matrix_sync({target}, {address}, {stride}{order})"


@rule_in(RULES, "tvm_store_matrix_sync")
def _store(emit: CudaEmitter, op: e.Call) -> str:
    address, stride = emit.lane_of(op.args[5], None), emit.lane_of(op.args[6], None)
    source = _fragment(emit, op.args[0], op.args[4])
    order = f"nvcuda::wmma::mem_{_layout(op)}"
    return f"nvcuda::wmma::store_matrix_sync({address}, {source}, {stride}, {order})"


@rule_in(RULES, "tvm_mma_sync", "tvm_bmma_sync")
def _multiply(emit: CudaEmitter, op: e.Call) -> str:
    name = "bmma_sync" if e.is_call_of(op, "tir.tvm_bmma_sync") else "mma_sync"
    parts = [_fragment(emit, op.args[i], op.args[i + 1]) for i in range(0, 8, 2)]
    return f"nvcuda::wmma::{name}({', '.join(parts)})"
