// A kernel: its text after every pass that changed it, how it was scheduled and why, its buffers.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Empty, KernelList, Shared, Tabs, chosen, link } from "../parts";
import { KernelCost, Stage, amount, bytes, micros } from "../report";
import { differ, viewer } from "../editor";

const TABS = ["program", "schedule", "buffers"] as const;

export function KernelView(shared: Shared) {
  const cost = chosen(shared);
  const [tab, setTab] = useState<(typeof TABS)[number]>("program");
  if (!cost) return <Empty>The program has no kernel.</Empty>;
  return (
    <div class="split">
      <KernelList shared={shared} />
      <section class="main" aria-label={`kernel ${cost.kernel.name}`}>
        <Head shared={shared} cost={cost} />
        <Tabs label="parts of the kernel" names={TABS} value={tab} set={setTab} />
        {tab === "program" && <Stages shared={shared} stages={cost.kernel.stages} name={cost.kernel.name} />}
        {tab === "schedule" && <Schedule cost={cost} />}
        {tab === "buffers" && <Buffers cost={cost} />}
      </section>
    </div>
  );
}

export function Head({ shared, cost }: { shared: Shared; cost: KernelCost }) {
  const { report, where } = shared, { kernel, calls } = cost;
  const sources = calls.flatMap((c) => report.data.calls[c].sources).filter((s, i, all) => all.indexOf(s) === i);
  const roof = cost.measured && cost.predicted ? ` (${((100 * cost.predicted) / cost.measured).toFixed(0)} % of the roof)` : "";
  return (
    <header class="head">
      <h2>{kernel.name}</h2>
      <p class="facts">
        <span>{calls.length} {calls.length === 1 ? "call" : "calls"}</span>
        <span title="the least of several runs, all calls">{micros(cost.measured)}{roof}</span>
        <span>{amount(kernel.flops, "FLOP")}</span><span>{bytes(kernel.nbytes)} in and out</span>
        {kernel.rule && <span>rule {kernel.rule}</span>}
        {kernel.threads > 1 && <span>{kernel.threads} threads</span>}
      </p>
      {kernel.reason && <p class="reason">{kernel.reason}</p>}
      {kernel.alternative && <p class="quiet">With the next rule that fits: {micros(sum(calls.map((c) => report.data.calls[c].alternative_us)))}, by {kernel.alternative}</p>}
      {sources.length > 0 && <p class="chips"><span class="quiet">computes</span> {sources.slice(0, 24).map((s) => (
        <a key={s} class="chip" href={link(where, { view: "graph", node: String(s) })}>{report.data.sources[s].name}</a>))}
        {sources.length > 24 && <span class="quiet">and {sources.length - 24} more</span>}</p>}
    </header>
  );
}

function sum(values: (number | null)[]): number | null {
  const known = values.filter((v): v is number => v !== null);
  return known.length ? known.reduce((a, b) => a + b, 0) : null;
}

export function Stages({ shared, stages, name, note = "; passes that changed nothing have none" }: { shared: Shared; stages: Stage[]; name: string; note?: string }) {
  const { report } = shared;
  const [pair, setPair] = useState<[number, number]>([0, 0]);
  const [side, setSide] = useState<"one text" | "side by side">("one text");
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => setPair([Math.max(0, stages.length - 2), stages.length - 1]), [name]);
  const clamp = (n: number) => Math.min(Math.max(n, 0), stages.length - 1);
  const before = clamp(pair[0]), after = clamp(pair[1]);
  useEffect(() => {
    if (!box.current || !stages.length) return;
    const parent = box.current;
    const made = side === "one text"
      ? viewer(parent, report.text(stages[after].text), "python", `${name} after ${stages[after].name}`)
      : differ(parent, report.text(stages[before].text), report.text(stages[after].text), [stages[before].name, stages[after].name]);
    return () => { made.destroy(); parent.replaceChildren(); };
  }, [stages, name, side, before, after, shared.report]);
  if (!stages.length) return <Empty>No text of this function was kept.</Empty>;
  const choice = (label: string, value: number, set: (n: number) => void) => (
    <label>{label} <select value={value} onChange={(e) => set(Number(e.currentTarget.value))}>
      {stages.map((s, i) => <option key={i} value={i}>{i + 1}. {s.name}</option>)}</select></label>
  );
  return (
    <>
      <div class="tools">
        <Tabs label="form" names={["one text", "side by side"] as const} value={side} set={setSide} />
        {side === "side by side" && choice("from", before, (n) => setPair([n, after]))}
        {choice(side === "one text" ? "after" : "to", after, (n) => setPair([before, n]))}
        <span class="tabs" role="group" aria-label="stage">
          <button type="button" aria-label="the stage before" disabled={after === 0} onClick={() => setPair([clamp(after - 2), after - 1])}>◀</button>
          <button type="button" aria-label="the next stage" disabled={after === stages.length - 1} onClick={() => setPair([after, after + 1])}>▶</button>
        </span>
        <span class="quiet">{stages.length} texts{note}</span>
      </div>
      <div class="editor" ref={box} data-editor />
    </>
  );
}

function Schedule({ cost: { kernel } }: { cost: KernelCost }) {
  const [all, setAll] = useState(false);
  const questions = /^(Get|Sample|EnterPostproc)/;
  const steps = useMemo(() => kernel.steps.filter((s) => all || !questions.test(s.kind)), [kernel, all]);
  if (!kernel.steps.length) return <Empty>No rule scheduled this kernel: it came with its schedule, or has nothing to schedule.</Empty>;
  return (
    <>
      <p>{kernel.refused.length > 0 && <>Asked before, and not for this kernel: {kernel.refused.join(", ")}. </>}Chosen: <b>{kernel.rule}</b>.
        {" "}<label><input type="checkbox" checked={all} onChange={(e) => setAll(e.currentTarget.checked)} /> with the questions of the rule</label></p>
      <div class="table-box" tabIndex={0} role="region" aria-label="steps of the schedule">
        <table>
          <thead><tr><th>step</th><th>why</th><th>where</th></tr></thead>
          <tbody>{steps.map((s, i) => (
            <tr key={i}><td><code class="step">{s.text}</code></td><td>{s.reason}</td><td><code>{s.where.replace(/^tvm\//, "")}</code></td></tr>))}</tbody>
        </table>
      </div>
    </>
  );
}

function Buffers({ cost: { kernel } }: { cost: KernelCost }) {
  return (
    <div class="table-box" tabIndex={0} role="region" aria-label="buffers">
      <table>
        <thead><tr><th>buffer</th><th>type</th><th class="right">bytes</th><th>lies in</th><th>role</th></tr></thead>
        <tbody>{kernel.operands.map((o, i) => (
          <tr key={i}><td><code>{o.name}</code></td><td><code>{o.dtype}{o.shape}</code></td><td class="right">{bytes(o.nbytes)}</td>
            <td>{o.role === "own" ? (o.scope === "local" ? "registers, or the stack" : `its own memory (${o.scope})`) : "the caller's memory"}</td><td>{o.role}</td></tr>))}</tbody>
      </table>
    </div>
  );
}
