import { status, type Behaviour } from "../../../test/harness/behaviours";
import { signatureOf } from "../../../test/harness/bridge";
import { freePort } from "../../../test/harness/processes";
import { create, head, message, ONE_OF_EACH } from "../../../test/harness/sample-events";
import { until } from "../../../test/harness/wait";
import { makeBridge, recordingChat, stopBridges } from "../harness/bridge-chat";
import { CannotShow, RetryLater, storeInMemory } from "../../index";
import { pageOf, SECRET, startPolledService, type PolledService } from "../harness/polled-service";
import { gate } from "../harness/gate";
import { fakeTimeouts } from "../harness/skipped-time";

let service: PolledService;
beforeEach(async () => {
  service = await startPolledService();
});
afterEach(async () => {
  await stopBridges();
  await service.close();
});

/** Answers requests with `answers` in turn, and further requests with the last answer. */
function answerWith(...answers: readonly Behaviour[]): void {
  service.behave(() => answers[service.requests.length - 1] ?? answers.at(-1) ?? status(500));
}

function optionsOf() {
  const { baseUrl, workspaceId, secrets } = service.options();
  return { baseUrl, workspaceId, secrets };
}

// time: smoke
test("a bridge in push mode fetches held events, even if the service was unavailable at the start", async () => {
  answerWith(status(503), pageOf({ events: [create(1)] }), status(403));
  const { bridge, texts, problems } = makeBridge({ ...optionsOf(), mode: "push" });
  await bridge.start();
  await until("the held event is shown", () => texts().includes("text 1"));
  await until("the service refuses a poll", () => service.requests.length === 3);
  await bridge.stop();
  expect(problems).toEqual([
    "the service answered with 503",
    expect.stringMatching("^events are held, and not pushed: set the workspace's target URL"),
  ]);
});

test("a bridge calls onReconnected once when the service answers polls again, but not at the start", async () => {
  const events = [pageOf({ events: [create(2)] }), pageOf({ events: [create(3)] })];
  answerWith(status(503), pageOf({ events: [create(1)] }), status(503), status(502), ...events);
  const told: number[] = [];
  const onReconnected = () => void told.push(service.requests.length);
  const { bridge, texts, problems } = makeBridge({ ...optionsOf(), onReconnected });
  await bridge.start();
  await until("the last event is shown", () => texts().includes("text 3"));
  await bridge.stop();
  expect(told).toEqual([5]);
  expect(problems).toHaveLength(3);
});

test("a bridge in push mode calls onReconnected when the service answers its polls again", async () => {
  answerWith(status(503), status(403));
  let told = 0;
  const { bridge } = makeBridge({ ...optionsOf(), mode: "push", onReconnected: () => void (told += 1) });
  await bridge.start();
  await until("the bridge has told", () => told === 1);
  await bridge.stop();
});

test("an error thrown by onReconnected is reported, and the bridge continues", async () => {
  answerWith(pageOf(), status(503), pageOf({ events: [create(1)] }));
  const onReconnected = () => {
    throw new Error("no log");
  };
  const { bridge, texts, problems } = makeBridge({ ...optionsOf(), onReconnected });
  await bridge.start();
  await until("the event is shown", () => texts().includes("text 1"));
  await bridge.stop();
  expect(problems).toEqual(["the service answered with 503", "onReconnected failed: no log"]);
});

test("an error thrown by onMissed is reported, and the events of the page are shown", async () => {
  answerWith(pageOf({ events: [create(1)], gap: true }));
  const onMissed = () => Promise.reject(new Error("the chat is down"));
  const { bridge, texts, problems } = makeBridge({ ...optionsOf(), onMissed });
  await bridge.start();
  await until("the event is shown and the problem is reported", () => texts().length + problems.length > 1);
  expect(problems).toEqual(["onMissed failed: the chat is down"]);
});

test("if a bridge is stopped while it starts, both calls resolve, and the bridge is not connected", async () => {
  answerWith(status(503));
  const { bridge } = makeBridge(optionsOf());
  const started = bridge.start();
  await until("the bridge polls", () => service.requests.length === 1);
  await bridge.stop();
  await started;
  expect(bridge.status.isConnected).toBe(false);
});

test("the last problem of a bridge stays while the chat refuses a create, and is reset when the chat accepts the create", async () => {
  answerWith(pageOf({ events: [create(1)], next: "1" }));
  const { chat, texts } = recordingChat();
  let isRefusing = true;
  const tries: (string | undefined)[] = [];
  const { bridge, problems } = makeBridge({
    ...optionsOf(),
    chat: {
      ...chat,
      async post(event, signal) {
        tries.push(bridge.status.problem);
        if (isRefusing) throw new RetryLater(10);
        return chat.post(event, signal);
      },
    },
  });
  await bridge.start();
  const refused = (problem: string) => problem.startsWith("a page was not handled");
  await until("the page is polled three times", () => service.requests.length >= 3 && problems.some(refused));
  expect(problems.filter(refused)).toHaveLength(1);
  expect(bridge.status).toMatchObject({ isConnected: true, problem: expect.any(String) });
  // Each repeated poll called the chat again, and the problem was still set.
  expect(tries.slice(1)).not.toContain(undefined);
  isRefusing = false;
  await until("the message is shown", () => texts().length === 1);
  await until("the problem is reset", () => bridge.status.problem === undefined);
});

// time: smoke
test("an ephemeral that the chat refuses only briefly is shown later, and one that the chat cannot show is dropped", async () => {
  const [first, second] = [30, 31].map((number) => ({
    ...ONE_OF_EACH["message.ephemeral"],
    ...head(number),
    message: message(number),
  }));
  answerWith(pageOf({ events: [first, second], next: "1" }), pageOf({ next: "1" }));
  const { chat, texts } = recordingChat();
  const tried: string[] = [];
  const { bridge, problems } = makeBridge({
    ...optionsOf(),
    chat: {
      ...chat,
      async ephemeral(event, signal) {
        const { text } = event.message;
        tried.push(text);
        if (text === "text 31") throw new CannotShow("the member has left");
        if (tried.filter((each) => each === text).length === 1) throw new RetryLater(10);
        return chat.ephemeral?.(event, signal);
      },
    },
  });
  await bridge.start();
  await until("the first ephemeral is shown", () => texts().includes("text 30"));
  expect(tried).toEqual(["text 30", "text 31", "text 30"]);
  expect(problems).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/the chat refused message.ephemeral .* in 10 ms$/),
      expect.stringMatching(/message.ephemeral .* was dropped: the member has left$/),
    ]),
  );
});

// time: controlled
test("a bridge stops within its time limit although a call to the chat lasts longer, and keeps its lock until the call has ended", async () => {
  answerWith(pageOf({ events: [create()] }));
  const release = jest.fn<void, []>();
  const saved = jest.fn<Promise<void>, []>(async () => undefined);
  const store = {
    ...storeInMemory(),
    messages: { load: async () => [], save: saved },
    lock: async () => ({ release }),
  };
  const { open, opened } = gate();
  const post = jest.fn<Promise<string>, []>(() => opened.then(() => "chat-1"));
  const { bridge } = makeBridge({ ...optionsOf(), store, chat: { ...recordingChat().chat, post } });
  await bridge.start();
  await until("the chat is called", () => post.mock.calls.length > 0);
  fakeTimeouts();
  try {
    const stopped = bridge.stop();
    await jest.advanceTimersByTimeAsync(10_000);
    await stopped;
  } finally {
    jest.useRealTimers();
  }
  expect([release.mock.calls.length, saved.mock.calls.length]).toEqual([0, 0]);
  open();
  await until("the lock is released", () => release.mock.calls.length > 0);
  expect(saved).toHaveBeenCalledTimes(1);
});

// time: controlled
test("a bridge stops within its time limit, even if its chat refuses more pushes than the bridge can hold", async () => {
  answerWith(status(403));
  const port = await freePort();
  const refuse = () => Promise.reject(new RetryLater(60_000));
  const chat = { post: refuse, dm: refuse, update: refuse };
  const { bridge } = makeBridge({ ...optionsOf(), chat, mode: "push", listen: { port } });
  await bridge.start();
  const push = async (number: number): Promise<number> => {
    const event = create(number);
    const body = JSON.stringify(event);
    const headers = {
      "Service-Signature": signatureOf(SECRET, body),
      "Service-Event-Id": event.id,
      "Service-Workspace": event.workspace,
    };
    return (await fetch(`http://127.0.0.1:${port}/events`, { method: "POST", headers, body })).status;
  };
  const statuses = new Set<number>();
  for (let first = 1; first <= 1_001; first += 77) {
    const all = await Promise.all(Array.from({ length: 77 }, (_, i) => push(first + i)));
    for (const each of all) statuses.add(each);
  }
  expect([...statuses]).toEqual([204]);
  fakeTimeouts();
  try {
    const stopped = bridge.stop();
    await jest.advanceTimersByTimeAsync(5_000);
    await stopped;
  } finally {
    jest.useRealTimers();
  }
});
