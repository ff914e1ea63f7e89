import { setTimeout as sleep } from "node:timers/promises";
import { SIGNATURE_FORM } from "../../../contract/forms";
import { Broken, type Rule } from "../rule";
import { RETRY_AFTER_SECONDS, type InboundPost } from "./inbound-log";
import type { PollTarget } from "./poll-target";

/** Time limit for the retry of an event, ms. */
const RETRY_WITHIN_MS = 15_000;
const LOOK_EVERY_MS = 100;
/** Difference allowed between the clocks and timers of the check and the bridge, ms. */
const TOLERANCE_MS = 100;
const NO_EVENT =
  "the bridge sent no event: run a command in your chat while the check waits for a poll or checks other rules";

/** Rules about everything that the bridge sent during the check. These rules are checked last. */
export const SENT_RULES: readonly Rule<PollTarget>[] = [
  {
    id: "poll-query",
    says: "A poll has no parameters except `after` and `limit`, each at most once and well-formed.",
    fix: "send only `after` and `limit`, each at most once: the service rejects a poll with any other parameter",
    judge: async ({ log }) => log.judge("query"),
  },
  {
    id: "poll-signed",
    says: "The signature of a poll covers the query string exactly as it is sent, without the question mark.",
    fix: "compute the HMAC over `<t>.<query string>`; the query string is everything after `?`, or empty if there is no query",
    judge: async ({ log }) => log.judge("signature"),
  },
  {
    id: "poll-fresh",
    says: "Every poll is signed with the current time.",
    fix: "compute the timestamp and the signature again for every poll",
    judge: async ({ log }) => log.judge("time"),
  },
  {
    id: "inbound-valid",
    says: "Every event that the bridge sends is signed over its exact bytes, and its fields follow the contract.",
    fix: "compare the event with the tables of fields, and compute the HMAC over the bytes that you send",
    async judge({ inbound: { posts } }) {
      const faulty = posts.find(({ fault }) => fault !== undefined);
      if (faulty !== undefined) {
        throw new Broken(
          `event ${posts.indexOf(faulty) + 1} was answered with ${faulty.status}: ${faulty.fault}`,
        );
      }
      return posts.length === 0 ? { unchecked: NO_EVENT } : { note: `${posts.length} requests` };
    },
  },
  {
    id: "inbound-retry",
    says: "After a 503, an event is sent again with the same body and `id`, signed with the current time.",
    fix: "keep the bytes of the body, with an `id`; after a 429 or 5xx, wait for Retry-After, and send them with a new signature",
    async judge({ inbound: { posts } }) {
      const first = posts.find(({ status }) => status === 503);
      if (first === undefined) return { unchecked: NO_EVENT };
      if (first.id === undefined) throw new Broken("the event that was answered with 503 has no id");
      const retry = await retryOf(first, posts);
      if (retry === undefined) {
        throw new Broken(`the event was not sent again within ${RETRY_WITHIN_MS / 1000} seconds`);
      }
      if (!retry.body.equals(first.body)) throw new Broken("the event was sent again with another body");
      const waited = retry.atMs - first.atMs;
      if (waited < RETRY_AFTER_SECONDS * 1_000 - TOLERANCE_MS) {
        throw new Broken(
          `the event was sent again after ${Math.round(waited)} ms, and Retry-After was ${RETRY_AFTER_SECONDS} seconds`,
        );
      }
      if (timestampOf(retry) === timestampOf(first)) {
        throw new Broken("the event was sent again with the timestamp of the first attempt");
      }
      return undefined;
    },
  },
];

/** Resolves to the retry of an event, i.e. a later `POST` with the same id; undefined after the time limit. */
async function retryOf(first: InboundPost, posts: readonly InboundPost[]): Promise<InboundPost | undefined> {
  const find = () => posts.find((post) => post !== first && post.id === first.id && post.atMs >= first.atMs);
  while (find() === undefined && performance.now() < first.atMs + RETRY_WITHIN_MS) await sleep(LOOK_EVERY_MS);
  return find();
}

function timestampOf({ signature }: InboundPost): string | undefined {
  return SIGNATURE_FORM.exec(signature ?? "")?.[1];
}
