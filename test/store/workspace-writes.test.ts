import { randomUUID } from "node:crypto";
import type { Workspace } from "../../core/domain/workspace";
import { connectWorkspace } from "../../core/operations/connect-workspace";
import { createWorkspace } from "../../core/operations/create-workspace";
import { rotateSigningSecret } from "../../core/operations/rotate-signing-secret";
import { updateWorkspace } from "../../core/operations/update-workspace";
import type { WorkspaceContext } from "../../core/operations/workspace-change";
import { StoreUnavailable } from "../../core/ports/store-unavailable";
import type { Workspaces } from "../../core/ports/workspaces";
import { addWorkspace, testStore } from "../harness/store";

const store = testStore();

interface Loss {
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
const secretsOf = async (id: string) => (await stored(id))?.secrets.map(({ value }) => value);
const secretIn = (answer: object): unknown => ("secret" in answer ? answer.secret : "none");

test.each([
  ["whose answer is lost", true],
  ["that does not arrive", false],
])("a write %s is made once, and its result is answered", async (_what, isDone) => {
  const once = () => losing({ writes: 1, isDone });
  await Promise.all([
    (async () => {
      const { id } = (await addWorkspace(store)).workspace;
      const rotated = await rotateSigningSecret(once(), id);
      expect(await secretsOf(id)).toEqual([secretIn(rotated), "a secret"]);
    })(),
    (async () => {
      const { id } = (await addWorkspace(store, { connected: false, secrets: [] })).workspace;
      expect(await secretsOf(id)).toEqual([]);
      const connected = await connectWorkspace(once(), id);
      expect(await secretsOf(id)).toEqual([secretIn(connected)]);
    })(),
    ...(["custom", "native"] as const).map(async (platform) => {
      const input = { name: "new", ownerEmail: "", platform, targetUrl: "" };
      const created = await createWorkspace(once(), input);
      if ("refused" in created) throw new Error(created.refused);
      expect(await stored(created.workspace.id)).toEqual(created.workspace);
    }),
    (async () => {
      const { id } = (await addWorkspace(store)).workspace;
      const workspace = { name: "other" };
      expect(await updateWorkspace(once(), id, workspace)).toMatchObject({ workspace });
      expect(await stored(id)).toMatchObject(workspace);
    })(),
  ]);
});

/** Loses a rotation, and renames the workspace before it is tried again. */
function renamedMeanwhile(id: string, isDone: boolean): WorkspaceContext {
  const context = losing({
    writes: 1,
    isDone,
    then: () => updateWorkspace({ ...context, workspaces: store.workspaces }, id, { name: "other" }),
  });
  return context;
}

test("a new secret is shown also when others changed the workspace since", async () => {
  const { id } = (await addWorkspace(store)).workspace;
  const rotated = await rotateSigningSecret(renamedMeanwhile(id, true), id);
  expect(await secretsOf(id)).toEqual([secretIn(rotated), "a secret"]);
});

test("what others made of the workspace instead is not taken for what was asked", async () => {
  const { id } = (await addWorkspace(store)).workspace;
  const rotating = rotateSigningSecret(renamedMeanwhile(id, false), id);
  await expect(rotating).rejects.toBeInstanceOf(StoreUnavailable);
  expect(await secretsOf(id)).toEqual(["a secret"]);
});

// time: smoke
test("a write that stays without an answer fails, whether it was made or not: replicas may not have it", async () => {
  await Promise.all(
    [true, false].map(async (isDone) => {
      const { id } = (await addWorkspace(store)).workspace;
      const rotating = rotateSigningSecret(losing({ writes: Infinity, isDone }), id);
      await expect(rotating).rejects.toBeInstanceOf(StoreUnavailable);
    }),
  );
});
