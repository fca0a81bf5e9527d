"""BlockBuilder: makes Relax functions step by step, and keeps what it makes in normal form.

    bb = relax.BlockBuilder()
    with bb.function("main", [x, y]):
        with bb.dataflow():
            lv = bb.emit(relax.op.add(x, y))
            gv = bb.emit_output(lv)
        bb.emit_func_output(gv)
    mod = bb.get()
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, ClassVar, Final, TypeAlias

from tvm.arith import Analyzer, ConstIntBound
from tvm.error import CheckError, message
from tvm.ffi.object import Object
from tvm.ir.expr import GlobalVar, PrimExpr, RelaxExpr, StructInfo
from tvm.ir.function import BaseFunc
from tvm.ir.module import IRModule
from tvm.ir.span import ambient_span
from tvm.ir.structural import structural_equal, structural_hash
from tvm.relax.base_expr import expect
from tvm.support.arguments import explained
from tvm.support.naming import NameTable
from tvm.support.registry import Registry
from tvm.tir import expr as tir
from tvm.tir.function import PrimFunc

from . import te_call
from .base_expr import Id
from .expr import (
    Binding,
    BindingBlock,
    Call,
    DataflowBlock,
    DataflowVar,
    Function,
    MatchCast,
    SeqExpr,
    Tuple,
    Var,
    VarBinding,
    convert_to_expr,
)
from .normalize import normalize, normalize_argument
from .prim_func_info import prim_func_struct_info
from .struct_info import ShapeStructInfo
from .struct_info_rules import (
    BaseCheckResult,
    base_check,
    collect_non_negative_expressions,
    definable_tir_vars_in_struct_info,
    map_struct_info,
    tir_vars_in_struct_info,
)

Output: TypeAlias = RelaxExpr | tuple[Any, ...] | list[Any]
# The last step of a finished module; a pass, which stands above and is loaded when it is asked for.
FINISHERS: Final[Registry[Callable[[IRModule], IRModule]]] = Registry(
    "finishing step", "tvm.relax.transform.normalize_global_var"
)
_NOT_A_NAME = re.compile(r"\W")


class _Block:
    """A block that is being filled."""

    __slots__ = ("bindings", "is_dataflow", "named_extents", "operands")

    def __init__(self, is_dataflow: bool) -> None:
        self.bindings: list[Binding] = []
        self.is_dataflow = is_dataflow
        # nested expressions that were bound here, by identity; kept alive with their variables
        self.operands: dict[int, tuple[RelaxExpr, RelaxExpr]] = {}
        # expressions that symbols were made for here, by their hashes (`tvm.relax.extents`)
        self.named_extents: dict[int, list[tuple[PrimExpr, PrimExpr]]] = {}


class FunctionScope:
    """`with bb.function(...)`: one function is made within; its output must be given."""

    def __init__(
        self,
        block_builder: BlockBuilder,
        name: str,
        params: list[Var] | None,
        attrs: dict[str, Any],
        is_pure: bool,
    ) -> None:
        self._bb = block_builder
        self._name = name
        self._params = params
        self._attrs = attrs
        self._is_pure = is_pure
        self._blocks: list[BindingBlock] = []
        self._output_given = False
        self._outer = contextlib.ExitStack()  # what waits while this one is made

    def __enter__(self) -> None:
        self._outer.enter_context(self._bb.aside())
        self._bb._enter_function_scope(self)

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with self._outer:
            self._bb._exit_function_scope(exc_type)


class DataflowScope:
    """`with bb.dataflow()`: what is emitted within goes into one dataflow block."""

    def __init__(self, block_builder: BlockBuilder) -> None:
        self._bb = block_builder

    def __enter__(self) -> None:
        self._bb._change_block(dataflow=True)

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._bb._change_block(dataflow=False)


class TestingScope:
    """`with bb.testing_scope(def_vars=[n])`: symbols that are taken to be defined."""

    __test__ = False  # not a test, whatever its name begins with

    def __init__(self, block_builder: BlockBuilder, def_vars: Sequence[tir.Var]) -> None:
        self._bb = block_builder
        self._params = [Var("", ShapeStructInfo([var])) for var in def_vars]

    def __enter__(self) -> None:
        self._bb.begin_scope(self._params)
        self._bb.begin_binding_block()

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._bb.end_block()
        self._bb.end_scope()


class BlockBuilder(Object):
    """Builds functions and normalises expressions; each emit costs the same however long the block.

    Struct info that is derived within a scope uses only the symbols that the scope defines.
    """

    _stack: ClassVar[list[BlockBuilder]] = []

    @staticmethod
    def current() -> BlockBuilder | None:
        """The builder whose function scope was entered last, or None."""
        return BlockBuilder._stack[-1] if BlockBuilder._stack else None

    @explained
    def __init__(
        self, mod: IRModule | None = None, *, applies_operator_rules: bool = True
    ) -> None:
        # a parser keeps calls as they are written: the rules `FNormalize` of operators wait
        self.applies_operator_rules: Final = applies_operator_rules
        self._base = IRModule() if mod is None else mod
        self._functions: dict[GlobalVar, BaseFunc] = dict(self._base.functions)
        self._taken = {var.name_hint for var in self._functions}
        self._module: IRModule | None = self._base
        self._by_kind: dict[tuple[Any, ...], list[GlobalVar]] | None = None
        self._hashes: dict[GlobalVar, int] = {}
        self._names = NameTable()
        self._blocks: list[_Block] = []
        self._values: dict[Id, RelaxExpr] = {}
        # symbols that extents are broadcast to, and what these are (`tvm.relax.extents`)
        self.broadcast_from: dict[tir.Var, frozenset[Any]] = {}
        # symbols known in each open scope; a scope sees those of the scopes around it
        self._scopes: list[set[tir.Var]] = []
        # and those that the parameters around it tell
        self._given: list[frozenset[tir.Var]] = []
        self._func: FunctionScope | None = None
        self.analyzer = Analyzer()
        # pairs of extents that rules took for equal without proof; kept where a pass asks for them
        self.open_extents: list[tuple[PrimExpr, PrimExpr]] | None = None

    # --- functions ---

    @explained
    def function(
        self,
        name: str,
        params: Var | Tuple | Sequence[Var] | None = None,
        attrs: Mapping[str, Any] | None = None,
        pure: bool = True,
        private: bool = False,
    ) -> FunctionScope:
        """A scope that makes the function `name`; its global symbol is set unless it is private."""
        given = dict(attrs or {})
        if not private:
            given = {"global_symbol": name, **given}
        return FunctionScope(self, name, _as_params(params), given, pure)

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """Leave the function that is being made for a while: within, another can be made."""
        left = self._func, self._blocks, self._scopes, self._given
        self._func, self._blocks, self._scopes, self._given = None, [], [], []
        try:
            yield
        finally:
            self._func, self._blocks, self._scopes, self._given = left

    def testing_scope(self, def_vars: Sequence[tir.Var]) -> TestingScope:
        """A scope for trying out expressions over the given symbols."""
        return TestingScope(self, def_vars)

    def dataflow(self) -> DataflowScope:
        """A scope for a dataflow block."""
        return DataflowScope(self)

    def _enter_function_scope(self, scope: FunctionScope) -> None:
        BlockBuilder._stack.append(self)
        self._func = scope
        self.begin_scope(scope._params)
        self.begin_binding_block()

    def _exit_function_scope(self, exc_type: type[BaseException] | None) -> None:
        scope, self._func = self._func, None
        BlockBuilder._stack.pop()
        if exc_type is None and scope is not None and not scope._output_given:
            self._blocks.clear()
            self._scopes.clear()
            self._given.clear()
            raise RuntimeError("emit_func_output must be called in a relax function.")
        if exc_type is not None:
            self._blocks.clear()
            self._scopes.clear()
            self._given.clear()

    def _function_scope(self) -> FunctionScope:
        if self._func is None:
            raise RuntimeError("emit_func_output must be called in a relax function.")
        return self._func

    def _change_block(self, dataflow: bool) -> None:
        """Close the current block, and open the next within the function's scope."""
        block = self.end_block()
        if block.bindings and self._func is not None:
            self._func._blocks.append(block)
        if dataflow:
            self.begin_dataflow_block()
        else:
            self.begin_binding_block()

    def emit_func_output(
        self, output: Output, params: Var | Tuple | Sequence[Var] | None = None
    ) -> GlobalVar:
        """End the function: its result is `output`. Gives the function's global variable."""
        scope = self._function_scope()
        if scope._output_given:
            raise RuntimeError("emit_func_output must be called exactly once in a relax function.")
        if scope._params is not None and params is not None:
            raise RuntimeError("function parameters have been set already, in bb.function(...)")
        if scope._params is None and params is None:
            raise RuntimeError(
                "Relax function must have parameter: give params to bb.function or emit_func_output"
            )
        if BlockBuilder.current() is not self:
            raise RuntimeError("BlockBuilder.current() must be the builder of the open function.")
        if self.current_block_is_dataflow():
            raise RuntimeError(
                "emit_func_output stands outside of dataflow blocks, after `with bb.dataflow():`"
            )
        scope._output_given = True
        if scope._params is None:
            scope._params = _as_params(params)
            self._define(scope._params or [])
        result = normalize_argument(self, convert_to_expr(output))
        block = self.end_block()
        if block.bindings:
            scope._blocks.append(block)
        body = normalize(self, SeqExpr(scope._blocks, result))
        func = Function(scope._params or [], body, None, scope._is_pure, scope._attrs or None)
        self.end_scope()
        return self.add_func(func, scope._name)

    # --- emitting ---

    def emit(self, expr: Output, name_hint: str = "") -> Var:
        """Bind the normalised expression to a new variable in the current block."""
        return self.emit_normal(normalize(self, convert_to_expr(expr)), name_hint)

    def emit_normal(self, expr: RelaxExpr, name_hint: str = "") -> Var:
        """Bind an expression that is in normal form already."""
        if not self._blocks:
            raise CheckError(
                "emit: there is no block to emit into; "
                "use it within bb.function(...) or between begin_binding_block and end_block"
            )
        block = self._blocks[-1]
        var = self._new_var(block.is_dataflow, name_hint, expr.struct_info_)
        block.bindings.append(VarBinding(var, expr, expr.span))
        self._values[var.vid] = expr
        return var

    def operand_of(self, expr: RelaxExpr) -> RelaxExpr | None:
        """The variable that this very expression, nested in another, was bound to in the block."""
        found = self._blocks[-1].operands.get(id(expr)) if self._blocks else None
        return None if found is None else found[1]

    def emit_operand(self, expr: RelaxExpr, normal: RelaxExpr) -> Var:
        """Bind the normal form of a nested expression; if it is met again, this variable stands."""
        var = self.emit_normal(normal)
        self._blocks[-1].operands[id(expr)] = (expr, var)
        return var

    def withdraw(self, var: RelaxExpr) -> RelaxExpr | None:
        """Undo the binding of `var` if it is the last of the block: its value, else None."""
        block = self._blocks[-1]
        last = block.bindings[-1] if block.bindings else None
        if not isinstance(last, VarBinding) or last.var is not var:
            return None
        block.bindings.pop()
        block.operands = {key: pair for key, pair in block.operands.items() if pair[1] is not var}
        del self._values[last.var.vid]
        return last.value

    def _new_var(self, is_dataflow: bool, name_hint: str, info: StructInfo | None) -> Var:
        name = self.get_unique_name(name_hint or ("lv" if is_dataflow else "gv"))
        return DataflowVar(name, info) if is_dataflow else Var(name, info)

    def call_te(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> RelaxExpr:
        """A `call_tir` of the function that `func` computes in tensor expressions.

        Tensors among `args` become placeholders. `primfunc_name_hint` and `primfunc_attrs` name
        the new TIR function and add attributes to it.
        """
        return te_call.call_te(self, func, args, kwargs)

    def call_te_with_grad(
        self,
        func: Callable[..., Any],
        *args: Any,
        te_grad_name: str,
        te_grad_kwargs: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> RelaxExpr:
        """As `call_te`, with the registered gradient `te_grad_name` of what is computed."""
        return te_call.call_te_with_grad(self, func, args, kwargs, te_grad_name, te_grad_kwargs)

    def emit_te(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Var:
        """Emit `call_te(func, *args, **kwargs)`; `name_hint` names the variable."""
        name_hint = kwargs.pop("name_hint", "")
        return self.emit(self.call_te(func, *args, **kwargs), name_hint)

    def match_cast(self, value: Output, struct_info: StructInfo, name_hint: str = "") -> Var:
        """Bind `value`, checked at run time to be what `struct_info` says; binds new symbols."""
        expect(StructInfo, struct_info, 2, "relax.BlockBuilderEmitMatchCast")
        expr = normalize_argument(self, convert_to_expr(value))
        if base_check(struct_info, expr.struct_info) is BaseCheckResult.FAIL_L0:
            raise CheckError(
                message(
                    "match_cast: the value can never have the target struct info",
                    found=f"{expr} is {expr.struct_info}",
                    legal=f"a value that may be {struct_info}",
                )
            )
        var = self._new_var(self.current_block_is_dataflow(), name_hint, struct_info)
        span = ambient_span() or expr.span
        self.emit_normalized(MatchCast(var, expr, struct_info, span))
        return var

    def emit_output(self, output: Output, name_hint: str = "") -> Var:
        """Bind a result of the current dataflow block, visible outside of it."""
        expr = normalize(self, convert_to_expr(output))
        if not self.current_block_is_dataflow():
            raise CheckError("emit_output has to be called in a dataflow block, with bb.dataflow()")
        var = self._new_var(False, name_hint, expr.struct_info_)
        self._blocks[-1].bindings.append(VarBinding(var, expr, expr.span))
        self._values[var.vid] = expr
        return var

    def emit_normalized(self, binding: Binding) -> None:
        """Put a finished binding into the current block."""
        if not self._blocks:
            raise CheckError("emit_normalized: no block is open; call begin_binding_block first")
        block = self._blocks[-1]
        if isinstance(binding.var, DataflowVar) and not block.is_dataflow:
            raise CheckError(
                f"emit_normalized: {binding.var.name_hint!r} is a DataflowVar, and the current "
                "block is no dataflow block"
            )
        block.bindings.append(binding)
        if isinstance(binding, MatchCast):
            self._define_symbols(tir_vars_in_struct_info(binding.struct_info))
            self._extents_are_not_negative(binding.struct_info)
        else:
            self._values[binding.var.vid] = binding.value

    @explained
    def lookup_binding(self, var: Var) -> RelaxExpr | None:
        """What `var` was bound to by this builder, or None."""
        return self._values.get(var.vid)

    def normalize(self, expr: RelaxExpr) -> RelaxExpr:
        """The expression in normal form with struct info; operands are bound in the open block."""
        return normalize(self, expr)

    def normalize_argument(self, expr: RelaxExpr) -> RelaxExpr:
        """The expression as an operand: a leaf, a tuple of leaves, or a new variable."""
        return normalize_argument(self, expr)

    # --- blocks and scopes ---

    def begin_binding_block(self) -> None:
        """Open a block."""
        self._blocks.append(_Block(False))

    def begin_dataflow_block(self) -> None:
        """Open a dataflow block."""
        self._blocks.append(_Block(True))

    def named_extents(self) -> dict[int, list[tuple[PrimExpr, PrimExpr]]]:
        """Long expressions and the symbols that the current block has for them, by hashes."""
        return self._blocks[-1].named_extents

    def end_block(self) -> BindingBlock:
        """Close the current block and return it."""
        if not self._blocks:
            raise CheckError("end_block: no block is open; legal: after begin_binding_block")
        block = self._blocks.pop()
        return (DataflowBlock if block.is_dataflow else BindingBlock)(block.bindings)

    def rebuilt(
        self, block: BindingBlock, fill: Callable[[BindingBlock], None]
    ) -> BindingBlock:
        """A block of the same kind with what `fill` emits; `block` itself if that is the same."""
        if isinstance(block, DataflowBlock):
            self.begin_dataflow_block()
        else:
            self.begin_binding_block()
        fill(block)
        new = self._blocks.pop().bindings
        same = len(new) == len(block.bindings) and all(a is b for a, b in zip(new, block.bindings))
        return block if same else type(block)(new, block.span)

    # older spellings, which scripts use
    _begin_binding_block = begin_binding_block
    _begin_dataflow_block = begin_dataflow_block
    _end_block = end_block

    def in_block(self) -> bool:
        """True while a block is open."""
        return bool(self._blocks)

    def current_block_is_dataflow(self) -> bool:
        """True when the current block is a dataflow block."""
        return bool(self._blocks) and self._blocks[-1].is_dataflow

    def has_open_block(self) -> bool:
        """True when there is a block to emit into."""
        return bool(self._blocks)

    @explained
    def begin_scope(self, params: Sequence[Var] | None = None) -> None:
        """Open a scope: of a function with `params`, or (None) one that sees what is around it."""
        known = set(self._scopes[-1]) if params is None and self._scopes else set()
        around = self._given[-1] if self._given else frozenset()
        self._scopes.append(known)
        self._define(params or ())
        self._given.append(around if params is None else frozenset(known))

    def end_scope(self) -> None:
        """Close the scope."""
        if not self._scopes:
            raise CheckError("end_scope: no scope is open; legal: after begin_scope")
        self._scopes.pop()
        self._given.pop()

    def is_given(self, symbol: tir.Var) -> bool:
        """Whether the parameters of the current function tell a symbol."""
        return bool(self._given) and symbol in self._given[-1]

    def _define(self, params: Sequence[Var]) -> None:
        for param in params:
            if param.struct_info_ is not None:
                self._define_symbols(definable_tir_vars_in_struct_info(param.struct_info_))
                self._define_symbols(tir_vars_in_struct_info(param.struct_info_))
                self._extents_are_not_negative(param.struct_info_)

    def _extents_are_not_negative(self, info: StructInfo) -> None:
        for extent in collect_non_negative_expressions(info):
            if isinstance(extent, tir.Var):
                known = self.analyzer.const_int_bound(extent)
                if known.min_value < 0:
                    self.analyzer.update(extent, ConstIntBound(0, known.max_value), True)

    def _define_symbols(self, symbols: Sequence[tir.Var]) -> None:
        if self._scopes:
            self._scopes[-1].update(symbols)

    def erase(self, info: StructInfo) -> StructInfo:
        """The struct info in terms of the symbols of this scope; all are taken outside of any."""
        if not self._scopes:
            return info
        known = self._scopes[-1]

        def dim_of(var: tir.Var) -> PrimExpr | None:
            return var if var in known else None

        return map_struct_info(info, dim_of, lambda expr: expr, self.analyzer)

    # --- the module ---

    def get(self) -> IRModule:
        """The module with all functions made so far."""
        if self._module is None:
            base = self._base
            self._module = IRModule(
                self._functions, base.attrs, base.global_infos, base.source_map
            )
        return self._module

    def finalize(self) -> IRModule:
        """The finished module: each public function is called what its global symbol says."""
        return FINISHERS.get("names")(self.get())

    def get_unique_name(self, name_prefix: str) -> str:
        """`name_prefix`, or the first of name_prefix1, name_prefix2, ... not handed out before."""
        return self._names.fresh(_NOT_A_NAME.sub("_", name_prefix), "")

    @explained
    def add_func(self, func: BaseFunc, func_name: str) -> GlobalVar:
        """Add a function; an equal one that is there already is used instead."""
        known = self._find_equal(func)
        if known is not None:
            return known
        var = self.new_global_var(func_name)
        self._set_function(var, func)
        self._bucket(func).append(var)
        return var

    def new_global_var(self, name_hint: str) -> GlobalVar:
        """A name for a function that is added later, as one that calls itself is: none has it."""
        name = self.get_unique_name(name_hint)
        while name in self._taken:
            name = self.get_unique_name(name_hint)
        return GlobalVar(name)

    def update_func(self, gv: GlobalVar, updated_func: BaseFunc) -> None:
        """Replace the function of a global variable."""
        expect(GlobalVar, gv, 0, "BlockBuilder.update_func")
        expect(BaseFunc, updated_func, 1, "BlockBuilder.update_func")
        if self._by_kind is not None and gv in self._functions:
            bucket = self._bucket(self._functions[gv])
            if gv in bucket:
                bucket.remove(gv)
            self._bucket(updated_func).append(gv)
        self._hashes.pop(gv, None)
        self._set_function(gv, updated_func)

    def _set_function(self, var: GlobalVar, func: BaseFunc) -> None:
        self._functions[var] = func
        self._taken.add(var.name_hint)
        self._module = None
        if func.struct_info_ is not None:
            var.struct_info_ = func.struct_info_
        elif isinstance(func, PrimFunc):
            var.struct_info_ = prim_func_struct_info(func)

    def _bucket(self, func: BaseFunc) -> list[GlobalVar]:
        """Functions that may equal `func`: a cheap key spares most of the hashing."""
        if self._by_kind is None:
            self._by_kind = {}
            for var, known in self._functions.items():
                self._by_kind.setdefault(_kind(known), []).append(var)
        return self._by_kind.setdefault(_kind(func), [])

    def _find_equal(self, func: BaseFunc) -> GlobalVar | None:
        bucket = self._bucket(func)
        if not bucket:
            return None
        for var in bucket:
            if self._functions[var] is func:
                return var
        key = structural_hash(func)
        found = [
            var
            for var in bucket
            if self._hash_of(var) == key and structural_equal(self._functions[var], func)
        ]
        return min(found, key=lambda var: var.name_hint, default=None)

    def _hash_of(self, var: GlobalVar) -> int:
        if var not in self._hashes:
            self._hashes[var] = structural_hash(self._functions[var])
        return self._hashes[var]


def _known_extents(shape: Sequence[PrimExpr]) -> tuple[int | None, ...]:
    return tuple(extent.value if isinstance(extent, tir.IntImm) else None for extent in shape)


def _kind(func: BaseFunc) -> tuple[Any, ...]:
    params = getattr(func, "params", ())
    shapes: tuple[Any, ...] = ()
    if isinstance(func, PrimFunc):
        shapes = tuple((b.dtype, _known_extents(b.shape)) for b in func.buffer_map.values())
    return (type(func), len(params), shapes, len(func.attrs))


def _as_params(params: Var | Tuple | Sequence[Any] | None) -> list[Var] | None:
    if params is None:
        return None
    if isinstance(params, Var):
        return [params]
    given = list(params.fields if isinstance(params, Tuple) else params)
    for param in given:
        if not isinstance(param, Var):
            raise TypeError(
                "each element of function parameters must be of type tvm.relax.Var, "
                f"but got: {type(param).__name__}"
            )
    return given


__all__ = ["BlockBuilder", "Call", "DataflowScope", "FunctionScope", "TestingScope"]
