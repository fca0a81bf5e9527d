// The program: its nodes and what they became. Drawn on a canvas; what is out of sight costs nothing.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Empty, KernelLink, Shared, Tabs, colour, link, useSize } from "../parts";
import { hue, micros } from "../report";
import { place } from "../layout";

/** Long names keep their end, which tells them apart. */
function shorten(text: string, most: number): string {
  return text.length <= most ? text : "…" + text.slice(text.length - most + 1);
}

const WIDTH = 190, HEIGHT = 42, ROW = 76, GAP = 22;
const MODES = ["source nodes", "kernels"] as const;
const SHOWN = 200; // of what a search finds

interface Node { title: string; below: string; kernel: string; inputs: number[]; share: number; words: string }

export function GraphView(shared: Shared) {
  const { report, where, go } = shared;
  const hasSources = report.data.sources.length > 0;
  const [mode, setMode] = useState<(typeof MODES)[number]>(hasSources ? "source nodes" : "kernels");
  const [wanted, setWanted] = useState("");
  const nodes = useMemo(() => (mode === "kernels" ? kernelNodes(shared) : sourceNodes(shared)), [report, mode]);
  const placed = useMemo(() => place(nodes.map((n) => n.inputs), WIDTH, ROW, GAP), [nodes]);
  const users = useMemo(() => {
    const found: number[][] = nodes.map(() => []);
    nodes.forEach((n, i) => n.inputs.forEach((j) => found[j].push(i)));
    return found;
  }, [nodes]);
  const parsed = where.node === "" ? -1 : Number(where.node);
  const at = Number.isInteger(parsed) && parsed >= 0 && parsed < nodes.length ? parsed : -1;
  const found = useMemo(() => {
    const words = wanted.toLowerCase();
    const numbers: number[] = [];
    nodes.forEach((n, i) => { if (!words || n.words.includes(words)) numbers.push(i); });
    return numbers;
  }, [nodes, wanted]);
  const hits = useMemo(() => (wanted ? new Set(found) : null), [found, wanted]);
  if (!nodes.length) return <Empty>This program is no graph: its kernels stand in the other views.</Empty>;
  return (
    <div class="split graph-view">
      <aside>
        {hasSources && <Tabs label="what is shown" names={MODES} value={mode} set={(m) => { setMode(m); go({ node: "" }); }} />}
        <input type="search" class="search" data-search placeholder="Find a node, operator, kernel" aria-label="Find a node, operator or kernel" value={wanted} onInput={(e) => setWanted(e.currentTarget.value)} />
        <p class="quiet" aria-live="polite">{found.length.toLocaleString("en")} of {nodes.length.toLocaleString("en")} nodes{found.length > SHOWN ? `, the first ${SHOWN} listed` : ""}</p>
        <ul class="found">
          {found.slice(0, SHOWN).map((i) => (
            <li key={i}><a href={link(where, { node: String(i) })} aria-current={i === at ? "true" : undefined}>
              <span class="name"><i class="dot" style={{ background: tint(nodes[i].kernel, shared.dark) }} />{nodes[i].title}</span><span class="cost">{nodes[i].below}</span>
            </a></li>
          ))}
        </ul>
      </aside>
      <Canvas shared={shared} nodes={nodes} placed={placed} users={users} at={at} hits={hits} />
      {at >= 0 && <Details shared={shared} mode={mode} number={at} />}
    </div>
  );
}

/** Shares of the dearest node: its bar is as long as the node. */
function relative(nodes: Node[]): Node[] {
  const most = nodes.reduce((m, n) => Math.max(m, n.share), 0) || 1;
  for (const node of nodes) node.share /= most;
  return nodes;
}

function sourceNodes({ report }: Shared): Node[] {
  return relative(report.data.sources.map((s) => {
    const kernels = s.calls.map((c) => report.data.calls[c]);
    const measured = kernels.reduce((sum, c) => sum + (c.measured_us ?? 0) / Math.max(1, c.sources.length), 0);
    return { title: s.name, below: s.op, kernel: kernels[0]?.kernel ?? "", inputs: s.inputs, share: measured,
      words: `${s.name} ${s.op} ${s.value} ${kernels.map((c) => c.kernel).join(" ")}`.toLowerCase() };
  }));
}

function kernelNodes({ report }: Shared): Node[] {
  return relative(report.data.calls.map((c) => ({ title: c.kernel, below: micros(c.measured_us) + "  " + c.shape, kernel: c.kernel, inputs: c.inputs,
    share: c.measured_us ?? 0, words: `${c.kernel} ${c.value} ${report.sourceNames(c.sources)}`.toLowerCase() })));
}

function tint(kernel: string, dark: boolean): string {
  if (!kernel) return dark ? "hsl(0 0% 35%)" : "hsl(0 0% 82%)";
  return `hsl(${hue(kernel)} ${dark ? "40% 32%" : "60% 82%"})`;
}

interface View { x: number; y: number; k: number }

function Canvas({ shared, nodes, placed, users, at, hits }: { shared: Shared; nodes: Node[]; placed: ReturnType<typeof place>; users: number[][]; at: number; hits: Set<number> | null }) {
  const { where, go, dark } = shared;
  const [ref, size] = useSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [view, setView] = useState<View | null>(null);
  const [over, setOver] = useState(-1);
  const drag = useRef(new Map<number, { x: number; y: number }>());
  const moved = useRef(0);

  const first = (): View => {
    const k = Math.min(1, Math.max(0.55, size.width / (placed.width + 40)));
    const start = placed.rows[0]?.[0] ?? 0;
    return { k, x: size.width / 2 - placed.x[start] * k, y: 16 };
  };
  const of = useRef<unknown>(null); // the places that the view was made for
  useEffect(() => { // the beginning of a graph, or the chosen node, is brought into sight
    if (!size.width || !size.height) return;
    const fresh = of.current !== placed;
    of.current = placed;
    setView((v) => {
      if (at < 0) return v && !fresh ? v : first();
      const k = v && !fresh ? Math.max(v.k, 0.6) : 1;
      if (v && !fresh && v.k === k) {
        const sx = placed.x[at] * k + v.x, sy = placed.row[at] * ROW * k + v.y;
        if (sx > 100 && sx < size.width - 100 && sy > 20 && sy < size.height - 80) return v;
      }
      return { k, x: size.width / 2 - placed.x[at] * k, y: size.height / 2 - placed.row[at] * ROW * k };
    });
  }, [at, placed, size.width > 0 && size.height > 0]);

  useEffect(() => {
    const element = canvas.current;
    if (!element || !view || !size.width || !size.height) return;
    const ratio = devicePixelRatio || 1;
    element.width = size.width * ratio;
    element.height = size.height * ratio;
    draw(element.getContext("2d")!, ratio);
  }, [view, size, nodes, placed, at, over, hits, dark]);

  function draw(g: CanvasRenderingContext2D, ratio: number) {
    const { x: tx, y: ty, k } = view!;
    g.setTransform(ratio * k, 0, 0, ratio * k, ratio * tx, ratio * ty);
    const top = Math.max(0, Math.floor(-ty / k / ROW) - 1), bottom = Math.min(placed.rows.length - 1, Math.ceil((size.height - ty) / k / ROW) + 1);
    const left = -tx / k - WIDTH, right = (size.width - tx) / k + WIDTH;
    const near = new Set<number>(at < 0 ? [] : [...nodes[at].inputs, ...users[at]]);
    const line = colour("--line"), accent = colour("--accent"), text = colour("--text"), quiet = colour("--quiet");
    if (k > 0.08) for (let r = top; r <= Math.min(bottom + 40, placed.rows.length - 1); r++) {
      for (const i of placed.rows[r]) for (const j of nodes[i].inputs) edge(g, j, i, i === at || j === at ? accent : line, i === at || j === at ? 2 : 1);
    }
    for (let r = top; r <= bottom; r++) for (const i of placed.rows[r]) {
      const x = placed.x[i] - WIDTH / 2, y = r * ROW;
      if (placed.x[i] < left || placed.x[i] > right) continue;
      const node = nodes[i];
      g.globalAlpha = hits && !hits.has(i) ? 0.25 : 1;
      g.fillStyle = tint(node.kernel, dark);
      if (k < 0.2) { g.fillRect(x, y, WIDTH, HEIGHT); continue; }
      g.beginPath(); g.roundRect(x, y, WIDTH, HEIGHT, 7); g.fill();
      if (node.share > 0.01) { g.fillStyle = colour("--hot"); g.fillRect(x + 6, y + HEIGHT - 5, Math.min(1, node.share) * (WIDTH - 12), 3); }
      if (i === at || i === over || near.has(i)) { g.strokeStyle = accent; g.lineWidth = i === at ? 3 : 1.5; g.stroke(); }
      if (k < 0.35) continue;
      g.save(); g.beginPath(); g.rect(x + 6, y, WIDTH - 12, HEIGHT); g.clip();
      g.fillStyle = text; g.font = "600 12.5px system-ui, sans-serif"; g.fillText(shorten(node.title, 27), x + 8, y + 16);
      g.fillStyle = dark ? quiet : "#3d4550"; g.font = "11.5px system-ui, sans-serif"; g.fillText(shorten(node.below, 34), x + 8, y + 31);
      g.restore();
    }
    g.globalAlpha = 1;
  }

  /** Straight down to the next row; around the side past the rows between. */
  function edge(g: CanvasRenderingContext2D, from: number, to: number, style: string, width: number) {
    const x0 = placed.x[from], y0 = placed.row[from] * ROW + HEIGHT, x1 = placed.x[to], y1 = placed.row[to] * ROW;
    const rows = placed.row[to] - placed.row[from];
    g.strokeStyle = style; g.lineWidth = width; g.beginPath(); g.moveTo(x0, y0);
    if (rows <= 1) g.bezierCurveTo(x0, y0 + 18, x1, y1 - 18, x1, y1);
    else {
      const side = Math.max(x0, x1) + WIDTH / 2 + 14 + 6 * Math.min(rows, 12);
      g.bezierCurveTo(x0, y0 + 24, side, y0 + 8, side, y0 + 40);
      g.lineTo(side, y1 - 40);
      g.bezierCurveTo(side, y1 - 8, x1, y1 - 24, x1, y1);
    }
    g.stroke();
  }

  const hit = (px: number, py: number): number => {
    if (!view) return -1;
    const x = (px - view.x) / view.k, y = (py - view.y) / view.k, r = Math.floor(y / ROW);
    if (y - r * ROW > HEIGHT) return -1;
    return placed.rows[r]?.find((i) => Math.abs(placed.x[i] - x) <= WIDTH / 2) ?? -1;
  };
  const zoom = (factor: number, px = size.width / 2, py = size.height / 2) => setView((v) => {
    if (!v) return v;
    const k = Math.max(0.02, Math.min(3, v.k * factor));
    return { k, x: px - ((px - v.x) * k) / v.k, y: py - ((py - v.y) * k) / v.k };
  });
  const local = (e: { clientX: number; clientY: number }) => {
    const box = canvas.current!.getBoundingClientRect();
    return { x: e.clientX - box.left, y: e.clientY - box.top };
  };
  const move = (e: PointerEvent) => {
    const now = local(e), held = drag.current.get(e.pointerId);
    if (!held) { const n = hit(now.x, now.y); if (n !== over) setOver(n); return; }
    if (drag.current.size === 1) {
      moved.current += Math.abs(now.x - held.x) + Math.abs(now.y - held.y);
      setView((v) => v && { ...v, x: v.x + now.x - held.x, y: v.y + now.y - held.y });
    } else {
      const [a, b] = [...drag.current.entries()].map(([id, p]) => (id === e.pointerId ? [p, now] : [p, p]));
      const before = Math.hypot(a[0].x - b[0].x, a[0].y - b[0].y), after = Math.hypot(a[1].x - b[1].x, a[1].y - b[1].y);
      if (before > 0) zoom(after / before, (a[1].x + b[1].x) / 2, (a[1].y + b[1].y) / 2);
    }
    drag.current.set(e.pointerId, now);
  };
  const keys = (event: KeyboardEvent) => {
    const pick = (n: number | undefined) => { if (n !== undefined) go({ node: String(n) }); };
    const row = at < 0 ? [] : placed.rows[placed.row[at]].slice().sort((a, b) => placed.x[a] - placed.x[b]);
    const acts: Record<string, () => void> = {
      ArrowUp: () => pick(at < 0 ? 0 : nodes[at].inputs[0]), ArrowDown: () => pick(at < 0 ? 0 : users[at][0]),
      ArrowLeft: () => pick(row[row.indexOf(at) - 1]), ArrowRight: () => pick(row[row.indexOf(at) + 1]),
      "+": () => zoom(1.3), "=": () => zoom(1.3), "-": () => zoom(0.77), "0": () => setView(first()),
      Enter: () => { if (at >= 0 && nodes[at].kernel) go({ view: "kernel", kernel: nodes[at].kernel }); },
    };
    if (acts[event.key]) { acts[event.key](); event.preventDefault(); event.stopPropagation(); }
  };
  return (
    <div class="canvas" ref={ref}>
      <canvas ref={canvas} tabIndex={0} role="img" aria-label={`Graph of ${nodes.length} nodes. Arrow keys follow its edges, Enter opens the kernel, plus and minus zoom. The list beside it has the same nodes.`}
        style={{ cursor: over >= 0 ? "pointer" : "grab", touchAction: "none" }}
        onPointerDown={(e) => { moved.current = 0; drag.current.set(e.pointerId, local(e)); e.currentTarget.setPointerCapture(e.pointerId); }}
        onPointerMove={move} onPointerCancel={(e) => drag.current.delete(e.pointerId)}
        onPointerUp={(e) => { drag.current.delete(e.pointerId); if (moved.current < 5) { const p = local(e), n = hit(p.x, p.y); go({ node: n < 0 ? "" : String(n) }); } }}
        onWheel={(e) => { e.preventDefault(); const p = local(e); if (e.ctrlKey || e.metaKey) zoom(e.deltaY > 0 ? 0.85 : 1.18, p.x, p.y); else setView((v) => v && { ...v, x: v.x - e.deltaX, y: v.y - e.deltaY }); }}
        onDblClick={(e) => { const p = local(e), n = hit(p.x, p.y); if (n >= 0 && nodes[n].kernel) go({ view: "kernel", kernel: nodes[n].kernel }); }}
        onKeyDown={keys} />
      <div class="tabs over" role="group" aria-label="zoom">
        <button type="button" aria-label="zoom in" onClick={() => zoom(1.3)}>+</button>
        <button type="button" aria-label="zoom out" onClick={() => zoom(0.77)}>−</button>
        <button type="button" onClick={() => setView({ k: Math.min(1, size.width / (placed.width + 60), size.height / (placed.height + 30)), x: 20, y: 12 })}>all</button>
        <a class="button" href={link(where, { node: "" })} onClick={() => setView(first())}>start</a>
      </div>
    </div>
  );
}

function Details({ shared, mode, number }: { shared: Shared; mode: string; number: number }) {
  const { report, where } = shared, { sources, calls } = report.data;
  const source = mode === "kernels" ? null : sources[number];
  const made = source ? source.calls : [number];
  const call = source ? null : calls[number];
  return (
    <section class="details" aria-label="the chosen node">
      <h2>{source ? source.name : call!.kernel}</h2>
      <dl>
        {source && <><dt>operator</dt><dd>{source.op}</dd><dt>result</dt><dd><code>{source.value}: {source.shape}</code></dd>
          {source.place && <><dt>from</dt><dd><code>{source.place}</code></dd></>}</>}
        {call && <><dt>result</dt><dd><code>{call.value}: {call.shape}</code></dd></>}
        <dt>{source ? "computed by" : "kernel"}</dt>
        <dd>{made.length ? <ul class="plain">{made.map((c) => (
          <li key={c}><KernelLink shared={shared} name={calls[c].kernel} /> {micros(calls[c].measured_us)}</li>))}</ul> : <span class="quiet">no kernel: folded away, or only another view of a value</span>}</dd>
        <dt>{source ? "together with" : "computes"}</dt>
        <dd>{made.flatMap((c) => calls[c].sources).filter((s, i, all) => all.indexOf(s) === i && !(source && s === number)).map((s) => (
          <a key={s} class="chip" href={link(where, { node: source ? String(s) : where.node })}>{sources[s].name} <small>{sources[s].op}</small></a>))}</dd>
      </dl>
    </section>
  );
}
