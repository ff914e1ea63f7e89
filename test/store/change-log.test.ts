import { createChange } from "../../core/domain/workspace-changes";
import { addWorkspace, testStore } from "../harness/store";

const store = testStore();
const other = testStore(store);

test("the log has the changes that were stored with a workspace, and only the last 200 of them", async () => {
  const { workspace, version } = await addWorkspace(store);
  const log = async () => (await other.changeLog.read(workspace.id)).map(({ detail }) => detail);
  const change = (detail: string) => createChange("alice", "renamed", detail);
  const batch = (from: number, count: number) =>
    Array.from({ length: count }, (_, i) => change(`${from + i}`));
  expect(await log()).toEqual([]);
  expect(await store.workspaces.replace(workspace, version + 1, batch(0, 1))).toBe(false);
  expect(await log()).toEqual([]);
  expect(await store.workspaces.replace(workspace, version, batch(1, 2))).toBe(true);
  await other.changeLog.append(workspace.id, change("3"));
  expect(await log()).toEqual(["3", "2", "1"]);
  const [newest] = await store.changeLog.read(workspace.id);
  expect(newest).toMatchObject({ by: "alice", change: "renamed" });
  expect(Math.abs((newest?.atMs ?? 0) - store.now())).toBeLessThan(3_600_000);

  const current = await store.workspaces.read(workspace.id);
  await store.workspaces.replace(workspace, current?.version ?? 0, batch(4, 220));
  expect(await log()).toEqual(Array.from({ length: 200 }, (_, i) => `${223 - i}`));
});
