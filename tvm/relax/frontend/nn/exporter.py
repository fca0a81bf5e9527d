"""From a network to a module of Relax: each method of a spec becomes a function."""

from __future__ import annotations

import typing
from collections.abc import Callable, Sequence
from typing import Any

from tvm import relax as rx
from tvm import tir
from tvm.error import ArgumentValueError, AssumptionError, message
from tvm.ir.module import IRModule
from tvm.relax.analysis.well_formed import faults_of
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.struct_info import ObjectStructInfo, ShapeStructInfo, TupleStructInfo

from . import core
from . import spec as _spec
from .io_effect import IOEffect

if typing.TYPE_CHECKING:
    from typing_extensions import Self

    from . import extern

Effects: typing.TypeAlias = "list[tuple[str, core.Effect]]"
Params: typing.TypeAlias = "list[tuple[str, core.Parameter]]"


def add_extern(mod: extern.ExternModule) -> None:
    """Add a module outside of Relax to the export that is going on."""
    Exporter.current().add_external_module(mod)


class Exporter:
    """One export; within it, operators of `nn` write into `builder`.

    `io_effect` is the effect that prints pass on, if debugging is on. `extern_mods` are the modules
    that were added, `used_mods` those whose functions are called.
    """

    builder: BlockBuilder
    io_effect: core.Effect | None
    extern_mods: list[extern.ExternModule]
    used_mods: list[extern.ExternModule]

    _stack: typing.ClassVar[list[Exporter]] = []

    def __init__(self, debug: bool) -> None:
        self.builder = BlockBuilder()
        self.io_effect = IOEffect() if debug else None
        self.extern_mods = []
        self.used_mods = []

    @staticmethod
    def current() -> Exporter:
        """The export that is going on."""
        if not Exporter._stack:
            raise RuntimeError(
                message("the exporter of nn", found="no export is going on",
                        legal="calls within Module.export_tvm")
            )  # fmt: skip
        return Exporter._stack[-1]

    def __enter__(self) -> Self:
        Exporter._stack.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        assert Exporter._stack.pop() is self, "exporters end in the order in which they began"

    def add_external_module(self, mod: extern.ExternModule) -> None:
        """Add a module outside of Relax, whose functions the network calls."""
        if not any(mod is known for known in self.extern_mods):
            self.extern_mods.append(mod)

    def add_used_module(self, mod: extern.ExternModule) -> None:
        """Note that a function of a module is called, whether it was added or not."""
        if not any(mod is known for known in self.used_mods):
            self.used_mods.append(mod)

    def all_modules(self) -> list[extern.ExternModule]:
        """The modules that were added, and others whose functions are called."""
        added = {id(mod) for mod in self.extern_mods}
        return self.extern_mods + [mod for mod in self.used_mods if id(mod) not in added]

    def build(self, spec: _spec.ModuleSpec) -> tuple[IRModule, Params, list[extern.ExternModule]]:
        """The module, the parameters with their names, and the modules outside of Relax."""
        found = core.find_attributes(spec.module, "", lambda x: isinstance(x, core.Effect))
        effects: Effects = [] if self.io_effect is None else [("", self.io_effect)]
        effects.extend(found)
        params = list(spec.module.named_parameters())
        bb = self.builder
        with self:
            if effects:
                with bb.function("_initialize_effect", []):
                    with bb.dataflow():
                        first: list[rx.Expr] = []
                        for name, effect in effects:
                            first.extend(effect.emit_init(name, bb))
                        output = bb.emit_output(bb.emit(rx.Tuple(first)))
                    bb.emit_func_output(output)
            for name, method in zip(spec.method_names, spec.method_specs):
                count = {"none": 0, "packed": 1, "plain": len(effects)}[method.effect_mode]
                inputs = len(method.arg_specs) + count
                function = _Method(bb, method, params, effects)
                with bb.function(name, function.arguments, {"num_input": inputs}):
                    with bb.dataflow():
                        output = function.emit()
                    var = bb.emit_func_output(output)  # another name, if a variable has this one
                made = bb.get()[var]
                assert isinstance(made, rx.Function), "it was built above"
                function.check_given(name, made)
        mod = bb.finalize()
        if faults := faults_of(mod):
            raise AssumptionError(
                message("export_tvm", found="; ".join(faults),
                        legal="a module that is well formed")
            )  # fmt: skip
        return mod, params, self.extern_mods


class _Method:
    """One method on its way to a function."""

    def __init__(
        self, bb: BlockBuilder, spec: _spec.MethodSpec, params: Params, effects: Effects
    ) -> None:
        self.bb = bb
        self.spec = spec
        self.params = params
        self.effects = effects
        # extents of one name are one symbol in arguments, and another one in parameters
        self.symbols: dict[str, tir.Var] = {}
        self.sizes: dict[str, tir.Var] = {}
        # what is bound first: the parts of tuples that are handed in
        self.unpack: list[Callable[[], None]] = []
        self.given = [self._argument(s, name) for s, name in zip(spec.arg_specs, spec.arg_names)]
        self.arguments = [
            *(var for _, var in self.given), *self._effect_vars(), *self._param_vars(),
        ]  # fmt: skip

    def emit(self) -> rx.Var:
        """Bind what the method computes, and give the result."""
        spec = self.spec
        for step in self.unpack:
            step()
        values = [make() for make, _ in self.given]
        result = _unwrapped(spec.method(*values))
        last: list[rx.Expr] = []
        for _, effect in self.effects:
            last.extend(effect.finalize())
        if self.effects and spec.effect_mode != "none":
            result = rx.Tuple([result, rx.Tuple(last)])
        return self.bb.emit_output(result)

    def check_given(self, name: str, func: rx.Function) -> None:
        """Refuse what the method uses though its mode leaves it out of the arguments."""
        for var in rx.analysis.free_vars(func):
            used = any(param == var.name_hint for param, _ in self.params)
            mode = "param_mode" if used else "effect_mode"
            raise ArgumentValueError(
                message(
                    f"export_tvm: {name} with {mode} 'none'",
                    found=f"it uses {var.name_hint}, of {var.struct_info}",
                    legal=f"{mode} 'plain' or 'packed', which make it an argument",
                )
            )

    # --- arguments ---

    def _argument(
        self, spec: _spec.ArgSpecType, name: str
    ) -> tuple[Callable[[], Any], rx.Var]:
        """A parameter of the function, and what makes the method's argument of it."""
        if isinstance(spec, _spec.Int):
            symbol = self._symbol(name)
            return lambda: symbol, rx.Var(name, ShapeStructInfo([symbol]))
        if isinstance(spec, _spec.Tensor):
            tensor = core.Tensor.placeholder(self._shape(spec.shape), spec.dtype, name)
            var = tensor._expr
            assert isinstance(var, rx.Var), "placeholders are variables"
            return lambda: tensor, var
        if isinstance(spec, _spec.Object):
            var = rx.Var(name, ObjectStructInfo())
            return lambda: spec.object_type(_expr=var, _name=name), var
        assert isinstance(spec, _spec.Tuple), "specs were converted"
        fields = [self._argument(part, f"{name}_{i}") for i, part in enumerate(spec.elements)]
        var = rx.Var(name, TupleStructInfo([part.struct_info for _, part in fields]))
        return lambda: self._parts(spec, var), var

    def _parts(self, spec: _spec.Tuple, var: rx.Var) -> Any:
        """The elements of a tuple that was handed in, each bound to a name."""
        parts: list[Any] = []
        for i, part in enumerate(spec.elements):
            name = f"{spec.name}_{i}"
            field = self.bb.emit(rx.TupleGetItem(var, i), name)
            if isinstance(part, _spec.Tuple):
                parts.append(self._parts(part, field))
            elif isinstance(part, _spec.Int):
                parts.append(self._symbol(name))
            elif isinstance(part, _spec.Object):
                parts.append(part.object_type(_expr=field, _name=name))
            else:
                parts.append(core.Tensor(_expr=field))
        return type(spec.elements)(parts)

    def _symbol(self, name: str) -> tir.Var:
        return self.symbols.setdefault(name, tir.Var(name, "int64"))

    def _shape(self, shape: Sequence[Any]) -> list[Any]:
        extents: list[Any] = []
        for dim in shape:
            if isinstance(dim, tir.Var):
                extents.append(self.symbols.setdefault(dim.name, dim))
            else:
                extents.append(self._symbol(dim) if isinstance(dim, str) else dim)
        return extents

    # --- effects and parameters ---

    def _effect_vars(self) -> list[rx.Var]:
        states = [(effect, effect.create(name)) for name, effect in self.effects]
        flat = [var for _, variables in states for var in variables]
        mode = self.spec.effect_mode
        if mode == "packed":
            packed = rx.Var("packed_effects", TupleStructInfo([var.struct_info for var in flat]))

            def unpack() -> None:
                items = iter(range(len(flat)))
                for effect, variables in states:
                    effect.set_state([
                        self.bb.emit(rx.TupleGetItem(packed, next(items)), var.name_hint)
                        for var in variables
                    ])  # fmt: skip

            self.unpack.append(unpack)
            return [packed]
        for effect, variables in states:
            effect.set_state(variables)
        return [] if mode == "none" else flat

    def _param_vars(self) -> list[rx.Var]:
        variables: list[rx.Var] = []
        for name, param in self.params:
            # a symbol of a parameter is the function's own: other functions have others
            shape = [
                self.sizes.setdefault(dim.name, tir.Var(dim.name, "int64"))
                if isinstance(dim, tir.Var)
                else dim
                for dim in param.shape
            ]
            var = core.Tensor.placeholder(shape, param.dtype, name)._expr
            assert isinstance(var, rx.Var), "placeholders are variables"
            param._expr = var
            variables.append(var)
        mode = self.spec.param_mode
        if mode == "packed":
            infos = [var.struct_info for var in variables]
            packed = rx.Var("packed_params", TupleStructInfo(infos))

            def unpack() -> None:
                for i, (name, param) in enumerate(self.params):
                    param._expr = self.bb.emit(rx.TupleGetItem(packed, i), name)

            self.unpack.append(unpack)
            return [packed]
        return [] if mode == "none" else variables


def _unwrapped(value: Any) -> rx.Expr:
    """What a method returned, as an expression."""
    if isinstance(value, (core.Tensor, core.Object)):
        return value._expr
    if isinstance(value, (tuple, list)):
        return rx.Tuple([_unwrapped(part) for part in value])
    if isinstance(value, rx.Expr):
        return value
    raise TypeError(
        message("what an exported method returns", found=type(value).__name__,
                legal="nn.Tensor, nn.Object, or a tuple or list of such")
    )  # fmt: skip
