import { isObject, readJson } from "../../read-event";
import { SIGNATURE_FAULT_WORDS, verify } from "../../signature";
import { inboundFault } from "../inbound-fields";
import { errorAnswer, type PollAnswer } from "./fake-service";

/** A `POST` with an event, as the fake service received it. */
export interface InboundPost {
  readonly body: Buffer;
  readonly signature: string | undefined;
  /** The event's `id`; undefined if there is none. */
  readonly id: string | undefined;
  /** Status of the answer. */
  readonly status: number;
  /** The reason for a 4xx. */
  readonly fault?: string;
  /** Time of arrival on the clock of `performance`, ms. */
  readonly atMs: number;
}

/**
 * Seconds in the `Retry-After` header of the 503 answer. The wait is longer than a second, so a correct retry has a new
 * timestamp.
 */
export const RETRY_AFTER_SECONDS = 2;
const POSTS_MOST = 200;
const JSON_TYPE = { "Content-Type": "application/json" };

/** The events that the bridge sends to the fake service during the check. */
export class InboundLog {
  readonly #secrets: readonly string[];
  readonly #posts: InboundPost[] = [];

  constructor(secrets: readonly string[]) {
    this.#secrets = secrets;
  }

  get posts(): readonly InboundPost[] {
    return this.#posts;
  }

  /** Judges and answers a `POST`, in the service's order of checks. The first valid event is answered with 503. */
  answer(body: Buffer, signature: string | undefined): PollAnswer {
    const json = readJson(body);
    const judged = this.#judge(body, json, signature);
    const id = isObject(json) && typeof json["id"] === "string" ? json["id"] : undefined;
    if (this.#posts.length < POSTS_MOST) {
      this.#posts.push({ body, signature, id, ...judged, atMs: performance.now() });
    }
    const { status, fault = "unavailable: send this event again" } = judged;
    if (status === 202) return { status, headers: JSON_TYPE, body: Buffer.from('{"ok":true}') };
    return errorAnswer(status, fault, status === 503 ? { "Retry-After": String(RETRY_AFTER_SECONDS) } : {});
  }

  #judge(body: Buffer, json: unknown, signature: string | undefined): Pick<InboundPost, "status" | "fault"> {
    if (json === undefined) return { status: 400, fault: "the body is not JSON" };
    const signatureFault = verify(signature, body, this.#secrets);
    if (signatureFault !== undefined) {
      const fault = SIGNATURE_FAULT_WORDS[signatureFault];
      return { status: signatureFault === "stale" ? 409 : 401, fault };
    }
    const fault = inboundFault(json);
    if (fault !== undefined) return { status: 400, fault: `${fault.field || "the body"} ${fault.says}` };
    return { status: this.#posts.some(({ status }) => status === 503) ? 202 : 503 };
  }
}
