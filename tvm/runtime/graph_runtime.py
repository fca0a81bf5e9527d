"""One state of a compiled graph: inputs that are set, a run, outputs that are read."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from tvm.error import DTypeError, InternalError, ShapeError, TVMError, message
from tvm.ffi import library
from tvm.support.json_text import from_json

from ._device import device as device_of
from ._tensor import Tensor, tensor
from .artefact import ValueInfo
from .module import Module


class GraphRuntime(Module):
    """The functions that graph executors call by name; `run` is the function that computes.

    Of the extents of inputs, those that are no numbers may be any; such inputs are to be set, all
    others are zeros until they are. Parameters in `bound`, which has their digests, are constants
    of the code: their own values are passed over, and others refused. Those among them that
    `graph` lists are inputs to those who ask; `values` are what is known of them.
    """

    kind = "GraphExecutor"

    def __init__(
        self, run: Callable[..., Any], params: Sequence[ValueInfo], outputs: int, device: Any,
        bound: Mapping[str, str] = MappingProxyType({}), graph: str = "",
        values: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:  # fmt: skip
        super().__init__()
        self._main = run
        self.params = list(params)
        self.named = [*self.params, *_bound_inputs(graph, bound)]
        self._values = values
        self.device = device
        self.bound = bound
        self._output_count = outputs
        self.inputs: list[Any] = [None] * len(self.params)
        self.outputs: list[Any] = []
        self._given_outputs: dict[int, Any] = {}
        self._loaded: set[str] = set()
        self._functions = {
            "set_input": self.set_input,
            "set_input_zero_copy": self.set_input_zero_copy,
            "set_output_zero_copy": self.set_output_zero_copy,
            "get_input": self.get_input,
            "get_input_index": self.get_input_index,
            "get_input_info": self.get_input_info,
            "get_num_inputs": lambda: len(self.named),
            "run": self.run,
            "get_output": self.get_output,
            "get_num_outputs": self.get_num_outputs,
            "load_params": self.load_params,
            "share_params": self.share_params,
        }

    def function_names(self) -> list[str]:
        return list(self._functions)

    def get_function(self, name: str, query_imports: bool = False) -> Any:
        """The function called `name`."""
        if name not in self._functions:
            raise AttributeError(f"no function {name!r}; legal: {', '.join(self._functions)}")
        return self._functions[name]

    def share_params(self, other: GraphRuntime, names: Sequence[str]) -> None:
        """Take inputs from another runner as they lie in memory."""
        for name in names:
            at, there = self.index(name), other.index(name)
            if 0 <= at < len(self.params) and 0 <= there < len(other.params):
                self.inputs[at] = other.get_input(there)

    def index(self, key: int | str) -> int:
        """The index of an input given by index or name; -1 for a name that is none."""
        if isinstance(key, int):
            return key
        names = [param.name for param in self.named]
        return names.index(key) if key in names else -1

    def set_input(self, key: int | str, value: Any) -> None:
        """Copy a value into an input."""
        self._set(key, value.copyto(self.device) if isinstance(value, Tensor) else value)

    def set_input_zero_copy(self, key: int | str, value: Any) -> None:
        """Let an input be a tensor of the device, which may change until the next run."""
        self._set(key, value)

    def set_output_zero_copy(self, key: int | str, value: Any) -> None:
        """Let each run write an output into `value`."""
        if not (isinstance(key, int) and 0 <= key < self._output_count):
            raise TVMError(
                message(f"set_output_zero_copy: no output {key!r}",
                        legal=f"0 to {self._output_count - 1}")
            )  # fmt: skip
        self._given_outputs[key] = value

    def _set(self, key: int | str, value: Any) -> None:
        at = self.index(key)
        if not 0 <= at < len(self.params):
            names = [param.name for param in self.named]
            name = names[at] if 0 <= at < len(names) else key
            if isinstance(name, str) and name in self.bound:
                self._check_bound(name, value)
                return
            legal = ", ".join(names) or "none"
            if isinstance(key, int):
                raise InternalError(message(f"set_input: no input {key}", legal=legal))
            raise TVMError(message(f"Could not find {key!r} in graph's inputs", legal=legal))
        made = _as_tensor(value, self.device, self.params[at].dtype)
        if isinstance(value, Tensor):
            made = self._laid_out(at, made)
        self._check(at, made)
        self.inputs[at] = made

    def _laid_out(self, at: int, value: Any) -> Any:
        """A tensor of as many elements in the input's extents: elements are copied in order."""
        shape = [extent for extent in self.params[at].shape if isinstance(extent, int)]
        if len(shape) < len(self.params[at].shape):
            return value
        fits = math.prod(shape) == math.prod(int(extent) for extent in value.shape)
        return value._create_view(shape) if fits else value

    def _check_bound(self, name: str, value: Any) -> None:
        if constant_digest(value) != self.bound[name]:
            raise TVMError(
                message(
                    f"set_input: {name!r}, a constant since the build",
                    found="another value",
                    legal="the value that was built in; parameters of lib['remove_params']()",
                )
            )

    def _check(self, at: int, value: Any) -> None:
        wanted = self.params[at]
        fits = len(wanted.shape) == len(value.shape) and all(
            not isinstance(want, int) or want == int(have)
            for want, have in zip(wanted.shape, value.shape)
        )
        if not fits or str(value.dtype) != wanted.dtype:
            extents = ", ".join("?" if not isinstance(e, int) else str(e) for e in wanted.shape)
            raise (DTypeError if fits else ShapeError)(
                message(
                    f"set_input: the value does not fit {wanted.name!r}",
                    found=f"{tuple(value.shape)}, {value.dtype}",
                    legal=f"Tensor[({extents}), {wanted.dtype}]",
                )
            )

    def get_input(self, key: int | str) -> Any:
        """An input as it was set."""
        at = self.index(key)
        if not 0 <= at < len(self.named):
            return None
        return self._input(at) if at < len(self.params) else self._values.get(self.named[at].name)

    def _input(self, at: int) -> Any:
        if self.inputs[at] is None:
            self.inputs[at] = _zeros(self.params[at], self.device)
        return self.inputs[at]

    def get_input_index(self, name: str) -> int:
        """The index of an input, or -1."""
        return self.index(name)

    def get_input_info(self) -> dict[str, dict[str, Any]]:
        """Shapes and data types of the inputs by name; -1 for extents that may be any.

        What `load_params` set is no input any more.
        """
        told = [param for param in self.named if param.name not in self._loaded]
        shapes = {p.name: tuple(e if isinstance(e, int) else -1 for e in p.shape) for p in told}
        return {"shape": shapes, "dtype": {p.name: p.dtype for p in told}}

    def run(self) -> None:
        """Run the module on the inputs."""
        given = [self._input(at) for at in range(len(self.params))]
        missing = [p.name for p, v in zip(self.params, given) if v is None]
        if missing:
            raise TVMError(f"run: the inputs {missing} are not set; call set_input for each")
        self.outputs = flat_outputs(self._main(*given))
        for at, tensor_given in self._given_outputs.items():
            tensor_given.copyfrom(self.outputs[at])
            self.outputs[at] = tensor_given

    def get_output(self, index: int, out: Any = None) -> Any:
        """An output of the last run; copied into `out` if it is given."""
        if not 0 <= index < self._output_count:
            raise InternalError(
                message(f"get_output: no output {index}", legal=f"0 to {self._output_count - 1}")
            )
        if not self.outputs:
            raise TVMError("get_output: nothing was run yet; call run() first")
        found = self.outputs[index]
        if out is not None:
            out.copyfrom(found)
            return out
        return found

    def get_num_outputs(self) -> int:
        """How many tensors a run gives."""
        return self._output_count

    def load_params(self, params_bytes: bytes) -> None:
        """Set inputs from saved parameters; those of other names are passed over."""
        from .params import load_param_dict

        for name, value in load_param_dict(params_bytes).items():
            if self.index(name) >= 0 or name in self.bound:
                self.set_input(name, value)
                self._loaded.add(name)


def _bound_inputs(graph: str, bound: Mapping[str, str]) -> list[ValueInfo]:
    """The inputs of a graph that are constants of its code, as the graph says them."""
    if not (graph and bound):
        return []
    text = from_json(graph)
    rows, kinds = text["node_row_ptr"], text["attrs"]
    found = []
    for at in text["arg_nodes"]:
        name, row = str(text["nodes"][at]["name"]), rows[at]
        if name in bound:
            shape, dtype = tuple(kinds["shape"][1][row]), str(kinds["dltype"][1][row])
            found.append(ValueInfo(name, shape, dtype))
    return found


def set_input_of(state: Any, key: int | str, value: Any) -> None:
    """Set an input of a state that may be at the other end of a session: only tensors go there."""
    if getattr(state, "kind", "") != "rpc" or isinstance(value, Tensor):
        state["set_input"](key, value)
        return
    there = state["get_input"](key)
    if there is None:
        raise TVMError(
            message(
                f"Could not find {key!r} in graph's inputs, or an extent of it may be any",
                legal="a name or a place of an input; a tensor of the session's device",
            )
        )
    there.copyfrom(np.asarray(value, there.dtype))


def constant_digest(value: Any) -> str:
    """What tells the values of parameters apart."""
    array = np.ascontiguousarray(_as_tensor(value, device_of("cpu")).numpy())
    digest = hashlib.blake2b(f"{array.shape}{array.dtype}".encode(), digest_size=16)
    digest.update(array.reshape(-1).view("uint8").data)
    return digest.hexdigest()


def _zeros(param: ValueInfo, device: Any) -> Any:
    """The first value of an input; None where an extent is not known yet."""
    shape = [extent for extent in param.shape if isinstance(extent, int)]
    if len(shape) < len(param.shape):
        return None
    return tensor(np.zeros(shape, library().dtype(param.dtype)), device)


def _as_tensor(value: Any, device: Any, dtype: str | None = None) -> Any:
    """A value as a tensor; arrays become those of `dtype`, as numpy assigns them."""
    if isinstance(value, Tensor):
        return value
    array = value.numpy() if hasattr(value, "numpy") else np.asarray(value)
    if array.dtype == object and dtype is not None and array.shape:
        array = array.astype(library().dtype(dtype))  # numbers of Python, row by row
    if array.dtype.kind not in "biufcV":
        raise TypeError(
            f"array must be an array_like data, type {type(value)} is not supported; "
            "legal: tensors, arrays and numbers"
        )
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        array = array.astype("int32" if isinstance(value, int) else "float32")
    if dtype is not None:
        array = array.astype(library().dtype(dtype), copy=False)
    return tensor(np.ascontiguousarray(array).reshape(array.shape), device)


def flat_outputs(value: Any) -> list[Any]:
    """The tensors of a nested result, in order."""
    if isinstance(value, Tensor) or hasattr(value, "numpy"):
        return [value]
    return [found for field in value for found in flat_outputs(field)]
