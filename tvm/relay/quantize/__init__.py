"""Networks of floats as networks of integers, with scales from a few of their inputs.

    with relay.quantize.qconfig(calibrate_mode="global_scale", global_scale=8.0):
        mod = relay.quantize.quantize(mod, params)
"""

from . import _annotate as _annotate
from . import _calibrate as _calibrate
from . import _partition as _partition
from . import _partition_conversions as _partition_conversions
from . import _realize as _realize
from ._annotate import register_annotate_function as register_annotate_function
from ._calibrate import calibrate as calibrate
from ._partition import register_partition_function as register_partition_function
from ._partition_conversions import partition_conversions as partition_conversions
from .kl_divergence import _find_scale_by_kl as _find_scale_by_kl
from .quantize import QAnnotateKind as QAnnotateKind
from .quantize import QConfig as QConfig
from .quantize import QuantizeContext as QuantizeContext
from .quantize import annotate as annotate
from .quantize import current_qconfig as current_qconfig
from .quantize import kind2str as kind2str
from .quantize import partition as partition
from .quantize import prerequisite_optimize as prerequisite_optimize
from .quantize import qconfig as qconfig
from .quantize import quantize as quantize
from .quantize import quantize_context as quantize_context
from .quantize import realize as realize
