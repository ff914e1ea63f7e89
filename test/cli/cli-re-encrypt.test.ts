import { setTimeout as sleep } from "node:timers/promises";
import { status } from "@grpc/grpc-js";
import { EXIT } from "../../cli/exit-code";
import { createSigningSecret } from "../../core/domain/workspace";
import { createSecretBox } from "../../core/store/secret-box";
import { poll, post } from "../harness/bridge";
import { runCli } from "../harness/cli";
import { call } from "../harness/core-clients";
import { newWorkspace } from "../harness/new-workspace";
import { SECRETS_KEY } from "../harness/processes";
import { startService, withCore, type TestService, type TestWorkspace } from "../harness/service";
import { openTestStore, texts } from "../harness/store";
import { expectRejected } from "../harness/workspace-api";

const NEW_KEY = "ab".repeat(32);
const MANY = 10_000;
const FEW = 200;
const POST_EVERY_MS = 5;
const ROTATED_MAX = 50;
const NEWEST = createSecretBox([Buffer.from(NEW_KEY, "hex")]).newest;
const OLD = createSecretBox([Buffer.from(SECRETS_KEY, "hex")]).newest;

/** A service with workspaces whose secrets are encrypted with the old key. */
interface Old {
  readonly service: TestService;
  readonly of: (i: number) => TestWorkspace;
}
const running: TestService[] = [];
afterEach(async () => {
  for (const service of running.splice(0)) await service.close();
});

async function startOld(count: number): Promise<Old> {
  const service = await startService({ core: { SECRETS_KEY: `${NEW_KEY},${SECRETS_KEY}` } });
  running.push(service);
  // This store has only the old key.
  const store = await openTestStore(service.redis.url);
  const workspaces = Array.from({ length: count }, (_, i) =>
    newWorkspace({ secrets: [createSigningSecret(`secret ${i}`, Date.now())] }),
  );
  for (let i = 0; i < count; i += 500) {
    await Promise.all(workspaces.slice(i, i + 500).map((each) => store.workspaces.create(each)));
  }
  await store.close();
  const of = (i: number) => ({ id: workspaces[i % count]?.id ?? "", secret: `secret ${i % count}` });
  return { service, of };
}

const event = (i: number) => ({
  id: `e${i}`,
  type: "message",
  channel: "c1",
  user: { id: "u1" },
  text: "hello",
});

test("while 10,000 workspaces are re-encrypted, no POST is rejected and no rotation is lost; afterwards the old key is not needed", async () => {
  const { service, of } = await startOld(MANY);
  const corePort = service.core.port;
  const before = await runCli("workspace keys --json", { corePort });
  expect(before.code).toBe(EXIT.NO);
  expect(before.json).toMatchObject({ newest: NEWEST, keys: [{ key: OLD, state: "old", workspaces: MANY }] });

  const done = new AbortController();
  const statuses: number[] = [];
  const rotated = new Map<string, string>();
  async function postAll(): Promise<void> {
    for (let i = 0; !done.signal.aborted; i++) {
      statuses.push((await post(service.url, of(i * 37), event(i))).status);
      await sleep(POST_EVERY_MS);
    }
  }
  async function rotateAll(): Promise<void> {
    for (let i = 0; !done.signal.aborted && i < ROTATED_MAX; i++) {
      const { id } = of(i * 101);
      rotated.set(id, (await service.workspaces.rotate(id)).signingSecret);
    }
  }
  const beside = Promise.all([postAll(), rotateAll()]);
  const run = await runCli("workspace re-encrypt --json", { corePort });
  done.abort();
  await beside;
  expect(run.code).toBe(EXIT.DONE);
  const { changed, already, unreadable } = run.json as { changed: number; already: number; unreadable: [] };
  expect([changed + already, unreadable]).toEqual([MANY, []]);
  expect(run.stderr).toContain(`of ${MANY} workspaces`);
  expect(statuses.length).toBeGreaterThan(0);
  expect(new Set(statuses)).toEqual(new Set([202]));
  expect(rotated.size).toBeGreaterThan(0);

  const after = await runCli("workspace keys --json", { corePort });
  expect(after.code).toBe(EXIT.DONE);
  expect(after.json).toMatchObject({
    keys: [{ key: NEWEST, state: "newest", workspaces: MANY }],
    workspaces: [],
  });
  for (const [id, secret] of rotated) expect((await poll(service.url, { id, secret })).status).toBe(200);

  await withCore(service.redis.url, { SECRETS_KEY: NEW_KEY }, async ({ core, workspaces }) => {
    const alone = await runCli("workspace keys --json", { corePort: core.port });
    expect(alone.json).toMatchObject({ keys: [{ key: NEWEST, state: "newest", workspaces: MANY }] });
    let listed = 0;
    for (let token = ""; ;) {
      const page = await workspaces.list(1_000, token);
      expect(page.workspaces.filter(({ missingKey }) => missingKey !== "")).toEqual([]);
      listed += page.workspaces.length;
      token = page.nextPageToken;
      if (token === "") break;
    }
    expect(listed).toBe(MANY);
  });
});

test("re-encrypting a second time changes nothing, and re-encrypting never changes the version of a workspace", async () => {
  const { service, of } = await startOld(FEW);
  const first = await runCli("workspace re-encrypt --json", { corePort: service.core.port });
  expect(first.json).toMatchObject({ newest: NEWEST, changed: FEW });
  const run = await runCli("workspace re-encrypt --json", { corePort: service.core.port });
  expect(run.json).toMatchObject({ changed: 0, already: FEW });
  const store = await openTestStore(service.redis.url);
  const { id } = of(1);
  const key = `${store.keys.prefix(store.keys.shard(id))}:st:${id}`;
  const [version] = await texts(store, "HMGET", key, "version");
  await withCore(service.redis.url, { SECRETS_KEY: `${SECRETS_KEY},${NEW_KEY}` }, async ({ core }) => {
    const back = await runCli("workspace re-encrypt --json", { corePort: core.port });
    expect(back.json).toMatchObject({ newest: OLD, changed: FEW });
  });
  expect(await texts(store, "HMGET", key, "version")).toEqual([version]);
  await store.close();
});

test("an unknown page token is rejected", async () => {
  const { service } = await startOld(0);
  const { workspaces } = service.clients;
  for (const pageToken of ["x", "16/", "0/x", "-1/", "99999/"]) {
    for (const method of [workspaces.listSecretKeys, workspaces.reEncryptSecrets] as const) {
      await expectRejected(
        call(workspaces, method as never, { pageToken }),
        status.INVALID_ARGUMENT,
        "page_token",
      );
    }
  }
});
