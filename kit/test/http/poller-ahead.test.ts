import { setTimeout as sleep } from "node:timers/promises";
import { cursorInMemory } from "../../cursor-store";
import { runPoller, type PageProgress, type UnfinishedPage } from "../../poller";
import type { Behaviour } from "../../../test/harness/behaviours";
import { create } from "../../../test/harness/sample-events";
import { until } from "../../../test/harness/wait";
import { gate } from "../harness/gate";
import { cursorAt, pageOf, startPolledService, type PolledService } from "../harness/polled-service";
import { skipTime } from "../harness/skipped-time";

let service: PolledService;
beforeEach(async () => {
  service = await startPolledService();
});
afterEach(() => service.close());

const WAITING: PageProgress = { is: "waiting", problem: new Error("the chat says no") };

// time: ordering
test("if the chat answers while the saved cursor is polled, the cursor never moves back, and no event is handled again", async () => {
  let progress: PageProgress = { is: "busy" };
  const { open, opened } = gate();
  const first = pageOf({ events: [create(1)], next: "1", hasMore: true });
  const firstAfterTheChat: Behaviour = {
    answer(exchange) {
      progress = { is: "done" };
      open();
      void opened.then(() => sleep(20)).then(() => first.answer(exchange));
    },
  };
  const cursors = cursorInMemory();
  const saves: string[] = [];
  const handled: number[] = [];
  await service.run(
    [first, pageOf({ events: [create(2)], next: "2" }), firstAfterTheChat, pageOf({ next: "2" })],
    {
      cursors: {
        load: () => cursors.load(),
        async save(cursor) {
          saves.push(cursor);
          await cursors.save(cursor);
        },
      },
      handle({ events }) {
        handled.push(...events.map(({ sequence }) => sequence));
        return handled.length === 1 ? { progress: () => progress, idle: () => opened } : undefined;
      },
    },
  );
  expect(saves).toEqual(["2"]);
  expect(handled).toEqual([create(1).sequence, create(2).sequence]);
});

// time: controlled
test("if the chat answers while a poll fails, the cursor is saved before the poller waits", async () => {
  let progress: PageProgress = { is: "busy" };
  const failing: Behaviour = {
    answer({ response }) {
      progress = { is: "done" };
      response.writeHead(503).end();
    },
  };
  const cursors = cursorInMemory();
  const timing = skipTime();
  const saved: (string | undefined)[] = [];
  await service.run([pageOf({ events: [create(1)], next: "1" }), failing], {
    cursors,
    timing: {
      ...timing,
      async pause(ms) {
        saved.push(await cursors.load());
        await timing.pause(ms);
      },
    },
    handle: ({ events }) => (events.length > 0 ? { progress: () => progress } : undefined),
  });
  expect(saved.slice(0, 2)).toEqual([undefined, "1"]);
});

// contract: kit-gap
test("if the handler rejects a page with a gap, it is notified of the gap again", async () => {
  const gaps: boolean[] = [];
  const page = pageOf({ gap: true, next: "9" });
  await service.run([page, page], {
    cursors: await cursorAt("1"),
    async handle({ gap }) {
      gaps.push(gap);
      if (gaps.length === 1) throw new Error("the chat says no");
    },
  });
  expect(gaps).toEqual([true, true]);
});

// contract: kit-gap
test("events that expire after the poller has read them do not count as a gap", async () => {
  const gaps: boolean[] = [];
  const pages = [
    pageOf({ events: [create(1), create(2)], next: "2" }),
    // The first event has expired. This is no gap, because the page begins with a known event.
    pageOf({ events: [create(2), create(3)], next: "3", gap: true }),
    // All known events have expired, so events that the poller has not read may have expired too.
    pageOf({ events: [create(9)], next: "9", gap: true }),
  ];
  await service.run(pages, {
    cursors: await cursorAt("0"),
    handle({ gap }) {
      gaps.push(gap);
      return { progress: () => WAITING };
    },
  });
  expect(gaps).toEqual([false, false, true]);
});

test("an `idle` that rejects stops neither the poller nor the process", async () => {
  const abort = new AbortController();
  const idle = jest.fn<Promise<void>, []>(() => Promise.reject(new Error("the chat is closed")));
  const unfinished: UnfinishedPage = { progress: () => WAITING, idle };
  service.behave(pageOf({ events: [create(1)], next: "1" }));
  const running = runPoller({
    ...service.options(),
    signal: abort.signal,
    report: () => undefined,
    handle: () => unfinished,
  });
  await until("the page is handled", () => idle.mock.calls.length > 0);
  abort.abort();
  await running;
});
