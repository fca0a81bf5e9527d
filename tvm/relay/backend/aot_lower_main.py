"""The graph of `main` as one function that calls kernels, for programs compiled ahead of time.

    def @main(%a: Tensor[(5, 7), float32]) { %0 = (%a,); call_lowered(@f, %0) }
    ->
    def net___tvm_main__(a: T.handle, output: T.handle):
        a_buffer = T.match_buffer(a, (5, 7), align=16)
        output_buffer = T.match_buffer(output, (5, 7), align=16)
        T.tvm_call_cpacked("f", a_buffer.data, output_buffer.data, T.reinterpret("handle", 0))

What lies between two calls is workspace, one allocation a tensor. Kernels get the memory of their
operands, then that of their results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from math import prod
from typing import Any, Final

from tvm.error import TVMError, message
from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext, declare_module_pass
from tvm.ir.type import PointerType, PrimType, TupleType
from tvm.relay.expr import Call, Constant, Let, Tuple, TupleGetItem, Var
from tvm.relay.function import Function
from tvm.relay.op.memory import flatten_tuple_type
from tvm.relay.traverse import lets, transform
from tvm.relay.ty import TensorType
from tvm.support.dtype import DataType
from tvm.target.compilation_config import CompilationConfig
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer, decl_buffer
from tvm.tir.function import PrimFunc
from tvm.tir.transform import RemoveNoOp

from .aot import MAIN
from .name_transforms import prefix_name, sanitize_name, to_c_function_style

_ALIGNMENT: Final = 16  # of the tensors of a caller, in bytes
_DEVICES: Final = "device_contexts"  # attribute of modules: for each kernel the name of its device


class CallType(IntEnum):
    """How kernels are called."""

    PACKED = 0
    CPACKED = 1
    UNPACKED = 2


@declare_module_pass("AOTLowerMain", opt_level=0, required=["InferType"])
def AOTLowerMain(
    mod: IRModule, ctx: PassContext, mod_name: str, config: CompilationConfig, call_type: Any
) -> IRModule:
    """The module with `__tvm_main__` in loops instead of `main`, whose calls are `call_lowered`.

    `call_type` is the way that kernels are called: 0 packed, 1 packed in C, 2 with plain pointers.
    """
    from tvm.relay.transform.infer_type import typed

    planned = mod["main"]
    if not isinstance(planned, Function):
        raise _refused(f"main is a {type(planned).__name__}", "a function of Relay")
    bare = {**mod.functions, mod.get_global_var("main"): _bare(planned)}
    typed_mod = typed(mod.with_functions(bare))
    main = typed_mod["main"]
    assert isinstance(main, Function), "types change nothing"
    way = CallType(int(getattr(call_type, "value", call_type)))
    devices: dict[Any, Any] = dict(mod.attrs.get(_DEVICES) or {})  # type: ignore[call-overload]
    lowering = _Main(main, way, {v.name_hint: str(name) for v, name in devices.items()})
    made = lowering.run(f"{mod_name}_{MAIN}" if mod_name else MAIN, config)
    rest = {var: func for var, func in typed_mod.functions.items() if var.name_hint != "main"}
    return RemoveNoOp()(typed_mod.with_functions({**rest, GlobalVar(MAIN): made}))


def _bare(func: Function) -> Function:
    """The function without notes of devices."""

    def rule(old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
        if isinstance(new, Call) and getattr(new.op, "name", "") == "on_device":
            return new.args[0]
        return new

    made = transform(func, rule)
    assert isinstance(made, Function), "a function stays one"
    return made


def _refused(found: str, legal: str) -> TVMError:
    return TVMError(message("AOTLowerMain", found=found, legal=legal))


class _Main:
    """The lowering of one graph; memory is known by numbers, one for each tensor."""

    def __init__(self, main: Function, way: CallType, devices: dict[str, str]) -> None:
        self.main = main
        self.way = way
        self.where: dict[int, list[int]] = {}  # the memory of an expression's tensors
        self.kept: list[RelaxExpr] = []
        self.sizes: list[int] = []
        self.pointers: dict[int, e.Var] = {}
        self.constants: dict[int, tuple[e.Var, Constant]] = {}
        self.steps: list[s.Stmt] = []
        self.params: list[e.Var] = []
        self.buffers: dict[e.Var, Buffer] = {}
        self.seen: set[int] = set()
        self.device_of = devices
        self.contexts: dict[str, e.Var] = {}

    def run(self, name: str, config: CompilationConfig) -> PrimFunc:
        for param in self.main.params:
            self._new(param)
        returned = self._place(self.main.body)
        inputs = [self._argument(p.checked_type, p.name_hint, "") for p in self.main.params]
        types = _tensors(self.main.body)
        tails = [str(at) for at in range(len(types))] if len(types) > 1 else [""]
        outputs = [self._argument(t, "output", tail) for t, tail in zip(types, tails)]
        for param, var in zip(self.main.params, inputs):
            self.pointers[self.where[id(param)][0]] = self.buffers[var].data
        self.outputs = {sid: self.buffers[var].data for sid, var in zip(returned, outputs)}
        for device in dict.fromkeys(self.device_of.values()):
            self.contexts[device] = e.Var(f"device_context_{sanitize_name(device)}", "handle")
        self._visit(self.main.body)
        body = self._with_memory(returned)
        every = list(self.contexts.values())
        whole = s.SeqStmt.flatten(
            *[self._hook(c, "Activate") for c in every], body,
            *[self._hook(c, "Deactivate") for c in every],
        )  # fmt: skip
        attrs = {
            "global_symbol": name, "runner_function": True,
            "target": config.host_target, "input_vars": inputs, "output_vars": outputs,
            "devices": list(self.contexts),
        }  # fmt: skip
        return PrimFunc([*self.params, *every], whole, None, self.buffers, attrs)

    # --- memory ---

    def _new(self, expr: RelaxExpr) -> list[int]:
        found = []
        for tensor in _tensors(expr):
            found.append(len(self.sizes))
            self.sizes.append(_bytes(tensor))
        self._keep(expr, found)
        return found

    def _keep(self, expr: RelaxExpr, found: list[int]) -> None:
        self.where[id(expr)] = found
        self.kept.append(expr)

    def _place(self, root: RelaxExpr) -> list[int]:
        """Number the memory of an expression and of all that it needs: results first."""
        stack: list[tuple[RelaxExpr, bool]] = [(root, False)]
        while stack:
            expr, after = stack.pop()
            if id(expr) in self.where:
                continue
            if isinstance(expr, Let):
                chain, result = lets(expr)
                for let in chain:
                    self._keep(let.var, self._place(let.value))
                self._keep(expr, self._place(result))
            elif isinstance(expr, Call):
                inputs = _call_inputs(expr)
                self._new(expr)
                stack.extend((arg, False) for arg in reversed(inputs))
            elif isinstance(expr, Constant):
                self._new(expr)
            elif isinstance(expr, Tuple) and after:
                self._keep(expr, [sid for f in expr.fields for sid in self.where[id(f)]])
            elif isinstance(expr, TupleGetItem) and after:
                parts = self.where[id(expr.tuple_value)]
                self._keep(expr, [parts[expr.index]])
            elif isinstance(expr, Tuple):
                stack.append((expr, True))
                stack.extend((field, False) for field in reversed(expr.fields))
            elif isinstance(expr, TupleGetItem):
                stack.extend([(expr, True), (expr.tuple_value, False)])
            else:
                raise _refused(
                    f"a {type(expr).__name__} in main: {str(expr)[:200]}",
                    "calls of call_lowered, tensors, tuples and lets",
                )
        return self.where[id(root)]

    def _argument(self, kind: Any, name: str, tail: str) -> e.Var:
        """A parameter of the function for a tensor."""
        if not isinstance(kind, TensorType):
            raise _refused(f"a parameter {name} of type {kind}", "tensors")
        name = sanitize_name(name) + tail
        dtype = str(kind.dtype)
        var = e.Var(name, "handle")
        data = e.Var(f"{name}_buffer_var", PointerType(PrimType(dtype), "global"))
        zero = e.IntImm("int32", 0)
        self.buffers[var] = Buffer(
            data, dtype, kind.shape, (), zero, f"{name}_buffer", _ALIGNMENT, 1
        )
        self.params.append(var)
        return var

    def _with_memory(self, returned: Sequence[int]) -> s.Stmt:
        body = s.SeqStmt.flatten(*self.steps) if self.steps else s.Evaluate(e.IntImm("int32", 0))
        params = {sid for p in self.main.params for sid in self.where[id(p)]}
        used = (sid for expr in self.kept for sid in self.where[id(expr)])
        free = set(used) - params - set(returned) - set(self.constants)
        true = e.IntImm("bool", 1)
        for size, sid in sorted((self.sizes[sid], sid) for sid in free):
            extent = e.IntImm("int32", size)
            body = s.Allocate(self._workspace(sid), "int8", [extent], true, body)
        for var, constant in self.constants.values():
            data = constant.data
            shape = [e.IntImm("int32", int(extent)) for extent in data.shape]
            body = s.AllocateConst(var, str(data.dtype), shape, data, body)
        return body

    def _workspace(self, sid: int) -> e.Var:
        if sid not in self.pointers:
            pointer = PointerType(PrimType("int8"), "global.workspace")
            self.pointers[sid] = e.Var(f"sid_{sid}", pointer)
        return self.pointers[sid]

    def _pointer(self, sid: int) -> e.Var:
        if sid in self.constants:
            return self.constants[sid][0]
        return self._workspace(sid)

    def _pointers(self, expr: RelaxExpr) -> list[e.Var]:
        """The memory of an expression's tensors; results lie where the caller wants them."""
        is_param = any(expr is param for param in self.main.params)
        return [
            self.outputs[sid] if sid in self.outputs and not is_param else self._pointer(sid)
            for sid in self.where[id(expr)]
        ]

    # --- steps ---

    def _visit(self, root: RelaxExpr) -> None:
        """The calls that an expression needs, in their order; copies of what is returned."""
        stack: list[tuple[RelaxExpr, bool]] = [(root, False)]
        while stack:
            expr, after = stack.pop()
            if id(expr) in self.seen:
                continue
            if isinstance(expr, Let):
                self.seen.add(id(expr))
                chain, result = lets(expr)
                for let in chain:
                    self._visit(let.value)
                    self.seen.add(id(let.var))
                stack.append((result, False))
                continue
            if isinstance(expr, Call) and not after:
                stack.append((expr, True))
                stack.extend((arg, False) for arg in reversed(_call_inputs(expr)))
                continue
            self.seen.add(id(expr))
            if isinstance(expr, Call):
                self._call(expr)
            elif isinstance(expr, Tuple):
                stack.extend((field, False) for field in reversed(expr.fields))
            elif isinstance(expr, TupleGetItem):
                stack.append((expr.tuple_value, False))
            elif isinstance(expr, Constant):
                sid = self.where[id(expr)][0]
                pointer = PointerType(PrimType(str(expr.data.dtype)), "global")
                var = e.Var(f"constant_{len(self.constants)}", pointer)
                self.constants[sid] = (var, expr)
                self._copy_if_returned(sid, var)
            elif isinstance(expr, Var):
                sid = self.where[id(expr)][0]
                self._copy_if_returned(sid, self._pointer(sid))

    def _copy_if_returned(self, sid: int, source: e.Var) -> None:
        target = self.outputs.get(sid)
        if target is None:
            return
        size = self.sizes[sid]
        read, write = (
            decl_buffer([e.IntImm("uint64", size)], "uint8", name)
            for name in ("tmp_read", "tmp_write")
        )
        at = e.Var("i", "int32")
        store = s.BufferStore(write, e.BufferLoad(read, [at]), [at])
        extent = e.IntImm("int32", size)
        loop = s.For(at, e.IntImm("int32", 0), extent, s.ForKind.SERIAL, store)
        self.steps.append(s.LetStmt(read.data, source, s.LetStmt(write.data, target, loop)))

    def _call(self, call: Call) -> None:
        callee = call.args[0]
        assert isinstance(callee, GlobalVar), "call_lowered calls global functions"
        args: list[Any] = [e.StringImm(callee.name_hint)]
        args += [pointer for arg in _call_inputs(call) for pointer in self._pointers(arg)]
        args += self._pointers(call)
        device = self.device_of.get(callee.name_hint)
        context = None if device is None else self.contexts[device]
        step = s.Evaluate(self._WAYS[self.way](self, args, context))
        if context is None:
            self.steps.append(step)
        else:
            self.steps += [self._hook(context, "Open"), step, self._hook(context, "Close")]

    def _packed(self, args: list[Any], context: e.Var | None) -> Any:
        if context is not None:
            raise _refused(
                "a packed call of a kernel of a device",
                "call types 1 and 2 for modules with the attribute device_contexts",
            )
        return _builtin("tvm_call_packed", args)

    def _cpacked(self, args: list[Any], context: e.Var | None) -> Any:
        zero = e.Call("handle", Op.get("tir.reinterpret"), [e.IntImm("uint64", 0)])
        return _builtin("tvm_call_cpacked", [*args, zero if context is None else context])

    def _unpacked(self, args: list[Any], context: e.Var | None) -> Any:
        given = args if context is None else [*args, context]
        return _checked(_builtin("call_extern", given))

    _WAYS: Final[dict[CallType, Callable[..., Any]]] = {
        CallType.PACKED: _packed, CallType.CPACKED: _cpacked, CallType.UNPACKED: _unpacked,
    }  # fmt: skip

    def _hook(self, context: e.Var, what: str) -> s.Stmt:
        """A call that tells a device what comes: `TVMDevice<Name>Open`."""
        device = next(name for name, var in self.contexts.items() if var is context)
        name = to_c_function_style(prefix_name(["Device", sanitize_name(device), what]))
        return s.Evaluate(_checked(_builtin("call_extern", [e.StringImm(name), context])))


def _builtin(name: str, args: Sequence[Any]) -> e.Call:
    return e.Call("int32", Op.get(f"tir.{name}"), list(args))


def _checked(call: e.Call) -> e.Call:
    """The call, whose result ends the function with -1 unless it is 0."""
    zero, minus = e.IntImm("int32", 0), e.IntImm("int32", -1)
    return _builtin("tvm_check_return", [zero, minus, call])


def _call_inputs(call: Call) -> list[RelaxExpr]:
    if getattr(call.op, "name", "") != "call_lowered":
        raise _refused(
            f"a call of {getattr(call.op, 'name', call.op)}",
            "calls of kernels: call_lowered(@name, (...))",
        )
    inputs = call.args[1]
    return list(inputs.fields) if isinstance(inputs, Tuple) else [inputs]


def _tensors(expr: RelaxExpr) -> list[TensorType]:
    kind = expr.checked_type
    if not isinstance(kind, (TensorType, TupleType)):
        raise _refused(f"a value of type {kind}", "tensors, and tuples of them")
    return flatten_tuple_type(kind)


def _bytes(tensor: TensorType) -> int:
    extents = [getattr(extent, "value", None) for extent in tensor.shape]
    if None in extents:
        raise _refused(f"a tensor of type {tensor}", "extents that are numbers")
    kind = DataType(str(tensor.dtype))
    return prod(int(x) for x in extents if x is not None) * ((kind.bits * kind.lanes + 7) // 8)
