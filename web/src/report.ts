// The report as the page gets it: the JSON form of tvm.report.Report, and questions about it.

export interface Source { name: string; op: string; value: string; shape: string; place: string; inputs: number[]; calls: number[] }
export interface Call { kernel: string; value: string; shape: string; sources: number[]; inputs: number[]; times: number; measured_us: number | null; predicted_us: number | null; alternative_us: number | null }
export interface Operand { name: string; dtype: string; shape: string; nbytes: number | null; scope: string; role: string }
export interface Stage { run: number; name: string; text: number[] }
export interface Step { text: string; kind: string; where: string; reason: string }
export interface Code { tir: number[]; ir: number[]; ir_lines: number[]; asm: number[]; asm_lines: number[]; mix: Record<string, number>; spills: number }
export interface Kernel { name: string; operands: Operand[]; flops: number | null; nbytes: number | null; rule: string; reason: string; refused: string[]; stages: Stage[]; steps: Step[]; code: Code | null; threads: number; work: Record<string, number>; alternative: string }
export interface PassRun { name: string; depth: number; start_us: number; duration_us: number; functions_before: number; functions_after: number; changed: string[]; size_before: number; size_after: number }
export interface Held { value: string; maker: number; offset: number; nbytes: number; first: number; last: number }
export interface Memory { arena_bytes: number; constant_bytes: number; peak_bytes: number; peak_call: number; held: Held[] }
export interface Lap { call: number; thread: number; start_us: number; duration_us: number; task: number }
export interface Rate { all: number; one: number }
export interface Roofs { cpu: string; threads: number; peaks: Record<string, Rate>; gbytes: Record<string, Rate> }
export interface Machine { name: string; arch: string; vector_bits: number; vector_registers: number; fma_ports: number; l1d_bytes: number; l2_bytes: number; l3_bytes: number; cores: number; roofs: Roofs | null }
export interface Curve { task: string; seconds: (number | null)[]; stages: Stage[] }
export interface Data {
  title: string; target: string; versions: Record<string, string>; machine: Machine | null; lines: string[];
  sources: Source[]; calls: Call[]; kernels: Record<string, Kernel>; graph: Stage[]; passes: PassRun[];
  memory: Memory | null; timeline: Lap[]; curves: Curve[]; latency_us: number | null; compile_us: number; notes: string[]; schema: number;
}

export interface KernelCost { kernel: Kernel; calls: number[]; times: number; measured: number | null; predicted: number | null }

export class Report {
  readonly costs: KernelCost[];
  readonly byName = new Map<string, KernelCost>();

  constructor(readonly data: Data) {
    for (const kernel of Object.values(data.kernels)) {
      this.byName.set(kernel.name, { kernel, calls: [], times: 0, measured: null, predicted: null });
    }
    data.calls.forEach((call, number) => {
      const cost = this.byName.get(call.kernel);
      if (!cost) return;
      cost.calls.push(number);
      cost.times += call.times;
      if (call.measured_us !== null) cost.measured = (cost.measured ?? 0) + call.measured_us;
      if (call.predicted_us !== null) cost.predicted = (cost.predicted ?? 0) + call.predicted_us;
    });
    this.costs = [...this.byName.values()].sort(
      (a, b) => (b.measured ?? b.predicted ?? 0) - (a.measured ?? a.predicted ?? 0),
    );
  }

  lines(runs: number[]): string[] {
    const found: string[] = [];
    for (let i = 0; i < runs.length; i += 2) {
      for (let k = 0; k < runs[i + 1]; k++) found.push(this.data.lines[runs[i] + k]);
    }
    return found;
  }

  text(runs: number[]): string { return this.lines(runs).join("\n"); }

  total(): number {
    return this.data.calls.reduce((sum, c) => sum + (c.measured_us ?? 0), 0);
  }

  /** One run: as it was watched, else the calls one behind the other. */
  timeline(): Lap[] {
    if (this.data.timeline?.length) return this.data.timeline;
    let now = 0;
    return this.data.calls.map((c, call) => {
      const lap = { call, thread: 0, start_us: now, duration_us: c.measured_us ?? 0, task: -1 };
      now += lap.duration_us;
      return lap;
    });
  }

  sourceNames(numbers: number[]): string {
    return numbers.map((n) => this.data.sources[n].name).join(", ");
  }
}

/** JSON inside of the page, in the element of this name: base64 of gzip of it. */
export async function read(name: string): Promise<unknown> {
  const raw = Uint8Array.from(atob((document.getElementById(name)?.textContent ?? "").trim()), (c) => c.charCodeAt(0));
  return new Response(new Blob([raw]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}

export function micros(us: number | null | undefined): string {
  if (us === null || us === undefined) return "–";
  if (us >= 1e6) return (us / 1e6).toFixed(2) + " s";
  if (us >= 1e3) return (us / 1e3).toFixed(us >= 1e5 ? 0 : us >= 1e4 ? 1 : 2) + " ms";
  return us.toFixed(us >= 100 ? 0 : us >= 10 ? 1 : 2) + " µs";
}

export function bytes(n: number | null | undefined): string {
  if (n === null || n === undefined) return "–";
  const units = ["B", "KiB", "MiB", "GiB"];
  let u = 0;
  while (n >= 1024 && u < 3) { n /= 1024; u++; }
  return (u === 0 ? n.toFixed(0) : n.toFixed(n >= 100 ? 0 : 1)) + " " + units[u];
}

export function amount(n: number | null | undefined, unit: string): string {
  if (n === null || n === undefined) return "–";
  const steps: [number, string][] = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
  for (const [step, letter] of steps) if (n >= step) return (n / step).toFixed(1) + " " + letter + unit;
  return n.toFixed(0) + " " + unit;
}

/** The arithmetic that a kernel has most of: there is a roof for each kind. */
export function kindOf(kernel: Kernel): string {
  return Object.entries(kernel.work).reduce((a, b) => (b[1] > a[1] ? b : a), ["", 0])[0];
}

/** A colour for a name: the same in every view. */
export function hue(name: string): number {
  let h = 2166136261;
  for (let i = 0; i < name.length; i++) h = Math.imul(h ^ name.charCodeAt(i), 16777619);
  return ((h >>> 0) * 137.508) % 360;
}
