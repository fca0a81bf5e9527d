// Tuning: the best time so far of each kernel over its trials, and its fastest program beside the rule's.

import { useEffect, useMemo, useState } from "preact/hooks";
import uPlot from "uplot";
import { Empty, Shared, colour, useSize } from "../parts";
import { Curve, hue, micros } from "../report";
import { Stages } from "./kernel";

export function TuningView(shared: Shared) {
  const curves = shared.report.data.curves;
  const [at, setAt] = useState(0);
  if (!curves.length) return <Empty>No tuning records were given. <code>tvm view MODEL --records FOLDER</code> shows the curves of a search.</Empty>;
  const curve = curves[Math.min(at, curves.length - 1)];
  return (
    <div class="stack"><section>
      <h2>Search</h2>
      <div class="tools"><label>kernel <select value={at} onChange={(e) => setAt(Number(e.currentTarget.value))}>{curves.map((c, i) => <option key={i} value={i}>{c.task}</option>)}</select></label></div>
      <Plot curve={curve} dark={shared.dark} />
      <div class="table-box" tabIndex={0} role="region" aria-label="tuned kernels">
        <table><thead><tr><th>kernel</th><th class="right">trials</th><th class="right">failed</th><th class="right">first</th><th class="right">best</th><th class="right">gain</th></tr></thead>
          <tbody>{curves.map((c, i) => { const good = c.seconds.filter((s): s is number => s !== null), best = Math.min(...good); return (
            <tr key={i}><td><button type="button" class="as-link" onClick={() => setAt(i)}>{c.task}</button></td><td class="right">{c.seconds.length}</td><td class="right">{c.seconds.length - good.length}</td>
              <td class="right">{good.length ? micros(good[0] * 1e6) : "–"}</td><td class="right">{good.length ? micros(best * 1e6) : "–"}</td><td class="right">{good.length ? (good[0] / best).toFixed(2) : "–"}</td></tr>); })}</tbody></table>
      </div>
    </section>
    {curve.stages.length > 0 && <section>
      <h2>Programs of {curve.task}</h2>
      <Stages shared={shared} stages={curve.stages} name={curve.task} note="" />
    </section>}</div>
  );
}

function Plot({ curve, dark }: { curve: Curve; dark: boolean }) {
  const [ref, size] = useSize<HTMLDivElement>();
  const data = useMemo(() => {
    let best = Infinity;
    const so = curve.seconds.map((s) => { if (s !== null) best = Math.min(best, s); return best === Infinity ? null : best * 1e6; });
    return [curve.seconds.map((_, i) => i + 1), curve.seconds.map((s) => (s === null ? null : s * 1e6)), so] as uPlot.AlignedData;
  }, [curve]);
  useEffect(() => {
    if (!ref.current || !size.width) return;
    const tone = `hsl(${hue(curve.task)} 55% 55%)`;
    const axis = { stroke: colour("--quiet"), grid: { stroke: colour("--line") } };
    const plot = new uPlot({
      width: size.width, height: 300, scales: { x: { time: false }, y: { distr: 3 } }, axes: [axis, { ...axis, size: 80, values: (_u, v) => v.map((n) => (n === null ? "" : micros(n))) }],
      series: [{ label: "trial" }, { label: "took", stroke: tone, paths: () => null, points: { show: true, size: 5 }, value: (_u, v) => micros(v) },
        { label: "best so far", stroke: colour("--accent"), width: 2, paths: uPlot.paths.stepped!({ align: 1 }), points: { show: false }, value: (_u, v) => micros(v) }],
    }, data, ref.current);
    return () => plot.destroy();
  }, [data, size.width, dark]);
  return <div ref={ref} class="uplot-box" role="img" aria-label={`times of the trials of ${curve.task}`} />;
}
