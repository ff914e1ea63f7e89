import { status as code } from "@grpc/grpc-js";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { EXIT } from "../../cli/exit-code";
import { CHANGE_WORDS } from "../../proto/codes";
import { verify } from "../../kit/signature";
import { status } from "../harness/behaviours";
import { runCli } from "../harness/cli";
import { call, connectToCore, type CoreClients } from "../harness/core-clients";
import { testFolder } from "../harness/folder";
import { startCore, TOKENS, type TestProcess } from "../harness/processes";
import { pushEnvironment, sharedPush } from "../harness/push";
import { startReceiver, type Receiver } from "../harness/receiver";
import { expectRejected } from "../harness/workspace-api";

const push = sharedPush();
const { service } = push;
const cli = (args: string, corePort = service.core.port) => runCli(args, { corePort });
const folder = testFolder();
const receivers: Receiver[] = [];
afterAll(() => Promise.all(receivers.map((receiver) => receiver.close())));

async function startOps(): Promise<Receiver> {
  const name = `ops-${receivers.length}.bridge.test`;
  push.names.set(name, ["127.0.0.1"]);
  const receiver = await startReceiver({ certificate: push.certificate, names: [name] });
  receivers.push(receiver);
  return receiver;
}

const setAddress = (
  workspaceId: string,
  address: string,
  { workspaces }: CoreClients = service.clients,
  token?: string,
) => call(workspaces, workspaces.setOperatorEventsAddress, { workspaceId, address }, token);
const sendTest = (workspaceId: string, { workspaces }: CoreClients = service.clients, token?: string) =>
  call(workspaces, workspaces.sendTestOperatorEvent, { workspaceId }, token);

/** Returns the logged changes to a workspace's address for operator events, oldest first, each with its detail. */
async function changesOf(workspaceId: string): Promise<readonly string[]> {
  const { workspaces } = service.clients;
  const { changes } = await call(workspaces, workspaces.listChanges, { workspaceId });
  const named = changes.map(({ kind, detail }) => `${CHANGE_WORDS.get(kind)} ${detail}`.trimEnd());
  return named.toReversed().filter((change) => change.startsWith("operator-events"));
}

const signaturesOf = (receiver: Receiver, at: number) =>
  String(receiver.requests[at]?.headers["service-signature"]).split(",v1=").slice(1);

test("a workspace's URL for operator events gets a secret; setting the URL again adds a secret, and the previous one stays valid", async () => {
  const { id } = await service.workspaces.make();
  const ops = await startOps();
  const first = await setAddress(id, `${ops.url}?token=hidden`);
  expect(first.workspace?.operatorEventsAddress).toBe(`${ops.url}?token=hidden`);
  const second = await setAddress(id, `${ops.url}?token=hidden`);
  expect(second.signingSecret).not.toBe(first.signingSecret);
  const { eventId, results } = await sendTest(id);
  expect(results).toEqual([{ receiver: "workspace-hook", accepted: true, detail: "204" }]);
  const [request] = ops.requests;
  expect(signaturesOf(ops, 0)).toHaveLength(2);
  for (const { signingSecret } of [first, second]) {
    expect(verify(String(request?.headers["service-signature"]), request?.body ?? "", signingSecret)).toBe(
      undefined,
    );
  }
  expect(JSON.parse(String(request?.body))).toMatchObject({ id: eventId, type: "test", workspace: { id } });

  const other = await startOps();
  await setAddress(id, other.url);
  await sendTest(id);
  expect(signaturesOf(other, 0)).toHaveLength(1);
  await setAddress(id, "ops@example.org");
  await setAddress(id, "");
  await expectRejected(
    sendTest(id),
    code.FAILED_PRECONDITION,
    "the workspace has no address for operator events",
  );
  expect(await changesOf(id)).toEqual([
    `operator-events-set ${ops.url}?…`,
    "operator-events-secret-rotated",
    `operator-events-set ${other.url}`,
    "operator-events-set ops@example.org",
    "operator-events-cleared ops@example.org",
  ]);
});

test.each([
  ["http://bridge.test/", "must begin with https://"],
  ["https://user:password@bridge.test/", "must not contain a user name"],
  ["https://10.0.0.1/", "not a public address"],
  ["https://[::1]/", "not a public address"],
  ["ftp://bridge.test", "must be an https URL, an email address, or empty"],
  ["a@b, c@d", "must be an https URL, an email address, or empty"],
])("the address %j for operator events is rejected", async (address, words) => {
  const { id } = await service.workspaces.make();
  await expectRejected(setAddress(id, address), code.INVALID_ARGUMENT, words);
  expect((await service.workspaces.get(id)).workspace?.operatorEventsAddress).toBe("");
});

test("a URL for operator events has at most four active secrets", async () => {
  const { id } = await service.workspaces.make();
  const { url } = await startOps();
  for (let i = 0; i < 4; i++) await setAddress(id, url);
  await expectRejected(setAddress(id, url), code.FAILED_PRECONDITION, "four secrets are active");
});

test("changes to other fields of a workspace keep its address for operator events, and the secret of that address", async () => {
  const { id } = await service.workspaces.make();
  const ops = await startOps();
  const { signingSecret } = await setAddress(id, ops.url);
  await service.workspaces.update(id, { name: "renamed" });
  await service.workspaces.rotate(id);
  await service.workspaces.disconnect(id);
  await sendTest(id);
  const [request] = ops.requests;
  expect(verify(String(request?.headers["service-signature"]), request?.body ?? "", signingSecret)).toBe(
    undefined,
  );
});

test("a test of an address reports why the receiver did not accept the event", async () => {
  const { id } = await service.workspaces.make();
  const ops = await startOps();
  await setAddress(id, ops.url);
  ops.behave(status(500));
  const { results } = await sendTest(id);
  expect(results).toMatchObject([{ receiver: "workspace-hook", accepted: false }]);
  expect(results[0]?.detail).toMatch(/answered with 500/);
  await setAddress(id, "ops@example.org");
  expect((await sendTest(id)).results).toEqual([
    { receiver: "workspace-mail", accepted: false, detail: "core has no mail server: set SMTP_URL" },
  ]);
});

describe("with a limited token and addresses of the installation", () => {
  const LIMITED = "a-token-that-is-limited-to-one-workspace";
  let core: TestProcess;
  let clients: CoreClients;
  let inside: string;
  let outside: string;
  let ops: Receiver;
  beforeAll(async () => {
    [inside, outside] = [(await service.workspaces.make()).id, (await service.workspaces.make()).id];
    ops = await startOps();
    const all = Object.entries(TOKENS).map(([role, token]) => `${role}=${token}`);
    core = await startCore(service.redis.url, {
      ...pushEnvironment(push.ca, push.names.server),
      CORE_TOKENS: [...all, `operator:ann@${inside}=${LIMITED}`].join(),
      OPERATOR_EVENTS_URL: ops.url,
      OPERATOR_EVENTS_SECRET: "a-secret-of-more-than-32-characters",
    });
    clients = connectToCore(core.port);
  });
  afterAll(async () => {
    clients.close();
    await core.stop();
  });

  test("a limited token can use only the address of its own workspace", async () => {
    await setAddress(inside, ops.url, clients, LIMITED);
    expect((await sendTest(inside, clients, LIMITED)).results).toHaveLength(1);
    await expectRejected(setAddress(outside, ops.url, clients, LIMITED), code.NOT_FOUND, "");
    await expectRejected(sendTest(outside, clients, LIMITED), code.NOT_FOUND, "");
    await expectRejected(sendTest("", clients, LIMITED), code.NOT_FOUND, "");
    await expectRejected(setAddress(inside, ops.url, clients, TOKENS.game), code.PERMISSION_DENIED, "");
  });

  test("the command line sends test events to the installation's addresses for operator events", async () => {
    const before = ops.requests.length;
    const sent = await cli("send-test-operator-event", core.port);
    expect(sent).toMatchObject({ code: EXIT.DONE, stdout: "installation-hook: accepted (204)\n" });
    const body = JSON.parse(String(ops.requests[before]?.body)) as object;
    expect(body).toMatchObject({ type: "test" });
    expect(body).not.toHaveProperty("workspace");
    ops.behave(status(404));
    const failed = await cli("send-test-operator-event --json", core.port);
    expect(failed.code).toBe(EXIT.NO);
    expect(failed.json).toMatchObject({ results: [{ receiver: "installation-hook", accepted: false }] });
  });
});

test("the command line sets and clears a workspace's address for operator events, and rotates its secret", async () => {
  const { id } = await service.workspaces.make();
  const { url } = await startOps();
  const command = `workspace set-operator-events ${id}`;
  expect(await cli(`${command} ${url}`)).toMatchObject({ code: EXIT.USAGE });
  const file = join(folder, "ops.secret");
  const set = await cli(`${command} ${url} --secret-file ${file}`);
  expect(set.stdout).toMatch(new RegExp(`operator events +${url}`));
  expect(set.stdout).not.toContain(readFileSync(file, "utf8").trim());
  expect((await cli(`${command} ${url} --show-secret`)).stdout).toMatch(/new secret +[\w-]{43}/);
  expect((await cli(`${command} ops@example.org`)).stdout).toMatch(/operator events +ops@example.org/);
  expect((await cli(`${command} --clear`)).stdout).not.toContain("operator events");
  expect(await cli(command)).toMatchObject({ code: EXIT.USAGE });
});
