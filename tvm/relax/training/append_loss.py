"""Put a loss behind a function: what training differentiates.

    def backbone(x, w):          def loss(out, target):
        with dataflow:               with dataflow:
            out = matmul(x, w)           lv = subtract(out, target)
        return out, state                gv = sum(lv)
                                     return gv
        ->
    def backbone_loss(x, w, target):
        with dataflow:
            out = matmul(x, w)
            lv = subtract(out, target)
            gv = sum(lv)
        return gv, state
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tvm.error import TVMError, message
from tvm.ir import structural_equal
from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext, declare_module_pass
from tvm.relax.base_expr import Id
from tvm.relax.bind import Binder, copy_with_new_vars
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.derive import bind_symbols
from tvm.relax.expr import (
    Binding,
    DataflowBlock,
    DataflowVar,
    Function,
    MatchCast,
    SeqExpr,
    Tuple,
    Var,
    VarBinding,
)
from tvm.relax.struct_info import TensorStructInfo
from tvm.tir import expr as tir


def _refuse(asked: str, found: str, legal: str) -> TVMError:
    return TVMError(message(f"AppendLoss: {asked}", found=found, legal=legal))


@declare_module_pass("AppendLoss")
def AppendLoss(
    mod: IRModule,
    ctx: PassContext,
    func_name: str,
    loss_function: Function,
    num_backbone_outputs: int = 1,
    new_func_name: str | None = None,
) -> IRModule:
    """Add `new_func_name` (`<func_name>_loss`): the function, and the loss of its first results.

    Both functions are one dataflow block. The first `num_backbone_outputs` parameters of the loss
    are the first results of the function; its other parameters (targets) become parameters behind
    the function's own. It returns the loss, a tensor without dimensions, and the other results.
    """
    func = mod[func_name]
    if not isinstance(func, Function):
        names = ", ".join(var.name_hint for var in mod.functions)
        raise _refuse(f"there is no Relax function {func_name!r}", names, "one of the module's")
    name = new_func_name or f"{func_name}_loss"
    bb = BlockBuilder(mod)
    joined = _joined(bb, copy_with_new_vars(func), copy_with_new_vars(loss_function),
                     num_backbone_outputs)  # fmt: skip
    bb.add_func(joined.with_attr("global_symbol", name), name)
    return bb.get()


def _joined(bb: BlockBuilder, backbone: Function, loss: Function, count: int) -> Function:
    block = _block(backbone, "the function")
    _block(loss, "the loss")
    results = _results(backbone)
    _check_arguments(results, loss, count)
    loss = _with_symbols_of(results, loss, count)
    loss_block = _block(loss, "the loss")
    final = _loss_result(loss)
    rest = results[count:]
    shown = {var.vid for var in rest}
    # what was a result, and is none now, stays inside the block
    hidden: dict[Id, RelaxExpr] = {
        binding.var.vid: DataflowVar(binding.var.name_hint, binding.var.struct_info)
        for binding in block.bindings
        if not isinstance(binding.var, DataflowVar) and binding.var.vid not in shown
    }
    given = {
        param.vid: hidden.get(result.vid, result)
        for param, result in zip(loss.params, results[:count])
    }
    params = [*backbone.params, *loss.params[count:]]
    bb.begin_scope(params)
    bb.begin_dataflow_block()
    for binding in block.bindings:
        bb.emit_normalized(_replaced(binding, hidden))
    for binding in loss_block.bindings:
        bb.emit_normalized(_replaced(binding, given))
    result = bb.normalize(Tuple([final, *rest])) if rest else final
    body = SeqExpr([bb.end_block()], result, backbone.body.span)
    body.struct_info_ = result.struct_info_
    bb.end_scope()
    return Function(params, body, None, backbone.is_pure, backbone.attrs, backbone.span)


def _replaced(binding: Binding, values: Mapping[Id, RelaxExpr]) -> Binding:
    value = Binder(values, {}).visit_expr(binding.value)
    var = values.get(binding.var.vid, binding.var)
    assert isinstance(var, Var), "definitions become variables only"
    if isinstance(binding, MatchCast):
        return MatchCast(var, value, binding.struct_info, binding.span)
    return VarBinding(var, value, binding.span)


def _block(func: Function, what: str) -> DataflowBlock:
    blocks = func.body.blocks
    if len(blocks) != 1 or not isinstance(blocks[0], DataflowBlock):
        found = [type(block).__name__ for block in blocks]
        raise _refuse(
            f"{what} must be one dataflow block", f"{len(blocks)} blocks: {found}",
            "one `with R.dataflow():` around all bindings",
        )  # fmt: skip
    return blocks[0]


def _results(func: Function) -> Sequence[Var]:
    result = func.body.body
    fields = result.fields if isinstance(result, Tuple) else (result,)
    variables = [field for field in fields if isinstance(field, Var)]
    if len(variables) != len(fields):
        raise _refuse("results of the function are variables", f"{result}", "one, or a tuple")
    return variables


def _check_arguments(results: Sequence[Var], loss: Function, count: int) -> None:
    if not 0 <= count <= min(len(results), len(loss.params)):
        raise _refuse(
            f"num_backbone_outputs={count}",
            f"{len(results)} results of the function, {len(loss.params)} parameters of the loss",
            "as many as both have",
        )
    for result, param in zip(results[:count], loss.params):
        if not structural_equal(result.struct_info, param.struct_info, True):
            raise _refuse(
                f"the result {result.name_hint!r} goes to the loss's parameter "
                f"{param.name_hint!r}",
                f"{result.struct_info} and {param.struct_info}",
                "equal struct info",
            )


def _with_symbols_of(results: Sequence[Var], loss: Function, count: int) -> Function:
    """The loss in the symbols of the results that it gets; its targets have them too."""
    symbols: dict[tir.Var, PrimExpr] = {}
    for result, param in zip(results[:count], loss.params):
        bind_symbols(param.struct_info, result.struct_info, symbols)
    return loss.bind_symbolic_vars(symbols) if symbols else loss


def _loss_result(loss: Function) -> Var:
    result = loss.body.body
    info = result.struct_info_
    if (
        not isinstance(result, Var)
        or not isinstance(info, TensorStructInfo)
        or info.ndim != 0
    ):
        raise _refuse("what the loss returns", f"{info}", "one tensor without dimensions")
    return result
