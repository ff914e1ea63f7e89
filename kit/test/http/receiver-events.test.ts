import { HELD_SECONDS } from "../../../contract/numbers";
import type { OutboundEvent } from "../../events";
import { createReceiver } from "../../receiver";
import { nowSeconds, signatureOf } from "../../../test/harness/bridge";
import { closeReceivers, pushTo, SECRET, setUpReceiver, setUpWaiting } from "../harness/kit-receiver";
import { create, head, ONE_OF_EACH, WORKSPACE } from "../../../test/harness/sample-events";
import { gate } from "../harness/gate";
import { skipTime } from "../harness/skipped-time";
import { until } from "../../../test/harness/wait";

afterEach(closeReceivers);

const NEVER = new AbortController().signal;
const signedAt = (t: number) => ({ "Service-Signature": signatureOf(SECRET, JSON.stringify(create()), t) });

// contract: kit-verify-first
test.each([
  ["there is no signature", { "Service-Signature": "" }, 401, "there is no Service-Signature"],
  ["the signature is malformed", { "Service-Signature": "abc" }, 401, "must be t=<unix seconds>"],
  ["the secret is wrong", { "Service-Signature": signatureOf("x", "{}") }, 401, "not valid under any"],
  [
    "the Service-Workspace header names another workspace",
    { "Service-Workspace": "w2" },
    400,
    "Service-Workspace",
  ],
  ["the Service-Workspace header is missing", { "Service-Workspace": "" }, 400, "Service-Workspace"],
  [
    "the Service-Event-Id header names another event",
    { "Service-Event-Id": "evt_x" },
    400,
    "Service-Event-Id",
  ],
] as const)("when %s, a push is rejected and not handled", async (_what, change, code, words) => {
  const { push, receiver, shown } = await setUpReceiver();
  const { status, json } = await push(create(), change);
  const message = expect.stringContaining(words) as string;
  expect([status, json]).toEqual([code, { statusCode: code, error: expect.any(String), message }]);
  await receiver.close();
  expect(shown).toEqual([]);
});

test.each([
  ["not JSON", Buffer.from("{")],
  ["empty", Buffer.alloc(0)],
  ["not an event", Buffer.from('{"type":"message.create"}')],
])("a correctly signed body that is %s is answered with 400", async (_what, body) => {
  const { url } = await setUpReceiver();
  expect((await pushTo(url, body)).status).toBe(400);
});

test("an event of an unknown type is answered with 2xx and reported", async () => {
  const { push, problems, shown } = await setUpReceiver();
  expect((await push({ ...head(), type: "message.pin" })).status).toBe(204);
  expect(problems).toEqual([expect.stringContaining("message.pin")]);
  expect(shown).toEqual([]);
});

test("one receiver serves several workspaces, each with its own secret", async () => {
  const secrets = (id: string) => ({ [WORKSPACE]: SECRET, w2: "secret-two" })[id];
  const { push, shown } = await setUpReceiver({ secrets });
  const other = { ...create(2), workspace: "w2" };
  const signed = signatureOf("secret-two", JSON.stringify(other));
  expect((await push(create(1))).status).toBe(204);
  expect((await push(other, { "Service-Signature": signed })).status).toBe(204);
  // The push is signed with the secret of another workspace.
  expect((await push(other)).status).toBe(401);
  expect((await push(other, { "Service-Workspace": WORKSPACE })).status).toBe(400);
  expect((await push({ ...create(3), workspace: "w3" })).status).toBe(404);
  await until("both events are shown", () => shown.length === 2);
});

test("a push is answered with 503 if the lookup of its secrets fails; creating a receiver without secrets fails", async () => {
  const secrets = () => Promise.reject(new Error("the vault is shut"));
  const { push, problems } = await setUpReceiver({ secrets });
  expect((await push(create())).status).toBe(503);
  expect(problems).toEqual([expect.stringContaining("the vault is shut")]);
  const make = () => createReceiver({ secrets: [], handle: () => undefined });
  expect(make).toThrow("a signing secret is missing");
});

test.each([
  ["66 minutes behind", () => nowSeconds() - 3_960, /66 minutes behind the local clock, which says/],
  ["in milliseconds", () => Date.now(), /milliseconds.*sign with Unix seconds/],
])("a push whose timestamp is %s is answered with 409, and the message says so", async (_what, at, words) => {
  const { push } = await setUpReceiver();
  const { status, json } = await push(create(), signedAt(at()));
  expect([status, json]).toMatchObject([409, { message: expect.stringMatching(words) }]);
});

// contract: kit-dedupe
test("pushes with the same event id are answered with 2xx and handled once, even if their signatures differ", async () => {
  const { push, receiver, shown } = await setUpReceiver();
  const changes = [{}, {}, signedAt(nowSeconds() - 60)];
  const answers = await Promise.all(changes.map((change) => push(create(), change)));
  answers.push(await push(create()));
  expect(answers.map(({ status }) => status)).toEqual([204, 204, 204, 204]);
  await receiver.close();
  expect(shown).toEqual([create()]);
});

// time: controlled
test("an event id is kept for 24 hours", async () => {
  const timing = skipTime(0, () => 1_700_000_000_000);
  const { push, receiver, shown } = await setUpReceiver({ timing });
  const pushNow = async () => (await push(create(), signedAt(timing.now() / 1_000))).status;
  const statuses = [await pushNow()];
  await timing.pause((HELD_SECONDS - 1) * 1_000);
  statuses.push(await pushNow());
  expect(shown).toHaveLength(1);
  await timing.pause(2_000);
  statuses.push(await pushNow());
  await receiver.close();
  expect(statuses).toEqual([204, 204, 204]);
  expect(shown).toHaveLength(2);
});

test("a push to a receiver with a full queue is answered with 503, and is accepted when it is retried later", async () => {
  const { push, receiver, done, open } = await setUpWaiting({ queueMax: 2 });
  const statuses = [];
  for (const number of [1, 2, 3]) statuses.push((await push(create(number))).status);
  expect([statuses, receiver.pending]).toEqual([[204, 204, 503], 2]);
  open();
  await until("the queue has room", () => receiver.pending === 0);
  expect((await push(create(3))).status).toBe(204);
  await receiver.close();
  expect(done).toEqual([1, 2, 3].map((number) => create(number).id));
});

// time: ordering
test("events of one channel, or of one member's DM, are handled in order and do not block other events", async () => {
  const held = [create(1), ONE_OF_EACH["dm.create"]];
  const { push, receiver, done, open } = await setUpWaiting({
    waits: ({ id }) => held.some((event) => event.id === id),
  });
  const dmUpdate = { ...ONE_OF_EACH["message.update"], channel: "dm:u1" };
  const inC2 = { ...create(3), channel: "c2" };
  const others = [inC2, { ...create(9), channel: "dm:u2" }];
  for (const event of [...held, create(8), dmUpdate, ...others]) await push(event);
  await until("the other events are shown", () => done.length === 2);
  expect(done).toEqual(others.map(({ id }) => id));
  open();
  await receiver.close();
  const orderOf = (...events: readonly { id: string }[]) => events.map(({ id }) => done.indexOf(id));
  const [channel, dm] = [orderOf(create(1), create(8)), orderOf(ONE_OF_EACH["dm.create"], dmUpdate)];
  for (const [first = 0, second = 0] of [channel, dm]) expect(first).toBeLessThan(second);
  expect(done).toHaveLength(6);
});

// time: controlled
// contract: kit-expired
test("an event that expires in the queue is dropped", async () => {
  const timing = skipTime();
  const { push, receiver, done, open } = await setUpWaiting({ timing });
  await push(create(1));
  await push(create(2, { expiresAt: new Date(timing.now() + 60_000).toISOString() }));
  await push(create(3));
  await timing.pause(61_000, NEVER);
  open();
  await receiver.close();
  expect(done).toEqual([create(1).id, create(3).id]);
});

test("an event that the handler rejects is reported, and does not block later events", async () => {
  const shown: string[] = [];
  const { push, receiver, problems } = await setUpReceiver({
    handle({ id }) {
      if (id === create(1).id) throw new Error("the chat says no");
      shown.push(id);
    },
  });
  await push(create(1));
  await push(create(2));
  await receiver.close();
  expect(shown).toEqual([create(2).id]);
  expect(problems).toEqual([`message.create ${create(1).id} was not handled: the chat says no`]);
});

test("a closed receiver answers with 503, and handles nothing", async () => {
  const { push, receiver, shown } = await setUpReceiver();
  await receiver.close();
  expect((await push(create())).status).toBe(503);
  expect(shown).toEqual([]);
});

/** Returns a store whose `add` waits until the test calls `open`. The store records the event id of each call. */
function waitingStore() {
  const { open, opened } = gate();
  const [added, removed]: [string[], string[]] = [[], []];
  const store = {
    async add({ id }: OutboundEvent) {
      added.push(id);
      await opened;
    },
    remove: (id: string) => void removed.push(id),
  };
  return { open, added, removed, store };
}

// time: ordering
test("a push is answered and its event is handled only after the event is stored; then the event is removed", async () => {
  const { open, added, removed, store } = waitingStore();
  const { push, receiver, shown } = await setUpReceiver({ store });
  const statuses: number[] = [];
  // Sends two pushes of one event, and then a push of a later event of the same channel.
  const pushed: Promise<unknown>[] = [];
  for (const [number, stored] of [
    [1, 1],
    [1, 1],
    [2, 2],
  ] as const) {
    pushed.push(push(create(number)).then(({ status }) => statuses.push(status)));
    await until("the event is being stored", () => added.length === stored);
  }
  // This request shows that the pushes are still unanswered: an early answer to a push would arrive before the answer
  // to this request.
  expect((await push(create(3), { "Service-Signature": "" })).status).toBe(401);
  expect([statuses, shown]).toEqual([[], []]);
  open();
  await Promise.all(pushed);
  await receiver.close();
  expect(statuses).toEqual([204, 204, 204]);
  const ids = [1, 2].map((number) => create(number).id);
  expect([shown.map(({ id }) => id), added, removed]).toEqual([ids, ids, ids]);
});

test("a push whose event cannot be stored is answered with 503, and is accepted when it is retried later", async () => {
  let isFull = true;
  const add = async () => {
    if (isFull) throw new Error("no space left");
  };
  const store = { add, remove: () => undefined };
  const { push, receiver, shown, problems } = await setUpReceiver({ store });
  const { status, headers } = await push(create());
  expect([status, headers["retry-after"]]).toEqual([503, "1"]);
  expect(problems).toEqual([`message.create ${create().id} was not stored: no space left`]);
  await until("the queue is empty", () => receiver.pending === 0);
  expect(shown).toEqual([]);
  isFull = false;
  expect((await push(create())).status).toBe(204);
  await receiver.close();
  expect(shown).toEqual([create()]);
});

test("an event that the handler rejects stays in the store", async () => {
  const { open, removed, store } = waitingStore();
  open();
  const { push, receiver } = await setUpReceiver({
    store,
    handle({ id }) {
      if (id === create(1).id) throw new Error("the chat says no");
    },
  });
  await push(create(1));
  await push(create(2));
  await receiver.close();
  expect(removed).toEqual([create(2).id]);
});

// time: controlled
test("an event that expires in the queue is removed from the store", async () => {
  const timing = skipTime();
  const { open, removed, store } = waitingStore();
  const { push, receiver, shown } = await setUpReceiver({ store, timing });
  const pushed = push(create(1, { expiresAt: new Date(timing.now() + 60_000).toISOString() }));
  await until("the event is queued", () => receiver.pending === 1);
  await timing.pause(61_000, NEVER);
  open();
  expect((await pushed).status).toBe(204);
  await receiver.close();
  expect([shown, removed]).toEqual([[], [create(1).id]]);
});

test("a removal that fails is reported, and does not block later events", async () => {
  const remove = () => Promise.reject(new Error("read-only"));
  const { push, receiver, shown, problems } = await setUpReceiver({
    store: { add: async () => undefined, remove },
  });
  await push(create(1));
  await push(create(2));
  await receiver.close();
  expect(shown).toHaveLength(2);
  expect(problems[0]).toBe(
    `message.create ${create(1).id} was handled, but not removed from the store: read-only`,
  );
});
