import { setTimeout as sleep } from "node:timers/promises";
import type { EventHead, Message } from "../../events";
import { sign, SIGNATURE_HEADER } from "../../signature";
import { excerpt, type HttpClient, type Reply } from "../http-client";
import { Broken, noReply } from "../rule";
import { createEventMaker, type EventMaker } from "./event-maker";
import type { ObservedChat } from "./observed-chat";

/** The bridge that is being checked, with helpers for the rules. */
export interface PushTarget {
  readonly make: EventMaker;
  readonly secrets: readonly string[];
  /** The observed chat; undefined without an observation endpoint, or after the endpoint has failed. */
  readonly chat: ObservedChat | undefined;
  /** Whether `--workspace` gave the workspace of the events. Otherwise the workspace is random. */
  readonly isWorkspaceGiven: boolean;
  /** Returns the bytes of an event, as they are pushed. */
  write(event: EventHead): Buffer;
  /** Sets the function that serializes all further events. */
  writeAs(write: Write): void;
  /** Stops checking the messages that the chat shows. */
  unobserve(): void;
  /** Pushes an event as the service does, except for `change`. */
  push(event: EventHead, change?: PushChange): Promise<Reply>;
  /** Pushes an event, and throws Broken unless the bridge answers with any 2xx in time. */
  taken(event: EventHead, what: string, change?: PushChange): Promise<Reply & { readonly status: number }>;
  /** Pushes an event that the bridge must reject, and throws Broken unless the bridge answers with a 4xx. */
  refused(event: EventHead, what: string, change: PushChange): Promise<void>;
  /** Waits until the bridge has shown all events that it accepted so far. */
  settled(chat: ObservedChat): Promise<void>;
  /** Waits as `settled` does, and throws Broken if any of `messages` is shown. */
  hides(chat: ObservedChat, messages: readonly Message[], why: string): Promise<void>;
  /** Reports that the check waits for `what`, and waits `ms` milliseconds. */
  pause(ms: number, what: string): Promise<void>;
}

/** Serializes an event as JSON. */
export type Write = (event: EventHead) => string;

export interface PushChange {
  /** The signature header; null for none. By default, a valid header with the current time. */
  readonly signature?: string | null;
  /** The bytes of the body; by default, the bytes of the event. */
  readonly body?: Uint8Array;
}

/** Time for a bridge to finish earlier events after a later message is shown, ms. */
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
    const marker = make.create("a marker after all earlier events");
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
        throw new Broken(`${what} was answered with ${reply.status}, not rejected with a 4xx`);
      }
    },
    async hides(observed, messages, why) {
      await settled(observed);
      for (const message of messages) {
        if ((await observed.countOf(message)) > 0)
          throw new Broken(`"${message.text}" is shown, although ${why}`);
      }
    },
    async pause(ms, what) {
      onWait(what);
      await sleep(ms);
    },
  };
}

/** Throws Broken unless the bridge answered a push with any 2xx in time. */
export function expectTaken(reply: Reply, what: string): Reply & { readonly status: number } {
  if ("failed" in reply) throw noReply(what, reply, "--url");
  if (reply.status >= 300 && reply.status < 400) {
    throw new Broken(
      `${what} was answered with ${reply.status}, a redirect to ${reply.headers.location ?? "nowhere"}`,
      "redirects are not followed: answer at the target URL itself, or set the target URL to the redirect's location",
    );
  }
  if (reply.status < 200 || reply.status > 299) {
    const why = excerpt(reply.body);
    throw new Broken(`${what} was answered with ${reply.status}${why === "" ? "" : `: ${why}`}`);
  }
  return reply;
}
