// Builds the documentation site from the Markdown pages of the repository.
//
//   node docs/site/build.mjs                 builds the site in dist/docs-site/
//   node docs/site/build.mjs --out <folder>  builds the site in another folder
//   node docs/site/build.mjs --serve         builds the site, and serves it on this machine
//   node docs/site/build.mjs --install       only installs the packages that the build needs
//   node docs/site/build.mjs --check         only checks the links of the pages
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { deadLinks } from "./links.mjs";
import { readRepository } from "./repository.mjs";
import { stage } from "./stage.mjs";

const HERE = import.meta.dirname;
const ROOT = join(HERE, "../..");

/** Installs the packages in docs/site/package.json, unless they are already installed. */
function install() {
  const { dependencies } = JSON.parse(readFileSync(join(HERE, "package.json"), "utf8"));
  const isInstalled = Object.entries(dependencies).every(([name, version]) => {
    const file = join(HERE, "node_modules", name, "package.json");
    return existsSync(file) && JSON.parse(readFileSync(file, "utf8")).version === version;
  });
  if (isInstalled) return;
  process.stdout.write("installing the packages of docs/site/package.json …\n");
  const { status } = spawnSync("npm", ["install", "--silent", "--no-save"], { cwd: HERE, stdio: "inherit" });
  if (status !== 0) fail("cannot build the site: npm install failed in docs/site");
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

const { values: options } = parseArgs({
  options: {
    check: { type: "boolean" },
    install: { type: "boolean" },
    out: { type: "string" },
    serve: { type: "boolean" },
  },
});
if (options.install) {
  install();
  process.exit();
}
const repository = readRepository(ROOT);
const dead = deadLinks(repository);
if (dead.length > 0) fail(dead.join("\n"));
if (!options.check) {
  install();
  stage(ROOT, repository, join(ROOT, "dist/docs-site-pages"));
  const { build, serve } = await import("vitepress");
  const out = options.out === undefined ? join(ROOT, "dist/docs-site") : resolve(options.out);
  await build(HERE, { outDir: out });
  process.stdout.write(`the site is in ${relative(process.cwd(), out)}/\n`);
  if (options.serve) await serve({ root: HERE });
}
