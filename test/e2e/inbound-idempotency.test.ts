import { randomUUID } from "node:crypto";
import { nowSeconds, post, signatureOf } from "../harness/bridge";
import { startConsumer, type Consumer } from "../harness/consumer";
import { expectQuiet } from "../harness/output";
import { expectRefusal } from "../harness/refusals";
import { freshWorkspace, sharedService } from "../harness/shared-service";
import { until } from "../harness/wait";

// test/store/append.test.ts tests how long core stores an id.
const service = sharedService();
const workspace = freshWorkspace(service, beforeEach);
const other = freshWorkspace(service, beforeEach);
let consumer: Consumer;
beforeAll(async () => {
  consumer = await startConsumer(service.clients.games, { group: randomUUID(), window: 1_000 }).opened();
  consumer.ackAll();
});
afterAll(() => consumer.cancel());

const guess = (text: string, id?: string) => ({
  type: "message",
  id,
  channel: "c1",
  user: { id: "u1" },
  text,
});

/** Returns the signature header for a body that was signed `secondsAgo` seconds ago. */
function signed(event: object | string, secondsAgo: number, { secret } = workspace) {
  const body = typeof event === "string" ? event : JSON.stringify(event);
  return { "Service-Signature": signatureOf(secret, body, nowSeconds() - secondsAgo) };
}

async function accepted(event: object | string, to = workspace, headers = {}): Promise<void> {
  const { status, body } = await post(service.url, to, event, { headers });
  expect([status, body.toString()]).toEqual([202, '{"ok":true}']);
}

/**
 * Sends a final event; fails unless the game received exactly the `expected` texts, in this order, before the final
 * event.
 */
async function expectReceived(expected: readonly string[], { id, secret } = workspace): Promise<void> {
  const last = `last ${randomUUID()}`;
  await accepted(guess(last), { id, secret });
  const texts = () => consumer.seen.filter(({ workspaceId }) => workspaceId === id).map(({ text }) => text);
  await until("the last event is received", () => texts().includes(last));
  expect(texts().filter((text) => !text.startsWith("last "))).toEqual(expected);
}

// contract: repeat-id
describe("with an id,", () => {
  test("a request that repeats an earlier id is answered with 202 and ignored, whatever its signature, body and type are", async () => {
    const event = guess("one", "r1");
    for (const secondsAgo of [5, 5, 3, 0]) await accepted(event, workspace, signed(event, secondsAgo));
    await accepted(guess("two", "r1"));
    await accepted({ type: "command", id: "r1", channel: "c1", user: { id: "u2" }, text: "three" });
    await accepted(JSON.stringify(event, undefined, 2));
    await expectReceived(["one"]);
  });

  // contract: rotation-inbound
  test("a repeated id is ignored even if the secret was rotated and the two requests are signed with different secrets", async () => {
    await accepted(guess("one", "r1"));
    await accepted(guess("two", "r2"));
    const { signingSecret } = await service.workspaces.rotate(workspace.id);
    const rotated = { ...workspace, secret: signingSecret };
    await accepted(guess("one", "r1"), rotated);
    await accepted(guess("two", "r2"));
    await accepted(guess("three", "r3"), rotated);
    await accepted(guess("three", "r3"));
    await expectReceived(["one", "two", "three"]);
  });

  test("an id that differs in any character, or was used only in a different workspace, is not a repeat", async () => {
    const ids = ["r", "R", " r", "r\u0000", "é", "e\u0301", "1", "01", "\u0000\n", "😀".repeat(128)];
    for (const id of [...ids, ...ids]) await accepted(guess(id, id));
    await accepted(guess("elsewhere", "r"), other);
    await expectReceived(ids);
    await expectReceived(["elsewhere"], other);
  });
});

test("the id of a rejected request is not stored, and a repeated request is answered with 202 only if it passes all checks", async () => {
  const event = guess("one", "r1");
  const wrong = signed(event, 0, { ...workspace, secret: "wrong" });
  for (let round = 0; round < 2; round++) {
    expectRefusal(await post(service.url, workspace, { ...event, text: "" }), 400, "text");
    expectRefusal(await post(service.url, workspace, { ...event, extra: 1 }), 400, "extra");
    expectRefusal(await post(service.url, workspace, event, { headers: signed(event, 400) }), 409);
    expectRefusal(await post(service.url, workspace, event, { headers: wrong }), 401);
    await accepted(event);
  }
  await expectReceived(["one"]);
});

// contract: repeat-same-request, repeat-resigned
test("a request without an id is ignored only if it repeats the body and timestamp of an accepted request, however its signature is written", async () => {
  const body = JSON.stringify(guess("one"));
  const { "Service-Signature": header } = signed(body, 5);
  const [t = "", mac = ""] = header.split(",v1=");
  const rewritten = [`${t},v1=${mac.toUpperCase()}`, `${header},v1=${"0".repeat(64)}`];
  for (const written of [header, header, ...rewritten])
    await accepted(body, workspace, { "Service-Signature": written });
  await expectReceived(["one"]);
  const otherBytes = signatureOf(workspace.secret, `${body} `, t.slice("t=".length));
  await accepted(`${body} `, workspace, { "Service-Signature": otherBytes });
  for (const secondsAgo of [60, 30]) await accepted(body, workspace, signed(body, secondsAgo));
  await expectReceived(["one", "one", "one", "one"]);
});

test("a request with an id never counts as a repeat of a request without an id, and vice versa", async () => {
  const t = nowSeconds() - 5;
  const plain = JSON.stringify(guess("one"));
  await accepted(plain, workspace, { "Service-Signature": signatureOf(workspace.secret, plain, t) });
  await accepted(guess("two", `${t}/${plain}`.slice(0, 128)));
  await accepted(guess("three", "r3"));
  await accepted(guess("three"));
  await expectReceived(["one", "two", "three", "three"]);
});

test("the requests in this file cause no logged error, and no secret, signature or id in them is logged", () => {
  expectQuiet([service.core, service.edge], [workspace.secret, "v1=", '"r1"']);
});
