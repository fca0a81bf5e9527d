"""Models loaded, compiled, tuned and run by tvmc, as functions and as commands."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tvm
from tvm import rpc
from tvm.driver import tvmc
from tvm.driver.tvmc.frontends import get_frontend_by_name, guess_frontend
from tvm.driver.tvmc.main import REGISTERED_PARSER, _main
from tvm.driver.tvmc.result_utils import get_top_results
from tvm.driver.tvmc.runner import generate_tensor_data, make_inputs_dict
from tvm.relay.backend.executor import Executor
from tvm.runtime.benchmark import BenchmarkResult

pytestmark = pytest.mark.cpu

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32]) {
  nn.relu(nn.dense(%x, %w, units=None))
}"""
X = np.random.default_rng(1).uniform(-1, 1, (2, 3)).astype("float32")


@pytest.fixture
def file(tmp_path: Path) -> str:
    written = tmp_path / "net.relay"
    written.write_text(TEXT)
    return str(written)


def wanted(model: tvmc.TVMCModel) -> Any:
    return np.maximum(X @ model.params["w"].numpy().T, 0)


def run(*words: object) -> int:
    return _main([str(word) for word in words])


def test_from_a_file_to_results(file: str, tmp_path: Path) -> None:
    model = tvmc.load(file, shape_dict={"x": [2, 3]})
    assert set(model.params) == {"w"}
    saved = tmp_path / "model.tar"
    model.save(str(saved))
    again = tvmc.TVMCModel(model_path=str(saved))
    tvm.ir.assert_structural_equal(model.mod, again.mod)
    for form, executor in (("so", "graph"), ("tar", "graph"), ("so", "aot")):
        path = tmp_path / f"{form}_{executor}.tar"
        package = tvmc.compile(
            again, "llvm", package_path=str(path), output_format=form,
            executor=Executor(executor), dump_code=["relay", "ll"],
        )  # fmt: skip
        assert package.lib_name == f"mod.{form}"
        assert path.is_file()
        assert "nn.dense" in Path(f"{path}.relay").read_text()
        assert "define" in Path(f"{path}.ll").read_text()
        assert (package.graph is None) == (executor == "aot")
        result = tvmc.run(tvmc.TVMCPackage(str(path)), "cpu", inputs={"x": X})
        np.testing.assert_allclose(result.get_output("output_0"), wanted(model), rtol=1e-5)
    path = tmp_path / "machine.tar"
    package = tvmc.compile(again, "llvm", package_path=str(path), use_vm=True, dump_code="tir")
    assert (package.type, package.lib_name, package.graph) == ("vm", "lib.so", None)
    assert "T.prim_func" in Path(f"{path}.tir").read_text()
    result = tvmc.run(package, "cpu", inputs={"x": X}, benchmark=True, repeat=2, number=1)
    np.testing.assert_allclose(result.get_output("output_0"), wanted(model), rtol=1e-5)
    assert len(result.times.results) == 2
    text = io.StringIO()
    model.summary(text)
    assert "nn.relu" in text.getvalue()


def test_results(tmp_path: Path) -> None:
    times = BenchmarkResult([0.6, 1.2, 0.12, 0.42])
    result = tvmc.TVMCResult({"output_0": np.array([[1.0, 9.0, 4.0]])}, times)
    assert "585.0000" in result.format_times()
    assert "output_0" in str(result)
    np.testing.assert_array_equal(get_top_results(result, 2), [[1, 2], [9, 4]])
    result.save(str(tmp_path / "out.npz"))
    np.testing.assert_array_equal(np.load(tmp_path / "out.npz")["output_0"], [[1, 9, 4]])
    with pytest.raises(KeyError, match="legal: output_0"):
        result.get_output("moon")


def test_inputs() -> None:
    assert (generate_tensor_data((2, 3), "float32", "zeros") == np.zeros((2, 3))).all()
    assert (generate_tensor_data((2,), "int8", "ones") == 1).all()
    assert generate_tensor_data((2, 3), "uint8", "random").dtype == "uint8"
    with pytest.raises(tvmc.TVMCException, match="unknown fill-mode: moon"):
        generate_tensor_data((2,), "int8", "moon")
    shapes, types = {"x": (2, 3), "y": (1,)}, {"x": "float32", "y": "int32"}
    found = make_inputs_dict(shapes, types, {"x": X}, "ones")
    assert found["x"] is X
    assert found["y"].tolist() == [1]
    with pytest.raises(tvmc.TVMCException, match="'moon' is not in the model"):
        make_inputs_dict(shapes, types, {"moon": X})
    with pytest.raises(tvmc.TVMCException, match=r"found the shape \(3, 2\)"):
        make_inputs_dict(shapes, types, {"x": X.T})


def test_commands(file: str, tmp_path: Path, capsys: Any) -> None:
    package, inputs, outputs = tmp_path / "p.tar", tmp_path / "in.npz", tmp_path / "out.npz"
    np.savez(inputs, x=X)
    assert run(
        "compile", "--target", "llvm", "--target-llvm-mcpu", "haswell", "--input-shapes", "x:[2,3]",
        "-o", package, "-f", "tar", "--dump-code", "relay,asm", "-O", 2, "--disabled-pass",
        "FoldScaleAxis", "--pass-config", "relay.FuseOps.max_depth=5", "--executor", "graph",
        "--executor-graph-link-params", 1, "--print-pass-times", "--desired-layout", "NHWC", "--",
        file,
    ) == 0  # fmt: skip
    assert "time breakdown by pass" in capsys.readouterr().out
    assert "vfmadd" in Path(f"{package}.asm").read_text()
    assert run("run", "-i", inputs, "-o", outputs, "--print-time", "--print-top", 1, package) == 0
    assert "mean (ms)" in capsys.readouterr().out
    model = tvmc.load(file, shape_dict={"x": [2, 3]})
    np.testing.assert_allclose(np.load(outputs)["output_0"], wanted(model), rtol=1e-5)
    assert run("run", "--profile", "--fill-mode", "ones", package) == 0
    assert "Sum" in capsys.readouterr().out
    said = tmp_path / "c.json"
    said.write_text(json.dumps({"targets": [{"kind": "llvm", "mcpu": "x86-64"}], "opt_level": 1}))
    assert run("--config", said, "compile", "-o", package, "--dump-code", "asm", file) == 0
    assert "vfmadd" not in Path(f"{package}.asm").read_text()
    assert run("--version") == 0
    assert capsys.readouterr().out.strip().endswith(tvm.__version__)
    assert run() == 0
    assert "commands" in capsys.readouterr().out


def test_refuses(file: str, tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "bad.tar").write_text("bad")
    (tmp_path / "bad.relay").write_text("bad")
    (tmp_path / "net.tflite").write_text("net")
    compiling = ("compile", "-o", tmp_path / "p.tar")
    for words, told in {
        (*compiling, file): "--target is missing",
        (*compiling, "--target", "moon", file): "needs to be a TVM target",
        (*compiling, "--target", "llvm", "--target-cuda-arch", "sm_80", file): "specify cuda",
        (*compiling, "--target", "llvm", tmp_path / "none.relay"): "doesn't exist",
        (*compiling, "--target", "llvm", tmp_path / "net.tflite"): "tf2onnx --tflite",
        (*compiling, "--target", "llvm", tmp_path / "bad.relay"): "relay model",
        (*compiling, "--target", "llvm", "--dump-code", "moon", file): "legal: relay, tir, ll, asm",
        (*compiling, "--target", "llvm", "--tuning-records", "none", file): "do not exist",
        ("--config", "moon", *compiling, file): "Configuration 'moon'",
        ("run", tmp_path / "none.tar"): "doesn't exist",
        ("run", tmp_path / "bad.tar"): "cannot be read",
        ("run", "-i", tmp_path / "none.npz", tmp_path / "bad.tar"): "Error loading inputs file",
        ("tune", "--target", "llvm", "-o", file, file): "legal: a folder",
    }.items():
        assert run(*words) == 4
        assert told in capsys.readouterr().err
    assert not (tmp_path / "p.tar").exists()
    for words in (("moon",), ("compile", "--moon", file), ("-v",)):
        with pytest.raises(SystemExit):
            run(*words)
    with pytest.raises(tvmc.TVMCException, match="must be non-None"):
        tvmc.run(None, "cpu")  # type: ignore[arg-type]
    with pytest.raises(tvmc.TVMCException, match="Either mod and params"):
        tvmc.TVMCModel()


def test_devices_elsewhere(file: str, tmp_path: Path) -> None:
    model = tvmc.load(file, shape_dict={"x": [2, 3]})
    package = tvmc.compile(model, "llvm", package_path=str(tmp_path / "p.tar"))
    server = rpc.Server(host="127.0.0.1", port=9190, port_end=9290)
    try:
        result = tvmc.run(
            package, "cpu", hostname="127.0.0.1", port=server.port, inputs={"x": X},
            benchmark=True, repeat=2, number=1,
        )  # fmt: skip
        np.testing.assert_allclose(result.get_output("output_0"), wanted(model), rtol=1e-5)
        assert len(result.times.results) == 2
    finally:
        server.terminate()
    with pytest.raises(tvmc.TVMCException, match=r"run .* on cpu"):
        tvmc.run(package, "cpu", hostname="127.0.0.1", port=server.port)


def test_formats(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any) -> None:
    for name, path in {"onnx": "a.onnx", "pytorch": "a.b/c.PTH", "relay": "x.relay"}.items():
        assert type(guess_frontend(path)) is type(get_frontend_by_name(name))
    for ask, told in ((guess_frontend, "failed to infer"), (get_frontend_by_name, "unrecognized")):
        with pytest.raises(tvmc.TVMCException, match=told):
            ask("moon")
    (tmp_path / "a.onnx").write_text("")
    monkeypatch.setitem(sys.modules, "onnx", None)
    assert run("compile", "--target", "llvm", tmp_path / "a.onnx") == 5
    assert "pip install onnx" in capsys.readouterr().err


def test_commands_of_users() -> None:
    def adds(subparsers: Any, _: Any, config: Any) -> None:
        parser = subparsers.add_parser("hello")
        parser.set_defaults(func=lambda args: 7)
        for values in config:
            parser.set_defaults(**values)

    assert tvmc.register_parser(adds) is adds
    try:
        assert run("hello") == 7
    finally:
        REGISTERED_PARSER.remove(adds)


def test_tuned(file: str, tmp_path: Path) -> None:
    records = tmp_path / "records"
    words = ("tune", "--target", "llvm -num-cores=1", "--input-shapes", "x:[2,3]", "-o", records)
    assert run(*words, "--trials", 2, "--number", 1, "--seed", 0, file) == 0
    assert (records / "database_tuning_record.json").read_text().count("\n") >= 1
    model = tvmc.load(file, shape_dict={"x": [2, 3]})
    package = tvmc.compile(model, "llvm -num-cores=1", tuning_records=str(records))
    result = tvmc.run(package, "cpu", inputs={"x": X})
    np.testing.assert_allclose(result.get_output("output_0"), wanted(model), rtol=1e-5)


def test_the_process() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tvm.driver.tvmc", "run", "none.tar"], capture_output=True, text=True
    )
    assert done.returncode == 4
    assert done.stderr == "Error: 'none.tar' doesn't exist\n"
