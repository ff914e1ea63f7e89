import { PUSH_DEADLINE_MS } from "../../../contract/numbers";
import type { EventHead } from "../../events";
import { sign, SIGNATURE_HEADER } from "../../signature";
import { EventTarget, type EventCheckOptions } from "../events/event-target";
import { createHttpClient, excerpt, type HttpClient, type Reply } from "../http-client";
import { Broken, noReply } from "../rule";

export interface BridgeCheckOptions extends EventCheckOptions {
  /** The bridge's target URL. */
  readonly url: URL;
  /** Time limit for answering a push, ms; 5000 by default. */
  readonly answerWithinMs?: number;
}

/** Serializes an event as JSON. */
export type Write = (event: EventHead) => string;

export interface PushChange {
  /** The signature header; null for none. By default, a valid header with the current time. */
  readonly signature?: string | null;
  /** The bytes of the body; by default, the bytes of the event. */
  readonly body?: Uint8Array;
}

/** A bridge that receives pushes and is being checked, with helpers for the rules. */
export class PushTarget extends EventTarget {
  /** Whether `--workspace` gave the workspace of the events. Otherwise the workspace is random. */
  readonly isWorkspaceGiven: boolean;
  /** Serializes all further events. */
  writeAs: Write = JSON.stringify;
  readonly #url: URL;
  readonly #client: HttpClient;

  constructor(options: BridgeCheckOptions) {
    const { url, workspace, answerWithinMs: timeoutMs = PUSH_DEADLINE_MS } = options;
    super(options, timeoutMs);
    this.isWorkspaceGiven = workspace !== undefined;
    this.#url = url;
    this.#client = createHttpClient(url, { ...options, timeoutMs });
  }

  /** Returns an event as the bytes that are pushed. */
  readonly write = (event: EventHead): Buffer => Buffer.from(this.writeAs(event));

  /** Pushes an event as the service does, with the changes in `change`. */
  readonly push = (event: EventHead, change: PushChange = {}): Promise<Reply> => {
    const body = change.body ?? this.write(event);
    const signature = change.signature === undefined ? sign(body, this.secrets) : change.signature;
    const headers = {
      "Content-Type": "application/json",
      ...(signature === null ? {} : { [SIGNATURE_HEADER]: signature }),
      "Service-Event-Id": event.id,
      "Service-Workspace": event.workspace,
    };
    const path = this.#url.pathname + this.#url.search;
    return this.#client.call({ method: "POST", path, headers, body });
  };

  /** Pushes an event, and throws Broken unless the bridge answers with any 2xx in time. */
  override readonly taken = async (event: EventHead, what: string, change?: PushChange) =>
    expectTaken(await this.push(event, change), what);

  /** Pushes an event that the bridge must reject, and throws Broken unless the bridge answers with a 4xx. */
  readonly refused = async (event: EventHead, what: string, change: PushChange): Promise<void> => {
    const reply = await this.push(event, change);
    if ("failed" in reply) throw noReply(what, reply, "--url");
    if (reply.status < 400 || reply.status > 499) {
      throw new Broken(`${what} was answered with ${reply.status}, not rejected with a 4xx`);
    }
  };

  override close(): void {
    this.#client.close();
    super.close();
  }
}

/** Returns whether the bridge answered a push with any 2xx in time. */
export function isTaken(reply: Reply): boolean {
  return "status" in reply && reply.status >= 200 && reply.status <= 299;
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
  if (!isTaken(reply)) {
    const why = excerpt(reply.body);
    throw new Broken(`${what} was answered with ${reply.status}${why === "" ? "" : `: ${why}`}`);
  }
  return reply;
}
