import { deserialize, serialize } from "node:v8";
import { createCatchUp, type CatchUp, type CatchUpOptions } from "../../bridge/catch-up";
import type { EventPage, OutboundEvent } from "../../bridge/events";
import { initialState, lastingState, type BridgeState } from "../../bridge/reduce-state";
import { until } from "../harness/wait";
import { createChat, type ChatCall } from "./bridge-reduce-chat";
import { create, dm, ephemeral, ping, update } from "./bridge-reduce-events";

const started: CatchUp[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((catchUp) => catchUp.close()));
});

/** A catch-up with a chat whose calls the test may refuse, or keep waiting. */
function start(
  options: Partial<CatchUpOptions> = {},
  judge: (call: ChatCall) => Promise<void> | void = () => undefined,
  chat = createChat(),
) {
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

function page(...events: OutboundEvent[]): EventPage {
  return { events, next: "1", hasMore: false, gap: false };
}

const OF_1 = { messageId: "msg_1" };

test("a page is handled when the chat has taken all of it", async () => {
  const { catchUp, chat, told } = start();
  const events = [
    create("c1", { sequence: 1 }),
    dm("u1", { sequence: 2 }),
    ephemeral("c1", { sequence: 3 }),
    update("c1", { ...OF_1, sequence: 4, text: "new" }),
    ping({ sequence: 5 }),
  ];
  await catchUp.handlePage({ ...page(...events), gap: true });
  expect([...chat.shown()]).toEqual([
    ["msg_1", { place: "c1", text: "new" }],
    ["msg_2", { place: "dm:u1", text: "text 2" }],
  ]);
  expect(chat.whispers).toEqual([3]);
  expect(told).toEqual(["5 ping", "missed"]);
});

// contract: kit-refused-create
test("a page with a refused create is rejected, so that it comes again, until the create succeeds", async () => {
  let refusals = 2;
  const { catchUp, chat, problems } = start({}, ({ type }) => {
    if (type === "post" && refusals-- > 0) throw new Error("slow down");
  });
  const again = page(create("c1", { sequence: 1 }), ephemeral("c1", { sequence: 2 }));
  await expect(catchUp.handlePage(again)).rejects.toThrow("has not taken");
  await expect(catchUp.handlePage(again)).rejects.toThrow("has not taken");
  await until("the create is posted", () => chat.posts.length === 1, 25_000);
  await catchUp.handlePage(again);
  expect(chat.whispers).toEqual([2]);
  expect(problems).toEqual(Array(2).fill("the chat refused message.create evt_1: slow down"));
});

test("a chat that says how long to wait is left alone for as long", async () => {
  const { catchUp } = start({}, () => {
    throw Object.assign(new Error("slow down"), { retryAfterMs: 3_600_000 });
  });
  const before = Date.now();
  await expect(catchUp.handlePage(page(create("c1", { sequence: 1 })))).rejects.toThrow("has not taken");
  expect(catchUp.state.creates[0]?.retryAtMs).toBeGreaterThanOrEqual(before + 3_600_000);
});

// contract: kit-highest-update
test("pushed events are taken at once, and updates that come meanwhile are applied as one", async () => {
  const gate = createGate();
  const { catchUp, chat } = start({}, () => gate.opened);
  await catchUp.handleEvent(create("c1", { sequence: 1 }));
  for (const sequence of [2, 3, 4]) await catchUp.handleEvent(update("c1", { ...OF_1, sequence }));
  gate.open();
  await until("the newest update is applied", () => chat.posts[0]?.text === "text 4", 25_000);
  expect(chat.posts[0]?.sequences).toEqual([1, 4]);
});

test("a pushed event waits while too much is under way", async () => {
  const gate = createGate();
  const { catchUp, chat, told } = start({ state: initialState({ open: 1 }) }, () => gate.opened);
  await catchUp.handleEvent(create("c1", { sequence: 1 }));
  const second = catchUp.handleEvent(create("c1", { sequence: 2 }));
  await until("the second was not taken", () => told.includes("2 full"), 25_000);
  gate.open();
  await second;
  await until("both are posted", () => chat.posts.length === 2, 25_000);
});

test("a page that too much is under way for comes again", async () => {
  const { catchUp } = start({ state: initialState({ open: 1 }) });
  const two = page(create("c1", { sequence: 1 }), create("c2", { sequence: 2 }));
  await expect(catchUp.handlePage(two)).rejects.toThrow("has not taken");
  await expect(catchUp.handlePage(two)).resolves.toBeUndefined();
});

test("what the chat does not answer in time counts as refused, and is taken note of when it succeeds after all", async () => {
  const gate = createGate();
  const { catchUp, chat, problems } = start({ chatTimeoutMs: 50 }, () => gate.opened);
  const once = page(create("c1", { sequence: 1 }));
  await expect(catchUp.handlePage(once)).rejects.toThrow("has not taken");
  expect(problems).toEqual([expect.stringContaining("the chat refused message.create evt_1")]);
  gate.open();
  await until("the post is taken note of", () => catchUp.state.creates.length === 0, 25_000);
  await catchUp.handlePage(once);
  await catchUp.handlePage(page(update("c1", { ...OF_1, sequence: 2, text: "new" })));
  expect(chat.posts.map(({ text }) => text)).toContain("new");
});

// contract: kit-dedupe
test("after a restart with the state that was kept, messages are updated and nothing is posted twice", async () => {
  const { catchUp, chat } = start();
  await catchUp.handlePage(page(create("c1", { sequence: 1 })));
  const kept: unknown = deserialize(serialize(lastingState(catchUp.state)));
  const next = start({ state: kept as BridgeState }, () => undefined, chat);
  const again = page(create("c1", { sequence: 1 }), update("c1", { ...OF_1, sequence: 2, text: "new" }));
  await next.catchUp.handlePage(again);
  expect(next.told).toEqual(["1 duplicate"]);
  expect(chat.posts.map(({ text }) => text)).toEqual(["new"]);
});

test("closing waits for what was begun, and nothing is taken after it", async () => {
  const gate = createGate();
  const { catchUp, chat } = start({}, () => gate.opened);
  await catchUp.handleEvent(create("c1", { sequence: 1 }));
  const closed = catchUp.close();
  await expect(catchUp.handleEvent(create("c1", { sequence: 2 }))).rejects.toThrow("closed");
  await expect(catchUp.handlePage(page())).rejects.toThrow("closed");
  gate.open();
  await closed;
  expect(chat.posts.map(({ messageId }) => messageId)).toEqual(["msg_1"]);
});

function createGate() {
  let open = () => undefined as void;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}
