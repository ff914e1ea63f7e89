import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { replaceDurably } from "chat-bridge-kit/durable-file";
import type { Logger } from "chat-bridge-runner";

const SAVE_EVERY_MS = 5_000;
/** Age in milliseconds above which missed lines are ignored, because lines from before a long outage are stale. */
const MISSED_MAX_AGE_MS = 5 * 60_000;
/** Milliseconds by which the clocks of the server and the bridge may differ. The service ignores repeated lines. */
const OVERLAP_MS = 15_000;
/** Seconds of the history in which the bridge looks for its own messages, so that it does not send them twice. */
const OWN_SECONDS = 120;

/**
 * Saves in a file until when the bridge has read each room, so that the next run reads the lines that the bridge
 * missed.
 */
export class LastSeen {
  readonly #path: string;
  readonly #folder: string;
  readonly #log: Logger;
  /** Times in milliseconds since the epoch, keyed by room. The bridge has few rooms: see `Rooms`. */
  readonly #atMs: Map<string, number>;
  readonly #timer: NodeJS.Timeout;
  #isDirty = false;
  #saving = Promise.resolve();

  constructor(folder: string, log: Logger) {
    this.#folder = folder;
    this.#path = join(folder, "last-seen.json");
    this.#log = log;
    this.#atMs = new Map(Object.entries(readTimes(this.#path)));
    this.#timer = setInterval(() => void this.#save(), SAVE_EVERY_MS);
  }

  /** Notes that the bridge has read everything in the room until now. */
  note(room: string): void {
    const now = Date.now();
    // Just after the first join, the noted time is still in the future: see `noteJoin`.
    this.#set(room, Math.max(now, Math.min(this.#atMs.get(room) ?? now, now + OVERLAP_MS)));
  }

  /**
   * Notes that the bridge has joined the room. At the first join, the noted time includes the overlap. So no later run
   * reads lines from before this join, when the bridge was not in the room.
   */
  noteJoin(room: string): void {
    if (this.#atMs.has(room)) this.note(room);
    else this.#set(room, Date.now() + OVERLAP_MS);
  }

  /** Returns the seconds of the history that the bridge needs when it joins a room. */
  historySeconds(room: string): number {
    const atMs = this.#atMs.get(room);
    if (atMs === undefined) return OWN_SECONDS;
    return OWN_SECONDS + Math.ceil(Math.min(Math.max(0, Date.now() - atMs), MISSED_MAX_AGE_MS) / 1_000);
  }

  /** Whether the bridge may have missed a line that was sent at this time, and the line is not stale. */
  isMissed(room: string, sentAtMs: number): boolean {
    const atMs = this.#atMs.get(room);
    return atMs !== undefined && sentAtMs >= atMs - OVERLAP_MS && Date.now() - sentAtMs < MISSED_MAX_AGE_MS;
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#save();
  }

  #set(room: string, atMs: number): void {
    const isNew = !this.#atMs.has(room);
    this.#atMs.set(room, atMs);
    this.#isDirty = true;
    if (isNew) void this.#save();
  }

  /** Saves the times after any save that is in progress. */
  #save(): Promise<void> {
    this.#saving = this.#saving.then(() => this.#write());
    return this.#saving;
  }

  async #write(): Promise<void> {
    if (!this.#isDirty) return;
    this.#isDirty = false;
    try {
      mkdirSync(this.#folder, { recursive: true });
      await replaceDurably(this.#path, JSON.stringify(Object.fromEntries(this.#atMs)));
    } catch (err) {
      this.#log.error({ err }, "the times of the last lines were not saved");
    }
  }
}

/** Returns the saved times, or no times if the file does not exist or is damaged. */
function readTimes(path: string): Record<string, number> {
  try {
    const times = JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>;
    return Object.fromEntries(
      Object.entries(times).filter((entry): entry is [string, number] => typeof entry[1] === "number"),
    );
  } catch {
    return {};
  }
}
