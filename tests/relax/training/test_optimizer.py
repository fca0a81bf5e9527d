"""Optimizers: as text, and step by step against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tvm import relax
from tvm.ir import assert_structural_equal
from tvm.relax import interp
from tvm.relax.training import SGD, Adam, MomentumSGD, Optimizer
from tvm.script import relax as R

pytestmark = pytest.mark.pure


def params(dtype: str = "float32") -> list[relax.Var]:
    return [
        relax.Var("x", relax.TensorStructInfo((3, 3), dtype)),
        relax.Var("y", relax.TensorStructInfo((3,), dtype)),
    ]


def sgd(p: Any, g: Any, s: dict[str, Any], lr: float, weight_decay: float = 0) -> Any:
    return p - lr * (g + weight_decay * p)


def momentum(
    p: Any, g: Any, s: dict[str, Any], lr: float, momentum: float, dampening: float = 0,
    weight_decay: float = 0, nesterov: bool = False,
) -> Any:  # fmt: skip
    g = g + weight_decay * p
    s["v"] = momentum * s.get("v", 0) + (1 - dampening) * g
    return p - lr * (g + momentum * s["v"] if nesterov else s["v"])


def adam(
    p: Any, g: Any, s: dict[str, Any], lr: float, betas: Any = (0.9, 0.999), eps: float = 1e-8,
    weight_decay: float = 0,
) -> Any:  # fmt: skip
    g = g + weight_decay * p
    s["t"] = s.get("t", 0) + 1
    s["m"] = betas[0] * s.get("m", 0) + (1 - betas[0]) * g
    s["v"] = betas[1] * s.get("v", 0) + (1 - betas[1]) * g * g
    mean, variance = (s[k] / (1 - b ** s["t"]) for k, b in zip("mv", betas))
    return p - lr * mean / (np.sqrt(variance) + eps)


@pytest.mark.parametrize(
    ("kind", "reference", "options"),
    [
        (SGD, sgd, {"lr": 0.01}),
        (SGD, sgd, {"lr": 0.01, "weight_decay": 0.02}),
        (MomentumSGD, momentum, {"lr": 0.01, "momentum": 0.9}),
        (MomentumSGD, momentum,
         {"lr": 0.01, "momentum": 0.9, "dampening": 0.85, "weight_decay": 0.02}),
        (MomentumSGD, momentum, {"lr": 0.01, "momentum": 0.9, "nesterov": True}),
        (Adam, adam, {"lr": 0.01}),
        (Adam, adam, {"lr": 0.01, "betas": (0.8, 0.85), "eps": 1e-7, "weight_decay": 0.1}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_three_steps(kind: Any, reference: Any, options: dict[str, Any], dtype: str) -> None:
    optimizer = kind(**options).init(params(dtype))
    func = optimizer.get_function()
    rng = np.random.default_rng(3)
    values = [rng.random((3, 3)).astype(dtype), rng.random(3).astype(dtype)]
    wanted, kept = list(values), [{}, {}]
    states = tuple(value.numpy() for value in optimizer.state)
    for step in range(3):
        grads = [rng.random((3, 3)).astype(dtype), rng.random(3).astype(dtype)]
        values, states = interp.run(func, tuple(values), tuple(grads), tuple(states))
        wanted = [reference(p, g, s, **options) for p, g, s in zip(wanted, grads, kept)]
        assert int(states[0]) == step + 1
        for value, want in zip(values, wanted):
            np.testing.assert_allclose(value, want, rtol=1e-5 if dtype == "float32" else 1e-9)


def test_as_text() -> None:
    @R.function
    def MomentumSGD_(
        params: R.Tuple(R.Tensor((3, 3), "float32")),
        gradients: R.Tuple(R.Tensor((3, 3), "float32")),
        optim_states: R.Tuple(R.Tensor((), "int64"), R.Tensor((3, 3), "float32")),
    ):
        R.func_attr({"global_symbol": "MomentumSGD"})
        with R.dataflow():
            num_steps = optim_states[0]
            num_steps_new = R.add(num_steps, R.const(1, "int64"))
            x = params[0]
            x_grad = gradients[0]
            x_v = optim_states[1]
            lv = R.multiply(R.const(0.9, "float32"), x_v)
            x_v_new = R.add(lv, x_grad)
            lv1 = R.multiply(R.const(0.01, "float32"), x_v_new)
            x_new = R.subtract(x, lv1)
            params_new = (x_new,)
            optim_states_new = (num_steps_new, x_v_new)
            R.output(params_new, optim_states_new)
        return (params_new, optim_states_new)

    assert_structural_equal(MomentumSGD(0.01, 0.9).init(params()[0]).get_function(), MomentumSGD_)


def test_the_first_state() -> None:
    adam = Adam(0.1).init(params())
    assert adam.dtype == "float32"
    assert [param.name_hint for param in adam.param_list] == ["x", "y"]
    shapes = [value.shape for value in adam.state]
    assert shapes == [(), (), (), (3, 3), (3,), (3, 3), (3,)]
    assert [float(value.numpy()) for value in adam.state[:3]] == [0, 1, 1]


def test_a_parameter_called_as_the_optimizer() -> None:
    weight = relax.Var("SGD", relax.TensorStructInfo((2,), "float32"))
    assert SGD(0.1).init(weight).get_function().attrs["global_symbol"] == "SGD"


def test_what_is_refused() -> None:
    x = params()[0]
    with pytest.raises(RuntimeError, match=r"call init\(\)"):
        SGD(0.1).get_function()
    with pytest.raises(ValueError, match="'x' of an optimizer is given twice"):
        SGD(0.1).init([x, x])
    with pytest.raises(ValueError, match="a tensor of floats"):
        SGD(0.1).init(relax.Var("k", relax.TensorStructInfo((3,), "int32")))
    with pytest.raises(ValueError, match="that of the others, float32"):
        SGD(0.1).init([x, params("float64")[1]])
    with pytest.raises(ValueError, match=r"relax\.Var"):
        SGD(0.1).init([3])  # type: ignore[list-item]
    symbolic = relax.Var("s", relax.TensorStructInfo(ndim=1, dtype="float32"))
    with pytest.raises(ValueError, match="a shape of constants"):
        MomentumSGD(0.1, 0.9).init(symbolic)
    with pytest.raises(TypeError, match="how a parameter is updated"):
        Optimizer("none").init([x]).get_function()


def test_shares_are_complements_as_they_are_written() -> None:
    made = Adam(0.01).init(params("float64")).get_function().script()
    assert 'R.const(0.10000000000000001, "float64")' in made  # 1 - 0.9 is 0.09999999999999998
    assert 'R.const(0.001, "float64")' in made
    assert Adam(0.01).dtype is None
    with pytest.raises(RuntimeError, match=r"init\(\)"):
        SGD(0.1).init([]).get_function()
