"""What a report says of a small program: every part is compared with the program."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

import tvm
from tests.report.conftest import program
from tvm import relax
from tvm.relax.loops import scan
from tvm.report import Recorder, Report, collect
from tvm.report.machine_code import kind_of
from tvm.report.memory import _peak
from tvm.report.words import Held
from tvm.script import tir as T

pytestmark = pytest.mark.cpu


@T.prim_func
def double(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")):
    for i in range(64):
        with T.block("y"):
            v = T.axis.spatial(64, i)
            y[v] = x[v] * T.float32(2)


def test_sources_know_their_kernels(report: Report) -> None:
    names = [source.name.removeprefix("net.onnx:") for source in report.sources]
    assert names == ["x", "dense", "bias", "relu", "total"]
    assert [source.op for source in report.sources] == [
        "input", "matmul", "add", "nn.relu", "sum"
    ]  # fmt: skip
    assert [source.inputs for source in report.sources] == [[], [0], [1], [2], [3]]
    assert [source.calls for source in report.sources] == [[], [0], [0], [0], [1]]
    first, second = report.calls
    assert first.sources == [1, 2, 3]
    assert second.inputs == [0]
    assert first.shape == "float32[8, 64]"


def test_kernels_tell_what_they_compute_and_why_they_look_so(report: Report) -> None:
    kernel = report.kernels[report.calls[0].kernel]
    assert kernel.rule == "GEMM"
    rules = ["Empty", "WinogradOrDirect", "Winograd", "DotProducts", "DepthwiseIntegers"]
    assert kernel.refused == rules
    assert "registers hold sums" in kernel.reason
    assert kernel.flops == 8 * 64 * (2 * 32 + 2)
    roles = [operand.role for operand in kernel.operands]
    assert roles.count("written") == 1
    assert kernel.nbytes == sum(o.nbytes or 0 for o in kernel.operands if o.role != "own")
    splits = [step for step in kernel.steps if step.kind == "Split"]
    assert splits
    assert all(re.fullmatch(r"tvm/dlight/cpu/\w+\.py:\d+", step.where) for step in splits)
    assert any("accumulators have constant indices" in step.reason for step in kernel.steps)


def test_stages_are_the_texts_that_passes_left(report: Report) -> None:
    kernel = report.kernels[report.calls[0].kernel]
    names = [stage.name for stage in kernel.stages]
    assert names[0] in ("FuseTIR", "MarkConstantWeights")
    assert names.index("ApplyDefaultSchedule") < names.index("tir.FlattenBuffer")
    texts = [report.text(stage.text) for stage in kernel.stages]
    assert all(a != b for a, b in itertools.pairwise(texts))
    scheduled = texts[names.index("ApplyDefaultSchedule")]
    assert "T.vectorized" in scheduled
    assert "T.vectorized" not in texts[-1]
    for stage in kernel.stages:
        assert report.passes[stage.run].name == stage.name
        changed = report.passes[stage.run].changed
        assert any(kernel.name.startswith(name) for name in changed)
    assert report.text(report.graph[0].text).count("R.matmul") == 1
    assert report.text(report.graph[-1].text).count("R.call_tir(") == 2


def test_machine_code_knows_its_lines(report: Report) -> None:
    kernel = report.kernels[report.calls[0].kernel]
    code = kernel.code
    assert code is not None
    tir, asm = report.text_lines(code.tir), report.text_lines(code.asm)
    assert len(code.asm_lines) == len(asm)
    assert len(code.ir_lines) == len(report.text_lines(code.ir))
    products = [
        tir[line - 1] for text, line in zip(asm, code.asm_lines)
        if line and kind_of(text) == "multiply-add"
    ]  # fmt: skip
    assert products
    assert all("*" in text for text in products)
    stores = [
        tir[line - 1] for text, line in zip(asm, code.asm_lines) if line and "ret" in text.split()
    ]
    assert len(stores) <= 1
    assert code.mix["multiply-add"] == sum(kind_of(t) == "multiply-add" for t in asm if t[0] == " ")
    assert not any("@line" in text for text in tir)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("    vfmadd231ps (%rax), %ymm1, %ymm2", "multiply-add"),
        ("    vmovups %ymm0, 32(%rdi,%rax,4)", "store"),
        ("    vmovups 32(%rdi,%rax,4), %ymm0", "load"),
        ("    vmovaps %ymm0, %ymm1", "move"),
        ("    vbroadcastss (%rdi), %ymm0", "shuffle, convert"),
        ("    vaddps %ymm0, %ymm1, %ymm1", "vector arithmetic"),
        ("    addq $32, %rax", "integer, address"),
        ("    jne .LBB0_1", "branch"),
        ("    callq *%rax", "call"),
        ("    fmla v0.4s, v1.4s, v2.s[0]", "multiply-add"),
        ("    ldr q0, [x0, #16]", "load"),
        ("    stp q0, q1, [x0]", "store"),
    ],
)
def test_kinds_of_instructions(text: str, kind: str) -> None:
    assert kind_of(text) == kind


def test_memory_is_the_plan(report: Report) -> None:
    memory = report.memory
    assert memory is not None
    (held,) = memory.held
    assert (held.nbytes, held.offset) == (8 * 64 * 4, 0)
    assert (held.first, held.last, held.maker) == (0, 1, 0)
    assert memory.arena_bytes == memory.peak_bytes == 8 * 64 * 4
    assert memory.constant_bytes >= (32 * 64 + 64) * 4


def test_the_peak_is_where_most_lives() -> None:
    held = [Held("a", 0, 0, 4, 0, 1), Held("b", 1, 4, 8, 1, 2), Held("c", 2, 0, 2, 2, 2)]
    assert _peak(held, 3) == (12, 1)


def test_passes_nest_and_tell_what_they_changed(report: Report) -> None:
    by_name = {run.name: run for run in report.passes}
    fuse = by_name["FuseOps"]
    assert fuse.depth == 1
    assert "main" in fuse.changed
    assert by_name["LiftLocalFunctions"].changed == []
    legalize = by_name["LegalizeOps"]
    assert (legalize.functions_before, legalize.functions_after) == (1, 5)
    assert all(run.duration_us >= 0 for run in report.passes)
    starts = [run.start_us for run in report.passes]
    assert starts == sorted(starts)


def test_measured_programs_compute_the_same() -> None:
    recorder = Recorder()
    mod = program()
    with tvm.transform.PassContext(instruments=[recorder]):
        watched = tvm.compile(mod, "llvm")
    plain = tvm.compile(mod, "llvm")
    x = np.random.default_rng(1).standard_normal((8, 32)).astype("float32")
    got, want = (relax_run(made, x) for made in (watched, plain))
    np.testing.assert_array_equal(got, want)
    assert recorder.runs
    assert not recorder._open


def relax_run(made: object, x: np.ndarray) -> np.ndarray:
    return tvm.relax.VirtualMachine(made, tvm.cpu())["main"](x).numpy()


def test_calls_within_loops_and_functions_are_told_and_timed() -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((4, 16), "float32"))
    row = relax.TensorStructInfo((1, 16), "float32")
    inner = relax.Var("row", row)
    with bb.function("squares", [inner], private=True):
        with bb.dataflow():
            made = bb.emit_output(relax.op.multiply(inner, inner))
        bb.emit_func_output(made)
    squares = bb.get().get_global_var("squares")

    def turn(state, slices, outer):
        return [], [bb.emit(relax.Call(squares, [slices[0]]))]

    with bb.function("main", [x]):
        with bb.dataflow():
            _, (made,) = scan(bb, [], [x], [], turn, [row], in_batches=True)
            out = bb.emit_output(relax.op.sum(made, axis=1))
        bb.emit_func_output(out)
    found = collect(bb.finalize(), "llvm", title="loop")
    names = [call.kernel for call in found.calls]
    assert names.index("multiply") < names.index("loop") < names.index("sum"), names
    inside = [call for call in found.calls if call.kernel in ("multiply", "sum")]
    assert all(call.measured_us is not None for call in inside)
    assert [call.times for call in inside] == [4, 1]
    assert not [note for note in found.notes if "missing" in note]


def test_times_are_measured_and_progress_is_told() -> None:
    told: list[tuple[str, int, int]] = []
    found = collect(program(), code=False, progress=lambda *step: told.append(step))
    assert found.latency_us is not None
    assert all(call.measured_us is not None for call in found.calls)
    assert all(call.predicted_us for call in found.calls)
    assert told[0] == ("compile", 0, 1)
    assert told[-1] == ("measure", 2, 2)
    assert all(kernel.code is None for kernel in found.kernels.values())


def test_kernels_alone_are_a_program_too() -> None:
    found = collect(double)
    assert found.graph == []
    assert [call.kernel for call in found.calls] == ["double"]
    assert found.calls[0].measured_us is not None
    kernel = found.kernels["double"]
    assert kernel.flops == 64
    assert kernel.work == {"float32": 64}
    assert kernel.stages[0].name == "as given"
    assert kernel.stages[0].run == -1


@T.prim_func
def in_two_steps(x: T.Buffer((4096,), "float32"), y: T.Buffer((4096,), "float32")) -> None:
    T.func_attr({"tir.is_scheduled": True})
    with T.block("root"):
        doubled = T.alloc_buffer((4096,))
        for i in range(4096):
            with T.block("doubled"):
                v = T.axis.spatial(4096, i)
                doubled[v] = x[v] * T.float32(2)
        for i in T.parallel(4096):
            with T.block("y"):
                v = T.axis.spatial(4096, i)
                y[v] = doubled[4095 - v] + T.float32(1)


def test_memory_that_is_asked_for_around_parallel_loops_is_told() -> None:
    found = collect(in_two_steps, "llvm -mcpu=x86-64-v3", times=False)
    assert not found.notes
    kernel = found.kernels["in_two_steps"]
    own = [(o.name, o.nbytes) for o in kernel.operands if o.role == "own"]
    assert own == [("doubled", 4 * 4096)]
    assert kernel.code is not None
    text = found.text(kernel.code.tir)
    assert "T.parallel(4096)" in text
    assert "TVMBackendAllocWorkspace" in text


def test_open_sizes_are_said_to_be_open() -> None:
    n = tvm.tir.Var("n", "int64")
    x = tvm.relax.Var("x", tvm.relax.TensorStructInfo((n,), "float32"))
    bb = tvm.relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            out = bb.emit_output(tvm.relax.op.exp(x))
        bb.emit_func_output(out)
    found = collect(bb.finalize(), code=False)
    assert found.notes == ["nothing was measured: x leaves dimensions open"]
    (kernel,) = found.kernels.values()
    assert kernel.flops is None
    assert kernel.nbytes is None
    assert found.sources[0].shape == "float32[n]"


def test_code_for_another_machine_is_told_and_not_run() -> None:
    found = collect(program(), "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1")
    assert found.latency_us is None
    assert found.machine is not None
    assert found.machine.roofs is None
    assert "nothing was measured: " in found.notes[0]
    assert "aarch64-linux-gnu" in found.notes[0]
    code = found.kernels[found.calls[0].kernel].code
    assert code is not None
    assert any("fmla" in text for text in found.text_lines(code.asm))


def test_a_kind_without_a_device_is_compiled_for() -> None:
    if tvm.device("metal").exist:
        return
    found = collect(program(), "metal")
    assert found.calls
    assert found.notes == ["nothing was measured: there is no device of kind metal here"]


PACKED = """
from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 4), "float32")) -> R.Tensor(dtype="float32", ndim=1):
        y = R.add(x, x)
        z = R.unique(y, sorted=True)
        return z
"""


def test_bytecode_and_lines_of_a_script() -> None:
    found = collect(tvm.script.from_source(PACKED), code=False)
    assert [source.name for source in found.sources] == [
        "x (line 7)", "y (line 8)", "z (line 9)"
    ]  # fmt: skip
    (call,) = found.calls
    assert (call.kernel, call.shape) == ("add", "float32[4, 4]")
    assert call.measured_us is not None
    assert found.latency_us is not None
    assert found.memory is None
    assert found.notes == []
