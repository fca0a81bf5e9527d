"""Training on the virtual machine, beside the same steps in numpy."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relax, runtime
from tvm.ir import IRModule
from tvm.relax.training import SGD, MSELoss, SetupTrainer, Trainer
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Network:
    I.module_attrs({"param_num": 2, "state_num": 1})

    @R.function
    def backbone(
        x: R.Tensor((4, 3), "float64"),
        w: R.Tensor((3, 2), "float64"),
        b: R.Tensor((2,), "float64"),
        seen: R.Tensor((), "float64"),
    ):
        with R.dataflow():
            y = R.add(R.matmul(x, w), b)
            more = R.add(seen, R.const(1.0, "float64"))
            R.output(y, more)
        return y, more


@pytest.fixture(scope="module")
def trained() -> tuple[IRModule, relax.VirtualMachine]:
    form = relax.TensorStructInfo((4, 2), "float64")
    mod = SetupTrainer(MSELoss("sum"), SGD(0.05), [form, form])(Network)
    return mod, relax.VirtualMachine(tvm.compile(mod, "llvm"), tvm.cpu(), profile=True)


RNG = np.random.default_rng(1)
X, Y, W = RNG.random((4, 3)), RNG.random((4, 2)), RNG.random((3, 2))
B = np.zeros(2)


def numbers(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value.numpy() for name, value in values.items()}


def test_steps_are_those_of_numpy(trained: Any) -> None:
    trainer = Trainer(*trained, tvm.cpu())
    trainer.load_params([W, runtime.tensor(B)])
    w, b = W, B
    for step in range(3):
        difference = X @ w + b - Y
        loss = trainer.update(X, [runtime.tensor(Y)])
        np.testing.assert_allclose(float(loss.numpy()), (difference**2).sum())
        w, b = w - 0.1 * X.T @ difference, b - 0.1 * difference.sum(0)
        kept = numbers(trainer.export_params())
        np.testing.assert_allclose(kept["w"], w)
        np.testing.assert_allclose(kept["b"], b)
        assert float(trainer.export_states()["seen"].numpy()) == step + 1
    np.testing.assert_allclose(trainer.predict(X).numpy(), X @ w + b)
    assert float(trainer.export_states()["seen"].numpy()) == 3


def test_how_parameters_start(trained: Any) -> None:
    trainer = Trainer(*trained, tvm.cpu())
    assert not numbers(trainer.export_params())["w"].any()
    trainer.xaiver_uniform_init_params()
    start = numbers(trainer.export_params())
    assert len(np.unique(start["w"])) == 6
    assert abs(start["w"]).max() <= np.sqrt(6 / 5)
    assert not start["b"].any()
    trainer.load_params({"w": W})
    np.testing.assert_array_equal(numbers(trainer.export_params())["w"], W)
    trainer.load_states([np.array(5.0)])
    assert float(trainer.export_states()["seen"].numpy()) == 5


def test_a_profile_leaves_all_as_it_was(trained: Any) -> None:
    trainer = Trainer(*trained, tvm.cpu())
    before = numbers(trainer.export_params())
    assert "matmul" in str(trainer.profile_adjoint([X], [Y]))
    after = numbers(trainer.export_params())
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_what_is_refused(trained: Any) -> None:
    trainer = Trainer(*trained, tvm.cpu(), zero_init_param_state=False)
    with pytest.raises(RuntimeError, match="the parameter 'w'"):
        trainer.predict(X)
    with pytest.raises(ValueError, match=re.escape("all 2: w, b")):
        trainer.load_params([W])
    with pytest.raises(ValueError, match="'v'"):
        trainer.load_params({"v": W})
    with pytest.raises(ValueError, match=re.escape("float64 (3, 2)")):
        trainer.load_params({"b": B, "w": W.T})
    with pytest.raises(ValueError, match=re.escape("int64 ()")):
        trainer.load_params({"w": 1})
    with pytest.raises(RuntimeError, match="the parameter 'w'"):
        trainer.export_params()  # nothing was set by the call that failed
    with pytest.raises(ValueError, match="inputs of 'backbone'"):
        trainer.predict(X, X)
    with pytest.raises(ValueError, match="no attribute 'input_num'"):
        Trainer(Network, trained[1], tvm.cpu())
