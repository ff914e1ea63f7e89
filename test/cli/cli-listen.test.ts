import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { OutboundEvent } from "../../kit/events";
import { createReceiver } from "../../kit/receiver";
import { EXIT } from "../../cli/exit-code";
import type { Forwarded } from "../../cli/forward-events";
import { MessageKind } from "../../proto/gen/chatbridge/v1/event";
import { redirect, sayNothing, status, type Behaviour } from "../harness/behaviours";
import { poll } from "../harness/bridge";
import { runCli, startCli, startCliProcess, type CliChild } from "../harness/cli";
import { CARD, create, dm, ephemeral, MESSAGE_ID, update, type ContentInit } from "../harness/contents";
import { testFolder } from "../harness/folder";
import { plainHost } from "../harness/plain-host";
import { freePort } from "../harness/processes";
import { eventIdOf, sharedPush } from "../harness/push";
import { startReceiver, type Receiver, type ReceiverOptions } from "../harness/receiver";
import type { TestWorkspace } from "../harness/service";
import { verifyPush } from "../harness/verify-push";
import { until } from "../harness/wait";

const push = sharedPush();
const { service } = push;
const folder = testFolder();
let workspace: TestWorkspace;
const closing: (() => Promise<unknown>)[] = [];
beforeEach(async () => {
  workspace = await service.workspaces.make();
});
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function bridge(behaviour: Behaviour = status(204), options: ReceiverOptions = {}): Promise<Receiver> {
  const receiver = await startReceiver(options);
  receiver.behave(behaviour);
  closing.push(() => receiver.close());
  return receiver;
}

/** Returns the arguments of a `listen` command for the test's workspace. */
const words = (forwardTo: string, more: readonly string[]) =>
  ["listen", "--workspace", workspace.id, "--base-url", service.url, "--forward-to", forwardTo].concat(more);
const withSecret = (secret = workspace.secret) =>
  ({ role: "nobody", environment: { SIGNING_SECRET: secret } }) as const;

/** Starts `listen`, and waits until events that are published from now on are forwarded. */
async function listen(forwardTo: string, args = "", start: typeof startCli = startCli): Promise<CliChild> {
  const child = start(words(forwardTo, args.split(" ").filter(Boolean)), withSecret());
  closing.unshift(() => {
    child.interrupt();
    return child.ended;
  });
  await until("the command forwards events", () => child.stderr().includes("Forwarding"));
  return child;
}

const publish = async (...contents: readonly ContentInit[]) =>
  (await push.publish(...contents.map((content) => ({ workspaceId: workspace.id, content })))).map(
    ({ eventId }) => eventId,
  );
const shown = (child: CliChild) => child.lines().map((line) => JSON.parse(line) as Forwarded);
const shownLines = (child: CliChild, count: number) =>
  until(`${count} lines are shown`, () => child.lines().length >= count && shown(child));

test.each(["/", "//"])("`listen` accepts a base URL that ends with %s", async (slashes) => {
  const receiver = await bridge();
  const child = await listen(receiver.url, `--base-url ${service.url}${slashes}`);
  await publish(create("c1"));
  await receiver.nth(1);
  expect(child.stderr()).toContain("Forwarding");
});

test("`listen` forwards only new events, with the exact bytes and the headers of a push, and shows status and duration", async () => {
  const receiver = await bridge(status(207));
  await publish(create("c1"));
  const child = await listen(`${receiver.url}?from=listen`);
  const [id = ""] = await publish(create("c1", { ...CARD, text: "Grüße, **all** \u{1f600}" }));
  const request = await receiver.nth(1);
  expect(verifyPush(request, [workspace.secret]).id).toBe(id);
  expect(request.path).toBe("/events?from=listen");
  expect((await poll(service.url, workspace)).body.includes(request.body)).toBe(true);
  await until("the attempt is shown", () => child.lines().length > 0);
  const line = new RegExp(`^\\S+Z  message\\.create  ${id}  attempt 1  success  207  \\d+ ms$`);
  expect(child.lines()).toEqual([expect.stringMatching(line)]);
  expect(receiver.requests).toHaveLength(1);
});

test("`listen --replay` also forwards held events, and keeps the order within a channel", async () => {
  const receiver = await bridge();
  const ids = await publish(...["1", "2", "3"].map((text) => create("c1", { ...CARD, text })));
  const child = await listen(receiver.url, "--replay --json");
  expect((await receiver.waitFor(3)).map(eventIdOf)).toEqual(ids);
  expect(await shownLines(child, 3)).toMatchObject(
    ids.map((eventId) => ({
      eventId,
      eventType: "message.create",
      attempt: 1,
      result: "success",
      status: 204,
    })),
  );
});

test("the kit's receiver accepts every type of forwarded event", async () => {
  const handled: OutboundEvent[] = [];
  const { handler } = createReceiver({
    secrets: workspace.secret,
    handle: (event) => void handled.push(event),
  });
  const host = await plainHost(handler);
  closing.push(host.close);
  const child = await listen(host.url, "--json");
  await publish(create("c1"), update("c1"), ephemeral("c1", "u1"), dm("u1"));
  await service.workspaces.sendTestEvent(workspace.id);
  expect((await shownLines(child, 5)).map(({ result }) => result)).toEqual(Array(5).fill("success"));
  await until("all events are handled", () => handled.length >= 5);
  const held = (await poll(service.url, workspace)).json as { events: readonly OutboundEvent[] };
  const bySequence = handled.toSorted((a, b) => a.sequence - b.sequence);
  expect(bySequence).toEqual(held.events);
});

test("`listen` signs each event with all secrets of --secret-file, newest first, and reads BASE_URL and WORKSPACE_ID from the environment", async () => {
  const receiver = await bridge();
  const { signingSecret } = await service.workspaces.rotate(workspace.id);
  const file = join(folder, "secrets");
  writeFileSync(file, `${signingSecret}\n${workspace.secret}\n`);
  const environment = { BASE_URL: `${service.url}/`, WORKSPACE_ID: workspace.id };
  const child = startCli(`listen --forward-to ${receiver.url} --secret-file ${file} --replay`, {
    environment,
  });
  closing.unshift(() => (child.interrupt(), child.ended));
  await publish(create("c1"));
  verifyPush(await receiver.nth(1), [signingSecret, workspace.secret]);
});

// time: ordering
test("new messages and phase updates are retried with the same bytes, other updates are not retried, and a retry does not delay later events", async () => {
  const receiver = await bridge();
  receiver.behave(({ attempt }) => status(attempt < 3 ? 503 : 204, { body: "the queue\n is full" }));
  const child = await listen(receiver.url, "--json");
  const question = { ...CARD, id: MESSAGE_ID, kind: MessageKind.QUESTION };
  const [created, updated, asked] = await publish(create("c1"), update("c1"), update("c1", question));
  const all = await shownLines(child, 7);
  const of = (eventId: string | undefined) =>
    all.filter((each) => each.eventId === eventId).map(({ attempt, result }) => `${attempt} ${result}`);
  expect([of(created), of(updated), of(asked)]).toEqual([
    ["1 failed", "2 failed", "3 success"],
    ["1 dropped"],
    ["1 failed", "2 failed", "3 success"],
  ]);
  const shownAt = (eventId: string | undefined) => all.findLastIndex((each) => each.eventId === eventId);
  expect(shownAt(updated)).toBeLessThan(shownAt(created));
  expect(all[0]).toMatchObject({ status: 503, detail: "the queue is full" });
  const bodies = receiver.requests
    .filter((request) => eventIdOf(request) === created)
    .map(({ body }) => body.toString());
  expect(new Set(bodies).size).toBe(1);
});

test("redirects are not followed", async () => {
  const receiver = await bridge();
  receiver.behave(redirect(receiver.urlOf("127.0.0.1", "/elsewhere"), 307));
  const child = await listen(receiver.url);
  await publish(update("c1"));
  await until("the attempt is shown", () => child.lines().length > 0);
  expect(child.lines()[0]).toMatch(/  dropped  307  \d+ ms  redirects are not followed: http\S+\/elsewhere$/);
  expect(receiver.requests).toHaveLength(1);
});

test("`listen` accepts any certificate of an https bridge on loopback", async () => {
  const receiver = await bridge(status(204), { certificate: push.certificate });
  const child = await listen(receiver.url, "--json");
  await publish(create("c1"));
  expect(await shownLines(child, 1)).toMatchObject([{ result: "success", status: 204 }]);
});

// time: ordering
test("`listen` skips an expired event, and shows it as expired", async () => {
  const receiver = await bridge();
  const expiring = { workspaceId: workspace.id, content: create("c1"), lifetime: { seconds: 1, nanos: 0 } };
  const [event] = await push.publish(expiring);
  const [later] = await publish(create("c1"));
  await until("the event has expired", () => Number(event?.expiresAt) < Date.now());
  const child = await listen(receiver.url, "--replay");
  expect(eventIdOf(await receiver.nth(1))).toBe(later);
  await until("both events are shown", () => child.lines().length >= 2);
  expect(child.lines()[0]).toMatch(new RegExp(`^\\S+Z  message\\.create  ${event?.eventId}  expired$`));
});

test("a bridge that is down is reported, and later events are forwarded when the bridge is up", async () => {
  const port = await freePort();
  const child = await listen(`http://127.0.0.1:${port}/`);
  const [lost] = await publish(update("c1"));
  await until("the failure is shown", () => child.lines().length > 0);
  const failure = new RegExp(`  ${lost}  attempt 1  dropped  \\d+ ms  .*ECONNREFUSED`);
  expect(child.lines()[0]).toMatch(failure);
  const receiver = await bridge(status(204), { port });
  const [next] = await publish(update("c1"));
  expect(eventIdOf(await receiver.nth(1))).toBe(next);
});

test("after Ctrl-C during an attempt to deliver, `listen` exits with 0 and shows no failure", async () => {
  const receiver = await bridge(sayNothing());
  const child = await listen(receiver.url, "", startCliProcess);
  const channels = Array.from({ length: 20 }, (_, i) => `c${i}`);
  await publish(...channels.map((channel) => create(channel)));
  await receiver.waitFor(channels.length);
  child.interrupt();
  const { code, stdout, stderr } = await child.ended;
  expect([code, stdout, stderr]).toEqual([
    EXIT.DONE,
    "",
    expect.stringMatching(/^Forwarding new events .*\n$/),
  ]);
});

describe("errors:", () => {
  const run = (more: readonly string[] = [], secret?: string) =>
    runCli(words("http://127.0.0.1:1/", more), withSecret(secret));

  test("`listen` fails and says what to do if the workspace has a target URL", async () => {
    const { workspaceId, secret } = await push.bridge();
    const { code, stderr } = await run(["--workspace", workspaceId], secret);
    expect([code, stderr]).toEqual([EXIT.NO, expect.stringMatching(/has a target URL.*set-url \S+ --clear/)]);
  });

  test("`listen` fails and says why if a target URL is set while the command runs", async () => {
    const child = await listen("http://127.0.0.1:1/");
    const { url } = await push.bridge();
    await service.workspaces.setTargetUrl(workspace.id, url);
    const { code, stderr } = await child.ended;
    expect([code, stderr]).toEqual([EXIT.NO, expect.stringContaining("has a target URL")]);
  });

  test.each<[string, readonly string[], string | undefined, number, RegExp]>([
    [
      "the secret is not the workspace's",
      [],
      "s3cret",
      EXIT.SETTINGS,
      /rejects the signature.*SIGNING_SECRET/,
    ],
    ["the secret is missing", [], "", EXIT.SETTINGS, /SIGNING_SECRET.*--secret-file/],
    ["the workspace does not exist", ["--workspace", "w1"], undefined, EXIT.NOT_FOUND, /workspace list/],
    ["the workspace is missing", ["--workspace", ""], undefined, EXIT.USAGE, /--workspace or WORKSPACE_ID/],
    [
      "the service is down",
      ["--base-url", "http://127.0.0.1:3"],
      undefined,
      EXIT.OUT_OF_REACH,
      /cannot be polled.*connect ECONNREFUSED 127.0.0.1:3 .*BASE_URL/,
    ],
    [
      "the base URL is not an http URL",
      ["--base-url", "ftp://a"],
      undefined,
      EXIT.SETTINGS,
      /BASE_URL or --base-url must be an http/,
    ],
    [
      "the target has a password",
      ["--forward-to", "http://u:s3cret@a/"],
      undefined,
      EXIT.USAGE,
      /--forward-to .*without a user name/,
    ],
  ])("`listen` fails and says what to do if %s", async (_what, more, secret, wanted, message) => {
    const { code, stdout, stderr } = await run(more, secret);
    expect([code, stdout]).toEqual([wanted, ""]);
    expect(stderr).toMatch(message);
    for (const each of [workspace.secret, "s3cret"]) expect(stderr).not.toContain(each);
  });

  test("`listen` fails and says what to do if the base URL belongs to another program", async () => {
    const receiver = await bridge(status(405));
    const { code, stderr } = await run(["--base-url", receiver.urlOf("127.0.0.1", "")]);
    expect([code, stderr]).toEqual([EXIT.SETTINGS, expect.stringMatching(/answered with 405.*BASE_URL/)]);
  });
});
