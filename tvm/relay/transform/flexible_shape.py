"""One module for several sizes of its input: a function for each, chosen when it is called.

    fn (%x: (1, 8)) { f(%x) }    with buckets [1, 4]
    ->
    fn (%x: (?, 8)) {
      %n = take(shape_of(%x), 0)
      if (equal(%n, 1)) { @main_1(%x) }
      else { if (equal(%n, 4)) { @main_4(%x) } else { @main_dynamic(%x) } }
    }

Other sizes run in the function that is typed for all. With `auto_pad` an input is padded to the
next size, and what is beyond its own is cut from the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm.error import TVMError, message
from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext, declare_module_pass
from tvm.ir.type import TupleType, Type
from tvm.relay.expr import Call, If, Tuple, TupleGetItem, Var, const
from tvm.relay.function import Function
from tvm.relay.op import (
    arange,
    concatenate,
    equal,
    full,
    greater,
    less_equal,
    logical_and,
    reshape,
    shape_of,
    subtract,
    take,
)
from tvm.relay.rewrite import substitute
from tvm.relay.ty import Any as AnyDim
from tvm.relay.ty import TensorType

from .infer_type import InferType


def override_shape(tensor_type: TensorType, axis: int, dim: Any) -> TensorType:
    """The type with another extent along an axis."""
    dims = list(tensor_type.shape)
    if not -len(dims) <= axis < len(dims):
        raise TVMError(
            message(
                f"FlexibleShapeDispatch: axis {axis} of an input",
                found=f"{tensor_type}", legal=f"{-len(dims)} ... {len(dims) - 1}",
            )
        )
    dims[axis] = dim
    return TensorType(dims, tensor_type.dtype)


def specialize_body(
    mod: IRModule, function: Function, axis: int, dim: Any,
    input_indices: Sequence[int] | None = None, affects_output: bool = True,
) -> Function:  # fmt: skip
    """The function for inputs of the extent `dim` along an axis.

    Without `affects_output` its result keeps the type that it has.
    """
    chosen = range(len(function.params)) if input_indices is None else input_indices
    params = [
        _param(var, axis, dim) if at in chosen else Var(var.name_hint, _type_of(var))
        for at, var in enumerate(function.params)
    ]
    body = substitute(function.body, {a.vid: b for a, b in zip(function.params, params)})
    kept = None if affects_output else function.ret_type
    return Function(params, body, kept, function.type_params, function.attrs, function.span)


def _type_of(var: Var) -> Type:
    found = var.checked_type_ or var.type_annotation
    assert found is not None, "parameters of typed functions have types"
    return found


def _param(var: Var, axis: int, dim: Any) -> Var:
    found = _type_of(var)
    if not isinstance(found, TensorType):
        raise TVMError(
            message(
                f"FlexibleShapeDispatch: the input {var.name_hint} is no tensor",
                found=f"{found}", legal="tensors; input_indices names the inputs of other sizes",
            )
        )
    return Var(var.name_hint, override_shape(found, axis, dim))


def flexible_dispatch(
    mod: IRModule, buckets: Sequence[int], axis: int = 0, auto_pad: bool = False,
    pad_value: float = 0, input_indices: Sequence[int] | None = None, affects_output: bool = True,
) -> IRModule:  # fmt: skip
    """The module whose main takes inputs of any extent along an axis; `buckets` are quick."""
    mod = InferType()(mod)
    main = mod["main"]
    assert isinstance(main, Function), "main is a function of Relay"
    chosen = list(range(len(main.params)) if input_indices is None else input_indices)
    sizes = sorted({int(size) for size in buckets})
    if not sizes or sizes[0] <= 0 or not chosen:
        raise TVMError(
            message(
                "FlexibleShapeDispatch: nothing to choose among",
                found=f"buckets {list(buckets)}, inputs {chosen}",
                legal="positive sizes, and the indices of one input or more",
            )
        )
    given = main.ret_type
    assert given is not None, "types are inferred"
    whole = specialize_body(mod, main, axis, AnyDim(), chosen, affects_output)
    params = [Var(var.name_hint, var.type_annotation) for var in whole.params]
    extent = take(shape_of(params[chosen[0]], "int32"), const(axis), 0)
    dynamic = GlobalVar("main_dynamic")
    made: dict[Any, Any] = {dynamic: whole}
    result: RelaxExpr = Call(dynamic, params)
    for at in reversed(range(len(sizes))):
        size, below = sizes[at], sizes[at - 1] if at else 0
        func = specialize_body(mod, main, axis, size, chosen, affects_output)
        var = GlobalVar(f"main_{size}")
        made[var] = func
        exact: RelaxExpr = Call(var, params)
        if auto_pad and size - below > 1:
            padded = [
                _padded(p, axis, size, extent, pad_value) if k in chosen else p
                for k, p in enumerate(params)
            ]
            found = Call(var, padded)
            cut = _cut(found, given, axis, extent) if affects_output else found
            fits = logical_and(greater(extent, const(below)), less_equal(extent, const(size)))
            result = If(fits, cut, result)
        result = If(equal(extent, const(size)), exact, result)
    made[mod.get_global_var("main")] = Function(params, result)
    return InferType()(mod.with_functions({**mod.functions, **made}))


def _padded(x: Var, axis: int, size: int, extent: Any, pad_value: float) -> Any:
    """`x` and what it lacks of `size` along an axis."""
    found = x.type_annotation
    assert isinstance(found, TensorType), "chosen inputs are tensors"
    lack = reshape(subtract(const(size), extent), (1,))
    shape = [take(shape_of(x, "int32"), const([at]), 0) for at in range(len(found.shape))]
    shape[axis] = lack
    return concatenate([x, full(const(pad_value, str(found.dtype)), concatenate(shape, 0))], axis)


def _cut(value: Any, found: Type, axis: int, extent: Any) -> Any:
    """The part of a result that belongs to the first `extent` rows of the inputs."""
    if isinstance(found, TupleType):
        fields = [TupleGetItem(value, at) for at in range(len(found.fields))]
        return Tuple([_cut(part, t, axis, extent) for part, t in zip(fields, found.fields)])
    return take(value, arange(const(0), extent, const(1), "int32"), axis)


@declare_module_pass("FlexibleShapeDispatch", opt_level=0)
def FlexibleShapeDispatch(
    mod: IRModule, ctx: PassContext, buckets: Sequence[int], axis: int = 0, auto_pad: bool = False,
    pad_value: float = 0, input_indices: Sequence[int] | None = None, affects_output: bool = True,
) -> IRModule:  # fmt: skip
    """The module whose main takes inputs of any extent along `axis`.

    buckets: extents that have a function of their own. auto_pad: others are padded with `pad_value`
    to the next bucket. input_indices: which inputs vary, by default all. affects_output: their
    extent is that of the results too.
    """
    return flexible_dispatch(
        mod, buckets, axis, auto_pad, pad_value, input_indices, affects_output
    )
