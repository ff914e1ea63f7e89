import type { Message, MessageEphemeral } from "chat-bridge-kit";
import { LRUCache } from "lru-cache";
import { choicesDigest, isOpen } from "../print/what-to-print";

type Versioned = Pick<MessageEphemeral, "sequence" | "message">;

/** The choices of a message, and the sequence of the event that last changed them. */
interface Choices {
  readonly digest: string;
  /** Undefined if the choices have not changed since the bridge started. */
  readonly changedBy: number | undefined;
}

const MESSAGES_MAX = 2_000;

/**
 * Decides which notices to members are overtaken by newer events. A notice about a message, e.g. "Locked in", is
 * useless after the choices of this message have changed: the members then see the answer. The field `about` of the
 * notice's data contains the message's id. A notice that members can answer is never overtaken.
 */
export class Receipts {
  readonly #choices = new LRUCache<string, Choices>({ max: MESSAGES_MAX });
  /** The notices that are being sent. Keyed by the id of the event. The outbox limits the number of notices. */
  readonly #pending = new Map<string, { readonly about: string; readonly sequence: number }>();

  /** Notes a version of a message. Returns the ids of the pending notices that this version overtakes. */
  overtakenBy({ sequence, message }: Versioned): readonly string[] {
    const before = this.#choices.get(message.id);
    const digest = choicesDigest(message);
    const isChanged = before !== undefined && before.digest !== digest;
    this.#choices.set(message.id, { digest, changedBy: isChanged ? sequence : before?.changedBy });
    if (!isChanged) return [];
    return [...this.#pending]
      .filter(([, notice]) => notice.about === message.id && notice.sequence < sequence)
      .map(([eventId]) => eventId);
  }

  /** Returns whether a notice is overtaken, because the choices of the message that it is about have changed since. */
  isOvertaken({ sequence, message }: Versioned): boolean {
    const about = aboutOf(message);
    const changedBy = about === undefined ? undefined : this.#choices.get(about)?.changedBy;
    return changedBy !== undefined && changedBy > sequence;
  }

  add({ id, sequence, message }: Versioned & { readonly id: string }): void {
    const about = aboutOf(message);
    if (about !== undefined) this.#pending.set(id, { about, sequence });
  }

  remove(eventId: string): void {
    this.#pending.delete(eventId);
  }
}

/** Returns the id of the message that a notice is about; undefined for a notice that is never overtaken. */
function aboutOf(message: Message): string | undefined {
  const about = message.data?.["about"];
  return typeof about === "string" && !isOpen(message) ? about : undefined;
}
