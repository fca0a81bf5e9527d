// Parts that several views share.

import { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Report, hue, micros } from "./report";

export interface Where { view: string; kernel: string; node: string }
export interface Shared { report: Report; where: Where; go: (to: Partial<Where>) => void; dark: boolean }

export function link(where: Where, to: Partial<Where>): string {
  const all = { ...where, ...to };
  const query = new URLSearchParams();
  query.set("view", all.view);
  if (all.kernel) query.set("kernel", all.kernel);
  if (all.node) query.set("node", all.node);
  return "#" + query.toString();
}

export function KernelLink({ shared, name, view = "kernel" }: { shared: Shared; name: string; view?: string }) {
  if (!shared.report.byName.has(name)) return <span>{name}</span>;
  return <a class="kernel" href={link(shared.where, { view, kernel: name })}><Dot name={name} />{name}</a>;
}

export function Dot({ name }: { name: string }) {
  return <span class="dot" style={{ background: `hsl(${hue(name)} 65% 55%)` }} aria-hidden="true" />;
}

/** The kernels, dearest first; the chosen one is in the address. */
export function KernelList({ shared }: { shared: Shared }) {
  const { report, where } = shared;
  const [wanted, setWanted] = useState("");
  const found = useMemo(() => {
    const words = wanted.toLowerCase();
    return report.costs.filter(({ kernel, calls }) =>
      !words || kernel.name.toLowerCase().includes(words) || calls.some((c) => report.sourceNames(report.data.calls[c].sources).toLowerCase().includes(words)));
  }, [report, wanted]);
  const total = report.total() || 1;
  return (
    <nav class="kernels" aria-label="kernels">
      <input type="search" class="search" placeholder="Find a kernel or node" aria-label="Find a kernel or node" value={wanted}
        onInput={(e) => setWanted(e.currentTarget.value)} />
      <ul>
        {found.map(({ kernel, measured, calls }) => (
          <li key={kernel.name}>
            <a href={link(where, { kernel: kernel.name })} aria-current={kernel.name === chosen(shared)?.kernel.name ? "true" : undefined}>
              <span class="name"><Dot name={kernel.name} />{kernel.name}</span>
              <span class="cost">{micros(measured)}{calls.length > 1 ? ` · ${calls.length} calls` : ""}</span>
              <span class="bar" style={{ width: `${(100 * (measured ?? 0)) / total}%` }} />
            </a>
          </li>
        ))}
      </ul>
      {!found.length && <p class="quiet">No kernel is called so.</p>}
    </nav>
  );
}

export function chosen(shared: Shared) {
  return shared.report.byName.get(shared.where.kernel) ?? shared.report.costs[0];
}

export function Tabs<T extends string>({ label, names, value, set }: { label: string; names: readonly T[]; value: T; set: (v: T) => void }) {
  return (
    <div class="tabs" role="group" aria-label={label}>
      {names.map((name) => <button type="button" key={name} aria-pressed={name === value} onClick={() => set(name)}>{name}</button>)}
    </div>
  );
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}

/** The size of an element, as it changes. */
export function useSize<T extends HTMLElement>() {
  const ref = useRef<T>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  useEffect(() => {
    if (!ref.current) return;
    const seen = new ResizeObserver(([entry]) => setSize({ width: entry.contentRect.width, height: entry.contentRect.height }));
    seen.observe(ref.current);
    return () => seen.disconnect();
  }, []);
  return [ref, size] as const;
}

/** A colour of the page, for what is drawn on a canvas. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

export function download(name: string, content: string, kind = "application/json") {
  const anchor = document.createElement("a");
  anchor.href = URL.createObjectURL(new Blob([content], { type: kind }));
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(anchor.href), 1000);
}
