"""A network in another data type, which may be one of users.

    fn (%x: Tensor[(2), float32]) { add(%x, 1f) }
    ->                                                  ChangeDatatype("float32", "custom[posit]32")
    fn (%x: Tensor[(2), custom[posit]32]) { add(%x, cast(1f, dtype="custom[posit]32")) }

Tensors of other types stay, and so do numbers in constants, which are converted when the program
runs: a user's type has no values while it is compiled.
"""

from __future__ import annotations

from typing import Any

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.ir.type import TupleType, Type
from tvm.relay.expr import Call, Constant, Var
from tvm.relay.expr_functor import ExprMutator
from tvm.relay.function import Function
from tvm.relay.op import cast
from tvm.relay.transform.function_pass import function_pass
from tvm.relay.ty import FuncType, RefType, TensorType

_DTYPES = ("dtype", "out_dtype", "compute_dtype")  # options that say the type of a result


@function_pass(opt_level=0)
class ChangeDatatype(ExprMutator):
    """A pass after which tensors of the type `src` have the type `dst`."""

    def __init__(self, src: str, dst: str) -> None:
        super().__init__()
        self.src = str(src)
        self.dst = str(dst)

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> RelaxExpr:
        """The function in the other type; its types are to be inferred anew."""
        made: RelaxExpr = self.visit(func)
        return made

    def visit_constant(self, const: Constant) -> RelaxExpr:
        """The constant, converted."""
        made: RelaxExpr = cast(const, self.dst) if str(const.data.dtype) == self.src else const
        return made

    def visit_function(self, fn: Function) -> Function:
        """The function with parameters of the other type."""
        params = [self.visit(param) for param in fn.params]
        return Function(params, self.visit(fn.body), None, fn.type_params, fn.attrs, fn.span)

    def visit_var(self, var: Var) -> Var:
        """The variable with another type where it has one."""
        found = var.type_annotation
        changed = found if found is None else self._type(found)
        return var if changed is found else Var(var.name_hint, changed, var.span)

    def visit_call(self, call: Call) -> Call:
        """The call; options that name the type name the other one."""
        made: Call = super().visit_call(call)
        attrs: Any = made.attrs
        options = dict(attrs.items()) if hasattr(attrs, "items") else {}
        named = {n: self.dst for n in _DTYPES if str(options.get(n, "")) == self.src}
        if not named:
            return made
        return Call(made.op, made.args, attrs.replaced(**named), made.type_args, made.span)

    def _type(self, found: Type) -> Type:
        """The type with tensors of the other type; the same object if there are none."""
        if isinstance(found, TensorType):
            return TensorType(found.shape, self.dst) if str(found.dtype) == self.src else found
        if isinstance(found, TupleType):
            fields = [self._type(field) for field in found.fields]
            same = all(a is b for a, b in zip(fields, found.fields))
            return found if same else TupleType(fields)
        if isinstance(found, RefType):
            value = self._type(found.value)
            return found if value is found.value else RefType(value)
        if isinstance(found, FuncType):
            args, ret = [self._type(arg) for arg in found.arg_types], self._type(found.ret_type)
            return FuncType(args, ret, found.type_params, found.type_constraints)
        return found
