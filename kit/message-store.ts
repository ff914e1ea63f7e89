import { join } from "node:path";
import { cursorFile, cursorInMemory, type CursorStore } from "./cursor-store";
import { lockFolder } from "./folder-lock";
import { openJournal } from "./journal";
import { pushFile, type PushStore } from "./push-store";
import { reportedFile, reportedInMemory, type ReportedStore } from "./reported-store";
import { createShownMessages, SHOWN_LIMITS, type ShownLimits, type ShownMessage } from "./shown-messages";

/** A store for the messages that the chat shows, so that a restarted bridge can still update these messages. */
export interface MessageStore {
  /** Resolves to the saved messages, the least recently saved first. Called once, before the first `save`. */
  load(): Promise<readonly ShownMessage[]>;
  /**
   * Saves a message, and replaces an earlier version with the same `messageId`. Resolves once the message would survive
   * a crash. The store may drop the least recently saved messages, but must keep at least several thousand.
   */
  save(message: ShownMessage): Promise<void>;
}

/** Everything that a bridge keeps across restarts. Each workspace needs its own store. */
export interface BridgeStore {
  readonly cursors: CursorStore;
  readonly messages: MessageStore;
  /** Without this store, a crash loses events whose pushes were answered, but which the chat does not show yet. */
  readonly pushes?: PushStore;
  /** Needed only for `onlyReported`. */
  readonly reported?: ReportedStore;
  /**
   * Called once, before all other calls. Rejects while another process uses the store. The bridge calls `release` when
   * it stops, or when it cannot start, after the last call to the chat has ended. Without this function, the caller
   * must run only one process.
   */
  lock?(): Promise<{ release(): void }>;
}

/**
 * Returns a store that keeps its files in a folder: `cursor`, `messages.jsonl`, `pushes.jsonl`, and `reported.jsonl` for
 * `onlyReported`. `lock` and `load` create the folder. While a bridge uses the folder, the `start` of another bridge
 * with the same folder rejects with `FolderInUse`. A crash of the process releases the lock.
 */
export function folderStore(path: string): Required<BridgeStore> {
  return {
    cursors: cursorFile(join(path, "cursor")),
    messages: messageFile(join(path, "messages.jsonl")),
    pushes: pushFile(join(path, "pushes.jsonl")),
    reported: reportedFile(join(path, "reported.jsonl")),
    lock: () => lockFolder(path),
  };
}

/**
 * Returns a store without files. After a restart, the bridge cannot update earlier messages, and may post them again. A
 * crash loses events whose pushes were answered, but which the chat does not show yet.
 */
export function storeInMemory(): BridgeStore {
  const messages = { load: async () => [], save: async () => undefined };
  return { cursors: cursorInMemory(), messages, reported: reportedInMemory() };
}

/** Growth of the file after which the file is compacted, in multiples of `limits.characters`. */
const GROWTH = 2;

/**
 * Returns a store that appends each saved message to a file, one JSON value per line. `load` compacts the file, and so
 * does the store when the file has grown by twice `limits.characters`. `load` skips lines that a crash left incomplete.
 */
export function messageFile(path: string, limits: ShownLimits = SHOWN_LIMITS): MessageStore {
  const { load, append: save } = openJournal<ShownMessage>(path, {
    growthMax: GROWTH * limits.characters,
    keep(values) {
      const latest = createShownMessages(limits);
      for (const value of values) if (isShownMessage(value)) latest.put(value);
      return latest.all();
    },
  });
  return { load, save };
}

function isShownMessage(line: unknown): line is ShownMessage {
  const value = line as Partial<ShownMessage> | null | undefined;
  return (
    typeof value?.messageId === "string" &&
    typeof value.channel === "string" &&
    typeof value.eventId === "string" &&
    Number.isSafeInteger(value.sequence) &&
    typeof value.message === "object" &&
    Array.isArray(value.chatMessageIds)
  );
}
