"""A door: questions about x86 CPUs."""

from tvm.target.codegen import target_has_features as target_has_features
from tvm.target.x86 import get_simd_32bit_lanes as get_simd_32bit_lanes
