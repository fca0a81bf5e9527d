// Makes the page: node build.mjs FOLDER TYPING_EXTENSIONS, where the second is the path of that module's file.
// Python in the page is Pyodide; numpy is built for it; what is ours is taken from the repository as it is.
import { copyFileSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { loadPyodide } from "pyodide";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "..", "..");
const out = resolve(process.argv[2]);
const typing = resolve(process.argv[3]);

// Parts of the package that the floors of this page do not stand on.
const LEFT_OUT = ["contrib", "exec", "meta_schedule", "relay", "report", "rpc", "serve"];

function example(file) {
  const [program, schedule] = readFileSync(join(here, "examples", file), "utf8").split("# --- schedule\n");
  const title = program.split("\n", 1)[0].replace(/^# /, "");
  return { title, program, schedule, sizes: title.match(/\(sizes: (.*)\)/)?.[1] ?? "" };
}

const order = ["matmul.txt", "stencil.txt", "softmax.txt", "rule.txt", "refused.txt"];
const rest = readdirSync(join(here, "examples")).filter((file) => !order.includes(file)).sort();
const examples = [...order, ...rest].map(example);

mkdirSync(join(out, "pyodide"), { recursive: true });
await build({
  entryPoints: { app: join(here, "src", "main.ts"), worker: join(here, "src", "worker.ts") },
  outdir: out, bundle: true, minify: true, format: "esm", target: "es2022", legalComments: "none", charset: "ascii",
  external: ["./pyodide/pyodide.mjs"], define: { EXAMPLES: JSON.stringify(examples) },
});
for (const file of ["index.html", "style.css"]) copyFileSync(join(here, "src", file), join(out, file));
const pyodide = join(here, "node_modules", "pyodide");
for (const file of ["pyodide.mjs", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json"]) {
  copyFileSync(join(pyodide, file), join(out, "pyodide", file));
}

// The Python of the page, put together by that Python: what it loads lies there compiled as well.
const numpy = join(here, "node_modules", "@emscripten-forge", "numpy", "pkg");
const python = await loadPyodide({ indexURL: pyodide + "/" });
const mounts = { repository: root, playground: here, numpy, typing: dirname(typing) };
for (const [name, folder] of Object.entries(mounts)) {
  python.FS.mkdirTree(`/from/${name}`);
  python.FS.mount(python.FS.filesystems.NODEFS, { root: folder }, `/from/${name}`);
}
python.globals.set("left_out", python.toPy(LEFT_OUT));
python.globals.set("examples", python.toPy(examples));
const archive = python.runPython(readFileSync(join(here, "pack.py"), "utf8"));
writeFileSync(join(out, "python.zip"), archive.toJs());

// Whose code the page holds, and under which terms.
const packages = new Set(["pyodide", "@emscripten-forge/numpy", "crelt", "style-mod", "w3c-keyname"]);
for (const scope of ["@codemirror", "@lezer", "@marijn"]) {
  for (const name of readdirSync(join(here, "node_modules", scope))) packages.add(`${scope}/${name}`);
}
const texts = [...packages].sort().map((name) => {
  const folder = join(here, "node_modules", name);
  const info = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((f) => /^licen[cs]e/i.test(f));
  const own = name.endsWith("/numpy") ? python.globals.get("numpy_licence") : `its source: ${info.homepage ?? info.repository?.url}`;
  const text = file ? readFileSync(join(folder, file), "utf8").trim() : own;
  return `${name} ${info.version} (${info.license})\n${"-".repeat(60)}\n${text}\n`;
});
writeFileSync(join(out, "LICENSES.txt"), "The page holds code of these packages.\n\n" + texts.join("\n"));
process.exit(0); // Python's runtime would keep the process
