import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import { testFolder } from "../../../../test/harness/folder";
import { LastSeen } from "../../state/last-seen";

const folder = testFolder();
const log = pino({ level: "silent" });
const ROOM = "quiz@rooms.example";
const seconds = (count: number): number => count * 1_000;

test("in a room that the bridge has never joined, no lines were missed, but the history is read for messages of a killed bridge", async () => {
  const lastSeen = new LastSeen(mkdtempSync(join(folder, "s-")), log);
  expect(lastSeen.historySeconds(ROOM)).toBe(120);
  expect(lastSeen.isMissed(ROOM, Date.now())).toBe(false);
  await lastSeen.close();
});

test("the next run reads the lines since the end of the last run, with an overlap, but no lines that are more than 5 minutes old", async () => {
  const state = mkdtempSync(join(folder, "s-"));
  const first = new LastSeen(state, log);
  first.note(ROOM);
  await first.close();
  const next = new LastSeen(state, log);
  const now = Date.now();
  expect(next.isMissed(ROOM, now - seconds(10))).toBe(true);
  expect(next.isMissed(ROOM, now - seconds(20))).toBe(false);
  expect(next.historySeconds(ROOM)).toBeGreaterThanOrEqual(120);
  await next.close();
  writeFileSync(join(state, "last-seen.json"), JSON.stringify({ [ROOM]: now - seconds(3_600) }));
  const late = new LastSeen(state, log);
  expect(late.isMissed(ROOM, now - seconds(290))).toBe(true);
  expect(late.isMissed(ROOM, now - seconds(310))).toBe(false);
  expect(late.historySeconds(ROOM)).toBe(420);
  await late.close();
});

// time: controlled
test("no run reads lines that are older than the first join, and later joins keep the overlap", async () => {
  jest.useFakeTimers({ doNotFake: ["setImmediate", "nextTick"] });
  try {
    const state = mkdtempSync(join(folder, "s-"));
    const first = new LastSeen(state, log);
    const joinedAt = Date.now();
    first.noteJoin(ROOM);
    expect(first.isMissed(ROOM, joinedAt - 1)).toBe(false);
    jest.setSystemTime(joinedAt + seconds(5));
    first.note(ROOM);
    await first.close();
    const next = new LastSeen(state, log);
    expect([next.isMissed(ROOM, joinedAt - 1), next.isMissed(ROOM, joinedAt + 1)]).toEqual([false, true]);
    jest.setSystemTime(joinedAt + seconds(60));
    next.noteJoin(ROOM);
    expect(next.isMissed(ROOM, joinedAt + seconds(50))).toBe(true);
    await next.close();
  } finally {
    jest.useRealTimers();
  }
});

test("a damaged file is treated like a missing file", async () => {
  const state = mkdtempSync(join(folder, "s-"));
  writeFileSync(join(state, "last-seen.json"), "{");
  const lastSeen = new LastSeen(state, log);
  expect(lastSeen.historySeconds(ROOM)).toBe(120);
  await lastSeen.close();
});
