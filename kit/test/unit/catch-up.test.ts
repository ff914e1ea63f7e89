import { deserialize, serialize } from "node:v8";
import { createCatchUp, type CatchUp, type CatchUpOptions } from "../../catch-up";
import { RetryLater } from "../../chat-errors";
import type { OutboundEvent } from "../../events";
import { initialState, lastingState, type BridgeState } from "../../reduce-state";
import { gate } from "../harness/gate";
import { fakeTimeouts } from "../harness/skipped-time";
import { until } from "../../../test/harness/wait";
import { create, dm, ephemeral, ping, START_MS, update } from "./reduce-events";
import { createChat, placeOf, type ChatCall } from "./reduce-world";

const started: CatchUp[] = [];
beforeEach(() => fakeTimeouts(START_MS));
afterEach(async () => {
  await Promise.all(started.splice(0).map((catchUp) => catchUp.close()));
  jest.useRealTimers();
  jest.restoreAllMocks();
});

type Judge = (call: ChatCall) => Promise<void> | void;

/** Returns a `CatchUp` and its chat. `judge` can reject or delay the calls to the chat. */
function start(options: Partial<CatchUpOptions> = {}, judge: Judge = () => undefined, chat = createChat()) {
  const told: string[] = [];
  const problems: string[] = [];
  const call = async (call: ChatCall) => {
    await judge(call);
    return chat.take(call);
  };
  const catchUp = createCatchUp({
    chat: {
      post: (event) => call({ type: "post", event }),
      dm: (event) => call({ type: "dm", event }),
      edit: async (chatMessageId, event) => void (await call({ type: "edit", chatMessageId, event })),
      ephemeral: async (event) => void (await call({ type: "ephemeral", event })),
    },
    onEffect: (effect) =>
      void told.push(effect.type === "missed" ? "missed" : `${effect.event.sequence} ${effect.reason}`),
    report: ({ message }) => void problems.push(message),
    ...options,
  });
  started.push(catchUp);
  return { catchUp, chat, told, problems };
}

const page = (...events: OutboundEvent[]) => ({ events, next: "1", hasMore: false, gap: false });
const textsOf = (chat: ReturnType<typeof createChat>) => chat.posts.map(({ text }) => text);

test("a page counts as handled when the chat has accepted all of its events", async () => {
  const { catchUp, chat, told } = start();
  const edit = update({ sequence: 4, text: "new" });
  const events = [create("c1", 1), dm("u1", 2), ephemeral("c1", 3), edit, ping(5)];
  await catchUp.handlePage({ ...page(...events), gap: true });
  const shown = chat.posts.map(({ messageId, place, text }) => `${messageId} in ${place}: ${text}`);
  expect(shown).toEqual(["msg_1 in c1: new", "msg_2 in dm:u1: text 2"]);
  expect(chat.whispers).toEqual([3]);
  expect(told).toEqual(["5 ping", "missed"]);
});

test("a gap is reported once, although every further page of an idle workspace repeats the gap", async () => {
  const { catchUp, told } = start();
  const poll = (next: string, gap: boolean) => catchUp.handlePage({ ...page(), next, gap });
  for (let i = 0; i < 3; i++) await poll("7", true);
  expect(told).toEqual(["missed"]);
  await poll("7", false);
  await poll("7", true);
  await poll("9", true);
  expect(told).toEqual(["missed", "missed", "missed"]);
});

// time: controlled
// contract: kit-refused-create
test("a page with a refused create is rejected and polled again until a retry of the create succeeds", async () => {
  let refusals = 2;
  const { catchUp, chat, problems } = start({}, ({ type }) => {
    if (type === "post" && refusals-- > 0) throw new Error("slow down");
  });
  const again = page(create("c1", 1), ephemeral("c1", 2));
  await expect(catchUp.handlePage(again)).rejects.toThrow("has not accepted");
  await jest.advanceTimersByTimeAsync(1_000);
  await expect(catchUp.handlePage(again)).rejects.toThrow("has not accepted");
  await jest.advanceTimersByTimeAsync(1_999);
  expect(chat.posts).toEqual([]);
  await jest.advanceTimersByTimeAsync(1);
  expect(textsOf(chat)).toEqual(["text 1"]);
  await catchUp.handlePage(again);
  expect(chat.whispers).toEqual([2]);
  expect(problems).toEqual(Array(2).fill("the chat refused message.create evt_1: slow down"));
});

// time: controlled
test("a refused create is not retried before the `retryAfterMs` of the chat's error has passed", async () => {
  const judge = jest.fn<void, [ChatCall]>(() => {
    throw Object.assign(new Error("slow down"), { retryAfterMs: 3_600_000 });
  });
  await expect(start({}, judge).catchUp.handlePage(page(create("c1", 1)))).rejects.toThrow(
    "has not accepted",
  );
  await jest.advanceTimersByTimeAsync(3_599_999);
  expect(judge).toHaveBeenCalledTimes(1);
  await jest.advanceTimersByTimeAsync(1);
  expect(judge).toHaveBeenCalledTimes(2);
});

test("takePage does not wait for the chat, and the page is done when the chat has answered", async () => {
  const { open, opened } = gate();
  const { catchUp, chat } = start({}, ({ event }) => (placeOf(event) === "c1" ? opened : undefined));
  const slow = catchUp.takePage(page(create("c1", 1), create("c2", 2)));
  const next = catchUp.takePage(page(create("c2", 3)));
  await until("the other channel is shown", () => chat.posts.length === 2);
  expect(textsOf(chat)).toEqual(["text 2", "text 3"]);
  expect(slow?.progress()).toEqual({ is: "busy" });
  open();
  await slow?.idle?.();
  expect([slow?.progress(), next?.progress()]).toEqual([{ is: "done" }, { is: "done" }]);
  expect(catchUp.takePage(page(create("c1", 1), ping(4)))).toBeUndefined();
});

// time: controlled
// contract: kit-refused-create
test("a DM that the chat limits delays only DMs to the same member, and `waiting` lists the conversation until the DM is shown", async () => {
  let isLimited = true;
  const { catchUp, chat } = start({}, ({ type, event }) => {
    if (isLimited && type === "dm" && placeOf(event) === "dm:u1")
      throw new RetryLater(60_000, "wait a minute");
  });
  const events = [dm("u1", 1), dm("u1", 2), dm("u2", 3), create("c1", 4), ephemeral("c1", 5)];
  const taken = catchUp.takePage(page(...events));
  await taken?.idle?.();
  expect(textsOf(chat)).toEqual(["text 3", "text 4"]);
  expect(chat.whispers).toEqual([5]);
  expect(taken?.progress()).toMatchObject({ is: "waiting" });
  const since = new Date(START_MS);
  expect(catchUp.waiting).toEqual([{ channel: "dm:u1", messages: 2, since, problem: "wait a minute" }]);
  isLimited = false;
  await jest.advanceTimersByTimeAsync(59_999);
  expect(chat.posts).toHaveLength(2);
  await jest.advanceTimersByTimeAsync(1);
  expect(textsOf(chat)).toEqual(["text 3", "text 4", "text 1", "text 2"]);
  expect([taken?.progress(), catchUp.waiting]).toEqual([{ is: "done" }, []]);
});

test("a channel's waiting creates fill only the channel's share, and no later create overtakes a create that was skipped", async () => {
  const gates = [gate(), gate()];
  const { catchUp, chat } = start({ state: initialState({ open: 10, place: 2 }) }, ({ event }) =>
    placeOf(event) === "c1" ? gates[event.sequence - 1]?.opened : undefined,
  );
  const first = page(
    create("c1", 1),
    create("c1", 2),
    create("c1", 3),
    update({ sequence: 4, messageId: "msg_3" }),
  );
  const second = page(create("c2", 5), create("c1", 6));
  const skipped = catchUp.takePage(first);
  expect(skipped?.progress()).toMatchObject({ is: "waiting" });
  gates[0]?.open();
  await until("the first create is posted", () => chat.posts.length === 1);
  // There is room for one create of c1.
  const behind = catchUp.takePage(second);
  await until("the other channel is shown", () => chat.posts.length === 2);
  expect(catchUp.state.creates.map(({ event }) => event.sequence)).toEqual([2]);
  gates[1]?.open();
  await until("the second create is posted", () => chat.posts.length === 3);
  expect([skipped?.progress().is, behind?.progress().is]).toEqual(["again", "again"]);
  skipped?.onReread?.();
  catchUp.takePage(first);
  await until("the skipped create is posted and updated", () => chat.posts.at(-1)?.sequences.length === 2);
  catchUp.takePage(second);
  await until("all messages are posted", () => chat.posts.length === 5);
  expect(chat.posts.map(({ sequences }) => sequences)).toEqual([[1], [5], [2], [3, 4], [6]]);
});

// contract: kit-highest-update
test("pushed events are accepted immediately, and only the newest of several waiting updates is applied", async () => {
  const { open, opened } = gate();
  const { catchUp, chat } = start({}, () => opened);
  await catchUp.handleEvent(create("c1", 1));
  for (const sequence of [2, 3, 4]) await catchUp.handleEvent(update(sequence));
  open();
  await until("the newest update is applied", () => textsOf(chat)[0] === "text 4");
  expect(chat.posts[0]?.sequences).toEqual([1, 4]);
});

test("while too many events are in progress, a pushed event waits, and a page is rejected and polled again", async () => {
  const { open, opened } = gate();
  const { catchUp, chat, told } = start({ state: initialState({ open: 1 }) }, () => opened);
  await catchUp.handleEvent(create("c1", 1));
  const second = catchUp.handleEvent(create("c1", 2));
  await until("the second event is skipped, because the state is full", () => told.includes("2 full"));
  open();
  await second;
  await until("both messages are posted", () => chat.posts.length === 2);

  const two = page(create("c1", 3), create("c2", 4));
  await expect(catchUp.handlePage(two)).rejects.toThrow("has not accepted");
  await catchUp.handlePage(two);
});

// time: controlled
test("a call that the chat does not answer counts as refused after 30 seconds; a later success still counts", async () => {
  const late = new AbortController();
  const timeout = jest.spyOn(AbortSignal, "timeout").mockReturnValue(late.signal);
  const { open, opened } = gate();
  const { catchUp, chat, problems } = start({}, () => opened);
  const once = page(create("c1", 1));
  const handled = catchUp.handlePage(once);
  expect(timeout).toHaveBeenCalledWith(30_000);
  late.abort(new Error("the time is up"));
  await expect(handled).rejects.toThrow("has not accepted");
  expect(problems).toEqual([expect.stringContaining("the chat refused message.create evt_1")]);
  timeout.mockRestore();
  open();
  await until("the late success counts", () => catchUp.state.creates.length === 0);
  await catchUp.handlePage(once);
  await catchUp.handlePage(page(update({ sequence: 2, text: "new" })));
  expect(textsOf(chat)).toEqual(["new"]);
});

// contract: kit-dedupe
test("after a restart with the saved state, messages are updated, and no message is posted twice", async () => {
  const { catchUp, chat } = start();
  await catchUp.handlePage(page(create("c1", 1)));
  const kept: unknown = deserialize(serialize(lastingState(catchUp.state)));
  const next = start({ state: kept as BridgeState }, () => undefined, chat);
  await next.catchUp.handlePage(page(create("c1", 1), update({ sequence: 2, text: "new" })));
  expect(next.told).toEqual(["1 duplicate"]);
  expect(textsOf(chat)).toEqual(["new"]);
});

test("close waits for calls in progress, and later events are rejected", async () => {
  const { open, opened } = gate();
  const { catchUp, chat } = start({}, () => opened);
  await catchUp.handleEvent(create("c1", 1));
  const closed = catchUp.close();
  await expect(catchUp.handleEvent(create("c1", 2))).rejects.toThrow("closed");
  await expect(catchUp.handlePage(page())).rejects.toThrow("closed");
  expect(() => catchUp.takePage(page())).toThrow("closed");
  open();
  await closed;
  expect(textsOf(chat)).toEqual(["text 1"]);
});

test("an event that the chat refuses while the catch-up closes stays pending for the next run", async () => {
  const { open, opened } = gate();
  const { catchUp, problems } = start({}, async () => {
    await opened;
    throw new Error("the chat is stopping");
  });
  const handled = catchUp.handlePage(page(ephemeral("c1", 1)));
  const closed = catchUp.close();
  open();
  await expect(handled).rejects.toThrow("has not accepted");
  await closed;
  expect([...catchUp.state.ephemerals.keys()]).toEqual(["evt_1"]);
  expect(problems).toEqual(["the chat refused message.ephemeral evt_1: the chat is stopping"]);
});
