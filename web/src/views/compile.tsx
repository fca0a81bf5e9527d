// The compilation: passes within passes over time, what each changed, the graph's text after each.

import { useMemo, useState } from "preact/hooks";
import { Empty, Shared } from "../parts";
import { Flame } from "../flame";
import { micros } from "../report";
import { Stages } from "./kernel";

export function CompileView(shared: Shared) {
  const { report } = shared, passes = report.data.passes;
  const [changedOnly, setChangedOnly] = useState(false);
  const [open, setOpen] = useState<number | null>(null);
  const bars = useMemo(() => passes.map((p) => ({ name: p.name, start: p.start_us, length: p.duration_us, depth: p.depth, pale: !p.changed.length,
    told: p.changed.length ? `changed ${p.changed.length} of ${p.functions_after} functions, size ${p.size_before.toLocaleString("en")} → ${p.size_after.toLocaleString("en")}` : "changed nothing" })), [passes]);
  const rows = useMemo(() => passes.map((p, i) => ({ p, i })).filter(({ p }) => !changedOnly || p.changed.length), [passes, changedOnly]);
  if (!passes.length) return <Empty>No passes were recorded.</Empty>;
  return (
    <div class="stack">
      <section><h2>Passes over time</h2>
        <p class="quiet">{passes.length} passes; the compilation took {micros(report.data.compile_us)}, watched. Pale passes changed nothing; between the passes machine code is made.</p>
        <Flame bars={bars} label="passes" dark={shared.dark} open={setOpen} /></section>
      {report.data.graph.length > 0 && <section class="graph-text"><h2>The graph after each pass</h2><Stages shared={shared} stages={report.data.graph} name="graph" /></section>}
      <section><h2>What they did</h2>
        <p><label><input type="checkbox" checked={changedOnly} onChange={(e) => setChangedOnly(e.currentTarget.checked)} /> only those that changed something</label></p>
        <div class="table-box" tabIndex={0} role="region" aria-label="passes">
          <table><thead><tr><th>pass</th><th class="right">time</th><th class="right">functions</th><th class="right">size</th><th>changed</th></tr></thead>
            <tbody>{rows.map(({ p, i }) => (
              <tr key={i} class={i === open ? "open" : undefined}><td style={{ paddingLeft: `${8 + 14 * p.depth}px` }}>{p.name}</td><td class="right">{micros(p.duration_us)}</td>
                <td class="right">{p.functions_before === p.functions_after ? p.functions_after : `${p.functions_before} → ${p.functions_after}`}</td>
                <td class="right">{p.size_before === p.size_after ? p.size_after.toLocaleString("en") : `${p.size_before.toLocaleString("en")} → ${p.size_after.toLocaleString("en")}`}</td>
                <td>{p.changed.length ? <details open={i === open}><summary>{p.changed.length}</summary>{p.changed.slice(0, 60).join(", ")}{p.changed.length > 60 ? ", …" : ""}</details> : <span class="quiet">nothing</span>}</td></tr>))}</tbody></table>
        </div></section>
    </div>
  );
}
