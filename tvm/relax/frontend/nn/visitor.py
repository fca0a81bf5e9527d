"""Networks rewritten: a mutator walks through modules and replaces them."""

from __future__ import annotations

from typing import Any, TypeVar

from . import core

Node = TypeVar("Node", bound=Any)


class Mutator:
    """Visits the attributes of a module; the visit's result replaces the attribute.

    A subclass overrides `visit_module`, `visit_effect`, `visit_param` or `visit_modulelist`. Each
    gets the name of the attribute, as in `layers.0.weight`, and the object.
    """

    def visit_module(self, name: str, node: core.Module) -> Any:
        """A module: by default, its attributes are visited."""
        return self.visit(name, node)

    def visit_effect(self, name: str, node: core.Effect) -> Any:
        """An effect: by default, it stays."""
        return self.visit(name, node)

    def visit_param(self, name: str, node: core.Parameter) -> Any:
        """A parameter: by default, it stays."""
        return self.visit(name, node)

    def visit_modulelist(self, name: str, node: core.ModuleList) -> Any:
        """A list of modules: by default, its items are visited."""
        return self.visit(name, node)

    def visit(self, name: str, node: Any) -> Any:
        """Visit what is in a module or a list of modules; anything else stays."""
        if isinstance(node, core.ModuleList):
            for i, part in enumerate(node):
                node[i] = self._visited(_joined(name, str(i)), part)
        elif isinstance(node, core.Module):
            for key, value in list(node.__dict__.items()):
                setattr(node, key, self._visited(_joined(name, key), value))
        return node

    def _visited(self, name: str, value: Any) -> Any:
        if isinstance(value, core.ModuleList):
            return self.visit_modulelist(name, value)
        if isinstance(value, core.Module):
            return self.visit_module(name, value)
        if isinstance(value, core.Effect):
            return self.visit_effect(name, value)
        if isinstance(value, core.Parameter):
            return self.visit_param(name, value)
        return value


def _joined(name: str, key: str) -> str:
    return key if not name else f"{name}.{key}"
