import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import * as fc from "fast-check";
import { MatrixError } from "../../client/matrix-error";
import { createRequests } from "../../client/request";
import { readRetryAfter, RETRY_AFTER_MOST_MS } from "../../client/retry-after";
import { untilAnswered } from "../../client/retrying";

/** Every pause rejects at once, as if the bridge had stopped. */
jest.mock("node:timers/promises", () => ({
  setTimeout: jest.fn(() => Promise.reject(new Error("the bridge stops"))),
}));

const NOW_MS = Date.UTC(2026, 0, 1);

test.each<[unknown, string | null, number]>([
  [1_500, "9", 1_500],
  [undefined, "2", 2_000],
  [undefined, "1.5", 1_500],
  [undefined, new Date(NOW_MS + 5_000).toUTCString(), 5_000],
  [undefined, new Date(NOW_MS - 5_000).toUTCString(), 0],
  [undefined, null, 0],
  [undefined, "", 0],
  [undefined, "soon", 0],
  [undefined, "in 3000", 0],
  [undefined, "2099-01-01", 0],
  // The oldest date format of HTTP has no time zone, and means GMT.
  [undefined, "Thu Jan  1 00:00:30 2026", 30_000],
  [null, "-3", 0],
  ["3000", null, 0],
  [{ retry_after_ms: 3_000 }, null, 0],
  [-1, "9", 0],
  [NaN, null, 0],
  [3e9, null, RETRY_AFTER_MOST_MS],
  [2 ** 31 - 1, null, RETRY_AFTER_MOST_MS],
  [undefined, "99999999", RETRY_AFTER_MOST_MS],
  [undefined, "9".repeat(400), RETRY_AFTER_MOST_MS],
  [NOW_MS, null, RETRY_AFTER_MOST_MS],
])("a wait of %j in the body and %j in the header is %d ms", (inBody, header, ms) => {
  expect(readRetryAfter(inBody, header, NOW_MS)).toBe(ms);
});

test("every wait is short enough for a Node timer", () => {
  const header = fc.oneof(fc.constant(null), fc.string(), fc.double().map(String), fc.date().map(String));
  fc.assert(
    fc.property(fc.anything(), header, (inBody, text) => {
      const ms = readRetryAfter(inBody, text, NOW_MS);
      expect(ms).toBeGreaterThanOrEqual(0);
      expect(ms).toBeLessThanOrEqual(RETRY_AFTER_MOST_MS);
    }),
  );
});

// time: controlled
test.each([
  [{ retry_after_ms: 3e9 }, {}],
  [{ retry_after_ms: 2_147_483_647 }, {}],
  [{}, { "retry-after": "99999999" }],
])("a wait that a homeserver asks for is short enough for a Node timer: %j %j", async (body, headers) => {
  let requests = 0;
  const server = createServer((_request, response) => {
    requests += 1;
    response.writeHead(429, headers).end(JSON.stringify({ errcode: "M_LIMIT_EXCEEDED", ...body }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const request = createRequests(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, () => "token");
  const call = untilAnswered(() => request({ method: "GET", path: "/" }), {
    signal: new AbortController().signal,
  });
  await expect(call).rejects.toThrow("the bridge stops");
  expect(requests).toBe(1);
  const [waitMs] = jest.mocked(sleep).mock.lastCall ?? [];
  expect(waitMs).toBeGreaterThanOrEqual(RETRY_AFTER_MOST_MS);
  expect(waitMs).toBeLessThan(2 ** 31);
  server.closeAllConnections();
  server.close();
  await once(server, "close");
});

// time: controlled
test.each<[string, Error, number]>([
  [
    "the homeserver cannot be reached, the bridge tries again after 5 seconds",
    new Error("ECONNREFUSED"),
    5_000,
  ],
  [
    "the homeserver answers with an error, the bridge tries again after 30 seconds",
    new MatrixError(502, ""),
    30_000,
  ],
])("as long as %s", async (_what, error, mostMs) => {
  const pause = jest.mocked(sleep);
  pause.mockClear();
  for (let i = 0; i < 10; i += 1) pause.mockResolvedValueOnce(undefined);
  const call = untilAnswered(() => Promise.reject(error), { signal: new AbortController().signal });
  await expect(call).rejects.toThrow("the bridge stops");
  const waits = pause.mock.calls.map(([waitMs = 0]) => waitMs);
  expect(Math.max(...waits)).toBeGreaterThanOrEqual(mostMs);
  // To spread the retries, each wait is up to a quarter longer, at random.
  expect(Math.max(...waits)).toBeLessThanOrEqual(mostMs * 1.25);
});
