// Machine code: TIR, LLVM's IR and assembly side by side. A line pointed at shows in all three.

import { useEffect, useRef } from "preact/hooks";
import { EditorView } from "@codemirror/view";
import { Empty, KernelList, Shared, chosen } from "../parts";
import { Code } from "../report";
import { markLines, viewer } from "../editor";

const PANES = ["TIR", "LLVM IR", "assembly"] as const;

export function CodeView(shared: Shared) {
  const cost = chosen(shared);
  if (!cost) return <Empty>The program has no kernel.</Empty>;
  const code = cost.kernel.code;
  return (
    <div class="split">
      <KernelList shared={shared} />
      <section class="main" aria-label={`machine code of ${cost.kernel.name}`}>
        <header class="head"><h2>{cost.kernel.name}</h2>{code && <Mix code={code} />}</header>
        {code ? <Panes shared={shared} code={code} name={cost.kernel.name} /> : <Empty>There is no machine code of this kernel in the report.</Empty>}
      </section>
    </div>
  );
}

function Mix({ code }: { code: Code }) {
  const total = Object.values(code.mix).reduce((a, b) => a + b, 0) || 1;
  const rows = Object.entries(code.mix).sort((a, b) => b[1] - a[1]);
  return (
    <div class="mix">
      <p class="facts"><span>{total} instructions</span><span class={code.spills ? "bad" : ""}>{code.spills ? `${code.spills} spills of registers` : "no register is spilled"}</span></p>
      <ul aria-label="instruction mix">{rows.map(([kind, n], i) => (
        <li key={kind}><span class="swatch" style={{ background: `hsl(${i * 47 + 210} 55% 58%)`, width: `${Math.max(4, (260 * n) / total)}px` }} />{kind} {n}</li>))}</ul>
    </div>
  );
}

function Panes({ shared, code, name }: { shared: Shared; code: Code; name: string }) {
  const boxes = [useRef<HTMLDivElement>(null), useRef<HTMLDivElement>(null), useRef<HTMLDivElement>(null)];
  useEffect(() => {
    const { report } = shared;
    const texts = [report.text(code.tir), report.text(code.ir), report.text(code.asm)];
    const lines = [null, code.ir_lines, code.asm_lines]; // a TIR line is its own
    const of: Map<number, number[]>[] = lines.map((list) => {
      const found = new Map<number, number[]>();
      list?.forEach((tir, i) => { if (tir) found.set(tir, [...(found.get(tir) ?? []), i + 1]); });
      return found;
    });
    const views: EditorView[] = [];
    let last = 0;
    const follow = (pane: number) => (line: number, pinned: boolean) => {
      const tir = pane === 0 ? line : lines[pane]![line - 1];
      if (tir === last && !pinned) return;
      last = tir;
      views.forEach((view, other) => {
        const shown = !tir ? [] : other === 0 ? [tir] : of[other].get(tir) ?? [];
        const effects: any[] = [markLines.of({ lines: shown, kind: "linked" })];
        if (pinned && other !== pane && shown.length && shown[0] <= view.state.doc.lines) {
          effects.push(EditorView.scrollIntoView(view.state.doc.line(shown[0]).from, { y: "center" }));
        }
        view.dispatch({ effects });
      });
    };
    texts.forEach((text, pane) => views.push(viewer(boxes[pane].current!, text, ["python", "llvm", "asm"][pane], `${PANES[pane]} of ${name}`, follow(pane))));
    return () => { views.forEach((v) => v.destroy()); boxes.forEach((b) => b.current?.replaceChildren()); };
  }, [shared.report, code, name]);
  return (
    <div class="panes">
      {PANES.map((title, i) => <div class="pane" key={title}><h3>{title}</h3><div class="editor" ref={boxes[i]} data-editor data-pane={title} /></div>)}
    </div>
  );
}
