// Bundles the page: src/*.tsx and the packages it stands on become app.js and app.css, with the
// licences of all of them beside. The first line of app.js tells what it was made from.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync, existsSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "..", "tvm", "report", "static");

function sources(folder) {
  return readdirSync(folder, { withFileTypes: true })
    .flatMap((e) => (e.isDirectory() ? sources(join(folder, e.name)) : [join(folder, e.name)]))
    .sort();
}

export function digest() {
  const hash = createHash("sha256");
  for (const path of [...sources(join(here, "src")), join(here, "package-lock.json"), join(here, "build.mjs")]) {
    hash.update(relative(here, path).replaceAll("\\", "/") + "\0");
    hash.update(readFileSync(path));
  }
  return hash.digest("hex").slice(0, 32);
}

const made = await build({
  entryPoints: [join(here, "src", "main.tsx")],
  outfile: join(out, "app.js"),
  bundle: true, minify: true, format: "iife", target: "es2022", metafile: true,
  jsx: "automatic", jsxImportSource: "preact", legalComments: "none", charset: "ascii",
  banner: { js: `/* made from web/src ${digest()} */` },
});

// Whose code is in the bundle, and under which terms.
const packages = new Set();
for (const input of Object.keys(made.metafile.inputs)) {
  const found = input.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//);
  if (found) packages.add(found[1]);
}
const texts = [...packages].sort().map((name) => {
  const root = join(here, "node_modules", name);
  const info = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const file = readdirSync(root).find((f) => /^licen[cs]e/i.test(f));
  const text = file && existsSync(join(root, file)) ? readFileSync(join(root, file), "utf8").trim() : "";
  if (!text) throw new Error(`${name} has no licence file`);
  return `${name} ${info.version} (${info.license})\n${"-".repeat(60)}\n${text}\n`;
});
writeFileSync(join(out, "LICENSES.txt"), "The page holds code of these packages.\n\n" + texts.join("\n\n"));
console.log(`${packages.size} packages, ${readFileSync(join(out, "app.js")).length} bytes of script`);
