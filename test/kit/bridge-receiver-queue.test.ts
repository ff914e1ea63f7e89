import { nowSeconds, signatureOf } from "../harness/bridge";
import { closeReceivers, gate, SECRET, setUpReceiver } from "../harness/kit-receiver";
import { create, ONE_OF_EACH } from "../harness/sample-events";
import { skipTime } from "../harness/skipped-time";
import { until } from "../harness/wait";

afterEach(closeReceivers);

// contract: kit-dedupe
test("a repeated event id is answered 2xx and shown once, however it is signed", async () => {
  const { push, receiver, shown } = await setUpReceiver();
  const signature = signatureOf(SECRET, JSON.stringify(create()), nowSeconds() - 60);
  const answers = await Promise.all([
    push(create()),
    push(create()),
    push(create(), { "Service-Signature": signature }),
  ]);
  answers.push(await push(create()));
  expect(answers.map(({ status }) => status)).toEqual([204, 204, 204, 204]);
  await receiver.close();
  expect(shown).toEqual([create()]);
});

test("an event id is remembered for as long as its push could be recorded and sent again", async () => {
  const timing = skipTime();
  const { push, receiver, shown } = await setUpReceiver({ timing });
  const NEVER = new AbortController().signal;
  const at = (seconds: number) => ({
    "Service-Signature": signatureOf(SECRET, JSON.stringify(create()), nowSeconds() + seconds),
  });
  // From a service whose clock is almost 5 minutes ahead: the signature holds for almost 10.
  expect((await push(create(), at(295))).status).toBe(204);
  await timing.pause(590_000, NEVER);
  expect((await push(create(), at(295))).status).toBe(204);
  await receiver.close();
  expect(shown).toHaveLength(1);
});

test("past the bound of the queue a push is answered 503, and is taken when it comes again", async () => {
  const { open, opened } = gate();
  const shown: string[] = [];
  const { push, receiver } = await setUpReceiver({
    queueMax: 2,
    async handle({ id }) {
      await opened;
      shown.push(id);
    },
  });
  const statuses = [];
  for (const number of [1, 2, 3]) statuses.push((await push(create(number))).status);
  expect([statuses, receiver.pending]).toEqual([[204, 204, 503], 2]);
  open();
  await until("there is room", () => receiver.pending === 0);
  expect((await push(create(3))).status).toBe(204);
  await receiver.close();
  expect(shown).toEqual([1, 2, 3].map((number) => create(number).id));
});

test("events of one channel are shown one after another, and other channels do not wait for them", async () => {
  const { open, opened } = gate();
  const shown: string[] = [];
  const { push, receiver } = await setUpReceiver({
    async handle(event) {
      if (event.id === create(1).id) await opened;
      shown.push(event.id);
    },
  });
  await push(create(1));
  await push(create(2));
  await push({ ...create(3), channel: "c2" });
  await until("the other channel's is shown", () => shown.length > 0);
  expect(shown).toEqual([create(3).id]);
  open();
  await receiver.close();
  expect(shown).toEqual([create(3).id, create(1).id, create(2).id]);
});

test("an update in a DM is shown after the DM that it updates", async () => {
  const { open, opened } = gate();
  const shown: string[] = [];
  const { push, receiver } = await setUpReceiver({
    async handle({ type }) {
      if (type === "dm.create") await opened;
      shown.push(type);
    },
  });
  await push(ONE_OF_EACH["dm.create"]);
  await push({ ...ONE_OF_EACH["message.update"], channel: "dm:u1" });
  await push({ ...create(9), channel: "dm:u2" });
  await until("another member's is shown", () => shown.length > 0);
  open();
  await receiver.close();
  expect(shown).toEqual(["message.create", "dm.create", "message.update"]);
});

// contract: kit-expired
test("an event that went stale in the queue is dropped unapplied", async () => {
  const timing = skipTime();
  const { open, opened } = gate();
  const shown: string[] = [];
  const { push, receiver } = await setUpReceiver({
    timing,
    async handle({ id }) {
      await opened;
      shown.push(id);
    },
  });
  const expiresAt = new Date(Date.now() + 60_000).toISOString();
  await push(create(1));
  await push(create(2, { expiresAt }));
  await push(create(3));
  await timing.pause(61_000, new AbortController().signal);
  open();
  await receiver.close();
  expect(shown).toEqual([create(1).id, create(3).id]);
});

test("what the handler rejects is told of and holds nothing up", async () => {
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

test("a receiver that was closed answers 503 and takes nothing", async () => {
  const { push, receiver, shown } = await setUpReceiver();
  await receiver.close();
  expect((await push(create())).status).toBe(503);
  expect(shown).toEqual([]);
});
