"""A cell of long short-term memory, unrolled (Hochreiter and Schmidhuber, 1997)."""

from __future__ import annotations

from typing import Any

from tvm.ir.module import IRModule
from tvm.ir.type import TupleType
from tvm.relay.expr import Call, Tuple, TupleGetItem, var
from tvm.relay.function import Function
from tvm.relay.op import add, multiply, sigmoid, split, tanh, zeros
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
    kept = multiply(named[1], TupleGetItem(states, 1))
    next_c = builder.let(("next_c", state_type), add(kept, multiply(named[0], named[2])))
    next_h = builder.let(("next_h", state_type), multiply(named[3], tanh(next_c)))
    ret = TupleType([state_type, TupleType([state_type, state_type])])
    builder.ret(builder.let(("ret", ret), Tuple([next_h, Tuple([next_h, next_c])])))
    return Function([inputs, states, *parameters], builder.get(), ret)


def get_net(
    iterations: int, num_hidden: int, batch_size: int = 1, dtype: str = "float32"
) -> Function:
    """The cell after itself for some steps, with data for each."""
    state_type = TensorType((batch_size, num_hidden), dtype)
    weight_type = TensorType((4 * num_hidden, num_hidden), dtype)
    bias_type = TensorType((4 * num_hidden,), dtype)
    states_type = TupleType([state_type, state_type])
    builder: Any = ScopeBuilder()
    zero = builder.let(("zeros", state_type), zeros((batch_size, num_hidden), dtype))
    state = builder.let(("init_states", states_type), Tuple([zero, zero]))
    out: Any = None
    for at in range(iterations):
        data = var("data", state_type)
        kinds = (("weight", weight_type), ("bias", bias_type))
        parameters = [
            var(f"{side}_{at}_{kind}", found) for side in ("i2h", "h2h") for kind, found in kinds
        ]
        cell = lstm_cell(num_hidden, batch_size, dtype, f"lstm_{at}")
        whole = TupleType([state_type, states_type])
        call = builder.let((f"call_{at}", whole), Call(cell, [data, state, *parameters]))
        out = builder.let((f"out_{at}", state_type), TupleGetItem(call, 0))
        state = builder.let((f"states_{at}", states_type), TupleGetItem(call, 1))
    builder.ret(out)
    body = builder.get()
    return Function(free_vars(body), body)


def get_workload(
    iterations: int, num_hidden: int, batch_size: int = 1, dtype: str = "float32"
) -> tuple[IRModule, dict[str, Any]]:
    """The network as a module, with values for its parameters."""
    return create_workload(get_net(iterations, num_hidden, batch_size, dtype))
