"""Names in C: what is taken, and how a name of TIR becomes one."""

from __future__ import annotations

from typing import Final

_KEYWORDS: Final = """
alignas alignof asm auto bool break case char const constexpr continue default do double else enum
errno extern false float for goto i386 if inline int int16_t int32_t int64_t int8_t intptr_t linux
long main nullptr ptrdiff_t register restrict return short signed size_t sizeof static static_assert
stderr stdin stdout struct switch thread_local true typedef typeof uint16_t uint32_t uint64_t
uint8_t uintptr_t union unix unsigned void volatile while I INFINITY NAN NULL
"""
_LIBRARY: Final = {
    "string.h": """memcpy memmove memset memcmp memchr strlen strcmp strncmp strcpy strncpy strcat
        strchr strstr""",
    "stdlib.h": """abs labs llabs malloc calloc realloc free aligned_alloc rand srand exit abort
        atoi atof getenv qsort""",
    "stdio.h": "printf snprintf puts putchar fflush",
    "time.h": "time clock clock_gettime timespec_get",
    "math.h": "j0 j1 jn y0 y1 yn gamma isnan isinf isfinite signbit",
}
_MATH: Final = """
exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf
erfc pow atan2 hypot fmod sqrt floor ceil trunc round nearbyint rint fabs copysign fma nextafter
ldexp fmin fmax tgamma lgamma cbrt remainder fdim frexp modf logb ilogb scalbn
"""

KEYWORDS: Final = frozenset(_KEYWORDS.split())
# Functions of the C library by the header that declares them.
LIBRARY: Final[dict[str, str]] = {
    **{name: header for header, names in _LIBRARY.items() for name in names.split()},
    **{name + suffix: "math.h" for name in _MATH.split() for suffix in ("", "f")},
}
