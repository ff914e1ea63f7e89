import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { burst, countOf, freshAddress, pollBytes, postBytes, untilLimited } from "../harness/burst";
import { expectQuiet } from "../harness/output";
import { startEdge, type TestProcess } from "../harness/processes";
import { rawRequest } from "../harness/raw-http";
import { createWorkspace, type TestWorkspace } from "../harness/service";
import { sharedService } from "../harness/shared-service";

const service = sharedService();
let secondEdge: TestProcess;
/** Behind a proxy: this machine is one. */
let proxiedEdge: TestProcess;
let workspaces: readonly TestWorkspace[];
beforeAll(async () => {
  secondEdge = await startEdge(service.core.port);
  proxiedEdge = await startEdge(service.core.port, { TRUST_PROXY: "127.0.0.0/8" });
  workspaces = [await createWorkspace(service.clients), await createWorkspace(service.clients)];
});
afterAll(async () => {
  await secondEdge.stop();
  await proxiedEdge.stop();
});

const LIMIT = 500;
const EVENT = '{"type":"command","channel":"c1","user":{"id":"u1"},"text":""}';

/** An unsigned request to no workspace: it costs the service the least, and is answered 404. */
const nowhere = (body = "{}") => rawRequest("POST", `/hooks/${randomUUID()}`, {}, body);
const many = <T>(count: number, make: (i: number) => T) => Array.from({ length: count }, (_, i) => make(i));

test("an address that keeps to 500 requests a second is refused none", async () => {
  const sent = await burst(
    service.url,
    many(LIMIT, () => nowhere()),
    { from: freshAddress() },
  );
  expect(countOf(sent, 404)).toBe(LIMIT);
});

// contract: check-2, order
test("requests over 500 a second from an address are answered 429, before workspace and signature are looked at", async () => {
  const [workspace] = workspaces;
  const limited = await untilLimited(LIMIT, (size) =>
    burst(
      service.url,
      many(size, (i) => rawRequest("POST", `/hooks/${i % 2 === 0 ? randomUUID() : workspace?.id}`, {}, "{}")),
      { from: freshAddress() },
    ),
  );
  for (const [i, { status }] of limited.answers.entries()) {
    expect([429, i % 2 === 0 ? 404 : 401]).toContain(status);
  }
});

// contract: order
test("a body that is not JSON or too large is answered so, however much the address sends, and does not count", async () => {
  await untilLimited(LIMIT, async (size) => {
    const from = freshAddress();
    const counted = many(size, () => nowhere());
    const broken = many(size, () => nowhere("{"));
    const [sent, tooLarge] = await Promise.all([
      burst(service.url, [...counted, ...broken], { from }),
      burst(
        service.url,
        many(8, () => nowhere("x".repeat(65_537))),
        { from },
      ),
    ]);
    expect(countOf({ answers: sent.answers.slice(size) }, 400)).toBe(size);
    expect(countOf(tooLarge, 413)).toBe(8);
    return { ...sent, answers: sent.answers.slice(0, size) };
  });
});

// contract: check-2, poll-counts-limits
test("posts and polls of all workspaces count together, signed or not, over all edges", async () => {
  let nth = 0;
  const statuses = await untilLimited(LIMIT, async (size) => {
    const from = freshAddress();
    const requests = many(size, (i) => {
      const workspace = workspaces[i % 2] ?? { id: "", secret: "" };
      if (i % 5 < 3) return nowhere();
      return i % 5 === 3 ? pollBytes(workspace) : postBytes(workspace, EVENT.replace("c1", `c${++nth}`));
    });
    const began = performance.now();
    const [here, there] = await Promise.all([
      burst(service.url, requests.slice(0, size / 2), { from }),
      burst(`http://127.0.0.1:${secondEdge.port}`, requests.slice(size / 2), { from }),
    ]);
    return { answers: [...here.answers, ...there.answers], ms: performance.now() - began };
  });
  expect(new Set(statuses.answers.map(({ status }) => status))).toEqual(new Set([200, 202, 404, 429]));
});

test("the limit is each address's own", async () => {
  const requests = many(LIMIT, () => nowhere());
  const bursts = await Promise.all(many(2, () => burst(service.url, requests, { from: freshAddress() })));
  expect(bursts.map((sent) => countOf(sent, 404))).toEqual([LIMIT, LIMIT]);
});

// contract: error-429
test("after as long as Retry-After says, the address is served again", async () => {
  let from = "";
  const limited = await untilLimited(LIMIT, (size) => {
    from = freshAddress();
    return burst(
      service.url,
      many(size, () => nowhere()),
      { from },
    );
  });
  const refused = limited.answers.filter(({ status }) => status === 429);
  const waits = refused.map(({ headers }) => Number(headers["retry-after"]));
  await sleep(Math.max(...waits) * 1_000);
  expect(countOf(await burst(service.url, [nowhere()], { from }), 404)).toBe(1);
});

/** As nowhere(), by a proxy's word from another address each time. */
const forwarded = (address: string) =>
  rawRequest(
    "POST",
    `/hooks/${randomUUID()}`,
    { "X-Forwarded-For": address, Forwarded: `for=${address}` },
    "{}",
  );

test("what a sender says of its own address counts for nothing", async () => {
  await untilLimited(LIMIT, (size) =>
    burst(
      service.url,
      many(size, (i) => forwarded(`198.51.100.${i % 250}`)),
      { from: freshAddress() },
    ),
  );
});

test("what a trusted proxy says of an address counts, however the address is written", async () => {
  const url = `http://127.0.0.1:${proxiedEdge.port}`;
  const from = freshAddress();
  const twoSenders = many(2 * LIMIT, (i) => forwarded(`2001:db8::${1 + (i % 2)}`));
  expect(countOf(await burst(url, twoSenders, { from }), 404)).toBe(2 * LIMIT);
  let nth = 0;
  await untilLimited(LIMIT, (size) => {
    nth++;
    const spellings = [
      `2001:db8:1::${nth}`,
      `2001:0DB8:0001:0000::${nth}`,
      `evil, 2001:db8:1:0:0:0:0:${nth}`,
    ];
    return burst(
      url,
      many(size, (i) => forwarded(spellings[i % 3] ?? "")),
      { from },
    );
  });
});

test("nothing of all that is logged", () => {
  expectQuiet(
    [service.core, service.edge, secondEdge, proxiedEdge],
    workspaces.map(({ secret }) => secret).concat("v1="),
  );
});
