import { randomUUID } from "node:crypto";
import { status } from "@grpc/grpc-js";
import { GROUP_IDLE_MS } from "../../core/domain/bounds";
import { DeleteGroupRequest } from "../../proto/gen/chatbridge/v1/workspace";
import { startConsumer, startStream, type Consumer } from "../harness/consumer";
import { call, type CoreClients } from "../harness/core-clients";
import { typeIn } from "../harness/followers";
import { readMetrics, valueOf } from "../harness/metrics";
import { TOKENS, type TestProcess } from "../harness/processes";
import { startService, withCore, type TestService } from "../harness/service";
import { openTestStore, redisNowUs, type TestStore } from "../harness/store";
import { until } from "../harness/wait";
import { expectRejected } from "../harness/workspace-api";

const { FAILED_PRECONDITION, NOT_FOUND, PERMISSION_DENIED, RESOURCE_EXHAUSTED } = status;
const LIMITED = "token-of-limited-for-tests";
const CHESS = "token-of-chess-for-tests";
const QUIZ = "token-of-quiz-for-tests";
const ANN = "token-of-ann-for-tests";

// The limits apply to a whole installation, so the tests in this file use a separate installation.
let service: TestService;
let core: TestProcess;
let clients: CoreClients;
let store: TestStore;
const consumers: Consumer[] = [];

beforeAll(async () => {
  const tokens = [
    ...Object.entries(TOKENS).map(([role, token]) => `${role}=${token}`),
    `game:limited@${randomUUID()}=${LIMITED}`,
    `game:chess=${CHESS}`,
    `game:quiz=${QUIZ}`,
    `operator:ann@${randomUUID()}=${ANN}`,
  ];
  service = await startService({ core: { CORE_TOKENS: tokens.join() } });
  ({ core, clients } = service);
  store = await openTestStore(service.redis.url);
  await until("core holds all shards", async () => (await shardsHeld()) === store.keys.shards);
});
afterEach(async () => {
  for (const consumer of consumers.splice(0)) consumer.cancel();
  // The number of groups is limited, so each test's groups are deleted before the next test.
  await until("all groups of the test are deleted", async () => {
    const idle = (await list()).filter(({ streams }) => streams === 0);
    await Promise.all(idle.map(({ name }) => remove(name)));
    return (await list()).length === 0;
  });
});
afterAll(async () => {
  await store.close();
  await service.close();
});

const shardsHeld = async () => valueOf(await readMetrics(core), "chatbridge_core_shards_held");
const list = async () => (await call(clients.workspaces, clients.workspaces.listGroups, {})).groups;
const names = async () => (await list()).map(({ name }) => name);
const remove = (name: string, token: string = TOKENS.operator) =>
  call(clients.workspaces, clients.workspaces.deleteGroup, DeleteGroupRequest.create({ name }), token);

function keep(consumer: Consumer): Consumer {
  consumers.push(consumer);
  return consumer;
}
const follow = (group: string, token: string = TOKENS.game, of = clients) =>
  keep(startConsumer(of.games, { group }, token));

/** Opens a group as if its last stream had ended a day ago. */
async function openLongAgo(group: string): Promise<void> {
  await store.followLog.open(group);
  const key = `${store.keys.prefix(0)}:groups`;
  const us = String((await redisNowUs(store)) - GROUP_IDLE_MS * 1_000);
  await store.redis.command(key, ["HSET", key, group, `game ${us} ${us} 0`]);
}

/**
 * Opens and closes a stream of `count` new groups, one after the other. Returns the error of the first rejected stream.
 */
async function openAll(count: number, prefix: string, token: string) {
  for (let i = 0; i < count; i++) {
    const consumer = follow(`${prefix}${i}`, token);
    await until("the stream is open or rejected", () => consumer.isOpen || consumer.end !== undefined);
    if (consumer.end !== undefined) return consumer.end;
    consumer.cancel();
  }
  return undefined;
}

// time: ordering
test("a limited token that tries to open 2,000 groups can open only 4; core keeps its shards, answers scrapes, and serves other games", async () => {
  const held: number[] = [];
  const ends = new Set<string>();
  let opened = 0;
  const attempt = async (from: number): Promise<void> => {
    for (let i = from; i < 2_000; i += 20) {
      const consumer = startConsumer(clients.games, { group: `limited.${i}` }, LIMITED);
      await until("the stream is open or rejected", () => consumer.isOpen || consumer.end !== undefined);
      if (consumer.isOpen) opened += 1;
      else ends.add(`${consumer.end?.code} ${consumer.end?.details}`);
      consumer.cancel();
      await consumer.ended();
      if (i % 100 === 0) held.push(await shardsHeld());
    }
  };
  await Promise.all(Array.from({ length: 20 }, (_, i) => attempt(i)));
  const other = await follow("other").opened();
  expect(opened).toBe(4);
  const share = new RegExp(
    `^${RESOURCE_EXHAUSTED} the token limited already has 4 groups, .*chat-bridge groups delete`,
  );
  expect([...ends]).toEqual([expect.stringMatching(share)]);
  expect((await names()).filter((name) => name.startsWith("limited."))).toHaveLength(4);
  expect(new Set(held)).toEqual(new Set([store.keys.shards]));
  expect(other.end).toBeUndefined();
});

test("a token that has reached its limit of groups leaves groups for other tokens; beyond 64 groups, the error says what to do", async () => {
  await follow("another-game").opened();
  await withCore(
    service.redis.url,
    { CORE_TOKENS: `game:chess=${CHESS},game:quiz=${QUIZ}` },
    async (second) => {
      const others = second.clients;
      expect(await openAll(40, "chess-", CHESS)).toMatchObject({
        code: RESOURCE_EXHAUSTED,
        details: expect.stringContaining("the token chess already has 32 groups") as string,
      });
      // The limit of a token applies to all cores together.
      const further = await follow("chess-another", CHESS, others).ended();
      expect(further.details).toContain("the token chess already has 32 groups");
      expect(await openAll(40, "quiz-", QUIZ)).toMatchObject({
        code: RESOURCE_EXHAUSTED,
        details: expect.stringMatching(
          /already 64 groups.*chat-bridge groups delete.*after 24 hours/,
        ) as string,
      });
      expect(await names()).toHaveLength(64);
      expect((await follow("chess-7", CHESS, others).opened()).end).toBeUndefined();
      await until("a group is deleted", () => remove("chess-0").catch(() => false));
      expect((await follow("quiz-another", QUIZ, others).opened()).end).toBeUndefined();
    },
  );
});

describe("operators:", () => {
  test("an operator can list each group with its token, its streams and its backlog", async () => {
    const workspace = await service.workspaces.make();
    const before = Date.now();
    const consumer = await follow("listed", CHESS).opened();
    await typeIn(service.url, workspace, "one", "two");
    await consumer.sees(2);
    consumer.ack(...consumer.seen.slice(0, 1));
    const [group] = await until("one event is acked", async () => {
      const listed = (await list()).filter(({ name }) => name === "listed");
      return listed[0]?.unacked === 1 && listed;
    });
    expect(group).toMatchObject({ name: "listed", tokenName: "chess", streams: 1, unread: 0, unacked: 1 });
    expect(group?.oldestAt?.getTime()).toBeGreaterThanOrEqual(before - 1_000);
    expect(group?.lastStreamAt?.getTime()).toBeGreaterThanOrEqual(before - 1_000);
  });

  test("an operator can delete a group without streams; if the group is opened again, it begins at the end of the log", async () => {
    const workspace = await service.workspaces.make();
    const consumer = await follow("deleted").opened();
    await expectRejected(remove("deleted"), FAILED_PRECONDITION, "a stream follows the group");
    consumer.cancel();
    await typeIn(service.url, workspace, "missed");
    await until("the group is deleted", () => remove("deleted").catch(() => false));
    await expectRejected(remove("deleted"), NOT_FOUND, "there is no such group");
    expect(await names()).not.toContain("deleted");
    const lines = core.log.filter(({ msg, group }) => msg === "a group was deleted" && group === "deleted");
    expect(lines).toEqual([expect.objectContaining({ by: "operator" })]);
    const next = await follow("deleted").opened();
    await typeIn(service.url, workspace, "new");
    expect((await next.sees(1)).map(({ text }) => text)).toEqual(["new"]);
  });

  test("an operator with a limited token can neither list nor delete groups", async () => {
    const listing = call(clients.workspaces, clients.workspaces.listGroups, {}, ANN);
    await expectRejected(listing, PERMISSION_DENIED, "the token ann is limited");
    await expectRejected(remove("any", ANN), PERMISSION_DENIED, "the token ann is limited");
  });
});

test("a token that has reached its limit of streams leaves streams for other tokens; the number of streams of a core is limited too", async () => {
  const open = async (token: string, count: number, rejected: number, words: string) => {
    const streams = Array.from({ length: count }, () => keep(startStream(clients.games, token)));
    const ends = () => streams.flatMap(({ end }) => end ?? []);
    await until(`${rejected} streams are rejected`, () => ends().length === rejected);
    for (const end of ends())
      expect(end).toEqual({ code: RESOURCE_EXHAUSTED, details: expect.stringContaining(words) as string });
    return streams;
  };
  const limited = await open(LIMITED, 40, 8, "the token limited already has 32 Follow streams on this core");
  await open(CHESS, 200, 8, "the token chess already has 192 Follow streams on this core");
  await open(QUIZ, 40, 8, "this core already has 256 Follow streams");
  for (const each of limited) each.halfClose();
  await Promise.all(limited.map((each) => each.ended()));
  expect((await follow("other", QUIZ).opened()).end).toBeUndefined();
});

// time: smoke
test("core removes a group that has had no stream for 24 hours, and logs the removal", async () => {
  await openLongAgo("forgotten");
  const removed = () => core.log.filter(({ msg }) => String(msg).startsWith("a group was removed"));
  await until("core has removed the group", () => removed().length > 0);
  expect(removed()).toEqual([expect.objectContaining({ level: "info", group: "forgotten" })]);
  expect((await list()).map(({ name }) => name)).not.toContain("forgotten");
});
