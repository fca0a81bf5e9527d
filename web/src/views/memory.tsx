// Memory: what lies where in the arena, from which call to which, and what makes the peak.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { Empty, KernelLink, Shared, colour, useSize } from "../parts";
import { Held, bytes, hue } from "../report";

const H = 360;

export function MemoryView(shared: Shared) {
  const { report } = shared, memory = report.data.memory;
  const [at, setAt] = useState<number | null>(null);
  const living = useMemo(() => (memory ? alive(memory.held, report.data.calls.length) : []), [memory]);
  if (!memory) return <Empty>The plan of memory is not known: sizes are open, or the program runs as bytecode.</Empty>;
  const call = at ?? memory.peak_call;
  const there = memory.held.filter((h) => h.first <= call && call <= h.last).sort((a, b) => b.nbytes - a.nbytes);
  const name = report.data.calls[call]?.kernel ?? "the end";
  return (
    <div class="stack">
      <section>
        <h2>Arena</h2>
        <p class="facts"><span>arena {bytes(memory.arena_bytes)}</span><span>most alive at once {bytes(memory.peak_bytes)}</span><span>{((100 * memory.peak_bytes) / Math.max(1, memory.arena_bytes)).toFixed(1)} % of it used at the peak</span><span>constants {bytes(memory.constant_bytes)}</span><span>{memory.held.length} values</span></p>
        <Alive living={living} dark={shared.dark} pick={setAt} />
        <Map shared={shared} held={memory.held} size={memory.arena_bytes} calls={report.data.calls.length} at={call} pick={setAt} />
      </section>
      <section>
        <h2>{at === null ? "At the peak: call" : "At call"} {call + 1}, {name}</h2>
        <div class="table-box" tabIndex={0} role="region" aria-label="values that are alive">
          <table><thead><tr><th>value</th><th class="right">bytes</th><th class="right">at</th><th>made by</th><th>needed until</th></tr></thead>
            <tbody>{there.map((h, i) => (
              <tr key={i}><td><code>{h.value}</code></td><td class="right">{bytes(h.nbytes)}</td><td class="right">{h.offset.toLocaleString("en")}</td>
                <td>{report.data.calls[h.maker] ? <KernelLink shared={shared} name={report.data.calls[h.maker].kernel} /> : "–"}</td><td>{report.data.calls[h.last] ? `call ${h.last + 1}, ${report.data.calls[h.last].kernel}` : "the end"}</td></tr>))}</tbody></table>
        </div>
      </section>
    </div>
  );
}

function alive(held: Held[], calls: number): number[] {
  const change = new Array<number>(calls + 2).fill(0);
  for (const h of held) { change[h.first] += h.nbytes; change[Math.min(h.last, calls) + 1] -= h.nbytes; }
  let now = 0;
  return change.slice(0, calls).map((d) => (now += d));
}

function Alive({ living, dark, pick }: { living: number[]; dark: boolean; pick: (call: number) => void }) {
  const [ref, size] = useSize<HTMLDivElement>();
  useEffect(() => {
    if (!ref.current || !size.width || !living.length) return;
    const plot = new uPlot({
      width: size.width, height: 150, legend: { show: false }, cursor: { y: false, drag: { x: false, y: false } },
      scales: { x: { time: false }, y: { range: (_u, _lo, hi) => [0, hi * 1.05 || 1] } },
      axes: [{ stroke: colour("--quiet"), grid: { stroke: colour("--line") }, values: (_u, v) => v.map((n) => String(n)) },
        { stroke: colour("--quiet"), grid: { stroke: colour("--line") }, size: 74, values: (_u, v) => v.map((n) => bytes(n)) }],
      series: [{}, { stroke: colour("--accent"), fill: colour("--accent") + "33", width: 1.5, paths: uPlot.paths.stepped!({ align: 1 }) }],
      hooks: { ready: [(u) => u.over.addEventListener("click", () => { if (u.cursor.idx != null) pick(u.cursor.idx); })] },
    }, [living.map((_, i) => i + 1), living], ref.current);
    return () => plot.destroy();
  }, [living, size.width, dark]);
  return <div ref={ref} class="uplot-box" role="img" aria-label={`bytes alive at each of ${living.length} calls`} />;
}

function Map({ shared, held, size, calls, at, pick }: { shared: Shared; held: Held[]; size: number; calls: number; at: number; pick: (call: number) => void }) {
  const [ref, box] = useSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [over, setOver] = useState<Held | null>(null);
  const left = 74;
  useEffect(() => {
    const element = canvas.current;
    if (!element || !box.width) return;
    const ratio = devicePixelRatio || 1;
    element.width = box.width * ratio;
    element.height = H * ratio;
    const g = element.getContext("2d")!;
    g.scale(ratio, ratio);
    const sx = (box.width - left) / Math.max(1, calls), sy = (H - 20) / Math.max(1, size);
    for (const h of held) {
      const x = left + h.first * sx, w = Math.max(1, (h.last - h.first + 1) * sx - 0.5), y = H - 20 - (h.offset + h.nbytes) * sy, t = Math.max(1, h.nbytes * sy - 0.5);
      g.fillStyle = `hsl(${hue(h.value)} 50% ${shared.dark ? 42 : 72}%)`;
      g.fillRect(x, y, w, t);
      if (h === over) { g.strokeStyle = colour("--accent"); g.lineWidth = 2; g.strokeRect(x, y, w, t); }
      if (w > 46 && t > 13) { g.save(); g.beginPath(); g.rect(x, y, w, t); g.clip(); g.fillStyle = colour("--text"); g.font = "11px system-ui, sans-serif"; g.fillText(h.value, x + 4, y + Math.min(t / 2 + 4, 14)); g.restore(); }
    }
    g.strokeStyle = colour("--accent"); g.lineWidth = 1.5; g.beginPath(); g.moveTo(left + (at + 0.5) * sx, 0); g.lineTo(left + (at + 0.5) * sx, H - 20); g.stroke();
    g.fillStyle = colour("--quiet"); g.font = "11px system-ui, sans-serif"; g.textAlign = "right";
    for (let i = 0; i <= 4; i++) g.fillText(bytes((size * i) / 4), left - 6, Math.min(H - 22, Math.max(10, H - 20 - ((H - 20) * i) / 4 + 4)));
    g.textAlign = "left"; g.fillText("calls in order →", left, H - 5);
  }, [held, box.width, over, at, shared.dark]);
  const locate = (e: MouseEvent) => {
    const call = Math.floor(((e.offsetX - left) / (box.width - left)) * calls), offset = ((H - 20 - e.offsetY) / (H - 20)) * size;
    return { call, value: held.find((h) => h.first <= call && call <= h.last && h.offset <= offset && offset < h.offset + h.nbytes) ?? null };
  };
  const keys = (e: KeyboardEvent) => {
    const step = e.key === "ArrowLeft" ? -1 : e.key === "ArrowRight" ? 1 : 0;
    if (step) { pick(Math.max(0, Math.min(calls - 1, at + step))); e.preventDefault(); e.stopPropagation(); }
  };
  return (
    <div ref={ref}>
      <canvas ref={canvas} data-arena tabIndex={0} role="img" aria-label="the arena: calls from left to right, addresses upwards; left and right choose a call" style={{ width: "100%", height: `${H}px` }}
        onMouseMove={(e) => setOver(locate(e).value)} onMouseLeave={() => setOver(null)} onClick={(e) => { const { call } = locate(e); if (call >= 0 && call < calls) pick(call); }} onKeyDown={keys} />
      <p class="quiet" aria-live="polite">{over ? <><b>{over.value}</b> {bytes(over.nbytes)} at {over.offset.toLocaleString("en")}, calls {over.first + 1} to {over.last + 1}</> : "Point at a value; a click chooses a call."}</p>
    </div>
  );
}
