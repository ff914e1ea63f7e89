import { signatureOf } from "./bridge";
import { exchange, rawRequest, type RawAnswer } from "./raw-http";
import type { TestWorkspace } from "./service";

/** What came of many requests that were sent at once. */
export interface Burst {
  /** At the index of its request. */
  readonly answers: readonly RawAnswer[];
  /** From before the first request until after the last answer. */
  readonly ms: number;
}

/** Sends requests as fast as they go, dealt out in turn to several connections. */
export async function burst(
  base: string,
  requests: readonly Buffer[],
  { from, connections = 8 }: { readonly from?: string; readonly connections?: number } = {},
): Promise<Burst> {
  const began = performance.now();
  const dealt = Array.from({ length: Math.min(connections, requests.length) }, (_, hand) =>
    requests.filter((_request, i) => i % connections === hand),
  );
  const exchanges = await Promise.all(
    dealt.map((hand) =>
      exchange(base, Buffer.concat(hand), { until: hand.length, ...(from === undefined ? {} : { from }) }),
    ),
  );
  const ms = performance.now() - began;
  const answers = requests.map((_request, i) => {
    const answer = exchanges[i % connections]?.answers[Math.floor(i / connections)];
    if (answer === undefined) throw new Error(`request ${i} was not answered`);
    return answer;
  });
  return { answers, ms };
}

export function countOf({ answers }: Pick<Burst, "answers">, status: number): number {
  return answers.filter((answer) => answer.status === status).length;
}

/**
 * Sends bursts, each of more requests than the one before, until one goes over
 * a limit a second: how many that takes depends on how fast this machine is.
 *
 * Fails when of any burst fewer than `limit` were let through, however slow it
 * was, or more than could be in its time. What `send` sends must count from zero.
 */
export async function untilLimited(limit: number, send: (size: number) => Promise<Burst>): Promise<Burst> {
  for (let size = limit + 50; size <= limit * 16; size *= 2) {
    const sent = await send(size);
    const passed = size - countOf(sent, 429);
    expect(passed).toBeGreaterThanOrEqual(limit);
    expect(passed).toBeLessThanOrEqual(limit * (1 + Math.floor(sent.ms / 1_000)));
    if (passed < size) {
      expectLimited(sent.answers.find(({ status }) => status === 429));
      return sent;
    }
  }
  throw new Error("no burst went over the limit");
}

/** Fails unless an answer is a 429 to the letter. */
function expectLimited(answer: RawAnswer | undefined): void {
  expect(JSON.parse(answer?.body ?? "")).toEqual({
    statusCode: 429,
    message: expect.stringMatching(/\S/),
    error: "Too Many Requests",
  });
  expect(answer?.headers["retry-after"]).toMatch(/^[1-9][0-9]*$/);
}

let senders = 0;

/** An address that a test file has sent nothing from yet. */
export function freshAddress(): string {
  senders++;
  return `127.0.${1 + Math.floor(senders / 250)}.${1 + (senders % 250)}`;
}

/** A POST of a bridge in bytes. */
export function postBytes({ id, secret }: TestWorkspace, body: string, t?: number): Buffer {
  return rawRequest("POST", `/hooks/${id}`, { "Service-Signature": signatureOf(secret, body, t) }, body);
}

/** A poll of a bridge, without a query, in bytes. */
export function pollBytes({ id, secret }: TestWorkspace): Buffer {
  return rawRequest("GET", `/hooks/${id}/events`, { "Service-Signature": signatureOf(secret, "") });
}
