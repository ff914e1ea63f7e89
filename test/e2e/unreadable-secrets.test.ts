import { status } from "@grpc/grpc-js";
import { EXIT } from "../../cli/exit-code";
import { createSecretBox } from "../../core/store/secret-box";
import { poll, post, send } from "../harness/bridge";
import { runCli } from "../harness/cli";
import { readMetrics, valueOf } from "../harness/metrics";
import { SECRETS_KEY } from "../harness/processes";
import { startPushService, textEvents, type OwnPushService, type PushedBridge } from "../harness/push";
import { withCore } from "../harness/service";
import { until } from "../harness/wait";
import { expectRejected } from "../harness/workspace-api";

/** A key that the service under test does not have. */
const LOST_KEY = "ff".repeat(32);
const MISSING = createSecretBox([Buffer.from(LOST_KEY, "hex")]).newest;
const EVENT = { type: "message", channel: "c1", user: { id: "u1" }, text: "hello" };

let push: OwnPushService;
let bad: PushedBridge;
let badPolls: readonly PushedBridge[];
let good: PushedBridge;
let goodPoll: PushedBridge;
const allBad = () => [bad, ...badPolls];
const callerOf = ({ workspaceId: id, secret }: PushedBridge) => ({ id, secret });

/** Changes the workspaces through a core that also has the lost key. Core encrypts with the first of `keys`. */
const through = (keys: string, ids: readonly string[]) =>
  withCore(push.service.redis.url, { SECRETS_KEY: keys }, async ({ workspaces }) => {
    for (const id of ids) await workspaces.update(id, { name: "changed" });
  });
const losekey = (...ids: readonly string[]) => through(`${LOST_KEY},${SECRETS_KEY}`, ids);
const findKey = (...ids: readonly string[]) => through(`${SECRETS_KEY},${LOST_KEY}`, ids);

beforeAll(async () => {
  push = await startPushService(() => ({ LOG_LEVEL: "info" }));
  const bridges = [
    await push.bridge({ polls: true }),
    await push.bridge(),
    await push.bridge({ polls: true }),
  ];
  goodPoll = await push.bridge({ polls: true });
  good = await push.bridge();
  const [first, second, third] = bridges;
  if (!first || !second || !third) throw new Error("a bridge is missing");
  bad = second;
  badPolls = [first, third];
  await losekey(...allBad().map(({ workspaceId }) => workspaceId));
});
afterAll(() => push.close());

test("for every page size, the list contains the workspaces with an unreadable secret, each with the fingerprint of the missing key", async () => {
  for (const size of [1, 2, 1_000]) {
    const found = new Map<string, string>();
    for (let token = ""; ;) {
      const page = await push.workspaces.list(size, token);
      for (const { id, missingKey } of page.workspaces) found.set(id, missingKey);
      token = page.nextPageToken;
      if (token === "") break;
    }
    const expected = [
      ...allBad().map((each) => [each, MISSING] as const),
      [good, ""],
      [goodPoll, ""],
    ] as const;
    expect(found).toEqual(new Map(expected.map(([{ workspaceId }, key]) => [workspaceId, key])));
  }
  const { stdout } = await runCli("workspace list", { corePort: push.service.core.port });
  expect(stdout.match(/Secret unreadable/g)).toHaveLength(3);
  const shown = await runCli(`workspace show ${bad.workspaceId}`, { corePort: push.service.core.port });
  expect(shown.stdout).toContain(`add the key ${MISSING} to SECRETS_KEY, or connect the workspace`);
});

test("if a workspace's secret is unreadable, its bridge gets 503 with Retry-After, and core logs the missing key once per minute, without a stack trace", async () => {
  const { url, core } = push.service;
  for (let i = 0; i < 3; i++) {
    for (const bridge of badPolls) {
      const answers = [await post(url, callerOf(bridge), EVENT), await poll(url, callerOf(bridge))];
      for (const answer of answers) {
        expect([answer.status, answer.headers["retry-after"]]).toEqual([503, "1"]);
        expect(answer.json).toMatchObject({ statusCode: 503, error: "Service Unavailable" });
      }
    }
  }
  const [badPoll] = badPolls;
  const lines = core.log.filter(
    ({ workspaceId, level }) => workspaceId === badPoll?.workspaceId && level !== "info",
  );
  expect(lines).toMatchObject([{ missingKey: MISSING, msg: expect.stringContaining("unreadable") }]);
  expect(lines[0]).not.toHaveProperty("err");
  expect(core.log.filter(({ msg }) => msg === "unexpected error")).toEqual([]);
});

test("an unreadable secret does not change the answers to unsigned requests, or to requests for unknown or other workspaces", async () => {
  const { url } = push.service;
  const path = `/hooks/${bad.workspaceId}`;
  expect((await send(url, path, { method: "POST", body: "{}" })).status).toBe(401);
  const unknown = { id: "11111111-2222-4333-8444-555555555555", secret: bad.secret };
  expect((await post(url, unknown, EVENT)).status).toBe(404);
  expect((await post(url, callerOf(good), EVENT)).status).toBe(202);
  expect((await poll(url, callerOf(goodPoll))).status).toBe(200);
  expect((await post(url, { ...callerOf(goodPoll), secret: bad.secret }, EVENT)).status).toBe(401);
});

test("rotations and tests fail with an error that names the missing key and the fix; other changes keep the secret for when core has the key again", async () => {
  const { workspaceId: id, secret } = await push.bridge({ polls: true });
  await losekey(id);
  const advice = new RegExp(`${MISSING}.*connect the workspace`);
  await expectRejected(push.workspaces.rotate(id), status.FAILED_PRECONDITION, advice);
  await expectRejected(push.workspaces.sendTestEvent(id), status.FAILED_PRECONDITION, advice);
  const { workspace } = await push.workspaces.update(id, { name: "renamed", ownerEmail: "ann@a.example" });
  expect(workspace).toMatchObject({ name: "renamed", missingKey: MISSING });
  await push.workspaces.setTargetUrl(id, good.url);
  await push.workspaces.setTargetUrl(id, "");
  await findKey(id);
  expect((await poll(push.service.url, { id, secret })).status).toBe(200);
  await push.workspaces.delete(id);
});

test("a workspace with an unreadable secret can be disconnected, connected with a new secret, and deleted", async () => {
  const { workspaceId: id, secret } = await push.bridge({ polls: true });
  await losekey(id);
  expect((await push.workspaces.disconnect(id)).workspace).toMatchObject({
    connected: false,
    missingKey: "",
  });
  const { workspace, signingSecret } = await push.workspaces.connect(id);
  expect(workspace).toMatchObject({ connected: true, missingKey: "" });
  expect((await poll(push.service.url, { id, secret: signingSecret })).status).toBe(200);
  expect((await poll(push.service.url, { id, secret })).status).toBe(401);
  await losekey(id);
  await push.workspaces.delete(id);
  await expectRejected(push.workspaces.get(id), status.NOT_FOUND, "");
});

test("pushes of a workspace with an unreadable secret do not delay other pushes; core sends them in order once the workspace is connected again", async () => {
  const published = await push.publish(
    ...textEvents(bad.workspaceId, 30),
    ...textEvents(good.workspaceId, 2),
  );
  await push.logged(good.workspaceId, 2);
  expect(bad.requests).toEqual([]);
  expect(await push.deliveries(bad.workspaceId)).toEqual([]);
  const { signingSecret } = await push.workspaces.connect(bad.workspaceId);
  expect(signingSecret).not.toBe("");
  const lines = await push.logged(bad.workspaceId, 30);
  expect(new Set(lines.map(({ eventId }) => eventId))).toEqual(
    new Set(published.slice(0, 30).map(({ eventId }) => eventId)),
  );
  expect(push.service.core.log.filter(({ msg }) => msg === "unexpected error")).toEqual([]);
  await losekey(bad.workspaceId);
});

test("when a core starts, it counts the workspaces with an unreadable secret, and logs one warning with their ids and missing keys", async () => {
  await withCore(push.service.redis.url, {}, async ({ core }) => {
    const line = await until("core has counted the unreadable secrets", () =>
      core.log.find(({ msg }) => String(msg).includes("some workspaces are unreadable")),
    );
    expect(line).toMatchObject({ level: "warn", count: 3, missingKeys: [MISSING] });
    const ids = allBad().map(({ workspaceId }) => workspaceId);
    expect((line["workspaceIds"] as string[]).toSorted()).toEqual(ids.toSorted());
    expect(valueOf(await readMetrics(core), "chatbridge_core_unreadable_secrets")).toBe(3);
  });
});

test("`workspace keys` and `re-encrypt` list the workspaces with an unreadable secret, and exit with code 1", async () => {
  const corePort = push.service.core.port;
  const ids = allBad().map(({ workspaceId }) => workspaceId);
  const keys = await runCli("workspace keys --json", { corePort });
  const { workspaces, keys: counts } = keys.json as { workspaces: { id: string }[]; keys: object[] };
  expect(workspaces.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
  expect(counts).toContainEqual({ key: MISSING, state: "missing", workspaces: 3 });
  const reEncrypted = await runCli("workspace re-encrypt --json", { corePort });
  const { unreadable } = reEncrypted.json as { unreadable: string[] };
  expect(unreadable.toSorted()).toEqual(ids.toSorted());
  expect([keys.code, reEncrypted.code]).toEqual([EXIT.NO, EXIT.NO]);
});
