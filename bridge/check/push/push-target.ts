import { setTimeout as sleep } from "node:timers/promises";
import type { EventHead, Message } from "../../events";
import { sign, SIGNATURE_HEADER } from "../../signature";
import type { HttpClient, Reply } from "../http-client";
import { Broken, noReply } from "../rule";
import { createEventMaker, type EventMaker } from "./event-maker";
import type { ObservedChat } from "./observed-chat";

/** The bridge under check, with all that a rule needs to judge it. */
export interface PushTarget {
  readonly make: EventMaker;
  readonly secrets: readonly string[];
  /** Undefined without an observation endpoint, and once that has failed. */
  readonly chat: ObservedChat | undefined;
  /** Whether the events are of the bridge's own workspace, as far as the user said. */
  readonly isWorkspaceGiven: boolean;
  /** The bytes of an event, as they are pushed. */
  write(event: EventHead): Buffer;
  /** From here on writes events in this way. */
  writeAs(write: Write): void;
  /** From here on what the chat shows is not judged. */
  unobserve(): void;
  /** Pushes as the service does, but for what is changed. */
  push(event: EventHead, change?: PushChange): Promise<Reply>;
  /** Pushes, and fails unless the bridge takes it: any 2xx in time. */
  taken(event: EventHead, what: string, change?: PushChange): Promise<Reply & { readonly status: number }>;
  /** Pushes what nobody but a forger sends, and fails unless the bridge refuses it. */
  refused(event: EventHead, what: string, change: PushChange): Promise<void>;
  /** Waits until all that the bridge has taken so far must be shown. */
  settled(chat: ObservedChat): Promise<void>;
  /** The same, and fails when any of these is shown. */
  hides(chat: ObservedChat, messages: readonly Message[], why: string): Promise<void>;
  /** Tells the user, and waits. */
  pause(ms: number, what: string): Promise<void>;
}

/** A way to write an event as JSON. */
export type Write = (event: EventHead) => string;

export interface PushChange {
  /** The header; null for none. By default it is right, and made now. */
  readonly signature?: string | null;
  /** The bytes; by default those of the event. */
  readonly body?: Uint8Array;
}

/** What a bridge may still do after the chat has shown a later message. */
const GRACE_MS = 300;

export function createPushTarget(options: {
  readonly url: URL;
  readonly client: HttpClient;
  readonly workspace: string;
  readonly channel: string;
  readonly user: string;
  readonly secrets: readonly string[];
  readonly chat: ObservedChat | undefined;
  readonly isWorkspaceGiven: boolean;
  readonly onWait: (what: string) => void;
}): PushTarget {
  const { url, client, workspace, channel, user, secrets, isWorkspaceGiven, onWait } = options;
  let { chat } = options;
  let asText: Write = (event) => JSON.stringify(event);
  const write = (event: EventHead) => Buffer.from(asText(event));
  const make = createEventMaker({ workspace, channel, user });

  function push(event: EventHead, change: PushChange = {}): Promise<Reply> {
    const body = change.body ?? write(event);
    const signature = change.signature === undefined ? sign(body, secrets) : change.signature;
    const headers = {
      "Content-Type": "application/json",
      ...(signature === null ? {} : { [SIGNATURE_HEADER]: signature }),
      "Service-Event-Id": event.id,
      "Service-Workspace": event.workspace,
    };
    return client.call({ method: "POST", path: url.pathname + url.search, headers, body });
  }

  async function taken(event: EventHead, what: string, change?: PushChange) {
    const reply = await push(event, change);
    return expectTaken(reply, what);
  }

  async function settled(observed: ObservedChat): Promise<void> {
    const marker = make.create("to see that all before it was handled");
    await taken(marker, "a create");
    await observed.shows(marker);
    await sleep(GRACE_MS);
  }

  return {
    make,
    secrets,
    get chat() {
      return chat;
    },
    isWorkspaceGiven,
    write,
    writeAs: (as) => void (asText = as),
    unobserve: () => void (chat = undefined),
    push,
    taken,
    settled,
    async refused(event, what, change) {
      const reply = await push(event, change);
      if ("failed" in reply) throw noReply(what, reply, "--url");
      if (reply.status < 400 || reply.status > 499) {
        throw new Broken(`${what} was answered ${reply.status}, not refused with a 4xx`);
      }
    },
    async hides(observed, messages, why) {
      await settled(observed);
      for (const message of messages) {
        if ((await observed.countOf(message)) > 0) throw new Broken(`"${message.text}" is shown: ${why}`);
      }
    },
    async pause(ms, what) {
      onWait(what);
      await sleep(ms);
    },
  };
}

/** Fails unless the bridge took a push: any 2xx in time. */
export function expectTaken(reply: Reply, what: string): Reply & { readonly status: number } {
  if ("failed" in reply) throw noReply(what, reply, "--url");
  if (reply.status >= 300 && reply.status < 400) {
    throw new Broken(
      `${what} was answered ${reply.status}, a redirect to ${reply.headers.location ?? "nowhere"}`,
      "redirects are not followed: answer under the target URL itself, or set the target URL to where it points",
    );
  }
  if (reply.status < 200 || reply.status > 299) {
    throw new Broken(`${what} was answered ${reply.status}${excerpt(reply.body)}`);
  }
  return reply;
}

/** The beginning of an answer, for a line of its own. */
function excerpt(body: Buffer): string {
  const text = body.toString("utf8", 0, 200).replaceAll(/\s+/g, " ").trim();
  return text === "" ? "" : `: ${text}`;
}
