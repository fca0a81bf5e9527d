"""Arrays of tensors as lists of the prelude: written, read, stacked and split by functions.

    p = Prelude()
    tensor2 = p.get_tensor_ctor("tensor2", "float32")       # one constructor for each rank
    stack = p.get_global_var("tensor_array_stack", "float32")

    StaticTensorArrayOps(p, "float32", [2, 3]).register()   # elements of one shape
    write = p.get_global_var_static("tensor_array_write", "float32", [2, 3])

A definition is Relay text; `<tensor_take>` in it is the name of `tensor_take` for the data type, or
for the shape.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tvm.error import TVMError, message
from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.type_relation import TypeCall

from .adt import Constructor
from .function import Function
from .text_parser import parse_untyped
from .text_printer import type_text
from .ty import Any as AnyDim
from .ty import GlobalTypeVar, TensorType

RANKS = range(7)  # of the tensors that one data type holds


def name_of(canonical: str, dtype: str) -> str:
    """The name of a definition for a data type: `tensor_float32_t`, `tensor2_int32`, ..."""
    return f"tensor_{dtype}_t" if canonical == "tensor_t" else f"{canonical}_{dtype}"


def static_name_of(
    canonical: str,
    dtype: str,
    shape: Sequence[Any],
    batch_dim: int | None = None,
    extra_shapes: Mapping[str, Sequence[Any]] | None = None,
) -> str:
    """The name of a definition for a shape: `tensor_array_float32_2_any`, ..."""
    tail = _joined(shape) or "scalar"
    for kind, extra in (extra_shapes or {}).items():
        tail += f"_{kind}_{_joined(extra)}"
    if canonical == "tensor_t":
        return f"static_tensor_{dtype}_{tail}_t"
    counted = batch_dim not in (None, 1) and canonical not in ("tensor_constructor", "tensor_nil")
    return f"{canonical}_{dtype}_{batch_dim}_{tail}" if counted else f"{canonical}_{dtype}_{tail}"


def _joined(shape: Sequence[Any]) -> str:
    return "_".join("any" if isinstance(dim, AnyDim) else str(dim) for dim in shape)


def _tensor(shape: Sequence[Any], dtype: str) -> str:
    """A tensor type as text."""
    dims = ", ".join("?" if isinstance(dim, AnyDim) else str(dim) for dim in shape)
    return f"Tensor[({dims}{',' if len(shape) == 1 else ''}), {dtype}]"


def _each(ranks: range, clause: Callable[[int], str]) -> str:
    return ",\n".join(clause(rank) for rank in ranks)


# What does not depend on what a tensor is made of.
_ARRAY = """def @<tensor_array>(%n: int32) -> List[<tensor_t>] {
  if (equal(%n, 0)) { Nil } else { Cons(<tensor_nil>, @<tensor_array>(subtract(%n, 1))) }
}"""
_READ = """def @<tensor_array_read>(%array: List[<tensor_t>], %n: int32) -> <tensor_t> {
  @nth(%array, %n)
}"""
_WRITE = """def @<tensor_array_write>(%array: List[<tensor_t>], %n: int32, %v: <tensor_t>)
    -> List[<tensor_t>] {
  @update(%array, %n, %v)
}"""
_SCATTER = """def @<tensor_array_scatter_helper>(
    %array: List[<tensor_t>], %at: int32, %limit: int32, INDICES, %values: List[<tensor_t>]
) -> List[<tensor_t>] {
  if (equal(%at, %limit)) { %array } else {
    let %next = @update(%array, take(%indices, %at), @nth(%values, %at));
    @<tensor_array_scatter_helper>(%next, add(%at, 1), %limit, %indices, %values)
  }
}
def @<tensor_array_scatter>(%array: List[<tensor_t>], INDICES, %values: List[<tensor_t>])
    -> List[<tensor_t>] {
  let %limit = take(shape_of(%indices, dtype="int32"), 0);
  @<tensor_array_scatter_helper>(%array, 0, %limit, %indices, %values)
}"""
# `<part>` is the type of what is written, `<take>` cuts it out of a `<whole>`.
_SPLIT = """def @<tensor_array_split_helper>(
    %array: List[<part>], %value: <whole>, %offset: int32, %at: int32, %limit: int32, LENGTHS
) -> List[<part>] {
  if (equal(%at, %limit)) { %array } else {
    let %end = add(%offset, take(%lengths, %at));
    let %next = @update(%array, %at, @<take>(%value, %offset, %end));
    @<tensor_array_split_helper>(%next, %value, %end, add(%at, 1), %limit, %lengths)
  }
}
def @<tensor_array_split>(%array: List[<part>], %value: <whole>, LENGTHS) -> List[<part>] {
  let %limit = take(shape_of(%lengths, dtype="int32"), 0);
  @<tensor_array_split_helper>(%array, %value, 0, 0, %limit, %lengths)
}"""
# `<joined>` is the type that `<concatenate>` takes and gives, `<none>` its empty value.
_CONCAT = """def @<tensor_array_concat>(%array: List[<joined>]) -> <joined> {
  match (%array) {
    Cons(%first, Nil) => %first,
    Cons(%first, %rest) => @<concatenate>(%first, @<tensor_array_concat>(%rest)),
    Nil => <none>
  }
}"""
_GATHER = """def @<tensor_array_gather_helper>(
    %array: List[<tensor_t>], %found: List[<tensor_t>], %left: int32, %indices: Tensor[(?,), int32]
) -> <stacked> {
  if (equal(%left, 0)) { @<tensor_array_stack>(%found) } else {
    let %at = subtract(%left, 1);
    let %more = Cons(@<tensor_array_read>(%array, take(%indices, %at)), %found);
    @<tensor_array_gather_helper>(%array, %more, %at, %indices)
  }
}
def @<tensor_array_gather>(%array: List[<tensor_t>], %indices: Tensor[(?,), int32]) -> <stacked> {
  let %count = take(shape_of(%indices, dtype="int32"), 0);
  @<tensor_array_gather_helper>(%array, Nil, %count, %indices)
}"""
_RANGE = 'arange(%lower, %upper, 1, dtype="int32")'


class _Definitions(ABC):
    """What both kinds of arrays share: names, and adding functions to the prelude's module."""

    prelude: Any
    dtype: str

    @abstractmethod
    def get_name(self, canonical: str) -> str:
        """The whole name of a definition."""

    def get_global_var(self, canonical: str) -> GlobalVar:
        """A function by its short name."""
        found: GlobalVar = self.prelude.mod.get_global_var(self.get_name(canonical))
        return found

    def get_type(self, canonical: str) -> GlobalTypeVar:
        """A data type by its short name."""
        found: GlobalTypeVar = self.prelude.mod.get_global_type_var(self.get_name(canonical))
        return found

    def get_ctor(self, canonical: str) -> Constructor:
        """A constructor of the tensors by its short name."""
        return constructor_of(
            self.prelude.mod, self.get_name("tensor_t"), self.get_name(canonical)
        )

    def is_cached(self, name: str) -> bool:
        """True when the module has a function of this whole name."""
        return any(var.name_hint == name for var in self.prelude.mod.functions)

    def _define(self, canonical: str, text: str, again: bool = False, **names: str) -> None:
        """Add the function, unless it is there; `names` are words that mean something else."""
        if again or not self.is_cached(self.get_name(canonical)):
            self._add(text, names)

    def _define_type(self, text: str) -> None:
        name = self.get_name("tensor_t")
        if all(var.name_hint != name for var in self.prelude.mod.type_definitions):
            self._add(text, {})

    def _add(self, text: str, names: Mapping[str, str]) -> None:
        spelt = re.sub(r"<(\w+)>", lambda m: names.get(m[1]) or self.get_name(m[1]), text)
        mod = self.prelude.mod
        new = set(re.findall(r"^def @(\w+)", spelt, re.MULTILINE))
        old = {var: func for var, func in mod.functions.items() if var.name_hint not in new}
        known = IRModule(old, type_definitions=mod.type_definitions)
        made = parse_untyped(f'#[version = "0.0.5"]\n{spelt}', "tensor arrays", known)
        for var, data in made.type_definitions.items():
            mod.update_type_def(var, data)
        by_name = {var.name_hint: var for var in mod.functions}
        for var, func in made.functions.items():
            if var.name_hint in new:
                mod.update_func(by_name.get(var.name_hint, var), func)

    def define_tensor_array(self) -> None:
        """`tensor_array(n)`: an array of n elements without a value."""
        self._define("tensor_array", _ARRAY)

    def define_tensor_array_read(self) -> None:
        """`tensor_array_read(array, n)`: the n-th element."""
        self._define("tensor_array_read", _READ)

    def define_tensor_array_write(self) -> None:
        """`tensor_array_write(array, n, value)`: the array with another n-th element."""
        self._define("tensor_array_write", _WRITE)


def constructor_of(mod: IRModule, type_name: str, name: str) -> Constructor:
    """A constructor of a data type by their whole names."""
    _, *made = mod.get_type(type_name)
    for constructor in made:
        if constructor.name_hint == name:
            found: Constructor = constructor
            return found
    known = ", ".join(c.name_hint for c in made)
    raise TVMError(message(f"get_ctor: {name!r} of {type_name}", found="none", legal=known))


class TensorArrayOps(_Definitions):
    """Functions over tensors of one data type and any rank up to six."""

    def __init__(self, prelude: Any, dtype: str) -> None:
        self.prelude = prelude
        self.dtype = dtype

    def get_name(self, canonical: str) -> str:
        """The whole name of a definition."""
        return name_of(canonical, self.dtype)

    def _ranked(self, rank: int) -> str:
        return _tensor([AnyDim()] * rank, self.dtype)

    def define_tensor_adt(self) -> None:
        """The data type: `tensor_nil`, and `tensor0` to `tensor6`, each with a tensor in it."""
        made = _each(RANKS, lambda rank: f"  <tensor{rank}>({self._ranked(rank)})")
        self._define_type(f"type <tensor_t> {{\n  <tensor_nil>,\n{made}\n}}")

    def define_tensor_take(self) -> None:
        """`tensor_take(t, lower, upper)`: a part of the first axis."""
        clauses = _each(RANKS[1:], lambda r: (
            f"    <tensor{r}>(%x) => <tensor{r}>(take(%x, {_RANGE}, axis=0))"))  # fmt: skip
        self._define("tensor_take", (
            "def @<tensor_take>(%t: <tensor_t>, %lower: int32, %upper: int32) -> <tensor_t> {\n"
            f"  match? (%t) {{\n{clauses}\n  }}\n}}"))  # fmt: skip

    def define_tensor_expand_dims(self) -> None:
        """`tensor_expand_dims(t)`: with a first axis of extent 1."""
        clauses = _each(RANKS[:-1], lambda r: (
            f"    <tensor{r}>(%x) => <tensor{r + 1}>(expand_dims(%x, axis=0))"))  # fmt: skip
        self._define("tensor_expand_dims", (
            "def @<tensor_expand_dims>(%t: <tensor_t>) -> <tensor_t> {\n"
            f"  match? (%t) {{\n{clauses}\n  }}\n}}"))  # fmt: skip

    def define_tensor_concat(self) -> None:
        """`tensor_concatenate(a, b)`: two tensors of one rank, joined along the first axis."""
        clauses = _each(RANKS[1:], lambda r: (
            f"    <tensor{r}>(%x) => match? (%b) {{\n"
            f"      <tensor{r}>(%y) => <tensor{r}>(concatenate((%x, %y)))\n    }}"))  # fmt: skip
        self._define("tensor_concatenate", (
            "def @<tensor_concatenate>(%a: <tensor_t>, %b: <tensor_t>) -> <tensor_t> {\n"
            f"  match? (%a) {{\n{clauses}\n  }}\n}}"))  # fmt: skip

    def _define_unstack(self, rank: int) -> None:
        whole = self._ranked(rank)
        self._define(f"tensor_array_unstack_tensor{rank}", f"""
def @<tensor_array_unstack_tensor{rank}_helper>(%at: int32, %up: int32, %t: {whole})
    -> List[<tensor_t>] {{
  if (equal(%at, %up)) {{ Nil }} else {{
    Cons(<tensor{rank - 1}>(take(%t, %at, axis=0)),
         @<tensor_array_unstack_tensor{rank}_helper>(add(%at, 1), %up, %t))
  }}
}}
def @<tensor_array_unstack_tensor{rank}>(%t: {whole}) -> List[<tensor_t>] {{
  let %up = take(shape_of(%t, dtype="int32"), 0);
  @<tensor_array_unstack_tensor{rank}_helper>(0, %up, %t)
}}""")

    def define_tensor_array_unstack_tensor1(self) -> None:
        """The scalars of a vector as an array."""
        self._define_unstack(1)

    def define_tensor_array_unstack_tensor2(self) -> None:
        """The rows of a matrix as an array."""
        self._define_unstack(2)

    def define_tensor_array_unstack_tensor3(self) -> None:
        """What is along the first of three axes as an array."""
        self._define_unstack(3)

    def define_tensor_array_unstack_tensor4(self) -> None:
        """What is along the first of four axes as an array."""
        self._define_unstack(4)

    def define_tensor_array_unstack_tensor5(self) -> None:
        """What is along the first of five axes as an array."""
        self._define_unstack(5)

    def define_tensor_array_unstack_tensor6(self) -> None:
        """What is along the first of six axes as an array."""
        self._define_unstack(6)

    def define_tensor_array_scatter(self) -> None:
        """`tensor_array_scatter(array, indices, values)`: values written at indices."""
        text = _SCATTER.replace("INDICES", "%indices: Tensor[(?,), int32]")
        self._define("tensor_array_scatter", text)

    def define_tensor_array_split(self) -> None:
        """`tensor_array_split(array, value, lengths)`: parts of these lengths written in order."""
        whole = self.get_name("tensor_t")
        text = _SPLIT.replace("LENGTHS", "%lengths: Tensor[(?,), int32]")
        take = self.get_name("tensor_take")
        self._define("tensor_array_split", text, part=whole, whole=whole, take=take)

    def define_tensor_array_concat(self) -> None:
        """`tensor_array_concat(array)`: all elements joined along their first axis."""
        self._define("tensor_array_concat", _CONCAT, joined=self.get_name("tensor_t"),
                     concatenate=self.get_name("tensor_concatenate"),
                     none=self.get_name("tensor_nil"))  # fmt: skip

    def define_tensor_array_stack(self) -> None:
        """`tensor_array_stack(array)`: all elements along a new first axis."""
        self._define("tensor_array_stack", """
def @<tensor_array_stack>(%array: List[<tensor_t>]) -> <tensor_t> {
  let %wide = @map(@<tensor_expand_dims>, %array);
  @foldl(@<tensor_concatenate>, @hd(%wide), @tl(%wide))
}""")

    def define_tensor_array_gather(self) -> None:
        """`tensor_array_gather(array, indices)`: the elements at indices, stacked."""
        self._define("tensor_array_gather", _GATHER, stacked=self.get_name("tensor_t"))

    def register(self) -> None:
        """Add all definitions to the module."""
        self.define_tensor_adt()
        self.define_tensor_take()
        self.define_tensor_expand_dims()
        self.define_tensor_concat()
        self.define_tensor_array()
        self.define_tensor_array_read()
        self.define_tensor_array_write()
        for rank in RANKS[1:]:
            self._define_unstack(rank)
        self.define_tensor_array_scatter()
        self.define_tensor_array_split()
        self.define_tensor_array_concat()
        self.define_tensor_array_stack()
        self.define_tensor_array_gather()


class StaticTensorArrayOps(_Definitions):
    """Functions over tensors of one data type and one shape, in which `Any` may stand.

    `batch_dim` is the number of elements of an array, where it is known.
    """

    def __init__(
        self, prelude: Any, dtype: str, shape: Sequence[Any], batch_dim: int | None = None
    ) -> None:
        self.prelude = prelude
        self.dtype = dtype
        self.shape = shape
        self.batch_dim = batch_dim

    def get_name(
        self, canonical: str, extra_shapes: Mapping[str, Sequence[Any]] | None = None
    ) -> str:
        """The whole name of a definition."""
        return static_name_of(canonical, self.dtype, self.shape, self.batch_dim, extra_shapes)

    def _of_shape(self, shape: Sequence[Any]) -> StaticTensorArrayOps:
        """The definitions for another shape, of which the type is there."""
        made = StaticTensorArrayOps(self.prelude, self.dtype, shape)
        made.define_tensor_adt()
        return made

    def _of_rows(self) -> StaticTensorArrayOps:
        """Those for tensors that differ in the number of their rows."""
        return self._of_shape([AnyDim(), *self.shape[1:]])

    def define_tensor_adt(self) -> None:
        """The data type: `tensor_constructor` with a tensor of the shape, and `tensor_nil`."""
        inside = _tensor(self.shape, self.dtype)
        self._define_type(f"type <tensor_t> {{ <tensor_constructor>({inside}), <tensor_nil> }}")

    def define_tensor_take(self) -> None:
        """`tensor_take(t, lower, upper)`: a part of the first axis."""
        if len(self.shape) == 0:
            return  # scalars have no rows
        rows = self._of_rows()
        self._define("tensor_take", f"""
def @<tensor_take>(%t: <tensor_t>, %lower: int32, %upper: int32) -> <rows> {{
  match? (%t) {{ <tensor_constructor>(%x) => <make>(take(%x, {_RANGE}, axis=0)) }}
}}""", rows=rows.get_name("tensor_t"), make=rows.get_name("tensor_constructor"))  # fmt: skip

    def define_tensor_concatenate(self) -> None:
        """`tensor_concatenate(a, b)`: two tensors joined along the first axis."""
        if len(self.shape) == 0:
            return
        rows = self._of_rows()
        self._define("tensor_concatenate", """
def @<tensor_concatenate>(%a: <tensor_t>, %b: <tensor_t>) -> <rows> {
  match? (%a) {
    <tensor_constructor>(%x) => match? (%b) {
      <tensor_constructor>(%y) => <make>(concatenate((%x, %y)))
    }
  }
}""", rows=rows.get_name("tensor_t"), make=rows.get_name("tensor_constructor"))  # fmt: skip

    def define_tensor_expand_dims(self) -> None:
        """`tensor_expand_dims(t)`: with a new first axis, of any extent to what joins them."""
        wide = self._of_shape([AnyDim(), *self.shape])
        self._define("tensor_expand_dims", """
def @<tensor_expand_dims>(%t: <tensor_t>) -> <wide> {
  match? (%t) { <tensor_constructor>(%x) => <make>(expand_dims(%x, axis=0)) }
}""", wide=wide.get_name("tensor_t"), make=wide.get_name("tensor_constructor"))  # fmt: skip

    def define_tensor_array_unstack(self) -> None:
        """`tensor_array_unstack(tensor)`: what is along the first axis as an array."""
        if len(self.shape) == 0:
            return
        row, whole = self._of_shape(self.shape[1:]), _tensor(self.shape, self.dtype)
        self._define("tensor_array_unstack", f"""
def @<tensor_array_unstack_helper>(%at: int32, %up: int32, %t: {whole}) -> List[<row>] {{
  if (equal(%at, %up)) {{ Nil }} else {{
    Cons(<make>(take(%t, %at, axis=0)), @<tensor_array_unstack_helper>(add(%at, 1), %up, %t))
  }}
}}
def @<tensor_array_unstack>(%t: {whole}) -> List[<row>] {{
  let %up = take(shape_of(%t, dtype="int32"), 0);
  @<tensor_array_unstack_helper>(0, %up, %t)
}}""", row=row.get_name("tensor_t"), make=row.get_name("tensor_constructor"))  # fmt: skip

    def define_tensor_array_scatter(
        self, indices_shape: Sequence[Any] | None = None, force_update: bool = False
    ) -> None:
        """`tensor_array_scatter(array, indices, values)`: values written at indices."""
        indices = _tensor(indices_shape if indices_shape is not None else [AnyDim()], "int32")
        text = _SCATTER.replace("INDICES", f"%indices: {indices}")
        self._define("tensor_array_scatter", text, force_update)

    def define_tensor_array_split(
        self,
        value_shape: Sequence[Any] | None = None,
        lengths_shape: Sequence[Any] | None = None,
        force_update: bool = False,
    ) -> None:
        """`tensor_array_split(array, value, lengths)`: rows of these numbers written in order."""
        if len(self.shape) == 0:
            return
        part = self._of_rows()
        whole = self._of_shape(self.shape if value_shape is None else value_shape)
        whole.define_tensor_take()
        lengths = _tensor(lengths_shape if lengths_shape is not None else [AnyDim()], "int32")
        text = _SPLIT.replace("LENGTHS", f"%lengths: {lengths}")
        names = {"part": part.get_name("tensor_t"), "whole": whole.get_name("tensor_t")}
        take = whole.get_name("tensor_take")
        self._define("tensor_array_split", text, force_update, take=take, **names)

    def define_tensor_array_concat(self) -> None:
        """`tensor_array_concat(array)`: all elements joined along their first axis."""
        if len(self.shape) == 0:
            return
        rows = self._of_rows()
        rows.define_tensor_concatenate()
        self._define("tensor_array_concat", _CONCAT, joined=rows.get_name("tensor_t"),
                     concatenate=rows.get_name("tensor_concatenate"),
                     none=rows.get_name("tensor_nil"))  # fmt: skip

    def _stacked(self) -> StaticTensorArrayOps:
        batch = AnyDim() if self.batch_dim is None else self.batch_dim
        return self._of_shape([batch, *self.shape])

    def define_tensor_array_stack(self) -> None:
        """`tensor_array_stack(array)`: all elements along a new first axis."""
        self.define_tensor_expand_dims()
        wide = self._of_shape([AnyDim(), *self.shape])
        wide.define_tensor_concatenate()
        stacked = self._stacked()
        body = "@foldl(@<concatenate>, @hd(%wide), @tl(%wide))"
        if self.batch_dim is not None:  # as many as the result's type says
            shape = ", ".join(["-1" if isinstance(d, AnyDim) else str(d) for d in stacked.shape])
            body = (f"match? ({body}) {{\n    <many>(%x) => <make>(reshape(%x, newshape=[{shape}]))"
                    "\n  }")  # fmt: skip
        self._define("tensor_array_stack", f"""
def @<tensor_array_stack>(%array: List[<tensor_t>]) -> <stacked> {{
  let %wide = @map(@<tensor_expand_dims>, %array);
  {body}
}}""", stacked=stacked.get_name("tensor_t"), many=wide.get_name("tensor_constructor"),
            concatenate=wide.get_name("tensor_concatenate"),
            make=stacked.get_name("tensor_constructor"))  # fmt: skip

    def define_tensor_array_gather(self) -> None:
        """`tensor_array_gather(array, indices)`: the elements at indices, stacked."""
        self.define_tensor_array_stack()
        stacked = self._stacked()
        self._define("tensor_array_gather", _GATHER, stacked=stacked.get_name("tensor_t"))

    def define_tensor_get_data(self) -> None:
        """`tensor_get_data(t)`: the tensor in it."""
        inside = _tensor(self.shape, self.dtype)
        self._define("tensor_get_data", f"""
def @<tensor_get_data>(%t: <tensor_t>) -> {inside} {{
  match? (%t) {{ <tensor_constructor>(%x) => %x }}
}}""")

    def register(self) -> None:
        """Add all definitions to the module."""
        self.define_tensor_adt()
        self.define_tensor_take()
        self.define_tensor_expand_dims()
        self.define_tensor_concatenate()
        self.define_tensor_array()
        self.define_tensor_array_read()
        self.define_tensor_array_write()
        self.define_tensor_array_unstack()
        self.define_tensor_array_scatter()
        self.define_tensor_array_split()
        self.define_tensor_array_concat()
        self.define_tensor_array_stack()
        self.define_tensor_array_gather()
        self.define_tensor_get_data()


def get_tensor_array_shape(expr: RelaxExpr, dtype: str, prelude: Any) -> tuple[Any, ...] | None:
    """The shape of the elements of an array, if its type says one."""
    from .transform.infer_type import InferType

    mod = prelude.mod.clone()
    mod["main"] = Function([], expr)
    main = InferType()(mod)["main"]
    assert isinstance(main, Function), "main is a function of Relay"
    found: Any = main.body.checked_type
    if not isinstance(found, TypeCall) or not found.args:
        what = message("get_tensor_array_shape", found=type_text(found), legal="a list of tensors")
        raise TVMError(what)
    element = found.args[0]
    owner = element.func if isinstance(element, TypeCall) else element
    name = getattr(owner, "name_hint", "")
    if not name.startswith(f"static_tensor_{dtype}_"):
        return None
    tensor = next(c for c in mod.get_type(name)[1:] if c.inputs).inputs[0]
    assert isinstance(tensor, TensorType), "a constructor of tensors takes one"
    return tuple(tensor.shape)
