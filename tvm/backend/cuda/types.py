"""The names of types in CUDA C++."""

from __future__ import annotations

from typing import Final

TYPES: Final[dict[str, str]] = {
    "bool": "bool",
    "int8": "signed char", "int16": "short", "int32": "int", "int64": "int64_t",
    "uint8": "uchar", "uint16": "ushort", "uint32": "uint", "uint64": "uint64_t",
    "float16": "half", "bfloat16": "__nv_bfloat16", "float32": "float", "float64": "double",
    "float8_e4m3fn": "__nv_fp8_e4m3", "float8_e5m2": "__nv_fp8_e5m2",
    "float8_e8m0fnu": "__nv_fp8_e8m0",
    "handle": "void*", "void": "void",
}  # fmt: skip
HEADERS: Final[dict[str, str]] = {
    "float16": "cuda_fp16.h", "bfloat16": "cuda_bf16.h", "float8_e4m3fn": "cuda_fp8.h",
    "float8_e5m2": "cuda_fp8.h", "float8_e8m0fnu": "cuda_fp8.h",
}  # fmt: skip
# Types that the language has vectors of, of two to four lanes: float4 is made by make_float4.
VECTOR_BASES: Final[dict[str, str]] = {
    "int8": "char", "int16": "short", "int32": "int", "int64": "longlong",
    "uint8": "uchar", "uint16": "ushort", "uint32": "uint", "uint64": "ulonglong",
    "float32": "float", "float64": "double",
}  # fmt: skip
# Vectors of the others, which lie in memory as the language's own would.
LANES: Final = """\
template <typename T, int N> struct __align__(sizeof(T) * N) lanes {
  T s[N];
};"""
KEYWORDS: Final = """
alignas alignof and asm auto bitand bitor bool break case catch char char8_t class compl const
constexpr const_cast continue decltype default delete do double dynamic_cast else enum explicit
export extern false float for friend goto half half2 if inline int int64_t lanes long main mutable
namespace new noexcept not nullptr nvcuda operator or private protected public register
reinterpret_cast return short signed sizeof static static_assert static_cast struct switch
template this thread_local throw true try typedef typeid typename uchar uint uint64_t ulonglong
union unsigned ushort using virtual void volatile wchar_t while xor min max blockIdx threadIdx
blockDim gridDim warpSize INFINITY NAN int8_t int16_t int32_t uint8_t uint16_t uint32_t abs exp
log sin cos tan sqrt pow floor ceil round trunc erf fma y0 y1 yn j0 j1 jn
"""
