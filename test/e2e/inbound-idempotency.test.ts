import { randomUUID } from "node:crypto";
import { RotateSigningSecretRequest } from "../../proto/gen/chatbridge/v1/workspace";
import { nowSeconds, post, signatureOf } from "../harness/bridge";
import { startConsumer, type Consumer } from "../harness/consumer";
import { expectQuiet } from "../harness/output";
import { expectRefusal } from "../harness/refusals";
import { call, createWorkspace, type TestWorkspace } from "../harness/service";
import { sharedService } from "../harness/shared-service";
import { until } from "../harness/wait";

const service = sharedService();
let workspace: TestWorkspace;
let consumer: Consumer;
beforeAll(async () => {
  consumer = await startConsumer(service.clients.games, { window: 1_000 }).opened();
  consumer.ackAll();
});
beforeEach(async () => {
  workspace = await createWorkspace(service.clients);
});
afterAll(async () => {
  consumer.cancel();
});

const guess = (text: string, id?: string) => ({
  type: "message",
  ...(id === undefined ? {} : { id }),
  channel: "c1",
  user: { id: "u1" },
  text,
});

async function accepted(event: object | string, to = workspace, headers = {}): Promise<void> {
  const { status, body } = await post(service.url, to, event, { headers });
  expect([status, body.toString()]).toEqual([202, '{"ok":true}']);
}

/** The texts that a workspace's game received, in order: all of them, as what follows them has come too. */
async function received({ id, secret } = workspace): Promise<readonly string[]> {
  const last = `last ${randomUUID()}`;
  await accepted(guess(last), { id, secret });
  const texts = () => consumer.seen.filter(({ workspaceId }) => workspaceId === id).map(({ text }) => text);
  await until("the last event is received", () => texts().includes(last));
  return texts().filter((text) => !text.startsWith("last "));
}

/** The same body, signed as if at another second, as a retry is. */
const resigned = (body: object, secondsAgo: number, secret = workspace.secret) => ({
  "Service-Signature": signatureOf(secret, JSON.stringify(body), nowSeconds() - secondsAgo),
});

// contract: repeat-id
describe("a request whose id was seen before is accepted and ignored", () => {
  test("when it is the very same", async () => {
    const event = guess("one", "r1");
    const headers = resigned(event, 0);
    for (let i = 0; i < 3; i++) await accepted(event, workspace, headers);
    expect(await received()).toEqual(["one"]);
  });

  test("when it is signed anew", async () => {
    for (const secondsAgo of [3, 2, 1, 0]) {
      await accepted(guess("one", "r1"), workspace, resigned(guess("one", "r1"), secondsAgo));
    }
    expect(await received()).toEqual(["one"]);
  });

  test("when its body is another, of another type even", async () => {
    await accepted(guess("one", "r1"));
    await accepted(guess("two", "r1"));
    await accepted({ type: "command", id: "r1", channel: "c1", user: { id: "u2" }, text: "three" });
    await accepted(JSON.stringify(guess("one", "r1"), undefined, 2));
    expect(await received()).toEqual(["one"]);
  });

  test("when it is signed with the other secret after a rotation", async () => {
    await accepted(guess("one", "r1"));
    await accepted(guess("two", "r2"));
    const { workspaces } = service.clients;
    const { signingSecret } = await call(
      workspaces,
      workspaces.rotateSigningSecret,
      RotateSigningSecretRequest.create({ workspaceId: workspace.id }),
    );
    await accepted(guess("one", "r1"), { id: workspace.id, secret: signingSecret });
    await accepted(guess("two", "r2"));
    await accepted(guess("three", "r3"), { id: workspace.id, secret: signingSecret });
    await accepted(guess("three", "r3"));
    expect(await received()).toEqual(["one", "two", "three"]);
  });

  test.each<[string, string]>([
    ["of one character", "x"],
    ["of 128 characters beyond ASCII", "😀".repeat(128)],
    ["of control characters", "\u0000\n"],
  ])("when the id is one %s", async (_what, id) => {
    await accepted(guess("one", id));
    await accepted(guess("two", id));
    expect(await received()).toEqual(["one"]);
  });

  test("when fifty of it come at once", async () => {
    await Promise.all(Array.from({ length: 50 }, () => accepted(guess("one", "r1"))));
    expect(await received()).toEqual(["one"]);
  });

  test("but not when the id differs in anything", async () => {
    const ids = ["r", "R", " r", "r ", "r\u0000", "é", "e\u0301", "1", "01"];
    for (const id of ids) await accepted(guess(id, id));
    expect(await received()).toEqual(ids);
  });
});

test("an id is its workspace's own", async () => {
  const other = await createWorkspace(service.clients);
  await accepted(guess("one", "r1"));
  await accepted(guess("one", "r1"), other);
  expect([await received(), await received(other)]).toEqual([["one"], ["one"]]);
});

test("the id of a request that was refused is not remembered", async () => {
  const event = guess("one", "r1");
  expectRefusal(await post(service.url, workspace, { ...event, text: "" }), 400, "text");
  expectRefusal(await post(service.url, workspace, { ...event, extra: 1 }), 400, "extra");
  expectRefusal(await post(service.url, workspace, event, { headers: resigned(event, 400) }), 409);
  expectRefusal(await post(service.url, workspace, event, { headers: resigned(event, 0, "wrong") }), 401);
  await accepted(event);
  expect(await received()).toEqual(["one"]);
});

test("a repeat of an id is judged as any request is before it is ignored", async () => {
  const event = guess("one", "r1");
  await accepted(event);
  expectRefusal(await post(service.url, workspace, { ...event, text: "" }), 400, "text");
  expectRefusal(await post(service.url, workspace, event, { headers: resigned(event, 400) }), 409);
  expectRefusal(await post(service.url, workspace, event, { headers: resigned(event, 0, "wrong") }), 401);
});

describe("a request without an id", () => {
  // contract: repeat-same-request
  test("is ignored when it is the very same signed request", async () => {
    const event = guess("one");
    const headers = resigned(event, 5);
    for (let i = 0; i < 3; i++) await accepted(event, workspace, headers);
    expect(await received()).toEqual(["one"]);
  });

  test("is ignored when fifty of it come at once", async () => {
    const event = guess("one");
    const headers = resigned(event, 5);
    await Promise.all(Array.from({ length: 50 }, () => accepted(event, workspace, headers)));
    expect(await received()).toEqual(["one"]);
  });

  // contract: repeat-resigned
  test("is a new request when it is signed anew", async () => {
    for (const secondsAgo of [7, 6, 5]) {
      await accepted(guess("one"), workspace, resigned(guess("one"), secondsAgo));
    }
    expect(await received()).toEqual(["one", "one", "one"]);
  });

  // contract: repeat-same-request
  test("is a new request when its bytes are others, signed in the same second", async () => {
    const t = nowSeconds() - 5;
    for (const body of [JSON.stringify(guess("one")), `${JSON.stringify(guess("one"))} `]) {
      await accepted(body, workspace, { "Service-Signature": signatureOf(workspace.secret, body, t) });
    }
    expect(await received()).toEqual(["one", "one"]);
  });

  test("is the very same however its signature is written", async () => {
    const event = guess("one");
    const header = resigned(event, 5)["Service-Signature"];
    const [t = "", mac = ""] = header.split(",v1=");
    for (const written of [header, `${t},v1=${mac.toUpperCase()}`, `${header},v1=${"0".repeat(64)}`]) {
      await accepted(event, workspace, { "Service-Signature": written });
    }
    expect(await received()).toEqual(["one"]);
  });

  test("is still known as the oldest that can be accepted", async () => {
    const event = guess("one");
    const headers = resigned(event, 295);
    await accepted(event, workspace, headers);
    await accepted(event, workspace, headers);
    const ahead = resigned(event, -295);
    await accepted(event, workspace, ahead);
    await accepted(event, workspace, ahead);
    expect(await received()).toEqual(["one", "one"]);
  });

  test("is its workspace's own", async () => {
    const other = await createWorkspace(service.clients);
    const t = nowSeconds() - 5;
    const body = JSON.stringify(guess("one"));
    for (const each of [workspace, other]) {
      await accepted(body, each, { "Service-Signature": signatureOf(each.secret, body, t) });
    }
    expect([await received(), await received(other)]).toEqual([["one"], ["one"]]);
  });
});

test("an id and a request without one are never taken for each other", async () => {
  const t = nowSeconds() - 5;
  const plain = JSON.stringify(guess("one"));
  await accepted(plain, workspace, { "Service-Signature": signatureOf(workspace.secret, plain, t) });
  await accepted(guess("two", `${t}/${plain}`.slice(0, 128)));
  await accepted(guess("three", "r3"));
  await accepted(guess("three"));
  expect(await received()).toEqual(["one", "two", "three", "three"]);
});

test("events of one workspace are received in the order in which they were accepted", async () => {
  const texts = Array.from({ length: 30 }, (_, i) => `event ${i}`);
  for (const text of texts) await accepted(guess(text));
  expect(await received()).toEqual(texts);
});

test("nothing of all that is logged", () => {
  expectQuiet([service.core, service.edge], [workspace.secret, "v1=", '"r1"']);
});
