"""Rules of operators under the names of functions that scripts of v0.18 import.

    __getattr__ = rules_by_name(__name__, "FPrimalGradient", {"relu_grad": "nn.relu"})
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tvm.ir.op import Op


def rules_by_name(
    module: str, attribute: str, operators: Mapping[str, str]
) -> Callable[[str], Any]:
    """A module's `__getattr__`: the rule that an operator has now, by a function's name."""

    def __getattr__(name: str) -> Any:
        operator = operators.get(name)
        found = None if operator is None else Op.get(operator).get_attr(attribute)
        if found is None:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return found

    return __getattr__
