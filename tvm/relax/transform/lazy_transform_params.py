"""Weights are fetched one by one, and each result is handed out as soon as it is final.

    def transform_params(params):               def transform_params():
        a = params[0]                               a = match_cast(get_item(0), Tensor(...))
        b = exp(a)                      ->          b = exp(a)
        gv = (b,)                                   vm.kill_object(a)
        return gv                                   set_item(0, b)
                                                    return ()

This holds for functions whose name ends in `transform_params`. An item is fetched where it was
read, and killed after its last reader; a result is handed out after its last reader, and constants
among the results first of all. Weights may be parameters of their own too: each is fetched before
its first reader.
"""

from __future__ import annotations

from collections.abc import Sequence

from tvm.error import CheckError, TVMError, message
from tvm.ir.expr import RelaxExpr, StructInfo
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext, module_pass
from tvm.relax.analysis import defined_symbolic_vars, free_vars
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import (
    BindingBlock,
    Call,
    DataflowVar,
    ExternFunc,
    Function,
    If,
    MatchCast,
    PrimValue,
    SeqExpr,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from tvm.relax.expr_functor import PyExprMutator, PyExprVisitor
from tvm.relax.int_attrs import int_attr
from tvm.relax.normalize import normal_seq
from tvm.relax.op.vm import kill_object
from tvm.relax.struct_info import ObjectStructInfo, TensorStructInfo, TupleStructInfo
from tvm.relax.transform.rebuild import with_body
from tvm.relax.transform.to_non_dataflow import to_non_dataflow
from tvm.support.arguments import explained


class ForwardCollector(PyExprVisitor):
    """Finds what the items of the result are, and which variables hold items of the parameter."""

    def __init__(self, tuple_var: Var, input_params: Var | None) -> None:
        self.tuple_var = tuple_var
        self.input_params = input_params
        self.out_tuple_map: dict[RelaxExpr, list[PrimValue]] = {}
        self.var_tuple_get_item: list[Var] = []
        self.is_tuple_get_item_input = False
        self._inside = False  # of a binding: what branches bind cannot be told of after them

    def visit_tuple_getitem_(self, op: TupleGetItem) -> None:
        self.is_tuple_get_item_input = op.tuple_value is self.input_params

    def visit_var_binding_(self, binding: VarBinding) -> None:
        if binding.var is self.tuple_var:
            for i, field in enumerate(_result(binding).fields):
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

    def visit_dataflow_var_(self, op: DataflowVar) -> None:
        self.visit_var_(op)

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
        self.weights: tuple[Var, ...] = ()  # parameters of their own, if there is no tuple of them
        self.input_tuple_param: Var | None = None
        self.out_tuple_var: Var
        self.out_tuple_map: dict[RelaxExpr, list[PrimValue]] = {}
        self.input_params_set: set[Var] = set()
        self.memory_free_insertion: dict[Var, list[Var]] = {}

    def transform(self, func: Function) -> Function:
        """The function with items fetched (unless `fget_item` is None) and handed out."""
        func = _with_items(to_non_dataflow(func))
        if self.fset_item is not None:
            func = _with_bound_result(func)
        inputs = int_attr(func, "num_input")
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
            infos = [leaf for param in func.params[inputs:] for leaf in _leaves(param.struct_info)]
            holders = [one for one in infos if not isinstance(one, TensorStructInfo)]
            params += [Var("symbolic_var_holder", one) for one in holders]
        attrs = new.without_attr("relax.force_pure").attrs
        return Function(params, new.body, None, False, attrs, new.span)

    def _analyse(self, func: Function, inputs: int) -> None:
        given = func.params[inputs:]
        if len(given) == 1 and isinstance(given[0].struct_info_, TupleStructInfo):
            self.input_tuple_param = given[0]
        else:
            self.weights = given
        result = func.body.body
        self.params = func.params
        if not isinstance(result, Var):
            return  # nothing is handed out, so nothing dies early
        self.out_tuple_var = result
        forward = ForwardCollector(result, self.input_tuple_param)
        forward.visit_expr(func)
        self.out_tuple_map = forward.out_tuple_map
        self.input_params_set = set(forward.var_tuple_get_item)
        liveness = LivenessAnalysis(result)
        for block in reversed(func.body.blocks):
            liveness.visit_binding_block(block)
        self.memory_free_insertion = liveness.var_liveness_end


class LazyInputMutator(PyExprMutator):
    """Fetches items of the parameter where they are read."""

    @explained
    def __init__(
        self, func_creator: LazyTransformParamsFuncCreator, mod: IRModule | None = None
    ) -> None:
        super().__init__(mod)
        self.func_creator = func_creator
        self._index = {weight: i for i, weight in enumerate(func_creator.weights)}
        self._held: dict[Var, Var] = {}  # weights, and the variables that hold them here
        self._in_branch = False

    def visit_var_(self, var: Var) -> RelaxExpr:
        if var in self._index:
            if var not in self._held:
                # both branches may fetch: there each has a variable of its own
                held = Var(var.name_hint, var.struct_info) if self._in_branch else var
                cast = MatchCast(held, self._fetch(self._index[var]), var.struct_info)
                self.builder_.emit_normalized(cast)
                self._held[var] = held
            return self._held[var]
        if var is self.func_creator.input_tuple_param:
            raise CheckError(
                message(
                    "LazyTransformParams: the tuple of weights",
                    found=f"a use of {var.name_hint} as a whole",
                    legal=f"items, as in {var.name_hint}[0]",
                )
            )
        return super().visit_var_(var)

    def visit_tuple_getitem_(self, node: TupleGetItem) -> RelaxExpr:
        if node.tuple_value is not self.func_creator.input_tuple_param:
            return super().visit_tuple_getitem_(node)
        return self.builder_.match_cast(self._fetch(node.index), node.struct_info)

    def visit_function_(self, op: Function) -> RelaxExpr:
        """What a local function captures is fetched before it, where what follows sees it too."""
        for var in free_vars(op):
            self.visit_var_(var)
        return super().visit_function_(op)

    def visit_if_(self, op: If) -> RelaxExpr:
        cond = self.visit_expr(op.cond)
        for branch in (op.true_branch, op.false_branch):
            for var in free_vars(branch):
                if var in self.func_creator.out_tuple_map:
                    self.visit_expr(var)  # it is handed out behind the branches
        return If(cond, self._branch(op.true_branch), self._branch(op.false_branch), op.span)

    def _branch(self, branch: SeqExpr) -> RelaxExpr:
        """What a branch fetched is not there after it, nor in the other one."""
        before, outer = dict(self._held), self._in_branch
        self._in_branch = True
        new = self.visit_with_new_scope(branch)
        self._held, self._in_branch = before, outer
        return new

    def _fetch(self, index: int) -> Var:
        creator = self.func_creator
        assert creator.fget_item is not None, "else this mutator does not run"
        args = [*creator.extra_get_item_params, PrimValue(index)]
        return self.builder_.emit(_call(creator.fget_item, args))


class LazyOutputMutator(PyExprMutator):
    """Hands results out after their last reader, and kills items after theirs."""

    @explained
    def __init__(
        self, func_creator: LazyTransformParamsFuncCreator, mod: IRModule | None = None
    ) -> None:
        super().__init__(mod)
        self.func_creator = func_creator
        self.killed_vars: set[Var] = set()
        # a parameter that is a result and read nowhere else has no binding to follow
        read = {var for ended in func_creator.memory_free_insertion.values() for var in ended}
        results = [param for param in func_creator.params if param in func_creator.out_tuple_map]
        self._late = [param for param in results if param not in read]

    def visit_var_(self, var: Var) -> RelaxExpr:
        assert var not in self.killed_vars, "a variable is read after it was killed"
        return super().visit_var_(var)

    def visit_dataflow_var_(self, op: DataflowVar) -> RelaxExpr:
        return self.visit_var_(op)

    def visit_function_(self, op: Function) -> RelaxExpr:
        leaves = [one for one in self.func_creator.out_tuple_map if not isinstance(one, Var)]
        handed = [binding for leaf in leaves for binding in self._set_item(leaf, leaf)]
        if handed:
            body = SeqExpr([BindingBlock(handed), *op.body.blocks], op.body.body, op.body.span)
            body.struct_info_ = op.body.struct_info_
            op = Function(op.params, body, op.ret_struct_info, False, op.attrs, op.span)
        return super().visit_function_(op)

    def visit_var_binding_(self, binding: VarBinding) -> None:
        creator = self.func_creator
        if binding.var is creator.out_tuple_var:
            for var in self._late:
                self._hand_out(var)
            empty = self.builder_.emit(Tuple([]))
            self.set_var_remap(binding.var.vid, empty)
            return
        super().visit_var_binding_(binding)
        for var in creator.memory_free_insertion.get(binding.var, ()):
            if var in creator.out_tuple_map:
                self._hand_out(var)
            if var in creator.input_params_set and creator.fget_item is not None:
                self.builder_.emit(kill_object(super().visit_var_(var)), name_hint="_")
                self.killed_vars.add(var)

    def _hand_out(self, var: Var) -> None:
        for binding in self._set_item(var, super().visit_var_(var)):
            self.builder_.emit(binding.value, name_hint="_")

    def _set_item(self, result: RelaxExpr, value: RelaxExpr) -> list[VarBinding]:
        creator = self.func_creator
        assert creator.fset_item is not None, "else this mutator does not run"
        bindings = []
        for index in creator.out_tuple_map[result]:
            call = _call(creator.fset_item, [*creator.extra_set_item_params, index, value])
            call.struct_info_ = ObjectStructInfo()
            bindings.append(VarBinding(Var("_", call.struct_info_), call))
        return bindings


def _call(name: str, args: Sequence[RelaxExpr]) -> Call:
    return Call(ExternFunc(name), args, None, [ObjectStructInfo()])


def _leaves(info: StructInfo) -> list[StructInfo]:
    if not isinstance(info, TupleStructInfo):
        return [info]
    return [leaf for field in info.fields for leaf in _leaves(field)]


def _with_items(func: Function) -> Function:
    """The function whose result is its tuple of weights, with each item taken by itself."""
    result = func.body.body
    if not isinstance(result, Var) or result not in func.params:
        return func
    if not isinstance(result.struct_info_, TupleStructInfo):
        return func
    bb = BlockBuilder()
    bb.begin_scope(func.params)
    bb.begin_binding_block()
    items = [bb.emit(TupleGetItem(result, i)) for i in range(len(result.struct_info_.fields))]
    whole = bb.emit(Tuple(items))
    last = bb.end_block()
    bb.end_scope()
    seq = normal_seq([*func.body.blocks, last], whole, func.body)
    return with_body(func, seq)


def _with_bound_result(func: Function) -> Function:
    """The function with its result in a variable, if it is a tuple that is written in place."""
    result = func.body.body
    if not isinstance(result, Tuple):
        return func
    held = Var("output", result.struct_info_)
    block = BindingBlock([VarBinding(held, result, result.span)])
    body = SeqExpr([*func.body.blocks, block], held, func.body.span)
    body.struct_info_ = held.struct_info_
    return Function(func.params, body, func.ret_struct_info, func.is_pure, func.attrs, func.span)


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
            legal="a tuple",
        )
    )


@module_pass(opt_level=0, name="LazyTransformParams")
class LazyTransformParams:
    """Functions `*transform_params` fetch weights and hand out results with packed functions.

    `fget_item(*extra_get_item_params, index)` gives an item, and
    `fset_item(*extra_set_item_params, index, value)` takes a result. With `fget_item=None` the
    weights stay parameters, with `fset_item=None` the result is returned. Variables among the extra
    parameters become the function's.
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
