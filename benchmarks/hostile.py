"""Damaged inputs, counted: what each kind of file does when its bytes are changed at random.

    python benchmarks/hostile.py [--count 300] [--seed 1] [--area NAME] [--write docs/trust.md]

Each attempt changes one to four places of a good file: a byte is replaced, a piece is deleted,
doubled, or taken from elsewhere in the file. It is read as it always is, in a process of its own
for each area. Outcomes: *same* (what is read is a program or values again), *refused* (an error of
the kinds that are for users), *raw* (any other exception), *crash* (the process ended), *hang*
(more than 20 seconds).
"""

from __future__ import annotations

import argparse
import collections
import json
import signal
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

import tvm
from tvm.error import TVMError
from tvm.script import relax as R
from tvm.script import tir as T

SECONDS: Final = 20
OUTCOMES: Final = ("same", "refused", "raw", "crash", "hang")
_MARK: Final = "## Damaged files, counted"
Reader = Callable[[bytes], object]


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

    @R.function
    def main(x: R.Tensor((4, 8), "float32")) -> R.Tensor((4, 8), "float32"):
        cls = Program
        with R.dataflow():
            lv = R.call_tir(cls.double, (x,), out_sinfo=R.Tensor((4, 8), "float32"))
            gv = R.nn.relu(R.add(lv, x))
            R.output(gv)
        return gv


class Hang(BaseException):
    """An attempt took too long."""


def _onnx() -> tuple[bytes, Reader]:
    import onnx
    from google.protobuf.message import DecodeError
    from onnx import TensorProto, helper, numpy_helper

    from tvm.relax.frontend.onnx import from_onnx

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

    def read(content: bytes) -> object:
        try:
            return from_onnx(onnx.ModelProto.FromString(content))
        except DecodeError as err:
            raise TVMError(str(err)) from err

    return model.SerializeToString(), read


def _script() -> tuple[bytes, Reader]:
    text = Program.script(show_meta=True).encode()
    return text, lambda content: tvm.script.from_source(content.decode("utf-8", "replace"))


def _json() -> tuple[bytes, Reader]:
    return tvm.ir.save_json(Program).encode(), lambda content: tvm.ir.load_json(
        content.decode("utf-8", "replace")
    )


def _trace() -> tuple[bytes, Reader]:
    sch = tvm.tir.Schedule(Program["double"], seed=1)
    block = sch.get_block("double")
    i, j = sch.get_loops(block)
    tiles = sch.sample_perfect_tile(j, n=2)
    outer, inner = sch.split(j, factors=tiles)
    sch.reorder(outer, i, inner)
    sch.vectorize(inner)
    sch.annotate(block, "note", "text")

    def read(content: bytes) -> object:
        new = tvm.tir.Schedule(Program["double"])
        tvm.tir.schedule.Trace.apply_json_to_schedule(content.decode("utf-8", "replace"), new)
        return new.mod

    return json.dumps(sch.trace.as_json()).encode(), read


def _parameters() -> tuple[bytes, Reader]:
    values = {"w": np.ones((4, 5), "float32"), "b": np.zeros(7, "int8")}
    return bytes(tvm.runtime.save_param_dict(values)), tvm.runtime.load_param_dict


def _sealed_parameters() -> tuple[bytes, Reader]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "p.params"
        tvm.runtime.save_param_dict_to_file({"w": np.ones((4, 5), "float32")}, path)
        whole = path.read_bytes()

    def read(content: bytes) -> object:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "p.params"
            path.write_bytes(content)
            return tvm.runtime.load_param_dict_from_file(path)

    return whole, read


def _relay() -> tuple[bytes, Reader]:
    from tvm import relay

    text = (
        '#[version = "0.0.5"]\n'
        "def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(4, 8), float32]) {\n"
        "  %0 = nn.dense(%x, %w, units=4);\n"
        "  let %y = nn.relu(%0);\n"
        "  if (True) { add(%y, %0) } else { nn.softmax(%y, axis=-1) }\n}\n"
    )
    return text.encode(), lambda content: relay.fromtext(content.decode("utf-8", "replace"))


AREAS: Final = {
    "ONNX models": _onnx, "TVMScript": _script, "programs as JSON": _json,
    "traces of schedules": _trace, "parameters": _parameters,
    "parameter files": _sealed_parameters, "Relay text": _relay,
}  # fmt: skip


def damaged(content: bytes, random: np.random.Generator) -> bytes:
    """The content with some places changed."""
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


def _attempts(area: str, count: int, seed: int) -> Iterator[tuple[str, str]]:
    content, read = AREAS[area]()
    read(content)
    random = np.random.default_rng(seed)

    def late(*_: Any) -> None:
        raise Hang

    signal.signal(signal.SIGALRM, late)
    for _ in range(count):
        tried = damaged(content, random)
        signal.alarm(SECONDS)
        try:
            read(tried)
            yield "same", ""
        except Hang:
            yield "hang", repr(tried[:200])
        except TVMError:
            yield "refused", ""
        except Exception as err:
            frame = traceback.extract_tb(err.__traceback__)[-1]
            # one that our own code raises in its words; not one that Python raises inside of it
            if isinstance(err, ValueError | SyntaxError | MemoryError) and (
                (frame.line or "").startswith("raise ")
            ):
                yield "refused", ""
                continue
            where = f"{Path(frame.filename).name}:{frame.lineno}"
            yield "raw", f"{type(err).__name__}: {str(err)[:120]} ({where})"
        finally:
            signal.alarm(0)


def count_area(area: str, count: int, seed: int) -> tuple[collections.Counter[str], list[str]]:
    """The outcomes of an area, each run of attempts in a process that may end."""
    found: collections.Counter[str] = collections.Counter()
    notes: list[str] = []
    begun = 0
    while begun < count:
        command = [sys.executable, __file__, "--child", area,
                   "--count", str(count - begun), "--seed", str(seed + begun)]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
        for outcome, note in lines:
            found[outcome] += 1
            if note:
                notes.append(note)
        begun += len(lines)
        if begun < count:  # it ended before the last
            if not lines and done.returncode > 0:
                raise RuntimeError(done.stderr[-2000:])
            found["crash"] += 1
            notes.append(f"ended with {done.returncode}")
            begun += 1
    return found, sorted(set(notes))


def table(results: dict[str, collections.Counter[str]]) -> str:
    """The counts as a table of Markdown."""
    rows = [f"| input | tried | {' | '.join(OUTCOMES)} |", "|---|" + "---:|" * (1 + len(OUTCOMES))]
    for area, found in results.items():
        counts = " | ".join(str(found[outcome]) for outcome in OUTCOMES)
        rows.append(f"| {area} | {sum(found.values())} | {counts} |")
    return "\n".join(rows) + "\n"


def main() -> None:
    """Count, print, and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--area", choices=list(AREAS), action="append")
    parser.add_argument("--write", type=Path)
    parser.add_argument("--child", choices=list(AREAS), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        warnings.simplefilter("ignore")
        for outcome in _attempts(args.child, args.count, args.seed):
            print(json.dumps(outcome), flush=True)
        return
    results = {}
    for area in args.area or AREAS:
        results[area], notes = count_area(area, args.count, args.seed)
        print(area, dict(results[area]), *notes, sep="\n    ", flush=True)
    print(table(results))
    if args.write:
        text = args.write.read_text()
        said = f"{_MARK}\n\n`python benchmarks/hostile.py --count {args.count} --seed {args.seed}`"
        head = text.partition(_MARK)[0]
        args.write.write_text(f"{head}{said}:\n\n{table(results)}")


if __name__ == "__main__":
    main()
