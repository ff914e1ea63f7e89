/**
 * A process that saves one workspace in the folder FOLDER as fast as it can, until it is killed or has stored SAVES
 * versions. For each accepted save, it prints the version. If WORKSPACES is set, it saves this number of workspaces
 * once, at the same time, and prints the number of saved workspaces.
 */
import { writeSync } from "node:fs";
import { fileStore } from "../../file-store";
import { emptyDocument, type WorkspaceDocument } from "../../document";

const { FOLDER = "", WORKSPACES, SAVES = "Infinity", TEXT_LENGTH = "0" } = process.env;

const store = fileStore(FOLDER);

async function saveMany(count: number): Promise<void> {
  const ids = Array.from({ length: count }, (_, i) => `w${i}`);
  const stored = { version: 1, document: emptyDocument("d") };
  const saved = await Promise.all(ids.map((id) => store.save(id, stored, undefined)));
  writeSync(1, `${saved.filter(Boolean).length}\n`);
}

async function main(): Promise<void> {
  let version = (await store.load("w"))?.version ?? 0;
  for (let saves = 0; saves < Number(SAVES);) {
    const states = {
      "": { version: version + 1, process: process.pid, text: "x".repeat(Number(TEXT_LENGTH)) },
    };
    const document: WorkspaceDocument = {
      id: "d",
      counter: version + 1,
      states,
      timers: [],
      asked: [],
      messages: [],
      handled: [],
      outbox: [],
    };
    if (await store.save("w", { version: version + 1, document }, version + 1)) {
      writeSync(1, `${++version}\n`);
      saves++;
    } else version = (await store.load("w"))?.version ?? 0;
  }
}
void (WORKSPACES === undefined ? main() : saveMany(Number(WORKSPACES)));
