"""An instrument that checks programs around every pass."""

from __future__ import annotations

from typing import Final

from tvm.error import TVMError
from tvm.ir.instrument import PassInstrument
from tvm.ir.module import IRModule
from tvm.ir.transform import PassInfo
from tvm.relax.analysis.well_formed import faults_of

# These make programs well formed, so what they are given need not be.
SKIPPED: Final = frozenset(["Normalize", "NormalizeGlobalVar", "ResolveGlobals"])


class NotWellFormedError(TVMError, AssertionError):
    """A pass was given, or made, a program that breaks the rules of Relax."""


class WellFormedInstrument(PassInstrument):
    """Refuses modules that are not well formed after a pass, and before it unless told otherwise.

    Passes that make programs well formed are not looked at.
    """

    def __init__(
        self, check_struct_info: bool = True, validate_before_transform: bool = True
    ) -> None:
        super().__init__("WellFormedInstrument")
        self.check_struct_info = check_struct_info
        self.validate_before_transform = validate_before_transform

    def run_before_pass(self, mod: IRModule, pass_info: PassInfo) -> None:
        """Check what the pass is given."""
        if self.validate_before_transform:
            self._check(mod, pass_info.name, "before")

    def run_after_pass(self, mod: IRModule, pass_info: PassInfo) -> None:
        """Check what the pass made."""
        self._check(mod, pass_info.name, "after")

    def _check(self, mod: IRModule, name: str, when: str) -> None:
        if name in SKIPPED:
            return
        faults = faults_of(mod, self.check_struct_info)
        if faults:
            listed = "\n  ".join(faults[:20])
            raise NotWellFormedError(
                f"the module is not well formed {when} pass {name!r}:\n  {listed}"
            )
