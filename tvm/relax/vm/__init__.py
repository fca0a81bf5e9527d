"""The compiled graph: memory plan, native form, bytecode, and the machine that runs them."""

from typing import TYPE_CHECKING

from tvm.support.lazy import lazy_names

_HOMES = {
    "VirtualMachine": "tvm.runtime.vm:VirtualMachine",
    "VMInstrumentReturnKind": "tvm.runtime.vm:VMInstrumentReturnKind",
    "VMExecutable": "tvm.runtime.vm_executable:VMExecutable",
    "build": "tvm.relax.vm_build:build",
}

if TYPE_CHECKING:
    from tvm.relax.vm_build import build as build
    from tvm.runtime.vm import VirtualMachine as VirtualMachine
    from tvm.runtime.vm_executable import VMExecutable as VMExecutable
else:
    __getattr__ = lazy_names(__name__, _HOMES)
