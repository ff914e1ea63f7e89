import type { MatrixEvent } from "../../client/events";
import { MatrixError } from "../../client/matrix-error";
import { newEvents } from "../../inbound/timeline";

const OWN = "@games:example.org";
const { signal } = new AbortController();
const failures: unknown[] = [];

const text = (event_id: string): MatrixEvent => ({
  type: "m.room.message",
  event_id,
  sender: "@a:b",
  content: {},
});
function membership(event_id: string, before?: string): MatrixEvent {
  const unsigned = before === undefined ? {} : { unsigned: { prev_content: { membership: before } } };
  const content = { membership: "join" };
  return { type: "m.room.member", event_id, sender: OWN, state_key: OWN, content, ...unsigned };
}

/** Returns the ids of the new events, if the homeserver has these pages of older events. */
async function idsOf(
  timeline: { events: MatrixEvent[]; limited?: boolean },
  pages: readonly (readonly MatrixEvent[])[] = [],
  since: string | undefined = "s0",
) {
  const asked: string[] = [];
  const olderEvents = async (_room: string, { from }: { from: string }) => {
    asked.push(from);
    const index = asked.length - 1;
    return { chunk: [...(pages[index] ?? [])], ...(index + 1 < pages.length && { end: `p${index + 1}` }) };
  };
  const joined = { timeline: { ...timeline, prev_batch: "p0" } };
  const events = await newEvents({ olderEvents }, { id: "!r", own: OWN, since }, joined, {
    signal,
    onFailure: (error) => failures.push(error),
  });
  return { ids: events.map(({ event_id: id }) => id).join(" "), asked: asked.join(" ") };
}

test("the events of a sync are returned in order", async () => {
  expect(await idsOf({ events: [text("1"), text("2")] })).toEqual({ ids: "1 2", asked: "" });
});

test("events that a sync omits are fetched page by page, newest first", async () => {
  const pages = [[text("4"), text("3")], [text("2")]];
  expect(await idsOf({ events: [text("5")], limited: true }, pages)).toEqual({
    ids: "2 3 4 5",
    asked: "p0 p1",
  });
});

test("at most 10 pages are fetched", async () => {
  const pages = Array.from({ length: 20 }, (_, i) => [text(String(100 - i))]);
  expect((await idsOf({ events: [], limited: true }, pages)).asked.split(" ")).toHaveLength(10);
});

test("events from before the bridge joined are left out, and a change of the bridge's display name does not count as a join", async () => {
  expect(
    (await idsOf({ events: [text("1"), membership("2", "invite"), text("3")], limited: true })).ids,
  ).toBe("3");
  expect((await idsOf({ events: [text("1"), membership("2", "join"), text("3")] })).ids).toBe("1 2 3");
  const pages = [[text("4"), membership("3", "leave"), text("2")], [text("1")]];
  expect(await idsOf({ events: [text("5")], limited: true }, pages)).toEqual({ ids: "4 5", asked: "p0" });
});

test("if the homeserver rejects the request for older events, the events of the sync are returned", async () => {
  const error = new MatrixError(403, "M_FORBIDDEN");
  const olderEvents = () => Promise.reject(error);
  const joined = { timeline: { events: [text("5")], limited: true, prev_batch: "p0" } };
  const options = { signal, onFailure: (failure: unknown) => failures.push(failure) };
  const events = await newEvents({ olderEvents }, { id: "!r", own: OWN, since: "s0" }, joined, options);
  expect(events.map(({ event_id: id }) => id)).toEqual(["5"]);
  expect(failures).toEqual([error]);
});
