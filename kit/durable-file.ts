import { open, readFile, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";

/** Returns the text of a file; undefined if the file does not exist. */
export async function readIfThere(path: string): Promise<string | undefined> {
  return readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
}

/**
 * Replaces the content of a file, or creates the file. Resolves once the new content would survive a crash of the
 * machine. After a crash, the file contains the complete old content or the complete new content.
 */
export async function replaceDurably(path: string, text: string): Promise<void> {
  const unfinished = `${path}.${process.pid}.new`;
  try {
    await writeDurably(unfinished, "w", text);
    await rename(unfinished, path);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
  await syncFolder(dirname(path));
}

/**
 * Appends to a file. Resolves once the text would survive a crash. After a crash, the file may contain only the
 * beginning of the text.
 */
export function appendDurably(path: string, text: string): Promise<void> {
  return writeDurably(path, "a", text);
}

/** Creates a file. Rejects if the file exists. The file's name is durable only after a sync of the folder. */
export function createDurably(path: string, text: string): Promise<void> {
  return writeDurably(path, "wx", text);
}

async function writeDurably(path: string, flags: "w" | "wx" | "a", text: string): Promise<void> {
  const file = await open(path, flags, 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Syncs a folder: only then is a rename in the folder durable. Windows cannot sync folders. */
export async function syncFolder(path: string): Promise<void> {
  if (process.platform === "win32") return;
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
