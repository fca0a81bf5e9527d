"""Functions for one set of sizes, and which shapes decide them."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.relax.transform.specialize import (
    VARIANT_OF,
    bind_shapes,
    complete_shapes,
    with_variants,
)
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T


@I.ir_module
class Scores:
    @R.function
    def main(
        x: R.Tensor(("n", 4), "float32"), y: R.Tensor(("n", "m"), "float32"),
        z: R.Tensor(("n * 2",), "float32"),
    ) -> R.Tensor(("m", 4), "float32"):
        n = T.int64()
        m = T.int64()
        cls = Scores
        with R.dataflow():
            a: R.Tensor((n, 4), "float32") = cls.twice(x)
            gv: R.Tensor((m, 4), "float32") = R.matmul(R.permute_dims(y), a)
            R.output(gv)
        return gv

    @R.function(private=True)
    def twice(x: R.Tensor(("k", 4), "float32")) -> R.Tensor(("k", 4), "float32"):
        k = T.int64()
        gv: R.Tensor((k, 4), "float32") = R.add(x, x)
        return gv


def test_a_variant_has_numbers_everywhere() -> None:
    func = bind_shapes(Scores, "main", {"x": (3, 4), "y": (3, 5)})
    text = func.script()
    assert "int64" not in text.replace("T.int64(", "")
    assert 'R.Tensor((6,), dtype="float32")' in text  # n * 2
    assert "twice" not in text  # what it calls is part of it
    assert func.struct_info.ret.values is not None


def test_shapes_that_follow_need_not_be_given() -> None:
    assert complete_shapes(Scores, "main", {"y": (3, 5)}) == {"x": (3, 4), "y": (3, 5), "z": (6,)}


@pytest.mark.parametrize(
    ("shapes", "words"),
    [
        ({"x": (3, 4)}, "leave sizes open.*no value for m"),
        ({"w": (3, 4)}, "no input 'w'.*legal: x, y, z"),
        ({"x": (3, 4, 1), "y": (3, 5)}, r"shape of 'x'.*found: \(3, 4, 1\)"),
        ({"x": (3, 5), "y": (3, 5)}, r"shape of 'x'.*found: \(3, 5\)"),
        ({"x": (3, 4), "y": (2, 5)}, r"shape of 'y'.*found: \(2, 5\)"),
        ({"y": (3, 5), "z": (7,)}, r"shape of 'z'.*found: \(7\)"),
        ({"y": (3, -5)}, r"shape of 'y'.*found: \(3, -5\)"),
    ],
)
def test_shapes_that_cannot_be_are_refused(shapes: dict[str, tuple[int, ...]], words: str) -> None:
    with pytest.raises(ValueError, match=f"(?s){words}"):
        bind_shapes(Scores, "main", shapes)


def test_functions_that_are_not_there_are_refused() -> None:
    with pytest.raises(ValueError, match="no Relax function 'mian'"):
        bind_shapes(Scores, "mian", {"y": (3, 5)})
    fixed = Scores.with_functions({Scores.get_global_var("main"): bind_shapes(
        Scores, "main", {"y": (3, 5)})})  # fmt: skip
    with pytest.raises(ValueError, match="sizes are fixed"):
        with_variants(fixed, [{"x": (3, 4)}])


@pytest.mark.parametrize("mode", ["bytecode", "compiled"])
def test_variants_in_one_artefact_run_at_their_sizes(mode: str, tmp_path: object) -> None:
    mod = with_variants(Scores, [{"y": (3, 5)}, {"y": (2, 7)}, {"y": (3, 5)}])
    names = sorted(v.name_hint for v, f in mod.functions.items() if VARIANT_OF in f.attrs)
    assert names == ["main_x2x4_y2x7_z4", "main_x3x4_y3x5_z6"]
    built = relax.build(mod, "llvm", exec_mode=mode)
    path = f"{tmp_path}/scores.so"
    built.export_library(path)
    for module in (built, tvm.runtime.load_module(path)):
        machine = relax.VirtualMachine(module, tvm.cpu())
        main = machine["main"]
        for n, m in ((3, 5), (2, 7), (4, 4), (3, 5), (1, 1)):
            rng = np.random.default_rng(n)
            x, y, z = (rng.random(s, "float32") for s in ((n, 4), (n, m), (2 * n,)))
            np.testing.assert_allclose(main(x, y, z).numpy(), y.T @ (2 * x), rtol=1e-5)
        calls = {one.shapes["y"]: one.after.calls for one in machine.report().variants}
        assert calls[3, 5] >= 1
        assert str(machine.report()).count("built in, ready") == 2
