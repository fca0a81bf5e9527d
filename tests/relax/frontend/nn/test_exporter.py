"""Functions from methods: arguments, effects, parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tvm import tir
from tvm.ir import assert_structural_equal
from tvm.relax import interp
from tvm.relax.frontend import nn
from tvm.relax.frontend.nn import spec
from tvm.script import ir as I
from tvm.script import relax as R

pytestmark = pytest.mark.pure


class Scale(nn.Module):
    def __init__(self) -> None:
        self.factor = nn.Parameter((4,))
        self.bias = nn.Parameter((4,))

    def forward(self, x: nn.Tensor) -> nn.Tensor:
        return x * self.factor + self.bias


def exported(module: nn.Module, debug: bool = False, **forward: Any) -> Any:
    return module.export_tvm({"forward": forward}, debug=debug)[0]


FORM = spec.Tensor(["n", 4], "float32")


def test_packed_parameters() -> None:
    @I.ir_module
    class Expected:
        @R.function
        def forward(
            x: R.Tensor(("n", 4), "float32"),
            packed_params: R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32")),
        ) -> R.Tensor(("n", 4), "float32"):
            R.func_attr({"num_input": 1})
            with R.dataflow():
                factor = packed_params[0]
                bias = packed_params[1]
                mul = R.multiply(x, factor)
                add = R.add(mul, bias)
                gv = add
                R.output(gv)
            return gv

    modes = {"param_mode": "packed", "effect_mode": "none"}
    assert_structural_equal(exported(Scale(), x=FORM, **{"$": modes}), Expected)


def test_effects_come_between_arguments_and_parameters() -> None:
    mod = exported(Scale(), debug=True, x=FORM)
    names = [param.name_hint for param in mod["forward"].params]
    assert names == ["x", "_io", "factor", "bias"]
    assert mod["forward"].attrs["num_input"] == 2
    packed = exported(Scale(), debug=True, x=FORM, **{"$": {"effect_mode": "packed"}})
    names = [param.name_hint for param in packed["forward"].params]
    assert names == ["x", "packed_effects", "factor", "bias"]
    without = exported(Scale(), x=FORM, **{"$": {"effect_mode": "packed"}})["forward"]
    assert [param.name_hint for param in without.params] == names
    assert not without.params[1].struct_info.fields
    assert without.attrs["num_input"] == 2
    none = exported(Scale(), debug=True, x=FORM, **{"$": {"effect_mode": "none"}})
    assert "_io" not in [param.name_hint for param in none["forward"].params]


def test_arguments_of_all_kinds() -> None:
    class Mixed(nn.Module):
        def forward(self, pair: Any, n: tir.Var, more: list[Any]) -> Any:
            x, (y, _) = pair
            assert isinstance(more, list)
            return [x.reshape(n, 2), (x + y, more[0])]

    form = spec.Tensor([4], "float32")
    mod = exported(Mixed(), pair=(form, (form, form)), n="int", more=[form])
    a, b = np.arange(4, dtype="float32"), np.ones(4, "float32")
    first, (second, third) = interp.run(mod, (a, (b, b)), (2,), (b,), name="forward")
    np.testing.assert_array_equal(first, a.reshape(2, 2))
    np.testing.assert_array_equal(second, a + 1)
    np.testing.assert_array_equal(third, b)


def test_names_are_symbols_of_arguments_or_of_parameters() -> None:
    class Product(nn.Module):
        def __init__(self) -> None:
            self.weight = nn.Parameter(("n", 3))

        def forward(self, x: nn.Tensor) -> nn.Tensor:
            return nn.op.matmul(x, self.weight)

        def twice(self, x: nn.Tensor) -> nn.Tensor:
            return nn.op.matmul(x + x, self.weight)

    forms = {"x": spec.Tensor([2, "n"], "float32")}
    mod, _ = Product().export_tvm({"forward": forms, "twice": forms})
    symbols = [mod[name].params[0].struct_info.shape.values[1] for name in ("forward", "twice")]
    assert symbols[0] is not symbols[1]
    assert mod["forward"].params[1].struct_info.shape.values[0] is not symbols[0]
    given = np.ones((2, 5), "float32"), np.ones((5, 3), "float32")
    np.testing.assert_array_equal(interp.run(mod, *given, name="twice"), np.full((2, 3), 10))


def test_methods_called_as_an_operator_in_them() -> None:
    class Named(nn.Module):
        def softmax(self, x: nn.Tensor) -> nn.Tensor:
            return nn.op.softmax(x)

        def relu(self, x: nn.Tensor) -> nn.Tensor:
            return nn.op.relu(nn.op.softmax(x))

    info = {"x": spec.Tensor(["n", 4], "float32")}
    mod, _ = Named().export_tvm(spec={"softmax": info, "relu": info})
    assert sorted(var.name_hint for var in mod.get_global_vars()) == ["relu", "softmax"]
    x = np.array([[-1, 0, 1, 2]], "float32")
    found = interp.run(mod, x, name="softmax")
    np.testing.assert_allclose(found, np.exp(x) / np.exp(x).sum(), rtol=1e-6)


def test_what_is_refused() -> None:
    class Returns(nn.Module):
        def forward(self, x: nn.Tensor) -> Any:
            return 3

    with pytest.raises(TypeError, match="found: int"):
        exported(Returns(), x=FORM)
    hidden = {"x": FORM, "$": {"param_mode": "none", "effect_mode": "none"}}
    with pytest.raises(ValueError, match=r"param_mode 'none'\n  found: it uses factor, of"):
        Scale().export_tvm({"forward": hidden})
    with pytest.raises(RuntimeError, match="no export is going on"):
        nn.Exporter.current()
    with pytest.raises(ValueError, match="a module that is well formed"):
        exported(_Foreign(), x=FORM)


@pytest.mark.parametrize("added", [True, False])
def test_modules_outside(added: bool) -> None:
    network = _WithExtern(added)
    _, _, modules = network.export_tvm({"forward": {"x": FORM}}, allow_extern=True)
    assert len(modules) == 1
    if added:
        with pytest.raises(ValueError, match="allow_extern=True"):
            exported(network, x=FORM)
    else:  # its functions may be registered by others
        assert "call_dps_packed" in exported(network, x=FORM).script()


class _Foreign(nn.Module):
    def forward(self, x: nn.Tensor) -> nn.Tensor:
        return nn.op.reshape(x, [tir.Var("n", "int64"), 1])


class _WithExtern(nn.Module):
    def __init__(self, added: bool) -> None:
        self.added = added

    def forward(self, x: nn.Tensor) -> nn.Tensor:
        module = nn.ExternModule({"outside": lambda x: nn.Tensor.placeholder(x.shape, x.dtype)})
        if self.added:
            nn.add_extern(module)
        result: nn.Tensor = module["outside"](x)
        return result
