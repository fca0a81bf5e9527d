"""The functions of training, made from a network."""

from __future__ import annotations

import pytest

from tvm import relax
from tvm.error import TVMError
from tvm.ir import IRModule, assert_structural_equal
from tvm.relax.analysis import well_formed
from tvm.relax.training import SGD, Adam, MSELoss, SetupTrainer
from tvm.script import ir as I
from tvm.script import relax as R

pytestmark = pytest.mark.pure

FORM = relax.TensorStructInfo((2, 2), "float64")


@I.ir_module
class Network:
    I.module_attrs({"param_num": 1, "state_num": 0})

    @R.function
    def backbone(x: R.Tensor((2, 2), "float64"), w: R.Tensor((2, 2), "float64")):
        with R.dataflow():
            y = R.matmul(x, w)
            R.output(y)
        return y


def test_whole() -> None:
    @I.ir_module
    class Expected:
        I.module_attrs({"input_num": 1, "param_num": 1, "state_num": 0})

        @R.function
        def backbone(x: R.Tensor((2, 2), "float64"), w: R.Tensor((2, 2), "float64")):
            with R.dataflow():
                y = R.matmul(x, w)
                R.output(y)
            return y

        @R.function
        def backbone_loss(
            x: R.Tensor((2, 2), "float64"),
            w: R.Tensor((2, 2), "float64"),
            targets: R.Tensor((2, 2), "float64"),
        ):
            with R.dataflow():
                y = R.matmul(x, w)
                d = R.subtract(y, targets)
                s = R.multiply(d, d)
                total = R.sum(s)
                R.output(total)
            return total

        @R.function
        def optimizer(
            params: R.Tuple(R.Tensor((2, 2), "float64")),
            gradients: R.Tuple(R.Tensor((2, 2), "float64")),
            optim_states: R.Tuple(R.Tensor((), "int64")),
        ):
            with R.dataflow():
                num_steps = optim_states[0]
                num_steps_new = R.add(num_steps, R.const(1, "int64"))
                w = params[0]
                w_grad = gradients[0]
                lv = R.multiply(R.const(0.1, "float64"), w_grad)
                w_new = R.subtract(w, lv)
                params_new = (w_new,)
                states_new = (num_steps_new,)
                R.output(params_new, states_new)
            return params_new, states_new

    after = SetupTrainer(MSELoss("sum"), SGD(0.1), [FORM, FORM], legalize=False)(Network)
    assert well_formed(after)
    names = [var.name_hint for var in after.functions]
    assert sorted(names) == ["backbone", "backbone_loss", "backbone_loss_adjoint", "optimizer"]
    adjoint = after["backbone_loss_adjoint"]
    assert str(adjoint.ret_struct_info) == (
        'R.Tuple(R.Tensor((), dtype="float64"), R.Tuple(R.Tensor((2, 2), dtype="float64")))'
    )
    assert [int(value.numpy()) for value in after.attrs["optim_state"]] == [0]
    del after["backbone_loss_adjoint"]
    assert_structural_equal(after.without_attr("optim_state"), Expected)


def test_states_follow_the_loss_and_operators_become_tir() -> None:
    @I.ir_module
    class Normed:
        I.module_attrs({"param_num": 2, "state_num": 2})

        @R.function
        def backbone(
            x: R.Tensor((4, 2), "float32"),
            gamma: R.Tensor((2,), "float32"),
            beta: R.Tensor((2,), "float32"),
            mean: R.Tensor((2,), "float32"),
            var: R.Tensor((2,), "float32"),
        ):
            with R.dataflow():
                norm = R.nn.batch_norm(x, gamma, beta, mean, var, axis=1)
                y = norm[0]
                new_mean = norm[1]
                new_var = norm[2]
                R.output(y, new_mean, new_var)
            return y, new_mean, new_var

    form = relax.TensorStructInfo((4, 2), "float32")
    after = SetupTrainer(MSELoss(), Adam(0.1), [form, form])(Normed)
    assert well_formed(after)
    assert "R.nn." not in after.script()
    assert [after.attrs[key] for key in ("input_num", "param_num", "state_num")] == [1, 2, 2]
    both, grads = after["backbone_loss_adjoint"].ret_struct_info.fields
    assert (len(both.fields), len(grads.fields)) == (3, 2)


def _network(name: str = "backbone", **attrs: int) -> IRModule:
    func = Network["backbone"].with_attr("global_symbol", name)
    return IRModule({name: func}, attrs=attrs)


@pytest.mark.parametrize(
    ("mod", "told"),
    [
        (_network("net", param_num=1, state_num=0), "there is no Relax function 'backbone'"),
        (_network(state_num=0), "the module has no number 'param_num'"),
        (_network(param_num=1), "the module has no number 'state_num'"),
        (_network(param_num=3, state_num=0), "3 parameters and 0 states"),
    ],
)
def test_what_is_refused(mod: IRModule, told: str) -> None:
    for kind in (TVMError, ValueError):
        with pytest.raises(kind, match=told):
            SetupTrainer(MSELoss(), SGD(0.1), [FORM, FORM])(mod)
