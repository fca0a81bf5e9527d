// The worker in which Python runs: loads it once, then answers one question after another.

import { loadPyodide } from "./pyodide/pyodide.mjs";
import type { Answer, Question, Result } from "./messages";

type Session = { run_json: (program: string, schedule: string, sizes: string, seed: number) => string };

function say(answer: Answer): void {
  postMessage(answer);
}

async function started(): Promise<Session> {
  say({ kind: "progress", text: "Python" });
  const python = await loadPyodide({ indexURL: new URL("./pyodide/", import.meta.url).href });
  say({ kind: "progress", text: "numpy and the compiler" });
  const archive = await fetch(new URL("./python.zip", import.meta.url));
  if (!archive.ok) throw new Error(`python.zip: ${archive.status} ${archive.statusText}`);
  const folder = python.runPython("import site; site.getsitepackages()[0]") as string;
  python.unpackArchive(await archive.arrayBuffer(), "zip", { extractDir: folder });
  const session = python.pyimport("session") as Session;
  say({ kind: "ready" });
  return session;
}

const session = started();
session.catch((error: unknown) => say({ kind: "failed", text: String(error) }));

addEventListener("message", async (event: MessageEvent<Question>) => {
  const { program, schedule, sizes, seed } = event.data;
  try {
    const result = JSON.parse((await session).run_json(program, schedule, sizes, seed)) as Result;
    say({ kind: "result", result });
  } catch (error) {
    say({ kind: "failed", text: String(error) });
  }
});
