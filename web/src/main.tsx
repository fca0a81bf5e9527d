// The page: reads the report inside of it, and shows the view that the address names.

import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import "uplot/dist/uPlot.min.css";
import "./style.css";
import { Data, Report, bytes, micros, read } from "./report";
import { Shared, Where, link } from "./parts";
import { GraphView } from "./views/graph";
import { KernelView } from "./views/kernel";
import { CodeView } from "./views/code";
import { TimeView } from "./views/time";
import { MemoryView } from "./views/memory";
import { CompileView } from "./views/compile";
import { TuningView } from "./views/tuning";

const VIEWS: [string, string, (shared: Shared) => preact.JSX.Element][] = [
  ["graph", "Graph", GraphView], ["kernel", "Kernel", KernelView], ["code", "Machine code", CodeView], ["time", "Time", TimeView],
  ["memory", "Memory", MemoryView], ["compile", "Compile", CompileView], ["tuning", "Tuning", TuningView],
];
const THEMES = ["auto", "light", "dark"];

function here(): Where {
  const query = new URLSearchParams(location.hash.slice(1));
  const view = query.get("view") ?? "graph";
  return { view: VIEWS.some(([name]) => name === view) ? view : "graph", kernel: query.get("kernel") ?? "", node: query.get("node") ?? "" };
}

function kept(): string {
  try { return localStorage.getItem("tvm-theme") ?? "auto"; } catch { return "auto"; }
}

function App({ report }: { report: Report }) {
  const [where, setWhere] = useState(here());
  const [theme, setTheme] = useState(kept());
  const [system, setSystem] = useState(matchMedia("(prefers-color-scheme: dark)").matches);
  const dark = theme === "dark" || (theme === "auto" && system);
  document.documentElement.dataset.theme = dark ? "dark" : "light"; // before children draw with its colours
  useEffect(() => {
    const moved = () => setWhere(here());
    const query = matchMedia("(prefers-color-scheme: dark)");
    const changed = () => setSystem(query.matches);
    addEventListener("hashchange", moved);
    query.addEventListener("change", changed);
    return () => { removeEventListener("hashchange", moved); query.removeEventListener("change", changed); };
  }, []);
  useEffect(() => { try { localStorage.setItem("tvm-theme", theme); } catch { /* a page without storage has no memory */ } }, [theme]);
  useEffect(() => {
    const keys = (e: KeyboardEvent) => {
      const target = e.target as HTMLElement;
      if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName) || target.closest(".cm-editor")) return;
      const number = Number(e.key);
      if (number >= 1 && number <= VIEWS.length) location.hash = link(where, { view: VIEWS[number - 1][0] });
      else if (e.key === "/") { document.querySelector<HTMLInputElement>("input[type=search]")?.focus(); e.preventDefault(); }
      else if (e.key === "j" || e.key === "k") {
        const at = report.costs.findIndex((c) => c.kernel.name === where.kernel);
        const next = report.costs[Math.min(Math.max(at + (e.key === "j" ? 1 : -1), 0), report.costs.length - 1)];
        if (next) location.hash = link(where, { kernel: next.kernel.name });
      }
    };
    addEventListener("keydown", keys);
    return () => removeEventListener("keydown", keys);
  }, [where, report]);
  const go = (to: Partial<Where>) => { location.hash = link(where, to); };
  const shared: Shared = { report, where, go, dark };
  const [, title, View] = VIEWS.find(([name]) => name === where.view)!;
  const { data } = report;
  useEffect(() => { document.title = `${title} · ${data.title}`; document.documentElement.dataset.view = where.view; }, [title, where.view]);
  return (
    <>
      <header class="top">
        <h1 title={data.target}>{data.title}</h1>
        <p class="facts">
          {data.latency_us !== null && <span>{micros(data.latency_us)} a run</span>}
          <span>{Object.keys(data.kernels).length} kernels</span>
          {data.memory && <span>{bytes(data.memory.arena_bytes)} arena</span>}
          <span>{data.machine?.roofs?.cpu ?? data.target}</span>
        </p>
        <label class="theme"><span class="hidden">colours</span><select value={theme} onChange={(e) => setTheme(e.currentTarget.value)}>{THEMES.map((t) => <option key={t}>{t}</option>)}</select></label>
        <nav aria-label="views">{VIEWS.map(([name, label], i) => (
          <a key={name} href={link(where, { view: name })} aria-current={name === where.view ? "page" : undefined} title={`key ${i + 1}`}>{label}</a>))}</nav>
      </header>
      <main key={where.view} id="main"><View {...shared} /></main>
      {data.notes.length > 0 && <details class="notes"><summary>{data.notes.length} {data.notes.length === 1 ? "note" : "notes"}</summary><ul>{data.notes.map((n, i) => <li key={i}>{n}</li>)}</ul></details>}
    </>
  );
}

const root = document.getElementById("app")!;
read("report").then(
  (data) => { render(<App report={new Report(data as Data)} />, root); document.documentElement.dataset.ready = "true"; },
  (error) => { root.textContent = `This page's report cannot be read: ${error}`; },
);
