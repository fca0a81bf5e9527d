"""What an operator cannot take is refused in words, before anything runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tvm
from tvm import relay

pytestmark = pytest.mark.pure


def var(*shape: int, dtype: str = "float32") -> relay.Var:
    return relay.var("x", shape=shape, dtype=dtype)


X, IMAGE = var(2, 3), var(1, 3, 4, 4)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: relay.reverse(X, 9), "axis 9 of a tensor with 2 dimensions"),
        (lambda: relay.sort(X, axis=7), "axis 7"),
        (lambda: relay.argsort(X, axis=-3), "axis -3"),
        (lambda: relay.nn.lrn(IMAGE, axis=9), "axis 9"),
        (lambda: relay.nn.lrn(IMAGE, size=4), "size 4 has no middle"),
        (lambda: relay.nn.l2_normalize(X, 1e-3, [0, 9]), "axis 9"),
        (lambda: relay.nn.prelu(IMAGE, var(4)), "two types that should be one differ"),
        (lambda: relay.repeat(X, 0, 0), "repeats 0"),
        (lambda: relay.arange(relay.const(1), relay.const(5), relay.const(0)), "a step of 0"),
        (lambda: relay.full(X, (2,)), "no scalar"),
        (lambda: relay.take(X, relay.const(0), mode="near"), "mode 'near'"),
        (lambda: relay.take(X, var(2, 3, dtype="int32"), 0, batch_dims=1), "batch_dims 1"),
        (lambda: relay.full_like(X, X), "no scalar"),
        (lambda: relay.nn.fifo_buffer(X, IMAGE, 0), "not as many dimensions"),
        (lambda: relay.broadcast_to_like(X, var(2, 3, dtype="int32")), "float32 and int32"),
        (lambda: relay.collapse_sum_like(X, var(3, dtype="int32")), "float32 and int32"),
        (lambda: relay.nn.conv1d_transpose(var(1, 3, 8), var(4, 3, 3)), "a weight for 4"),
        (lambda: relay.nn.conv2d_transpose(IMAGE, var(4, 3, 3, 3)), "do not fit a weight for 4"),
        (lambda: relay.nn.conv2d_transpose(IMAGE, var(3, 4, 3, 3), channels=5), "channels=4"),
        (lambda: relay.nn.conv3d_transpose(var(1, 3, 4, 4, 4), var(4, 3, 1, 1, 1)), "for 4"),
        (lambda: relay.topk(X, 1, ret_type="all"), "ret_type 'all'"),
        (lambda: relay.strided_slice(X, [0, 0, 0], [1, 1, 1]), "of 2 dimensions"),
        (lambda: relay.strided_slice(X, [0], [1], axes=[9]), "axis 9"),
        (lambda: relay.reverse_sequence(X, var(5, dtype="int32"), 1, 0), "5 lengths of 2"),
        (lambda: relay.reverse_sequence(X, var(2), 1, 0), "no vector of integers"),
        (lambda: relay.scatter_elements(X, var(2, 3, dtype="int64"), X, 0, "new"), "'new'"),
        (lambda: relay.scatter_elements(X, var(2, dtype="int64"), X), "numbers of dimensions"),
        (lambda: relay.matrix_set_diag(X, var(9)), r"diagonals of shape \(9,\)"),
        (lambda: relay.nn.cross_entropy(X, var(3, 3)), "shapes do not fit"),
        (lambda: relay.nn.nll_loss(X, var(5, dtype="int32"), var(3)), "targets and predictions"),
        (lambda: relay.nn.pad(X, ((1, 1), (1, 1)), pad_mode="wrap"), "pad_mode 'wrap'"),
        (lambda: relay.nn.depth_to_space(IMAGE, 2), "extent 3 of C"),
        (lambda: relay.nn.space_to_depth(IMAGE, 3), "extent 4 of H"),
        (lambda: relay.nn.space_to_batch_nd(IMAGE, [2], [[0, 0]]), "extent 3 of axis 1"),
        (lambda: relay.nn.max_pool2d(X, (2, 2)), "2 dimensions for NCHW"),
        (lambda: relay.nn.global_avg_pool2d(IMAGE, layout="NCHZ"), "4 dimensions for NCHZ"),
        (lambda: relay.nn.max_pool2d(IMAGE, (9, 9)), "a window of 9 in 4 along H"),
        (lambda: relay.nn.max_pool2d(IMAGE, (2, 2), strides=(0, 0)), "a stride of 0"),
        (lambda: relay.nn.conv2d(IMAGE, var(2, 3, 9, 9)), "a kernel of 9 in 4 elements"),
        (lambda: relay.nn.conv2d(IMAGE, var(2, 3, 1, 1), strides=(0, 0)), "a stride of 0"),
        (lambda: relay.vision.roi_align(IMAGE, var(2, 4), (2, 2), 1.0), "regions of 4 numbers"),
        (lambda: relay.vision.roi_align(IMAGE, var(2, 5), (2, 2), 1.0, mode="min"), "'min'"),
        (lambda: relay.image.crop_and_resize(IMAGE, var(2, 5), var(2, dtype="int32"), (2, 2),
                                             "NCHW"), "legal: .boxes, 4."),
        (lambda: relay.nn.matmul(X, IMAGE), "the second operand has 4 dimensions"),
        (lambda: relay.nn.matmul(X, var(3, 4), units=5), "units 5"),
        (lambda: relay.tile(X, var(2, 2, dtype="int64")), "operand 1 has 2 dimensions"),
        (lambda: relay.topk(X, var(2, dtype="int64")), "operand 1 has 2 elements"),
        # what the rules of operators fail over
        (lambda: relay.nn.max_pool2d(IMAGE, (2, 2), layout=7), r"legal: max_pool2d\(data,"),
        (lambda: relay.nn.batch_flatten(relay.const(1.0)), "list index out of range"),
    ],
)  # fmt: skip
def test_types(build: Callable[[], Any], words: str) -> None:
    made = build()
    made = made.astuple() if hasattr(made, "astuple") else made
    with pytest.raises(tvm.error.DiagnosticError, match=words):
        relay.transform.InferType()(tvm.IRModule.from_expr(made))


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: relay.concatenate([], 0), "relay.concatenate requires data to be non-empty"),
        (lambda: relay.stack([], 0), "relay.stack requires data to be non-empty"),
        (lambda: relay.einsum([], "ij"), "relay.einsum requires data to be non-empty"),
        (lambda: relay.stack([X], 0.5), "only support integer axis"),
    ],
)
def test_lists_of_operands(build: Callable[[], Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        build()


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: relay.Let(X, 1, X), "Let: an operand is a int: 1"),
        (lambda: relay.Let("x", X, X), "Let: the variable is a str"),
        (lambda: relay.If(X, 1, X), "If: an operand is a int"),
        (lambda: relay.TupleGetItem(1, 0), "TupleGetItem: an operand is a int"),
        (lambda: relay.RefCreate(1), "RefCreate: an operand is a int"),
        (lambda: relay.RefRead(1), "RefRead: an operand is a int"),
        (lambda: relay.RefWrite(X, 1), "RefWrite: an operand is a int"),
        (lambda: relay.Match(1, []), "Match: an operand is a int"),
        (lambda: relay.Clause(1, X), "Clause: the left side is a int"),
        (lambda: relay.PatternVar(1), "PatternVar: the variable is a int"),
        (lambda: relay.PatternConstructor(1, []), "the constructor is a int"),
        (lambda: relay.Var(1), "Var: the name is a int"),
        (lambda: relay.FuncType([1], relay.TensorType(())), "FuncType: a part is a int"),
        (lambda: relay.RefType(1), "RefType: a part is a int"),
        (lambda: relay.TensorType((1.5,)), "an extent is 1.5"),
        (lambda: relay.analysis.free_vars(3), "a int is no expression of Relay: 3"),
        (lambda: relay.bind(3, {}), "bind: an operand is a int"),
        (lambda: relay.bind(X, {1: X}), "bind: a int gets a value"),
    ],
)
def test_parts_of_nodes(build: Callable[[], Any], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        build()


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: relay.image.resize2d(IMAGE, "NCHW"), r"legal: resize2d\(data, size, roi=None"),
        (lambda: relay.nn.conv2d(IMAGE, X, strides="a"), "found: data=a Var.*strides='a'"),
        (lambda: relay.variance(X, axis="a"), "variance: its arguments do not fit"),
        (lambda: relay.nn.sparse_dense(X, X), "sparse_dense: its arguments do not fit"),
        (lambda: relay.nn.fifo_buffer(X, X, X), "the option 'axis' is a Var"),
    ],
)
def test_arguments_of_other_kinds(build: Callable[[], Any], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        build()


def test_what_python_and_operators_say_themselves_stays() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        relay.nn.softmax()  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="requires data to be non-empty"):
        relay.concatenate([], 0)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: relay.Call(relay.op.get("add"), X), r"Call: the argument `args`.*\n.*type Var"),
        (lambda: relay.Tuple(3), "Tuple: the argument `fields`"),
        (lambda: relay.TensorType(1.5), "TensorType: the argument `shape`"),
        (lambda: relay.analysis.list_op_freqs(X), "list_op_freqs: the argument `mod`"),
        (lambda: relay.analysis.unmatched_cases(X), "unmatched_cases: the argument `match`"),
        (lambda: relay.expr.LetWithFields(3), "LetWithFields: the argument `let`"),
        (lambda: relay.parse(3), "parse: the argument `source`"),
    ],
)
def test_arguments_of_other_kinds_for_parts_of_programs(
    build: Callable[[], Any], words: str
) -> None:
    with pytest.raises(TypeError, match=words):
        build()


def test_no_target() -> None:
    with pytest.raises(ValueError, match="legal: one target or several"):
        relay.build(tvm.IRModule.from_expr(relay.Function([X], X)), [])
