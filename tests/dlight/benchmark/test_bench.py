"""Kernels and graphs with symbols, measured and taken apart."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tvm
from tvm import relax, tir
from tvm.dlight.benchmark import bench, extract, utils
from tvm.error import TVMError
from tvm.meta_schedule.runner import EvaluatorConfig
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T
from tvm.target import Target

pytestmark = pytest.mark.cpu
ONCE = EvaluatorConfig(number=1, repeat=1, min_repeat_ms=0)


@I.ir_module
class Graph:
    @T.prim_func
    def double(a: T.handle, b: T.handle):
        m = T.int64()
        A = T.match_buffer(a, (m, T.int64(4)))
        B = T.match_buffer(b, (m, T.int64(4)))
        for i, j in T.grid(m, T.int64(4)):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)

    @R.function
    def main(x: R.Tensor(("n", 4), "float32")):
        n = T.int64()
        cls = Graph
        with R.dataflow():
            a = R.call_tir(cls.double, (x,), R.Tensor((n, 4), "float32"))
            b = R.call_tir(cls.double, (a,), R.Tensor((n, 4), "float32"))
            R.output(b)
        return b


def double() -> tir.PrimFunc:
    func = Graph["double"]
    assert isinstance(func, tir.PrimFunc)
    return func


def test_what_a_kernel_takes() -> None:
    args, symbols = extract.extract_func_info_from_prim_func(double())
    assert str(args) == "[((m, 4), 'float32'), ((m, 4), 'float32')]"
    assert {str(v): t for v, t in symbols.items()} == {"m": "int64"}


def test_what_a_graph_calls() -> None:
    calls, symbols = extract.extract_all_func_info_from_relax(Graph)
    ((graph, kernels),) = calls.items()
    ((kernel, ((infos, count),)),) = kernels.items()
    assert (graph.name_hint, kernel.name_hint, count) == ("main", "double", 2)
    assert [str(i) for i in infos] == ['R.Tensor((n, 4), dtype="float32")'] * 2
    assert symbols[graph] == {"n": "int64"}


def test_shapes_in_numbers() -> None:
    n = tir.Var("n", "int64")
    infos = [R.Tensor((n, 4), "float16"), ((1, "m", 3), "int8"), relax.ShapeStructInfo([n * 2])]
    found = utils.populuate_input_shape(infos, {"n": 5, "m": 7})
    assert found == [((5, 4), "float16"), ((1, 7, 3), "int8"), ((10,), "shape")]
    with pytest.raises(TVMError, match="a number for 'm'"):
        utils.populuate_input_shape(infos, {"n": 5})


def test_samples() -> None:
    found = utils.default_dym_var_sample_func({"n": "int64", "m": "int32"})
    assert set(found) == {"n", "m"}
    assert all(2 <= value <= 128 for value in found.values())
    assert utils.dym_var_sample_str({"n": 3, "m": 5}) == "n=3, m=5"
    with pytest.raises(TypeError, match="symbol 'n' of type float32"):
        utils.default_dym_var_sample_func({"n": "float32"})


def test_a_kernel() -> None:
    inputs, median, deviation = bench.benchmark(
        double(), dym_var_sample={"m": 6}, args=None, target="llvm", evaluator_config=ONCE
    )
    assert inputs == [((6, 4), "float32")] * 2
    assert median > 0
    assert deviation == 0


def test_tables(capsys: pytest.CaptureFixture[str]) -> None:
    bench.benchmark_prim_func(
        double(), sample_number=3, dym_var_sample_func=lambda names: dict.fromkeys(names, 8),
        target="llvm", evaluator_config=ONCE, weight=4, sort_by="WxTime(ms)",
    )  # fmt: skip
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["PrimFunc", "InputInfo", "Time(us)", "Std(us)", "Memory(GB/s)",
                            "Weight", "WxTime(ms)"]  # fmt: skip
    assert [row.split()[:2] for row in rows] == [["main", "m=8"]] * 3
    bench.benchmark_relax_func(Graph, "main", 2, target="llvm", evaluator_config=ONCE)
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split()[0] == "RelaxFunc"
    assert [row.split()[:2] for row in rows] == [["main", "double"]] * 2


def test_order_of_rows(capsys: pytest.CaptureFixture[str]) -> None:
    rows: list[dict[str, Any]] = [{"a": 1, "b": 2.5}, {"a": 3, "b": 0.5}]
    utils.print_results(rows, sort_by="a")
    assert capsys.readouterr().out.split() == ["a", "b", "3", "0.5", "1", "2.5"]
    with pytest.raises(ValueError, match="sort_by is 'c'; legal: a, b"):
        utils.print_results(rows, sort_by="c")


def test_programs_run(tmp_path: Path) -> None:
    extract.extract_from_relax(Graph, "net", str(tmp_path), "llvm")
    (path,) = tmp_path.iterdir()
    assert path.name == "main_double.py"
    text = path.read_text()
    assert "INPUT_ARGS = [(('n', 4), 'float32'), (('n', 4), 'float32')]" in text
    assert "WEIGHT = 2" in text
    path.write_text(text.replace("SAMPLE_NUMBER = 5", "SAMPLE_NUMBER = 1"))
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "double" in done.stdout


def test_what_is_refused() -> None:
    with pytest.raises(TVMError, match="function 'missing'\n  found: no such graph\n"):
        bench.benchmark_relax_func(Graph, "missing", target="llvm")
    with pytest.raises(ValueError, match="Target is not specified"):
        bench.benchmark(double(), dym_var_sample={"m": 2}, args=None)
    with pytest.raises(ValueError, match="legal: name one as func_name"):
        bench.benchmark(tvm.IRModule({"a": double(), "b": double()}), dym_var_sample={}, args=None,
                        target=Target("llvm"))  # fmt: skip
