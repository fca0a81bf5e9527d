"""The effect that keeps prints in order: a token that each of them takes and gives."""

from __future__ import annotations

from tvm import relax as rx
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.struct_info import ObjectStructInfo

from .core import Effect


class IOEffect(Effect):
    """Input and output as a token, `_io`."""

    effect: rx.Var | None

    def __init__(self) -> None:
        self.effect = None

    def emit_init(self, name_hint: str, builder: BlockBuilder) -> list[rx.Var]:
        """The first token is a null value."""
        return [builder.emit(rx.op.null_value(), f"{name_hint}_io")]

    def create(self, name_hint: str) -> list[rx.Var]:
        """A variable for the token."""
        self.effect = rx.Var(f"{name_hint}_io", ObjectStructInfo())
        return [self.effect]

    def set_state(self, state_vars: list[rx.Var]) -> None:
        """Take this token."""
        (self.effect,) = state_vars

    def finalize(self) -> list[rx.Var]:
        """The token after the last print."""
        effect = self.effect
        assert effect is not None, "a state was set when the function began"
        self.effect = None
        return [effect]
