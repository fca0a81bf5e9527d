"""Gradients against differences, on the inputs that the operators' cases give."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from tests.relax.op.cases import CASES, SYMBOLS, Case, Tensor
from tvm import relax, tir
from tvm.ir.op import Op
from tvm.relax import interp, op
from tvm.relax.struct_info import TensorStructInfo, TupleStructInfo

STEP = 1e-5
ELEMENTS = 6  # of each operand, chosen at random


def _wide(tensor: Tensor) -> Tensor:
    return tensor._replace(dtype="float64") if tensor.dtype == "float32" else tensor


def _differentiable(case: Case) -> bool:
    if str(case) == "add-2xnx4":  # its second operand is a number in single precision
        return False
    if case.op == "dequantize":  # its scale is in single precision, too
        return False
    return _rule(case) is not None and any(x.dtype == "float32" for x in case.tensors)


def _module(case: Case) -> Any:
    """`main` is the sum of the results times fixed weights, in double precision."""
    symbols = {name: tir.Var(name, "int64") for name in SYMBOLS}
    if case.op in STATIC:
        symbols = SYMBOLS
    variables = [
        relax.Var(f"x{i}", TensorStructInfo(
            [symbols[e] if isinstance(e, str) else e for e in x.shape], _wide(x).dtype))
        for i, x in enumerate(case.tensors)
    ]  # fmt: skip
    rng = np.random.default_rng(3)
    bb = relax.BlockBuilder()
    with bb.function("main", variables):
        with bb.dataflow():
            result = bb.emit(case.build(*variables))
            fields = [result]
            if isinstance(result.struct_info, TupleStructInfo):
                fields = [bb.emit(result[i]) for i in range(len(result.struct_info.fields))]
            total = None
            for field in fields:
                if field.struct_info.dtype != "float64":
                    continue
                weight = relax.const(rng.uniform(0.5, 1.5), "float64")
                # the square makes gradients differ between the elements of a result
                part = op.sum(op.multiply(op.multiply(field, field), weight))
                total = part if total is None else op.add(total, part)
            out = None if total is None else bb.emit_output(total)
            if out is None:
                out = bb.emit_output(result)
        bb.emit_func_output(out)
    return bb.get(), total is not None


# Rules that build constants from the shape, and need what they build them from.
STATIC = (
    "image.resize2d", "nn.adaptive_avg_pool1d", "nn.adaptive_avg_pool2d",
    "nn.adaptive_avg_pool3d", "layout_transform", "nn.attention", "nn.attention_bias",
)  # fmt: skip
# Operands that get none, as in the original: the weights of the classes.
WITHOUT = {"nn.nll_loss": (2,)}


def cases_of(module: ModuleType) -> list[Case]:
    """The cases of the operators whose gradient the module has."""
    rules = {id(rule) for name, rule in vars(module).items() if name.endswith("_grad")}
    return [case for case in CASES if _differentiable(case) and id(_rule(case)) in rules]


def _rule(case: Case) -> Any:
    name = f"relax.{case.op}"  # some are written with others, and are no operators themselves
    return Op.get(name).get_attr("FPrimalGradient") if name in Op.list_op_names() else None


def check_slope(case: Case) -> None:
    """The gradients of a case's operands are the slopes of what it computes."""
    mod, has_result = _module(case)
    if not has_result:
        return  # nothing but integers or bools comes out
    floats = [i for i, x in enumerate(case.tensors) if x.dtype == "float32"]
    floats = [i for i in floats if i not in WITHOUT.get(case.op, ())]
    params = [mod["main"].params[i] for i in floats]
    made = relax.transform.Gradient("main", params)(mod)
    assert relax.analysis.well_formed(made)
    rng = np.random.default_rng(7)
    arrays = [_wide(x).array(rng) for x in case.tensors]
    value, grads = interp.run(made, *arrays, name="main_adjoint")
    for i, grad in zip(floats, grads, strict=True):
        assert grad.shape == arrays[i].shape
        assert grad.dtype == arrays[i].dtype
        for at in rng.integers(0, max(arrays[i].size, 1), ELEMENTS):
            place = np.unravel_index(at, arrays[i].shape)
            ends = []
            for step in (STEP, -STEP):
                moved = [a.copy() for a in arrays]
                moved[i][place] += step
                ends.append(float(interp.run(mod, *moved)))
            slope = (ends[0] - ends[1]) / (2 * STEP)
            limit = 1e-5 * max(1.0, abs(slope), abs(float(value)))
            assert abs(float(grad[place]) - slope) <= limit, (i, place, grad[place], slope)
