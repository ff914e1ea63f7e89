import * as fc from "fast-check";
import { DELIVERY_RESULTS, SEND_AGAIN_RESULTS } from "../../contract/deliveries";
import { SUMMARY_MAX_CHARACTERS } from "../../contract/deliveries";
import { summarize } from "../../core/domain/event-summary";
import { loggedWords } from "../../dashboard/words/delivery-list";
import { messageWords, readSummary, readWords, shortId } from "../../dashboard/words/event-words";
import { ALL_DELIVERIES, isFiltered } from "../../dashboard/words/log-filter";
import { pageOf, ROWS_PER_PAGE, toRows } from "../../dashboard/words/log-rows";
import { readLogView, withLogView } from "../../dashboard/words/log-view";
import { readPayload } from "../../dashboard/words/payload";
import { attemptWords, SENT_WORDS, whyNoEvents, whyNotSent } from "../../dashboard/words/send-again-words";
import { forAll } from "../harness/for-all";
import { ago, delivery } from "./dashboard-delivery";

const polls = (id: number, count: number, events = 0) =>
  delivery({
    id: `${id}-1000000`,
    eventId: "",
    eventType: "poll",
    attempt: 0,
    polls: count,
    events,
    at: ago(600_000 - id),
    lastAt: ago(599_999 - id),
  });

describe("the rows of the log", () => {
  test("consecutive runs of empty polls share a row of the log; a push or a poll with events begins a new row", () => {
    const push = delivery({ id: "5-0" });
    const log = [polls(7, 3), polls(6, 1), push, polls(4, 1, 2), polls(3, 10), polls(2, 20), polls(1, 30)];
    const rows = toRows(log);
    expect(rows.map(({ id, entries }) => [id, entries.length])).toEqual([
      ["6-1000000", 2],
      ["5-0", 1],
      ["4-1000000", 1],
      ["1-1000000", 3],
    ]);
    const [first, , withEvents, last] = rows.map((row) => row.delivery);
    expect([first?.polls, withEvents?.events, last?.polls]).toEqual([4, 2, 60]);
    expect([last?.at, last?.lastAt]).toEqual([polls(1, 1).at, polls(3, 1).lastAt]);
  });

  test("the rows of the log contain each delivery once and in order, and show the right total of polls", () => {
    const kind = fc.constantFrom("push", "empty", "events");
    forAll(fc.array(kind), (kinds) => {
      const log = kinds.map((each, i) => {
        const id = kinds.length - i;
        return each === "push"
          ? delivery({ id: `${id}-0`, eventId: `evt_${id}` })
          : polls(id, id, each === "events" ? 1 : 0);
      });
      const rows = toRows(log);
      expect(rows.flatMap(({ entries }) => entries)).toEqual(log);
      for (const { id, delivery: sum, entries } of rows) {
        expect([id, sum.polls]).toEqual([
          entries.at(-1)?.id,
          entries.reduce((total, each) => total + each.polls, 0),
        ]);
      }
    });
  });

  test("the attempts of an event share the row of the newest attempt, whatever is between them", () => {
    // Each entry is an attempt of one of five events, or a run of polls (0), with or without events.
    forAll(fc.array(fc.tuple(fc.nat(5), fc.boolean())), (made) => {
      const log = made.map(([event, hasEvents], i) => {
        const id = made.length - i;
        if (event === 0) return polls(id, id, hasEvents ? 1 : 0);
        return delivery({ id: `${id}-0`, eventId: `evt_${event}`, attempt: 1 });
      });
      const rows = toRows(log);
      const pushes = log.filter((each) => each.polls === 0);
      const ofPushes = rows.filter((row) => row.delivery.polls === 0);
      expect(ofPushes.map(({ name }) => name)).toEqual([...new Set(pushes.map(({ eventId }) => eventId))]);
      for (const { name, delivery: newest, entries } of ofPushes) {
        expect(entries).toEqual(pushes.filter(({ eventId }) => eventId === name));
        expect(newest).toBe(entries[0]);
      }
      expect(new Set(rows.map(({ name }) => name)).size).toBe(rows.length);
      expect(new Set(rows.flatMap(({ entries }) => entries))).toEqual(new Set(log));
      // The rows are sorted by their newest entry.
      const places = rows.map(({ entries }) => log.findIndex((each) => each === entries[0]));
      expect(places).toEqual(places.toSorted((a, b) => a - b));
    });
  });

  test.each([
    [0, 1, [0, 1, 1]],
    [ROWS_PER_PAGE, 1, [ROWS_PER_PAGE, 1, 1]],
    [ROWS_PER_PAGE + 1, 2, [1, 2, 2]],
    [ROWS_PER_PAGE + 1, 9, [1, 2, 2]],
  ])("%d rows, page %d", (count, wanted, expected) => {
    const rows = toRows(
      Array.from({ length: count }, (_, i) => delivery({ id: `${count - i}-0`, eventId: `evt_${i}` })),
    );
    const { rows: shown, page, pages } = pageOf(rows, wanted);
    expect([shown.length, page, pages]).toEqual(expected);
  });

  test("pushes and polls are counted separately", () => {
    const log = [delivery(), delivery({ attempt: 2 }), polls(1, 1_200), polls(2, 1)];
    expect(loggedWords(log)).toBe("2 push attempts, 1,201 polls");
    expect([loggedWords([delivery()]), loggedWords([polls(1, 1)])]).toEqual(["1 push attempt", "1 poll"]);
  });
});

describe("the query of the page's URL", () => {
  test("the query of the page's URL contains the filters and the page of the log, and keeps its other parameters", () => {
    const view = {
      filter: { ...ALL_DELIVERIES, result: "tls", eventType: "dm.create", event: "evt_01" },
      page: 3,
    } as const;
    const query = withLogView(new URLSearchParams("other=1"), view);
    expect(query).toBe("?other=1&outcome=tls&kind=dm.create&event=evt_01&page=3");
    expect(readLogView(new URLSearchParams(query))).toEqual(view);
    const first = { filter: ALL_DELIVERIES, page: 1 };
    expect(withLogView(new URLSearchParams(query), first)).toBe("?other=1");
    expect(withLogView(new URLSearchParams(), first)).toBe("");
    expect([isFiltered(view.filter), isFiltered(ALL_DELIVERIES)]).toEqual([true, false]);
  });

  test.each(["outcome=nonsense", "page=0", "page=-1", "page=1.5", "page=x", "page=1e99", ""])(
    "an invalid value counts as missing: %s",
    (query) => {
      expect(readLogView(new URLSearchParams(query))).toEqual({ filter: ALL_DELIVERIES, page: 1 });
    },
  );
});

describe("the name of an event", () => {
  const event = (more: object) => ({ type: "message.create", expiresAt: null, ...more });
  const message = {
    id: "msg_1",
    kind: "card",
    text: " Who\nis  in? ",
    buttons: [[{ label: "Join", action: "j" }]],
  };

  test.each([
    [event({ channel: "general", message }), "#general · Who is in? [Join]"],
    [event({ channel: "#irc", message }), "#irc · Who is in? [Join]"],
    [event({ channel: "dm:ada", message }), "@ada · Who is in? [Join]"],
    [event({ channel: "general", user: "ada", message: { id: "m", kind: "card", text: "" } }), "#general"],
    [
      event({ channel: "general", message: { ...message, text: "**Who** is in, \\*Ada\\*?" } }),
      "#general · Who is in, *Ada*? [Join]",
    ],
    [{ type: "ping", expiresAt: null }, undefined],
  ])("%j", (envelope, words) => {
    expect(messageWords(readWords(JSON.stringify(envelope)))).toBe(words);
  });

  test("the name of a fetched event is the same as the name that core logs when it pushes the event", () => {
    const words = fc.string({ unit: "grapheme", maxLength: 100 });
    const buttons = fc.array(
      fc.array(fc.record({ label: words, action: words }), { minLength: 1, maxLength: 3 }),
      { maxLength: 3 },
    );
    const channel = fc.oneof(
      words,
      words.map((user) => `dm:${user}`),
    );
    const anyEvent = fc.record({ channel, text: words, buttons });
    forAll(anyEvent, ({ channel, text, buttons }) => {
      const json = JSON.stringify({
        id: "evt_1",
        expiresAt: null,
        channel,
        message: { id: "msg_1", kind: "card", text, ...(buttons.length > 0 && { buttons }) },
      });
      const summary = readSummary(json);
      expect(summary).toEqual(summarize(json));
      expect([...(summary?.text ?? "")].length).toBeLessThanOrEqual(SUMMARY_MAX_CHARACTERS);
    });
  });

  test("the name of an event is unknown if the text is not an event", () => {
    expect([readSummary("null"), readSummary("{cut"), messageWords(null)]).toEqual([null, null, undefined]);
    expect(shortId("evt_01J0ABCDEFGHJKMNPQRSTVWXYZ")).toBe("…TVWXYZ");
  });
});

describe("sending again", () => {
  test.each(SEND_AGAIN_RESULTS)("the result %s is described", (result) => {
    expect(SENT_WORDS[result]).toMatch(/^[A-Z]/);
  });

  test("the reason is shown when a workspace cannot send events again", () => {
    expect(whyNotSent({ connected: true, mode: "push" })).toBeUndefined();
    expect(whyNotSent({ connected: true, mode: "poll" })).toMatch(/target URL/);
    expect(whyNotSent({ connected: false, mode: "none" })).toMatch(/disconnected/);
  });

  test.each(DELIVERY_RESULTS)(
    "if a push has the result %s, the page says why the event cannot be shown",
    (result) => {
      expect(whyNoEvents(delivery({ result }))).toMatch(/^The .{20,}\.$/);
    },
  );

  test("the page says why the events of a poll cannot be shown", () => {
    expect(whyNoEvents(polls(1, 1, 3))).toBe("The events of this poll are no longer held.");
  });

  test.each([
    ["message.create", 1, "attempt 1 of 3"],
    ["message.update", 1, "attempt 1"],
    ["message.update", 2, "attempt 2 of 3"],
    ["ping", 1, "attempt 1"],
    ["dm.create", 0, "no attempt"],
  ])("%s, attempt %d: %s", (eventType, attempt, words) => {
    expect(attemptWords({ eventType, attempt })).toBe(words);
  });
});

test("an event's JSON is shown with line breaks; other text is shown as it is", () => {
  expect(readPayload('{"type":"ping","seq":1}')).toEqual({
    type: "ping",
    pretty: '{\n  "type": "ping",\n  "seq": 1\n}',
  });
  expect(readPayload("null")).toEqual({ type: "", pretty: "null" });
  expect(readPayload("{cut off")).toEqual({ type: "", pretty: "{cut off" });
});
