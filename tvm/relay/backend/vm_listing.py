"""A program in the instructions of Relay's virtual machine, as text to look at.

    def @main(%x) { nn.softmax(%x) }      ->      VM Function[0]: main(x)
                                                  # reg file size = 5
                                                  # instruction count = 8
                                                  opcode, fields # inst(text):
                                                   0: 11 0 0 1        # load_const $1 Const[0] 0

Programs run as native code; this says what they do in the terms that users of the machine know:
memory for results, kernels, registers that are free again. Functions or data as values have no
such text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, NoReturn

import numpy as np

from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.structural import structural_equal
from tvm.ir.transform import Sequential
from tvm.ir.type import TupleType
from tvm.relay.expr import Call, Constant, If, Let, Tuple, TupleGetItem, Var
from tvm.relay.function import Function
from tvm.relay.op.relations import extents
from tvm.relay.traverse import post_order
from tvm.relay.ty import TensorType
from tvm.support.dtype import DataType
from tvm.support.naming import NameTable

from .graph_plan_memory import flat_types, is_reshape_only, size_in_bytes
from .graph_runtime import kernel_name

_CODES: Final = {"int": 0, "uint": 1, "bool": 1, "float": 2, "bfloat": 4}


class NoListing(Exception):
    """The program has no text in these instructions."""


class Listing:
    """The functions of a module as text, with the constants and kernels that they name."""

    def __init__(self, mod: IRModule) -> None:
        from tvm.relay.transform import FoldConstant, FuseOps, InferType, SimplifyInference

        passes = [InferType(), SimplifyInference(), FoldConstant(), FuseOps(), InferType()]
        self.mod: IRModule = Sequential(passes)(mod)
        self.constants: list[np.ndarray[Any, Any]] = []
        self.kernels: list[str] = []
        self._known: dict[int, Function] = {}
        self._own: dict[str, int] = {}
        self._names = NameTable()
        self.globals = [
            v.name_hint for v, f in self.mod.functions.items() if isinstance(f, Function)
        ]
        self.text = "".join(self._function(at, name) for at, name in enumerate(self.globals))

    def _function(self, at: int, name: str) -> str:
        func = self.mod[name]
        assert isinstance(func, Function), "these are functions of Relay"
        made = _Function(self, func)
        params = ", ".join(param.name_hint for param in func.params)
        head = f"VM Function[{at}]: {name}({params})\n# reg file size = {made.registers}\n"
        lines = [f"{n:2d}: {fields:<37} # {text}\n" for n, (fields, text) in enumerate(made.done)]
        count = f"# instruction count = {len(lines)}\nopcode, fields # inst(text):\n"
        return f"{head}{count}{''.join(lines)}\n"

    def constant(self, value: np.ndarray[Any, Any]) -> int:
        """The number of a constant."""
        self.constants.append(value)
        return len(self.constants) - 1

    def kernel(self, func: Function) -> int:
        """The number of a kernel; equal ones share theirs."""
        for at, known in self._known.items():
            if structural_equal(known, func):
                return at
        self._known[len(self.kernels)] = func
        return self._named(kernel_name(func, "vm_mod").removeprefix("tvmgen_"))

    def shape_function(self, func: Function) -> int:
        """The number of the function that gives a kernel's extents."""
        name = kernel_name(func, "vm_mod").removeprefix("tvmgen_")
        return self.named_kernel(name.removeprefix("vm_mod_").replace("fused", "shape_func", 1))

    def named_kernel(self, name: str) -> int:
        """The number of a kernel that the machine needs of its own; one of a name."""
        if name not in self._own:
            self._own[name] = self._named(f"vm_mod_{name}")
        return self._own[name]

    def _named(self, name: str) -> int:
        self.kernels.append(self._names.fresh(name))
        return len(self.kernels) - 1

    @property
    def stats(self) -> str:
        """How many constants, functions and kernels there are."""
        return stats_text([c.shape for c in self.constants], self.globals, self.kernels)

    @property
    def constants_text(self) -> str:
        """The constants, one a line."""
        return constants_text(self.constants)


class Told(NamedTuple):
    """What a listing says, as texts: saved with a program."""

    text: str
    kernels: list[str]
    constants: str
    stats: str


def told(mod: IRModule) -> Told | None:
    """What the listing of a module says; None for what has none."""
    try:
        found = Listing(mod)
    except NoListing:
        return None
    return Told(found.text, found.kernels, found.constants_text, found.stats)


def stats_text(
    shapes: Sequence[tuple[Any, ...]], functions: Sequence[str], kernels: Sequence[str]
) -> str:
    """Constants, functions and kernels: how many, and which."""
    told = "".join(f"[{', '.join(map(str, s))}], \n" if s else "scalar, " for s in shapes)[:-2]
    names = ", ".join(f'("{name}", {at})' for at, name in enumerate(sorted(functions)))
    return (
        "Relay VM executable statistics:\n"
        f"  Constant shapes (# {len(shapes)}): [{told}]\n"
        f"  Globals (#{len(functions)}): [{names}]\n"
        f"  Primitive ops (#{len(kernels)}): [{', '.join(kernels)}]\n"
    )


def constants_text(values: Sequence[np.ndarray[Any, Any]]) -> str:
    """Constants, one a line; of few integers the values."""
    return "".join(
        f"VM Const[{at}]: {_array_text(value)} on device index 0\n"
        for at, value in enumerate(values)
    )


def _array_text(value: np.ndarray[Any, Any]) -> str:
    shape = ",".join(map(str, value.shape))
    few = value.dtype.kind in "iu" and value.size <= 10
    values = f"=[{','.join(map(str, value.reshape(-1).tolist()))}]" if few else ""
    return f"NDArray[({shape}),{value.dtype},(1,0)]{values}"


def _uses(expr: RelaxExpr) -> list[RelaxExpr]:
    """What is read for an expression, in the order of reading."""
    if isinstance(expr, Call):
        return list(expr.args)
    if isinstance(expr, Tuple):
        return list(expr.fields)
    if isinstance(expr, TupleGetItem):
        return [expr.tuple_value]
    return [expr.cond] if isinstance(expr, If) else []


class _Function:
    """The instructions of one function."""

    def __init__(self, program: Listing, func: Function) -> None:
        self.program = program
        self.done: list[tuple[str, str]] = []
        self.registers = len(func.params)
        self.where: dict[Any, int] = {p.vid: at for at, p in enumerate(func.params)}
        self.left: Counter[int] = Counter()  # reads to come, of this block
        self.needed: set[int] = set()  # what is read after this block
        self.bound: dict[int, int] = {}  # what a variable stands for
        result = self._block(func.body)
        self._emit(f"1 {result}", f"ret ${result}")

    def _emit(self, fields: str, text: str) -> None:
        self.done.append((fields, text))

    def _new(self) -> int:
        self.registers += 1
        return self.registers - 1

    # --- the order of steps ---

    def _block(self, body: RelaxExpr) -> int:
        """The steps of a body whose shared parts are made once; the register of its result."""
        steps: list[RelaxExpr] = []
        self._collect(body, steps, {key for key in self.where if isinstance(key, int)})
        reads: Counter[int] = Counter()
        for step in steps:
            reads.update(self._reads(step))
        reads[self._key(body)] += 1
        outer, self.left = self.left, reads
        for step in steps:
            self._step(step)
        result = self._register(body)
        self.left = outer
        return result

    def _collect(self, expr: RelaxExpr, steps: list[RelaxExpr], seen: set[int]) -> None:
        while isinstance(expr, Let):
            self._collect(expr.value, steps, seen)
            self.bound[id(expr.var.vid)] = self._key(expr.value)
            steps.append(expr)
            expr = expr.body
        if id(expr) in seen or isinstance(expr, (Var, Constant, GlobalVar)):
            return
        if not isinstance(expr, (Call, Tuple, TupleGetItem, If)):
            _refuse(expr)
        seen.add(id(expr))
        for part in _uses(expr):
            self._collect(part, steps, seen)
        steps.append(expr)

    def _reads(self, step: RelaxExpr) -> list[int]:
        """What a step reads; for branches also, once, what is read in them."""
        found = [self._key(part) for part in _uses(step) if not isinstance(part, Constant)]
        if isinstance(step, If):
            inside = post_order(step.true_branch, step.false_branch)
            found += {self._key(part) for part in inside} - set(found)
        return found

    def _key(self, expr: RelaxExpr) -> int:
        while isinstance(expr, Let):
            expr = expr.body
        key = id(expr.vid) if isinstance(expr, Var) else id(expr)
        return self.bound.get(key, key)

    # --- steps ---

    def _step(self, step: RelaxExpr) -> None:
        if isinstance(step, Let):
            self.where[step.var.vid] = self._register(step.value)
        elif isinstance(step, Call):
            self._call(step)
        elif isinstance(step, Tuple):
            self._tuple(step)
        elif isinstance(step, TupleGetItem):
            source = self._register(step.tuple_value)
            made = self._new()
            told = f"get_field ${made} ${source}[{step.index}]"
            self._emit(f"9 {source} {step.index} {made}", told)
            self.where[id(step)] = made
            self._free([step.tuple_value])
        elif isinstance(step, If):
            self._branches(step)

    def _register(self, expr: RelaxExpr) -> int:
        while isinstance(expr, Let):
            expr = expr.body
        if isinstance(expr, Constant):
            return self._load(np.asarray(expr.data.numpy()))
        found = self.where.get(expr.vid if isinstance(expr, Var) else id(expr))
        return _refuse(expr) if found is None else found

    def _load(self, value: np.ndarray[Any, Any]) -> int:
        number, made = self.program.constant(value), self._new()
        self._emit(f"11 {number} 0 {made}", f"load_const ${made} Const[{number}] 0")
        return made

    def _free(self, parts: list[RelaxExpr]) -> None:
        """Give back the registers that nothing reads any more."""
        for part in parts:
            key = self._key(part)
            self.left[key] -= 1
            if self.left[key] == 0 and key not in self.needed:
                register = self._register(part)
                self._kill(register)

    def _tuple(self, step: Tuple) -> None:
        parts = [self._register(field) for field in step.fields]
        made = self._alloc_data(parts)
        self.where[id(step)] = made
        self._free([f for f in reversed(step.fields) if not isinstance(f, Constant)])

    def _alloc_data(self, parts: list[int]) -> int:
        made = self._new()
        fields = " ".join(map(str, ("7 0", len(parts), made, *parts)))
        shown = ",".join(f"${part}" for part in parts)
        self._emit(fields, f"alloc_data ${made} tag(0) [{shown}]")
        return made

    def _call(self, call: Call) -> None:
        callee: Any = call.op
        args = [arg for arg in call.args if not isinstance(arg, Constant)]
        if isinstance(callee, GlobalVar):
            self.where[id(call)] = self._invoke(call, callee.name_hint)
            self._free(args)
            return
        if not isinstance(callee, Function) or not callee.attrs.get("Primitive", 0):
            _refuse(callee)
        outs = self._kernel(call, callee)
        self._free(args)
        self.where[id(call)] = outs[0]
        if isinstance(call.checked_type_, TupleType):
            self.where[id(call)] = self._alloc_data(outs)
            for register in reversed(outs):
                self._kill(register)

    def _invoke(self, call: Call, name: str) -> int:
        if name not in self.program.globals:
            _refuse(call.op)
        args = [self._register(arg) for arg in call.args]
        made, number = self._new(), self.program.globals.index(name)
        fields = " ".join(map(str, ("2", number, len(args), made, *args)))
        shown = ", ".join(f"${arg}" for arg in args)
        self._emit(fields, f"invoke ${made} VMFunc[{number}]({shown})")
        return made

    def _kernel(self, call: Call, callee: Function) -> list[int]:
        kinds = flat_types(call.checked_type_)
        known = all(_is_known(kind) for kind in kinds)
        if is_reshape_only(call):
            shape = self._load(_numbers(kinds[0])) if known else self._shape(call, callee)
            source, made = self._register(call.args[0]), self._new()
            self._emit(f"18 {source} {shape} {made}", f"reshape_tensor ${made} ${source} ${shape}")
            if not known:
                self._kill(shape)
            return [made]
        if not known and len(kinds) > 1:
            _refuse(call)
        outs = (
            [self._alloc(kind) for kind in kinds] if known
            else [self._alloc_open(kinds[0], self._shape(call, callee))]
        )  # fmt: skip
        self._packed(
            self.program.kernel(callee), [r for arg in call.args for r in self._tensors(arg)], outs
        )
        return outs

    def _packed(self, number: int, args: list[int], outs: list[int]) -> None:
        fields = " ".join(map(str, ("4", number, len(args) + len(outs), len(outs), *args, *outs)))
        given, made = (", ".join(f"${r}" for r in part) for part in (args, outs))
        self._emit(fields, f"invoke_packed PackedFunc[{number}] (in: {given}, out: {made})")

    def _kill(self, register: int) -> None:
        self._emit(f"20 {register}", f"kill_register ${register}")

    # --- results whose extents a run tells ---

    def _shape(self, call: Call, callee: Function) -> int:
        """The extents of a result, by the extents of operands, or by their values."""
        ops = [e.op for e in post_order(callee.body) if isinstance(e, Call)]
        flags = ops[-1].get_attr("TShapeDataDependent") if isinstance(ops[-1], Op) else None
        by_value = [bool(int(flag)) for flag in flags or [0]]
        by_value *= len(call.args) if len(by_value) == 1 else 1
        found: list[int | RelaxExpr] = []
        own: list[int] = []
        for arg, valued in zip(call.args, by_value):
            if valued or _is_known(arg.checked_type_):
                found.append(arg)
                continue
            source, made = self._register(arg), self._new()
            self._emit(f"17 {source} {made}", f"shape_of ${made} ${source}")
            own.append(made)
            found.append(made)
        result: Any = call.checked_type_
        shape = self._alloc(TensorType((len(result.shape),), "int64"))
        args = [
            one if isinstance(one, int)
            else self._register(one) if valued
            else self._load(_numbers(one.checked_type_))
            for one, valued in zip(found, by_value)
        ]  # fmt: skip
        self._packed(self.program.shape_function(callee), args, [shape])
        for register in own:
            self._kill(register)
        return shape

    def _alloc_open(self, kind: Any, shape: int) -> int:
        """A tensor of extents that a register holds: their product times the bytes of one."""
        number = TensorType((), "int64")
        count = self._alloc(number)
        self._packed(self.program.named_kernel("fused_prod"), [shape], [count])
        size = self._alloc(number)
        self._packed(self.program.named_kernel("fused_multiply"), [count], [size])
        self._kill(count)
        storage = self._storage(size, kind)
        self._kill(size)
        offset, made = self._load(np.array(0, "int64")), self._new()
        self._emit(
            f"6 {storage} {offset} {shape} {_dtype_fields(kind)} {made}",
            f"alloc_tensor_reg ${made} ${storage} ${offset} ${shape} {kind.dtype}",
        )
        self._kill(shape)
        self._kill(storage)
        return made

    def _storage(self, size: int, kind: Any) -> int:
        """Memory of as many bytes as a register says."""
        made = self._new()
        self._emit(
            f"16 {size} 64 {_dtype_fields(kind)} 0 0 {made}",
            f"alloc_storage ${made} ${size} 64 {kind.dtype} 0",
        )
        return made

    def _tensors(self, arg: RelaxExpr) -> list[int]:
        """The registers of an operand; fields of a tuple one by one."""
        if isinstance(arg.checked_type_, TupleType):
            if not isinstance(arg, Tuple):
                _refuse(arg)
            return [self._register(field) for field in arg.fields]
        return [self._register(arg)]

    def _alloc(self, kind: Any) -> int:
        """Memory, and a tensor in it."""
        shape = [int(str(e)) for e in extents(kind)]
        told, dims = _dtype_fields(kind), " ".join(map(str, shape))
        size = self._load(np.array(size_in_bytes(kind), "int64"))
        if shape:
            storage = self._new()
            self._emit(
                f"16 {size} 64 {told} 0 {len(shape)} {storage} {dims}",
                f"alloc_storage ${storage} {shape} {kind.dtype} 0",
            )
        else:
            storage = self._storage(size, kind)
        offset = self._load(np.array(0, "int64"))
        made = self._new()
        self._emit(
            f"5 {storage} {offset} {told} {len(shape)} {made} {dims}".rstrip(),
            f"alloc_tensor ${made} ${storage} ${offset} {shape} {kind.dtype}",
        )
        self._kill(storage)
        return made

    def _branches(self, step: If) -> None:
        condition = self._register(step.cond)
        one = self._new()
        self._emit(f"14 1 {one}", f"load_consti ${one} 1")
        for key in self._reads(step):
            self.left[key] -= key != self._key(step.cond)
        outer = self.needed
        self.needed = outer | {key for key, count in self.left.items() if count > 0}
        at = len(self.done)
        self._emit("", "")  # where to go is known afterwards
        known = dict(self.where)  # one branch knows nothing of what the other made
        first = self._block(step.true_branch)
        self.where = known
        merged = self._new()
        self._emit(f"0 {first} {merged}", f"move ${merged} ${first}")
        end = len(self.done)
        self._emit("", "")
        other = self._block(step.false_branch)
        self._emit(f"0 {other} {merged}", f"move ${merged} ${other}")
        self.needed = outer
        skip, jump = end + 1 - at, len(self.done) - end
        self.done[at] = (f"10 {condition} {one} 1 {skip}", f"if ${condition} ${one} 1 {skip}")
        self.done[end] = (f"12 {jump}", f"goto {jump}")
        self.where[id(step)] = merged
        self._free([step.cond])


def _is_known(found: Any) -> bool:
    """Whether all extents of a type are numbers."""
    return all(isinstance(e, int) for kind in flat_types(found) for e in extents(kind))


def _numbers(kind: Any) -> np.ndarray[Any, Any]:
    return np.array(extents(kind), "int64")


def _dtype_fields(kind: Any) -> str:
    dtype = DataType(str(kind.dtype))
    return f"{_CODES[str(kind.dtype).rstrip('0123456789')]} {dtype.bits} {dtype.lanes}"


def _refuse(expr: RelaxExpr) -> NoReturn:
    raise NoListing(f"{type(expr).__name__} has no instructions")
