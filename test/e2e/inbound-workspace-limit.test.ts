import { nowSeconds } from "../harness/bridge";
import { burst, countOf, freshAddress, pollBytes, postBytes, untilLimited } from "../harness/burst";
import { startConsumer } from "../harness/consumer";
import { expectQuiet } from "../harness/output";
import { createWorkspace } from "../harness/service";
import { sharedService } from "../harness/shared-service";
import { until } from "../harness/wait";

const service = sharedService();

const LIMIT = 250;
const many = <T>(count: number, make: (i: number) => T) => Array.from({ length: count }, (_, i) => make(i));
const command = (id: string) =>
  JSON.stringify({ type: "command", id, channel: "c1", user: { id: "u1" }, text: "" });
const INVALID = '{"type":"command","channel":"c1","user":{},"text":""}';

/** A burst from so many addresses that the limit of none is met. */
async function spread(requests: readonly Buffer[]) {
  const began = performance.now();
  const parts = many(Math.ceil(requests.length / 400), (i) => requests.slice(i * 400, (i + 1) * 400));
  const bursts = await Promise.all(parts.map((part) => burst(service.url, part, { from: freshAddress() })));
  return { answers: bursts.flatMap(({ answers }) => answers), ms: performance.now() - began };
}

test("a bridge that keeps to 250 signed requests a second, polls included, is refused none", async () => {
  const workspace = await createWorkspace(service.clients);
  const sent = await spread(
    many(LIMIT, (i) => (i % 5 === 0 ? pollBytes(workspace) : postBytes(workspace, command(`${i}`)))),
  );
  expect([countOf(sent, 202), countOf(sent, 200)]).toEqual([200, 50]);
});

// contract: check-6, poll-counts-limits, error-429
test("signed requests over 250 a second are answered 429, posts and polls together, whatever address they come from", async () => {
  const limited = await untilLimited(LIMIT, async (size) => {
    const workspace = await createWorkspace(service.clients);
    const requests = many(size, (i) =>
      i % 2 === 0 ? pollBytes(workspace) : postBytes(workspace, command(`${i}`)),
    );
    const began = performance.now();
    const [one, two] = await Promise.all([
      spread(requests.slice(0, size / 2)),
      spread(requests.slice(size / 2)),
    ]);
    return { answers: [...one.answers, ...two.answers], ms: performance.now() - began };
  });
  expect(new Set(limited.answers.map(({ status }) => status))).toEqual(new Set([200, 202, 429]));
});

// contract: order
test("a wrong signature and an old timestamp are answered before this limit, and do not count", async () => {
  await untilLimited(LIMIT, async (size) => {
    const workspace = await createWorkspace(service.clients);
    const forged = { ...workspace, secret: "another secret" };
    const { answers, ms } = await spread(
      many(size * 3, (i) => {
        if (i % 3 === 0) return postBytes(workspace, command(`${i}`));
        return i % 3 === 1
          ? postBytes(forged, command(`${i}`))
          : postBytes(workspace, command(`${i}`), nowSeconds() - 400);
      }),
    );
    const every = (third: number) => answers.filter((_answer, i) => i % 3 === third);
    expect([countOf({ answers: every(1) }, 401), countOf({ answers: every(2) }, 409)]).toEqual([size, size]);
    return { answers: every(0), ms };
  });
});

// contract: order
test("a body that breaks a field rule is answered after this limit, and counts", async () => {
  const limited = await untilLimited(LIMIT, async (size) => {
    const workspace = await createWorkspace(service.clients);
    return spread(many(size, () => postBytes(workspace, INVALID)));
  });
  expect(new Set(limited.answers.map(({ status }) => status))).toEqual(new Set([400, 429]));
});

test("a repeat counts, and what was refused is not remembered: sent again it is received", async () => {
  const consumer = await startConsumer(service.clients.games, { window: 1_000 }).opened();
  consumer.ackAll();
  try {
    let workspace = { id: "", secret: "" };
    const limited = await untilLimited(LIMIT, async (size) => {
      workspace = await createWorkspace(service.clients);
      return spread(many(size, (i) => postBytes(workspace, command(i % 2 === 0 ? "same" : `r${i}`))));
    });
    const refused = limited.answers.findIndex(({ status }, i) => status === 429 && i % 2 === 1);
    const request = () => postBytes(workspace, command(`r${refused}`));
    await until("the request is let through", async () => countOf(await spread([request()]), 202) === 1);
    const receivedIds = () =>
      consumer.seen
        .filter(({ workspaceId }) => workspaceId === workspace.id)
        .map(({ received }) => received.event?.id);
    await until("the event is received", () => receivedIds().includes(`r${refused}`));
    expect(receivedIds().filter((id) => id === "same")).toHaveLength(1);
  } finally {
    consumer.cancel();
  }
});

test("the limit is each workspace's own", async () => {
  const workspaces = [await createWorkspace(service.clients), await createWorkspace(service.clients)];
  const bursts = await Promise.all(
    workspaces.map((workspace) => spread(many(LIMIT, (i) => postBytes(workspace, command(`${i}`))))),
  );
  expect(bursts.map((sent) => countOf(sent, 202))).toEqual([LIMIT, LIMIT]);
});

test("nothing of all that is logged", () => {
  expectQuiet([service.core, service.edge], ["v1=", "another secret"]);
});
