// Bars over time, within each other: passes of a compilation, calls of a run.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { colour, useSize } from "./parts";
import { hue, micros } from "./report";

export interface Bar { name: string; start: number; length: number; depth: number; told: string; pale?: boolean }

const ROW = 22;

export function Flame({ bars, label, dark, lanes, open }: { bars: Bar[]; label: string; dark: boolean; lanes?: string[]; open?: (number: number) => void }) {
  const [ref, size] = useSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const end = useMemo(() => bars.reduce((m, b) => Math.max(m, b.start + b.length), 0) || 1, [bars]);
  const [span, setSpan] = useState<[number, number]>([0, end]);
  const [at, setAt] = useState<number | null>(null);
  useEffect(() => setSpan([0, end]), [end]);
  const depth = useMemo(() => bars.reduce((m, b) => Math.max(m, b.depth), 0) + 1, [bars]);
  const height = depth * ROW + 20;

  useEffect(() => {
    const element = canvas.current;
    if (!element || !size.width) return;
    const ratio = devicePixelRatio || 1;
    element.width = size.width * ratio;
    element.height = height * ratio;
    const g = element.getContext("2d")!;
    g.scale(ratio, ratio);
    const scale = size.width / (span[1] - span[0]);
    g.font = "12px system-ui, sans-serif";
    g.textBaseline = "middle";
    bars.forEach((bar, number) => {
      const x = (bar.start - span[0]) * scale, w = Math.max(bar.length * scale, 0.5);
      if (x + w < 0 || x > size.width) return;
      const y = bar.depth * ROW + 20;
      g.fillStyle = `hsl(${hue(bar.name)} ${bar.pale ? 12 : 55}% ${dark ? (bar.pale ? 30 : 38) : bar.pale ? 86 : 78}%)`;
      g.fillRect(x, y, Math.max(w - 0.5, 0.5), ROW - 2);
      if (number === at) { g.strokeStyle = colour("--accent"); g.lineWidth = 2; g.strokeRect(x + 1, y + 1, Math.max(w - 2, 1), ROW - 4); }
      if (w > 40) {
        g.save();
        g.beginPath(); g.rect(x, y, w, ROW); g.clip();
        g.fillStyle = colour("--text");
        g.fillText(bar.name, Math.max(x, 0) + 4, y + ROW / 2 - 1);
        g.restore();
      }
    });
    g.fillStyle = colour("--quiet");
    const ticks = Math.max(2, Math.floor(size.width / 130));
    for (let i = 0; i < ticks; i++) g.fillText(micros(span[0] + ((span[1] - span[0]) * i) / ticks), (size.width * i) / ticks + 2, 9);
  }, [bars, span, size.width, at, dark, height]);

  const zoom = (factor: number, middle: number) => setSpan(([a, b]) => {
    const m = a + (b - a) * middle;
    const from = Math.max(0, m - (m - a) * factor), to = Math.min(end, m + (b - m) * factor);
    return to - from > end * 1e-6 ? [from, to] : [a, b];
  });
  const pan = (share: number) => setSpan(([a, b]) => {
    const move = Math.max(-a, Math.min(end - b, (b - a) * share));
    return [a + move, b + move];
  });
  const find = (event: MouseEvent): number | null => {
    const box = canvas.current!.getBoundingClientRect();
    const time = span[0] + ((event.clientX - box.left) / box.width) * (span[1] - span[0]);
    const row = Math.floor((event.clientY - box.top - 20) / ROW);
    const found = bars.findIndex((b) => b.depth === row && b.start <= time && time <= b.start + b.length);
    return found < 0 ? null : found;
  };
  const keys = (event: KeyboardEvent) => {
    const move: Record<string, () => void> = {
      "+": () => zoom(0.6, 0.5), "=": () => zoom(0.6, 0.5), "-": () => zoom(1.6, 0.5), "0": () => setSpan([0, end]),
      ArrowLeft: () => setAt(Math.max(0, (at ?? 1) - 1)), ArrowRight: () => setAt(Math.min(bars.length - 1, (at ?? -1) + 1)),
      PageUp: () => pan(-0.5), PageDown: () => pan(0.5),
      Enter: () => { if (at !== null) open?.(at); },
    };
    if (move[event.key]) { move[event.key](); event.preventDefault(); event.stopPropagation(); }
  };
  const shown = at === null ? null : bars[at];
  return (
    <div class="flame">
      <div class="flame-lanes">
      {lanes && <ol class="lanes" style={{ lineHeight: `${ROW}px` }}>{lanes.map((name) => <li key={name}>{name}</li>)}</ol>}
      <div ref={ref} class="flame-box">
        <canvas ref={canvas} style={{ width: "100%", height: `${height}px` }} role="img" tabIndex={0} aria-label={`${label}: ${bars.length} bars. Left and right go through them, plus and minus zoom, 0 shows all.`}
          onMouseMove={(e) => setAt(find(e))} onClick={(e) => { const n = find(e); if (n !== null) open?.(n); }}
          onWheel={(e) => { if (!e.ctrlKey && Math.abs(e.deltaX) < Math.abs(e.deltaY) && !e.shiftKey) return; e.preventDefault(); if (e.ctrlKey) zoom(e.deltaY > 0 ? 1.2 : 0.83, e.offsetX / size.width); else pan((e.deltaX || e.deltaY) / 800); }}
          onDblClick={(e) => { const n = find(e); if (n !== null) setSpan([bars[n].start, bars[n].start + bars[n].length]); else setSpan([0, end]); }}
          onKeyDown={keys} />
      </div>
      </div>
      <div class="flame-foot">
        <span class="told" aria-live="polite">{shown ? <><b>{shown.name}</b> {micros(shown.length)} {shown.told}</> : <span class="quiet">Point at a bar; a double click zooms to it.</span>}</span>
        <span class="tabs" role="group" aria-label="zoom">
          <button type="button" onClick={() => zoom(0.6, 0.5)} aria-label="zoom in">+</button>
          <button type="button" onClick={() => zoom(1.6, 0.5)} aria-label="zoom out">−</button>
          <button type="button" onClick={() => pan(-0.5)} aria-label="earlier">◀</button>
          <button type="button" onClick={() => pan(0.5)} aria-label="later">▶</button>
          <button type="button" onClick={() => setSpan([0, end])}>all</button>
        </span>
      </div>
    </div>
  );
}
