"""A network, compiled and ready to run."""

from __future__ import annotations

import numpy as np

from tvm import runtime
from tvm.error import message
from tvm.ir.transform import Pass
from tvm.relax.pipeline import get_pipeline
from tvm.relax.vm import VirtualMachine
from tvm.relax.vm_build import build
from tvm.runtime import Device
from tvm.target import Target

from .core import Parameter
from .exporter import Exporter
from .extern import attach
from .spec import ModuleSpec


def compiled(
    spec: ModuleSpec, device: str | Device, pipeline: str | Pass | None, debug: bool
) -> tuple[VirtualMachine, list[runtime.Tensor]]:
    """The network on a virtual machine of the device, and its parameters there, in order."""
    where = runtime.device(device) if isinstance(device, str) else device
    exporter = Exporter(debug=debug)
    mod, params, _ = exporter.build(spec)
    values = [_value(name, param, where) for name, param in params]
    mod = attach(mod, exporter.all_modules())
    steps = get_pipeline(pipeline) if isinstance(pipeline, str) else pipeline
    target = Target.from_device(where)
    built = build(mod, target, relax_pipeline="default" if steps is None else steps)
    return VirtualMachine(built, where), values


def _value(name: str, param: Parameter, device: Device) -> runtime.Tensor:
    if param.data is None:
        raise ValueError(
            message(f"jit: the parameter {name!r}", found="no values",
                    legal="values in its attribute `data`, or load_state_dict, before")
        )  # fmt: skip
    host = param.data.numpy() if param.data.device != device else None
    return param.data if host is None else runtime.tensor(np.asarray(host), device)
