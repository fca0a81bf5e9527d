"""Write moves of distributed tensors as what the workers do.

    y = R.dist.redistribute(x, "mesh[0]", "S[1]")          # x lies as "R"
        ->
    y = R.dist.redistribute_replica_to_shard(x, num_workers=2, axis=1)

A tensor that lies there already is the tensor itself. Pieces are not put together again here: what
needs that is refused.
"""

from __future__ import annotations

from tvm.error import TVMError, message
from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.structural import structural_equal
from tvm.ir.transform import PassContext
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.distributed.struct_info import DTensorStructInfo, PlacementSpecKind
from tvm.relax.expr import Call, Function, is_call_of
from tvm.relax.op.distributed import redistribute_replica_to_shard
from tvm.relax.transform.pass_form import relax_functions_pass
from tvm.relax.transform.rebuild import map_calls


@relax_functions_pass("LegalizeRedistribute", opt_level=1)
def LegalizeRedistribute(func: Function, mod: IRModule, ctx: PassContext) -> Function:
    """No `dist.redistribute` is left."""
    bb = BlockBuilder(mod)

    def on_call(call: Call) -> RelaxExpr:
        return _moved(bb, call) if is_call_of(call, "relax.dist.redistribute") else call

    return map_calls(func, on_call)


def _moved(bb: BlockBuilder, call: Call) -> RelaxExpr:
    source, target = call.args[0].struct_info, call.struct_info
    assert isinstance(source, DTensorStructInfo), "only distributed tensors are moved"
    assert isinstance(target, DTensorStructInfo), "a move gives a distributed tensor"
    if not structural_equal(source.device_mesh, target.device_mesh):
        raise _refused(call, "another mesh")
    changes = [
        (part, a, b)
        for part, (a, b) in enumerate(
            zip(source.placement.dim_specs, target.placement.dim_specs)
        )
        if (a.kind, a.axis) != (b.kind, b.axis)
    ]
    if not changes:
        return call.args[0]
    if len(changes) > 1 or changes[0][1].kind is PlacementSpecKind.kSharding:
        raise _refused(call, f"{source.placement} to {target.placement}")
    part, _, wanted = changes[0]
    workers = source.device_mesh.shape[part]
    new = redistribute_replica_to_shard(call.args[0], workers, wanted.axis)
    new.span = call.span
    new.struct_info_ = target
    return new


def _refused(call: Call, found: str) -> TVMError:
    where = None if call.span is None else str(call.span)
    return TVMError(
        message(
            "LegalizeRedistribute: a move that puts pieces together",
            found=found,
            where=where,
            legal="from R to S[axis], along one dimension of one mesh",
        )
    )
