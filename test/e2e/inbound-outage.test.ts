import { GetWorkspaceRequest } from "../../proto/gen/chatbridge/v1/workspace";
import { post, send } from "../harness/bridge";
import { expectQuiet } from "../harness/output";
import { freePort, startCore, type TestProcess } from "../harness/processes";
import { expectRefusal } from "../harness/refusals";
import {
  call,
  createWorkspace,
  startService,
  type TestService,
  type TestWorkspace,
} from "../harness/service";
import { until } from "../harness/wait";

let service: TestService;
let core: TestProcess;
let coreAt: { CORE_LISTEN: string };
let workspace: TestWorkspace;
const processes: TestProcess[] = [];
beforeAll(async () => {
  coreAt = { CORE_LISTEN: `127.0.0.1:${await freePort()}` };
  service = await startService({ core: coreAt });
  core = service.core;
  processes.push(core, service.edge);
  workspace = await createWorkspace(service.clients);
});
afterAll(async () => {
  await core.stop();
  await service.close();
});

let events = 0;
const event = (id = `r${++events}`) => ({
  type: "message",
  id,
  channel: "c1",
  user: { id: "u1", name: "Private Name" },
  text: "private words",
});

const status = async () => (await post(service.url, workspace, event())).status;
const readiness = async (process: TestProcess) =>
  (await send(`http://127.0.0.1:${process.healthPort}`, "/ready")).status;

/** What holds while an event cannot be stored. */
async function expectOutage(): Promise<void> {
  await until("the service says that it is out", async () => (await status()) === 503);
  for (let i = 0; i < 3; i++) {
    const answer = await post(service.url, workspace, event());
    expectRefusal(answer, 503);
    expect(answer.headers["retry-after"]).toBe("1");
  }
  // Check 1 needs nobody else, nor does what is nowhere.
  expectRefusal(await post(service.url, workspace, "{"), 400);
  expectRefusal(await post(service.url, workspace, "x".repeat(65_537)), 413);
  expectRefusal(await send(service.url, "/nowhere"), 404);
}

/** Posts all along while `change` happens; every answer must be one that a bridge may get. */
async function postThrough(change: () => Promise<void>): Promise<void> {
  const changed = new AbortController();
  const seen = new Set<number>();
  const senders = Array.from({ length: 16 }, async () => {
    while (!changed.signal.aborted) seen.add((await post(service.url, workspace, event())).status);
  });
  await until("posts are accepted", () => seen.has(202));
  await change();
  await until("posts are answered 503", () => seen.has(503));
  changed.abort();
  await Promise.all(senders);
  // The workspace's own limit may be met: the posts come as fast as they go.
  expect([...seen].filter((each) => ![202, 429, 503].includes(each))).toEqual([]);
}

test("while Redis is away, every post is answered 503 with Retry-After, and core is not ready", async () => {
  await postThrough(() => service.redis.kill());
  await expectOutage();
  expect([await readiness(core), await readiness(service.edge)]).toEqual([503, 200]);
});

test("when Redis is back with what it held, service resumes by itself", async () => {
  await service.redis.restart({ empty: false });
  await until("a post is accepted", async () => (await status()) === 202);
  await until("core is ready", async () => (await readiness(core)) === 200);
});

test("when Redis is back empty, service resumes by itself; the workspaces are gone", async () => {
  await service.redis.restart({ empty: true });
  await until("the workspace is unknown", async () => (await status()) === 404);
  workspace = await until("a workspace can be made", () =>
    createWorkspace(service.clients).catch(() => undefined),
  );
  expect(await status()).toBe(202);
});

test("while core is away, every post is answered 503 with Retry-After, and the edge is not ready", async () => {
  await postThrough(async () => {
    await core.stop("SIGKILL");
  });
  await expectOutage();
  await until("the edge is not ready", async () => (await readiness(service.edge)) === 503);
});

test("when core is back, service resumes by itself", async () => {
  core = await startCore(service.redis.url, coreAt);
  processes.push(core);
  await until("a post is accepted", async () => (await status()) === 202);
  await until("the edge is ready", async () => (await readiness(service.edge)) === 200);
  const { workspaces } = service.clients;
  const request = GetWorkspaceRequest.create({ workspaceId: workspace.id });
  const known = await until("operators are served", () =>
    call(workspaces, workspaces.getWorkspace, request).catch(() => undefined),
  );
  expect(known.workspace?.id).toBe(workspace.id);
});

test("a core that is stopped is missed by none: what it took it answers, the rest is answered 503", async () => {
  await postThrough(async () => {
    expect(await core.stop()).toBe(0);
  });
  core = await startCore(service.redis.url, coreAt);
  processes.push(core);
  await until("a post is accepted", async () => (await status()) === 202);
});

test("an edge that is stopped answers what it took, and then is gone", async () => {
  // A workspace and an address that the posts before do not count for: no limit is to be met.
  const fresh = await until("a workspace can be made", () =>
    createWorkspace(service.clients).catch(() => undefined),
  );
  const answers = Array.from({ length: 20 }, () =>
    post(service.url, fresh, event(), { from: "127.0.0.5" }).catch(() => undefined),
  );
  const first = await Promise.race(answers);
  expect(first?.status).toBe(202);
  expect(await service.edge.stop()).toBe(0);
  for (const answer of await Promise.all(answers)) {
    if (answer !== undefined) expect(answer.status).toBe(202);
  }
  await expect(post(service.url, workspace, event())).rejects.toMatchObject({ code: "ECONNREFUSED" });
});

test("an outage is logged in few words, and nothing of what was under way", () => {
  expectQuiet(processes, [workspace.secret, "v1=", "private words", "Private Name"]);
});
