"""A network of two products, of which the tests of the passes show each form."""

from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T


@I.ir_module
class Whole:
    """The first product is cut by columns, the second by what it sums over."""

    I.module_global_infos({"mesh": [R.device_mesh((2,), I.Range(0, 2))]})

    @T.prim_func(private=True)
    def matmul(A: T.Buffer((T.int64(8), T.int64(8)), "float32"),
               B: T.Buffer((T.int64(8), T.int64(8)), "float32"),
               C: T.Buffer((T.int64(8), T.int64(8)), "float32")):
        for i, j, k in T.grid(T.int64(8), T.int64(8), T.int64(8)):
            with T.block("b"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

    @R.function
    def main(x: R.Tensor((8, 8), "float32"), w1: R.Tensor((8, 8), "float32"),
             w2: R.Tensor((8, 8), "float32")) -> R.Tensor((8, 8), "float32"):
        cls = Whole
        a = R.call_tir(cls.matmul, (x, w1), R.Tensor((8, 8), "float32"))
        b = R.dist.annotate_sharding(a, device_mesh="mesh[0]", placement="S[1]")
        c = R.call_tir(cls.matmul, (b, w2), R.Tensor((8, 8), "float32"))
        return c


@I.ir_module
class Placed:
    """Every tensor has its place."""

    I.module_global_infos({"mesh": [R.device_mesh((2,), I.Range(0, 2))]})

    @T.prim_func(private=True)
    def matmul(A: T.Buffer((T.int64(8), T.int64(8)), "float32"),
               B: T.Buffer((T.int64(8), T.int64(8)), "float32"),
               C: T.Buffer((T.int64(8), T.int64(8)), "float32")):
        for i, j, k in T.grid(T.int64(8), T.int64(8), T.int64(8)):
            with T.block("b"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

    @R.function
    def main(x: R.DTensor((8, 8), "float32", "mesh[0]", "R"),
             w1: R.DTensor((8, 8), "float32", "mesh[0]", "S[1]"),
             w2: R.DTensor((8, 8), "float32", "mesh[0]", "S[0]")
             ) -> R.DTensor((8, 8), "float32", "mesh[0]", "R"):
        cls = Placed
        a = R.dist.call_tir(cls.matmul, (x, w1),
                            R.DTensor((8, 8), "float32", "mesh[0]", "S[1]"))
        c = R.dist.call_tir(cls.matmul, (a, w2), R.DTensor((8, 8), "float32", "mesh[0]", "R"))
        return c


@I.ir_module
class Local:
    """Kernels take the pieces of one worker; parts of a sum are added."""

    I.module_global_infos({"mesh": [R.device_mesh((2,), I.Range(0, 2))]})

    @T.prim_func(private=True)
    def matmul(A: T.Buffer((T.int64(8), T.int64(8)), "float32"),
               B: T.Buffer((T.int64(8), T.int64(8)), "float32"),
               C: T.Buffer((T.int64(8), T.int64(8)), "float32")):
        for i, j, k in T.grid(T.int64(8), T.int64(8), T.int64(8)):
            with T.block("b"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

    @T.prim_func(private=True)
    def matmul1(A: T.Buffer((T.int64(8), T.int64(8)), "float32"),
                B: T.Buffer((T.int64(8), T.int64(4)), "float32"),
                C: T.Buffer((T.int64(8), T.int64(4)), "float32")):
        for i, j, k in T.grid(T.int64(8), T.int64(4), T.int64(8)):
            with T.block("b"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

    @T.prim_func(private=True)
    def matmul2(A: T.Buffer((T.int64(8), T.int64(4)), "float32"),
                B: T.Buffer((T.int64(4), T.int64(8)), "float32"),
                C: T.Buffer((T.int64(8), T.int64(8)), "float32")):
        for i, j, k in T.grid(T.int64(8), T.int64(8), T.int64(4)):
            with T.block("b"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

    @R.function
    def main(x: R.DTensor((8, 8), "float32", "mesh[0]", "R"),
             w1: R.DTensor((8, 8), "float32", "mesh[0]", "S[1]"),
             w2: R.DTensor((8, 8), "float32", "mesh[0]", "S[0]")
             ) -> R.DTensor((8, 8), "float32", "mesh[0]", "R"):
        cls = Local
        a = R.dist.call_tir_local_view(cls.matmul1, (x, w1),
                                       R.DTensor((8, 8), "float32", "mesh[0]", "S[1]"))
        gv = R.dist.call_tir_local_view(cls.matmul2, (a, w2),
                                        R.DTensor((8, 8), "float32", "mesh[0]", "R"))
        c = R.ccl.allreduce(gv, op_type="sum", in_group=False)
        return c
