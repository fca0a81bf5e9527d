"""Programs of Relax in Relay, operator by operator."""

from .translate import from_relax as from_relax
