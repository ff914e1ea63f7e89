import { createHmac } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { buffer } from "node:stream/consumers";
import type { OutboundEvent } from "../../../events";
import { createMemoryChat, listen, SECRET, type RunningBridge } from "./memory-chat";
import { CORRECT_SHOW, createPlainShow, type ShowChange } from "./plain-show";

/** The steps and settings of a correct bridge. Each broken bridge replaces some of these steps and settings. */
const CORRECT = {
  ...CORRECT_SHOW,
  /** The location to which every push is redirected; "" for no redirect. */
  redirect: "",
  isRight: (digest: string, timestamp: string, raw: Buffer) => digest === digestOf(timestamp, raw),
  /** Decodes the body to the text that the bridge parses as JSON. */
  decode: (raw: Buffer) => raw.toString(),
  /** Returns the v1 entries that the bridge checks, given all entries of the header. */
  entries: (all: readonly string[]) => all,
  /** `now` returns the time in seconds, to compare with the signature's `t`. `date` returns the `Date` header. */
  now: () => Date.now() / 1000,
  date: () => new Date().toUTCString(),
  toleranceSeconds: 300,
  /** Returns the status of the answer to a parsed event; 204 accepts the event. */
  accepts: (_event: OutboundEvent) => 204,
  repeatStatus: 204,
  /** Whether the bridge shows an event before it answers. */
  answersAfterWork: false,
};

export type Change = Partial<Omit<typeof CORRECT, "onlyFor">> & ShowChange;

export function digestOf(timestamp: string, raw: Buffer | string, key: string | Buffer = SECRET): string {
  return createHmac("sha256", key).update(`${timestamp}.`).update(raw).digest("hex");
}

/** Starts a bridge that does not use the kit, and is correct except for `change`. */
export function startPlainBridge(change: Change = {}): Promise<RunningBridge> {
  const steps = { ...CORRECT, ...change };
  const chat = createMemoryChat();
  const { take, done } = createPlainShow(steps, chat);

  function judge(header: string, raw: Buffer): number {
    const [, timestamp = "", all = ""] = /^t=(\d+)((?:,v1=[0-9a-f]+)+)$/.exec(header) ?? [];
    const entries = steps.entries(all.split(",v1=").slice(1));
    if (!entries.some((digest) => steps.isRight(digest, timestamp, raw))) {
      // A bridge that accepts an empty digest checks no signatures at all, so it does not check the format of
      // signatures either.
      if (!steps.isRight("", timestamp, raw)) return 401;
    }
    if (Math.abs(steps.now() - Number(timestamp)) > steps.toleranceSeconds) return 409;
    return 204;
  }

  async function answer(request: IncomingMessage): Promise<number> {
    const raw = await buffer(request);
    const status = judge(request.headers["service-signature"]?.toString() ?? "", raw);
    if (status !== 204) return status;
    const event = JSON.parse(steps.decode(raw)) as OutboundEvent;
    const accepted = steps.accepts(event);
    if (accepted !== 204) return accepted;
    const isNew = take(event);
    if (steps.answersAfterWork) await done();
    return isNew ? 204 : steps.repeatStatus;
  }

  return listen(
    chat,
    (request, response) => {
      if (steps.redirect !== "") response.writeHead(307, { location: steps.redirect }).end();
      else {
        void answer(request).then((status) => response.writeHead(status, { date: steps.date() }).end());
      }
    },
    done,
  );
}
