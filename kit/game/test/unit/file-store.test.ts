import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { testFolder } from "../../../../test/harness/folder";
import { many } from "../../../../test/harness/for-all";
import { HANG_MS } from "../../../../test/harness/wait";
import { fileStore } from "../../file-store";
import { documentOf, testStoreContract } from "../harness/store-contract";

const root = testFolder();

describe("every store", () => testStoreContract((name) => fileStore(join(root, "contract", name))));

const PROGRAM = join(root, "saving-process.js");
beforeAll(() => {
  const esbuild = join(dirname(require.resolve("esbuild/package.json")), "bin/esbuild");
  const source = join(__dirname, "../harness/saving-process.ts");
  const options = ["--bundle", "--platform=node", "--log-level=error", `--outfile=${PROGRAM}`];
  execFileSync(esbuild, [source, ...options]);
});

/** Starts a process that saves the workspace "w". `versions` contains the versions that it has stored and printed. */
function startSaving(folder: string, environment: Record<string, string> = {}) {
  const child = spawn(process.execPath, [PROGRAM], {
    env: { FOLDER: folder, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let printed = "";
  let errors = "";
  child.stdout.on("data", (chunk: Buffer) => (printed += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  const closed = once(child, "close");
  return {
    kill: () => child.kill("SIGKILL"),
    firstSave: () => once(child.stdout, "data", { signal: AbortSignal.timeout(HANG_MS) }),
    async versions(): Promise<readonly number[]> {
      await closed;
      expect(errors).toBe("");
      return printed.split("\n").slice(0, -1).map(Number);
    },
  };
}

/** Returns the paths of all files in a folder. */
const filesIn = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
    statSync(join(folder, name)).isFile(),
  );

const save = (folder: string, version: number, wakeAtMs?: number) =>
  fileStore(folder).save("w", { version, document: documentOf(version) }, wakeAtMs);

test("processes that share a folder never store the same version", async () => {
  const folder = join(root, "shared");
  const children = [1, 2, 3].map(() => startSaving(folder, { SAVES: "100" }));
  const stored = (await Promise.all(children.map((child) => child.versions()))).flat();
  expect(stored.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 300 }, (_, i) => i + 1));
  expect((await fileStore(folder).load("w"))?.version).toBe(300);
});

test("many workspaces are saved at the same time with few open files", () => {
  const script = `ulimit -n 256 && exec "${process.execPath}" "${PROGRAM}"`;
  const env = { FOLDER: join(root, "many"), WORKSPACES: "1000" };
  expect(execFileSync("sh", ["-c", script], { env, encoding: "utf8" })).toBe("1000\n");
});

test("after kill -9, the store contains a complete document: the last printed version or the next version", async () => {
  const folder = join(root, "killed");
  const textLength = 200_000;
  let last = 0;
  for (let kills = 0; kills < many(20); kills++) {
    const child = startSaving(folder, { TEXT_LENGTH: String(textLength) });
    await child.firstSave();
    await sleep(Math.random() * 40);
    child.kill();
    last = (await child.versions()).at(-1) ?? last;
    const store = fileStore(folder);
    const found = await store.load("w");
    // The process can be killed after it has stored a version, and before it prints the version.
    expect([last, last + 1]).toContain(found?.version);
    last = found?.version ?? 0;
    expect(found?.document.states[""]).toMatchObject({ version: last, text: "x".repeat(textLength) });
    expect(await store.wakes()).toEqual([{ workspaceId: "w", atMs: last }]);
  }
  expect(await save(folder, last + 1)).toBe(true);
  expect(filesIn(join(folder, "workspaces"))).toHaveLength(1);
});

/** Returns the folder of a workspace's version 1. */
async function folderOfVersion1(folder: string): Promise<string> {
  await save(folder, 1, 1);
  const [step = ""] = readdirSync(join(folder, "workspaces/w"));
  return join(folder, "workspaces/w", step);
}

test("a version is stored even if the process was killed before it renamed the folder", async () => {
  const folder = join(root, "not-renamed");
  const step = await folderOfVersion1(folder);
  writeFileSync(
    join(step, "2.json"),
    readFileSync(join(step, "1.json"), "utf8").replace('{"wakeAtMs":1}', '{"wakeAtMs":2}'),
  );
  const store = fileStore(folder);
  expect(await store.load("w")).toEqual({ version: 2, document: documentOf(1) });
  expect(await store.wakes()).toEqual([{ workspaceId: "w", atMs: 2 }]);
  expect(await save(folder, 2)).toBe(false);
  expect(await save(folder, 3)).toBe(true);
  expect(await store.load("w")).toEqual({ version: 3, document: documentOf(3) });
  expect(filesIn(join(folder, "workspaces"))).toEqual([expect.stringMatching(/^w.3-[0-9a-f]+.3\.json$/)]);
});

test("unfinished files of crashed processes are removed, and those of running processes are kept", async () => {
  const folder = join(root, "unfinished");
  await save(folder, 1);
  const [crashed, running] = ["crashed", "running"].map((name) => join(folder, "unfinished", name));
  for (const path of [crashed, running])
    mkdirSync(join(path ?? "", "1-0000000000000000"), { recursive: true });
  utimesSync(crashed ?? "", new Date(), new Date(Date.now() - 3_600_000));
  await fileStore(folder).load("w");
  expect(readdirSync(join(folder, "unfinished"))).toEqual(["running"]);
});

test("only the current version of a document is kept, and a removed workspace leaves no files", async () => {
  const folder = join(root, "tidy");
  for (let version = 1; version <= 5; version++) await save(folder, version);
  expect(filesIn(folder)).toHaveLength(1);
  await fileStore(folder).remove("w");
  expect(filesIn(folder)).toEqual([]);
  expect(readdirSync(join(folder, "workspaces"))).toEqual([]);
});

test("only the owner can read the files", async () => {
  const folder = join(root, "private");
  await save(folder, 1);
  for (const name of ["", ...readdirSync(folder, { recursive: true, encoding: "utf8" })]) {
    const entry = statSync(join(folder, name));
    expect((entry.mode & 0o777).toString(8)).toBe(entry.isFile() ? "600" : "700");
  }
});

test("ids that look like paths stay inside the folder", async () => {
  const folder = join(root, "outer/inner");
  const store = fileStore(folder);
  for (const id of ["..", "../../escaped", "/tmp/escaped", "a/../../..", "."]) {
    expect(await store.save(id, { version: 1, document: documentOf(id) }, undefined)).toBe(true);
  }
  expect(readdirSync(join(root, "outer"))).toEqual(["inner"]);
  expect(readdirSync(folder).toSorted()).toEqual(["unfinished", "workspaces"]);
  expect(readdirSync(join(folder, "workspaces"))).toHaveLength(5);
  expect(existsSync(join(root, "escaped"))).toBe(false);
});

test("a damaged document is reported, and does not stop the timers of other workspaces", async () => {
  const folder = join(root, "damaged");
  const step = await folderOfVersion1(folder);
  const problems: string[] = [];
  const store = fileStore(folder, { report: ({ message }) => problems.push(message) });
  await store.save("other", { version: 1, document: documentOf(1) }, 9);
  writeFileSync(join(step, "1.json"), "");
  expect(await store.wakes()).toEqual([{ workspaceId: "other", atMs: 9 }]);
  expect(problems).toEqual([expect.stringContaining("skipped the timers of the workspace w: ")]);
  await expect(store.load("w")).rejects.toThrow(
    /^cannot read the workspace w in .*damaged.*1\.json is damaged.*; restore it from a backup, or remove the folder/,
  );
  // The store never creates a workspace's folder without a document, so an empty folder is damaged.
  mkdirSync(join(folder, "workspaces/empty"));
  await expect(store.load("empty")).rejects.toThrow(/empty is damaged: it contains no document/);
});

test("errors name the folder, and say what to do", async () => {
  const file = join(root, "file");
  writeFileSync(file, "");
  await expect(save(file, 1)).rejects.toThrow(
    `cannot save the workspace w in ${file} (a file has the name of the folder: choose another folder): `,
  );
  // Root can write to any folder.
  if (process.getuid?.() === 0) return;
  const readOnly = join(root, "read-only");
  await save(readOnly, 1);
  chmodSync(join(readOnly, "unfinished"), 0o500);
  await expect(save(readOnly, 2)).rejects.toThrow(
    `cannot save the workspace w in ${readOnly} (make the folder writable for the user of this process): EACCES`,
  );
  chmodSync(join(readOnly, "unfinished"), 0o700);
  expect(await save(readOnly, 2)).toBe(true);
});

test("a store whose folder could not be created works once the folder can be created", async () => {
  const parent = join(root, "later");
  writeFileSync(parent, "");
  const store = fileStore(join(parent, "games"));
  await expect(store.load("w")).rejects.toThrow("choose another folder");
  rmSync(parent);
  expect(await store.load("w")).toBeUndefined();
  expect(await store.save("w", { version: 1, document: documentOf(1) }, undefined)).toBe(true);
});
