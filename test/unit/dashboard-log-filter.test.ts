import * as fc from "fast-check";
import { DELIVERY_RESULTS } from "../../contract/deliveries";
import { exportName, toJsonLines } from "../../dashboard/words/log-export";
import { fromLocalInput, toLocalInput } from "../../dashboard/words/local-input";
import {
  ALL_DELIVERIES,
  channelsOf,
  filterDeliveries,
  isFiltered,
  minuteOf,
  type DeliveryFilter,
} from "../../dashboard/words/log-filter";
import { readLogView, readOpenRows, withLogView, withOpenRows } from "../../dashboard/words/log-view";
import { writeTimesIn } from "../../dashboard/words/time-words";
import type { DeliveryShape } from "../../proto/json/shapes";
import { forAll } from "../harness/for-all";
import { ago, delivery, NOW } from "./dashboard-delivery";

const about = (channel: string, text: string, more: Partial<DeliveryShape> = {}) =>
  delivery({ summary: { channel, userId: "", messageId: "msg_1", text }, ...more });

test.each([
  [{ result: "tls" }, ["1-0"]],
  [{ eventType: "ping" }, ["2-0"]],
  [{ event: "ABC" }, ["1-0"]],
  [{ event: "abc", eventType: "ping" }, []],
  // Only pushes have a result, so a filter by result omits the poll.
  [{ result: "success" }, ["2-0"]],
])("the log is filtered by %j", (filter, ids) => {
  const [ping, tls] = [{ eventType: "ping" }, { result: "tls", eventId: "evt_abc" }] as const;
  const poll = delivery({ id: "3-0", eventType: "poll", eventId: "", polls: 1 });
  const log = [poll, delivery({ id: "2-0", ...ping }), delivery({ id: "1-0", ...tls })];
  const found = filterDeliveries(log, { ...ALL_DELIVERIES, ...(filter as object) });
  expect(found.map(({ id }) => id)).toEqual(ids);
});

test.each<[Partial<DeliveryFilter>, readonly string[]]>([
  [{ channel: "general" }, ["4-0", "3-0"]],
  [{ text: "WHO" }, ["4-0"]],
  [{ text: "ada" }, ["2-0"]],
  [{ text: "gener" }, ["4-0", "3-0"]],
  [{ message: "MSG_2" }, ["2-0"]],
  [{ channel: "general", text: "board" }, ["3-0"]],
  [{ from: ago(3_000) }, ["5-0", "4-0", "3-0"]],
  [{ to: ago(3_000) }, ["2-0", "1-0"]],
  [{ from: ago(3_000), to: ago(2_000) }, ["3-0"]],
  // An entry for several polls is counted once for each poll.
  [{ from: ago(900), to: ago(500) }, ["5-0"]],
])("the log is filtered by message and time, %j", (filter, ids) => {
  const dm = { channel: "", userId: "ada", messageId: "msg_2", text: "Your score" };
  const log = [
    delivery({ id: "5-0", eventType: "poll", eventId: "", polls: 9, at: ago(1_000), lastAt: ago(0) }),
    about("general", "Who is in? [Join]", { id: "4-0", at: ago(2_000) }),
    about("general", "The board", { id: "3-0", at: ago(3_000) }),
    delivery({ id: "2-0", summary: dm, at: ago(4_000) }),
    delivery({ id: "1-0", at: ago(5_000) }),
  ];
  expect(filterDeliveries(log, { ...ALL_DELIVERIES, ...filter }).map(({ id }) => id)).toEqual(ids);
  expect(channelsOf(log)).toEqual(["general"]);
});

const anyTime = fc.integer({ min: 0, max: 100_000 }).map((ms) => ago(ms));
const anyDelivery = fc
  .record({
    ms: fc.integer({ min: 0, max: 100_000 }),
    lasts: fc.option(fc.nat(10_000)),
    result: fc.constantFrom(...DELIVERY_RESULTS),
    eventType: fc.constantFrom("message.create", "ping"),
    channel: fc.constantFrom("", "general", "Random"),
  })
  .map(({ ms, lasts, result, eventType, channel }) =>
    lasts === null
      ? about(channel, "Hello", { at: ago(ms), result, eventType })
      : delivery({ at: ago(ms), lastAt: ago(Math.max(0, ms - lasts)), polls: 2, eventType: "poll" }),
  );
const anyFilter = fc.record({
  result: fc.constantFrom("" as const, "success" as const, "failed" as const, "tls" as const),
  eventType: fc.constantFrom("", "ping"),
  event: fc.constantFrom("", "evt", "x"),
  channel: fc.constantFrom("", "general"),
  message: fc.constantFrom("", "msg"),
  text: fc.constantFrom("", "hello", "random"),
  from: fc.oneof(fc.constant(""), anyTime),
  to: fc.oneof(fc.constant(""), anyTime),
});

test("filters only remove entries, do not reorder them, and together keep the entries that every single filter keeps", () => {
  forAll(fc.tuple(fc.array(anyDelivery), anyFilter), ([log, filter]) => {
    const found = filterDeliveries(log, filter);
    expect(found).toEqual(log.filter((each) => found.includes(each)));
    const alone = Object.entries(filter).map(([name, value]) =>
      filterDeliveries(log, { ...ALL_DELIVERIES, [name]: value }),
    );
    expect(found).toEqual(log.filter((each) => alone.every((kept) => kept.includes(each))));
    if (!isFiltered(filter)) expect(found).toEqual(log);
  });
});

test("the query of the URL contains every filter, the page and the open rows", () => {
  const anyView = fc.tuple(
    anyFilter,
    fc.integer({ min: 1, max: 60 }),
    fc.uniqueArray(fc.stringMatching(/^\w{1,30}$/), { maxLength: 10 }),
  );
  forAll(anyView, ([filter, page, names]) => {
    const query = new URLSearchParams(
      withLogView(withOpenRows(new URLSearchParams("other=1"), new Set(names)), { filter, page }),
    );
    expect(readLogView(query)).toEqual({ filter, page });
    expect([...readOpenRows(query)]).toEqual(names);
    expect(query.get("other")).toBe("1");
  });
});

test("an invalid time in the query counts as missing, and at most ten rows are open", () => {
  expect(readLogView(new URLSearchParams("from=yesterday&to=x")).filter).toEqual(ALL_DELIVERIES);
  const many = new URLSearchParams(Array.from({ length: 20 }, (_, i) => `open=evt_${i}`).join("&"));
  expect([...readOpenRows(many)]).toEqual(Array.from({ length: 10 }, (_, i) => `evt_${10 + i}`));
  expect([...readOpenRows(new URLSearchParams("open="))]).toEqual([]);
});

test("a minute of the chart becomes a filter for the range of that minute", () => {
  expect(minuteOf(NOW)).toEqual({ from: "2026-03-01T12:00:30.000Z", to: "2026-03-01T12:01:30.000Z" });
});

test("a time of the log is unchanged by its input field, which shows the local time in seconds", () => {
  forAll(fc.integer({ min: 0, max: 4e9 }), (seconds) => {
    const at = new Date(seconds * 1_000).toISOString();
    const shown = toLocalInput(at);
    expect(shown).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/);
    // When clocks are set back for winter, two different times have the same local time.
    expect(toLocalInput(fromLocalInput(shown))).toBe(shown);
  });
  expect([toLocalInput(""), fromLocalInput("")]).toEqual(["", ""]);
});

test("if the dashboard shows times in UTC, the input field is also in UTC", () => {
  writeTimesIn("utc");
  expect(toLocalInput("2026-07-01T12:00:30.500Z")).toBe("2026-07-01T12:00:30");
  expect(fromLocalInput("2026-07-01T12:00:30")).toBe("2026-07-01T12:00:30.000Z");
  expect(fromLocalInput("")).toBe("");
  writeTimesIn("local");
});

test("the export has one JSON line for each entry, oldest first", () => {
  const log = [delivery({ id: "2-0" }), about("general", "Line\nbreak", { id: "1-0" })];
  const lines = toJsonLines(log).split("\n");
  expect(lines.pop()).toBe("");
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(log.toReversed());
  expect(exportName("w1", NOW)).toBe("deliveries-w1-2026-03-01T12-00-30.jsonl");
});
