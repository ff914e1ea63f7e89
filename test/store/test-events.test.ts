import { deliveryOf, pushQueueOf } from "../harness/push-queue";
import { keyOf, testStore } from "../harness/store";

const store = testStore();
const { addPushed, queue, record, fail, failedOf } = pushQueueOf(store);

const startOf = (text: string) => ({ bytes: Buffer.from(text), isTruncated: false });
const responseOf = async (workspaceId: string, id = "") =>
  (await store.deliveryLog.readEntry(workspaceId, id))?.response;

/** Logs a test event that the bridge has rejected, and returns the id of the log entry. */
async function logTest(workspaceId: string, label: string): Promise<string> {
  const eventId = `evt_${label}`;
  const envelope = Buffer.from("{}");
  const failed = { eventId, sequence: 1, eventType: "ping", expiresAtMs: 1, envelope } as const;
  const response = startOf(label);
  return (
    await store.deliveryLog.append(workspaceId, deliveryOf({ eventId, eventType: "ping" }, 1, "status"), {
      response,
      failed,
    })
  ).id;
}

test("the log keeps only the last 20 test events, so test events do not displace other entries and responses", async () => {
  const workspace = await addPushed();
  const { id } = workspace;
  const push = await queue(workspace, "real");
  await record(push, "keep", deliveryOf(push, 1, "status"), { response: startOf("real") });
  const [real] = await store.deliveryLog.read(id, 1, undefined);
  const ids: string[] = [];
  for (let i = 0; i < 120; i++) ids.push(await logTest(id, `test${i}`));
  const entries = await store.deliveryLog.read(id, 1_000, undefined);
  expect(entries.map((entry) => entry.id)).toEqual([...ids.slice(-20).toReversed(), real?.id]);
  expect(await responseOf(id, real?.id)).toEqual(startOf("real"));
  expect(await responseOf(id, ids[100])).toEqual(startOf("test100"));
  const key = keyOf(store, id, "responses");
  expect(Number(await store.redis.command(key, ["XLEN", key]))).toBe(21);
});

test("only the last failed test event is kept, and only if the store has room for it", async () => {
  const workspace = await addPushed();
  await fail(workspace, "real0");
  await logTest(workspace.id, "test1");
  await logTest(workspace.id, "test2");
  expect(await failedOf(workspace)).toEqual(["evt_test2", "evt_real0"]);
  for (let i = 1; i < 100; i++) {
    await fail(workspace, `real${i}`);
  }
  const kept = await failedOf(workspace);
  expect(kept).toHaveLength(100);
  await logTest(workspace.id, "test3");
  expect(await failedOf(workspace)).toEqual(kept.filter((eventId) => eventId !== "evt_test2"));
  expect(await failedOf(workspace)).toContain("evt_real0");
});
