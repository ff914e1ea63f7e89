import { REAL_TIMING } from "../../bridge/back-off";
import { createReceiver } from "../../bridge/receiver";
import { nowSeconds, signatureOf } from "../harness/bridge";
import { closeReceivers, pushTo, SECRET, setUpReceiver } from "../harness/kit-receiver";
import { create, head, WORKSPACE } from "../harness/sample-events";
import { until } from "../harness/wait";

afterEach(closeReceivers);

// contract: kit-verify-first
test.each([
  ["there is no signature", { "Service-Signature": "" }, 401, "there is no Service-Signature"],
  ["the signature has another form", { "Service-Signature": "abc" }, 401, "must be t=<unix seconds>"],
  ["the signature is another's", { "Service-Signature": signatureOf("x", "{}") }, 401, "not right under any"],
  ["the workspace in the header is another", { "Service-Workspace": "w2" }, 400, "Service-Workspace"],
  ["the workspace in the header is missing", { "Service-Workspace": "" }, 400, "Service-Workspace"],
  ["the event id in the header is another", { "Service-Event-Id": "evt_x" }, 400, "Service-Event-Id"],
] as const)("when %s a push is refused and nothing is shown", async (_what, change, code, words) => {
  const { push, receiver, shown } = await setUpReceiver();
  const answer = await push(create(), change);
  expect([answer.status, answer.json]).toEqual([
    code,
    { statusCode: code, error: expect.any(String), message: expect.stringContaining(words) },
  ]);
  await receiver.close();
  expect(shown).toEqual([]);
});

// contract: signature-bridge-tolerance
test.each([
  [-300, 204],
  [-301, 409],
  [300, 204],
  [301, 409],
])("a push that was signed %i seconds from now is answered %i", async (seconds, code) => {
  // A clock that stands still: signing and pushing take time, and the bound is exact.
  const now = nowSeconds();
  const { push } = await setUpReceiver({ timing: { ...REAL_TIMING, now: () => now * 1000 } });
  const signature = signatureOf(SECRET, JSON.stringify(create()), now + seconds);
  expect((await push(create(), { "Service-Signature": signature })).status).toBe(code);
});

test.each([
  ["not JSON", Buffer.from("{")],
  ["empty", Buffer.alloc(0)],
  ["no event", Buffer.from('{"type":"message.create"}')],
])("a rightly signed body that is %s is answered 400", async (_what, body) => {
  const { url } = await setUpReceiver();
  expect((await pushTo(url, body)).status).toBe(400);
});

test("an event of an unknown type is answered 2xx and told of", async () => {
  const { push, problems, shown } = await setUpReceiver();
  expect((await push({ ...head(), type: "message.pin" })).status).toBe(204);
  expect(problems).toEqual([expect.stringContaining("message.pin")]);
  expect(shown).toEqual([]);
});

// contract: signature-any
test("during a rotation a push is good when any entry is right under any secret", async () => {
  const body = JSON.stringify(create());
  const [old, fresh] = ["old", "fresh"].map((secret) => signatureOf(secret, body));
  const signature = { "Service-Signature": `${fresh},${old?.split(",")[1]}` };
  for (const secrets of ["old", "fresh", ["newest", "fresh"]]) {
    expect((await (await setUpReceiver({ secrets })).push(create(), signature)).status).toBe(204);
  }
  expect((await (await setUpReceiver({ secrets: "other" })).push(create(), signature)).status).toBe(401);
});

test("one receiver serves several workspaces, each by its own secret", async () => {
  const secrets = (id: string) => ({ [WORKSPACE]: SECRET, w2: "secret-two" })[id];
  const { push, shown } = await setUpReceiver({ secrets });
  const other = { ...create(2), workspace: "w2" };
  const signed = signatureOf("secret-two", JSON.stringify(other));
  expect((await push(create(1))).status).toBe(204);
  expect((await push(other, { "Service-Signature": signed })).status).toBe(204);
  // Under the secret of another workspace, also when the header says so.
  expect((await push(other)).status).toBe(401);
  expect((await push(other, { "Service-Workspace": WORKSPACE })).status).toBe(400);
  expect((await push({ ...create(3), workspace: "w3" })).status).toBe(404);
  await until("both are shown", () => shown.length === 2);
});

test("secrets that are not to be had are a 503, so that the push comes again", async () => {
  const secrets = () => Promise.reject(new Error("the vault is shut"));
  const { push, problems } = await setUpReceiver({ secrets });
  expect((await push(create())).status).toBe(503);
  expect(problems).toEqual([expect.stringContaining("the vault is shut")]);
});

test("a receiver without a secret is refused when it is made", () => {
  expect(() => createReceiver({ secrets: [], handle: () => undefined })).toThrow(
    "a signing secret is missing",
  );
});
