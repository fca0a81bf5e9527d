"""The command line as a user meets it: results, exit codes, and every refusal's message."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from ml_dtypes import _ml_dtypes_ext
from onnx import TensorProto, helper

from tests.end_to_end.digits import MODEL, ONE_IMAGE, load_images, tvm, tvm_here
from tvm.runtime.digest import MARK

pytestmark = pytest.mark.cpu


@pytest.fixture
def image_file(tmp_path: Path) -> Path:
    path = tmp_path / "in.npz"
    np.savez(path, x=load_images()[0][:1])
    return path


def refused(*words: object) -> str:
    """The message of a command that is the user's mistake."""
    return _message(tvm_here(*words))


def refused_elsewhere(*words: object) -> str:
    """The same from a process of its own, for what might end it."""
    return _message(tvm(*words))


def _message(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    return done.stderr


# What works


def test_compile_tells_what_it_made(tmp_path: Path) -> None:
    out = tmp_path / "model.so"
    done = tvm("compile", MODEL, "-o", out, "--input-shapes", ONE_IMAGE, "--json")
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert record["output"] == str(out)
    assert record["bytes"] == out.stat().st_size
    assert record["inputs"] == [{"name": "x", "shape": [1, 1, 8, 8], "dtype": "float32"}]
    assert [r["shape"] for r in record["outputs"]] == [[1, 10]]
    assert list(tmp_path.iterdir()) == [out]


def test_compile_with_v_tells_the_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TVM_CACHE", "0")        # what was compiled before has fewer
    done = tvm_here("compile", MODEL, "-o", tmp_path / "m.so", "--input-shapes", ONE_IMAGE, "-v")
    assert done.returncode == 0
    for step in ("import", "compile", "write"):
        assert f"{step}: " in done.stderr
    assert "takes  x: float32 [1, 1, 8, 8]" in done.stdout


def test_run_writes_the_outputs(library: Path, image_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.npz"
    done = tvm("run", library, "--inputs", image_file, "--outputs", out, "--json")
    assert done.returncode == 0, done.stderr
    with np.load(out) as stored:
        (name,) = stored.files
        assert stored[name].shape == (1, 10)
        assert stored[name].argmax() == load_images()[1][0]
    assert json.loads(done.stdout)["outputs"][0]["name"] == name
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.npz", "out.npz"]


def test_bench_tells_latency_and_kernels(library: Path) -> None:
    done = tvm_here("bench", library, "--number", 3, "--repeat", 2, "--json")
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert 0 < record["latency_s"]["min"] <= record["latency_s"]["median"]
    sources = {node for kernel in record["kernels"] for node in kernel["sources"]}
    assert {"stem/conv", "stem/bn", "block1/add", "pool", "head/dense", "head/softmax"} <= sources


def test_bench_prints_a_table(library: Path, image_file: Path) -> None:
    done = tvm_here("bench", library, "--number", 3, "--repeat", 2, "--inputs", image_file)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("latency: median ")
    assert "kernel" in done.stdout
    assert "stem/conv" in done.stdout


def test_help_and_version() -> None:
    done = tvm("--help")
    assert "compile" in done.stdout
    assert done.returncode == 0
    assert "--input-shapes" in tvm_here("compile", "--help").stdout
    assert tvm_here("--version").stdout.startswith("tvm-py ")


# The command line itself


def test_unknown_command_offers_the_near_one() -> None:
    text = refused("compil")
    assert "no command 'compil'; did you mean 'compile'" in text
    assert "legal: compile, view, explain, run, bench" in text


def test_no_command() -> None:
    assert "COMMAND" in refused()


def test_missing_option(tmp_path: Path) -> None:
    assert "-o/--output" in refused("compile", MODEL)


def test_errors_as_json(tmp_path: Path) -> None:
    done = tvm_here("compile", tmp_path / "no.onnx", "-o", tmp_path / "m.so", "--json")
    assert done.returncode == 1
    assert "no 'no.onnx' in directory" in json.loads(done.stdout)["error"]["message"]


@pytest.mark.parametrize(
    ("shapes", "found"),
    [
        ("x[1,2]", "'x[1,2]' is not a name and a shape"),
        ("x:[1,a]", "dimension 'a' of 'x' is not a number from 0 up"),
        ("x:[1] x:[2]", "'x' is given twice"),
    ],
)
def test_bad_input_shapes(shapes: str, found: str, tmp_path: Path) -> None:
    command = ("compile", MODEL, "-o", tmp_path / "m.so", "--input-shapes", shapes)
    text = refused(*command)
    assert found in text
    assert text.count("\n") == 1
    assert "^" in refused(*command, "-v")  # where
    assert 'legal: "name:[dim,dim,...]"' in text


def test_shape_for_no_input(tmp_path: Path) -> None:
    text = refused("compile", MODEL, "-o", tmp_path / "m.so", "--input-shapes", "xs:[1,1,8,8]")
    assert "'xs', which is no input of the model; did you mean 'x'?" in text
    assert "legal: x" in text


def test_shape_that_the_model_rules_out(tmp_path: Path) -> None:
    text = refused("compile", MODEL, "-o", tmp_path / "m.so", "--input-shapes", "x:[1,3,8,8]")
    assert "found: [1, 3, 8, 8]" in text
    assert "legal: ['n', 1, 8, 8]" in text


def test_unknown_target_offers_the_near_one(tmp_path: Path) -> None:
    text = refused("compile", MODEL, "-o", tmp_path / "m.so", "--target", "lvm")
    assert "'lvm'" in text
    assert "did you mean 'llvm'?" in text
    assert list(tmp_path.iterdir()) == []


# Models


def test_missing_model(tmp_path: Path) -> None:
    text = refused("compile", tmp_path / "no" / "m.onnx", "-o", tmp_path / "m.so")
    assert f"no 'no' in directory {str(tmp_path)!r}" in text


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.9999])
def test_truncated_model(share: float, tmp_path: Path) -> None:
    whole = MODEL.read_bytes()
    cut = tmp_path / "cut.onnx"
    cut.write_bytes(whole[: int(len(whole) * share)])
    text = refused("compile", cut, "-o", tmp_path / "m.so")
    assert "is not an ONNX model" in text
    assert "cut short" in text
    assert not (tmp_path / "m.so").exists()


@pytest.mark.parametrize(
    "content", [b"", b"PK\x03\x04 a zip file", b"just some text\n", bytes(4096)]
)
def test_not_a_model(content: bytes, tmp_path: Path) -> None:
    other = tmp_path / "other.onnx"
    other.write_bytes(content)
    text = refused("compile", other, "-o", tmp_path / "m.so")
    assert "is not an ONNX model" in text
    assert "legal: a whole ONNX model" in text


def test_unsupported_operators_are_all_listed(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], name="first"),
        helper.make_node("Frobnicate", ["a"], ["b"], name="mid/frob"),
        helper.make_node("Relu", ["b"], ["c"], name="third"),
        helper.make_node("Wiggle", ["c"], ["d"], name="mid/wiggle", domain="com.example"),
        helper.make_node("Frobnicate", ["d"], ["y"], name="last/frob"),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.example", 1)]
    path = tmp_path / "odd.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets), path)
    text = refused("compile", path, "-o", tmp_path / "m.so")
    for word in ("Frobnicate", "mid/frob", "last/frob", "Wiggle", "mid/wiggle"):
        assert word in text
    assert "first" not in text


# Inputs of a compiled library


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"x": np.zeros((1, 1, 8, 8), np.float64)}, ["x", "float64", "float32"]),
        ({"x": np.zeros((1, 1, 8, 9), np.float32)}, ["x", "9", "8"]),
        ({"x": np.zeros((1, 8, 8), np.float32)}, ["x", "3", "4"]),
        ({}, ["lacks inputs", "missing: x"]),
        ({"xx": np.zeros((1, 1, 8, 8), np.float32)}, ["'xx'", "did you mean 'x'?"]),
        (
            {"x": np.zeros((1, 1, 8, 8), np.float32), "q": np.zeros(1)},
            ["'q'", "no input", "x: float32 [1, 1, 8, 8]"],
        ),
    ],
    ids=["dtype", "shape", "rank", "missing", "misspelt", "too many"],
)
def test_inputs_that_do_not_fit(
    arrays: dict[str, np.ndarray], words: list[str], library: Path, tmp_path: Path
) -> None:
    inputs, out = tmp_path / "in.npz", tmp_path / "out.npz"
    np.savez(inputs, **arrays)
    text = refused("run", library, "--inputs", inputs, "--outputs", out)
    for word in words:
        assert word in text
    assert not out.exists()


@pytest.mark.parametrize("content", [b"", b"nothing of the kind", b"PK\x03\x04 cut"])
def test_inputs_that_are_no_arrays(content: bytes, library: Path, tmp_path: Path) -> None:
    inputs = tmp_path / "in.npz"
    inputs.write_bytes(content)
    text = refused("run", library, "--inputs", inputs, "--outputs", tmp_path / "out.npz")
    assert "cannot read the inputs" in text
    assert "legal: an .npz file" in text


def test_objects_are_never_loaded(library: Path, tmp_path: Path) -> None:
    inputs = tmp_path / "in.npz"
    np.savez(inputs, x=np.array([{"an": "object"}], dtype=object))
    text = refused("run", library, "--inputs", inputs, "--outputs", tmp_path / "out.npz")
    assert "cannot read the inputs" in text


@pytest.mark.parametrize("content", [b"", b"\x7fELF and no more", b"some text"])
def test_not_a_library(content: bytes, image_file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.so"
    other.write_bytes(content)
    out = tmp_path / "out.npz"
    text = refused_elsewhere("run", other, "--inputs", image_file, "--outputs", out)
    assert repr(str(other)) in text
    assert "legal: a " in text


@pytest.mark.parametrize("share", [0.001, 0.1, 0.5, 0.9, 0.999])
def test_truncated_library(
    share: float, library: Path, image_file: Path, tmp_path: Path
) -> None:
    whole = library.read_bytes()
    cut = tmp_path / "cut.so"
    cut.write_bytes(whole[: int(len(whole) * share)])
    text = refused_elsewhere("run", cut, "--inputs", image_file, "--outputs", tmp_path / "out.npz")
    size = whole.rindex(MARK)  # the seal behind the library is no part of it
    assert f"bytes of a library of {size}: it is cut short" in text


def test_library_of_something_else(image_file: Path, tmp_path: Path) -> None:
    other = _ml_dtypes_ext.__file__
    text = refused("run", other, "--inputs", image_file, "--outputs", tmp_path / "out.npz")
    assert f"cannot load {other!r}" in text
    assert "legal: a library that `tvm compile` wrote" in text


def test_file_of_another_kind(image_file: Path, tmp_path: Path) -> None:
    text = refused("run", image_file, "--inputs", image_file, "--outputs", tmp_path / "out.npz")
    assert "the suffix '.npz'" in text


def test_missing_library(tmp_path: Path) -> None:
    assert "cannot read the library" in refused("bench", tmp_path / "no.so")


def test_bench_needs_sizes_for_open_shapes(tmp_path: Path) -> None:
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 2])],
    )
    model, path = tmp_path / "open.onnx", tmp_path / "open.so"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), model)
    assert tvm_here("compile", model, "-o", path).returncode == 0
    text = refused("bench", path)
    assert "leaves dimensions open" in text
    assert "--inputs" in text


@pytest.mark.parametrize("number", ["0", "-1", "many"])
def test_bench_counts(number: str, library: Path) -> None:
    assert "--number" in refused("bench", library, "--number", number)


# Places that cannot be written


def _unwritable(tmp_path: Path) -> list[Path]:
    """A missing folder, a file in its place, a folder itself, and one that refuses everybody.

    /proc refuses new files even to root, whom permission bits do not stop.
    """
    a_file, a_folder = tmp_path / "file", tmp_path / "folder.so"
    a_file.write_bytes(b"")
    a_folder.mkdir()
    return [tmp_path / "no" / "m.so", a_file / "m.so", a_folder, Path("/proc/m.so")]


@pytest.mark.parametrize("which", range(4), ids=["missing", "file", "folder", "read-only"])
def test_library_to_where_nothing_can_be_written(which: int, tmp_path: Path) -> None:
    out = _unwritable(tmp_path)[which]
    before = sorted(tmp_path.rglob("*"))
    text = refused("compile", MODEL, "-o", out, "--input-shapes", ONE_IMAGE)
    assert f"cannot write the library {str(out)!r}" in text
    assert sorted(tmp_path.rglob("*")) == before


def test_library_of_no_known_form(tmp_path: Path) -> None:
    text = refused("compile", MODEL, "-o", tmp_path / "m.xyz", "--input-shapes", ONE_IMAGE)
    assert "suffix '.xyz'" in text
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("which", range(4), ids=["missing", "file", "folder", "read-only"])
def test_outputs_to_where_nothing_can_be_written(
    which: int, library: Path, image_file: Path, tmp_path: Path
) -> None:
    out = _unwritable(tmp_path)[which]
    text = refused("run", library, "--inputs", image_file, "--outputs", out)
    assert f"cannot write the outputs {str(out)!r}" in text


def test_failed_compile_leaves_the_old_library(tmp_path: Path) -> None:
    out = tmp_path / "m.so"
    out.write_bytes(b"the old one")
    bad = tmp_path / "bad.onnx"
    bad.write_bytes(b"not a model")
    refused("compile", bad, "-o", out)
    assert out.read_bytes() == b"the old one"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.onnx", "m.so"]
