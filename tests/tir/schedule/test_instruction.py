from __future__ import annotations

import pytest

from tests.tir.schedule.cases import matmul
from tvm.ir import assert_structural_equal
from tvm.tir.expr import IntImm
from tvm.tir.schedule import BlockRV, LoopRV, Schedule
from tvm.tir.schedule.instruction import Instruction, InstructionKind, show_value


def test_inputs_and_attributes() -> None:
    kind = InstructionKind.get("CacheRead")
    block, reader = BlockRV(), BlockRV()
    given = {"block": block, "read_buffer_index": 1, "storage_scope": "local"}
    inputs, attrs = kind.pack({**given, "consumer_blocks": [reader]})
    assert inputs == [block, [reader]]
    assert attrs == [1, "local"]
    back = kind.unpack(inputs, attrs)
    assert back["consumer_blocks"] == [reader]
    names = {block: "b0", reader: "b1"}
    text = Instruction(kind, inputs, attrs, []).text(names)
    assert text == (
        'sch.cache_read(block=b0, read_buffer_index=1, storage_scope="local", consumer_blocks=[b1])'
    )


def test_one_loop_is_unpacked_too() -> None:
    loop, block = LoopRV(), BlockRV()
    inst = Instruction(InstructionKind.get("GetLoops"), [block], [], [loop])
    assert inst.text({loop: "l1", block: "b0"}) == "l1, = sch.get_loops(block=b0)"


def test_buffers_are_pairs() -> None:
    kind = InstructionKind.get("ReIndex")
    block, made = BlockRV(), BlockRV()
    inputs, attrs = kind.pack({"block": block, "buffer": ("read", 2)})
    assert attrs == [2, 0]
    text = Instruction(kind, inputs, attrs, [made]).text({block: "b0", made: "b1"})
    assert text == 'b1 = sch.reindex(block=b0, buffer=("read", 2))'


def test_values() -> None:
    assert show_value([None, IntImm("int32", 3), 0.5, True, "a"], {}) == '[None, 3, 0.5, True, "a"]'
    assert show_value({"x": [1]}, {}) == '{"x": [1]}'


def test_unknown_kind() -> None:
    with pytest.raises(KeyError, match="no instruction kind 'Splitt'; did you mean 'Split'"):
        InstructionKind.get("Splitt")


def test_ranges_are_pairs_of_block_variables() -> None:
    sch = Schedule(matmul())
    block = sch.get_block("C")
    sch.annotate_buffer_access(block, 0, "write", lambda *v: [(v[0], v[0] + 1), v[1]])
    sch.add_unit_loop(sch.get_loops(block)[0])
    sch.get_child_blocks(sch.get_block("root"))
    text = str(sch.trace)
    assert "gen_new_ranges=lambda v_i, v_j, v_k: [(v_i, v_i + 1), (v_j, v_j + 1)])" in text
    assert "sch.get_child_blocks(b" in text
    again = Schedule(matmul())
    sch.trace.apply_to_schedule(again, remove_postproc=False)
    assert_structural_equal(again.mod, sch.mod)
