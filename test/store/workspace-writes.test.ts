import { randomUUID } from "node:crypto";
import { OUTSIDE_CALLS_MAX } from "../../core/domain/bounds";
import type { Workspace } from "../../core/domain/workspace";
import { createCallsInProgress } from "../../core/operations/calls-in-progress";
import {
  connectWorkspace,
  createWorkspace,
  rotateSigningSecret,
  updateWorkspace,
  type WorkspaceContext,
} from "../../core/operations/workspaces";
import { StoreUnavailable } from "../../core/ports/store-faults";
import type { Workspaces } from "../../core/ports/workspaces";
import { addWorkspace, testStore } from "../harness/store";

const store = testStore();
/** Changes that the operations have reported to core's log. */
const logged: string[] = [];
beforeEach(() => void logged.splice(0));

interface Loss {
  readonly writes: number;
  /** Whether the lost writes take effect in Redis, so that only their answers are lost. */
  readonly isDone: boolean;
  /** Called after each lost write. */
  readonly then?: () => Promise<unknown>;
}

/** Returns a context for operations whose store does not answer the first `writes` writes. */
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
    create: (workspace, changes) => lose(() => store.workspaces.create(workspace, changes)),
    replace: (workspace, version, changes) =>
      lose(() => store.workspaces.replace(workspace, version, changes)),
  };
  return {
    now: store.now,
    workspaces,
    ids: { secret: randomUUID, workspace: randomUUID } as unknown as WorkspaceContext["ids"],
    targetUrlCheck: { findFault: async () => undefined },
    by: "alice",
    urlChecks: createCallsInProgress("checks of URLs", OUTSIDE_CALLS_MAX),
    onChanged: (_id, { change }) => void logged.push(change),
    onDeleted: () => undefined,
  };
}

async function stored(id: string): Promise<Workspace | undefined> {
  return (await store.workspaces.read(id))?.workspace;
}
const secretsOf = async (id: string) => (await stored(id))?.secrets.map(({ value }) => value);
const changesOf = async (id: string) =>
  (await store.changeLog.read(id)).map(({ by, change, detail }) => `${by} ${change} ${detail}`.trim());
const secretIn = (answer: Awaited<ReturnType<typeof rotateSigningSecret>>) =>
  "workspace" in answer ? answer.workspace.secrets[0]?.value : "none";

test.each([
  ["whose answer is lost", true],
  ["that does not reach Redis", false],
])(
  "a write %s is retried, takes effect once, is logged once, and returns its result",
  async (_what, isDone) => {
    const once = () => losing({ writes: 1, isDone });
    await Promise.all([
      (async () => {
        const { id } = (await addWorkspace(store)).workspace;
        const rotated = await rotateSigningSecret(once(), id);
        expect(await secretsOf(id)).toEqual([secretIn(rotated), "a secret"]);
        expect(await changesOf(id)).toEqual(["alice secret-rotated"]);
        expect(logged.filter((change) => change === "secret-rotated")).toHaveLength(1);
      })(),
      (async () => {
        const { id } = (await addWorkspace(store, { connected: false, secrets: [] })).workspace;
        expect(await secretsOf(id)).toEqual([]);
        const connected = await connectWorkspace(once(), id);
        expect(await secretsOf(id)).toEqual([secretIn(connected)]);
        expect(await changesOf(id)).toEqual(["alice connected"]);
      })(),
      ...(["custom", "native"] as const).map(async (platform) => {
        const input = { name: "new", ownerEmail: "", platform, targetUrl: "" };
        const created = await createWorkspace(once(), input);
        if ("refused" in created) throw new Error(created.refused);
        expect(await stored(created.workspace.id)).toEqual(created.workspace);
        expect(await changesOf(created.workspace.id)).toEqual(["alice created new"]);
      }),
      (async () => {
        const { id } = (await addWorkspace(store)).workspace;
        const workspace = { name: "other" };
        expect(await updateWorkspace(once(), id, workspace)).toMatchObject({ workspace });
        expect(await stored(id)).toMatchObject(workspace);
      })(),
    ]);
  },
);

/** Returns a context that loses the first write of a rotation, and renames the workspace before the retry. */
function renamedMeanwhile(id: string, isDone: boolean): WorkspaceContext {
  const context = losing({
    writes: 1,
    isDone,
    then: () => updateWorkspace({ ...context, workspaces: store.workspaces }, id, { name: "other" }),
  });
  return context;
}

test("a rotation returns the new secret even if another operation changed the workspace before the retry", async () => {
  const { id } = (await addWorkspace(store)).workspace;
  const rotated = await rotateSigningSecret(renamedMeanwhile(id, true), id);
  expect(await secretsOf(id)).toEqual([secretIn(rotated), "a secret"]);
});

test("another operation's change is not mistaken for the lost rotation", async () => {
  const { id } = (await addWorkspace(store)).workspace;
  const rotating = rotateSigningSecret(renamedMeanwhile(id, false), id);
  await expect(rotating).rejects.toBeInstanceOf(StoreUnavailable);
  expect(await secretsOf(id)).toEqual(["a secret"]);
});

// time: smoke
test("a write fails if no retry gets an answer, even if the write took effect, because the replicas may lack the change", async () => {
  await Promise.all(
    [true, false].map(async (isDone) => {
      const { id } = (await addWorkspace(store)).workspace;
      const rotating = rotateSigningSecret(losing({ writes: Infinity, isDone }), id);
      await expect(rotating).rejects.toBeInstanceOf(StoreUnavailable);
    }),
  );
});
