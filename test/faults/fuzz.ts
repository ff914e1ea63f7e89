import { signatureOf } from "../harness/bridge";
import { parseAnswers, rawRequest, statusesOf } from "../harness/raw-http";
import type { TestWorkspace } from "../harness/service";

/** Returns the next pseudo-random integer, 0 to `n` - 1. The same seed always gives the same integers. */
export type Random = (n: number) => number;

export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  return (n) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let x = Math.imul(state ^ (state >>> 15), state | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return ((x ^ (x >>> 14)) >>> 0) % n;
  };
}

const USER = { id: "u", name: "U" };
const EVENTS: readonly object[] = [
  { type: "command", id: "r", channel: "c", user: USER, text: "start quiz" },
  { type: "message", channel: { id: "c", name: null }, user: USER, text: "an answer", replyTo: "m" },
  { type: "message", id: "r2", channel: "dm:u", user: { id: "u" }, text: "in a DM", replyTo: null },
  { type: "action", id: "r3", channel: "c", user: USER, messageId: "m1", action: "vote:3" },
];
const QUERIES = ["", "after=0", "after=latest", "limit=10", "after=0&limit=100"];
/** Odd strings. The first string is empty. */
const ODD = ' \0 \uFEFF " \\ } [[[[[[[[ null -1 1e999 😀 %00 && = \ud800'.split(" ");
const ODD_PATHS = "/ // /hooks /hooks/% /hooks/%00/events /../hooks /hooks/x/events/y *".split(" ");
const METHODS = ["GET", "PUT", "DELETE", "PATCH", "OPTIONS", "POST"];

function mutate(text: string, random: Random): string {
  const at = random(text.length + 1);
  const to = at + random(8);
  switch (random(5)) {
    case 0:
      return text.slice(0, at) + text.slice(to);
    case 1:
      return text.slice(0, at) + (ODD[random(ODD.length)] ?? "") + text.slice(at);
    case 2:
      return text.slice(0, at) + text.slice(at, to).repeat(1 + random(200)) + text.slice(to);
    case 3:
      return text.slice(0, at) + String.fromCharCode(random(0x3000)) + text.slice(at + 1);
    default:
      return text.slice(0, to) + text.slice(at);
  }
}

/** Replaces characters that would break a header line. */
const inLine = (text: string): string => text.replace(/[^\x20-\x7e]/g, "?");

/** Returns well-formed HTTP: a request that most likely has an invalid method, path, query, body or signature. */
export function framedRequest({ id, secret }: TestWorkspace, random: Random): Buffer {
  const isPoll = random(4) === 0;
  const query = QUERIES[random(QUERIES.length)] ?? "";
  const event = JSON.stringify(EVENTS[random(EVENTS.length)]);
  let body = isPoll ? "" : event;
  let asked = isPoll ? query : "";
  let signature: string | undefined;
  let [path, method] = [`/hooks/${id}${isPoll ? "/events" : ""}`, isPoll ? "GET" : "POST"];
  const times = 1 + random(3);
  for (let i = 0; i < times; i++) {
    const what = random(10);
    if (what < 6 && isPoll) asked = mutate(asked, random);
    else if (what < 6) body = mutate(body, random);
    else if (what === 6) signature = mutate(signatureOf(secret, isPoll ? asked : body), random);
    else if (what === 7) path = `/hooks/${mutate(id, random)}${isPoll ? "/events" : ""}`;
    else if (what === 8) path = ODD_PATHS[random(ODD_PATHS.length)] ?? "/";
    else method = METHODS[random(METHODS.length)] ?? "GET";
  }
  const target = inLine(encodeURI(Buffer.from(path + (asked === "" ? "" : `?${asked}`)).toString("latin1")));
  const signedQuery = target.includes("?") ? target.slice(target.indexOf("?") + 1) : "";
  const headers = {
    "Content-Type": "application/json",
    "Service-Signature": inLine(signature ?? signatureOf(secret, isPoll ? signedQuery : body)),
  };
  return rawRequest(method, target, headers, body);
}

/** Returns a request in which up to five bytes are random, so it may not be valid HTTP. */
export function brokenRequest(workspace: TestWorkspace, random: Random): Buffer {
  const bytes = Buffer.from(framedRequest(workspace, random));
  for (let i = 1 + random(5); i > 0; i--) bytes[random(Math.min(bytes.length, 400))] = random(256);
  return bytes;
}

const BROKEN_WAIT_MS = 100;

/** Sends `framed`, and then `broken`, on one connection. Returns the statuses and the number of sent requests. */
export async function fire(port: number, from: string, framed: readonly Buffer[], broken: Buffer) {
  let sent = framed.length;
  const statuses = await statusesOf(
    `http://127.0.0.1:${port}`,
    (socket) => {
      let received: Buffer = Buffer.alloc(0);
      socket.write(Buffer.concat(framed));
      socket.on("data", (chunk: Buffer) => {
        received = Buffer.concat([received, chunk]);
        if (sent > framed.length || parseAnswers(received).length < framed.length) return;
        sent += 1;
        socket.write(broken);
        setTimeout(() => socket.destroy(), BROKEN_WAIT_MS);
      });
    },
    { from },
  );
  return { statuses, sent };
}
