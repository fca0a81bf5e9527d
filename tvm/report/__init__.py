"""What the compiler did, as data: collected while it works, shown by `tvm view` and `tvm explain`.

    report = tvm.report.collect(mod, "llvm")          # compile, watch, measure
    report.kernels["fused_conv2d_relu"].reason        # why this schedule
    report.save("model.json")                         # and Report.load
    tvm.report.write_page(report, "model.html")       # one page, to be opened by any browser

`Recorder` is the pass instrument behind it, for those who compile by themselves.
"""

from typing import TYPE_CHECKING

from tvm.support.lazy import lazy_dir, lazy_names

_HOMES = {
    "SCHEMA": "tvm.report.words:SCHEMA",
    "Report": "tvm.report.words:Report",
    "ProgressBar": "tvm.support.progress_bar:ProgressBar",
    "Recorder": "tvm.report.recorder:Recorder",
    "collect": "tvm.report.collector:collect",
    "roofs": "tvm.report.roof_programs:roofs",
    "trace_events": "tvm.report.events:trace_events",
    "write_page": "tvm.report.page:write_page",
}

if TYPE_CHECKING:
    from tvm.support.progress_bar import ProgressBar as ProgressBar

    from .collector import collect as collect
    from .events import trace_events as trace_events
    from .page import write_page as write_page
    from .recorder import Recorder as Recorder
    from .roof_programs import roofs as roofs
    from .words import SCHEMA as SCHEMA
    from .words import Report as Report
else:
    __getattr__ = lazy_names(__name__, _HOMES)

__dir__ = lazy_dir(__name__, *_HOMES)
