import { randomBytes } from "node:crypto";
import type {
  DmCreate,
  EventHead,
  Message,
  MessageCreate,
  MessageEphemeral,
  MessageUpdate,
  Ping,
} from "../../events";

export type EventMaker = ReturnType<typeof createEventMaker>;

const CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/** The beginning of every text that the check sends. */
export const TEXT_START = "chat-bridge-check";
/** Maximum code points of a text in a report. */
const QUOTED_MOST = 100;
const LIFETIME_MS = 10 * 60_000;
const SHORT_LIFETIME_MS = 60_000;

/**
 * Makes events in the form of the service's events. Each text contains a unique word, by which the check finds the text
 * in the chat.
 */
export function createEventMaker(where: {
  readonly workspace: string;
  readonly channel: string;
  readonly user: string;
}) {
  const run = id().slice(-6).toLowerCase();
  const { channel, user } = where;
  let sequence = 0;
  let words = 0;

  function head<Type extends string>(type: Type, livesMs: number): EventHead & { readonly type: Type } {
    const now = Date.now();
    sequence = Math.max(sequence + 1, now * 1000);
    return {
      id: `evt_${id()}`,
      type,
      workspace: where.workspace,
      sequence,
      createdAt: new Date(now).toISOString(),
      expiresAt: new Date(now + livesMs).toISOString(),
    };
  }

  function message(what: string, change: Partial<Message> = {}): Message {
    return {
      id: `msg_${id()}`,
      kind: "card",
      text: `${TEXT_START} ${run}x${++words}x: ${what}`,
      buttons: [],
      image: null,
      awaitsReply: false,
      data: null,
      ...change,
    };
  }

  return {
    create: (what: string, change?: Partial<Message>): MessageCreate => ({
      ...head("message.create", LIFETIME_MS),
      channel,
      message: message(what, change),
    }),
    update: (of: MessageCreate | DmCreate, what: string, change?: Partial<Message>): MessageUpdate => ({
      ...head("message.update", LIFETIME_MS),
      channel: channelOf(of),
      message: message(what, { ...change, id: of.message.id }),
    }),
    ephemeral: (what: string): MessageEphemeral => ({
      ...head("message.ephemeral", SHORT_LIFETIME_MS),
      channel,
      user,
      message: message(what),
    }),
    dm: (what: string, change?: Partial<Message>): DmCreate => ({
      ...head("dm.create", LIFETIME_MS),
      user,
      message: message(what, change),
    }),
    ping: (): Ping => head("ping", SHORT_LIFETIME_MS),
  };
}

/** Returns the channel of a `message.create`, or `dm:<user id>` for a `dm.create`. */
export function channelOf(of: MessageCreate | DmCreate): string {
  return of.type === "dm.create" ? `dm:${of.user}` : of.channel;
}

/** Returns the unique word of a message's text, which identifies the message in any markup. */
export function wordOf({ text }: Message): string {
  const word = /\b[0-9a-z]{6}x\d+x/.exec(text)?.[0];
  if (word === undefined) throw new Error("the text is not from an event maker");
  return word;
}

/** Returns the text of a message in quotes, for a report. A long text is cut. */
export function quoted({ text }: Message): string {
  const points = Array.from(text);
  return `"${points.length > QUOTED_MOST ? `${points.slice(0, QUOTED_MOST).join("")}…` : text}"`;
}

/** Returns 26 random characters of Crockford base32, as in the ids of events and messages. */
function id(): string {
  return Array.from(randomBytes(26), (byte) => CROCKFORD[byte % CROCKFORD.length]).join("");
}
