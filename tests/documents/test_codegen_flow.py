"""From Relay to code that a generator of users writes, in one process."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relay, tir
from tvm.codegen import build_module

pytestmark = [pytest.mark.cpu, pytest.mark.filterwarnings("ignore:build is deprecated")]


class AsC(build_module.CodeGenBase):
    """Our own writer of C, asked for the body of each function."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, str]] = []

    def generate_code(self, stmt: Any, target: Any) -> Any:
        self.seen.append((str(stmt.attrs["global_symbol"]), target.kind.name))
        mod = tvm.tir.transform.LowerIntrin()(tvm.IRModule({"main": stmt}))
        return tvm.backend.c.emit_text(mod, tvm.target.Target("c"))


def lowered() -> tvm.IRModule:
    data = relay.var("data", relay.TensorType((1, 3, 8, 8), "float32"))
    weight = relay.var("weight", relay.TensorType((4, 3, 3, 3), "float32"))
    conv = relay.nn.conv2d(data, weight, kernel_size=(3, 3), padding=(1, 1))
    mod = tvm.IRModule.from_expr(relay.Function([data, weight], relay.nn.relu(conv)))
    with tvm.transform.PassContext(opt_level=3):
        mod = relay.transform.InferType()(mod)
        mod = relay.transform.FuseOps(fuse_opt_level=2)(mod)
        mod = relay.transform.ToANormalForm()(mod)
        func = relay.build_module.bind_params_by_name(mod["main"], {})
        made: tvm.IRModule = tvm.driver.build_module.relay_to_tir(mod, {"main": func})
    assert all(isinstance(f, tir.PrimFunc) for f in made.functions.values())
    return made


def run(built: tvm.runtime.Module) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(0)
    data = rng.standard_normal((1, 3, 8, 8)).astype("float32")
    weight = rng.standard_normal((4, 3, 3, 3)).astype("float32")
    out = tvm.runtime.tensor(np.zeros((1, 4, 8, 8), "float32"))
    built["main"](tvm.runtime.tensor(data), tvm.runtime.tensor(weight), out)
    found: np.ndarray[Any, Any] = out.numpy()
    return found


def test_the_whole_way() -> None:
    mod = lowered()
    seen: list[type] = []

    def custom_pass(stmt: tir.Stmt) -> tir.Stmt:
        seen.append(type(stmt))
        return stmt

    outer = tir.transform.PassContext.current()
    outer.add_custom_pass(custom_pass, "tir.custom_pass")
    try:
        assert "custom passes: ['tir.custom_pass']" in str(outer)
        with tvm.transform.PassContext(opt_level=3):
            after = tir.transform.ApplyCustomPass()(mod)
            tvm.ir.assert_structural_equal(after, mod)
            assert seen == [tir.BlockRealize]
            plain = tvm.build(after, target="llvm")
            assert len(seen) == 2  # the default pipeline runs it too
            generator = AsC()
            built = tvm.build(after, target="llvm", codegen=generator)
    finally:
        outer.remove_custom_pass("tir.custom_pass")
    assert generator.seen == [("main", "llvm")]
    assert " main(float* restrict data, float* restrict weight" in built.inspect_source()
    assert np.abs(run(plain)).max() > 0
    np.testing.assert_allclose(run(built), run(plain), rtol=1e-5, atol=1e-6)


def test_a_generator_that_writes_nothing() -> None:
    class Nothing(build_module.CodeGenBase):
        def __init__(self) -> None:
            super(Nothing, self).__init__()  # noqa: UP008  as older scripts write it

        def generate_code(self, stmt: Any, target: Any) -> None:
            pass

    built = tvm.build(lowered(), target=tvm.target.Target("llvm"), codegen=Nothing())
    assert isinstance(built, tvm.runtime.Module)
    assert built.inspect_source() == ""
