"""Marks on values: for fusion, memory, devices and outside compilers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import runtime
from tvm.error import TVMError, message
from tvm.relay.expr import Call, VarWithFields
from tvm.relay.function import Function, FunctionWithFields
from tvm.relay.op.declare import OPAQUE, Expr, relay_op
from tvm.relay.op.refusals import refusing
from tvm.relay.op.relations import identity
from tvm.relay.rewrite import bind
from tvm.target.virtual_device import VirtualDevice


@relay_op("annotation.stop_fusion", relation=lambda ctx: ctx.types[0], pattern=OPAQUE,
          lower=lambda bb, x: x)  # fmt: skip
def stop_fusion(data: Expr) -> Call:
    """The value as it is; what makes it and what takes it are not fused."""
    return stop_fusion.call(data)


@relay_op("annotation.checkpoint", relation=lambda ctx: ctx.types[0], pattern=OPAQUE,
          lower=lambda bb, x: x)  # fmt: skip
def checkpoint(data: Expr) -> Call:
    """The value as it is; gradients find it again rather than keep it."""
    return checkpoint.call(data)


@relay_op("annotation.compiler_begin", "CompilerAttrs", operands=("data",),
          relation=lambda ctx: ctx.types[0], lower=lambda bb, x, *, compiler: x)  # fmt: skip
def compiler_begin(data: Expr, compiler: str) -> Call:
    """The value as it is; from here on it belongs to an outside compiler."""
    return compiler_begin.call(data, compiler=compiler)


@relay_op("annotation.compiler_end", "CompilerAttrs", operands=("data",),
          relation=lambda ctx: ctx.types[0], lower=lambda bb, x, *, compiler: x)  # fmt: skip
def compiler_end(data: Expr, compiler: str) -> Call:
    """The value as it is; up to here it belongs to an outside compiler."""
    return compiler_end.call(data, compiler=compiler)


@relay_op("annotation.cast_hint", "CastHintAttrs", operands=("data",), relation=identity,
          pattern=OPAQUE, lower=lambda bb, x, *, dtype: x)  # fmt: skip
def cast_hint(data: Any, dtype: str) -> Call:
    """The value as it is, with a data type that it may be kept in."""
    return cast_hint.call(data, dtype=dtype)


def as_virtual_device(device: Any) -> VirtualDevice:
    """A virtual device of itself, of a device, or of a device's name."""
    if isinstance(device, VirtualDevice):
        return device
    if isinstance(device, str):
        try:
            return VirtualDevice(runtime.device(device))
        except ValueError as err:
            raise _no_device(device) from err
    if not isinstance(device, runtime.Device):
        raise _no_device(device)
    return VirtualDevice(device)


def _no_device(found: object) -> ValueError:
    legal = 'a Device such as tvm.cpu(), its name such as "cpu", or a VirtualDevice'
    return ValueError(message("expecting a Device or device name", found=repr(found), legal=legal))


@relay_op("on_device", "OnDeviceAttrs", operands=("body",), pattern=OPAQUE,
          relation=lambda ctx: ctx.types[0], lower=lambda bb, x, **_: x)  # fmt: skip
def _on_device(
    body: Expr, virtual_device: Any, constrain_result: bool = False, constrain_body: bool = True
) -> Call:
    """The value as it is, computed on a device."""
    return _on_device.call(
        body, virtual_device=virtual_device, constrain_result=constrain_result,
        constrain_body=constrain_body,
    )  # fmt: skip


@refusing
def on_device(
    body: Expr, device: Any, constrain_result: bool = False, constrain_body: bool = True
) -> Call:
    """The value as it is, computed on a device; with `constrain_result` it stays there.

    Without `constrain_body`, nothing is said of where it is computed. Raises ValueError for what
    is no device.
    """
    said = constrain_result or constrain_body
    virtual_device = as_virtual_device(device) if said else VirtualDevice()
    made: Call = _on_device(body, virtual_device, constrain_result, constrain_body)
    return made


@refusing
def function_on_device(
    function: Function, param_devices: Sequence[Any], result_device: Any
) -> Function:
    """A function that says where its parameters and its result are."""
    if len(param_devices) != len(function.params):
        raise TVMError(
            f"function_on_device: {len(param_devices)} devices for {len(function.params)} "
            "parameters; legal: one for each"
        )
    params = [
        VarWithFields(p, virtual_device=as_virtual_device(device))
        for p, device in zip(function.params, param_devices)
    ]
    body = bind(function.body, dict(zip(function.params, params)))
    return FunctionWithFields(
        function, params=params, body=body, virtual_device=as_virtual_device(result_device)
    )


__all__ = ["as_virtual_device", "cast_hint", "checkpoint", "compiler_begin", "compiler_end",
           "function_on_device", "on_device", "stop_fusion"]  # fmt: skip
