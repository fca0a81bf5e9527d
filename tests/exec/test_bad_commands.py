"""Command lines that cannot be carried out: each is refused in one message, whatever is wrong."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from tvm.exec import cli

pytestmark = pytest.mark.cpu
onnx = pytest.importorskip("onnx")
TO = ["-o", "o.so"]
IO = ["--inputs", "in.npz", "--outputs", "out.npz"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A good model, its library and inputs, and damaged ones of each kind."""
    made = tmp_path_factory.mktemp("commands")
    helper = onnx.helper
    x, y = (helper.make_tensor_value_info(name, 1, ["n", 4]) for name in "xy")

    def save(name: str, *, node: str = "Relu", source: str = "x", **data: object) -> None:
        graph = helper.make_graph([helper.make_node(node, [source], ["y"])], "g", [x], [y])
        if data:
            weight = onnx.numpy_helper.from_array(np.ones((4, 4), "float32"), "w")
            weight.ClearField("raw_data")
            weight.data_location = 1
            for key, value in data.items():
                entry = weight.external_data.add()
                entry.key, entry.value = key, str(value)
            graph.node[0].CopyFrom(helper.make_node("MatMul", ["x", "w"], ["y"]))
            graph.initializer.append(weight)
        opset = [helper.make_opsetid("", 17)]
        model = helper.make_model(graph, opset_imports=opset)
        (made / name).write_bytes(model.SerializeToString())

    save("m.onnx")
    save("unknown.onnx", node="Nope")
    save("dangling.onnx", source="q")
    save("far.onnx", location="small.bin", offset=100, length=64)
    save("up.onnx", location="../../etc/passwd", offset=0, length=64)
    save("huge.onnx", location="small.bin", offset=0, length=2**62)
    save("words.onnx", location="small.bin", offset="x", length="y")
    good = (made / "m.onnx").read_bytes()
    deep = b"[" * 100_000
    for name, content in {
        "small.bin": bytes(10), "cut.onnx": good[: len(good) // 2], "empty.onnx": b"",
        "latin.py": b"# \xe9\xff\n", "syntax.py": b"def f(:\n", "nul.py": b"a\0b",
        "deep.py": b"(" * 5000, "evil.py": b"import os\nos.mkdir('made')\n", "empty.py": b"",
        "words.txt": b"hello", "bad.relay": b"fn (%x) {", "latin.json": b"\xff\xff",
        "deep.json": deep, "null.json": b"null", "object.json": b"{}", "text.so": b"x",
        "elf.so": b"\x7fELF" + bytes(300), "bad.tar": b"x" * 600, "bad.o": b"\1" * 99,
        "bad.npz": b"x", "bad.pub": b"x", "bad.key": b"\xff", "bad.gguf": b"GGUF" + b"\xff" * 40,
    }.items():  # fmt: skip
        (made / name).write_bytes(content)
    np.savez(made / "in.npz", x=np.ones((2, 4), "float32"))
    for name, arrays in {
        "name": {"z": np.ones((2, 4), "float32")}, "type": {"x": np.ones((2, 4))},
        "shape": {"x": np.ones((2, 5), "float32")}, "rank": {"x": np.ones(4, "float32")},
        "complex": {"x": np.ones((2, 4), "complex64")}, "text": {"x": np.array(["a"])},
        "object": {"x": np.array([{}], dtype=object)}, "none": {},
    }.items():  # fmt: skip
        np.savez(made / f"{name}.npz", **arrays)  # type: ignore[arg-type]
    (made / "folder").mkdir()
    (made / "lm").mkdir()
    (made / "lm" / "config.json").write_bytes(deep)
    os.mkfifo(made / "pipe.onnx")
    os.mkfifo(made / "pipe.so")
    (made / "endless.onnx").symlink_to("/dev/zero")
    (made / "loop.onnx").symlink_to("loop.onnx")
    assert cli.main(["compile", str(made / "m.onnx"), "-o", str(made / "m.so")]) == cli.OK
    flipped = bytearray((made / "m.so").read_bytes())
    flipped[len(flipped) // 2] ^= 255
    (made / "flipped.so").write_bytes(flipped)
    return made


PROGRAMS = [
    "missing.onnx", "unknown.onnx", "dangling.onnx", "far.onnx", "up.onnx", "huge.onnx",
    "words.onnx", "cut.onnx", "empty.onnx", "latin.py", "syntax.py", "nul.py", "deep.py",
    "evil.py", "empty.py", "words.txt", "bad.relay", "latin.json", "deep.json", "null.json",
    "object.json", "small.bin", "folder", "pipe.onnx", "endless.onnx", "loop.onnx", "", "/dev/null",
    "\udcff.onnx", "a" * 5000 + ".onnx", "a\0.onnx",
]  # fmt: skip
LIBRARIES = [
    "missing.so", "text.so", "elf.so", "flipped.so", "pipe.so", "folder", "bad.tar", "bad.o", "",
]  # fmt: skip
ARRAYS = [
    "missing.npz", "name.npz", "type.npz", "shape.npz", "rank.npz", "complex.npz", "text.npz",
    "object.npz", "none.npz", "bad.npz", "folder", "m.so",
]  # fmt: skip
OUTPUTS = ["o", "o.xyz", "", "missing/o.so", "folder", "/proc/o.so", "a\0.so", "a" * 300 + ".so"]
TARGETS = ["", "xx", "llvm -mcpu=nope", "llvm -mtriple=nope", "llvm -foo", "{}", '{"kind": 3}',
           "[" * 5000, "llvm -mcpu", "nvidia/nope", "\udcff"]  # fmt: skip
SHAPES = ["x", "x:", "x:[", "x:[a,4]", "x:[-1,4]", "x:[2]", "z:[2,4]", "x:[2,4] x:[2,4]", " :[1]",
          "x:[99999999999999999999,4]", "x:[2,5]", "x:[1.5,4]"]  # fmt: skip
SIZES = ["x", "x:2", "x:2,4;", "x:2,4,5", "z:1,4", "x:-1,4", "x:a,4", "x:2,5", ";"]
COMMANDS = [
    *(["compile", name, *TO] for name in PROGRAMS),
    *(["compile", "m.onnx", "-o", name] for name in OUTPUTS),
    *(["compile", "m.onnx", *TO, "--target", text] for text in TARGETS),
    *(["compile", "m.onnx", *TO, "--input-shapes", text] for text in SHAPES),
    *(["compile", "m.onnx", *TO, "--shapes", text] for text in SIZES),
    *(["run", name, *IO] for name in LIBRARIES),
    *(["run", "m.so", "--inputs", name, "--outputs", "out.npz"] for name in ARRAYS),
    *(["run", "m.so", *IO, "--trusted-key", name] for name in ("missing", "bad.pub", "folder")),
    *(["tune", "m.onnx", *TO, "--budget", text] for text in ("", "x", "-5s", "0s", "nans", "5d")),
    *(["tune", "m.onnx", *TO, "--records", text] for text in ("mysql://x", "x://y", "m.onnx")),
    *(["bench", "m.so", "--number", text] for text in ("-1", "0", "x", "1.5")),
    *(["view", name, "--out", "p.html"] for name in ("deep.json", "object.json", "bad.o")),
    *(["serve", name] for name in ("missing", "lm", "folder", "bad.gguf", "m.onnx", "")),
    *(["verify", "m.so", "--trusted-key", name] for name in ("missing", "bad.key", "folder")),
    ["compile"], ["compile", "m.onnx"], ["compile", "m.onnx", *TO, "--opt-level", "9"], [],
    ["nope"], ["--nope"], ["tune", "m.onnx", *TO, "--seed", "x"], ["explain", "deep.json"],
    ["view", "m.onnx", "--port", "x"], ["view", "m.onnx", "--no-times", "--no-browser", "--port",
     "99999"], ["view", "m.onnx", "--out", "missing/p.html"], ["diff", "m.onnx"],
    ["diff", "m.onnx", "missing"], ["sign", "m.so", "--key", "bad.key"], ["sign", "missing",
     "--key", "bad.key"], ["keygen", ""], ["keygen", "missing/k"], ["keygen", "a" * 300],
    ["cache", "nope"], ["info", "x"], ["bench", "m.onnx", "--vs", "nope"], ["verify", "m.so"],
]  # fmt: skip


def test_each_is_refused_in_one_message(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    before = sorted(folder.iterdir())
    faults = []
    for words in COMMANDS:
        code = cli.main([*words, "--json"] if words and words[0] in cli.COMMANDS else words)
        told = capsys.readouterr()
        record = json.loads(told.out) if told.out.strip() else {"error": told.err}
        if code != cli.MISTAKE or "Traceback" in told.err or not record.get("error"):
            faults.append((words, code, told.err[-300:]))
    assert not faults
    assert sorted(folder.iterdir()) == before
