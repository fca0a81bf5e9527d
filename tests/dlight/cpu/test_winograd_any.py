"""Winograd's convolution over planes of any size."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tests.dlight.cpu.test_winograd import program
from tests.dlight.programs import HASWELL, NEON, SPR, scheduled
from tvm import te, tir, topi
from tvm.dlight.cpu import Winograd
from tvm.dlight.cpu.winograd_any import vector_costs
from tvm.tir.interp import memory, run, stmt
from tvm.topi.nn.winograd_panels import Panels, winograd_panels

N, H, W = (tir.Var(name, "int64") for name in "nhw")
CALLS = [(1, 1, 1), (2, 3, 5), (1, 2, 50), (0, 4, 4)]


def sizes_of(call: tuple[int, int, int]) -> dict[str, int]:
    return dict(zip("nhw", call))


@pytest.mark.parametrize("call", CALLS)
def test_any_size(call: tuple[int, int, int]) -> None:
    func = program((N, i64(1), H, W), 3, Panels(1, 2), "residual")
    after = scheduled(Winograd(), func, NEON, sizes_of(call))
    assert "for any size" in str(after.attrs["schedule_reason"])


@pytest.mark.parametrize("padding", [(0, 0, 0, 0), (0, 1, 2, 3)])
def test_any_size_of_any_padding(padding: tuple[int, int, int, int]) -> None:
    func = program((N, i64(1), H, W), 2, Panels(1, 2), "silu", padding)
    scheduled(Winograd(), func, HASWELL, sizes_of((1, 3, 4)))


@pytest.mark.parametrize("shape", [(N, 1, 3, 5), (1, 1, H, 4), (1, 1, 3, W)])
def test_one_unknown_size(shape: tuple[int | tir.Var, ...]) -> None:
    known = tuple(i64(extent) if isinstance(extent, int) else extent for extent in shape)
    scheduled(Winograd(), program(known, 2, Panels(1, 2)), NEON, sizes_of((2, 3, 4)))


def test_what_follows_otherwise_is_kernels_of_its_own() -> None:
    x = te.placeholder((N, i64(2), H, W), name="X")
    u = te.placeholder((i64(1), i64(36), i64(2), i64(3)), name="U")
    y = winograd_panels(x, u, 3, (1, 1, 1, 1), Panels(1, 3))
    total = topi.sum(topi.nn.relu(y), axis=[2, 3])
    after = scheduled(Winograd(), te.create_prim_func([x, u, total]), SPR, sizes_of((2, 5, 6)))
    assert "for any size" in str(after.attrs["schedule_reason"])


def test_lanes_without_tiles_hold_zeros(monkeypatch: pytest.MonkeyPatch) -> None:
    """18 tiles in 24 lanes: sums of whatever lay there may be of subnormal numbers, and slow."""
    made = []
    allocate = memory.allocate

    def recorded(dtype: tvm.DataType, count: int) -> memory.Pointer:
        made.append(allocate(dtype, count))
        return made[-1]

    monkeypatch.setattr(stmt, "allocate", recorded)
    func = program((N, i64(2), H, W), 3, Panels(1, 4))
    after = Winograd().apply(func, HASWELL, False).mod["main"]
    tiles = 36 * (2 * 24 + 8)
    x = np.ones((3, 2, 6, 10), "float32")
    others = [np.ones([int(d) for d in func.buffer_map[p].shape], "float32")
              for p in func.params[1:-1]]  # fmt: skip
    run(after, x, *others, np.zeros((3, 3, 6, 10), "float32"))
    (panel,) = (one.data for one in made if one.data.size == tiles)
    assert not np.isnan(panel.reshape(36, -1)[:, :48]).any()


def i64(value: int) -> tir.IntImm:
    return tir.IntImm("int64", value)


def test_fewer_vectors_cost_more_a_tile() -> None:
    costs = vector_costs(HASWELL.cpu, 4, 3)
    each = [cost / count for count, cost in enumerate(costs, 1)]
    assert each == sorted(each, reverse=True)
