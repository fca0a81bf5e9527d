"""What a rule about layouts gives; rules are set by `relay.op.register_infer_correct_layout`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class InferCorrectLayoutOutput:
    """In which layouts a call takes its operands and gives its results, with which options."""

    def __init__(
        self, input_layouts: Sequence[Any], output_layouts: Sequence[Any], new_attrs: Any
    ) -> None:
        self.input_layouts = list(input_layouts)
        self.output_layouts = list(output_layouts)
        self.new_attrs = new_attrs
