"""The flow of a native graph: kernels one after another, branches, functions, and loops.

    if go: y = f(x)                         if (go[0]) { f(x, y) } else { g(x, y) }
    else: y = g(x)                 ->

    def loop(go, x):                        while (running) {
        if go: r = loop(test(x), f(x))          if (go[0]) { f(x, t); test(x, go); x = t }
        else: r = x                             else { running = false }
        return r                            }

A function of the module is written out where it is called. One whose last step is to call itself
is a loop: what it is called with anew is copied over its parameters, but for what stays as it is
or was written in place (`call_tir_inplace`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from tvm.arith import Analyzer
from tvm.error import TVMError
from tvm.ir.expr import GlobalVar, PrimExpr, RelaxExpr, StructInfo
from tvm.ir.module import IRModule
from tvm.ir.span import Span
from tvm.ir.type import PointerType, PrimType
from tvm.relax.bind import bind_symbolic_vars, copy_with_new_vars
from tvm.relax.derive import bind_symbols
from tvm.relax.expr import (
    Binding,
    Call,
    Constant,
    ExternFunc,
    Function,
    If,
    MatchCast,
    PrimValue,
    SeqExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
    is_call_of,
)
from tvm.relax.final_binding import bindings_within, final_binding, final_values, is_loop, own_calls
from tvm.relax.loops import row_index
from tvm.relax.struct_info import (
    ObjectStructInfo,
    PrimStructInfo,
    ShapeExpr,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tvm.relax.vm.native_memory import Arena, Location
from tvm.relax.vm.native_rows import RowCopy, maker, row_copy, written_rows
from tvm.relax.vm.native_sizes import Sizes
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer, decl_buffer
from tvm.tir.function import PrimFunc
from tvm.tir.op import arith as ops
from tvm.tir.op import builtin
from tvm.tir.transform.direct_api import direct_params

_DEEPEST = 64  # functions written out within each other


class NotNative(TVMError):
    """Why a graph cannot be native code."""


@dataclass
class _Let:
    """A name for all statements behind it."""

    var: e.Var
    value: PrimExpr


@dataclass
class _Loop:
    """A function that is repeated: where its parameters lie, and what it gave where it ended."""

    own: GlobalVar
    params: Sequence[Var]
    changes: Sequence[bool]
    running: Buffer
    exits: list[RelaxExpr] = field(default_factory=list)
    results: list[Location] | None = None


class Flow:
    """Emits the statements of a function, and of those that it calls."""

    def __init__(self, mod: IRModule, name: str, sizes: Sizes, arena: Arena) -> None:
        self.mod = mod
        self.name = name
        self.sizes = sizes
        self.arena = arena
        self.values: dict[Var, RelaxExpr] = {}
        self.locations: dict[Var, list[Location]] = {}
        # where results of calls go that rows of a tensor around a loop are written with
        self._wanted: dict[tuple[Var, int], Location] = {}
        self.stmts: list[s.Stmt | _Let] = []
        self._step = 0
        self._depth = 0
        self.has_loops = False
        self._active: list[GlobalVar] = []

    @property
    def step(self) -> int:
        """The present moment, as lifetimes count it."""
        return self._step

    # --- what the owner knows ---

    def constant(self, value: Constant) -> Location:
        """Where a constant lies."""
        raise NotImplementedError

    def note(self, name: str, span: Span | None) -> None:
        """A kernel, or a step of the outermost level, was emitted."""
        raise NotImplementedError

    # --- statements ---

    def next_step(self) -> None:
        """Time goes on: what was used until now may make room."""
        self._step += 1

    def closed(self, stmts: Sequence[s.Stmt | _Let]) -> s.Stmt:
        """Statements as one, each name around what is behind it."""
        rest: list[s.Stmt] = []
        for stmt in reversed(stmts):
            if isinstance(stmt, _Let):
                body = s.SeqStmt.flatten(rest[::-1]) if rest else s.Evaluate(0)
                rest = [s.LetStmt(stmt.var, stmt.value, body)]
            else:
                rest.append(stmt)
        return s.SeqStmt.flatten(rest[::-1]) if rest else s.Evaluate(0)

    @contextmanager
    def _inner(self) -> Iterator[list[s.Stmt]]:
        """Statements of their own: the list that is given has them as one, afterwards."""
        made: list[s.Stmt] = []
        before, self.stmts = self.stmts, []
        self._depth += 1
        with self.sizes.inner() as around:
            yield made
            made.append(around(self.closed(self.stmts)))
        self._depth -= 1
        self.stmts = before

    def _pointer(self, location: Location, dtype: str, name: str) -> Buffer:
        """A location as a buffer of one element or more."""
        self.arena.use(location, self._step)
        data = e.Var(name, PointerType(PrimType(dtype), "global"))
        self.stmts.append(_Let(data, builtin.reinterpret("handle", location.address())))
        return decl_buffer([ops.const(1, "int64")], dtype, name, data=data)

    def copy(self, target: Location, source: Location, info: TensorStructInfo) -> None:
        """Copy a tensor, unless it is there."""
        for location in (target, source):
            self.arena.use(location, self._step)
        if target.is_at(source):
            return
        call = builtin.call_extern(
            "handle", "memcpy", target.address(), source.address(), _nbytes(info)
        )
        self.stmts.append(s.Evaluate(call))

    def _room(self, info: StructInfo | None, what: str) -> Location:
        """New memory for a tensor."""
        nbytes = self.sizes.of_parameters(_nbytes(tensor_info(info, what)))
        if nbytes is None or not self.sizes.is_known(nbytes):
            raise NotNative(f"the size of {what} comes from data")
        return self.arena.allocate(nbytes, self._step)

    # --- bindings ---

    def look_at_sizes(self, bindings: Sequence[Binding]) -> None:
        """Name and compare the sizes of bindings; those of data are read where they stand."""
        for binding in bindings:
            obstacle, value = None, binding.value
            if isinstance(binding, MatchCast):
                if not self._reads_data(binding):
                    obstacle = self.sizes.match(binding)
            elif is_call_of(value, "relax.reshape"):
                obstacle = self.sizes.reshape(value)
            if obstacle is not None:
                raise NotNative(obstacle)

    def _reads_data(self, binding: MatchCast) -> bool:
        source = self.resolved(binding.value)
        made = self.values.get(source) if isinstance(source, Var) else source
        return is_call_of(made, "relax.tensor_to_shape")

    def bind(self, binding: Binding) -> None:
        """Emit what a binding computes; its variable has a location."""
        value, var = binding.value, binding.var
        if isinstance(binding, MatchCast):
            if self._reads_data(binding):
                self._read_sizes(binding)
            is_shape = isinstance(binding.struct_info, ShapeStructInfo)
            self.locations[var] = [] if is_shape else self.alias(value)
        elif isinstance(value, If):
            self.next_step()
            self._branch(var, value)
            self._noted("if", value.span or binding.span)
        elif isinstance(value, Call) and isinstance(value.op, GlobalVar):
            self.next_step()
            self._function(var, value)
            self._noted(value.op.name_hint, value.span or binding.span)
        elif is_call_of(value, "relax.call_tir", "relax.call_tir_inplace"):
            assert isinstance(value, Call), "kernels are called"
            self.next_step()
            self._kernel(var, value, value.span or binding.span)
        elif is_call_of(value, "relax.builtin.alloc_tensor"):
            self.locations[var] = [self._room(var.struct_info_, f"variable {var.name_hint!r}")]
        elif is_call_of(value, "relax.tensor_to_shape"):
            self.locations[var] = []
        elif (text := _asserted(value)) is not None:
            assert isinstance(value, Call), "checks are calls"
            told = e.StringImm(f"AssertionError: Assertion Failed: {text}")
            condition = self._truth(value.args[0])
            self.stmts.append(s.AssertStmt(condition, told, s.Evaluate(0), value.span))
            self.locations[var] = []
        elif var not in self.locations:
            self.locations[var] = self.alias(value)

    def _noted(self, name: str, span: Span | None) -> None:
        if not self._depth:
            self.note(name, span)

    def resolved(self, expr: RelaxExpr) -> RelaxExpr:
        """The first name of a value: a variable bound to a variable or a tuple stands for it."""
        while isinstance(expr, Var) and isinstance(self.values.get(expr), (Var, Tuple)):
            expr = self.values[expr]
        return expr

    def alias(self, value: RelaxExpr) -> list[Location]:
        """The locations of a value that needs no code: another name, a view, a tuple."""
        if isinstance(value, Var):
            return self.locations[value]
        if isinstance(value, Constant):
            return [self.constant(value)]
        if isinstance(value, Tuple):
            return [location for part in value.fields for location in self.alias(part)]
        if isinstance(value, TupleGetItem):
            info = value.tuple_value.struct_info_
            if isinstance(info, TupleStructInfo) and all(
                isinstance(part, TensorStructInfo) for part in info.fields
            ):
                return [self.alias(value.tuple_value)[value.index]]
        if is_call_of(value, "relax.reshape"):
            return self.alias(value.args[0])
        if isinstance(value, (ShapeExpr, PrimValue)):
            return []
        what = f"a call of {value.op}" if isinstance(value, Call) else type(value).__name__
        raise NotNative(f"the function holds {what}")

    def _used(self, value: RelaxExpr) -> list[Location]:
        locations = self.alias(value)
        for location in locations:
            self.arena.use(location, self._step)
        return locations

    # --- kernels ---

    def _kernel(self, var: Var, call: Call, span: Span | None) -> None:
        callee = call.args[0]
        assert isinstance(callee, GlobalVar), "kernels have names"
        kernel = self.mod[callee]
        if not isinstance(kernel, PrimFunc):
            raise NotNative(f"{callee.name_hint} is no kernel of the module")
        copied = row_copy(self.mod, call)
        if copied is not None and self._is_there(var, copied):
            self.note(callee.name_hint, span)
            return
        operands = call.args[1]
        parts = operands.fields if isinstance(operands, Tuple) else (operands,)
        locations = [location for part in parts for location in self._used(part)]
        infos = [info for part in parts for info in flat_infos(part.struct_info_)]
        given = getattr(call.attrs, "inplace_indices", None)
        made = flat_infos(var.struct_info_)
        indices = [-1] * len(made) if given is None else [int(i) for i in given]
        wanted = self._wanted.pop((var, 0), None)
        if wanted is not None and indices == [-1] and var not in self.locations:
            self.arena.use(wanted, self._step)
            self.locations[var] = [wanted]
        if var not in self.locations:
            self.locations[var] = [
                self._room(info, f"variable {var.name_hint!r}") if i < 0
                else self._overwritten(parts[i])
                for i, info in zip(indices, made)
            ]  # fmt: skip
        for location, info, i in zip(self.locations[var], made, indices):
            if i < 0:
                locations.append(location)
                infos.append(info)
        numbers = list(call.args[2].values) if len(call.args) > 2 else []  # type: ignore[attr-defined]
        args = _arguments(callee, kernel, locations, infos, numbers)
        self.stmts.append(s.Evaluate(e.Call("void", callee, args, span), span))
        self.note(callee.name_hint, span)

    # --- rows ---

    def _is_there(self, var: Var, copied: RowCopy) -> bool:
        """Whether a row needs no copy: it is read where it lies, or was made where it is to be."""
        (rows,) = self._used(copied.rows)
        if not copied.written:
            self.locations[var] = [self._row(rows, copied, var.struct_info_)]
            return True
        assert copied.item is not None, "a row is written with an item"
        (item,) = self._used(copied.item)
        if item.row is None or item.base is not rows.base or item.number != rows.number:
            return False
        self.locations[var] = [rows]
        return True

    def _row(self, rows: Location, copied: RowCopy, info: StructInfo | None) -> Location:
        """Where a row lies; its start gets a name."""
        (number,) = self._used(copied.number)
        index = e.BufferLoad(self._pointer(number, "int64", "number"), [_zero()])
        start = e.Var("row", "int64")
        nbytes = _nbytes(tensor_info(info, "a row"))
        before = row_index(index, copied.kind, copied.way)
        self.stmts.append(_Let(start, ops.multiply(before, nbytes)))
        return rows.row_at(start)

    def _want_rows(self, seq: SeqExpr) -> None:
        """What makes the rows that a sequence writes makes them where they are to be."""
        for copied in written_rows(self.mod, seq):
            source = maker(self.values, copied.item)
            known = copied.rows in self.locations and copied.number in self.locations
            if source is not None and known and copied.item is not None:
                (rows,) = self.alias(copied.rows)
                info = copied.item.struct_info_
                self._wanted[source] = self._row(rows, copied, info)

    def _overwritten(self, operand: RelaxExpr) -> Location:
        if isinstance(self.resolved(operand), Constant):
            raise NotNative("a constant is overwritten")
        (location,) = self.alias(operand)
        return location

    # --- sizes that are data ---

    def _read_sizes(self, binding: MatchCast) -> None:
        """Names for the elements of a tensor that is a shape."""
        source = self.resolved(binding.value)
        call = self.values[source] if isinstance(source, Var) else source
        assert isinstance(call, Call), "the caller looked"
        info, pattern = tensor_info(call.args[0].struct_info_, "a shape"), binding.struct_info
        values = pattern.values if isinstance(pattern, ShapeStructInfo) else None
        named = values is not None and all(
            isinstance(v, e.Var) and not self.sizes.is_known(v) for v in values
        )
        count = extents_of(info)[0]
        if not named or values is None or getattr(count, "value", -1) != len(values):
            raise NotNative("a match_cast compares sizes that come from data")
        (location,) = self._used(call.args[0])
        read = self._pointer(location, str(info.dtype), "sizes")
        for i, var in enumerate(values):
            assert isinstance(var, e.Var), "just looked"
            load = e.BufferLoad(read, [ops.const(i, "int64")])
            self.stmts.append(_Let(var, ops.cast(load, var.dtype)))

    # --- branches ---

    def _truth(self, cond: RelaxExpr) -> PrimExpr:
        number = cond.struct_info_
        if isinstance(number, PrimStructInfo) and number.value is not None:
            return ops.cast(number.value, "bool")
        info = tensor_info(cond.struct_info_, "a condition")
        (location,) = self._used(cond)
        return e.BufferLoad(self._pointer(location, str(info.dtype), "cond"), [_zero()])

    def _branch(self, var: Var, value: If) -> None:
        cond = self._truth(value.cond)
        infos = flat_infos(var.struct_info_)
        results = [self._room(info, "the result of a branch") for info in infos]
        bodies = []
        for branch in (value.true_branch, value.false_branch):
            with self._inner() as made:
                self._sequence(branch)
                self.next_step()
                for info, target, location in zip(infos, results, self.alias(branch.body)):
                    self.copy(target, location, info)
            bodies.append(made[0])
        self.stmts.append(s.IfThenElse(cond, bodies[0], bodies[1], value.span))
        self.locations[var] = results

    def _sequence(self, seq: SeqExpr, last: Binding | None = None) -> None:
        """The bindings of a sequence, but for the last one."""
        bindings = [b for block in seq.blocks for b in block.bindings]
        self.values.update((b.var, b.value) for b in bindings)
        self.look_at_sizes(bindings)
        self._want_rows(seq)
        for binding in bindings:
            if binding is last:
                return
            self.bind(binding)

    # --- functions ---

    def _function(self, var: Var, call: Call) -> None:
        own = call.op
        assert isinstance(own, GlobalVar), "the caller looked"
        func = self.mod.functions.get(own)
        if not isinstance(func, Function):
            raise NotNative(f"the function calls {own.name_hint}")
        if own in self._active or len(self._active) > _DEEPEST:
            raise NotNative(f"{own.name_hint} calls itself before its end")
        func = self._fitted(own, copy_with_new_vars(func), call)
        self._active.append(own)
        if own_calls(func, own):
            self._loop(var, own, func, call)
        else:
            for param, arg in zip(func.params, call.args):
                self.locations[param] = self.alias(arg)
            with self._inner() as made:
                self._hand_on(var, func.body)
                self._sequence(func.body)
                self.locations[var] = self.alias(func.body.body)
            self.stmts += made
        self._active.pop()

    def _hand_on(self, var: Var, seq: SeqExpr) -> None:
        """What is wanted of a call's results is wanted of what makes them."""
        self.values.update((b.var, b.value) for b in bindings_within(seq))
        result = seq.body
        for key in [key for key in self._wanted if key[0] is var]:
            location = self._wanted.pop(key)
            part = result
            if isinstance(self.resolved(result).struct_info_, TupleStructInfo):
                part = written_out(self.resolved(result))[key[1]]
            source = maker(self.values, part)
            if source is not None:
                self._wanted[source] = location

    def _fitted(self, own: GlobalVar, func: Function, call: Call) -> Function:
        """The function with the caller's sizes."""
        symbols: dict[e.Var, PrimExpr] = {}
        for param, arg in zip(func.params, call.args):
            bind_symbols(param.struct_info, arg.struct_info, symbols)
        func = bind_symbolic_vars(func, {v: x for v, x in symbols.items() if v is not x})
        for param, arg in zip(func.params, call.args):
            if not is_same_info(param.struct_info, arg.struct_info):
                raise NotNative(f"{own.name_hint} takes {param.struct_info}, {arg.struct_info}")
        return func

    # --- loops ---

    def _loop(self, var: Var, own: GlobalVar, func: Function, call: Call) -> None:
        start = self._step
        self.has_loops = True
        self.values.update((b.var, b.value) for b in bindings_within(func.body))
        if not is_loop(func, own):
            raise NotNative(f"{own.name_hint} calls itself before its end")
        again = own_calls(func, own)
        changes = [
            any(self._origin(one.args[i]) is not param for one in again)
            for i, param in enumerate(func.params)
        ]
        for param, arg, changed in zip(func.params, call.args, changes):
            given = self._used(arg)
            self.locations[param] = given
            if changed:
                infos = flat_infos(param.struct_info_)
                self.locations[param] = [self._room(info, "the state of a loop") for info in infos]
                for target, location, info in zip(self.locations[param], given, infos):
                    self.copy(target, location, info)
        flag = self.arena.allocate(ops.const(1, "int64"), self._step)
        running = self._pointer(flag, "bool", "running")
        self.stmts.append(s.BufferStore(running, ops.const(True, "bool"), [_zero()]))
        loop = _Loop(own, func.params, changes, running)
        if sum(1 for _ in final_values(func.body)) - len(again) > 1:
            infos = flat_infos(var.struct_info_)
            loop.results = [self._room(info, "the result of a loop") for info in infos]
        self.next_step()
        with self._inner() as made:
            self._tail(func.body, loop)
        self.next_step()
        self.stmts.append(s.While(e.BufferLoad(running, [_zero()]), made[0]))
        self.arena.use(flag, self._step)
        for param in func.params:
            for location in self.locations[param]:
                self.arena.use(location, self._step)
        self.arena.keep(start + 1, self._step)
        if loop.results is None:
            if not loop.exits:
                raise NotNative(f"{own.name_hint} never ends")
            loop.results = self.alias(loop.exits[0])
        for location in loop.results:
            self.arena.use(location, self._step)
        self.locations[var] = loop.results

    def _origin(self, expr: RelaxExpr) -> RelaxExpr:
        """The variable in whose memory a value lies that was handed on, or overwritten."""
        while True:
            expr = self.resolved(expr)
            value = self.values.get(expr) if isinstance(expr, Var) else None
            if not is_call_of(value, "relax.call_tir_inplace"):
                return expr
            indices = [int(i) for i in value.attrs.inplace_indices]  # type: ignore[union-attr]
            if len(indices) != 1 or indices[0] < 0:
                return expr
            operands = value.args[1]
            expr = operands.fields[indices[0]] if isinstance(operands, Tuple) else operands

    def _tail(self, seq: SeqExpr, loop: _Loop) -> None:
        """A sequence whose value is that of the loop: it goes on, or ends."""
        last = final_binding(seq)
        value = None if last is None else last.value
        if isinstance(value, If):
            self._sequence(seq, last)
            self.next_step()
            cond, bodies = self._truth(value.cond), []
            for branch in (value.true_branch, value.false_branch):
                with self._inner() as made:
                    self._tail(branch, loop)
                bodies.append(made[0])
            self.stmts.append(s.IfThenElse(cond, bodies[0], bodies[1], value.span))
        elif isinstance(value, Call) and value.op is loop.own:
            self._sequence(seq, last)
            self._again(value, loop)
        else:
            self._sequence(seq)
            self._end(seq.body, loop)

    def _again(self, call: Call, loop: _Loop) -> None:
        """The parameters get their next values, all at once."""
        self.next_step()
        moves: list[tuple[Location, Location, TensorStructInfo]] = []
        changing = [
            location
            for param, changes in zip(loop.params, loop.changes)
            for location in self.locations[param]
            if changes
        ]
        for param, arg, changes in zip(loop.params, call.args, loop.changes):
            if not is_same_info(param.struct_info, arg.struct_info):
                raise NotNative(f"a turn changes {param.struct_info} to {arg.struct_info}")
            if not changes:
                continue
            infos = flat_infos(param.struct_info_)
            for target, location, info in zip(self.locations[param], self._used(arg), infos):
                if any(location.is_at(other) for other in changing) and not location.is_at(target):
                    aside = self._room(info, "the state of a loop")
                    self.copy(aside, location, info)
                    location = aside
                moves.append((target, location, info))
        self.next_step()
        for target, location, info in moves:
            self.copy(target, location, info)

    def _end(self, value: RelaxExpr, loop: _Loop) -> None:
        self.next_step()
        loop.exits.append(value)
        if loop.results is not None:
            infos = flat_infos(value.struct_info_)
            for target, location, info in zip(loop.results, self.alias(value), infos):
                self.copy(target, location, info)
        self.stmts.append(s.BufferStore(loop.running, ops.const(False, "bool"), [_zero()]))


# --- struct infos ---


def _asserted(value: RelaxExpr) -> str | None:
    """The text of an `assert_op` that shows no values; None for anything else."""
    if not isinstance(value, Call) or len(value.args) != 2:
        return None
    packed = isinstance(value.op, ExternFunc) and value.op.global_symbol == "relax.run.assert_op"
    text = value.args[1]
    if not (packed or is_call_of(value, "relax.assert_op")) or not isinstance(text, StringImm):
        return None
    try:
        return text.value.format()
    except (LookupError, ValueError):  # it names values that are not given: running says so
        return None


def tensor_info(info: StructInfo | None, what: str) -> TensorStructInfo:
    """The struct info of a tensor with a known shape; anything else is not native."""
    if not isinstance(info, TensorStructInfo) or not isinstance(info.shape, ShapeExpr):
        raise NotNative(f"{what} is {info}, no tensor with a known shape")
    return info


def extents_of(info: TensorStructInfo) -> tuple[PrimExpr, ...]:
    """The extents of a shape that is known."""
    assert isinstance(info.shape, ShapeExpr), "checked before"
    return info.shape.values


def flat_infos(info: StructInfo | None) -> list[TensorStructInfo]:
    """The tensors of a value; shapes and numbers have no location."""
    if isinstance(info, TupleStructInfo):
        return [one for part in info.fields for one in flat_infos(part)]
    if isinstance(info, (ShapeStructInfo, PrimStructInfo)):
        return []
    return [tensor_info(info, "a value")]


def written_out(value: RelaxExpr) -> list[RelaxExpr]:
    """The fields of a tuple."""
    if isinstance(value, Tuple):
        return list(value.fields)
    info = value.struct_info_
    assert isinstance(info, TupleStructInfo), "the caller looked"
    fields: list[RelaxExpr] = []
    for i, one in enumerate(info.fields):
        item = TupleGetItem(value, i)
        item.struct_info_ = one
        fields.append(item)
    return fields


def is_same_info(a: StructInfo, b: StructInfo) -> bool:
    """Whether both are provably of the same sizes."""
    if isinstance(a, TupleStructInfo) and isinstance(b, TupleStructInfo):
        same = len(a.fields) == len(b.fields)
        return same and all(is_same_info(x, y) for x, y in zip(a.fields, b.fields))
    if isinstance(a, TensorStructInfo) and isinstance(b, TensorStructInfo):
        known = isinstance(a.shape, ShapeExpr) and isinstance(b.shape, ShapeExpr)
        if a.dtype != b.dtype or not known:
            return False
        return _equal(extents_of(a), extents_of(b))
    if isinstance(a, ShapeStructInfo) and isinstance(b, ShapeStructInfo):
        return a.values is not None and b.values is not None and _equal(a.values, b.values)
    if isinstance(a, PrimStructInfo) and isinstance(b, PrimStructInfo):
        return a.value is not None and b.value is not None and _equal([a.value], [b.value])
    return isinstance(a, ObjectStructInfo) and isinstance(b, ObjectStructInfo)


def _equal(a: Sequence[PrimExpr], b: Sequence[PrimExpr]) -> bool:
    prove = Analyzer().can_prove_equal
    return len(a) == len(b) and all(x is y or prove(x, y) for x, y in zip(a, b))


def _nbytes(info: TensorStructInfo) -> PrimExpr:
    total: PrimExpr = ops.const(info.dtype.itemsize, "int64")
    for extent in extents_of(info):
        total = ops.multiply(total, extent)
    return total


def _zero() -> PrimExpr:
    return ops.const(0, "int64")


def _arguments(
    var: GlobalVar,
    kernel: PrimFunc,
    locations: list[Location],
    infos: list[TensorStructInfo],
    numbers: list[PrimExpr],
) -> list[PrimExpr]:
    """What the kernel's direct form takes: addresses, numbers, then the sizes left over."""
    tensors, scalars = list(zip(locations, infos)), list(numbers)
    args: list[PrimExpr] = []
    sizes: dict[e.Var, PrimExpr] = {}
    for param in kernel.params:
        buffer = kernel.buffer_map.get(param)
        if buffer is None:
            number = scalars.pop(0)
            args.append(ops.cast(number, param.dtype))
            continue
        location, info = tensors.pop(0)
        args.append(location.address())
        for extent, given in zip(buffer.shape, extents_of(info)):
            if isinstance(extent, e.Var):
                sizes.setdefault(extent, ops.cast(given, extent.dtype))
    for size in direct_params(kernel)[len(kernel.params) :]:
        if size not in sizes:
            raise NotNative(f"size {size.name!r} of kernel {var.name_hint!r} follows from no shape")
        args.append(sizes[size])
    return args
