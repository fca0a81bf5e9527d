from __future__ import annotations

import json

import pytest

from tests.tir.schedule.cases import chain, elementwise, matmul
from tvm import tir
from tvm.error import TVMError
from tvm.ir.structural import structural_equal
from tvm.tir.schedule import BlockRV, Instruction, InstructionKind, Schedule, Trace
from tvm.tir.schedule.testing import verify_trace_roundtrip


def scheduled() -> Schedule:
    sch = Schedule(matmul(), seed=3)
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    io, ii = sch.split(i, factors=[None, 4])
    tiles = sch.sample_perfect_tile(k, n=2, decision=[4, 4])
    ko, ki = sch.split(k, factors=tiles)
    sch.reorder(io, j, ko, ii, ki)
    sch.annotate(block, "why", "because")
    return sch


def test_python_text() -> None:
    assert scheduled().trace.as_python() == [
        'b0 = sch.get_block(name="C", func_name="main")',
        "l1, l2, l3 = sch.get_loops(block=b0)",
        "l4, l5 = sch.split(loop=l1, factors=[None, 4], preserve_unit_iters=True, "
        "disable_predication=False)",
        "v6, v7 = sch.sample_perfect_tile(loop=l3, n=2, max_innermost_factor=16, decision=[4, 4])",
        "l8, l9 = sch.split(loop=l3, factors=[v6, v7], preserve_unit_iters=True, "
        "disable_predication=False)",
        "sch.reorder(l4, l2, l8, l5, l9)",
        'sch.annotate(block_or_loop=b0, ann_key="why", ann_val="because")',
    ]


def test_printed_form_is_a_function() -> None:
    lines = str(scheduled().trace).splitlines()
    assert lines[:2] == ["# from tvm import tir", "def apply_trace(sch: tir.Schedule) -> None:"]
    assert str(Trace()).endswith("  pass")


def test_json_is_plain() -> None:
    rows, decisions = json.loads(json.dumps(scheduled().trace.as_json()))
    assert rows[0] == ["GetBlock", [], ["C", "main"], ["b0"]]
    assert rows[2] == ["Split", ["l1", None, 4], [True, False], ["l4", "l5"]]
    assert decisions == [[3, [4, 4]]]


def test_replay() -> None:
    sch = scheduled()
    for replay in (
        lambda new: sch.trace.apply_to_schedule(new, remove_postproc=False),
        lambda new: Trace.apply_json_to_schedule(sch.trace.as_json(), new),
    ):
        new = Schedule(matmul())
        replay(new)
        assert structural_equal(new.mod, sch.mod)
        assert str(new.trace) == str(sch.trace)


def test_other_decisions() -> None:
    sch = scheduled()
    inst = next(i for i in sch.trace.insts if i.kind.name == "SamplePerfectTile")
    varied = sch.trace.with_decision(inst, [2, 8], remove_postproc=True)
    new = Schedule(matmul())
    varied.apply_to_schedule(new, remove_postproc=True)
    assert "for i_0, j, k_0, i_1, k_1 in T.grid(2, 12, 2, 4, 8):" in new.mod.script()
    by_provider = Schedule(matmul())
    sch.trace.apply_to_schedule(
        by_provider, True, lambda inst, inputs, attrs, decision: [8, 2]
    )
    assert "T.grid(2, 12, 8, 4, 2)" in by_provider.mod.script()


def test_unused_questions_are_dropped() -> None:
    sch = Schedule(chain())
    sch.get_block("B")
    sch.get_consumers("B")
    sch.compute_inline("C")
    sch.enter_postproc()
    sch.compute_inline("B")
    short = sch.trace.simplified(remove_postproc=True)
    assert short.as_python() == [
        'b0 = sch.get_block(name="C", func_name="main")', "sch.compute_inline(block=b0)",
    ]
    assert sch.trace.as_python(remove_postproc=True)[-1] == "sch.compute_inline(block=b3)"


def test_built_by_hand() -> None:
    block = BlockRV()
    find = Instruction(InstructionKind.get("GetBlock"), [], ["B", "main"], [block])
    trace = Trace([find], {})
    trace.append(Instruction(InstructionKind.get("ComputeInline"), [block], [], []))
    assert trace.as_python()[1] == "sch.compute_inline(block=b0)"
    assert str(trace.pop()) == "sch.compute_inline(block=_)"
    assert trace.get_decision(find) is None
    assert trace.pop() is find
    assert trace.pop() is None


def test_bad_json() -> None:
    for text in ('[[["GetBlock"', "[" * 100_000, "\x00"):
        with pytest.raises(TVMError, match="the text is no JSON"):
            Trace.apply_json_to_schedule(text, Schedule(chain()))
    with pytest.raises(ValueError, match="the text is no trace"):
        Trace.apply_json_to_schedule([1, 2, 3], Schedule(chain()))
    with pytest.raises(TVMError, match="is no instruction"):
        Trace.apply_json_to_schedule([[["GetBlock"]], []], Schedule(chain()))
    with pytest.raises(TVMError, match="did you mean 'GetBlock'"):
        Trace.apply_json_to_schedule([[["GetBlok", [], [], []]], []], Schedule(chain()))
    with pytest.raises(TVMError, match="no earlier instruction gave 'b7'"):
        Trace.apply_json_to_schedule([[["ComputeInline", ["b7"], [], []]], []], Schedule(chain()))


def test_purity() -> None:
    assert InstructionKind.get("GetLoops").is_pure
    assert not InstructionKind.get("Split").is_pure


@pytest.mark.parametrize(
    "value", [1, 0, "text", ["text", 1, 2.5], [["a"], ["b"]], {"key": "value"}, {"k": {"a": [1]}}]
)
def test_annotations_are_inputs(value: object) -> None:
    sch = Schedule(matmul())
    sch.annotate(sch.get_block("C"), "note", value)
    row = json.loads(json.dumps(sch.trace.as_json()))[0][-1]
    assert row[2] == ["note"]
    assert row[1][0] == "b0"
    verify_trace_roundtrip(sch, matmul())


def test_sampled_annotations() -> None:
    sch = Schedule(matmul(), seed=1)
    (loop, *_) = sch.get_loops("C")
    steps = sch.sample_categorical([16, 64], [0.5, 0.5])
    sch.annotate(loop, "steps", steps)
    assert sch.trace.as_json()[0][-1] == ["Annotate", ["l1", "v4"], ["steps"], []]
    for form in ("python", "json"):
        new = verify_trace_roundtrip(sch, matmul(), text_format=form)
        assert int(new.get(new.get_loops("C")[0]).annotations["steps"]) in (16, 64)


def test_buffers_by_number() -> None:
    sch = Schedule(matmul())
    sch.transform_layout("C", ("write", 0), lambda i, j: [j, i])
    assert sch.trace.insts[-1].attrs[:2] == [0, 1]
    sch.reindex("C", ("read", 1))
    assert sch.trace.as_json()[0][-1][2] == [1, 0]
    assert 'buffer=("write", 0)' in str(sch.trace)
    verify_trace_roundtrip(sch, matmul())


@pytest.mark.parametrize(
    "damaged",
    [
        [[["GetBlock", [], ["C", "main"], ["b0"]]], [[0]]],
        [[["GetBlock", [], ["C", "main"], ["b0"]]], [["x", 1]]],
        [[["GetBlock", 7, ["C", "main"], ["b0"]]], []],
        [[["GetBlock", [], ["C"], ["b0"]]], []],
        [[["Split", [], [], ["l0"]]], []],
        [[["GetLoops", ["b0"], [], []]], []],
        [[["GetBlock", [], ["C", "main"], [["b0"]]]], []],
        [[["GetBlock", [], ["C", "main"], [{}]]], []],
        "[" * 100_000,
    ],
)
def test_damaged_traces_are_refused(damaged: object) -> None:
    with pytest.raises((TVMError, ValueError), match=r"apply_json_to_schedule|deeply|no block"):
        Trace.apply_json_to_schedule(damaged, Schedule(matmul()))


@pytest.mark.parametrize("probs", [[1 / 3, 2 / 3], [0.2, 0.8], [0.0, 1.0]])
def test_numbers_that_are_floats(probs: list[float]) -> None:
    nodes = [tir.FloatImm("float32", p) for p in probs]
    kind = InstructionKind.get("SampleCategorical")
    trace = Trace([Instruction(kind, [], [[2, 4], nodes], [tir.Var("v", "int32")])], {})
    stored = trace.as_json()[0][0][2]
    assert stored[0] == [2, 4]
    assert all(isinstance(p, tir.FloatImm) for p in stored[1])
    assert str(stored[1]) == "[" + ", ".join([str(p) for p in nodes]) + "]"
    shown = ", ".join([f"{p:.17g}" for p in probs])
    assert f"probs=[{shown}])" in str(trace)
    sch = Schedule(chain())
    Trace.apply_json_to_schedule(trace.as_json(), sch)
    assert f"probs=[{shown}]" in sch.trace.as_python()[0]
    sch.annotate(sch.get_block("B"), "factor", 2.0)
    assert sch.trace.as_python()[-1].endswith("ann_val=2.0)"), "it comes back as a float"


def test_maps_and_expressions_over_samples() -> None:
    """They follow another decision, and come back from text and JSON."""
    func = elementwise(16, 16)
    sch = Schedule(func)
    block = sch.get_block("B")
    _, width = sch.sample_perfect_tile(sch.get_loops(block)[0], n=2, decision=[4, 4])
    i, j = tir.Var("i", "int32"), tir.Var("j", "int32")
    sch.transform_layout(block, ("write", 0), tir.IndexMap([i, j], [i // width, j, i % width]))
    sch.split(sch.get_loops(block)[1], [None, width * 2])
    text = str(sch.trace)
    assert "index_map=lambda i, j: (i // v4, j, i % v4,)" in text
    assert "factors=[None, v4 * 2]" in text
    verify_trace_roundtrip(sch, func, text_format=["json", "python"])
    sample = next(inst for inst in sch.trace.insts if inst.kind.name == "SamplePerfectTile")
    other = Schedule(func)
    sch.trace.with_decision(sample, [8, 2], True).apply_to_schedule(other, True)
    assert "T.Buffer((8, 16, 2)" in other.mod.script()
    assert "T.grid(16, 4, 4)" in other.mod.script()
    assert sample in sch.trace.simplified(True).insts
