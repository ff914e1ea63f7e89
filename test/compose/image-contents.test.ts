import { execFileSync, spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { join, relative } from "node:path";
import { ROOT } from "../harness/compose-file";
import { testFolder } from "../harness/folder";

// Runs the last build step of the Dockerfile on copies of the files, without Docker.

const MEGABYTE = 1_000_000;
const MOST_BYTES = 30 * MEGABYTE;
const PROGRAMS = ["core", "edge", "cli", "deploy/compose", "demo/game", "demo/chat"];

const EXTERNAL = JSON.parse(readFileSync(join(ROOT, "scripts/external-libraries.json"), "utf8")) as string[];

/** Files in `node_modules` that only development needs. */
const DEVELOPMENT = [
  "node_modules/.package-lock.json",
  "node_modules/fast-check",
  "node_modules/@types/jest",
];

const folder = testFolder();

beforeAll(() => {
  const args = ["ls", "--omit=dev", "--all", "--parseable", "--no-workspaces"];
  const listed = execFileSync("npm", args, {
    cwd: ROOT,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  const packages = listed.split("\n").filter((path) => path.startsWith(join(ROOT, "node_modules/")));
  expect(packages.length).toBeGreaterThan(50);
  for (const path of packages) {
    // The links in node_modules are npm workspaces, whose folders are not in the image.
    if (lstatSync(path).isDirectory()) cpSync(path, join(folder, relative(ROOT, path)), { recursive: true });
  }
  for (const path of DEVELOPMENT) cpSync(join(ROOT, path), join(folder, path), { recursive: true });
  symlinkSync("../kit", join(folder, "node_modules/chat-bridge-kit"));
  cpSync(join(ROOT, "package.json"), join(folder, "package.json"));
  cpSync(join(ROOT, "dist"), join(folder, "dist"), { recursive: true });
  mkdirSync(join(folder, "dist/core/test"));
  execFileSync(process.execPath, [join(ROOT, "scripts/prune-image.mjs"), folder]);
});

const paths = () =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)));

test("the image contains no source maps, TypeScript, Markdown or native code, and no tests of packages", () => {
  const unwanted =
    /\.(map|[cm]?ts|node)$|^node_modules\/.*(\.md$|\/(tests?|__tests__|benchmarks?|\.github)\/)/;
  const kept = paths().filter((path) => unwanted.test(path) && !/licen[cs]e[^/]*$/i.test(path));
  expect(kept).toEqual([]);
  expect(existsSync(join(folder, "dist/core/test"))).toBe(true);
});

test("the image contains no packages for development, no npm workspaces and no files of npm", () => {
  const development = [...DEVELOPMENT, "node_modules/chat-bridge-kit"];
  expect(development.filter((path) => existsSync(join(folder, path)))).toEqual([]);
  const links = readdirSync(join(folder, "node_modules"), { recursive: true, withFileTypes: true });
  expect(links.filter((entry) => entry.isSymbolicLink())).toEqual([]);
});

test("the image contains the license of each package that has one", () => {
  const licenses = (files: readonly string[]) =>
    files.filter((path) => /(^|\/)licen[cs]e(\.\w+)?$/i.test(path) && !/\/tests?\//.test(path));
  const before = readdirSync(join(ROOT, "node_modules"), { recursive: true, encoding: "utf8" });
  const wanted = licenses(before).filter((path) => existsSync(join(folder, "node_modules", path, "..")));
  expect(wanted.length).toBeGreaterThan(50);
  expect(licenses(paths())).toEqual(expect.arrayContaining(wanted.map((path) => `node_modules/${path}`)));
});

test("the packages and the compiled programs take at most 30 MB", () => {
  const bytes = paths().reduce((sum, path) => sum + statSync(join(folder, path)).size, 0);
  expect(bytes).toBeLessThan(MOST_BYTES);
});

test.each(PROGRAMS)("the image contains all modules that %s loads", (name) => {
  const args = [join(folder, "dist", name, "main.js"), "--version"];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  expect([status, stdout, stderr]).toEqual([0, expect.stringMatching(/^chat-bridge \d/), ""]);
});

test.each(EXTERNAL)(
  "the image contains %s, which is not in the bundles, and all modules that it loads",
  (name) => {
    const { status, stderr } = spawnSync(process.execPath, ["-e", `require("${name}")`], {
      cwd: folder,
      encoding: "utf8",
    });
    expect([status, stderr]).toEqual([0, ""]);
  },
);
