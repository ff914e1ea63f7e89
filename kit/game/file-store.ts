import { randomBytes } from "node:crypto";
import {
  link,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  unlink,
  type FileHandle,
} from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { createDurably, syncFolder } from "../durable-file";
import { errorOf, warn } from "../problem";
import type { WorkspaceDocument } from "./document";
import type { GameStore, StoredDocument, Wake } from "./store";

export interface FileStoreOptions {
  /** Called when the file of a workspace is damaged, so that its timers are skipped. The default emits a process warning. */
  readonly report?: (problem: Error) => void;
}

/**
 * Returns a store that keeps each document in a file. Several processes on one machine can share the folder. Network
 * file systems are not supported. The store creates the folder if it does not exist, readable only by its owner. After
 * a crash of the process or of the machine, a workspace has the complete old document or the complete new document.
 */
export function fileStore(folder: string, { report = warn }: FileStoreOptions = {}): GameStore {
  const files = new DocumentFiles(folder, report);
  const slots = new Slots(CALLS_AT_ONCE);
  let prepared: Promise<void> | undefined;

  /** Runs `act` once the folder is prepared. Errors contain the path of the folder and advice. */
  async function within<T>(what: string, act: () => Promise<T>): Promise<T> {
    await slots.take();
    try {
      await (prepared ??= files.prepare().catch((error: unknown) => {
        prepared = undefined;
        throw error;
      }));
      return await act();
    } catch (error) {
      throw errorOf(`cannot ${what} in ${folder}${adviceFor(error)}`, error);
    } finally {
      slots.give();
    }
  }

  return {
    load: (id) => within(`read the workspace ${id}`, () => files.load(id)),
    save: (id, stored, wakeAtMs) =>
      within(`save the workspace ${id}`, () => files.save(id, stored, wakeAtMs)),
    remove: (id) => within(`remove the workspace ${id}`, () => files.remove(id)),
    wakes: () => within("read the workspaces", () => files.wakes()),
  };
}

/** A fixed number of slots. Callers acquire them in order. */
class Slots {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  async take(): Promise<void> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => void this.#waiting.push(resolve));
  }

  give(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }
}

/** The current folder and file of a workspace. */
interface Found {
  /** The folder that the next save adds a file to. */
  readonly path: string;
  readonly version: number;
}

/** First line of a file. The second line is the document. */
interface Header {
  readonly wakeAtMs?: number;
}

/** Age from which an unfinished file is assumed to belong to a crashed process. */
const UNFINISHED_FOR_MS = 600_000;
/** Maximum number of calls in progress. Further calls wait, so that many workspaces do not need many open files. */
const CALLS_AT_ONCE = 32;
/** Number of workspaces that `wakes` reads at the same time. */
const READ_AT_ONCE = 32;
/** Maximum number of attempts to read a workspace that other processes are saving. */
const READS_MOST = 1_000;
/** Longest first line of a file, in bytes. */
const HEADER_BYTES = 256;
/** The name of a folder with documents: its version, and a random part. */
const STEP_FORM = /^([1-9][0-9]{0,15})-[0-9a-f]{16}$/;
const FILE_FORM = /^([1-9][0-9]{0,15})\.json$/;

/**
 * The files of a store:
 *
 *     workspaces/<workspace>/5-<random>/5.json   version 5, the current version
 *     unfinished/<random>                        files that are being written or removed
 *
 * A process saves version 6 in two steps:
 *
 * 1. The process links a complete, synced file to `5-<random>/6.json`. Of several processes, one succeeds. Version 6 is
 *    then stored.
 * 2. The process renames `5-<random>` to `6-<other random>`, and removes `5.json`. If it crashes before the rename, the
 *    next process that saves the workspace performs the rename.
 *
 * A name of the form `5-<random>` is never used again. So a process that has read version 5 cannot add a file once
 * later versions were stored, even if they were removed.
 */
class DocumentFiles {
  readonly #folder: string;
  readonly #workspaces: string;
  readonly #unfinished: string;

  readonly #report: (problem: Error) => void;

  constructor(folder: string, report: (problem: Error) => void) {
    this.#report = report;
    this.#folder = folder;
    this.#workspaces = join(folder, "workspaces");
    this.#unfinished = join(folder, "unfinished");
  }

  /** Creates the folders, and removes the unfinished files of crashed processes. */
  async prepare(): Promise<void> {
    const created = await mkdir(this.#workspaces, { recursive: true, mode: 0o700 });
    await mkdir(this.#unfinished, { recursive: true, mode: 0o700 });
    if (created !== undefined)
      for (const path of [this.#folder, dirname(this.#folder)]) await syncFolder(path);
    const beforeMs = Date.now() - UNFINISHED_FOR_MS;
    for (const name of await readdir(this.#unfinished)) {
      const path = join(this.#unfinished, name);
      const changed = await unlessMissing(stat(path));
      if (changed !== undefined && changed.mtimeMs < beforeMs)
        await rm(path, { recursive: true, force: true });
    }
  }

  async load(workspaceId: string): Promise<StoredDocument | undefined> {
    return this.#read(workspaceId, async ({ path, version }) => {
      const file = join(path, `${version}.json`);
      const text = await readFile(file, "utf8");
      try {
        const document = JSON.parse(text.slice(text.indexOf("\n") + 1)) as WorkspaceDocument;
        return { version, document };
      } catch (error) {
        throw damaged(file, error);
      }
    });
  }

  async save(
    workspaceId: string,
    { version, document }: StoredDocument,
    wakeAtMs: number | undefined,
  ): Promise<boolean> {
    const header: Header = wakeAtMs === undefined ? {} : { wakeAtMs };
    const text = `${JSON.stringify(header)}\n${JSON.stringify(document)}\n`;
    if (version === 1) return this.#create(workspaceId, text);
    const found = await this.#read(workspaceId, async (each) => each);
    if (found?.version !== version - 1) return false;
    const step = await this.#finishStep(workspaceId, found);
    return step !== undefined && this.#add(workspaceId, { path: step, version }, text);
  }

  async remove(workspaceId: string): Promise<void> {
    const removed = this.#newPath();
    // Once the folder is renamed, other processes can no longer save to it.
    const isRemoved = await unlessMissing(rename(this.#pathOf(workspaceId), removed).then(() => true));
    if (isRemoved === undefined) return;
    await syncFolder(this.#workspaces);
    await rm(removed, { recursive: true, force: true });
  }

  async wakes(): Promise<readonly Wake[]> {
    const names = await readdir(this.#workspaces);
    const found: Wake[] = [];
    const readNext = async (): Promise<void> => {
      for (let name = names.pop(); name !== undefined; name = names.pop()) {
        const workspaceId = idOf(name);
        const atMs = workspaceId === undefined ? undefined : await this.#wakeAtMs(workspaceId);
        if (workspaceId !== undefined && atMs !== undefined) found.push({ workspaceId, atMs });
      }
    };
    await Promise.all(Array.from({ length: READ_AT_ONCE }, readNext));
    return found;
  }

  /** One damaged file must not stop the timers of all workspaces, so it is reported and skipped. */
  async #wakeAtMs(workspaceId: string): Promise<number | undefined> {
    try {
      return await this.#read(workspaceId, async ({ path, version }) =>
        readWake(join(path, `${version}.json`)),
      );
    } catch (error) {
      if (!(error instanceof DamagedError)) throw error;
      this.#report(errorOf(`skipped the timers of the workspace ${workspaceId}`, error));
      return undefined;
    }
  }

  /** Stores version 1 by moving a complete folder into place, unless the workspace already exists. */
  async #create(workspaceId: string, text: string): Promise<boolean> {
    const created = this.#newPath();
    const step = join(created, stepName(1));
    try {
      await mkdir(step, { recursive: true, mode: 0o700 });
      await createDurably(join(step, "1.json"), text);
      await syncFolder(step);
      await syncFolder(created);
      // The rename fails if another process has created the workspace.
      await rename(created, this.#pathOf(workspaceId));
    } catch (error) {
      await rm(created, { recursive: true, force: true });
      if ((await unlessMissing(stat(this.#pathOf(workspaceId)))) !== undefined) return false;
      throw error;
    }
    await syncFolder(this.#workspaces);
    return true;
  }

  /** Adds a version to a folder without later versions. Resolves to false if another process has added the version. */
  async #add(workspaceId: string, { path, version }: Found, text: string): Promise<boolean> {
    const written = this.#newPath();
    let step: FileHandle | undefined;
    try {
      await createDurably(written, text);
      // Another process can rename the folder as soon as the link exists, so the folder is opened first.
      if (process.platform !== "win32") step = await unlessMissing(open(path, "r"));
      const isAdded = await unlessMissing(link(written, join(path, `${version}.json`)).then(() => true));
      if (isAdded === undefined) return false;
      await step?.sync();
    } finally {
      await step?.close();
      await rm(written, { force: true });
    }
    // The version is stored. If the rename fails, the next save repeats it.
    await this.#finishStep(workspaceId, { path, version }).catch(() => undefined);
    return true;
  }

  /**
   * Renames the folder of a version, unless it already has the name of this version, and removes the earlier versions.
   * Returns the path of the folder; undefined if another process has renamed it.
   */
  async #finishStep(workspaceId: string, { path, version }: Found): Promise<string | undefined> {
    if (versionOf(path) === version) return path;
    const next = join(this.#pathOf(workspaceId), stepName(version));
    const isRenamed = await unlessMissing(rename(path, next).then(() => true));
    if (isRenamed === undefined) return undefined;
    const files = (await unlessMissing(readdir(next))) ?? [];
    const old = files.filter((name) => numberIn(FILE_FORM, name) < version);
    await Promise.all(old.map((name) => unlessMissing(unlink(join(next, name)))));
    return next;
  }

  /**
   * Finds the current version of a workspace, and calls `use` with it. Repeats this if another process renames or
   * removes the files meanwhile. Resolves to undefined if the workspace is not stored.
   */
  async #read<T>(workspaceId: string, use: (found: Found) => Promise<T>): Promise<T | undefined> {
    const workspace = this.#pathOf(workspaceId);
    for (let reads = 0; reads < READS_MOST; reads++) {
      const steps = await unlessMissing(readdir(workspace));
      if (steps === undefined) return undefined;
      const step = newest(STEP_FORM, steps);
      const path = join(workspace, step);
      const file = step === "" ? "" : newest(FILE_FORM, (await unlessMissing(readdir(path))) ?? []);
      if (file === "") continue;
      const version = numberIn(FILE_FORM, file);
      const used = await unlessMissing(use({ path, version }).then((value) => ({ value })));
      if (used !== undefined) return used.value;
    }
    throw damaged(workspace, new Error("it contains no document"));
  }

  #pathOf(workspaceId: string): string {
    return join(this.#workspaces, nameOf(workspaceId));
  }

  #newPath(): string {
    return join(this.#unfinished, randomBytes(16).toString("hex"));
  }
}

class DamagedError extends Error {}

function damaged(path: string, cause: unknown): DamagedError {
  const { message } = errorOf(`${path} is damaged`, cause);
  return new DamagedError(
    `${message}; restore it from a backup, or remove the folder of the workspace to start again`,
    {
      cause,
    },
  );
}

/** Returns the wake time in a file, without reading the document. */
async function readWake(path: string): Promise<number | undefined> {
  const file = await open(path, "r");
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEADER_BYTES), 0, HEADER_BYTES, 0);
    const [line = ""] = buffer.toString("utf8", 0, bytesRead).split("\n", 1);
    return (JSON.parse(line) as Header).wakeAtMs;
  } catch (error) {
    throw error instanceof SyntaxError ? damaged(path, error) : error;
  } finally {
    await file.close();
  }
}

const stepName = (version: number): string => `${version}-${randomBytes(8).toString("hex")}`;

const versionOf = (path: string): number => numberIn(STEP_FORM, basename(path));

/** Returns the number in a name; 0 if the name does not match `form`. */
const numberIn = (form: RegExp, name: string): number => Number(form.exec(name)?.[1] ?? 0);

/** Returns the name with the highest number; "" if no name matches `form`. */
function newest(form: RegExp, names: readonly string[]): string {
  let found = "";
  for (const name of names) if (numberIn(form, name) > numberIn(form, found)) found = name;
  return found;
}

const PLAIN = /^[a-z0-9_-]$/;
const NAME_FORM = /^(?:[a-z0-9_-]|%[0-9a-f]{2})+$/;
/** Name of the folder of the workspace whose id is empty. */
const EMPTY_NAME = "%";

/**
 * Returns the name of a workspace's folder. Escapes all bytes except lower-case letters, digits, "_" and "-". So no
 * name can lead out of the folder. Ids that differ only in case have different names on every file system.
 */
function nameOf(workspaceId: string): string {
  if (workspaceId === "") return EMPTY_NAME;
  let name = "";
  for (const byte of Buffer.from(workspaceId)) {
    const character = String.fromCharCode(byte);
    name += PLAIN.test(character) ? character : `%${byte.toString(16).padStart(2, "0")}`;
  }
  return name;
}

/** Returns the id of the workspace whose folder has this name; undefined if a store never creates such a name. */
function idOf(name: string): string | undefined {
  if (name === EMPTY_NAME) return "";
  try {
    return NAME_FORM.test(name) ? decodeURIComponent(name) : undefined;
  } catch {
    return undefined;
  }
}

/** Resolves to undefined if a file or folder is missing, or if a file that should be created already exists. */
async function unlessMissing<T>(act: Promise<T>): Promise<T | undefined> {
  return act.catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "EEXIST") return undefined;
    throw error;
  });
}

const ADVICE: Readonly<Record<string, string>> = {
  EACCES: "make the folder writable for the user of this process",
  EPERM: "make the folder writable for the user of this process, on a file system with hard links",
  EROFS: "choose a folder on a file system that is not read-only",
  ENOTSUP: "choose a folder on a file system with hard links",
  ENOSPC: "free space on its disk",
  EDQUOT: "free space, or raise the quota of the user of this process",
  ENOTDIR: "a file has the name of the folder: choose another folder",
  EEXIST: "a file has the name of the folder: choose another folder",
  EMFILE: "raise the limit of open files of this process",
};

/** Returns what to do about an error of the file system, in parentheses. */
function adviceFor(error: unknown): string {
  const advice = ADVICE[(error as NodeJS.ErrnoException).code ?? ""];
  return advice === undefined ? "" : ` (${advice})`;
}
