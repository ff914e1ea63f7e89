import { createChange } from "../../core/domain/workspace-changes";
import { addWorkspace, keyOf, testStore } from "../harness/store";

const store = testStore();
const other = testStore(store);

test("a change is logged only if it is stored, and the log contains the last 200 changes of a workspace", async () => {
  const { workspace, version } = await addWorkspace(store);
  const log = async () => (await other.changeLog.read(workspace.id)).map(({ detail }) => detail);
  const change = (detail: string) => createChange("alice", "renamed", detail);
  const batch = (from: number, count: number) =>
    Array.from({ length: count }, (_, i) => change(`${from + i}`));
  expect(await log()).toEqual([]);
  expect(await store.workspaces.replace(workspace, version + 1, batch(0, 1))).toBe(false);
  expect(await log()).toEqual([]);
  expect(await store.workspaces.replace(workspace, version, batch(1, 2))).toBe(true);
  expect(await log()).toEqual(["2", "1"]);
  const [newest] = await store.changeLog.read(workspace.id);
  expect(newest).toMatchObject({ by: "alice", change: "renamed" });
  expect(Math.abs((newest?.atMs ?? 0) - store.now())).toBeLessThan(3_600_000);

  const current = await store.workspaces.read(workspace.id);
  await store.workspaces.replace(workspace, current?.version ?? 0, batch(3, 221));
  expect(await log()).toEqual(Array.from({ length: 200 }, (_, i) => `${223 - i}`));
});

test("the log keeps at most 50 entries for test events and events sent again, so that these entries do not displace other changes", async () => {
  const { workspace, version } = await addWorkspace(store);
  const key = keyOf(store, workspace.id, "changes");
  // A core of an older release logged a test event among the other changes.
  await store.redis.command(key, ["LPUSH", key, '1000000:["bob","test-event-sent",""]']);
  const log = async () => (await other.changeLog.read(workspace.id)).map(({ detail }) => detail);
  const sent = createChange("bob", "test-event-sent", "sent");
  for (let i = 0; i < 25; i++) await store.changeLog.append(workspace.id, sent);
  await store.workspaces.replace(workspace, version, [createChange("alice", "secret-rotated", "rotated")]);
  for (let i = 0; i < 35; i++) await other.changeLog.append(workspace.id, sent);
  const times = (count: number) => Array.from({ length: count }, () => "sent");
  expect(await log()).toEqual([...times(35), "rotated", ...times(15), ""]);
  for (let i = 0; i < 200; i++) await other.changeLog.append(workspace.id, sent);
  expect(await log()).toEqual([...times(50), "rotated", ""]);
});
