import type { EventHead } from "../../events";
import { sign, SIGNATURE_HEADER } from "../../signature";
import { excerpt, type HttpClient, type Reply } from "../http-client";
import { Broken, noReply } from "../rule";
import { createEventMaker } from "../events/event-maker";
import { createEventTarget, type EventTarget } from "../events/event-target";
import type { ObservedChat } from "../events/observed-chat";

/** A bridge that receives pushes and is being checked, with helpers for the rules. */
export interface PushTarget extends EventTarget {
  readonly secrets: readonly string[];
  /** Whether `--workspace` gave the workspace of the events. Otherwise the workspace is random. */
  readonly isWorkspaceGiven: boolean;
  /** Returns the bytes of an event, as they are pushed. */
  write(event: EventHead): Buffer;
  /** Sets the function that serializes all further events. */
  writeAs(write: Write): void;
  /** Pushes an event as the service does, except for `change`. */
  push(event: EventHead, change?: PushChange): Promise<Reply>;
  /** Pushes an event, and throws Broken unless the bridge answers with any 2xx in time. */
  taken(event: EventHead, what: string, change?: PushChange): Promise<Reply & { readonly status: number }>;
  /** Pushes an event that the bridge must reject, and throws Broken unless the bridge answers with a 4xx. */
  refused(event: EventHead, what: string, change: PushChange): Promise<void>;
}

/** Serializes an event as JSON. */
export type Write = (event: EventHead) => string;

export interface PushChange {
  /** The signature header; null for none. By default, a valid header with the current time. */
  readonly signature?: string | null;
  /** The bytes of the body; by default, the bytes of the event. */
  readonly body?: Uint8Array;
}

export function createPushTarget(options: {
  readonly url: URL;
  readonly client: HttpClient;
  readonly workspace: string;
  readonly channel: string;
  readonly user: string;
  readonly secrets: readonly string[];
  readonly chat: ObservedChat | undefined;
  readonly isWorkspaceGiven: boolean;
  readonly isPlaceGiven: boolean;
  readonly onWait: (what: string) => void;
}): PushTarget {
  const { url, client, workspace, channel, user, secrets, isWorkspaceGiven } = options;
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

  const events = createEventTarget({ ...options, make, taken });
  return {
    ...events,
    get chat() {
      return events.chat;
    },
    secrets,
    isWorkspaceGiven,
    write,
    writeAs: (as) => void (asText = as),
    push,
    taken,
    async refused(event, what, change) {
      const reply = await push(event, change);
      if ("failed" in reply) throw noReply(what, reply, "--url");
      if (reply.status < 400 || reply.status > 499) {
        throw new Broken(`${what} was answered with ${reply.status}, not rejected with a 4xx`);
      }
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
