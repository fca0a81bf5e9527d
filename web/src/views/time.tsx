// Time: kernels under the roofs of the machine, dearest first, and one run as a timeline.

import { useMemo, useState } from "preact/hooks";
import { Dot, Empty, KernelLink, Shared, Tabs, download, link, useSize } from "../parts";
import { Flame } from "../flame";
import { KernelCost, amount, hue, kindOf, micros, read } from "../report";

const BY = ["kernels", "calls", "source nodes"] as const;

export function TimeView(shared: Shared) {
  const { report } = shared;
  const measured = report.data.calls.some((c) => c.measured_us !== null);
  return (
    <div class="stack">
      {!measured && <Empty>Nothing was measured. {report.data.notes.join(" ")}</Empty>}
      <Roofline shared={shared} />
      <Rows shared={shared} />
      {measured && <section><h2>One run <button type="button" onClick={() => read("trace").then((events) => download(`${report.data.title}.trace.json`, JSON.stringify(events)))}>Save for Perfetto</button></h2>
        <Timeline shared={shared} /></section>}
    </div>
  );
}

function Timeline({ shared }: { shared: Shared }) {
  const { report, go } = shared;
  const laps = useMemo(() => report.timeline(), [report]);
  const threads = useMemo(() => [...new Set(laps.filter((l) => l.task >= 0).map((l) => l.thread))].sort((a, b) => a - b), [laps]);
  const bars = useMemo(() => laps.map((l) => ({
    name: report.data.calls[l.call].kernel, start: l.start_us, length: l.duration_us, depth: l.task < 0 ? 0 : 1 + threads.indexOf(l.thread),
    told: l.task < 0 ? report.sourceNames(report.data.calls[l.call].sources) : `task ${l.task} on ${thread(l.thread)}`,
  })), [report, laps, threads]);
  return <>
    {threads.length > 0 && <p class="quiet">Above all the calls of kernels; below, what each thread ran of their parallel loops.</p>}
    <Flame bars={bars} label="one run: calls of kernels, and the tasks of each thread" lanes={threads.length ? ["calls", ...threads.map(thread)] : undefined} dark={shared.dark} open={(n) => go({ view: "kernel", kernel: bars[n].name })} />
  </>;
}

const thread = (number: number) => (number ? `worker ${number}` : "main");

const W = 760, H = 340, L = 56, R = 16, T = 14, B = 40;

function Roofline({ shared }: { shared: Shared }) {
  const { report, where } = shared, roofs = report.data.machine?.roofs;
  const [ref] = useSize<HTMLDivElement>();
  const points = report.costs.filter((c) => c.kernel.flops && c.kernel.nbytes && c.measured).map((c) => ({
    cost: c, intensity: c.kernel.flops! / c.kernel.nbytes!, rate: (c.kernel.flops! * c.times) / c.measured! / 1e3,
  }));
  if (!roofs || !points.length) return null;
  const kinds = Object.keys(roofs.peaks).filter((kind) => kind === "float32" || points.some((p) => kindOf(p.cost.kernel) === kind));
  const highest = Math.max(...kinds.map((kind) => roofs.peaks[kind].all)), most_gb = Math.max(...Object.values(roofs.gbytes).map((r) => r.all));
  // kinds with the same roof share a line
  const levels = new Map<number, string[]>();
  for (const kind of kinds) levels.set(Math.round(roofs.peaks[kind].all), [...(levels.get(Math.round(roofs.peaks[kind].all)) ?? []), kind]);
  const span = (values: number[], lo: number, hi: number): [number, number] => [
    Math.floor(Math.log10(Math.min(lo, ...values))), Math.ceil(Math.log10(Math.max(hi, ...values)))];
  const [x0, x1] = span(points.map((p) => p.intensity), 0.1, 100), [y0, y1] = span(points.map((p) => p.rate), highest / 1000, highest * 1.1);
  const x = (v: number) => L + ((Math.log10(v) - x0) / (x1 - x0)) * (W - L - R), y = (v: number) => H - B - ((Math.log10(v) - y0) / (y1 - y0)) * (H - T - B);
  const decades = (a: number, b: number) => Array.from({ length: b - a + 1 }, (_, i) => 10 ** (a + i));
  const most = Math.max(...points.map((p) => p.cost.measured!));
  return (
    <section>
      <h2>Roofline</h2>
      <p class="quiet">Each circle is a kernel, as large as its share of the time. The roofs were measured on {roofs.cpu} with {roofs.threads} {roofs.threads === 1 ? "thread" : "threads"}: {kinds.map((kind) => `${kind} ${roofs.peaks[kind].all.toFixed(0)} GFLOP/s (${roofs.peaks[kind].one.toFixed(0)} with one)`).join(", ")}; {Object.entries(roofs.gbytes).map(([k, v]) => `${k} ${v.all.toFixed(0)} GB/s (${v.one.toFixed(0)})`).join(", ")}.</p>
      <div ref={ref} class="plot-box">
        <svg viewBox={`0 0 ${W} ${H}`} class="plot roofline" role="group" aria-label="roofline plot: operations a second over operations a byte">
          {decades(x0, x1).map((v) => <g key={v}><line class="grid" x1={x(v)} x2={x(v)} y1={T} y2={H - B} /><text x={x(v)} y={H - B + 16} text-anchor="middle">{v < 1 ? v.toString() : v.toLocaleString("en")}</text></g>)}
          {decades(y0, y1).map((v) => <g key={v}><line class="grid" x1={L} x2={W - R} y1={y(v)} y2={y(v)} /><text x={L - 6} y={y(v) + 4} text-anchor="end">{v < 1 ? v.toString() : v.toLocaleString("en")}</text></g>)}
          <text x={(L + W - R) / 2} y={H - 6} text-anchor="middle">FLOP a byte</text>
          <text transform={`translate(13 ${(T + H - B) / 2}) rotate(-90)`} text-anchor="middle">GFLOP/s</text>
          {Object.entries(roofs.gbytes).map(([name, gb]) => <Roof key={name} name={name} gb={gb.all} highest={highest} x={x} y={y} lo={10 ** x0} hi={10 ** x1} bottom={10 ** y0} />)}
          {[...levels].map(([rate, names]) => <g key={rate}><line class="roof" x1={x(Math.max(10 ** x0, rate / most_gb))} x2={W - R} y1={y(rate)} y2={y(rate)} />
            <text class="roof-name" x={x(Math.max(10 ** x0, rate / most_gb)) + 4} y={y(rate) - 6}>{names.join(", ")}</text></g>)}
          {points.map(({ cost, intensity, rate }) => (
            <a key={cost.kernel.name} href={link(where, { view: "kernel", kernel: cost.kernel.name })} aria-label={`${cost.kernel.name}: ${rate.toFixed(1)} GFLOP/s of ${kindOf(cost.kernel)} at ${intensity.toFixed(2)} FLOP a byte`}>
              <circle cx={x(intensity)} cy={y(rate)} r={4 + 10 * Math.sqrt(cost.measured! / most)} fill={`hsl(${hue(cost.kernel.name)} 65% 55%)`} fill-opacity="0.75" stroke="var(--text)" stroke-width="0.8"><title>{`${cost.kernel.name}\n${rate.toFixed(1)} GFLOP/s of ${kindOf(cost.kernel)}, ${intensity.toFixed(2)} FLOP a byte, ${micros(cost.measured)}`}</title></circle>
            </a>))}
        </svg>
      </div>
    </section>
  );
}

function Roof({ name, gb, highest, x, y, lo, hi, bottom }: { name: string; gb: number; highest: number; x: (v: number) => number; y: (v: number) => number; lo: number; hi: number; bottom: number }) {
  const from = Math.max(lo, bottom / gb), to = Math.min(hi, highest / gb);
  if (to <= from) return null;
  return <g><line class="roof" x1={x(from)} x2={x(to)} y1={y(from * gb)} y2={y(to * gb)} /><text class="roof-name" x={x(from) + 4} y={y(from * gb) - 5}>{name}</text></g>;
}

function Rows({ shared }: { shared: Shared }) {
  const { report } = shared;
  const [by, setBy] = useState<(typeof BY)[number]>("kernels");
  const total = report.total() || 1;
  const rows = useMemo(() => make(shared, by), [report, by]);
  return (
    <section>
      <h2>Where the time goes</h2>
      <div class="tools"><Tabs label="rows" names={BY} value={by} set={setBy} />
        <span class="quiet">{report.data.latency_us !== null && <>one run takes {micros(report.data.latency_us)}; </>}the parts add up to {micros(report.total())}</span></div>
      <div class="table-box" tabIndex={0} role="region" aria-label={`time by ${by}`}>
        <table class="times">
          <thead><tr><th>{by === "source nodes" ? "node" : "kernel"}</th><th class="right">measured</th><th>share</th><th class="right">at the roof</th><th class="right">of the roof</th><th class="right">work</th><th>{by === "source nodes" ? "kernel" : "from"}</th></tr></thead>
          <tbody>{rows.slice(0, 500).map((r, i) => (
            <tr key={i}><td>{by === "source nodes" ? r.name : <KernelLink shared={shared} name={r.name} />}</td><td class="right">{micros(r.measured)}</td>
              <td class="share"><span class="bar" style={{ width: `${(100 * (r.measured ?? 0)) / total}%` }} /><span>{r.measured === null ? "–" : ((100 * r.measured) / total).toFixed(1) + " %"}</span></td>
              <td class="right">{micros(r.predicted)}</td><td class="right">{r.measured && r.predicted ? ((100 * r.predicted) / r.measured).toFixed(0) + " %" : "–"}</td>
              <td class="right">{amount(r.flops, "FLOP")}{r.kind && r.flops ? <span class="quiet"> {r.kind}</span> : null}</td>
              <td>{by === "source nodes" ? <><Dot name={r.from} />{r.from}</> : r.from}</td></tr>))}</tbody>
        </table>
      </div>
      {rows.length > 500 && <p class="quiet">The first 500 of {rows.length}.</p>}
    </section>
  );
}

interface Row { name: string; measured: number | null; predicted: number | null; flops: number | null; kind: string; from: string }

function make({ report }: Shared, by: (typeof BY)[number]): Row[] {
  const { calls, sources, kernels } = report.data;
  const names = (c: number[]) => [...new Set(c.flatMap((n) => calls[n].sources))].slice(0, 6).map((s) => sources[s].name).join(", ");
  if (by === "kernels") return report.costs.map((c: KernelCost) => ({ name: c.kernel.name, measured: c.measured, predicted: c.predicted, flops: c.kernel.flops === null ? null : c.kernel.flops * c.times, kind: kindOf(c.kernel), from: names(c.calls) }));
  if (by === "calls") return calls.map((c, i) => ({ name: c.kernel, measured: c.measured_us, predicted: c.predicted_us, flops: kernels[c.kernel]?.flops == null ? null : kernels[c.kernel].flops! * c.times, kind: kernels[c.kernel] ? kindOf(kernels[c.kernel]) : "", from: names([i]) }));
  return sources.filter((s) => s.calls.length).map((s) => {
    const own = s.calls.map((c) => calls[c]);
    const sum = (get: (c: (typeof own)[0]) => number | null) => own.reduce<number | null>((t, c) => (get(c) === null ? t : (t ?? 0) + get(c)! / Math.max(1, c.sources.length)), null);
    return { name: s.name, measured: sum((c) => c.measured_us), predicted: sum((c) => c.predicted_us), flops: null, kind: "", from: own[0].kernel };
  }).sort((a, b) => (b.measured ?? 0) - (a.measured ?? 0));
}
