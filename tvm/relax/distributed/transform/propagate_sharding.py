"""Give every tensor of a function a placement, from the few that are annotated.

    def f(x, w):
        a = R.matmul(x, w)
        b = R.dist.annotate_sharding(a, "mesh[0]", "S[1]")
        ->
    def f(x: R.DTensor(..., "R"), w: R.DTensor(..., "S[1]")):
        a: R.DTensor(..., "S[1]") = R.matmul(x, w)
        b: R.DTensor(..., "S[1]") = a

Dimensions that are linked by an operator (`axis_links`), and those that it sums over together, are
cut in the same way: along each dimension of the mesh, what a placement says of one holds for all.
Whatever nothing is said of is whole on every device. Values that are linked lie on one mesh, that
of their annotation; `R.dist.redistribute`, which stays, brings a value from one mesh to another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tvm.error import CheckError, message
from tvm.ir.expr import GlobalVar, RelaxExpr, StructInfo
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.distributed.axis_links import axis_links
from tvm.relax.distributed.global_info import DeviceMesh
from tvm.relax.distributed.struct_info import (
    DTensorStructInfo,
    Placement,
    PlacementSpec,
    PlacementSpecKind,
)
from tvm.relax.distributed.tir_axes import linked_buffer_axes
from tvm.relax.expr import (
    Binding,
    Call,
    Constant,
    DataflowVar,
    ExternFunc,
    Function,
    If,
    MatchCast,
    SeqExpr,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
    is_call_of,
)
from tvm.relax.struct_info import TensorStructInfo, TupleStructInfo
from tvm.relax.transform.pass_form import relax_functions_pass
from tvm.relax.transform.rebuild import all_bindings, replace_operands
from tvm.tir.function import PrimFunc

_ANNOTATION, _MOVE = "relax.dist.annotate_sharding", "relax.dist.redistribute"
_NO_FIELD = -1
_MESH = -1  # stands for the mesh of a value where a dimension would stand
# A dimension of a tensor: the value, the field of it if it is a tuple (else -1), the dimension.
_Axis = tuple[RelaxExpr, int, int]


@relax_functions_pass("PropagateSharding", opt_level=1)
def PropagateSharding(func: Function, mod: IRModule, ctx: PassContext) -> Function:
    """Give the tensors a placement in every function that has an annotation."""
    notes = [b for b in all_bindings(func) if _is_note(b.value) or _is_move(b.value)]
    if not notes:
        return func
    for binding in all_bindings(func):
        found = _not_followed(binding.value)
        if found is not None:
            raise CheckError(
                message(
                    f"PropagateSharding: the value of {binding.var.name_hint}",
                    found=found,
                    where=None if binding.span is None else str(binding.span),
                    legal="operators and kernels, in functions that place tensors",
                )
            )
    return _Propagation(mod, func, notes).function()


def _not_followed(value: RelaxExpr) -> str | None:
    """What placements cannot be followed through; None for operators and the like."""
    if isinstance(value, If):
        return "a branch"
    if isinstance(value, Function):
        return "a local function"
    if isinstance(value, Call) and not isinstance(value.op, (Op, ExternFunc)):
        return f"a call of a function: {value}"
    return None


def _is_note(value: RelaxExpr) -> bool:
    return isinstance(value, Call) and isinstance(value.op, Op) and value.op.name == _ANNOTATION


def _is_move(value: RelaxExpr) -> bool:
    return isinstance(value, Call) and isinstance(value.op, Op) and value.op.name == _MOVE


def _tensors(value: RelaxExpr) -> Iterator[tuple[int, TensorStructInfo]]:
    """The tensors of a value: itself, or the fields of a tuple."""
    info = value.struct_info_
    if isinstance(info, TensorStructInfo):
        yield -1, info
    elif isinstance(info, TupleStructInfo):
        for i, field in enumerate(info.fields):
            if isinstance(field, TensorStructInfo):
                yield i, field


def _attrs(note: Binding) -> Any:
    assert isinstance(note.value, Call), "annotations are calls"
    return note.value.attrs


class _Groups:
    """Axes that are cut alike: a union of sets."""

    def __init__(self) -> None:
        self._parent: dict[_Axis, _Axis] = {}

    def find(self, axis: _Axis) -> _Axis:
        """The axis that stands for the group."""
        root = axis
        while self._parent.get(root, root) is not root:
            root = self._parent[root]
        while self._parent.get(axis, axis) is not root and axis != root:
            self._parent[axis], axis = root, self._parent.get(axis, axis)
        return root

    def join(self, a: _Axis, b: _Axis) -> None:
        """Cut two axes alike."""
        a, b = self.find(a), self.find(b)
        if a != b:
            self._parent[b] = a


class _Propagation:
    def __init__(self, mod: IRModule, func: Function, notes: list[Binding]) -> None:
        self._mod = mod
        self._func = func
        self._groups = _Groups()
        for binding in all_bindings(func):
            self._link(binding)
        self._mesh: DeviceMesh = _attrs(notes[0]).device_mesh  # of values without a link
        self._meshes: dict[_Axis, DeviceMesh] = {}
        for binding in notes:
            self._say_mesh(binding)
        self._cuts: dict[tuple[_Axis, int], Binding] = {}
        for binding in notes:
            self._say(binding)
        self._new: dict[RelaxExpr, RelaxExpr] = {}
        self._bb = BlockBuilder(mod)

    def _say_mesh(self, binding: Binding) -> None:
        group = self._groups.find((binding.var, _NO_FIELD, _MESH))
        mesh: DeviceMesh = _attrs(binding).device_mesh
        known = self._meshes.setdefault(group, mesh)
        if known is not mesh:
            raise CheckError(
                message(
                    f"PropagateSharding: the mesh of {binding.var.name_hint}",
                    found=f"{mesh}, and {known} for what it is linked with",
                    legal="one mesh for values that are linked; R.dist.redistribute moves a value",
                )
            )

    # --- which axes are cut alike ---

    def _same(self, a: RelaxExpr, i: int, b: RelaxExpr, j: int, ndim: int) -> None:
        self._one_mesh(a, b)
        for dim in range(max(ndim, 0)):
            self._groups.join((a, i, dim), (b, j, dim))

    def _one_mesh(self, a: RelaxExpr, b: RelaxExpr) -> None:
        self._groups.join((a, _NO_FIELD, _MESH), (b, _NO_FIELD, _MESH))

    def _link(self, binding: Binding) -> None:
        var, value = binding.var, binding.value
        if _is_move(value):
            return
        if isinstance(value, Var) or _is_note(value):
            source = value if isinstance(value, Var) else value.args[0]  # type: ignore[attr-defined]
            for field, info in _tensors(var):
                self._same(source, field, var, field, info.ndim)
        elif isinstance(value, TupleGetItem):
            for _, info in _tensors(var):
                self._same(value.tuple_value, value.index, var, -1, info.ndim)
        elif isinstance(value, Tuple):
            for i, info in _tensors(var):
                self._same(value.fields[i], -1, var, i, info.ndim)
        elif is_call_of(value, "relax.call_tir"):
            self._link_kernel(var, value)
        elif isinstance(value, Call) and isinstance(value.op, Op):
            self._link_operator(var, value)

    def _link_operator(self, var: Var, call: Call) -> None:
        infos = [a.struct_info_ for a in call.args]
        operands = [i if isinstance(i, TensorStructInfo) else None for i in infos]
        for arg in call.args:
            if any(True for _ in _tensors(arg)):
                self._one_mesh(arg, var)
        for field, result in _tensors(var):
            for at, dim, out in axis_links(call, operands, result):
                self._groups.join((call.args[at], -1, dim), (var, field, out))
        assert isinstance(call.op, Op), "the caller looked"
        if is_call_of(call, "relax.matmul"):  # what is summed over is cut alike too
            lhs, rhs = operands[0], operands[1]
            if lhs is not None and rhs is not None and lhs.ndim > 0 and rhs.ndim > 0:
                last = (call.args[0], -1, lhs.ndim - 1)
                self._groups.join(last, (call.args[1], -1, max(rhs.ndim - 2, 0)))

    def _link_kernel(self, var: Var, call: Call) -> None:
        kernel = self._mod.functions.get(call.args[0]) if isinstance(
            call.args[0], GlobalVar
        ) else None
        operands = call.args[1]
        if not isinstance(kernel, PrimFunc) or not isinstance(operands, Tuple):
            return
        results = [(var, field) for field, _ in _tensors(var)]
        tensors = [(f, -1) for f in operands.fields if any(True for _ in _tensors(f))] + results
        for one, _ in tensors:
            self._one_mesh(one, var)
        for axes in linked_buffer_axes(kernel):
            known = [(*tensors[at], dim) for at, dim in axes if at < len(tensors)]
            for other in known[1:]:
                self._groups.join(known[0], other)

    def _say(self, binding: Binding) -> None:
        placement: Placement = _attrs(binding).placement
        for part, spec in enumerate(placement.dim_specs):
            if spec.kind is PlacementSpecKind.kSharding:
                axis = self._groups.find((binding.var, -1, spec.axis))
                self._cuts[(axis, part)] = binding

    # --- the placed function ---

    def _sharded(self, value: RelaxExpr) -> StructInfo | None:
        """The struct info of a value with its placement."""
        info = value.struct_info_
        if isinstance(info, TupleStructInfo):
            fields = [
                self._dtensor(value, i, f) if isinstance(f, TensorStructInfo) else f
                for i, f in enumerate(info.fields)
            ]
            return TupleStructInfo(fields, info.span)
        return self._dtensor(value, -1, info) if isinstance(info, TensorStructInfo) else info

    def _dtensor(self, value: RelaxExpr, field: int, info: TensorStructInfo) -> DTensorStructInfo:
        specs: list[PlacementSpec] = []
        used: set[int] = set()
        group = self._groups.find((value, _NO_FIELD, _MESH))
        mesh = self._meshes.get(group, self._mesh)
        for part in range(len(mesh.shape)):
            found = PlacementSpec.replica()
            for dim in range(max(info.ndim, 0)):
                root = self._groups.find((value, field, dim))
                if dim not in used and (root, part) in self._cuts:
                    found = PlacementSpec.sharding(dim)
                    used.add(dim)
                    break
            specs.append(found)
        return DTensorStructInfo(info, mesh, Placement(specs), info.span)

    def function(self) -> Function:
        """The function on distributed tensors."""
        func = self._func
        params = [self._renamed(param) for param in func.params]
        blocks = [
            type(block)([new for b in block.bindings for new in self._bindings(b)], block.span)
            for block in func.body.blocks
        ]
        result = self._operands(func.body.body)
        body = SeqExpr(blocks, result, func.body.span)
        body.struct_info_ = self._bb.normalize(result).struct_info_
        return Function(params, body, body.struct_info_, func.is_pure, func.attrs, func.span)

    def _renamed(self, old: Var) -> Var:
        new = type(old)(old.vid, self._sharded(old), old.span)
        self._new[old] = new
        return new

    def _operands(self, value: RelaxExpr) -> RelaxExpr:
        def replace(expr: RelaxExpr) -> RelaxExpr | None:
            if isinstance(expr, Constant):
                return Constant(expr.data, self._sharded(expr), expr.span)
            return self._new.get(expr)

        return replace_operands(value, replace)

    def _bindings(self, binding: Binding) -> list[Binding]:
        """The binding on distributed tensors; nothing is left of an annotation but its operand."""
        value = binding.value
        source = value.args[0] if _is_note(value) else None  # type: ignore[attr-defined]
        leaves = isinstance(source, DataflowVar) and not isinstance(binding.var, DataflowVar)
        if isinstance(source, Var) and not leaves:
            self._new[binding.var] = self._new[source]
            return []
        return [self._binding(binding)]

    def _binding(self, binding: Binding) -> Binding:
        old, value = binding.var, binding.value
        if _is_note(value):
            value = value.args[0]  # type: ignore[attr-defined]
        new = self._operands(value)
        var = self._renamed(old)
        if isinstance(new, Call):
            infos: Sequence[StructInfo] = new.sinfo_args
            given = var.struct_info_
            if len(infos) == 1 and given is not None:
                infos = (given,)
            elif infos and isinstance(given, TupleStructInfo):
                infos = given.fields
            new = Call(new.op, new.args, new.attrs, infos, new.span)
            new.struct_info_ = var.struct_info_
        if isinstance(binding, MatchCast):
            return MatchCast(var, new, var.struct_info, binding.span)
        return VarBinding(var, new, binding.span)
