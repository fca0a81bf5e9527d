"""Runs a lowered function on several workers in one process, binding by binding."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvm import relax
from tvm.ir import IRModule, Op
from tvm.relax.interp import Interpreter

_REDUCED = {"sum": np.sum, "prod": np.prod, "min": np.min, "max": np.max, "avg": np.mean}


def run_workers(func: relax.Function, inputs: list[np.ndarray], count: int) -> list[Any]:
    """What each worker returns; the first one brings the inputs."""
    envs: list[dict[Any, Any]] = [dict(zip(func.params, inputs)) for _ in range(count)]
    for block in func.body.blocks:
        for binding in block.bindings:
            values = _values(binding.value, envs)
            for env, value in zip(envs, values):
                env[binding.var] = value
    return [env[func.body.body] for env in envs]


def _values(value: Any, envs: list[dict[Any, Any]]) -> list[Any]:
    count = len(envs)
    name = value.op.name if isinstance(value, relax.Call) and isinstance(value.op, Op) else ""
    if name == "relax.ccl.broadcast_from_worker0":
        return [envs[0][value.args[0]]] * count
    if name == "relax.ccl.scatter_from_worker0":
        assert value.attrs.num_workers == count
        return np.split(envs[0][value.args[0]], count, axis=int(value.attrs.axis))
    if name == "relax.ccl.allreduce":
        parts = [env[value.args[0]] for env in envs]
        return [_REDUCED[str(value.attrs.op_type)](parts, axis=0)] * count
    if name == "relax.dist.redistribute_replica_to_shard":
        whole = [_alone(value.args[0], env) for env in envs]
        pieces = [np.split(w, count, axis=int(value.attrs.axis)) for w in whole]
        return [pieces[worker][worker] for worker in range(count)]
    return [_alone(value, env) for env in envs]


def _alone(value: Any, env: dict[Any, Any]) -> Any:
    used = [v for v in relax.analysis.free_vars(value) if v in env]
    bb = relax.BlockBuilder()
    body = relax.SeqExpr([], bb.normalize(value)) if isinstance(value, relax.Constant) else None
    if body is None:
        out = relax.Var("out", value.struct_info)
        body = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(out, value)])], out)
    func = relax.Function(used, body, value.struct_info)
    return Interpreter(IRModule({"main": func})).run("main", *(env[v] for v in used))
