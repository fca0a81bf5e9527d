"""Accelerators that users describe: their targets, their functions, and the code of these."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relay, te
from tvm.contrib import graph_executor
from tvm.relay.backend.contrib.uma import UMABackend, uma_available
from tvm.relay.backend.contrib.uma.api.utils import PassPhase
from tvm.relay.dataflow_pattern import is_op, wildcard
from tvm.target.kind import KINDS

pytestmark = pytest.mark.cpu
X, Y = np.full((3, 4), 2, "float32"), np.full((3, 4), 0.5, "float32")
CODE = """
static int adder(float* a, float* b, float* c, int n) {
  for (int i = 0; i < n; i++) c[i] = a[i] + b[i] + 100;  /* so that it is seen who added */
  return 0;
}
"""


def by_adder(attrs: Any, inputs: Any, out_type: Any, target: Any) -> Any:
    def compute(attrs: Any, inputs: Any, out_type: Any) -> list[Any]:
        def call(ins: Any, outs: Any) -> Any:
            data = [buffer.data for buffer in (*ins, *outs)]
            return tvm.tir.call_extern("int32", "adder", *data, 12)

        return [te.extern(inputs[0].shape, inputs, call, dtype="float32")]

    strategy = relay.op.OpStrategy()
    strategy.add_implementation(compute, None, name="adder")
    return strategy


class Marks:
    """A pass on TIR that says that it ran."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def of(self, name: str) -> Any:
        @tvm.tir.transform.prim_func_pass(opt_level=0, name=name)
        def mark(func: Any, mod: Any, ctx: Any) -> Any:
            self.seen.append(name)
            return func

        return mark


class Accelerator(UMABackend):
    def __init__(self, marks: Marks, fmt: str = "c") -> None:
        super().__init__()
        self._register_target_attr("memory", 128)
        self._register_target_attr("variant", "v1")
        self._register_pattern("add", is_op("add")(wildcard(), wildcard()))
        self._register_relay_pass(PassPhase.PRE_PARTITIONING, relay.transform.FoldConstant())
        self._register_relay_pass(PassPhase.POST_PARTITIONING_1, relay.transform.InferType())
        self._register_tir_pass(PassPhase.TIR_PHASE_0, marks.of("scheduled"))
        self._register_tir_pass(PassPhase.TIR_PHASE_2, marks.of("loops"))
        if fmt == "c":
            self._register_operator_strategy("add", by_adder)
            self._register_codegen(fmt="c", includes=lambda: CODE)
        else:
            self._register_codegen(fmt=fmt)

    @property
    def target_name(self) -> str:
        return "test_accelerator"


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    yield
    KINDS.pop("test_accelerator", None)


def program() -> Any:
    x, y = relay.var("x", shape=(3, 4)), relay.var("y", shape=(3, 4))
    return tvm.IRModule.from_expr(relay.Function([x, y], relay.nn.relu(relay.add(x, y)) * x))


def run(lib: Any) -> Any:
    runner = graph_executor.GraphModule(lib["default"](tvm.cpu()))
    runner.run(x=X, y=Y)
    return runner.get_output(0).numpy()


def test_its_code_is_used(tmp_path: Path) -> None:
    marks = Marks()
    backend = Accelerator(marks)
    backend.register()
    backend.register()  # once is enough
    parts = backend.partition(program())
    name = "tvmgen_default_test_accelerator_main_0"
    assert parts[name].attrs["Compiler"] == "test_accelerator"
    assert parts[name].body.op.attrs["Composite"] == "test_accelerator.add"
    lib = relay.build(parts, target=["llvm", "test_accelerator"])
    assert marks.seen == ["scheduled", "loops"]
    np.testing.assert_array_equal(run(lib), (X + Y + 100) * X)
    lib.export_library(str(tmp_path / "lib.so"))
    again = tvm.runtime.load_module(str(tmp_path / "lib.so"))
    np.testing.assert_array_equal(run(again), (X + Y + 100) * X)
    lowered = tvm.get_global_func("relay.ext.uma.test_accelerator.relay_to_tir")(parts)
    assert lowered[name].attrs["target"].kind.name == "test_accelerator"
    assert "adder" in str(lowered[name])


def test_without_strategies_operators_have_their_own_meaning() -> None:
    marks = Marks()
    backend = Accelerator(marks, "llvm")
    backend.register()
    lib = relay.build(backend.partition(program()), target=tvm.target.Target("test_accelerator"))
    np.testing.assert_array_equal(run(lib), (X + Y) * X)
    assert marks.seen == ["scheduled", "loops"]


def test_parameters_become_constants() -> None:
    backend = Accelerator(Marks(), "llvm")
    backend.register()
    parts = backend.partition(program(), {"y": Y})
    assert [p.name_hint for p in parts["main"].params] == ["x"]


def test_targets() -> None:
    assert uma_available()
    Accelerator(Marks()).register()
    plain = tvm.target.Target("test_accelerator")
    assert (plain.attrs["memory"], plain.attrs["variant"]) == (128, "v1")
    other = tvm.target.Target("test_accelerator -memory=256 -variant=v2", host="c")
    assert (other.attrs["memory"], other.attrs["variant"]) == (256, "v2")


@pytest.mark.parametrize(("value", "found"), [(3.14, "float"), (None, "NoneType")])
def test_attributes_that_no_target_has(value: Any, found: str) -> None:
    register = tvm.get_global_func("relay.backend.contrib.uma.RegisterTarget")
    with pytest.raises(tvm.TVMError, match=f"the attribute odd .*\n  found: {found}"):
        register("test_accelerator", {"odd": value})


def test_what_a_backend_cannot_say() -> None:
    backend = Accelerator(Marks())
    with pytest.raises(RuntimeError, match='Unsupported codegen format "rust"'):
        backend._register_codegen(fmt="rust")
    backend._register_target_attr("none", None)
    with pytest.raises(ValueError, match="Target attribute None is not supported: none"):
        backend.register()
