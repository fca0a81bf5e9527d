// What kernels of LLVM call on a GPU, over the fibers of tests/backend/device/shim.h. Intrinsics
// have the names that tests/backend/llvm_gpu/run.py gives them.
extern "C" {
#define AXIS(A)                                         \
  int32_t on_read_ptx_sreg_tid_##A() { return threadIdx.A; }    \
  int32_t on_read_ptx_sreg_ctaid_##A() { return blockIdx.A; }   \
  int32_t on_workitem_id_##A() { return threadIdx.A; }  \
  int32_t on_workgroup_id_##A() { return blockIdx.A; }
AXIS(x) AXIS(y) AXIS(z)
void on_barrier_cta_sync_aligned_all(int32_t) { block_barrier(); }
void on_bar_warp_sync(int32_t mask) { warp_barrier((uint)mask); }
int32_t on_vote_ballot_sync(int32_t mask, bool holds) { return ballot((uint)mask, holds); }
void on_s_barrier() { block_barrier(); }
void on_wave_barrier() { warp_barrier(); }
int32_t on_activemask() { return -1; }
// PTX ISA, shfl.sync: the operand c has the last lane, and above it the mask of the segments
static int width_of(int32_t c) { return 32 - (c >> 8); }
int32_t on_shfl_sync_idx_i32(int32_t, int32_t v, int32_t lane, int32_t c) {
  int width = width_of(c);
  return shuffled_by(v, current % WARP / width * width + lane % width, width);
}
int32_t on_shfl_sync_up_i32(int32_t, int32_t v, int32_t by, int32_t c) {
  return shuffled_by(v, current % WARP - by, width_of(c));
}
int32_t on_shfl_sync_down_i32(int32_t, int32_t v, int32_t by, int32_t c) {
  return shuffled_by(v, current % WARP + by, width_of(c));
}
int32_t on_mbcnt_lo(int32_t, int32_t more) { return more + std::min(current % WARP, 32); }
int32_t on_mbcnt_hi(int32_t, int32_t more) { return more + std::max(current % WARP - 32, 0); }
int32_t on_ds_bpermute(int32_t address, int32_t v) { return shuffled(v, address / 4 % WARP); }
}
