import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { cursorFile, cursorInMemory, type CursorStore } from "./cursor-store";
import { appendDurably, readIfThere, replaceDurably } from "./durable-file";
import { reportedFile, reportedInMemory, type ReportedStore } from "./reported-ids";
import { createShownMessages, SHOWN_LIMITS, type ShownLimits, type ShownMessage } from "./shown-messages";

/** A store for the messages that the chat shows, so that a restarted bridge can still update these messages. */
export interface MessageStore {
  /** Resolves to the saved messages, the least recently saved first. Called once, before the first `save`. */
  load(): Promise<readonly ShownMessage[]>;
  /**
   * Saves a message, and replaces an earlier version with the same `messageId`. Resolves once the message would survive
   * a crash. The store may drop the least recently saved messages, but must keep at least some thousands.
   */
  save(message: ShownMessage): Promise<void>;
}

/** Everything that a bridge keeps over a restart. Each workspace needs its own store. */
export interface BridgeStore {
  readonly cursors: CursorStore;
  readonly messages: MessageStore;
  /** Needed only for `onlyReported`. */
  readonly reported?: ReportedStore;
}

/**
 * Returns a store that keeps its files in a folder: `cursor`, `messages.jsonl`, and `reported.jsonl` for `onlyReported`.
 * `load` of the messages creates the folder. Only one process at a time may use the folder.
 */
export function folderStore(path: string): BridgeStore {
  const messages = messageFile(join(path, "messages.jsonl"));
  return {
    cursors: cursorFile(join(path, "cursor")),
    messages: {
      async load() {
        await mkdir(path, { recursive: true, mode: 0o700 });
        return messages.load();
      },
      save: messages.save,
    },
    reported: reportedFile(join(path, "reported.jsonl")),
  };
}

/** Returns a store without files. After a restart, earlier messages are no longer updated, and may be posted again. */
export function storeInMemory(): BridgeStore {
  const messages = { load: async () => [], save: async () => undefined };
  return { cursors: cursorInMemory(), messages, reported: reportedInMemory() };
}

/** Growth of the file after which the file is compacted, in multiples of `limits.characters`. */
const GROWTH = 2;

/**
 * Returns a store that appends each saved message to a file, one JSON value per line. The file is compacted by `load`,
 * and when its length has grown by twice `limits.characters`. `load` skips lines that a crash left incomplete.
 */
export function messageFile(path: string, limits: ShownLimits = SHOWN_LIMITS): MessageStore {
  /** Lines that are not yet written. */
  let waiting: string[] = [];
  let writing: Promise<void> | undefined;
  let grown = 0;

  async function compact(): Promise<readonly ShownMessage[]> {
    const latest = createShownMessages(limits);
    for (const line of ((await readIfThere(path)) ?? "").split("\n")) {
      const shown = readShown(line);
      if (shown !== undefined) latest.put(shown);
    }
    const all = latest.all();
    await replaceDurably(path, all.map(lineOf).join(""));
    return all;
  }

  /** Writes all lines that are waiting when `before` resolves. Many saves thus share one write. */
  async function writeAfter(before: Promise<void> | undefined): Promise<void> {
    // The writer of `before` has reported its error to its own callers.
    await before?.catch(() => undefined);
    writing = undefined;
    const lines = waiting.join("");
    waiting = [];
    // If an earlier write failed, the file may end within a line.
    await appendDurably(path, `\n${lines}`);
    grown += lines.length;
    if (grown <= GROWTH * limits.characters) return;
    // Compacting reads and writes the whole file, so after a failure, the next attempt waits for further growth.
    grown = 0;
    await compact();
  }

  let current: Promise<void> | undefined;
  return {
    load: compact,
    save(message) {
      waiting.push(lineOf(message));
      writing ??= current = writeAfter(current);
      return writing;
    },
  };
}

function lineOf(shown: ShownMessage): string {
  return `${JSON.stringify(shown)}\n`;
}

function readShown(line: string): ShownMessage | undefined {
  try {
    const value = JSON.parse(line) as Partial<ShownMessage> | null;
    const isShown =
      typeof value?.messageId === "string" &&
      typeof value.channel === "string" &&
      typeof value.eventId === "string" &&
      Number.isSafeInteger(value.sequence) &&
      typeof value.message === "object" &&
      Array.isArray(value.chatMessageIds);
    return isShown ? (value as ShownMessage) : undefined;
  } catch {
    return undefined;
  }
}
