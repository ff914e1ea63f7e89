import type { WorkspaceRecord } from "../../core/ports/workspaces";
import { createRequestCounts } from "../../core/store/request-counts";
import { pushQueueOf } from "../harness/push-queue";
import {
  addWorkspace,
  evaluate,
  keyOf,
  prefixOf,
  publication,
  readPage,
  testClock,
  testStore,
  texts,
} from "../harness/store";

const HOUR_US = 3_600_000_000;
const DAY_US = 24 * HOUR_US;

const store = testStore();
// No test in this file opens another store, because that store would load the functions again and start their clock.
const clock = testClock(store);
const { addPushed, fail, sendAgain } = pushQueueOf(store);

/** Advances the clock of the functions, and shortens the time until each key expires. */
async function pass(us: number): Promise<void> {
  await clock.pass(us);
  const script = `
    for _, key in ipairs(redis.call('KEYS', '*')) do
      local left = redis.call('PTTL', key)
      if left >= 0 then redis.call('PEXPIRE', key, left - tonumber(ARGV[1])) end
    end`;
  await evaluate(store, script, [], us / 1_000);
}

const linesOf = (workspaceId: string, name: string): Promise<readonly string[]> =>
  texts(store, "LRANGE", keyOf(store, workspaceId, name), "0", "-1");
const daysSince = (ms: string | undefined): number => (clock.us / 1_000 - Number(ms)) / (DAY_US / 1_000);

/** Records a refused request of the workspace. */
async function refuse(workspaceId: string, kind: "signature" | "not-json", address: string): Promise<void> {
  const { refusedRequests, close } = createRequestCounts(store.functions, store.keys);
  const request = { kind, atMs: clock.us / 1_000, method: "POST", address } as const;
  refusedRequests.keep(workspaceId, kind === "signature" ? "signature-unknown" : kind, request);
  await close();
}

// time: controlled
test("the sample of a refused request is deleted after 24 hours, even if requests of other kinds were refused later", async () => {
  const { id } = (await addWorkspace(store)).workspace;
  await refuse(id, "signature", "203.0.113.9");
  await pass(23 * HOUR_US);
  await refuse(id, "not-json", "198.51.100.1");
  const addresses = async () => (await store.refusedRequests.read(id)).refusals.map(({ address }) => address);
  expect((await addresses()).toSorted()).toEqual(["198.51.100.1", "203.0.113.9"]);
  await pass(2 * HOUR_US);
  expect(await addresses()).toEqual(["198.51.100.1"]);
  await refuse(id, "not-json", "198.51.100.2");
  expect(await texts(store, "HKEYS", keyOf(store, id, "refused"))).toEqual(["not-json"]);
});

// time: controlled
test("old lines of the list of events that were sent again are deleted, even if operators keep sending events again", async () => {
  const workspace = await addPushed();
  for (let i = 0; i < 6; i++) {
    await fail(workspace, `event ${i}`);
    await sendAgain(workspace, `event ${i}`);
    await store.redis.command("", ["DEL", `${prefixOf(store, workspace.id)}:push`]);
    await pass(3 * DAY_US);
  }
  const lines = await linesOf(workspace.id, "again");
  expect(lines.length).toBeGreaterThan(1);
  expect(daysSince(lines[0]?.split(" ")[0])).toBeLessThanOrEqual(7 + 3);
});

// time: controlled
test("old lines of the log of polls are deleted, even if the bridge keeps polling", async () => {
  const { workspace } = await addWorkspace(store);
  for (let i = 0; i < 6; i++) {
    await store.outboundEvents.publish(publication(workspace.id, `event ${i}`));
    const record = (await store.workspaces.read(workspace.id)) as WorkspaceRecord;
    await readPage(store, { record, address: undefined, page: { start: { from: "oldest" }, limit: 100 } });
    await pass(3 * DAY_US);
  }
  const lines = await linesOf(workspace.id, "polls");
  expect(lines.length).toBeGreaterThan(1);
  expect(daysSince(lines[0]?.split(" ")[2])).toBeLessThanOrEqual(7 + 3);
});
