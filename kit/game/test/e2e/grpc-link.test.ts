import { freePort, startCore } from "../../../../test/harness/processes";
import { startService, type TestService, type TestWorkspace } from "../../../../test/harness/service";
import { startConsumer } from "../../../../test/harness/consumer";
import { until } from "../../../../test/harness/wait";
import { CoreRejects, LinkClosed } from "../../core-link";
import { attemptsOf, closeLinks, followWithLink, messageEvent, newGroup, typeTo } from "./follow-with-link";

let service: TestService;
let workspace: TestWorkspace;
beforeAll(async () => {
  service = await startService({ core: { CORE_LISTEN: `127.0.0.1:${await freePort()}` } });
  workspace = await service.workspaces.make();
});
afterEach(closeLinks);
afterAll(() => service.close());

/** Returns the kind of the outcome of each result. */
const outcomeOf = (results: readonly { readonly outcome?: { readonly $case: string } | undefined }[]) =>
  results.map(({ outcome }) => outcome?.$case);

test("a link owns all shards, and gets each event once if the events are acked", async () => {
  const one = followWithLink(service.core.port);
  await one.link.opened;
  expect(one.link.isFollowing).toBe(true);
  await until("the link owns all shards", () => one.owned.size === one.streams[0]?.shards);
  await typeTo(service, workspace, "a", "b");
  const deliveries = await one.sees(2);
  expect(attemptsOf(deliveries)).toEqual(["a/1", "b/1"]);
  one.link.ack(deliveries.map(({ deliveryId }) => deliveryId));
  await typeTo(service, workspace, "c");
  expect(attemptsOf(await one.sees(3))).toEqual(["a/1", "b/1", "c/1"]);
  expect(one.log.lines.filter(({ level }) => level !== "info")).toEqual([]);
});

test("core redelivers an event that the game nacks, but not a dead letter", async () => {
  const one = followWithLink(service.core.port);
  await one.link.opened;
  await typeTo(service, workspace, "back", "up");
  const [back] = await one.sees(2);
  one.link.nack([back?.deliveryId ?? ""], 1);
  const [, , again, up] = await one.sees(4);
  expect(attemptsOf(one.deliveries)).toEqual(["back/1", "up/1", "back/2", "up/2"]);
  one.link.ack([again?.deliveryId ?? ""]);
  one.link.deadLetter(up?.deliveryId ?? "", "no such board");
  await until("core reports the event", () =>
    service.core.log.some((line) => line["reason"] === "no such board" && line["attempt"] === 2),
  );
});

// time: ordering
test("core does not redeliver an event while the game works on it for longer than the ack deadline", async () => {
  const slow = followWithLink(service.core.port, { ackDeadlineMs: 1_000 });
  const other = await startConsumer(service.clients.games, {
    group: newGroup(),
    ackDeadline: { seconds: 1, nanos: 0 },
  }).opened();
  await slow.link.opened;
  await typeTo(service, workspace, "long");
  // The other consumer does not extend its deadline. So it gets the fourth attempt after three deadlines.
  await other.sees(4);
  other.cancel();
  expect(attemptsOf(slow.deliveries)).toEqual(["long/1"]);
});

test("the second stream of a consumer replaces the first, which logs advice and retries later", async () => {
  const group = newGroup();
  const first = followWithLink(service.core.port, { group });
  await first.link.opened;
  const second = followWithLink(service.core.port, { group });
  await second.link.opened;
  await until("the first stream has ended", () => first.ends === 1);
  expect(first.log.lines.filter(({ level }) => level === "warn")).toEqual([
    expect.objectContaining({
      message: expect.stringContaining("give each process its own FOLLOW_CONSUMER"),
    }),
  ]);
});

test("a rejected token makes `opened` reject, and the error and the log do not contain the token", async () => {
  const one = followWithLink(service.core.port, { token: "a-token-that-core-does-not-have" });
  const error = await one.link.opened.catch((error: unknown) => error);
  expect(error).toBeInstanceOf(CoreRejects);
  expect(String(error)).toContain("check that CORE_TOKEN has the role game");
  await until("the log has a line", () => one.log.lines.length > 0);
  expect(one.log.lines[0]).toMatchObject({ level: "error", fields: { code: "UNAUTHENTICATED" } });
  expect(`${String(error)}${JSON.stringify(one.log.lines)}`).not.toContain("a-token-that");
  await expect(one.link.publish([messageEvent(workspace.id, "x", newGroup())])).rejects.toThrow(CoreRejects);
});

test("a token of another role makes `opened` reject", async () => {
  const one = followWithLink(service.core.port, { token: "edge-token-for-tests" });
  await expect(one.link.opened).rejects.toThrow("(PERMISSION_DENIED)");
});

test("`opened` rejects when the link is closed before core is reachable", async () => {
  const one = followWithLink(await freePort());
  await until("the link retries", () => one.log.lines.length > 0);
  await one.link.close();
  await expect(one.link.opened).rejects.toThrow(LinkClosed);
  await expect(one.link.publish([messageEvent(workspace.id, "x", newGroup())])).rejects.toThrow(LinkClosed);
});

test("`close` sends the last acks, so the next process gets only later events", async () => {
  const group = newGroup();
  const one = followWithLink(service.core.port, { group });
  await one.link.opened;
  const sent = Array.from({ length: 50 }, (_, i) => String(i));
  await typeTo(service, workspace, ...sent);
  const deliveries = await one.sees(50);
  one.link.pause();
  one.link.ack(deliveries.slice(0, 49).map(({ deliveryId }) => deliveryId));
  await one.link.close();
  expect(one.ends).toBe(1);
  const two = followWithLink(service.core.port, { group });
  expect(attemptsOf(await two.sees(1))).toEqual(["49/2"]);
});

test("a paused link passes on no deliveries, and still acks and publishes", async () => {
  const one = followWithLink(service.core.port);
  await one.link.opened;
  await typeTo(service, workspace, "before");
  const [before] = await one.sees(1);
  one.link.pause();
  await typeTo(service, workspace, "after");
  one.link.ack([before?.deliveryId ?? ""]);
  const results = await one.link.publish([messageEvent(workspace.id, "hi", newGroup())]);
  expect(outcomeOf(results)).toEqual(["published"]);
  expect(attemptsOf(one.deliveries)).toEqual(["before/1"]);
});

test("more events than fit in a call are published in order, and each result has the index of its event", async () => {
  const one = followWithLink(service.core.port);
  const run = newGroup();
  const events = Array.from({ length: 250 }, (_, i) => messageEvent(workspace.id, `n${i}`, `${run}/${i}`));
  const unknown = messageEvent("00000000-0000-4000-8000-000000000000", "x", `${run}/x`);
  const results = await one.link.publish([...events.slice(0, 120), unknown, ...events.slice(120)]);
  expect(results).toHaveLength(251);
  expect(results[120]?.outcome?.$case).toBe("refused");
  const sequences = results.flatMap(({ outcome }) =>
    outcome?.$case === "published" ? [outcome.value.sequence] : [],
  );
  expect(sequences).toHaveLength(250);
  expect(sequences.toSorted((a, b) => a - b)).toEqual(sequences);
});

test("after core was killed, the link follows again, and publishes the remaining events", async () => {
  const one = followWithLink(service.core.port);
  await one.link.opened;
  await typeTo(service, workspace, "unacked");
  const [first] = await one.sees(1);
  await service.core.stop("SIGKILL");
  await until("the stream has ended", () => one.ends === 1);
  expect([one.link.isFollowing, one.owned.size]).toEqual([false, 0]);
  const publishing = one.link.publish([messageEvent(workspace.id, "over a restart", newGroup())]);
  await until("publishing has failed", () =>
    one.log.lines.some(({ message }) => message === "publishing failed, retrying"),
  );
  // This delivery belongs to a stream that has ended, so the ack has no effect.
  one.link.ack([first?.deliveryId ?? ""]);
  const core = await startCore(service.redis.url, { CORE_LISTEN: `127.0.0.1:${service.core.port}` });
  await one.reopened(2);
  expect(outcomeOf(await publishing)).toEqual(["published"]);
  const [, again] = await one.sees(2);
  expect([again?.deliveryId, again?.attempt]).toEqual([first?.deliveryId, 2]);
  expect(one.streams[1]?.streamId).not.toBe(one.streams[0]?.streamId);
  await core.stop();
});
