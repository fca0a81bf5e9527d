"""A rule of an operator, for the time of a scope."""

from __future__ import annotations

from typing import Any

from typing_extensions import Self

from tvm.ir.op import Op


class TempOpAttr:
    """`with TempOpAttr("nn.conv2d", "FTVMLegalize", rule): ...`."""

    def __init__(self, op_name: str, attr_key: str, attr_value: Any) -> None:
        self.op = Op.get(op_name)
        self.attr_key = attr_key
        self.attr_value = attr_value
        self.older_attr: Any = None

    def __enter__(self) -> Self:
        self._older_state = self.op.attr_state(self.attr_key)
        self.older_attr = self._older_state[0]
        self.op.reset_attr(self.attr_key)
        self.op.set_attr(self.attr_key, self.attr_value)
        return self

    def __exit__(self, *exc: object) -> None:
        self.op.restore_attr(self.attr_key, self._older_state)
