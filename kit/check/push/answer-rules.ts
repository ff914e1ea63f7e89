import { createHmac } from "node:crypto";
import type { Ping } from "../../events";
import { isObject } from "../../read-event";
import { sign, TIMESTAMP_TOLERANCE_MS } from "../../signature";
import { keyMistakes } from "../bad-signatures";
import { OBSERVED_RULE } from "../events/event-rules";
import type { NoReply, Reply } from "../http-client";
import { Broken, type Rule } from "../rule";
import { inAsciiJson } from "../text-alterations";
import { expectTaken, isTaken, type PushTarget, type Write } from "./push-target";

/** Number of concurrent pushes, as in a game with many players. */
const BURST = 40;

export const FIRST_RULES: readonly Rule<PushTarget>[] = [
  {
    id: "answers",
    says: "A correctly signed ping is answered with 2xx within 5 seconds, without a redirect.",
    fix: "answer with any 2xx to a push with a valid signature; check the address, the secret and the workspace",
    isGate: true,
    async judge(target) {
      const ping = target.make.ping();
      const reply = await target.push(ping);
      try {
        return { note: `${expectTaken(reply, "a ping").ms} ms` };
      } catch (error) {
        if (!(error instanceof Broken) || !("status" in reply) || reply.status < 400) throw error;
        throw await explainRefusal(target, ping, reply, error.message);
      }
    },
  },
  OBSERVED_RULE,
];

/**
 * This rule is checked last, because a slow bridge could still be handling the burst during the check of a later rule.
 */
export const BURST_RULE: Rule<PushTarget> = {
  id: "answer-before-work",
  says: `Each of ${BURST} concurrent events is answered with 2xx within 5 seconds: the answer is sent before slow work.`,
  fix: "put the event in a queue, answer with 2xx, and only then call the chat",
  async judge({ make, push, createdFirst }) {
    const board = await createdFirst(make.create("a board with many updates"));
    const updates = Array.from({ length: BURST }, (_, i) => make.update(board, `answer count ${i + 1}`));
    const replies = await Promise.all(updates.map((update) => push(update)));
    const bad = replies.filter((reply) => !isTaken(reply));
    const [first] = bad;
    if (first !== undefined) {
      const how = "failed" in first ? first.failed : `the status was ${first.status}`;
      throw new Broken(`${bad.length} of ${BURST} were not accepted; for the first of them, ${how}`);
    }
    return { note: `the slowest took ${Math.max(...replies.map(({ ms }) => ms))} ms` };
  },
};

type Refusal = Exclude<Reply, NoReply>;

/** Statuses of a server that has no route for a POST at this path. */
const NO_PATH: ReadonlySet<number> = new Set([404, 405, 410]);
const RAW_BYTES = "read the bytes before any body parser, and compute the HMAC over exactly these bytes";

/** Ways in which libraries serialize JSON. Each way produces other bytes than the check sends by default. */
const WRITERS: readonly (readonly [as: string, write: Write])[] = [
  ["with a space after each comma and colon, as Python's json.dumps does", spaced],
  ["with its keys in alphabetical order, as Go does with a map", (event) => JSON.stringify(sorted(event))],
  [
    "with its keys in alphabetical order, and a space after each comma and colon",
    (event) => spaced(sorted(event)),
  ],
];

/**
 * A common mistake in checking signatures. A bridge that makes this mistake accepts a ping whose signature header comes
 * from `sign`.
 */
interface Mistake {
  readonly cause: string;
  readonly fix: string;
  sign(body: Buffer): string;
}

/**
 * Finds out why a bridge rejects a valid ping. For each common mistake, sends a ping that only a bridge with that
 * mistake accepts. If the mistake concerns the serialization of JSON, all further events are serialized in the way that
 * the bridge accepts, so that all other rules can be checked.
 *
 * @param found observation about the ping, used as the message of the returned Broken
 */
async function explainRefusal(
  target: PushTarget,
  ping: Ping,
  reply: Refusal,
  found: string,
): Promise<Broken> {
  const { make, push, secrets } = target;
  if (NO_PATH.has(reply.status)) {
    const cause = `nothing accepts POST requests at this path${workspaceHint(target)}`;
    return new Broken(found, "check the path of --url", { cause });
  }
  for (const [as, write] of WRITERS) {
    const event = make.ping();
    const body = Buffer.from(write(event));
    if (!isTaken(await push(event, { body }))) continue;
    target.writeAs = write;
    const cause = `a ping is accepted when its JSON is written ${as}: the bridge checks the signature over JSON that was parsed and written again. The check writes all further events in this way`;
    return new Broken(found, RAW_BYTES, { cause, judgeable: "all" });
  }
  const judgeable = reply.status < 500 ? "refusals" : "nothing";
  for (const { cause, fix, sign: mistaken } of mistakesOf(reply, secrets)) {
    const event = make.ping();
    const body = target.write(event);
    if (isTaken(await push(event, { body, signature: mistaken(body) }))) {
      return new Broken(found, fix, { cause, judgeable });
    }
  }
  if (reply.status >= 500) {
    return new Broken(found, "look at the bridge's log: the bridge failed on a valid push");
  }
  const body = target.write(ping);
  const cause = `no common mistake explains the rejection: the bridge may have another secret, or a proxy may change the body${workspaceHint(target)}`;
  const compare = `compare the digest that the bridge computes with the valid header, which is ${sign(body, secrets)} for the body ${body.toString()}`;
  return new Broken(found, compare, { cause, judgeable });
}

function mistakesOf({ headers }: Refusal, secrets: readonly string[]): readonly Mistake[] {
  const [secret = ""] = secrets;
  const offMs = Date.parse(headers.date ?? "") - Date.now();
  const minutes = Math.round(Math.abs(offMs) / 60_000);
  const clock: Mistake = {
    cause: `according to its Date header, the bridge's clock is ${minutes} minutes ${offMs < 0 ? "behind" : "ahead of"} this machine's clock, and a ping signed with the bridge's time is accepted`,
    fix: "set the clock that is wrong",
    sign: (body) => sign(body, secrets, Date.now() + offMs),
  };
  return [
    ...(Math.abs(offMs) > TIMESTAMP_TOLERANCE_MS ? [clock] : []),
    {
      cause: "a timestamp in milliseconds is accepted",
      fix: "compare t with your clock in seconds",
      sign: (body) => headerOf(Date.now(), secret, body),
    },
    {
      cause: "a digest of the body alone is accepted: the bridge does not include the timestamp",
      fix: "compute the HMAC over `<t>.<raw body>`, with t exactly as in the header",
      sign: (body) => headerOf(nowSeconds(), secret, body, ""),
    },
    ...keyMistakes(secret).map(({ as, key, fix }) => ({
      cause: `a digest under ${as} is accepted`,
      fix,
      sign: (body: Buffer) => headerOf(nowSeconds(), key, body),
    })),
  ];
}

const nowSeconds = () => Math.floor(Date.now() / 1000);

function headerOf(t: number, key: string | Buffer, body: Buffer, before = `${t}.`): string {
  return `t=${t},v1=${createHmac("sha256", key).update(before).update(body).digest("hex")}`;
}

function workspaceHint({ isWorkspaceGiven }: PushTarget): string {
  return isWorkspaceGiven ? "" : ", or the bridge may accept only its own workspace: give --workspace";
}

const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);

/** Returns JSON as Python's json.dumps writes it: with a space after each comma and colon, and in ASCII only. */
function spaced(value: unknown): string {
  if (isList(value)) return `[${value.map(spaced).join(", ")}]`;
  if (isObject(value)) {
    const fields = Object.entries(value).filter(([, each]) => each !== undefined);
    return `{${fields.map(([name, each]) => `${spaced(name)}: ${spaced(each)}`).join(", ")}}`;
  }
  return inAsciiJson(JSON.stringify(value));
}

function sorted(value: unknown): unknown {
  if (isList(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, each]) => [name, sorted(each)]),
  );
}
