import { randomUUID } from "node:crypto";
import type { Workspace } from "../../core/domain/workspace";
import { connectWorkspace } from "../../core/operations/connect-workspace";
import { createWorkspace } from "../../core/operations/create-workspace";
import { rotateSigningSecret } from "../../core/operations/rotate-signing-secret";
import { updateWorkspace } from "../../core/operations/update-workspace";
import type { WorkspaceContext } from "../../core/operations/workspace-change";
import { StoreUnavailable } from "../../core/ports/store-unavailable";
import type { Workspaces } from "../../core/ports/workspaces";
import { startTestRedis, type TestRedis } from "../harness/redis";
import { addWorkspace, openTestStore, type TestStore } from "../harness/store";

let redis: TestRedis;
let store: TestStore;
beforeAll(async () => {
  redis = await startTestRedis();
  store = await openTestStore(redis.url);
});
afterAll(async () => {
  await store.close();
  await redis.close();
});

interface Loss {
  /** How many writes are lost. */
  readonly writes: number;
  /** Whether they are done, and just the answer is lost. */
  readonly isDone: boolean;
  /** What happens right after the first. */
  readonly then?: () => Promise<unknown>;
}

/** What operations need, of a store whose first writes get no answer. */
function losing({ writes, isDone, then }: Loss): WorkspaceContext {
  let left = writes;
  async function lose(write: () => Promise<boolean>): Promise<boolean> {
    if (left-- <= 0) return write();
    if (isDone) await write();
    await then?.();
    throw new StoreUnavailable("no answer in time");
  }
  const workspaces: Workspaces = {
    ...store.workspaces,
    create: (workspace) => lose(() => store.workspaces.create(workspace)),
    replace: (workspace, version) => lose(() => store.workspaces.replace(workspace, version)),
  };
  return {
    now: store.now,
    workspaces,
    ids: { secret: randomUUID, workspace: randomUUID } as unknown as WorkspaceContext["ids"],
    targetUrlCheck: { findFault: async () => undefined },
  };
}

async function stored(id: string): Promise<Workspace | undefined> {
  return (await store.workspaces.read(id))?.workspace;
}
const secretsOf = async (id: string): Promise<readonly string[] | undefined> =>
  (await stored(id))?.secrets.map(({ value }) => value);

describe.each([
  ["whose answer is lost", true],
  ["that does not arrive", false],
])("a write %s is asked after", (_what, isDone) => {
  const loss = { writes: 1, isDone };

  test("a new secret is shown, and made once", async () => {
    const { workspace } = await addWorkspace(store);
    const rotated = await rotateSigningSecret(losing(loss), workspace.id);
    const secret = "secret" in rotated ? rotated.secret : "none";
    expect(await secretsOf(workspace.id)).toEqual([secret, "a secret"]);
  });

  test("the secret of a workspace that is connected is shown", async () => {
    const { workspace } = await addWorkspace(store, { connected: false, secrets: [] });
    const connected = await connectWorkspace(losing(loss), workspace.id);
    expect(await secretsOf(workspace.id)).toEqual(["secret" in connected ? connected.secret : "none"]);
  });

  test.each(["custom", "native"] as const)("a new %s workspace is answered", async (platform) => {
    const input = { name: "new", ownerEmail: "", platform, targetUrl: "" };
    const created = await createWorkspace(losing(loss), input);
    if ("refused" in created) throw new Error(created.refused);
    expect(await stored(created.workspace.id)).toEqual(created.workspace);
  });

  test("a change without a secret is answered", async () => {
    const { workspace } = await addWorkspace(store);
    expect(await updateWorkspace(losing(loss), workspace.id, { name: "other" })).toMatchObject({
      workspace: { name: "other" },
    });
    expect(await stored(workspace.id)).toMatchObject({ name: "other" });
  });
});

test("a new secret is shown also when others changed the workspace since", async () => {
  const { workspace } = await addWorkspace(store);
  const context = losing({
    writes: 1,
    isDone: true,
    then: () =>
      updateWorkspace({ ...context, workspaces: store.workspaces }, workspace.id, { name: "other" }),
  });
  const rotated = await rotateSigningSecret(context, workspace.id);
  expect((await secretsOf(workspace.id))?.[0]).toBe("secret" in rotated ? rotated.secret : "none");
});

test("what others made of the workspace instead is not taken for what was asked", async () => {
  const { workspace } = await addWorkspace(store);
  const context = losing({
    writes: 1,
    isDone: false,
    then: () =>
      updateWorkspace({ ...context, workspaces: store.workspaces }, workspace.id, { name: "other" }),
  });
  await expect(rotateSigningSecret(context, workspace.id)).rejects.toBeInstanceOf(StoreUnavailable);
  expect(await secretsOf(workspace.id)).toEqual(["a secret"]);
});

test("what is written, and never confirmed, is not answered: replicas may not have it", async () => {
  const { workspace } = await addWorkspace(store);
  const context = losing({ writes: Infinity, isDone: true });
  await expect(rotateSigningSecret(context, workspace.id)).rejects.toBeInstanceOf(StoreUnavailable);
});

test("a store that stays away is said to be", async () => {
  const { workspace } = await addWorkspace(store);
  const asked = performance.now();
  const context = losing({ writes: Infinity, isDone: false });
  await expect(rotateSigningSecret(context, workspace.id)).rejects.toBeInstanceOf(StoreUnavailable);
  // Two seconds, and what a busy machine adds: before whoever asked gives up.
  expect(performance.now() - asked).toBeLessThan(9_000);
});
