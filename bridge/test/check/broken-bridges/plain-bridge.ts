import { createHmac } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import type { Message, MessageUpdate, OutboundEvent } from "../../../events";
import { createMemoryChat, listen, SECRET, type RunningBridge } from "./memory-chat";

/** The steps and settings of a correct bridge. Each broken bridge changes some of them. */
const CORRECT = {
  /** The location to which every push is redirected; "" for none. */
  redirect: "",
  isRight: (digest: string, timestamp: string, raw: Buffer) => digest === digestOf(timestamp, raw),
  /** Returns the v1 entries that the bridge checks, given all entries of the header. */
  entries: (all: readonly string[]) => all,
  /** `now` returns the time in seconds, to compare with the signature's `t`. `date` returns the `Date` header. */
  now: () => Date.now() / 1000,
  date: () => new Date().toUTCString(),
  toleranceSeconds: 300,
  /** Returns the status of the answer to a parsed event; 204 accepts the event. */
  accepts: (_event: OutboundEvent) => 204,
  isDeduping: true,
  repeatStatus: 204,
  isExpired: ({ expiresAt }: OutboundEvent) => expiresAt !== null && Date.parse(expiresAt) < Date.now(),
  /** Milliseconds that the chat needs for an edit. With `answersAfterWork`, the bridge edits before it answers. */
  editMs: 0,
  answersAfterWork: false,
  isOutdated: (sequence: number, applied: number) => sequence < applied,
  holdMs: 5_000,
  /** Whether an update edits its message. Otherwise, the update is posted as a new message. */
  editsInPlace: true,
  shows: (_event: OutboundEvent) => true,
  /** Returns the only member who sees a message; undefined if everybody in the channel sees it. */
  onlyFor: (event: OutboundEvent) => (event.type === "message.ephemeral" ? event.user : undefined),
  /** Returns the message as the chat shows it. For an update, `_before` is the message that the update replaces. */
  draws: (message: Message, _before?: Message) => message,
};

type Steps = typeof CORRECT;
export type Change = Partial<Omit<Steps, "onlyFor"> & { onlyFor(event: OutboundEvent): string | undefined }>;

export function digestOf(timestamp: string, raw: Buffer | string, key: string | Buffer = SECRET): string {
  return createHmac("sha256", key).update(`${timestamp}.`).update(raw).digest("hex");
}

/** Starts a bridge that does not use the kit, and is correct except for `change`. */
export function startPlainBridge(change: Change = {}): Promise<RunningBridge> {
  const steps = { ...CORRECT, ...change };
  const chat = createMemoryChat();
  const seen = new Set<string>();
  const posted = new Map<string, { readonly chatId: string; applied: number; shown: Message }>();
  const held = new Map<string, { readonly update: MessageUpdate; readonly untilMs: number }[]>();
  let work = Promise.resolve();

  function judge(header: string, raw: Buffer): number {
    const [, timestamp = "", all = ""] = /^t=(\d+)((?:,v1=[0-9a-f]+)+)$/.exec(header) ?? [];
    const entries = steps.entries(all.split(",v1=").slice(1));
    if (!entries.some((digest) => steps.isRight(digest, timestamp, raw))) {
      // A bridge that checks no signatures does not check their form either.
      if (!steps.isRight("", timestamp, raw)) return 401;
    }
    if (Math.abs(steps.now() - Number(timestamp)) > steps.toleranceSeconds) return 409;
    return 204;
  }

  function take(event: OutboundEvent): number {
    if (steps.isDeduping && seen.has(event.id)) return steps.repeatStatus;
    seen.add(event.id);
    work = work.then(() => show(event));
    return 204;
  }

  async function show(event: OutboundEvent): Promise<void> {
    if (event.type === "ping" || steps.isExpired(event) || !steps.shows(event)) return;
    if (event.type === "message.update") return update(event);
    const message = steps.draws(event.message);
    const to = steps.onlyFor(event);
    if (event.type === "message.ephemeral") return void chat.post(event.channel, message, to);
    const channel = event.type === "dm.create" ? `dm:${event.user}` : event.channel;
    posted.set(message.id, { chatId: chat.post(channel, message, to), applied: 0, shown: message });
    for (const { update: each, untilMs } of held.get(message.id) ?? []) {
      if (untilMs > Date.now()) await update(each);
    }
    held.delete(message.id);
  }

  async function update(event: MessageUpdate): Promise<void> {
    const { sequence } = event;
    const of = posted.get(event.message.id);
    if (of === undefined) {
      const waiting = { update: event, untilMs: Date.now() + steps.holdMs };
      held.set(event.message.id, [...(held.get(event.message.id) ?? []), waiting]);
      return;
    }
    await sleep(steps.editMs);
    if (steps.isOutdated(sequence, of.applied)) return;
    of.applied = sequence;
    const message = steps.draws(event.message, of.shown);
    of.shown = message;
    if (steps.editsInPlace) chat.edit(of.chatId, message);
    else chat.post(event.channel, message);
  }

  async function answer(request: IncomingMessage): Promise<number> {
    const raw = await buffer(request);
    const status = judge(request.headers["service-signature"]?.toString() ?? "", raw);
    if (status !== 204) return status;
    const event = JSON.parse(raw.toString()) as OutboundEvent;
    const accepted = steps.accepts(event);
    if (accepted !== 204) return accepted;
    const taken = take(event);
    if (steps.answersAfterWork) await work;
    return taken;
  }

  return listen(
    chat,
    (request, response) => {
      if (steps.redirect !== "") response.writeHead(307, { location: steps.redirect }).end();
      else {
        void answer(request).then((status) => response.writeHead(status, { date: steps.date() }).end());
      }
    },
    () => work,
  );
}
