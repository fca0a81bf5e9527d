"""A cell of long short-term memory, unrolled (Hochreiter and Schmidhuber, 1997)."""

from __future__ import annotations

from typing import Any

from tvm.ir.module import IRModule
from tvm.ir.type import TupleType
from tvm.relay.expr import Call, Tuple, TupleGetItem, var
from tvm.relay.function import Function
from tvm.relay.op import add, multiply, nn, sigmoid, split, tanh, zeros
from tvm.relay.scope_builder import ScopeBuilder
from tvm.relay.ty import TensorType
from tvm.relay.variables import free_vars

from .init import create_workload
from .layers import dense_add_bias


def lstm_cell(
    num_hidden: int, batch_size: int = 1, dtype: str = "float32", name: str = ""
) -> Function:
    """A function of the input, the state (h, c) and the parameters: the output and the state."""
    builder: Any = ScopeBuilder()
    state_type = TensorType((batch_size, num_hidden), dtype)
    weight_type = TensorType((4 * num_hidden, num_hidden), dtype)
    bias_type = TensorType((4 * num_hidden,), dtype)
    gate_type = TupleType([state_type] * 4)
    inputs = var("inputs", state_type)
    states = var("states", TupleType([state_type, state_type]))
    parameters = [var(f"{side}_{kind}", found) for side in ("i2h", "h2h")
                  for kind, found in (("weight", weight_type), ("bias", bias_type))]  # fmt: skip
    i2h = builder.let(
        ("i2h", TensorType((batch_size, 4 * num_hidden), dtype)),
        dense_add_bias(data=inputs, units=num_hidden * 4, weight=parameters[0],
                       bias=parameters[1], name=f"{name}i2h"),
    )  # fmt: skip
    h2h = builder.let(
        ("h2h", TensorType((batch_size, 4 * num_hidden), dtype)),
        dense_add_bias(data=TupleGetItem(states, 0), units=num_hidden * 4, weight=parameters[2],
                       bias=parameters[3], name=f"{name}h2h"),
    )  # fmt: skip
    gates = builder.let(("gates", TensorType((batch_size, 4 * num_hidden), dtype)), add(i2h, h2h))
    parts = builder.let(
        ("slice_gates", gate_type), split(gates, indices_or_sections=4, axis=1).astuple()
    )
    functions = (sigmoid, sigmoid, tanh, sigmoid)
    named = [
        builder.let((label, state_type), function(TupleGetItem(parts, at)))
        for at, (label, function) in enumerate(
            zip(("in_gate", "forget_gate", "in_transform", "out_gate"), functions)
        )
    ]
    kept = builder.let(
        ("forget_dot_next", state_type), multiply(named[1], TupleGetItem(states, 1))
    )
    added = builder.let(("in_gate_dot", state_type), multiply(named[0], named[2]))
    next_c = builder.let(("next_c", state_type), add(kept, added))
    next_h = builder.let(("next_h", state_type), multiply(named[3], tanh(next_c)))
    builder.ret(Tuple([next_h, Tuple([next_h, next_c])]))
    ret = TupleType([state_type, TupleType([state_type, state_type])])
    return Function([inputs, states, *parameters], builder.get(), ret)


def get_net(
    iterations: int, num_hidden: int, batch_size: int = 1, dtype: str = "float32"
) -> Function:
    """The cell after itself for some steps, and a dense layer."""
    state_type = TensorType((batch_size, num_hidden), dtype)
    weight_type = TensorType((4 * num_hidden, num_hidden), dtype)
    bias_type = TensorType((4 * num_hidden,), dtype)
    builder: Any = ScopeBuilder()
    state: Any = Tuple([zeros((batch_size, num_hidden), dtype) for _ in range(2)])
    out: Any = None
    data = var("data", shape=(batch_size, num_hidden), dtype=dtype)
    for at in range(iterations):
        cell = builder.let(
            f"cell_{at}", lstm_cell(num_hidden, batch_size, dtype, f"lstm_{at}")
        )
        kinds = (("weight", weight_type), ("bias", bias_type))
        parameters = [
            var(f"{side}_{at}_{kind}", found) for side in ("i2h", "h2h") for kind, found in kinds
        ]
        call = builder.let(f"call_{at}", Call(cell, [data, state, *parameters]))
        out = builder.let((f"out_{at}", state_type), TupleGetItem(call, 0))
        state = builder.let(
            (f"next_{at}", TupleType([state_type, state_type])), TupleGetItem(call, 1)
        )
    builder.ret(nn.relu(out))
    body = builder.get()
    return Function(free_vars(body), body)


def get_workload(
    iterations: int, num_hidden: int, batch_size: int = 1, dtype: str = "float32"
) -> tuple[IRModule, dict[str, Any]]:
    """The network as a module, with values for its parameters."""
    return create_workload(get_net(iterations, num_hidden, batch_size, dtype))
