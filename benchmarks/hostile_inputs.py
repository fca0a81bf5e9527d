"""Good inputs of each kind, how they are read, and ways to damage them.

An area is a corpus and a reader; a reader gets one damaged input as bytes. Damage is done to bytes,
to words (of text: a number becomes another, a name the name of something else), or to the parts of
a protocol buffer, so that a good part of the damaged inputs is still well-formed and reaches what
lies behind the parser.
"""

from __future__ import annotations

import functools
import json
import math
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

import tvm
from tvm.error import BoundsError, TVMError
from tvm.script import relax as R
from tvm.script import tir as T

Random = np.random.Generator
Damage = Callable[[bytes, Random], bytes]
Reader = Callable[[bytes], object]
CORPUS: Final = Path(__file__).parent / "corpus"


@dataclass(frozen=True)
class Area:
    """Good inputs, a reader of them, and how they are damaged."""

    corpus: list[bytes]
    read: Reader
    damage: tuple[Damage, ...]


# --- damage ---


def bytes_changed(content: bytes, random: Random) -> bytes:
    """One to four places replaced, deleted, doubled, or taken from elsewhere."""
    for _ in range(int(random.integers(1, 5))):
        at = int(random.integers(0, max(len(content), 1)))
        length = int(random.integers(1, 9))
        piece = content[at : at + length]
        away = int(random.integers(0, max(len(content), 1)))
        new = [
            bytes([int(random.integers(0, 256))]),
            b"",
            piece * 2,
            content[away : away + length],
            bytes([int(random.integers(32, 127))]),
        ][int(random.integers(0, 5))]
        keeps = len(new) == 1
        content = content[:at] + new + content[at + (1 if keeps else len(piece)) :]
    return content


_WORD: Final = re.compile(rb"-?\d+\.\d*(?:[eE][-+]?\d+)?|-?\d+|[A-Za-z_][\w.]*|\s+|.", re.DOTALL)
_NUMBERS: Final = (
    b"0", b"1", b"-1", b"2", b"3", b"7", b"64", b"127", b"255", b"65536", b"2147483647",
    b"-2147483648", b"4294967296", b"9223372036854775807", b"-9223372036854775808",
    b"18446744073709551616", b"1e400", b"nan", b"inf", b"-0.0", b"0.5",
)  # fmt: skip


def words_changed(content: bytes, random: Random) -> bytes:
    """One to three words replaced by others of their kind, left out, doubled, or exchanged."""
    words = _WORD.findall(content)
    kinds = [_kind(word) for word in words]
    places = [at for at, kind in enumerate(kinds) if kind != "space"]
    for _ in range(int(random.integers(1, 4))):
        at = places[int(random.integers(0, len(places)))]
        same = [w for w, kind in zip(words, kinds) if kind == kinds[at]]
        choice = int(random.integers(0, 8))
        if choice < 3:
            words[at] = same[int(random.integers(0, len(same)))]
        elif choice < 5 and kinds[at] == "number":
            words[at] = _NUMBERS[int(random.integers(0, len(_NUMBERS)))]
        elif choice == 5:
            words[at] = b""
        elif choice == 6:
            words[at] *= 2
        else:
            other = places[int(random.integers(0, len(places)))]
            words[at], words[other] = words[other], words[at]
    return b"".join(words)


def _kind(word: bytes) -> str:
    if word.isspace():
        return "space"
    if word[:1].isdigit() or word[1:2].isdigit():
        return "number"
    return "name" if word[:1].isalpha() or word[:1] == b"_" else "sign"


def json_line_changed(content: bytes, random: Random) -> bytes:
    """Values of one line of JSON changed."""
    lines = content.split(b"\n")
    full = [at for at, line in enumerate(lines) if line.strip()]
    at = full[int(random.integers(0, len(full)))]
    lines[at] = json_changed(lines[at], random)
    return b"\n".join(lines)


def json_changed(content: bytes, random: Random) -> bytes:
    """One to three values of JSON replaced by others, left out, or doubled."""
    holder = [json.loads(content)]
    for _ in range(int(random.integers(1, 4))):
        places = list(_places(holder))
        inside, key = places[int(random.integers(0, len(places)))]
        away, other = places[int(random.integers(0, len(places)))]
        choice = int(random.integers(0, 6))
        if choice < 2:
            inside[key] = _VALUES[int(random.integers(0, len(_VALUES)))]
        elif choice < 4:
            inside[key] = json.loads(json.dumps(away[other]))
        elif choice == 4 and inside is not holder:
            del inside[key]
        elif isinstance(inside, list) and inside is not holder:
            inside.insert(int(key), json.loads(json.dumps(inside[key])))
    return json.dumps(holder[0]).encode()


def word_changed_everywhere(content: bytes, random: Random) -> bytes:
    """One word (a number, a name, a type) replaced by another wherever it stands."""
    words = _WORD.findall(content)
    several = sorted({word for word in words if _kind(word) in ("number", "name")})
    old = several[int(random.integers(0, len(several)))]
    same = [word for word in several if _kind(word) == _kind(old)]
    if _kind(old) == "number" and random.random() < 0.6:
        same = list(_NUMBERS)
    new = same[int(random.integers(0, len(same)))]
    return b"".join(new if word == old else word for word in words)


_VALUES: Final = (
    None, True, 0, -1, 1, 1.5, 2**31, 2**63, -(2**63), 2**70, float("nan"), float("inf"), 1e-300,
    "", "a", "\ud800", "\x00", "0", "float32", "int99", [], [0], [[]], {}, {"type": "x"},
)  # fmt: skip


def _places(holder: list[Any]) -> Iterator[tuple[Any, Any]]:
    todo: list[Any] = [holder]
    while todo:
        inside = todo.pop()
        for key in list(inside) if isinstance(inside, dict) else range(len(inside)):
            yield inside, key
            if isinstance(inside[key], (dict, list)):
                todo.append(inside[key])


_INTS: Final = (0, 1, -1, 2, 3, 7, -2, 15, 255, 2**31 - 1, -(2**31), 2**31, 2**62, 2**63 - 1,
                -(2**63), 10**6, 5)  # fmt: skip


def proto_changed(content: bytes, random: Random) -> bytes:
    """One to three fields of an ONNX model changed: the file parses still."""
    import onnx

    model = onnx.ModelProto.FromString(content)
    for _ in range(int(random.integers(1, 4))):
        messages = list(_messages(model))
        message = messages[int(random.integers(0, len(messages)))]
        set_fields = message.ListFields()
        if set_fields:
            descriptor, value = set_fields[int(random.integers(0, len(set_fields)))]
            _change(message, descriptor, value, messages, random)
    return model.SerializeToString()


def extent_changed(content: bytes, random: Random) -> bytes:
    """An ONNX model one of whose inputs is a little longer or shorter than the others ask for."""
    import onnx

    model = onnx.ModelProto.FromString(content)
    dims = [
        dim for value in model.graph.input for dim in value.type.tensor_type.shape.dim
        if dim.HasField("dim_value")
    ]  # fmt: skip
    if dims:
        dim = dims[int(random.integers(0, len(dims)))]
        size = dim.dim_value
        dim.dim_value = max(0, int(random.choice([size - 1, size + 1, 1, 2 * size, size // 2])))
    changed: bytes = model.SerializeToString()
    return changed


def _messages(root: Any) -> Iterator[Any]:
    todo = [root]
    while todo:
        message = todo.pop()
        yield message
        for descriptor, value in message.ListFields():
            if descriptor.type == descriptor.TYPE_MESSAGE:
                todo += list(value) if hasattr(value, "__len__") else [value]


def _change(message: Any, field: Any, value: Any, messages: list[Any], random: Random) -> None:
    """Another value in one field that is set."""

    def pick(options: Any) -> Any:
        return options[int(random.integers(0, len(options)))]

    def put(target: Any, source: Any) -> None:  # one may lie in the other
        target.ParseFromString(source.SerializeToString())

    repeated = hasattr(value, "__len__") and not isinstance(value, (str, bytes))
    if random.random() < 0.12:
        message.ClearField(field.name)
    elif field.type == field.TYPE_MESSAGE:
        if not repeated:
            put(value, pick([m for m in messages if type(m) is type(value)]))
            return
        way = int(random.integers(0, 3))
        if way == 0:
            del value[int(random.integers(0, len(value)))]
        elif way == 1:
            put(value.add(), value[int(random.integers(0, len(value) - 1))])
        else:
            of_kind = [m for m in messages if type(m) is type(value[0])]
            put(value[int(random.integers(0, len(value)))], pick(of_kind))
    else:
        new = _scalar(message, field, messages, random)
        try:
            if not repeated:
                setattr(message, field.name, new)
            elif random.random() < 0.3:
                del value[int(random.integers(0, len(value)))]
            elif random.random() < 0.5:
                value.append(new)
            else:
                value[int(random.integers(0, len(value)))] = new
        except (ValueError, TypeError):  # out of the range of the field
            message.ClearField(field.name)


def _scalar(message: Any, field: Any, messages: list[Any], random: Random) -> Any:
    def pick(options: Any) -> Any:
        return options[int(random.integers(0, len(options)))]

    if field.type in (field.TYPE_STRING, field.TYPE_BYTES):
        others = [
            getattr(m, field.name)
            for m in messages
            if type(m) is type(message) and isinstance(getattr(m, field.name), (str, bytes))
        ]
        text = field.type == field.TYPE_STRING
        odd = ["", "x" * 2000, "a b", "\n", "é", "Add", "Reshape", "Loop", "Gather", "constant"]
        return pick([*others, *(odd if text else [word.encode() for word in odd] + [b"\xff"])])
    if field.type in (field.TYPE_FLOAT, field.TYPE_DOUBLE):
        return pick([0.0, -1.0, 1e38, float("nan"), float("inf"), 1e-45])
    return pick(_INTS if random.random() < 0.5 else [*range(-3, 24)])


# --- areas ---


@tvm.script.ir_module
class Program:
    @T.prim_func(private=True)
    def double(x: T.Buffer((4, 8), "float32"), y: T.Buffer((4, 8), "float32")):
        for i, j in T.grid(4, 8):
            with T.block("double"):
                vi, vj = T.axis.remap("SS", [i, j])
                if vi < 3:
                    y[vi, vj] = x[vi, vj] * T.float32(2)
                else:
                    y[vi, vj] = T.exp(x[vi, vj])

    @T.prim_func(private=True)
    def rows(a: T.handle, b: T.handle, n: T.int64):
        m = T.int64()
        x = T.match_buffer(a, (m, 8), "float16")
        y = T.match_buffer(b, (m,), "int32", strides=(2,), offset_factor=4)
        s = T.alloc_buffer((8,), "float32", scope="local")
        for i in T.parallel(m):
            for j in T.vectorized(8):
                with T.block("rows"):
                    vi = T.axis.spatial(m, i)
                    vj = T.axis.reduce(8, j)
                    T.where(i < n)
                    T.reads(x[vi, vj])
                    T.writes(y[vi], s[vj])
                    with T.init():
                        y[vi] = 0
                    s[vj] = T.Cast("float32", x[vi, vj])
                    y[vi] = y[vi] + T.Select(s[vj] > T.float32(0), 1, T.shift_left(2, 1))

    @R.function
    def main(x: R.Tensor((4, 8), "float32")) -> R.Tensor((4, 8), "float32"):
        cls = Program
        with R.dataflow():
            lv = R.call_tir(cls.double, (x,), out_sinfo=R.Tensor((4, 8), "float32"))
            gv = R.nn.relu(R.add(lv, x))
            R.output(gv)
        return gv

    @R.function
    def second(
        x: R.Tensor(("n", 8), "float32"), w: R.Tensor((8, 4), "float32"), p: R.Prim("bool")
    ) -> R.Tuple(R.Tensor(("n", 4), "float32"), R.Shape(["n", 4])):
        n = T.int64()
        if p:
            y = R.matmul(x, R.const(np.ones((8, 4), "float32")))
        else:
            y = R.permute_dims(R.matmul(w, x, out_dtype="float32"), axes=[1, 0])
        z: R.Tensor((n, 4), "float32") = R.nn.softmax(y, axis=-1)
        s = R.shape([n, 4])
        return (R.reshape(z, s), s)


@functools.cache
def _models() -> list[bytes]:
    """The models of ONNX's own cases, the small ones."""
    from tests.relax.frontend.onnx.conformance import node_cases

    found = [case.model.SerializeToString() for case in node_cases()]
    return [model for model in found if len(model) < 4000]


def _network() -> bytes:
    from onnx import TensorProto, helper, numpy_helper

    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 6, 6])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("MaxPool", ["b"], ["c"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Reshape", ["c", "s"], ["d"]),
        helper.make_node("Softmax", ["d"], ["y"], axis=-1),
    ]
    weights = [
        numpy_helper.from_array(np.ones((3, 2, 3, 3), "float32"), "w"),
        numpy_helper.from_array(np.array([1, -1]), "s"),
    ]
    graph = helper.make_graph(nodes, "g", [x], [y], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    return bytes(model.SerializeToString())


def _imported(content: bytes) -> Any:
    import onnx
    from google.protobuf.message import DecodeError

    from tvm.relax.frontend.onnx import from_onnx

    try:
        return from_onnx(onnx.ModelProto.FromString(content))
    except DecodeError as err:
        raise TVMError(str(err)) from err


def _onnx() -> Area:
    return Area([_network()], _imported, (bytes_changed, proto_changed))


def _onnx_operators() -> Area:
    return Area(_models(), _imported, (proto_changed, proto_changed, bytes_changed))


def _onnx_run() -> Area:
    """Imported, compiled and run on random numbers, in memory between pages that are watched."""
    os.environ["TVM_DEBUG_MEMORY"] = "1"

    def read(content: bytes) -> object:
        mod = _imported(content)
        vm = tvm.relax.VirtualMachine(tvm.compile(mod, target="llvm"), tvm.cpu())
        given = [_value(param.struct_info) for param in mod["main"].params]
        try:
            return vm["main"](*given)
        except BoundsError as err:
            if "keeps to its buffers" in str(err):
                raise AssertionError(str(err)) from None
            raise

    return Area(_models(), read, (proto_changed, extent_changed))


_MAX_ELEMENTS: Final = 1 << 16


def _value(info: Any) -> Any:
    shape = [3 if not hasattr(n, "value") else int(n.value) for n in getattr(info, "shape", ())]
    if not isinstance(info, tvm.relax.TensorStructInfo) or math.prod(shape) > _MAX_ELEMENTS:
        raise TVMError("no value is made of this")
    random = np.random.default_rng(len(shape))
    values = random.integers(-9, 9, shape)
    kind = tvm.runtime._tensor.numpy_dtype(tvm.DataType(info.dtype))
    return tvm.runtime.tensor(np.asarray(values).astype(kind))


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")


def _stablehlo() -> Area:
    from jaxlib.mlir import ir  # noqa: F401 - without it there is no such area

    from tvm.relax.frontend.stablehlo import from_stablehlo

    corpus = [path.read_bytes() for path in sorted(CORPUS.glob("*.mlir"))]
    return Area(
        corpus,
        lambda content: from_stablehlo(_text(content)),
        (word_changed_everywhere, words_changed),
    )


def _script() -> Area:
    text = Program.script(show_meta=True).encode()
    return Area(
        [text],
        lambda content: tvm.script.from_source(_text(content)),
        (word_changed_everywhere, words_changed, bytes_changed),
    )


def _json() -> Area:
    return Area(
        [tvm.ir.save_json(Program).encode()],
        lambda content: tvm.ir.load_json(_text(content)),
        (json_changed, bytes_changed),
    )


def _scheduled() -> Any:
    sch = tvm.tir.Schedule(Program["double"], seed=1)
    block = sch.get_block("double")
    i, j = sch.get_loops(block)
    tiles = sch.sample_perfect_tile(j, n=2)
    outer, inner = sch.split(j, factors=tiles)
    sch.reorder(outer, i, inner)
    sch.vectorize(inner)
    sch.annotate(block, "note", "text")
    return sch


def _trace() -> Area:
    def read(content: bytes) -> object:
        new = tvm.tir.Schedule(Program["double"])
        tvm.tir.schedule.Trace.apply_json_to_schedule(_text(content), new)
        return new.mod

    return Area(
        [json.dumps(_scheduled().trace.as_json()).encode()], read, (json_changed, bytes_changed)
    )


_LINES: Final = "\n\n"  # between the two files of a database


def _database() -> Area:
    """A tuning database: two files of lines, and what is asked of it."""
    from tvm import meta_schedule as ms

    module = tvm.IRModule({"main": Program["double"].with_attr("global_symbol", "main")})
    with tempfile.TemporaryDirectory() as folder:
        made = ms.database.JSONDatabase(work_dir=folder)
        workload = made.commit_workload(module)
        for seconds in (0.5, 0.25):
            made.commit_tuning_record(
                ms.database.TuningRecord(
                    _scheduled().trace, workload, [seconds], tvm.target.Target("llvm"),
                    ms.arg_info.ArgInfo.from_prim_func(module["main"]),
                )
            )  # fmt: skip
        files = [Path(made.path_workload), Path(made.path_tuning_record)]
        content = _LINES.join(path.read_text() for path in files).encode()

    def read(content: bytes) -> object:
        with tempfile.TemporaryDirectory() as folder:
            first, _, second = content.partition(_LINES.encode())
            (Path(folder) / files[0].name).write_bytes(first + b"\n")
            (Path(folder) / files[1].name).write_bytes(second)
            found = ms.database.JSONDatabase(work_dir=folder)
            best = found.query_tuning_record(module, tvm.target.Target("llvm"), "main")
            if best is not None and not 0 < float(best.run_secs[0]) < 1e10:
                raise AssertionError(f"ranked as best: {best.run_secs}")
            return found.query_schedule(module, tvm.target.Target("llvm"), "main")

    return Area([content], read, (json_line_changed, words_changed, bytes_changed))


def _parameters() -> Area:
    values = {"w": np.ones((4, 5), "float32"), "b": np.zeros(7, "int8")}
    return Area(
        [bytes(tvm.runtime.save_param_dict(values))],
        tvm.runtime.load_param_dict,
        (bytes_changed,),
    )


def _from_file(name: str, load: Callable[[str], object]) -> Reader:
    def read(content: bytes) -> object:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            path.write_bytes(content)
            return load(str(path))

    return read


def _sealed_parameters() -> Area:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "p.params"
        tvm.runtime.save_param_dict_to_file({"w": np.ones((4, 5), "float32")}, path)
        whole = path.read_bytes()
    load = tvm.runtime.load_param_dict_from_file
    return Area([whole], _from_file("p.params", load), (bytes_changed,))


def _library(suffix: str) -> Callable[[], Area]:
    """An exported library, loaded and run."""

    def area() -> Area:
        x = tvm.te.placeholder((16,), name="x")
        y = tvm.te.compute((16,), lambda i: x[i] * 2.0 + 1.0, name="y")
        built = tvm.compile(tvm.te.create_prim_func([x, y]), target="llvm")
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / f"m{suffix}")
            if suffix in (".ll", ".bc"):
                built.mod.write_to_file(path, suffix[1:])
            else:
                built.export_library(path)
            whole = Path(path).read_bytes()

        def load(path: str) -> object:
            module = tvm.runtime.load_module(path)
            given = tvm.runtime.tensor(np.arange(16, dtype="float32"))
            out = tvm.runtime.empty((16,), "float32")
            module["main"](given, out)
            if not np.array_equal(out.numpy(), np.arange(16) * 2.0 + 1.0):
                raise AssertionError("other numbers")
            return module

        return Area([whole], _from_file(f"m{suffix}", load), (bytes_changed,))

    return area


def _relay() -> Area:
    from tvm import relay

    text = (
        '#[version = "0.0.5"]\n'
        "def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(4, 8), float32]) {\n"
        "  %0 = nn.dense(%x, %w, units=4);\n"
        "  let %y = nn.relu(%0);\n"
        "  if (True) { add(%y, %0) } else { nn.softmax(%y, axis=-1) }\n}\n"
    )
    more = (
        '#[version = "0.0.5"]\n'
        "type List[A] { Cons(A, List[A]), Nil }\n"
        "def @len[A](%l: List[A]) -> int32 {\n"
        "  match (%l) { Cons(_, %t) => add(1, @len(%t)), Nil => 0 }\n}\n"
        "def @main(%x: Tensor[(?, 3, 8, 8), float32]) -> (Tensor[(?, 4, 8, 8), float32], int32) {\n"
        "  %0 = ones(shape=[4, 3, 3, 3], dtype=\"float32\");\n"
        "  %1 = nn.conv2d(%x, %0, padding=[1, 1, 1, 1], kernel_size=[3, 3], channels=4);\n"
        "  %f = fn (%a, %b) { multiply(%a, negative(%b)) };\n"
        "  (%f(%1, %1), 3)\n}\n"
    ).replace("  %f = fn", "  let %f = fn")  # fmt: skip
    return Area(
        [text.encode(), more.encode()],
        lambda content: relay.fromtext(_text(content)),
        (word_changed_everywhere, words_changed, bytes_changed),
    )


def _exported() -> Area:
    """A file of torch.export, read and imported."""
    import io

    import torch

    from tvm.relax.frontend.torch import from_exported_program

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = torch.nn.Conv2d(3, 4, 3)
            self.line = torch.nn.Linear(4, 5)

        def forward(self, x: Any) -> Any:
            return torch.softmax(self.line(torch.relu(self.conv(x)).mean((2, 3))), -1)

    target = io.BytesIO()
    torch.export.save(torch.export.export(Net().eval(), (torch.ones(1, 3, 8, 8),)), target)

    def read(content: bytes) -> object:
        try:
            program = torch.export.load(io.BytesIO(content))
        except Exception as err:  # torch's own reader
            raise TVMError(f"torch.export.load: {err}") from err
        return from_exported_program(program)

    return Area([target.getvalue()], read, (bytes_changed,))


def _of_models(name: str) -> Callable[[], Area]:
    """An area of `hostile_models.py`, which builds on this file."""

    def area() -> Area:
        from benchmarks import hostile_models

        made: Area = getattr(hostile_models, name)()
        return made

    return area


AREAS: Final[dict[str, Callable[[], Area]]] = {
    "ONNX models": _onnx,
    "ONNX operators": _onnx_operators,
    "ONNX operators, run": _onnx_run,
    "StableHLO text": _stablehlo,
    "torch.export files": _exported,
    "Relay text": _relay,
    "TVMScript": _script,
    "programs as JSON": _json,
    "traces of schedules": _trace,
    "tuning databases": _database,
    "parameters": _parameters,
    "parameter files": _sealed_parameters,
    "GGUF files": _of_models("gguf_files"),
    "safetensors files": _of_models("safetensors_files"),
    "configurations of models": _of_models("configurations"),
    "libraries .so": _library(".so"),
    "libraries .o": _library(".o"),
    "libraries .tar": _library(".tar"),
    "libraries .ll": _library(".ll"),
    "libraries .bc": _library(".bc"),
}
