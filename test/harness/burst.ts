import { exchange, type RawAnswer } from "./raw-http";

const CONNECTIONS = 8;

/** What came of many requests that were sent at once. */
export interface Burst {
  /** At the index of its request. */
  readonly answers: readonly RawAnswer[];
}

/** Sends requests as fast as they go, dealt out in turn to several connections. */
export async function burst(
  base: string,
  requests: readonly Buffer[],
  { from }: { readonly from?: string } = {},
): Promise<Burst> {
  const dealt = Array.from({ length: Math.min(CONNECTIONS, requests.length) }, (_, hand) =>
    requests.filter((_request, i) => i % CONNECTIONS === hand),
  );
  const exchanges = await Promise.all(
    dealt.map((hand) =>
      exchange(base, Buffer.concat(hand), { until: hand.length, ...(from === undefined ? {} : { from }) }),
    ),
  );
  const answers = requests.map((_request, i) => {
    const answer = exchanges[i % CONNECTIONS]?.answers[Math.floor(i / CONNECTIONS)];
    if (answer === undefined) throw new Error(`request ${i} was not answered`);
    return answer;
  });
  return { answers };
}
