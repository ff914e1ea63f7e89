import { STATUS_CODES } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { retryAfterMs, TIMER_MOST_MS } from "../../back-off";
import { isObject, readJson } from "../../read-event";
import { sign, SIGNATURE_HEADER } from "../../signature";
import {
  createHttpClient,
  type ClientOptions,
  type HttpClient,
  type NoReply,
  type Reply,
} from "../http-client";
import { Broken, noReply, type CheckProgress } from "../rule";

export interface ServiceCheckOptions extends Omit<ClientOptions, "timeoutMs"> {
  /** The service's base address. */
  readonly url: URL;
  /** UUID of the workspace. Games receive every event that the check sends and the service accepts. */
  readonly workspace: string;
  /** Signing secrets of the workspace, the newest first. */
  readonly secrets: readonly string[];
  /** Whether to check the rate limits too, by exceeding them. */
  readonly withLimits?: boolean;
  /** Ids of the rules to check. Rules on which all other rules depend are always checked. */
  readonly only?: readonly string[];
  readonly progress?: CheckProgress;
}

export type Answered = Exclude<Reply, NoReply>;

/** Changes to the valid request that a bridge would send now. */
export interface RequestChange {
  /** The signature header; null for none. */
  readonly signature?: string | null;
  readonly workspace?: string;
}

export interface ServiceRequest extends RequestChange {
  readonly method: "GET" | "POST";
  /** The body, or the query string of a poll. */
  readonly raw: string | Uint8Array;
}

const TIMEOUT_MS = 30_000;
const ATTEMPTS_MOST = 6;

/**
 * The service that is being checked, with functions that call it as a bridge of one workspace does. Rules destructure
 * the functions.
 */
export class ServiceTarget {
  readonly workspace: string;
  readonly secrets: readonly string[];
  readonly withLimits: boolean;
  readonly #base: string;
  readonly #client: HttpClient;
  #isPolled: Promise<boolean> | undefined;

  constructor(options: ServiceCheckOptions) {
    const { url, workspace, secrets, withLimits = false } = options;
    this.workspace = workspace;
    this.secrets = secrets;
    this.withLimits = withLimits;
    this.#base = `${url.pathname.replace(/\/+$/, "")}/hooks`;
    this.#client = createHttpClient(url, { ...options, timeoutMs: TIMEOUT_MS });
  }

  /** Posts an inbound event. Bytes and strings are sent unchanged, other values as JSON. Retries after a `429`. */
  readonly post = (event: unknown, change: RequestChange = {}): Promise<Answered> => {
    const raw = typeof event === "string" || event instanceof Uint8Array ? event : JSON.stringify(event);
    return this.#untilLetThrough({ method: "POST", raw, ...change });
  };

  /** Polls. Retries after a `429`. */
  readonly poll = (query: string, change: RequestChange = {}): Promise<Answered> =>
    this.#untilLetThrough({ method: "GET", raw: query, ...change });

  /** Sends one request, without retries. */
  readonly once = (request: ServiceRequest): Promise<Reply> => {
    const { method, raw, signature, workspace = this.workspace } = request;
    const header = signature === undefined ? sign(raw, this.secrets.slice(0, 1)) : signature;
    const query = method === "GET" && raw.length > 0 ? `?${String(raw)}` : "";
    return this.#client.call({
      method,
      path: `${this.#base}/${workspace}${method === "GET" ? `/events${query}` : ""}`,
      headers: {
        ...(method === "POST" ? { "Content-Type": "application/json" } : {}),
        ...(header === null ? {} : { [SIGNATURE_HEADER]: header }),
      },
      ...(method === "POST" ? { body: typeof raw === "string" ? Buffer.from(raw) : raw } : {}),
    });
  };

  /** Resolves to whether the workspace's events can be polled, i.e. it has no target URL. */
  readonly isPolled = (): Promise<boolean> =>
    (this.#isPolled ??= this.poll("after=latest").then(({ status }) => status !== 403));

  close(): void {
    this.#client.close();
  }

  /** Retries after a `429`: the check is fast, and other clients may share its workspace or address. */
  async #untilLetThrough(request: ServiceRequest): Promise<Answered> {
    for (let attempt = 1; ; attempt++) {
      const reply = await this.once(request);
      if ("failed" in reply) throw noReply(`${request.method} ${this.#base}`, reply, "--service");
      if (reply.status !== 429 || attempt >= ATTEMPTS_MOST) return reply;
      const askedMs = retryAfterMs(reply.headers["retry-after"] ?? null, Date.now());
      await sleep(Math.min(TIMER_MOST_MS, Math.max(1_000, askedMs)));
    }
  }
}

/**
 * Throws Broken unless the answer is the contract's `202`. Allows unknown fields, which the service may add at any
 * time.
 */
export function expectAccepted(answer: Answered, what: string): void {
  const json = readJson(answer.body);
  if (answer.status === 202 && isObject(json) && json["ok"] === true) return;
  throw new Broken(`${what} was answered with ${told(answer)}, not 202 {"ok":true}`);
}

/** The field that a `400` must name; null if it must name no field, undefined if the field is not checked. */
export type WantedField = string | null | undefined;

/** Throws Broken unless the answer has this status and an error body in the format that the contract defines. */
export function expectRefused(answer: Answered, status: number, what: string, field?: WantedField): void {
  if (answer.status !== status) throw new Broken(`${what} was answered with ${told(answer)}, not ${status}`);
  const json = readJson(answer.body);
  if (!isObject(json)) throw new Broken(`${what}: the body of the ${status} is not a JSON object`);
  const { statusCode, message, error } = json;
  const isMessage =
    typeof message === "string" ||
    (Array.isArray(message) && message.every((each) => typeof each === "string"));
  if (statusCode !== status)
    throw new Broken(`${what}: in the body of the ${status}, statusCode is not ${status}`);
  if (!isMessage)
    throw new Broken(
      `${what}: in the body of the ${status}, message is neither a string nor a list of strings`,
    );
  const wanted = status === 413 ? undefined : STATUS_CODES[status];
  if (error !== undefined && error !== wanted) {
    const name = wanted === undefined ? "none" : `"${wanted}"`;
    throw new Broken(
      `${what}: in the body of the ${status}, error is ${JSON.stringify(error)}; expected: ${name}`,
    );
  }
  if (field === undefined || (json["field"] ?? null) === field) return;
  const named =
    json["field"] === undefined ? "names no field" : `names the field ${JSON.stringify(json["field"])}`;
  throw new Broken(`${what}: the body of the ${status} ${named}; expected: ${field ?? "none"}`);
}

function told({ status, body }: Answered): string {
  const text = body.toString("utf8", 0, 160).trim();
  return text === "" ? String(status) : `${status} ${text}`;
}
