"""Questions about Relay programs."""

from . import sparse_conv2d as sparse_conv2d
from . import sparse_dense as sparse_dense
from .analysis import all_dtypes as all_dtypes
from .analysis import all_type_vars as all_type_vars
from .analysis import all_vars as all_vars
from .analysis import bound_type_vars as bound_type_vars
from .analysis import bound_vars as bound_vars
from .analysis import check_constant as check_constant
from .analysis import check_kind as check_kind
from .analysis import detect_feature as detect_feature
from .analysis import free_type_vars as free_type_vars
from .analysis import free_vars as free_vars
from .analysis import get_total_mac_number as get_total_mac_number
from .analysis import list_op_freqs as list_op_freqs
from .analysis import post_order_visit as post_order_visit
from .analysis import unmatched_cases as unmatched_cases
from .analysis import well_formed as well_formed
from .annotated_regions import AnnotatedRegionSet as AnnotatedRegionSet
from .calibration import get_calibration_data as get_calibration_data
from .call_graph import CallGraph as CallGraph
from .count_layers import LayerCounter as LayerCounter
from .count_layers import count_layers as count_layers
from .extract import extract_fused_functions as extract_fused_functions
from .extract import extract_intermdeiate_expr as extract_intermdeiate_expr
from .extract import list_fake_quantized_op_freqs as list_fake_quantized_op_freqs
from .extract import search_fc_transpose as search_fc_transpose
from .feature import Feature as Feature
from .operations_distribution import (
    analyze_operations_distribution as analyze_operations_distribution,
)
from .scopes import check_basic_block_normal_form as check_basic_block_normal_form
