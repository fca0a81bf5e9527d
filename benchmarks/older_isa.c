/* CPUID without AVX-512, VNNI and AMX, for a process that has this library preloaded.
 *
 * Linux lets a process have its CPUID instructions fault (arch_prctl with ARCH_SET_CPUID, where the
 * processor can). The handler executes the instruction, clears the bits of the instruction sets that
 * are to be missing (Intel 64 Architectures Software Developer's Manual, volume 2A, CPUID leaf 7),
 * and goes on behind it. Other faults reach the handler that the program installs.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { SET_CPUID = 0x1012 };

/* leaf 7, subleaf 0: AVX512 F DQ IFMA PF ER CD BW VL; VBMI VBMI2 VNNI BITALG VPOPCNTDQ;
 * 4VNNIW 4FMAPS VP2INTERSECT AMX-BF16 FP16 AMX-TILE AMX-INT8 */
static const uint32_t EBX = 1u << 16 | 1u << 17 | 1u << 21 | 1u << 26 | 1u << 27 | 1u << 28 |
                            1u << 30 | 1u << 31;
static const uint32_t ECX = 1u << 1 | 1u << 6 | 1u << 11 | 1u << 12 | 1u << 14;
static const uint32_t EDX = 1u << 2 | 1u << 3 | 1u << 8 | 1u << 22 | 1u << 23 | 1u << 24 | 1u << 25;
/* subleaf 1: AVX-VNNI, AVX512-BF16, AMX-FP16, AVX-IFMA; AVX-VNNI-INT8, AVX-NE-CONVERT,
 * AVX-VNNI-INT16, AVX10 */
static const uint32_t EAX1 = 1u << 4 | 1u << 5 | 1u << 21 | 1u << 23;
static const uint32_t EDX1 = 1u << 4 | 1u << 5 | 1u << 10 | 1u << 19;

typedef int (*set_action)(int, const struct sigaction *, struct sigaction *);
static struct sigaction theirs; /* what the program wants of other faults */

static set_action next(void) {
  static set_action found;
  if (!found) found = (set_action)dlsym(RTLD_NEXT, "sigaction");
  return found;
}

static long let_cpuid(int on) { return syscall(SYS_arch_prctl, SET_CPUID, on); }

static void on_fault(int signal_number, siginfo_t *info, void *context) {
  greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
  const unsigned char *at = (const unsigned char *)registers[REG_RIP];
  if (info->si_code > 0 && at && at[0] == 0x0f && at[1] == 0xa2) {
    uint32_t a = registers[REG_RAX], c = registers[REG_RCX], leaf = a, subleaf = c, b, d;
    let_cpuid(1);
    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    let_cpuid(0);
    if (leaf == 7 && subleaf == 0) b &= ~EBX, c &= ~ECX, d &= ~EDX;
    if (leaf == 7 && subleaf == 1) a &= ~EAX1, d &= ~EDX1;
    registers[REG_RAX] = a, registers[REG_RBX] = b;
    registers[REG_RCX] = c, registers[REG_RDX] = d;
    registers[REG_RIP] += 2;
  } else if (theirs.sa_flags & SA_SIGINFO && theirs.sa_sigaction) {
    theirs.sa_sigaction(signal_number, info, context);
  } else if (theirs.sa_handler != SIG_DFL && theirs.sa_handler != SIG_IGN) {
    theirs.sa_handler(signal_number);
  } else {
    struct sigaction usual;
    memset(&usual, 0, sizeof usual);
    usual.sa_handler = SIG_DFL;
    next()(SIGSEGV, &usual, 0);
  }
}

int sigaction(int number, const struct sigaction *wanted, struct sigaction *before) {
  if (number != SIGSEGV) return next()(number, wanted, before);
  if (before) *before = theirs;
  if (wanted) theirs = *wanted;
  return 0;
}

sighandler_t signal(int number, sighandler_t handler) {
  struct sigaction wanted, before;
  memset(&wanted, 0, sizeof wanted);
  wanted.sa_handler = handler;
  wanted.sa_flags = SA_RESTART;
  return sigaction(number, &wanted, &before) ? SIG_ERR : before.sa_handler;
}

__attribute__((constructor)) static void start(void) {
  struct sigaction own;
  memset(&own, 0, sizeof own);
  own.sa_sigaction = on_fault;
  own.sa_flags = SA_SIGINFO | SA_NODEFER;
  next()(SIGSEGV, &own, &theirs);
  if (let_cpuid(0)) fprintf(stderr, "older_isa: this machine cannot have CPUID fault\n");
}
