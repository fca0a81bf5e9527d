"""An instrument that runs each kernel of another library beside the program's own, and compares.

    vm.set_instrument(LibCompareVMInstrument(reference_module, device))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tvm.runtime import Device, Module, Tensor, tensor
from tvm.runtime.executable import Executable
from tvm.runtime.vm import VMInstrumentReturnKind
from tvm.support.log import logger

_LOG = logger("relax.testing")


class LibCompareVMInstrument:
    """Compares the calls of a program with functions of the same name in `mod`.

    Arguments are copied before a call; after it the reference runs on the copies, and the last
    argument (the result) must agree, within `rtol` and `atol`.
    """

    def __init__(
        self,
        mod: Module | Executable,
        device: Device,
        verbose: bool = True,
        rtol: float = 1e-05,
        atol: float = 1e-05,
    ) -> None:
        self.mod = mod.jit() if isinstance(mod, Executable) else mod
        self.device = device
        self.verbose = verbose
        self.rtol = rtol
        self.atol = atol
        self.counter = 0
        self._args: Sequence[Any] = ()

    def compare(
        self,
        name: str,
        ref_args: Sequence[Tensor],
        new_args: Sequence[Tensor],
        ret_indices: Iterable[int],
    ) -> None:
        """Raise an AssertionError unless the results agree."""
        for index in ret_indices:
            np.testing.assert_allclose(
                ref_args[index].numpy(),
                new_args[index].numpy(),
                rtol=self.rtol,
                atol=self.atol,
                err_msg=f"{name}: argument {index} after the call",
            )

    def skip_instrument(
        self, func: Callable[..., Any], name: str, before_run: bool, ret_val: Any, *args: Any
    ) -> bool:
        """True for calls that are not to be compared; subclasses decide."""
        return False

    def __call__(
        self, func: Callable[..., Any], name: str, before_run: bool, ret_val: Any, *args: Any
    ) -> VMInstrumentReturnKind:
        if self.skip_instrument(func, name, before_run, ret_val, *args):
            return VMInstrumentReturnKind.NO_OP
        if name.startswith("vm.builtin.") or any(not isinstance(arg, Tensor) for arg in args):
            return VMInstrumentReturnKind.NO_OP
        if not self.mod.implements_function(name, query_imports=True):
            if self.verbose and before_run:
                _LOG.info("%s is not in the reference module", name)
            return VMInstrumentReturnKind.NO_OP
        if before_run:
            self._args = [tensor(arg.numpy(), self.device) for arg in args]
            return VMInstrumentReturnKind.NO_OP
        reference = self.mod.get_function(name, query_imports=True)
        reference(*self._args)
        self.counter += 1
        if self.verbose:
            _LOG.info("[%d] %s agrees?", self.counter, name)
        self.compare(name, self._args, args, (len(args) - 1,))
        return VMInstrumentReturnKind.NO_OP
