"""Let tensors of a block share memory: each reuses storage that others no longer need.

    alloc = R.builtin.alloc_tensor(R.shape([2, 4]), "float32", 0)
        ->
    storage = R.memory.alloc_storage(R.shape([32]), 0, "global", "float32")
    alloc = R.memory.alloc_tensor(storage, 0, R.shape([2, 4]), "float32")

A tensor is done with at the last kernel that takes it; its storage then goes to the next tensor
whose size is at most sixteen times larger or smaller. Tensors that a function returns, that are
used in another block, or that functions other than kernels see, keep an allocation of their own.

Sizes may be symbolic: two tensors share when their sizes are provably equal. With the attribute
`tir_var_upper_bound` of the function, {"n": 64}, storage is made for the largest size; with
`relax.memory_plan_dynamic_func_output` that of results too.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tvm.arith import Analyzer, ConstIntBound, IntervalSet, IntSet
from tvm.arith.deep_equal import deep_equal
from tvm.error import CheckError, message
from tvm.ir.expr import GlobalVar, PrimExpr, Range, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import (
    Binding,
    BindingBlock,
    Call,
    DataflowVar,
    DataTypeImm,
    ExternFunc,
    Function,
    If,
    SeqExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from tvm.relax.op.memory.memory import alloc_storage, alloc_tensor
from tvm.relax.struct_info import ShapeExpr
from tvm.relax.struct_info_rules import tir_vars_in_struct_info
from tvm.relax.transform.pass_form import relax_module_pass
from tvm.relax.transform.rebuild import rebuild_seq, with_bindings, with_body, with_value
from tvm.support.dtype import DataType
from tvm.tir.analysis import undefined_vars
from tvm.tir.expr import INT64, IntImm, Select
from tvm.tir.expr import Var as TirVar
from tvm.tir.function import PrimFunc
from tvm.tir.interp import evaluate
from tvm.tir.op import arith as ops

_ALLOC: Final = "relax.builtin.alloc_tensor"
# What gives its first operand's memory under another name.
_VIEWS: Final = ("relax.reshape", "relax.memory.view", "relax.memory.ensure_zero_offset")
# Storage is taken over by tensors that are at most so many times smaller or larger.
_MATCH_RANGE: Final = 16
# Asks for a plan of results, too; once it is made there is nothing to ask for.
_PLAN_OUTPUTS: Final = "relax.memory_plan_dynamic_func_output"


@relax_module_pass("StaticPlanBlockMemory")
def StaticPlanBlockMemory(mod: IRModule, ctx: PassContext) -> IRModule:
    """Plan the memory of every Relax function, block by block."""
    bb = BlockBuilder(mod)
    functions = {
        var: _planned(func, mod, bb) if isinstance(func, Function) else func
        for var, func in mod.functions.items()
    }
    return mod.with_functions(functions)


def _planned(func: Function, mod: IRModule, bb: BlockBuilder) -> Function:
    sizes = _Sizes(func)
    uses = _Uses(mod, sizes)
    uses.function(func)
    owners = _Sharing(uses).storage_of_each()
    new = with_body(func, _Rewriter(owners, sizes, bb).sequence(func.body))
    return new.without_attr(_PLAN_OUTPUTS) if _PLAN_OUTPUTS in new.attrs else new


@dataclass(eq=False)
class _Token:
    """The memory of one allocation: its size, and how many kernels still take it."""

    nbytes: PrimExpr
    dtype: DataType
    scope: str
    device: RelaxExpr
    uses: int = 0
    storage: Var | None = None  # while rewriting

    @property
    def known_bytes(self) -> int | None:
        return self.nbytes.value if isinstance(self.nbytes, IntImm) else None


class _Sizes:
    """Sizes in bytes, at the upper bounds that the function states for its symbols."""

    def __init__(self, func: Function) -> None:
        self.analyzer = Analyzer()
        self.plan_outputs = bool(func.attrs.get(_PLAN_OUTPUTS, False))
        bounds = _bounds(func, "tir_var_upper_bound")
        lower = _bounds(func, "tir_var_lower_bound")
        self._bounded: dict[TirVar, IntSet] = {}
        positive = set(_names(func, "tir_non_negative_var"))
        for param in func.params:
            if param.struct_info_ is None:
                continue
            for symbol in tir_vars_in_struct_info(param.struct_info_):
                if symbol.name in bounds and symbol not in self._bounded:
                    low = IntImm(INT64, lower.get(symbol.name, 0))
                    extent = IntImm(INT64, bounds[symbol.name] + 1 - low.value)
                    self.analyzer.bind(symbol, Range.from_min_extent(low, extent))
                    self._bounded[symbol] = IntervalSet(low, bounds[symbol.name])
                elif symbol.name in positive and symbol not in self._bounded:
                    self.analyzer.update(symbol, ConstIntBound(0, ConstIntBound.POS_INF))

    def largest(self, extents: Sequence[PrimExpr]) -> list[PrimExpr]:
        """Each extent at its upper bound, where the function states one."""
        found: list[PrimExpr] = []
        for extent in extents:
            known = isinstance(extent, IntImm) or not self._bounded
            found.append(extent if known else self._most(extent))
        return found

    def _most(self, extent: PrimExpr) -> PrimExpr:
        bound = self.analyzer.const_int_bound(extent)
        if bound.max_value < bound.POS_INF:
            return IntImm(INT64, int(bound.max_value))
        values = self.analyzer.int_set(extent, self._bounded)
        if not isinstance(values, IntervalSet) or not values.has_upper_bound():
            return extent
        most = values.max_value
        return extent if isinstance(most, Select) else most  # its sign is not known

    def nbytes(self, extents: Sequence[PrimExpr], dtype: DataType) -> PrimExpr:
        """How many bytes a tensor takes at most: one number times the extents not known."""
        number = dtype.itemsize
        unknown: PrimExpr | None = None
        for extent in self.largest(extents):
            if isinstance(extent, IntImm):
                number *= extent.value
            else:
                unknown = extent if unknown is None else ops.multiply(unknown, extent)
        whole = ops.const(number, "int64")
        return whole if unknown is None else ops.multiply(whole, unknown)


def _names(func: Function, attribute: str) -> list[str]:
    given = func.attrs.get(attribute)
    return [str(name) for name in given] if isinstance(given, (list, tuple)) else []


def _bounds(func: Function, attribute: str) -> dict[str, int]:
    given = func.attrs.get(attribute)
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise CheckError(
            message(
                f"StaticPlanBlockMemory: attribute {attribute!r}",
                found=f"{given}",
                legal='a number for each symbol: {"n": 64}',
            )
        )
    found: dict[str, int] = {}
    for name, bound in given.items():
        number = bound.value if isinstance(bound, IntImm) else bound
        if not isinstance(name, str) or not isinstance(number, int):
            raise CheckError(
                message(
                    f"StaticPlanBlockMemory: attribute {attribute!r}",
                    found=f"{name!r}: {bound!r}",
                    legal='a number for each symbol: {"n": 64}',
                )
            )
        found[name] = number
    return found


_Tokens = tuple["_Tokens", ...] | _Token | None


def _each(tokens: _Tokens) -> list[_Token]:
    if tokens is None:
        return []
    if isinstance(tokens, _Token):
        return [tokens]
    return [one for part in tokens for one in _each(part)]


@dataclass
class _Step:
    """A binding that matters: it makes the memory of a token, or kernels in it take memory."""

    made: _Token | None = None
    taken: list[_Token] = field(default_factory=list)


class _Uses:
    """Which tokens there are, and which steps of which block take them; the steps in order."""

    def __init__(self, mod: IRModule, sizes: _Sizes) -> None:
        self._mod = mod
        self._sizes = sizes
        self._held: dict[Var, _Tokens] = {}
        self._block_of: dict[_Token, int] = {}
        self._alone: set[_Token] = set()
        self._blocks = 0
        self.token_of: dict[Call, _Token] = {}
        self.steps: list[list[_Step]] = []

    def function(self, func: Function) -> None:
        result = self._sequence(func.body)
        self._leave_alone(result)
        for call, token in list(self.token_of.items()):
            if token in self._alone:
                del self.token_of[call]
        for block in self.steps:
            for step in block:
                if step.made in self._alone:
                    step.made = None
                step.taken = [token for token in step.taken if token not in self._alone]

    def _leave_alone(self, tokens: _Tokens) -> None:
        self._alone.update(_each(tokens))

    def _sequence(self, seq: SeqExpr) -> _Tokens:
        for block in seq.blocks:
            number = self._blocks
            steps: list[_Step] = []
            self._blocks += 1
            self.steps.append(steps)
            for binding in block.bindings:
                self._held[binding.var] = self._binding(binding, number, steps)
        return self._tokens(seq.body, -1)

    def _binding(self, binding: Binding, block: int, steps: list[_Step]) -> _Tokens:
        value = binding.value
        if isinstance(value, If):
            self._leave_alone(self._tokens(value.cond, block))
            for branch in (value.true_branch, value.false_branch):
                self._leave_alone(self._sequence(branch))
            return None
        if isinstance(value, Call):
            return self._call(value, block, steps)
        if not isinstance(binding, VarBinding):
            self._leave_alone(self._tokens(value, block))
            return None
        return self._tokens(value, block)

    def _tokens(self, value: RelaxExpr, block: int) -> _Tokens:
        """The memory that a value names; used in another block, it is left alone."""
        if isinstance(value, Var):
            held = self._held.get(value)
            for token in _each(held):
                if block >= 0 and self._block_of[token] != block:
                    self._alone.add(token)
            return held
        if isinstance(value, Tuple):
            return tuple(self._tokens(one, block) for one in value.fields)
        if isinstance(value, TupleGetItem):
            whole = self._tokens(value.tuple_value, block)
            return whole[value.index] if isinstance(whole, tuple) else None
        return None

    def _call(self, call: Call, block: int, steps: list[_Step]) -> _Tokens:
        name = call.op.name if isinstance(call.op, Op) else ""
        if name == _ALLOC:
            token = self._new(call)
            if token is not None:
                self._block_of[token] = block
                self.token_of[call] = token
                steps.append(_Step(made=token))
            return token
        if name in _VIEWS:
            return self._tokens(call.args[0], block)
        operands = call.args
        if name == "relax.vm.call_tir_dyn" and isinstance(call.args[1], Tuple):
            operands = call.args[1].fields
        taken = [t for one in operands for t in _each(self._tokens(one, block))]
        if name == "relax.vm.call_tir_dyn" or self._is_kernel(call.op):
            for token in taken:
                token.uses += 1
            steps.append(_Step(taken=taken))
        else:
            self._alone.update(taken)
        return None

    def _is_kernel(self, callee: RelaxExpr) -> bool:
        if isinstance(callee, GlobalVar):
            return isinstance(self._mod.functions.get(callee), PrimFunc)
        return isinstance(callee, ExternFunc)

    def _new(self, call: Call) -> _Token | None:
        shape, dtype, device, scope = call.args
        if not isinstance(shape, ShapeExpr) or not isinstance(dtype, DataTypeImm):
            return None
        where = scope.value if isinstance(scope, StringImm) else "global"
        nbytes = self._sizes.nbytes(shape.values, dtype.value)
        return _Token(nbytes, dtype.value, where, device)


@dataclass
class _Free:
    """Storage that nobody uses now; that of known size in the order of its size."""

    sizes: list[int] = field(default_factory=list)
    known: list[_Token] = field(default_factory=list)
    symbolic: list[_Token] = field(default_factory=list)

    def add(self, token: _Token) -> None:
        size = token.known_bytes
        if size is None:
            self.symbolic.append(token)
            return
        at = bisect_right(self.sizes, size)
        self.sizes.insert(at, size)
        self.known.insert(at, token)

    def take(self, at: int) -> _Token:
        del self.sizes[at]
        return self.known.pop(at)


class _Sharing:
    """Runs through the blocks and hands storage on from token to token."""

    def __init__(self, uses: _Uses) -> None:
        self._uses = uses
        self._analyzer = Analyzer()
        self._free: dict[tuple[DataType, str, str], _Free] = {}
        self._storage: dict[_Token, _Token] = {}
        self._left: dict[_Token, int] = {}
        self._chosen: dict[TirVar, int] = {}
        self._samples: dict[_Token, object] = {}

    def storage_of_each(self) -> dict[Call, _Token]:
        """For each planned allocation the token that stands for its storage."""
        for block in self._uses.steps:
            self._free.clear()  # storage is made in its block, and known in no other
            for step in block:
                if step.made is not None:
                    self._storage[step.made] = self._request(step.made)
                    self._left[step.made] = step.made.uses
                for token in step.taken:
                    self._left[token] -= 1
                    if self._left[token] == 0:
                        self._pool(token).add(self._storage[token])
        return {call: self._storage[token] for call, token in self._uses.token_of.items()}

    def _pool(self, token: _Token) -> _Free:
        key = (token.dtype, token.scope, str(token.device))
        return self._free.setdefault(key, _Free())

    def _request(self, token: _Token) -> _Token:
        if token.uses == 0:  # nobody ever gives it back
            return token
        pool = self._pool(token)
        size = token.known_bytes
        if size is None:
            for i, other in enumerate(pool.symbolic):
                if self._sample(other) != self._sample(token):
                    continue  # no proof can be found, and looking for one is dear
                same = deep_equal(other.nbytes, token.nbytes)
                if same or self._analyzer.can_prove_equal(other.nbytes, token.nbytes):
                    return pool.symbolic.pop(i)
            return token
        middle = bisect_left(pool.sizes, size)
        if middle < bisect_right(pool.sizes, size * _MATCH_RANGE):
            return pool.take(middle)
        if middle > bisect_left(pool.sizes, -(-size // _MATCH_RANGE)):
            grown = pool.take(middle - 1)
            grown.nbytes = token.nbytes
            return grown
        return token

    def _sample(self, token: _Token) -> object:
        """A symbolic size where each symbol has a number of its own."""
        found = self._samples.get(token)
        if found is None:
            for symbol in undefined_vars(token.nbytes):
                self._chosen.setdefault(symbol, 1009 + 131 * len(self._chosen))
            try:
                found = int(evaluate(token.nbytes, self._chosen))
            except ZeroDivisionError:
                found = token  # like no other
            self._samples[token] = found
        return found


class _Rewriter:
    """Writes storage where it is first used, and tensors into it."""

    def __init__(self, owners: dict[Call, _Token], sizes: _Sizes, bb: BlockBuilder) -> None:
        self._owners = owners
        self._sizes = sizes
        self._bb = bb

    def sequence(self, seq: SeqExpr) -> SeqExpr:
        return rebuild_seq(seq, self._block)

    def _block(self, block: BindingBlock) -> BindingBlock:
        bindings: list[Binding] = []
        for binding in block.bindings:
            value = binding.value
            if isinstance(value, If):
                bindings.append(with_value(binding, self._if(value)))
            elif isinstance(value, Call):
                bindings += self._call(binding, value)
            else:
                bindings.append(binding)
        return with_bindings(block, bindings)

    def _if(self, value: If) -> If:
        yes, no = self.sequence(value.true_branch), self.sequence(value.false_branch)
        if yes is value.true_branch and no is value.false_branch:
            return value
        new = If(value.cond, yes, no, value.span)
        new.struct_info_ = value.struct_info_
        return new

    def _call(self, binding: Binding, call: Call) -> list[Binding]:
        token = self._owners.get(call)
        if token is None:
            token = self._for_result(call)
            if token is None:
                return [binding]
        made: list[Binding] = []
        if token.storage is None:
            size = ShapeExpr([token.nbytes])
            value = self._bb.normalize(
                alloc_storage(size, token.device, token.scope, token.dtype)
            )
            value.span = call.span
            kind = DataflowVar if isinstance(binding.var, DataflowVar) else Var
            token.storage = kind("storage", value.struct_info_)
            made.append(VarBinding(token.storage, value, binding.span))
        shape, dtype = call.args[0], call.args[1]
        tensor = self._bb.normalize(alloc_tensor(token.storage, 0, shape, dtype))
        tensor.span = call.span
        made.append(with_value(binding, tensor))
        return made

    def _for_result(self, call: Call) -> _Token | None:
        """Storage for an unplanned tensor of symbolic shape, where the function asks for it."""
        if not self._sizes.plan_outputs or not isinstance(call.op, Op) or call.op.name != _ALLOC:
            return None
        shape, dtype = call.args[0], call.args[1]
        if not isinstance(shape, ShapeExpr) or not isinstance(dtype, DataTypeImm):
            return None
        if all(isinstance(extent, IntImm) for extent in shape.values):
            return None
        nbytes: PrimExpr = ops.const(1, "int64")
        for extent in (*self._sizes.largest(shape.values), dtype.value.itemsize):
            nbytes = ops.multiply(nbytes, extent)
        return _Token(nbytes, dtype.value, "global", call.args[2])
