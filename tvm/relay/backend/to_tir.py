"""Whole functions of Relay as one PrimFunc each.

    def @main(%x: Tensor[(2), float32]) { exp(add(%x, 1f)) }
    ->
    def main(x: T.Buffer((2,)), out: T.Buffer((2,))):
        T_add = T.alloc_buffer((2,))
        T_add[i] = x[i] + 1
        out[i] = exp(T_add[i])

Each operator is a block or more; tensors between them are buffers of the root block, constants are
`allocate_const` around the blocks. Nothing is scheduled yet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tvm.error import TVMError, message
from tvm.ir.expr import GlobalVar, RelaxExpr, StructInfo
from tvm.ir.function import BaseFunc
from tvm.ir.host_tensor import HostTensor
from tvm.ir.module import IRModule
from tvm.ir.transform import Sequential
from tvm.relax import expr as x
from tvm.relax import transform as relax_transform
from tvm.relax.struct_info import TensorStructInfo, TupleStructInfo
from tvm.relax.transform.fuse_tir import fuse_group
from tvm.relax.transform.rebuild import map_bindings, replace_operands, with_value
from tvm.relay.function import Function
from tvm.relay.to_relax import to_relax
from tvm.relay.transform import InferType
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc


def to_tir(mod: IRModule, functions: Mapping[str, BaseFunc] | None = None) -> IRModule:
    """The functions as PrimFuncs under their names; a TVMError names what has no such form."""
    chosen = {v.name_hint: f for v, f in mod.functions.items()} if functions is None else functions
    wrong = [name for name, func in chosen.items() if not isinstance(func, Function)]
    if wrong:
        raise TVMError(
            message(
                "relay_to_tir",
                found=f"{wrong[0]} is a {type(chosen[wrong[0]]).__name__}",
                legal="functions of Relay",
            )
        )
    whole = mod.clone()
    for name, func in chosen.items():
        whole.update_func(_var(whole, name), func)
    whole = InferType()(whole)
    made = {GlobalVar(name): _prim_func(whole, name) for name in chosen}
    return IRModule(made, mod.attrs)


def _var(mod: IRModule, name: str) -> GlobalVar:
    known = {var.name_hint: var for var in mod.functions}
    return known.get(name) or GlobalVar(name)


def _prim_func(mod: IRModule, name: str) -> PrimFunc:
    steps = [
        relax_transform.DecomposeOpsForInference(),
        relax_transform.CanonicalizeBindings(),
        relax_transform.LegalizeOps(),
        relax_transform.DeadCodeElimination(),
    ]
    kernels = Sequential(steps)(to_relax(mod, name))
    main = kernels[name]
    assert isinstance(main, x.Function), "a function of Relay becomes one of Relax"
    params: list[x.Var] = []
    values: list[HostTensor] = []

    def as_param(operand: RelaxExpr) -> RelaxExpr | None:
        """A tensor that is known becomes a parameter, for the time being."""
        if not isinstance(operand, x.Constant):
            return None
        params.append(x.Var(f"const_{len(params)}", operand.struct_info))
        values.append(operand.data)
        return params[-1]

    def rule(binding: x.Binding) -> Sequence[x.Binding]:
        return (with_value(binding, replace_operands(binding.value, as_param)),)

    body = map_bindings(main, rule).body
    given = [*main.params, *params]
    group = x.Function(given, body, main.ret_struct_info, main.is_pure, main.attrs)
    func = fuse_group(kernels, group).with_attr("global_symbol", name)
    first = sum(_tensors(param.struct_info) for param in main.params)
    return _with_constants(func, first, values)


def _tensors(info: StructInfo) -> int:
    """How many tensors a value consists of."""
    if isinstance(info, TupleStructInfo):
        return sum(_tensors(field) for field in info.fields)
    return int(isinstance(info, TensorStructInfo))


def _with_constants(func: PrimFunc, first: int, values: list[HostTensor]) -> PrimFunc:
    """The function with constants in its body for the tensors from number `first` on."""
    if not values:
        return func
    consts = list(func.buffer_map)[first : first + len(values)]
    params = [p for p in func.params if p not in consts]
    buffers = {p: b for p, b in func.buffer_map.items() if p not in consts}
    root = func.body
    assert isinstance(root, s.BlockRealize), "fusing makes a root block"
    body = root.block.body
    for param, value in reversed(list(zip(consts, values))):
        buffer = func.buffer_map[param]
        body = s.DeclBuffer(buffer, body)
        body = s.AllocateConst(buffer.data, buffer.dtype, buffer.shape, value, body)
    block = root.block
    made = s.Block(
        block.iter_vars, block.reads, block.writes, block.name_hint, body, block.init,
        block.alloc_buffers, block.match_buffers, block.annotations, block.span,
    )  # fmt: skip
    realize = s.BlockRealize(root.iter_values, root.predicate, made, root.span)
    return PrimFunc(params, realize, func.ret_type, buffers, func.attrs, func.span)
