"""States of a compiled graph: inputs, a run, outputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tvm.error import TVMError
from tvm.runtime.artefact import ValueInfo
from tvm.runtime.graph_runtime import GraphRuntime, constant_digest, flat_outputs

pytestmark = pytest.mark.pure


def state() -> GraphRuntime:
    """x + y, and x, for any number of rows."""

    def run(x: Any, y: Any) -> Any:
        return [tvm.runtime.tensor(x.numpy() + y.numpy()), x]

    params = [ValueInfo(name, ("n", 2), "float32") for name in ("x", "y")]
    return GraphRuntime(run, params, 2, tvm.cpu(), {"w": constant_digest(0)})


def test_inputs_by_name_and_place() -> None:
    made = state()
    made["set_input"]("x", np.ones((3, 2), "float32"))
    made["set_input"](1, np.full((3, 2), 2, "float32"))
    made["set_input"]("w", 0)  # bound at the build
    with pytest.raises(tvm.TVMError, match="found: another value"):
        made["set_input"]("w", 1)
    made["run"]()
    assert made["get_num_inputs"]() == made["get_num_outputs"]() == 2
    assert (made["get_output"](0).numpy() == 3).all()
    out = tvm.runtime.tensor(np.zeros((3, 2), "float32"))
    assert made["get_output"](1, out) is out
    assert (out.numpy() == 1).all()
    assert made["get_input"]("y").numpy()[0, 0] == 2
    assert made.get_input_index("y") == 1
    assert made.get_input_index("z") == -1
    assert made.get_function("get_input_info")() == {
        "shape": {"x": (-1, 2), "y": (-1, 2)}, "dtype": {"x": "float32", "y": "float32"}
    }  # fmt: skip


def test_arrays_are_converted_and_tensors_copied() -> None:
    param = ValueInfo("x", (2, 3), "int32")
    made = GraphRuntime(lambda x: x, [param], 1, tvm.cpu())
    wanted = np.arange(6, dtype="int32").reshape(2, 3)
    for given in (wanted + 0.75, wanted.astype("int8"), wanted.astype(object), wanted.tolist()):
        made.set_input("x", given)
        np.testing.assert_array_equal(made.get_input("x").numpy(), wanted)
    made.set_input("x", tvm.runtime.tensor(wanted.reshape(3, 2) + 1))
    np.testing.assert_array_equal(made.get_input("x").numpy(), wanted + 1)
    for other in (wanted.reshape(3, 2), tvm.runtime.tensor(wanted[0])):
        with pytest.raises(ValueError, match="does not fit"):
            made.set_input("x", other)
    with pytest.raises(TypeError, match="does not fit"):
        made.set_input("x", tvm.runtime.tensor(wanted.astype("int64")))


def test_saved_parameters_are_inputs() -> None:
    made = state()
    data = {"x": np.ones((1, 2), "float32"), "y": np.ones((1, 2), "float32")}
    made["load_params"](tvm.runtime.save_param_dict(data))
    made.run()
    assert (made.get_output(0).numpy() == 2).all()


def test_errors_say_what_is_legal() -> None:
    made = state()
    with pytest.raises(TVMError, match="the inputs"):
        made.run()
    with pytest.raises(TVMError, match="nothing was run yet"):
        made.get_output(0)
    with pytest.raises(TVMError, match="x, y"):
        made.set_input("z", 0)
    with pytest.raises(TVMError, match=r"Tensor\[\(\?, 2\), float32\]"):
        made.set_input("x", np.ones((3, 3), "float32"))
    with pytest.raises(AttributeError, match="set_input"):
        made["start"]


def test_nested_results_are_flat() -> None:
    one = tvm.runtime.tensor(np.zeros(1, "float32"))
    assert len(flat_outputs([one, [one, one]])) == 3
