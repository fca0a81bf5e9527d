"""Where values are, as far as it is known: domains of devices, and what makes two of them one.

A tensor, or whatever holds tensors, has one device; a function has one for each parameter and one
for its result. They are `VirtualDevice`s whose parts may be open; two are made one by
taking each part from the one that knows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tvm.error import DiagnosticError, message
from tvm.ir.expr import RelaxExpr
from tvm.ir.op import Op
from tvm.ir.type import Type
from tvm.relay.adt import Constructor
from tvm.relay.expr import Call, RelayExpr
from tvm.relay.ty import FuncType
from tvm.target.compilation_config import CompilationConfig
from tvm.target.virtual_device import VirtualDevice

OPEN: Final = VirtualDevice()


class Domain:
    """The device of a value; of a function (`parts` not empty) its parameters' and its result's."""

    __slots__ = ("_same", "parts", "device")

    def __init__(self, device: VirtualDevice = OPEN, parts: Sequence[Domain] = ()) -> None:
        self.device = device
        self.parts: Final = tuple(parts)
        self._same: Domain | None = None

    def find(self) -> Domain:
        """The domain that stands for all that were made one with this."""
        at = self
        while at._same is not None:
            at = at._same
        return at

    def become(self, other: Domain) -> None:
        """Be one with another from now on."""
        self._same = other

    def leaves(self) -> list[Domain]:
        """The devices in it, the result's last."""
        at = self.find()
        return [leaf for part in at.parts for leaf in part.leaves()] if at.parts else [at]

    @property
    def result(self) -> VirtualDevice:
        """Where a value is: of a function, what it gives."""
        at = self.find()
        while at.parts:
            at = at.parts[-1].find()
        return at.device

    @property
    def is_known(self) -> bool:
        """True when nothing in it is open."""
        return all(is_full(leaf.device) for leaf in self.leaves())


def is_full(device: VirtualDevice) -> bool:
    """True when a device and its target are known."""
    return device.device_type_int >= 0 and device.target is not None


def joined(a: VirtualDevice, b: VirtualDevice) -> VirtualDevice | None:
    """The device that knows what either knows; None where they contradict each other."""
    kind = a.device_type_int if a.device_type_int >= 0 else b.device_type_int
    if b.device_type_int >= 0 and kind != b.device_type_int:
        return None
    index = a.virtual_device_id if a.virtual_device_id >= 0 else b.virtual_device_id
    if b.virtual_device_id >= 0 and index != b.virtual_device_id:
        return None
    if a.target is not None and b.target is not None and str(a.target) != str(b.target):
        return None
    if a.memory_scope and b.memory_scope and a.memory_scope != b.memory_scope:
        return None
    parts = {
        "device_type_int": kind, "virtual_device_id": index,
        "target": a.target if a.target is not None else b.target,
        "memory_scope": a.memory_scope or b.memory_scope,
    }  # fmt: skip
    return VirtualDevice.from_fields({k: v for k, v in parts.items() if v is not None})


class Domains:
    """The domain of each expression of a module."""

    def __init__(self, config: CompilationConfig) -> None:
        self.config: Final = config
        self.host: Final = self.at(config.host_virtual_device)
        self._of: dict[int, Domain] = {}
        self._callees: dict[int, Domain] = {}
        self._kept: list[object] = []

    # --- what an expression has ---

    def at(self, device: VirtualDevice) -> Domain:
        """A domain with one device, whose target is the one of the configuration."""
        return Domain(self.config.canonical_virtual_device(device))

    def fresh(self, found: Type | None) -> Domain:
        """An open domain for a type."""
        if isinstance(found, FuncType):
            return Domain(parts=[self.fresh(t) for t in (*found.arg_types, found.ret_type)])
        return Domain()

    def on_device(self, found: Type | None, device: VirtualDevice) -> Domain:
        """A domain for a type, with its value (what a function gives) on a device."""
        if not isinstance(found, FuncType):
            return self.at(device)
        params = [self.fresh(t) for t in found.arg_types]
        return Domain(parts=[*params, self.on_device(found.ret_type, device)])

    def of(self, expr: RelaxExpr) -> Domain:
        """The domain of an expression; of a variable, that of all its uses."""
        key = id(getattr(expr, "vid", expr))
        if key not in self._of:
            self._kept.append(expr)
            self._of[key] = self.fresh(getattr(expr, "checked_type_", None))
        return self._of[key].find()

    def callee(self, call: Call) -> Domain:
        """The domain of what is called: of an operator, a new one for each call."""
        if not isinstance(call.op, (Op, Constructor)):
            return self.of(call.op)
        if id(call) not in self._callees:
            self._kept.append(call)
            self._callees[id(call)] = self._operator(call)
        return self._callees[id(call)].find()

    def _operator(self, call: Call) -> Domain:
        name = call.op.name if isinstance(call.op, Op) else ""
        attrs: Any = call.attrs
        if name == "on_device":
            body, device = call.args[0], attrs.virtual_device
            found = getattr(body, "checked_type_", None)
            sides = [attrs.constrain_body, attrs.constrain_result]
            return Domain(
                parts=[self.on_device(found, device) if s else self.fresh(found) for s in sides]
            )
        if name == "device_copy":
            found = getattr(call.args[0], "checked_type_", None)
            ends = (attrs.src_virtual_device, attrs.dst_virtual_device)
            return Domain(parts=[self.on_device(found, device) for device in ends])
        if name == "memory.alloc_storage":
            device = self.at(attrs.virtual_device or OPEN)
            return Domain(parts=[*[self.host] * len(call.args), device])
        if name == "memory.alloc_tensor":
            own = Domain()
            return Domain(parts=[own, self.host, self.host, own])
        if name in ("shape_of", "vm.shape_of"):
            return Domain(parts=[Domain(), self.host])
        if name == "vm.reshape_tensor":
            own = Domain()
            return Domain(parts=[own, self.host, own])
        own = Domain()  # an operator works where its operands are
        return Domain(parts=[own] * (len(call.args) + 1))

    # --- making them one ---

    def unify(self, a: Domain, b: Domain, where: RelaxExpr) -> None:
        """Two domains that must be the same."""
        stack = [(a, b)]
        while stack:
            a, b = (side.find() for side in stack.pop())
            if a is b:
                continue
            if not a.parts and not b.parts:
                self._join(a, b, where)
            elif len(a.parts) == len(b.parts):
                a.become(b)
                stack.extend(zip(a.parts, b.parts))
            else:  # a function in a tuple, say: all of it is on the one device
                whole, plain = (a, b) if a.parts else (b, a)
                stack.extend((leaf, plain) for leaf in whole.leaves())

    def _join(self, a: Domain, b: Domain, where: RelaxExpr) -> None:
        device = joined(a.device, b.device)
        if device is None:
            text = where.astext(False) if isinstance(where, RelayExpr) else str(where)
            raise DiagnosticError(
                message(
                    "PlanDevices: a value is to be on two devices",
                    found=f"{a.device} and {b.device}",
                    where=text if len(text) < 400 else text[:400] + " ...",
                    legal="relay.op.annotation.on_device around it, or relay.device_copy",
                )
            )
        b.device = self.config.canonical_virtual_device(device)
        a.become(b)

    def same(self, a: RelaxExpr, b: RelaxExpr) -> None:
        """Two expressions are on one device."""
        self.unify(self.of(a), self.of(b), b)

    # --- what nobody says ---

    def default(self, domain: Domain, device: VirtualDevice) -> None:
        """Give every unconstrained leaf this device."""
        for leaf in domain.leaves():
            if not is_full(leaf.device):
                found = joined(leaf.device, device)
                leaf.device = device if found is None else found

    def default_result_then_params(self, domain: Domain, device: VirtualDevice) -> None:
        """A function's result is on `device` if nothing says where, and parameters with it."""
        at = domain.find()
        if not at.parts:
            self.default(at, device)
            return
        *params, result = at.parts
        self.default_result_then_params(result, device)
        for param in params:
            self.default(param, at.result)
