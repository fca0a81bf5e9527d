"""Weights are fetched one by one, and each result is handed out as soon as it is final.

    def transform_params(params):               def transform_params():
        a = params[0]                               a = match_cast(get_item(0), Tensor(...))
        b = exp(a)                      ->          b = exp(a)
        gv = (b,)                                   vm.kill_object(a)
        return gv                                   set_item(0, b)
                                                    return ()

This holds for functions whose name ends in `transform_params`. An item is fetched where it was
read, and killed after its last reader; a result is handed out after its last reader.
"""

from __future__ import annotations

from collections.abc import Sequence

from tvm.error import TVMError, message
from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext, module_pass
from tvm.relax.analysis import defined_symbolic_vars
from tvm.relax.expr import (
    BindingBlock,
    Call,
    ExternFunc,
    Function,
    PrimValue,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from tvm.relax.expr_functor import PyExprMutator, PyExprVisitor
from tvm.relax.op.vm import kill_object
from tvm.relax.struct_info import ObjectStructInfo, TensorStructInfo, TupleStructInfo
from tvm.relax.transform.to_non_dataflow import to_non_dataflow


class ForwardCollector(PyExprVisitor):
    """Finds what the items of the result are, and which variables hold items of the parameter."""

    def __init__(self, tuple_var: Var, input_params: Var) -> None:
        self.tuple_var = tuple_var
        self.input_params = input_params
        self.out_tuple_map: dict[Var, list[PrimValue]] = {}
        self.var_tuple_get_item: list[Var] = []
        self.is_tuple_get_item_input = False
        self._inside = False  # of a binding: what branches bind cannot be told of after them

    def visit_tuple_getitem_(self, op: TupleGetItem) -> None:
        self.is_tuple_get_item_input = op.tuple_value is self.input_params

    def visit_var_binding_(self, binding: VarBinding) -> None:
        if binding.var is self.tuple_var:
            for i, field in enumerate(_result(binding).fields):
                if not isinstance(field, Var):
                    raise _not_a_tuple(field)
                self.out_tuple_map.setdefault(field, []).append(PrimValue(i))
            return
        if self._inside:
            return
        self._inside, self.is_tuple_get_item_input = True, False
        self.visit_expr(binding.value)
        self._inside = False
        if isinstance(binding.value, TupleGetItem) and self.is_tuple_get_item_input:
            self.var_tuple_get_item.append(binding.var)


class LivenessAnalysis(PyExprVisitor):
    """Finds the binding after which a variable is read no more; the result does not count."""

    def __init__(self, out_tuple_var: Var) -> None:
        self.out_tuple_var = out_tuple_var
        self.last_appear_in_var_binding: Var | None = None
        self.var_liveness_end: dict[Var, list[Var]] = {}
        self._ended: set[Var] = set()

    def visit_binding_block_(self, block: BindingBlock) -> None:
        for binding in reversed(block.bindings):
            self.visit_binding(binding)

    def visit_var_(self, op: Var) -> None:
        end = self.last_appear_in_var_binding
        if end is not None and op not in self._ended:
            self._ended.add(op)
            self.var_liveness_end.setdefault(end, []).append(op)

    def visit_var_binding_(self, binding: VarBinding) -> None:
        if binding.var is self.out_tuple_var:
            return
        outer = self.last_appear_in_var_binding
        if outer is not None:  # what a branch reads lives until after the branch
            self.visit_expr(binding.value)
            return
        self.last_appear_in_var_binding = binding.var
        self.visit_expr(binding.value)
        self.visit_var_(binding.var)
        self.last_appear_in_var_binding = None


class LazyTransformParamsFuncCreator:
    """Rewrites one function; what its analyses found is here for the mutators."""

    def __init__(
        self,
        fget_item: str | None,
        fset_item: str | None,
        extra_get_item_params: Sequence[RelaxExpr] | None,
        extra_set_item_params: Sequence[RelaxExpr] | None,
        mod: IRModule | None = None,
    ) -> None:
        self.fget_item = fget_item
        self.fset_item = fset_item
        self.extra_get_item_params = list(extra_get_item_params or ())
        self.extra_set_item_params = list(extra_set_item_params or ())
        self.mod = mod
        self.params: tuple[Var, ...] = ()
        self.input_tuple_param: Var
        self.out_tuple_var: Var
        self.out_tuple_map: dict[Var, list[PrimValue]] = {}
        self.input_params_set: set[Var] = set()
        self.memory_free_insertion: dict[Var, list[Var]] = {}

    def transform(self, func: Function) -> Function:
        """The function with items fetched (unless `fget_item` is None) and handed out."""
        func = to_non_dataflow(func)
        inputs = int(str(func.attrs.get("num_input", 0)))
        self._analyse(func, inputs)
        symbols = defined_symbolic_vars(func)
        new: RelaxExpr = func
        if self.fget_item is not None:
            new = LazyInputMutator(self, self.mod).visit_expr(new)
        if self.fset_item is not None:
            new = LazyOutputMutator(self, self.mod).visit_expr(new)
        assert isinstance(new, Function), "functions stay functions"
        params = list(new.params)
        if self.fget_item is not None:
            params = [*params[:inputs], *_vars(self.extra_get_item_params)]
        if self.fset_item is not None:
            params += [var for var in _vars(self.extra_set_item_params) if var not in params]
        if self.fget_item is not None and symbols:
            info = self.input_tuple_param.struct_info
            assert isinstance(info, TupleStructInfo), "looked at before"
            holders = [one for one in info.fields if not isinstance(one, TensorStructInfo)]
            params += [Var("symbolic_var_holder", one) for one in holders]
        attrs = new.without_attr("relax.force_pure").attrs
        return Function(params, new.body, None, False, attrs, new.span)

    def _analyse(self, func: Function, inputs: int) -> None:
        result = func.body.body
        if not isinstance(result, Var):
            raise _not_a_tuple(result)
        if self.fget_item is not None:
            given = func.params[inputs:]
            if len(given) != 1 or not isinstance(given[0].struct_info_, TupleStructInfo):
                found = ", ".join(f"{p.name_hint}: {p.struct_info_}" for p in given)
                raise TVMError(
                    message(
                        "LazyTransformParams: the weights of a function",
                        found=found or "none",
                        legal=f"one tuple after the first {inputs} parameters",
                    )
                )
        self.input_tuple_param = func.params[inputs] if len(func.params) > inputs else Var("none")
        self.params, self.out_tuple_var = func.params, result
        forward = ForwardCollector(result, self.input_tuple_param)
        forward.visit_expr(func)
        if not any(b.var is result for block in func.body.blocks for b in block.bindings):
            raise _not_a_tuple(result)
        self.out_tuple_map = forward.out_tuple_map
        self.input_params_set = set(forward.var_tuple_get_item)
        liveness = LivenessAnalysis(result)
        for block in reversed(func.body.blocks):
            liveness.visit_binding_block(block)
        self.memory_free_insertion = liveness.var_liveness_end


class LazyInputMutator(PyExprMutator):
    """Fetches items of the parameter where they are read."""

    def __init__(
        self, func_creator: LazyTransformParamsFuncCreator, mod: IRModule | None = None
    ) -> None:
        super().__init__(mod)
        self.func_creator = func_creator

    def visit_var_(self, var: Var) -> RelaxExpr:
        if var is self.func_creator.input_tuple_param:
            raise TVMError(
                message(
                    "LazyTransformParams: the tuple of weights",
                    found=f"a use of {var.name_hint} as a whole",
                    legal=f"items, as in {var.name_hint}[0]",
                )
            )
        return super().visit_var_(var)

    def visit_tuple_getitem_(self, node: TupleGetItem) -> RelaxExpr:
        creator = self.func_creator
        if node.tuple_value is not creator.input_tuple_param:
            return super().visit_tuple_getitem_(node)
        assert creator.fget_item is not None, "else this mutator does not run"
        args = [*creator.extra_get_item_params, PrimValue(node.index)]
        item = self.builder_.emit(_call(creator.fget_item, args))
        return self.builder_.match_cast(item, node.struct_info)


class LazyOutputMutator(PyExprMutator):
    """Hands results out after their last reader, and kills items after theirs."""

    def __init__(
        self, func_creator: LazyTransformParamsFuncCreator, mod: IRModule | None = None
    ) -> None:
        super().__init__(mod)
        self.func_creator = func_creator
        self.killed_vars: set[Var] = set()
        # a parameter that is a result itself has no binding after which it could be handed out
        params = func_creator.params
        self._early = [param for param in params if param in func_creator.out_tuple_map]

    def visit_var_(self, var: Var) -> RelaxExpr:
        assert var not in self.killed_vars, "a variable is read after it was killed"
        return super().visit_var_(var)

    def visit_var_binding_(self, binding: VarBinding) -> None:
        creator = self.func_creator
        if binding.var is creator.out_tuple_var:
            for var in self._early:
                self._hand_out(var)
            empty = self.builder_.emit(Tuple([]))
            self.set_var_remap(binding.var.vid, empty)
            return
        super().visit_var_binding_(binding)
        for var in creator.memory_free_insertion.get(binding.var, ()):
            if var in creator.out_tuple_map and var not in self._early:
                self._hand_out(var)
            if var in creator.input_params_set and creator.fget_item is not None:
                self.builder_.emit(kill_object(super().visit_var_(var)), name_hint="_")
                self.killed_vars.add(var)

    def _hand_out(self, var: Var) -> None:
        creator = self.func_creator
        assert creator.fset_item is not None, "else this mutator does not run"
        for index in creator.out_tuple_map[var]:
            args = [*creator.extra_set_item_params, index, super().visit_var_(var)]
            self.builder_.emit(_call(creator.fset_item, args), name_hint="_")


def _call(name: str, args: Sequence[RelaxExpr]) -> Call:
    return Call(ExternFunc(name), args, None, [ObjectStructInfo()])


def _vars(params: Sequence[RelaxExpr]) -> list[Var]:
    return [param for param in params if isinstance(param, Var)]


def _result(binding: VarBinding) -> Tuple:
    if not isinstance(binding.value, Tuple):
        raise _not_a_tuple(binding.value)
    return binding.value


def _not_a_tuple(found: RelaxExpr) -> TVMError:
    return TVMError(
        message(
            "LazyTransformParams: the result of a function",
            found=str(found),
            legal="a variable that is bound to a tuple of variables",
        )
    )


@module_pass(opt_level=0, name="LazyTransformParams")
class LazyTransformParams:
    """Functions `*transform_params` fetch weights and hand out results with packed functions.

    `fget_item(*extra_get_item_params, index)` gives an item, and
    `fset_item(*extra_set_item_params, index, value)` takes a result. With `fget_item=None` the
    weights stay parameters. Variables among the extra parameters become the function's.
    """

    def __init__(
        self,
        fget_item: str | None = "get_item",
        fset_item: str | None = "set_item",
        extra_get_item_params: Sequence[RelaxExpr] | None = None,
        extra_set_item_params: Sequence[RelaxExpr] | None = None,
    ) -> None:
        self.fget_item = fget_item
        self.fset_item = fset_item
        self.extra_get_item_params = extra_get_item_params
        self.extra_set_item_params = extra_set_item_params

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Rewrite the functions that this is about."""
        functions = dict(mod.functions)
        for var, func in mod.functions_items():
            if var.name_hint.endswith("transform_params") and isinstance(func, Function):
                creator = LazyTransformParamsFuncCreator(
                    self.fget_item,
                    self.fset_item,
                    self.extra_get_item_params,
                    self.extra_set_item_params,
                    mod,
                )
                new = functions[var] = creator.transform(func)
                var.struct_info_ = new.struct_info_
        return mod.with_functions(functions)
