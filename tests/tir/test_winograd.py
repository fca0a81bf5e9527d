from __future__ import annotations

import numpy as np

from tvm import tir
from tvm.arith import Analyzer
from tvm.target import Target
from tvm.tir.winograd import (
    FAR,
    NEAR,
    SPAN,
    TILE,
    inputs_to_points,
    max_vectors,
    outputs_of_pairs,
    pairs_of,
)


def f64(value: float) -> tir.PrimExpr:
    return tir.const(float(value), "float64")


def number(value: tir.PrimExpr) -> float:
    found = Analyzer().simplify(value)
    assert isinstance(found, tir.FloatImm)
    return found.value


def test_a_filter_of_three_taps() -> None:
    rng = np.random.default_rng(3)
    data, taps = rng.standard_normal(SPAN), rng.standard_normal(3)
    points = [0.0, NEAR, -NEAR, FAR, -FAR]
    scale = [np.prod([p - q for q in points if q != p]) for p in points]
    weights = [np.polyval(taps[::-1], p) / s for p, s in zip(points, scale)] + [taps[2]]
    inputs = inputs_to_points(lambda k: f64(data[k]))
    products = [x * f64(w) for x, w in zip(inputs, weights)]
    pairs = pairs_of(products.__getitem__)
    found = [number(outputs_of_pairs(pairs, i)) for i in range(TILE)]
    np.testing.assert_allclose(found, np.correlate(data, taps), rtol=1e-12, atol=1e-12)


def test_vectors_fit_into_registers() -> None:
    assert max_vectors(Target("llvm -mcpu=haswell").cpu, 4) == 3
    assert max_vectors(Target("llvm -mcpu=haswell").cpu, 12) == 1
    assert max_vectors(Target("llvm -mcpu=znver4").cpu, 9) == 3
