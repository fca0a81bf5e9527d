"""Add the function that computes another's result and the gradients of its parameters.

    def f(x):                     def f_adjoint(x):
        with dataflow:                with dataflow:
            y = exp(x)                    y = exp(x)
            z = sum(y)                    z = sum(y)
        return z           ->             z_adjoint = ones((), "float32")
                                          y_adjoint = broadcast_to(z_adjoint, (3, 3))
                                          x_adjoint = multiply(y_adjoint, y)
                                          x_adjoint_out = x_adjoint
                                      return (z, (x_adjoint_out,))

Bindings are visited from the last to the first; each operator brings the rule for its operands
(attribute `FPrimalGradient`). What several readers send to one variable is added up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from tvm.error import CheckError, DTypeError, TVMError, message
from tvm.ir.expr import RelaxExpr, StructInfo
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.span import span_scope
from tvm.ir.transform import PassContext
from tvm.relax.bind import copy_with_new_vars
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import (
    Binding,
    Call,
    Constant,
    DataflowBlock,
    Function,
    SeqExpr,
    Tuple,
    TupleGetItem,
    Var,
    is_call_of,
)
from tvm.relax.normalize import is_leaf
from tvm.relax.struct_info import ShapeExpr, TensorStructInfo, TupleStructInfo
from tvm.relax.transform.call_tir_with_grad import without_gradients
from tvm.relax.transform.checkpoints import Recomputation, Unmarked
from tvm.relax.transform.dead_code_elimination import remove_unused_bindings
from tvm.relax.transform.gradient_simplifier import simplified
from tvm.relax.transform.pass_form import relax_module_pass
from tvm.relax.transform.rebuild import all_bindings

# Rules for TIR functions that users wrote as tensor expressions, by name.
TE_GRADIENTS: Final[dict[str, Callable[..., RelaxExpr]]] = {}


class GradientError(TVMError, ValueError):
    """A function that cannot be differentiated, or an option that does not fit it."""


class GradientTypeError(GradientError, DTypeError):
    """A gradient is asked for something that is no float tensor."""


@relax_module_pass("Gradient")
def Gradient(
    mod: IRModule,
    ctx: PassContext,
    func_name: str,
    require_grads: Var | list[Var] | None = None,
    target_index: int = 0,
) -> IRModule:
    """Add `<func_name>_adjoint`, which returns the result and a tuple of gradients.

    The result (item `target_index` of it, if it is a tuple) must be a float without dimensions.
    Gradients are those of `require_grads`, parameters of the function or variables that it binds;
    of all parameters if none is given (zeros for those that are no floats). The function itself
    stays as it is.
    """
    func = _function(mod, func_name)
    wanted = _param_indices(func, func_name, require_grads)
    if require_grads is not None:  # of all parameters, those that are no floats get zeros
        for var in [_variables(func)[i] for i in wanted]:
            _check_float(var.struct_info, f"the variable {var}")
    fresh = copy_with_new_vars(func)
    bb = BlockBuilder(mod)  # gets the kernels that rules write, too
    made = simplified(_Differentiation(bb, fresh, wanted, target_index).run())
    name = f"{func_name}_adjoint"
    bb.add_func(without_gradients(made).with_attr("global_symbol", name), name)
    return bb.get()


def _refuse(asked: str, found: str, legal: str) -> GradientError:
    return GradientError(message(f"Gradient: {asked}", found=found, legal=legal))


def _function(mod: IRModule, name: str) -> Function:
    names = [var.name_hint for var in mod.functions]
    if name not in names:
        found = ", ".join(names)
        raise _refuse(f"there is no function {name!r}", found, "a function of the module")
    func = mod[name]
    if not isinstance(func, Function):
        raise _refuse(f"{name!r} is no Relax function", type(func).__name__, "a relax.Function")
    return func


def _param_indices(func: Function, name: str, given: Var | list[Var] | None) -> list[int]:
    if given is None:
        return list(range(len(func.params)))
    wanted = [given] if isinstance(given, Var) else list(given)
    known = _variables(func)
    indices: list[int] = []
    for var in wanted:
        index = next((i for i, one in enumerate(known) if one is var), None)
        if index is None or index in indices:
            what = "appears more than once" if index is not None else f"is no variable of {name!r}"
            raise _refuse(
                f"the variable {var} in require_grads {what}",
                ", ".join(str(v) for v in wanted),
                f"each of {', '.join(v.name_hint for v in known)} at most once",
            )
        indices.append(index)
    return indices


def _variables(func: Function) -> list[Var]:
    """The parameters, then what the function binds, in order."""
    return [*func.params, *(binding.var for binding in all_bindings(func))]


def _check_float(info: StructInfo, what: str) -> None:
    """Gradients are of floats: tensors, and tuples of them."""
    stack = [info]
    while stack:
        part = stack.pop()
        if isinstance(part, TupleStructInfo):
            stack.extend(part.fields)
        elif not isinstance(part, TensorStructInfo) or not part.dtype.is_floating:
            raise GradientTypeError(
                message(f"Gradient: {what} has no gradient", found=f"{part}", legal="float tensors")
            )


class _Differentiation:
    """One function on its way to its adjoint."""

    def __init__(
        self, bb: BlockBuilder, func: Function, wanted: Sequence[int], target_index: int
    ) -> None:
        self._func = func
        known = _variables(func)
        self._wanted = [known[i] for i in wanted]
        self._bb = bb
        self._adjoints: dict[Var, Var] = {}
        self._target_index = target_index

    def run(self) -> Function:
        func = self._func
        blocks = func.body.blocks
        if len(blocks) != 1 or not isinstance(blocks[0], DataflowBlock):
            found = [type(block).__name__ for block in blocks]
            raise _refuse(
                "the function must be one dataflow block", f"{len(blocks)} blocks: {found}",
                "one `with R.dataflow():` around all bindings",
            )  # fmt: skip
        plain = Unmarked(func.params, blocks[0].bindings)
        result = plain.stands_for(func.body.body)
        result.struct_info_ = func.body.body.struct_info_
        target = self._target(result)
        bindings = plain.bindings
        bb = self._bb
        bb.begin_scope(func.params)
        bb.begin_dataflow_block()
        for binding in bindings:
            bb.emit_normalized(binding)
        self._again = Recomputation(bb, bindings, plain.kept)
        info = target.struct_info
        assert isinstance(info, TensorStructInfo), "checked with the target"
        ones = Op.get("relax.ones").get_attr("FMakeCall")
        self._emit(target, ones(ShapeExpr(info.values or ()), info.dtype))
        for binding in reversed(bindings):
            self._backward(binding)
        grads = [self._output(plain.stands_for(var)) for var in self._wanted]  # type: ignore[arg-type]
        block = bb.end_block()
        result = bb.normalize(Tuple([result, Tuple(grads)]))
        bb.end_scope()
        body = SeqExpr([block], result, func.body.span)
        body.struct_info_ = result.struct_info_
        made = Function(func.params, body, None, func.is_pure, func.attrs, func.span)
        return remove_unused_bindings(made)

    def _target(self, result: RelaxExpr) -> Var:
        index = self._target_index
        if isinstance(result, Var):
            if index != 0:
                raise _refuse("there is one result only", f"target_index={index}", "0")
            target: RelaxExpr = result
        elif isinstance(result, Tuple):
            if not 0 <= index < len(result.fields):
                raise _refuse(
                    "target_index is out of range", f"{index}", f"0 ... {len(result.fields) - 1}"
                )
            target = result.fields[index]
        else:
            raise _refuse("the result is neither a variable nor a tuple", f"{result}", "a variable")
        if not isinstance(target, Var):
            raise _refuse("the target is no variable", f"{target}", "a tensor that is bound")
        info = target.struct_info
        if not isinstance(info, TensorStructInfo) or info.ndim != 0 or not info.dtype.is_floating:
            raise _refuse(
                "the target must be a float without dimensions", f"{target} is {info}",
                'R.Tensor((), "float32"), for example a sum over all axes',
            )  # fmt: skip
        return target

    # --- adjoints ---

    def _emit(self, var: Var, value: RelaxExpr) -> None:
        self._adjoints[var] = self._bb.emit(value, f"{var.name_hint}_adjoint")

    def _output(self, var: Var) -> Var:
        if var not in self._adjoints:
            self._emit(var, _zeros(var.struct_info))
        return self._bb.emit_output(self._adjoints[var], f"{var.name_hint}_adjoint_out")

    def _send(self, operand: RelaxExpr, partial: RelaxExpr) -> None:
        """Add to the adjoints of the variables that `operand` is made of."""
        stack = [(operand, partial)]
        while stack:
            leaf, value = stack.pop()
            if isinstance(leaf, Var):
                before = self._adjoints.get(leaf)
                self._emit(leaf, value if before is None else self._sum(before, value))
            elif isinstance(leaf, Tuple):
                value = value if is_leaf(value) or isinstance(value, Tuple) else self._bound(value)
                parts = [_item(value, i) for i in range(len(leaf.fields))]
                stack.extend(reversed(list(zip(leaf.fields, parts))))
            elif not isinstance(leaf, (Constant, ShapeExpr)):
                raise _refuse("an operand cannot get a gradient", f"{leaf}", "variables, constants")

    def _bound(self, value: RelaxExpr) -> RelaxExpr:
        return self._bb.emit(value)

    def _sum(self, a: RelaxExpr, b: RelaxExpr) -> RelaxExpr:
        """The sum of two tensors, or of two tuples field by field."""
        info = a.struct_info
        if not isinstance(info, TupleStructInfo):
            result: RelaxExpr = Op.get("relax.add").get_attr("FMakeCall")(a, b)
            return result
        b = b if is_leaf(b) or isinstance(b, Tuple) else self._bound(b)
        pairs = [(self._bb.normalize(_item(a, i)), _item(b, i)) for i in range(len(info.fields))]
        return Tuple([self._sum(x, y) for x, y in pairs])

    # --- bindings ---

    def _backward(self, binding: Binding) -> None:
        adjoint = self._adjoints.get(binding.var)
        if adjoint is None:
            return  # nothing that leads to the target reads it
        value = binding.value
        with span_scope(binding.span or value.span):
            if isinstance(value, Call):
                self._call(binding.var, value, adjoint)
            elif isinstance(value, (Var, Tuple)):
                self._send(value, adjoint)
            elif isinstance(value, TupleGetItem):
                self._item_of(value, adjoint)
            elif not isinstance(value, Constant):
                raise _refuse(
                    "a binding cannot be differentiated", f"{value}",
                    "calls of operators, tuples and their items, variables, constants",
                )  # fmt: skip

    def _item_of(self, value: TupleGetItem, adjoint: Var) -> None:
        source = value.tuple_value
        assert isinstance(source, Var), "the block is in normal form"
        info = source.struct_info
        assert isinstance(info, TupleStructInfo), "items are of tuples"
        before = self._adjoints.get(source)
        fields: list[RelaxExpr] = []
        for i, field in enumerate(info.fields):
            if before is None:
                fields.append(adjoint if i == value.index else _zeros(field))
                continue
            own: RelaxExpr = self._bound(self._bb.normalize(TupleGetItem(before, i)))
            if i == value.index:
                own = self._sum(own, adjoint)
                own = own if isinstance(own, Tuple) else self._bound(own)
            fields.append(own)
        self._emit(source, Tuple(fields))

    def _call(self, var: Var, call: Call, adjoint: Var) -> None:
        again, value = self._again.of(var), self._again.within(call)
        assert isinstance(value, Call), "a call stays one"
        if not isinstance(call.op, Op):
            raise _refuse("a call of a function", f"{call}", "operators; inline the function first")
        if call.op.name == "relax.call_tir_with_grad":
            self._call_tir(again, value, call, adjoint)
            return
        rule = call.op.get_attr("FPrimalGradient")
        if rule is None:
            raise _refuse(
                f"the operator {call.op.name} has no gradient", f"{call}",
                "operators with the attribute FPrimalGradient; relax.op.register_gradient sets it",
            )  # fmt: skip
        partials = rule(again, value, adjoint, self._bb)
        if len(partials) != len(call.args):
            raise CheckError(
                f"Gradient: the rule of {call.op.name} gave {len(partials)} gradients for "
                f"{len(call.args)} operands"
            )
        sent = [
            (operand, partial)
            for operand, partial in zip(call.args, partials)
            if not is_call_of(partial, "relax.grad.no_grad")
        ]
        shared = _Shared(self._bb)
        for operand, partial in sent:
            self._send(operand, shared.normal(partial))

    def _call_tir(self, var: Var, call: Call, original: Call, adjoint: Var) -> None:
        name = call.attrs.te_grad_name  # type: ignore[union-attr]
        rule = TE_GRADIENTS.get(name)
        if rule is None:
            raise _refuse(
                f"the gradient {name!r} of a TIR function is not registered", f"{call}",
                f'@tvm.relax.training.utils.register_te_gradient("{name}")',
            )  # fmt: skip
        partials = rule(var, call, adjoint, self._bb)
        operands = original.args[1]
        assert isinstance(operands, Tuple), "the call is in normal form"
        if isinstance(partials.struct_info, TupleStructInfo):
            for i, operand in enumerate(operands.fields):
                self._send(operand, TupleGetItem(partials, i))
        else:
            self._send(operands.fields[0], partials)


class _Shared:
    """Binds nested operands; what several partials share is bound once."""

    def __init__(self, bb: BlockBuilder) -> None:
        self._bb = bb
        self._bound: dict[int, RelaxExpr] = {}
        self._alive: list[RelaxExpr] = []  # their ids are keys

    def normal(self, root: RelaxExpr) -> RelaxExpr:
        """The expression over variables; it is not bound itself."""
        self._walk(root, root)
        return self._bound.get(id(root), root)

    def _walk(self, start: RelaxExpr, root: RelaxExpr | None) -> None:
        stack: list[tuple[RelaxExpr, bool]] = [(start, False)]
        while stack:
            expr, entered = stack.pop()
            if id(expr) in self._bound or is_leaf(expr):
                continue
            if not entered:
                self._alive.append(expr)
                stack.append((expr, True))
                stack.extend((part, False) for part in reversed(_parts(expr)))
                continue
            new = self._with_parts(expr)
            if expr is not root and not isinstance(new, Tuple):
                new = self._bb.emit(new)
            self._bound[id(expr)] = new

    def _with_parts(self, expr: RelaxExpr) -> RelaxExpr:
        parts = [self._bound.get(id(part), part) for part in _parts(expr)]
        if isinstance(expr, Call):
            return self._bb.normalize(Call(expr.op, parts, expr.attrs, expr.sinfo_args, expr.span))
        if isinstance(expr, Tuple):
            return self._bb.normalize(Tuple(parts, expr.span))
        assert isinstance(expr, TupleGetItem), "only these have parts"
        return self._bb.normalize(_item(parts[0], expr.index))


def _parts(expr: RelaxExpr) -> list[RelaxExpr]:
    if isinstance(expr, Call):
        return list(expr.args)
    if isinstance(expr, Tuple):
        return list(expr.fields)
    return [expr.tuple_value] if isinstance(expr, TupleGetItem) else []


def _item(value: RelaxExpr, index: int) -> RelaxExpr:
    return value.fields[index] if isinstance(value, Tuple) else TupleGetItem(value, index)


def _zeros(info: StructInfo) -> RelaxExpr:
    """Zeros of a tensor, or of a tuple of them."""
    if isinstance(info, TupleStructInfo):
        return Tuple([_zeros(field) for field in info.fields])
    if not isinstance(info, TensorStructInfo) or info.values is None:
        raise _refuse("the shape of a value is not known", f"{info}", "extents, known or symbolic")
    result: RelaxExpr = Op.get("relax.zeros").get_attr("FMakeCall")(
        ShapeExpr(info.values), info.dtype
    )
    return result
