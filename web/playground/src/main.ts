// The page: two texts to write, a worker that runs them, and what came of it.

import { EditorView } from "@codemirror/view";
import { markWrong, reader, write, writer } from "./editors";
import type { Answer, Example, Question, Result, Value } from "./messages";

declare const EXAMPLES: Example[]; // put in when the page is bundled

function part<T extends HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

const root = document.documentElement;
const runButton = part<HTMLButtonElement>("run");
const stopButton = part<HTMLButtonElement>("stop");
const chooser = part<HTMLSelectElement>("example");
const sizes = part<HTMLInputElement>("sizes");
const changes = part<HTMLInputElement>("changes");
const status = part("status");
const tabs = part("tabs");
const shown = part("shown");
const program = writer(part("program"), "the program", run);
const schedule = writer(part("schedule"), "the schedule", run);

let worker: Worker;
let ready = false;
let running = false;
let since = 0;
let result: Result | null = null;
let chosen = "Scheduled";
let view: EditorView | null = null;

function start(): void {
  ready = false;
  worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
  worker.onmessage = (event: MessageEvent<Answer>) => hear(event.data);
  worker.onerror = (event) => hear({ kind: "failed", text: event.message || "the worker could not be loaded" });
}

function hear(answer: Answer): void {
  if (answer.kind === "progress") say(`loading ${answer.text} ...`, "busy");
  if (answer.kind === "ready") {
    ready = true;
    if (running) ask(); else say("ready", "ready");
  }
  if (answer.kind === "result") {
    running = false;
    result = answer.result;
    finished();
  }
  if (answer.kind === "failed") {
    running = false;
    say(answer.text, "failed");
  }
  runButton.disabled = running;
  stopButton.disabled = !running;
}

function say(text: string, state: string): void {
  status.textContent = text;
  root.dataset.state = state;
}

function run(): void {
  if (running) return;
  running = true;
  runButton.disabled = true;
  stopButton.disabled = false;
  markWrong(program, null);
  markWrong(schedule, null);
  if (ready) ask();
}

function ask(): void {
  since = performance.now();
  say("running ...", "busy");
  const question: Question = {
    program: program.state.doc.toString(), schedule: schedule.state.doc.toString(), sizes: sizes.value, seed: 0,
  };
  worker.postMessage(question);
}

function stop(): void {
  worker.terminate();
  running = false;
  runButton.disabled = false;
  stopButton.disabled = true;
  start();
}

function finished(): void {
  if (!result) return;
  const error = result.error;
  const seconds = ((performance.now() - since) / 1000).toFixed(2);
  if (error) {
    const where = error.line === null ? "" : `, line ${error.line}`;
    say(`${error.part}${where}: refused after ${seconds} s`, "refused");
    if (error.part === "program") markWrong(program, error.line);
    if (error.part === "schedule") markWrong(schedule, error.line);
    chosen = "Error";
  } else {
    const same = result.values.every((value) => value.same);
    const close = result.values.every((value) => value.same || value.apart <= 1e-4 * value.scale);
    say(`${seconds} s; ${same ? "the schedule changed no value" : close ? "the schedule changed values by rounding alone" : "the schedule CHANGED THE RESULT"}`, "done");
    if (chosen === "Error") chosen = "Scheduled";
  }
  show();
}

function names(): string[] {
  if (!result) return [];
  const found = result.error ? ["Error"] : ["Values"];
  found.push(...result.stages.map((stage) => stage.name));
  if (result.printed) found.push("Printed");
  return found;
}

function show(): void {
  const found = names();
  if (!found.includes(chosen)) chosen = found.includes("Scheduled") ? "Scheduled" : found[found.length - 1] ?? "";
  tabs.replaceChildren(...found.map((name) => {
    const button = document.createElement("button");
    button.textContent = name;
    button.setAttribute("aria-pressed", String(name === chosen));
    button.onclick = () => { chosen = name; show(); };
    return button;
  }));
  view?.destroy();
  view = null;
  shown.replaceChildren();
  root.dataset.tab = chosen;
  if (!result) return;
  if (chosen === "Values") shown.append(...result.values.map(tensor));
  else if (chosen === "Error") shown.append(block("error", result.error?.text ?? ""));
  else if (chosen === "Printed") shown.append(block("printed", result.printed));
  else {
    const at = result.stages.findIndex((stage) => stage.name === chosen);
    view = reader(shown, chosen, result.stages[at].text, changes.checked ? earlier(at) : null);
  }
}

/** The program's text before this stage; none before the first, and for what is no program. */
function earlier(at: number): string | null {
  const programs = ["Program", "Scheduled", "Lowered"];
  if (!result || !programs.includes(result.stages[at].name)) return null;
  const before = result.stages.slice(0, at).filter((stage) => programs.includes(stage.name));
  return before.length ? before[before.length - 1].text : null;
}

function block(kind: string, text: string): HTMLElement {
  const made = document.createElement("pre");
  made.className = kind;
  made.tabIndex = 0;
  made.textContent = text;
  return made;
}

function tensor(value: Value): HTMLElement {
  const made = document.createElement("section");
  const head = document.createElement("h2");
  head.textContent = `${value.name}: ${value.dtype} ${value.shape.join(" x ")}`;
  const note = document.createElement("p");
  note.textContent = value.same ? "the same with and without the schedule" : `largest difference to the program without the schedule: ${value.apart.toExponential(1)}`;
  made.append(head, note, block("value", value.text));
  return made;
}

function choose(number: number): void {
  const example = EXAMPLES[number];
  write(program, example.program);
  write(schedule, example.schedule);
  sizes.value = example.sizes;
}

chooser.append(...EXAMPLES.map((example, number) => new Option(example.title, String(number))));
chooser.onchange = () => { choose(Number(chooser.value)); run(); };
runButton.onclick = run;
stopButton.onclick = stop;
changes.onchange = show;
sizes.onkeydown = (event) => { if (event.key === "Enter") run(); };
choose(0);
if (location.protocol === "file:") {
  say("browsers load Python only from a server: python -m http.server -d site, then /playground/", "failed");
} else {
  start();
  run();
}
