"""The meaning of TIR in numpy, for programs at every stage of lowering.

`run(func, a, b, c)` evaluates a PrimFunc (or the `main` of a module) and writes into its output
arrays; `evaluate(expr, {x: 3})` gives the value of an expression. `with vscale(2):` sets what a
machine decides. A function is turned into Python
closures once; loop nests that store each element independently run as whole numpy operations
(`runs_at_once` says whether a function is made of these alone).
"""

from .nest import runs_at_once
from .run import evaluate, is_packed, run, run_packed
from .values import vscale

__all__ = ["evaluate", "is_packed", "run", "run_packed", "runs_at_once", "vscale"]
