import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { testFolder } from "../../../test/harness/folder";
import { startProgram } from "../../../test/harness/program";
import { until } from "../../../test/harness/wait";
import { FolderInUse, lockFolder, type FolderLock } from "../../folder-lock";

const root = testFolder();
const PROGRAM = join(root, "locking-process.js");
beforeAll(() => {
  const esbuild = join(dirname(require.resolve("esbuild/package.json")), "bin/esbuild");
  const source = join(__dirname, "../harness/locking-process.ts");
  const options = ["--bundle", "--platform=node", "--log-level=error", `--outfile=${PROGRAM}`];
  execFileSync(esbuild, [source, ...options]);
});

const newFolder = (): string => mkdtempSync(join(root, "folder-"));

/** Starts a process that tries to lock a folder for each call of `type`. */
const start = (folder: string) =>
  startProgram([process.execPath, PROGRAM], { cwd: root, environment: { FOLDER: folder } });

const isReady = (program: ReturnType<typeof start>) =>
  until("the process is ready", () => program.output().startsWith("ready\n"));

/** Lets a process try once. Resolves to "held" or the message of the error. */
async function tryOnce(program: ReturnType<typeof start>): Promise<string> {
  await isReady(program);
  const before = program.output().length;
  program.type("");
  await until("the process has tried", () => program.output().length > before);
  return program.output().slice(before).trim();
}

const sockets = (folder: string): readonly string[] =>
  readdirSync(folder).filter((name) => name.includes(".sock"));

test("a folder is locked for other processes until the holder is killed, and the next process acquires the lock at once", async () => {
  const folder = newFolder();
  const first = start(folder);
  expect(await tryOnce(first)).toBe("held");
  await expect(lockFolder(folder)).rejects.toThrow(FolderInUse);
  const message = `another process \\(pid \\d+\\) uses the folder ${folder}: stop that process, or choose another folder`;
  await expect(lockFolder(folder)).rejects.toThrow(new RegExp(`^${message}$`));
  await first.stop("SIGKILL");
  const lock = await lockFolder(folder);
  expect([lock.wasAbandoned, sockets(folder).length]).toEqual([true, 1]);
  lock.release();
});

test("a released lock leaves nothing in the folder, and can be acquired again", async () => {
  const folder = join(newFolder(), "created");
  for (let times = 0; times < 2; times++) {
    const lock = await lockFolder(folder);
    lock.release();
    lock.release();
    expect([lock.wasAbandoned, sockets(folder)]).toEqual([false, []]);
  }
});

test("a process that is suspended keeps its lock", async () => {
  const folder = newFolder();
  const first = start(folder);
  expect(await tryOnce(first)).toBe("held");
  first.signal("SIGSTOP");
  await expect(lockFolder(folder)).rejects.toThrow("another process uses the folder");
  first.signal("SIGCONT");
  await expect(lockFolder(folder)).rejects.toThrow(/another process \(pid \d+\)/);
});

test("of many concurrent attempts, exactly one acquires the lock, even if earlier holders were killed", async () => {
  const folder = newFolder();
  for (let round = 0; round < 3; round++) {
    const programs = Array.from({ length: 6 }, () => start(folder));
    await Promise.all(programs.map(isReady));
    const results = await Promise.all(programs.map(tryOnce));
    expect(results.filter((result) => result === "held")).toHaveLength(1);
    expect(results.filter((result) => result.includes("uses the folder"))).toHaveLength(5);
    await Promise.all(programs.map((program) => program.stop("SIGKILL")));
  }
  const inOneProcess = await Promise.allSettled(Array.from({ length: 20 }, () => lockFolder(folder)));
  const held = inOneProcess.filter(({ status }) => status === "fulfilled");
  expect(held).toHaveLength(1);
  expect(sockets(folder)).toHaveLength(1);
  (held[0] as PromiseFulfilledResult<FolderLock>).value.release();
});

test("two paths of the same folder have the same lock, and a path may be longer than the path of a socket", async () => {
  const folder = join(newFolder(), "long".repeat(20), "path".repeat(20));
  const link = join(root, "link");
  mkdirSync(folder, { recursive: true });
  symlinkSync(folder, link);
  for (const [one, other] of [
    [folder, link],
    [link, folder],
  ] as const) {
    const lock = await lockFolder(one);
    await expect(lockFolder(other)).rejects.toThrow(FolderInUse);
    lock.release();
    expect(readdirSync(folder)).toEqual([]);
  }
});

test("for a folder that cannot contain a socket, the error says what to do", async () => {
  await expect(lockFolder("/proc/self/fdinfo")).rejects.toThrow(
    /^cannot lock the folder \/proc\/self\/fdinfo: .*; .*folder/,
  );
  const file = join(newFolder(), "file");
  writeFileSync(file, "");
  await expect(lockFolder(file)).rejects.toThrow("EEXIST");
});
