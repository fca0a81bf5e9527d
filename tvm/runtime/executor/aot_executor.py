"""Run what `relay.build(..., executor=Executor("aot"))` made: set inputs, run, read outputs.

runner = AotModule(lib["default"](tvm.cpu()))
runner.set_input("x", x)
runner.run()
y = runner.get_output(0)
"""

from __future__ import annotations

from typing import Any

from tvm.runtime.graph_runtime import set_input_of


class AotModule:
    """One state of a built module."""

    def __init__(self, module: Any) -> None:
        self.module = module

    def set_input(self, key: int | str | None = None, value: Any = None, **params: Any) -> None:
        """Set one input by name or index, and others by name."""
        if key is not None:
            set_input_of(self.module, key, value)
        for name, given in params.items():
            set_input_of(self.module, name, given)

    def run(self, **input_dict: Any) -> None:
        """Set the given inputs and run."""
        self.set_input(**input_dict)
        self.module["run"]()

    def get_num_outputs(self) -> int:
        """How many outputs there are."""
        return int(self.module["get_num_outputs"]())

    def get_num_inputs(self) -> int:
        """How many inputs there are."""
        return int(self.module["get_num_inputs"]())

    def get_input(self, index: int | str, out: Any = None) -> Any:
        """An input as it was set, copied into `out` if it is given."""
        found = self.module["get_input"](index)
        return found if out is None else found.copyto(out)

    def get_input_index(self, name: str) -> int:
        """The index of an input, or -1."""
        return int(self.module["get_input_index"](name))

    def get_input_info(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Shapes and data types of the inputs by name."""
        info = self.module["get_input_info"]()
        return info["shape"], info["dtype"]

    def get_input_name(self, index: int) -> str:
        """The name of an input."""
        return str(self.module.params[index].name)

    def get_output(self, index: int, out: Any = None) -> Any:
        """An output of the last run, copied into `out` if it is given."""
        return self.module["get_output"](index, out)

    def __getitem__(self, key: str) -> Any:
        return self.module[key]
