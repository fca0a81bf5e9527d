"""relax.build: parameters, modes, pipelines, files, threads."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tvm
from tests.relax.programs import arguments, as_arrays, assert_same, run_interp
from tvm import relax, te, tir
from tvm.error import TVMError
from tvm.ir import IRModule
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.cpu


@I.ir_module
class Mod:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, 3), "float32")):
        with R.dataflow():
            a = R.matmul(x, w)
            b = R.nn.relu(a)
            gv = (b, a)
            R.output(gv)
        return gv


@I.ir_module
class Branches:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")):
        if c:
            r = R.exp(x)
        else:
            r = R.add(x, R.const([1.0, 2.0, 3.0, 4.0], "float32"))
        return r


MODES = ("compiled", "bytecode")


def _call(executable: Any, *args: Any) -> Any:
    return as_arrays(relax.VirtualMachine(executable, tvm.cpu())["main"](*args))


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def _args(mod: IRModule = Mod) -> list[Any]:
    return arguments(mod["main"], {"n": 5})


# --- modes, targets, parameters ---


def test_both_modes_mean_the_same(mode: str) -> None:
    executable = relax.build(Mod, "llvm", exec_mode=mode)
    assert_same(run_interp(Mod, _args()), _call(executable, *_args()))


def test_rejects_an_unknown_mode() -> None:
    with pytest.raises(ValueError) as caught:
        relax.build(Mod, "llvm", exec_mode="fast")
    assert str(caught.value) == "relax.build: exec_mode 'fast'\n  legal: bytecode or compiled"


def test_the_target_may_be_that_of_the_context(mode: str) -> None:
    with tvm.target.Target("llvm"):
        executable = relax.build(Mod, exec_mode=mode)
    assert_same(run_interp(Mod, _args()), _call(executable, *_args()))


def test_rejects_an_unknown_target() -> None:
    with pytest.raises((TVMError, ValueError), match="lvm"):
        relax.build(Mod, "lvm")


def test_params_bind_the_last_parameters(mode: str) -> None:
    x, w = _args()
    executable = relax.build(Mod, "llvm", {"w": w}, exec_mode=mode)
    assert_same(run_interp(Mod, [x, w]), _call(executable, x))
    machine = relax.VirtualMachine(executable, tvm.cpu())
    assert [value.name for value in machine.signature("main").params] == ["x"]


def test_params_may_be_tensors() -> None:
    x, w = _args()
    executable = relax.build(Mod, "llvm", {"w": tvm.runtime.tensor(w)})
    assert_same(run_interp(Mod, [x, w]), _call(executable, x))


# --- pipelines ---


@pytest.mark.parametrize(
    "pipeline",
    ["default", "zero", "default_build", relax.get_pipeline("zero"),
     tvm.ir.transform.Sequential([relax.transform.LegalizeOps()]), relax.transform.LegalizeOps()],
    ids=["default", "zero", "default_build", "pass", "sequential", "one"],
)  # fmt: skip
def test_relax_pipelines(pipeline: Any, mode: str) -> None:
    executable = relax.build(Mod, "llvm", relax_pipeline=pipeline, exec_mode=mode)
    assert_same(run_interp(Mod, _args()), _call(executable, *_args()))


def test_no_relax_pipeline(mode: str) -> None:
    legal = relax.transform.LegalizeOps()(Mod)
    executable = relax.build(legal, "llvm", relax_pipeline=None, exec_mode=mode)
    assert_same(run_interp(Mod, _args()), _call(executable, *_args()))


def test_rejects_an_unknown_pipeline() -> None:
    with pytest.raises(ValueError) as caught:
        relax.build(Mod, "llvm", relax_pipeline="zeor")
    assert str(caught.value).startswith(
        "Unknown pre-built pipeline 'zeor'; did you mean 'zero'?; candidates are"
    )


def test_tir_pipelines(mode: str) -> None:
    for pipeline in ("default", tvm.tir.get_tir_pipeline("default")):
        executable = relax.build(Mod, "llvm", tir_pipeline=pipeline, exec_mode=mode)
        assert_same(run_interp(Mod, _args()), _call(executable, *_args()))


def test_passes_see_the_target() -> None:
    seen = []

    @tvm.ir.transform.module_pass(opt_level=0)
    def look(mod: IRModule, ctx: Any) -> IRModule:
        seen.append(tvm.target.Target.current().kind.name)
        return relax.transform.LegalizeOps()(mod)

    relax.build(Mod, "llvm", relax_pipeline=look)
    assert seen == ["llvm"]


# --- what is in the executable ---


def test_kernels_beside_the_graph_can_be_called() -> None:
    @I.ir_module
    class WithKernel:
        @T.prim_func
        def double(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
            for i in range(4):
                with T.block("b"):
                    vi = T.axis.spatial(4, i)
                    y[vi] = x[vi] * T.float32(2)

        @R.function
        def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            y = R.call_tir(WithKernel.double, (x,), R.Tensor((4,), "float32"))
            return y

    executable = relax.build(WithKernel, "llvm")
    x = np.arange(4, dtype="float32")
    assert _call(executable, x).tolist() == [0, 2, 4, 6]
    y = tvm.runtime.tensor(np.zeros(4, "float32"))
    executable.jit()["double"](tvm.runtime.tensor(x), y)
    assert y.numpy().tolist() == [0, 2, 4, 6]


def test_several_functions(mode: str) -> None:
    @I.ir_module
    class Two:
        @R.function
        def first(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            with R.dataflow():
                gv = R.exp(x)
                R.output(gv)
            return gv

        @R.function
        def second(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            with R.dataflow():
                gv = R.negative(x)
                R.output(gv)
            return gv

    machine = relax.VirtualMachine(relax.build(Two, "llvm", exec_mode=mode), tvm.cpu())
    x = np.ones(4, "float32")
    np.testing.assert_allclose(machine["first"](x).numpy(), np.exp(x), rtol=1e-6)
    np.testing.assert_allclose(machine["second"](x).numpy(), -x)
    with pytest.raises((KeyError, AttributeError, TVMError, ValueError), match="third"):
        machine["third"](x)


def test_a_function_without_kernels(mode: str) -> None:
    @I.ir_module
    class Same:
        @R.function
        def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            return x

    executable = relax.build(Same, "llvm", exec_mode=mode)
    assert _call(executable, np.ones(4, "float32")).tolist() == [1] * 4


# --- files ---


@pytest.mark.parametrize("mod", [Mod, Branches], ids=["native", "branches"])
def test_export_and_load(mod: IRModule, mode: str, tmp_path: Path) -> None:
    executable = relax.build(mod, "llvm", exec_mode=mode)
    path = tmp_path / "model.so"
    executable.export_library(str(path))
    args = _args(mod)
    loaded = relax.VirtualMachine(tvm.runtime.load_module(str(path)), tvm.cpu())
    assert_same(run_interp(mod, args), as_arrays(loaded["main"](*args)))
    known = relax.VirtualMachine(executable, tvm.cpu()).signature("main")
    assert loaded.signature("main") == known


# --- threads ---


@pytest.mark.parametrize("mod", [Mod, Branches], ids=["native", "branches"])
def test_several_threads_call_one_machine(mod: IRModule, mode: str) -> None:
    machine = relax.VirtualMachine(relax.build(mod, "llvm", exec_mode=mode), tvm.cpu())
    wrong: list[int] = []

    def work(seed: int) -> None:
        args = arguments(mod["main"], {"n": 3 + seed}, seed)
        wanted = run_interp(mod, args)
        try:
            for _ in range(50):
                assert_same(wanted, as_arrays(machine["main"](*args)))
        except AssertionError:
            wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_several_host_devices() -> None:
    """Results lie where their struct infos say; tensors move where the program says."""

    @I.ir_module
    class Spread:
        I.module_global_infos({"vdevice": [I.vdevice({"kind": "llvm"}, 0),
                                           I.vdevice({"kind": "llvm"}, 1)]})

        @R.function
        def main(x: R.Tensor((2, 3), "float32", "llvm:0"),
                 y: R.Tensor((3, 4), "float32", "llvm:0"),
                 z: R.Tensor((4, 5), "float32", "llvm:1")
                 ) -> R.Tensor((2, 5), "float32", "llvm:1"):
            with R.dataflow():
                a = R.matmul(x, y)
                b = R.to_vdevice(a, "llvm:1")
                gv = R.matmul(b, z)
                R.output(gv)
            return gv

    places = [tvm.cpu(0), tvm.cpu(1)]
    x, y, z = arguments(Spread["main"])
    vm = relax.VirtualMachine(relax.build(Spread, "llvm"), places)
    given = [tvm.runtime.tensor(v, places[i]) for v, i in ((x, 0), (y, 0), (z, 1))]
    found = vm["main"](*given)
    assert found.device == places[1]
    np.testing.assert_allclose(found.numpy(), x @ y @ z, rtol=1e-5)


def test_native_programs_are_instrumented_as_bytecode() -> None:
    vm = relax.VirtualMachine(tvm.compile(Mod, "llvm"), tvm.cpu())
    plain = as_arrays(vm["main"](*_args()))
    names: list[str] = []
    vm.set_instrument(lambda func, name, before, *rest: names.append(name))
    assert_same(plain, as_arrays(vm["main"](*_args())))
    assert any(not name.startswith("vm.builtin") for name in names)


class _Library(tvm.runtime.Module):
    """A library that adds a constant which it asks for by name."""

    kind = "test.library"

    def __init__(self) -> None:
        super().__init__()
        self._held: Any = None

    def function_names(self) -> list[str]:
        return ["get_symbol", "get_const_vars", "__init_ext", "ext_add"]

    def _find(self, name: str) -> Any:
        def take(constants: Any) -> None:
            self._held = constants[0].numpy()

        def add(x: Any, out: Any) -> None:
            out.copyfrom(x.numpy() + self._held)

        return {"get_symbol": lambda: "ext", "get_const_vars": lambda: ["ext_const_0"],
                "__init_ext": take, "ext_add": add}.get(name)  # fmt: skip


def test_compiled_libraries_are_linked_and_get_their_constants(mode: str) -> None:
    @I.ir_module
    class Ext:
        @R.function
        def main(x: R.Tensor((3,), "float32")):
            y = R.call_dps_packed("ext_add", (x,), out_sinfo=R.Tensor((3,), "float32"))
            return y

    held = tvm.runtime.tensor(np.array([1, 2, 3], "float32"))
    mod = Ext.with_attr("external_mods", [_Library()])
    mod = mod.with_attr("const_name_to_constant", {"ext_const_0": held})
    built = relax.build(mod, "llvm", exec_mode=mode)
    np.testing.assert_array_equal(_call(built, np.ones(3, "float32")), [2, 3, 4])


def test_operators_that_are_functions_at_run_time(
    mode: str, capsys: pytest.CaptureFixture[str]
) -> None:
    @I.ir_module
    class Prints:
        @R.function(pure=False)
        def main(x: R.Tensor((), "float32")):
            _ = R.print(x, format="value {}")
            _1 = R.assert_op(R.prim_value(True), x, format="not {}")
            return x

    assert _call(relax.build(Prints, "llvm", exec_mode=mode), np.array(2, "float32")) == 2
    assert "value 2.0" in capsys.readouterr().out


def test_tensors_without_elements(mode: str) -> None:
    @I.ir_module
    class Empty:
        @R.function
        def main(x: R.Tensor((0, 3), "float32"), y: R.Tensor((), "float32")):
            z = R.add(x, y)
            return z

    made = relax.build(Empty, "llvm", exec_mode=mode)
    assert _call(made, np.zeros((0, 3), "float32"), np.array(1, "float32")).shape == (0, 3)


def test_kernels_of_a_module_alone() -> None:
    from tvm.relax.vm_build import _filter_tir

    kernels = _filter_tir(relax.transform.LegalizeOps()(Mod))
    assert kernels is not None
    assert not any(isinstance(func, relax.Function) for func in kernels.functions.values())
    assert _filter_tir(IRModule({})) is None


def test_storage_of_elements(mode: str) -> None:
    @I.ir_module
    class Storage:
        @R.function
        def main(x: R.Tensor((4, 6), "float32")):
            storage = R.vm.alloc_storage(R.shape((4, 6)), R.prim_value(0), R.dtype("float32"))
            y = R.vm.alloc_tensor(storage, R.prim_value(0), R.shape((4, 6)), R.dtype("float32"))
            return y

    x = np.zeros((4, 6), "float32")
    assert _call(relax.build(Storage, "llvm", exec_mode=mode), x).shape == (4, 6)
    assert run_interp(Storage, [x]).shape == (4, 6)


def test_hundreds_of_parameters():
    """Networks whose weights are parameters: each is checked, and none costs a level of nesting."""
    bb = relax.BlockBuilder()
    info = relax.TensorStructInfo((2, 1, 1, 3), "float32")
    params = [relax.Var(f"p{n}", info) for n in range(400)]
    with bb.function("main", params):
        bb.emit_func_output(bb.emit(relax.op.add(params[0], params[-1])))
    machine = relax.VirtualMachine(tvm.compile(bb.get(), "llvm"), tvm.cpu())
    args = [np.full((2, 1, 1, 3), n, "float32") for n in range(400)]
    np.testing.assert_array_equal(machine["main"](*args).numpy(), args[0] + args[-1])
    with pytest.raises(ValueError, match=r"argument 399 \(p399\)(.|\n)*dimension 3 is 4"):
        machine["main"](*args[:-1], np.zeros((2, 1, 1, 4), "float32"))


def test_graphs_for_a_gpu_are_bytecode_over_kernels():
    @I.ir_module
    class Net:
        @R.function
        def main(x: R.Tensor((8, 16), "float32"), w: R.Tensor((16, 8), "float32")):
            with R.dataflow():
                y = R.nn.relu(R.matmul(x, w))
                R.output(y)
            return y

    target = tvm.target.Target("cuda -arch=sm_80", host="llvm")
    with target:
        mod = tvm.tir.transform.DefaultGPUSchedule()(relax.transform.LegalizeOps()(Net))
    made = tvm.compile(mod, target=target)
    (host,) = made.mod.imports
    (device,) = host.imports
    assert device.kind == "cuda"
    assert "__global__" in device.inspect_source()
    assert "main" in made.as_text()


def test_kernels_of_one_symbol(mode: str) -> None:
    """Each is called by its name in the module, whatever symbol it was given."""

    def kernel(step: float) -> tir.PrimFunc:
        x = te.placeholder((4,), name="x")
        return te.create_prim_func([x, te.compute((4,), lambda i: x[i] + step)])

    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((4,), "float32"))
    with bb.function("main", [x]):
        one, ten = (bb.add_func(kernel(step), "add") for step in (1.0, 10.0))
        first = bb.emit(relax.call_tir(one, x, R.Tensor((4,), "float32")))
        bb.emit_func_output(bb.emit(relax.call_tir(ten, first, R.Tensor((4,), "float32"))))
    executable = relax.build(bb.get(), "llvm", exec_mode=mode)
    given = np.arange(4, dtype="float32")
    np.testing.assert_array_equal(_call(executable, tvm.runtime.tensor(given)), given + 11)
