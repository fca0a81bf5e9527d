"""Do the operands and results of a `call_tir` fit the signature of the function it calls?

    f(A: Buffer((n, 4)), B: Buffer((n * 4,)))
    call_tir(f, (x: Tensor((2, 4)),), out_sinfo=Tensor((9,)))      result 0 is (9,), must be (8,)

Symbols get their values from `tir_vars` and operands first. A symbol that only a result has may be
anything: then it is the caller who says how large the result is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr, StructInfo
from tvm.relax.derive import bind_symbols
from tvm.relax.distributed.struct_info import DTensorStructInfo
from tvm.relax.expr import Call, Tuple, is_call_of
from tvm.relax.struct_info import FuncStructInfo, PrimStructInfo, ShapeExpr, TupleStructInfo
from tvm.relax.struct_info_rules import BaseCheckResult, base_check, substitute_struct_info
from tvm.tir import expr as tir

_KERNEL_CALLS: Final = ("relax.call_tir", "relax.call_tir_inplace", "relax.call_tir_with_grad")


def is_kernel_call(call: Call) -> bool:
    """True for the calls of TIR functions whose results are made by the caller."""
    return is_call_of(call, *_KERNEL_CALLS)


def kernel_call_faults(
    call: Call, signature: FuncStructInfo, analyzer: Analyzer
) -> Iterator[str]:
    """A sentence for each operand and result that cannot fit the signature."""
    params = signature.params
    operands = _operands(call)
    if params is None or operands is None:
        return
    given = [(f"operand {i}", _tensor(info)) for i, info in enumerate(operands)]
    given += [(f"result {i}", _tensor(info)) for i, info in _new_results(call)]
    ints = [PrimStructInfo(value=value) for value in _packed_ints(call)]
    given += [(f"tir_vars[{i}]", info) for i, info in enumerate(ints)]
    if len(given) != len(params):
        what = ", ".join(name for name, _ in given)
        yield f"the function has {len(params)} parameters, and the call gives {what}"
        return
    dims: dict[tir.Var, PrimExpr] = {}
    first = [*zip(params[len(params) - len(ints) :], ints), *zip(params, operands)]
    for param, info in first:
        bind_symbols(param, info, dims)
    for param, (name, info) in zip(params, given):
        bind_symbols(param, info, dims)
        expected = substitute_struct_info(param, dims) if dims else param
        if base_check(expected, info, analyzer) is BaseCheckResult.FAIL_L0:
            yield f"{name} is {info}, and the function takes {expected}"


def inplace_faults(call: Call) -> Iterator[str]:
    """A sentence for each result that is written over an operand of another kind."""
    operands = _operands(call)
    for i, index, info in _results(call):
        operand = operands[index] if operands is not None and 0 <= index < len(operands) else None
        if operand is not None and base_check(info, operand) is BaseCheckResult.FAIL_L0:
            yield f"result {i} is {info} and cannot overwrite operand {index}, {operand}"


def _tensor(info: StructInfo) -> StructInfo:
    """A distributed tensor as the kernel sees it: the whole of it."""
    return info.tensor_sinfo if isinstance(info, DTensorStructInfo) else info


def _operands(call: Call) -> list[StructInfo] | None:
    args = call.args[1]
    fields = args.fields if isinstance(args, Tuple) else None
    if fields is None:
        whole = args.struct_info_
        return list(whole.fields) if isinstance(whole, TupleStructInfo) else None
    infos = [field.struct_info_ for field in fields]
    return None if any(info is None for info in infos) else [i for i in infos if i is not None]


def _new_results(call: Call) -> list[tuple[int, StructInfo]]:
    """The results that are not written over an operand."""
    return [(i, info) for i, index, info in _results(call) if index == -1]


def _results(call: Call) -> list[tuple[int, int, StructInfo]]:
    """Each result with the operand it is written over, or -1."""
    info = call.sinfo_args[0]
    infos = info.fields if isinstance(info, TupleStructInfo) else (info,)
    indices = getattr(call.attrs, "inplace_indices", None) or [-1] * len(infos)
    return [(i, int(index), info) for i, (info, index) in enumerate(zip(infos, indices))]


def _packed_ints(call: Call) -> tuple[PrimExpr, ...]:
    packed = call.args[2] if len(call.args) > 2 else None
    return packed.values if isinstance(packed, ShapeExpr) else ()
