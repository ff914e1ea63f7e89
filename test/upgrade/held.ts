import { MessageKind } from "../../proto/gen/chatbridge/v1/event";
import { poll } from "../harness/bridge";
import { create, dm, ephemeral, published, update, type EventInit } from "../harness/contents";
import { createKeys } from "../../core/store/keys";
import { publish, textEvent, type TestWorkspace } from "../harness/service";
import type { Contents, Fill, World } from "./contents";

/** The fields of a held event that are known as soon as it is published, and that a page must contain. */
interface Held {
  readonly id: string;
  readonly sequence: number;
  readonly expiresAt: string | null;
  readonly text: string;
}

interface Envelope extends Omit<Held, "text"> {
  readonly message: { readonly text: string };
}

interface Page {
  readonly events: readonly Envelope[];
  readonly next: string | null;
  readonly hasMore: boolean;
  readonly gap: boolean;
}

/** The largest number of events in one call. */
const CALL_MAX = 100;
const LARGE_BYTES = 30_000;

/** Publishes events, and returns the held events that bridges must get. */
async function hold({ clients }: World, events: readonly EventInit[]): Promise<readonly Held[]> {
  const held: Held[] = [];
  for (let from = 0; from < events.length; from += CALL_MAX) {
    const some = events.slice(from, from + CALL_MAX);
    const results = await publish(clients, ...some);
    for (const [index, result] of results.entries()) {
      const { eventId: id, sequence, expiresAt = null } = published(result);
      held.push({ id, sequence, expiresAt: expiresAt && expiresAt.toISOString(), text: textOf(some[index]) });
    }
  }
  return held;
}

function textOf(event: EventInit | undefined): string {
  return event?.content?.value?.message?.text ?? "";
}

async function page({ url }: World, workspace: TestWorkspace, query: string): Promise<Page> {
  const { status, body } = await poll(url, workspace, query);
  expect([query, status]).toEqual([query, 200]);
  return JSON.parse(body.toString("utf8")) as Page;
}

/** Reads all pages from a cursor on; without a cursor, from the oldest event on. */
async function readFrom(world: World, workspace: TestWorkspace, cursor?: string, limit = 100) {
  const held: Held[] = [];
  let [after, hasMore] = [cursor, true];
  while (hasMore) {
    const query = `${after === undefined ? "" : `after=${after}&`}limit=${limit}`;
    const found = await page(world, workspace, query);
    for (const { id, sequence, expiresAt, message } of found.events)
      held.push({ id, sequence, expiresAt: toIso(expiresAt), text: message.text });
    expect([query, found.gap]).toEqual([query, false]);
    ({ hasMore } = found);
    after = found.next ?? undefined;
  }
  return { held, next: after };
}

const toIso = (time: string | null): string | null => time && new Date(time).toISOString();

/** Events of all types and several sizes, with and without expiry, of a workspace whose bridge has never polled. */
export const neverPolled: Fill = async (world) => {
  const workspace = await world.workspaces.make({ name: "never polled" });
  const of = (content: EventInit["content"], more: EventInit = {}): EventInit => ({
    workspaceId: workspace.id,
    ...(content && { content }),
    ...more,
  });
  const message = (text: string, kind = MessageKind.TEXT) => ({ kind, text });
  const [first] = await publish(world.clients, of(create("c1", message("first"))));
  const { eventId, sequence, expiresAt = null, messageId } = published(first);
  const expected: Held[] = [
    { id: eventId, sequence, expiresAt: expiresAt && expiresAt.toISOString(), text: "first" },
    ...(await hold(world, [
      of(update("c1", { ...message("updated"), id: messageId })),
      of(ephemeral("c1", "u1", message("only for u1"))),
      of(dm("u1", message("direct"))),
      of(create("c1", message("for hours", MessageKind.ASYNC_QUESTION))),
      of(create("c1", message('Ünïcode \u{1F600} | ~ \n\n "quoted" \\'))),
      of(create("c1", message("x".repeat(LARGE_BYTES)))),
      of(create("c1", message("short")), { lifetime: { seconds: 1 } }),
      of(create("c1", message("long")), { lifetime: { seconds: 86_400 } }),
    ])),
  ];
  return keeps(world, workspace, expected);
};

/** More events than fit in a page. The bridge has fetched some of the events, and its cursor must stay valid. */
export const partlyFetched: Fill = async (world) => {
  const workspace = await world.workspaces.make({ name: "partly fetched" });
  const events = Array.from({ length: 250 }, (_, i) =>
    textEvent(workspace.id, `${i} ${"y".repeat((i * 37) % 2_000)}`),
  );
  const expected = [...(await hold(world, events))];
  const { next } = await page(world, workspace, "limit=100");
  const { next: cursor } = await page(world, workspace, `after=${next}&limit=23`);
  return keeps(world, workspace, expected, [String(cursor), String(expected[200]?.sequence)]);
};

/** Many large events. The previous release stores them in several blocks. */
export const large: Fill = async (world) => {
  const workspace = await world.workspaces.make({ name: "large" });
  const events = Array.from({ length: 60 }, (_, i) =>
    textEvent(workspace.id, `${i} ${"z".repeat(LARGE_BYTES)}`),
  );
  const expected = [...(await hold(world, events))];
  return keeps(world, workspace, expected, [String(expected[30]?.sequence)], 50);
};

/** A bridge that has fetched all events, with the exact bytes of its pages. */
export const allFetched: Fill = async (world) => {
  const workspace = await world.workspaces.make({ name: "all fetched" });
  const events = Array.from({ length: 30 }, (_, i) => textEvent(workspace.id, `fetched ${i}`));
  const expected = [...(await hold(world, events))];
  const last = String(expected.at(-1)?.sequence);
  const middle = String(expected[14]?.sequence);
  const queries = ["limit=7", `after=${middle}&limit=3`, `after=${expected[0]?.sequence}&limit=29`];
  const read = () =>
    Promise.all(
      queries.map(async (query) => (await poll(world.url, workspace, query)).body.toString("utf8")),
    );
  const bytes = await read();
  const base = keeps(world, workspace, expected, [middle, last]);
  return {
    ...base,
    async check() {
      const withoutMore = (body: string) => body.replace(/"hasMore":\w+/, "");
      expect((await read()).map(withoutMore)).toEqual(bytes.map(withoutMore));
      await base.check();
    },
  };
};

/** A workspace that has never held an event. */
export const neverHeld: Fill = async (world) => {
  const workspace = await world.workspaces.make({ name: "never held" });
  const expected: Held[] = [];
  const base = keeps(world, workspace, expected);
  return {
    ...base,
    async check() {
      if (expected.length > 0) return base.check();
      expect(await page(world, workspace, "")).toEqual({
        events: [],
        next: null,
        hasMore: false,
        gap: false,
      });
      expect(await page(world, workspace, "after=latest")).toMatchObject({
        events: [],
        next: "0",
        gap: false,
      });
    },
  };
};

/** A workspace whose oldest events have expired after 24 hours: only cursors before these events have a gap. */
export const gap: Fill = async (world) => {
  const workspace = await world.workspaces.make({ name: "gap" });
  const expected = await hold(world, [textEvent(workspace.id, "kept")]);
  const kept = expected[0]?.sequence ?? 0;
  const keys = createKeys(16);
  const state = `${keys.prefixOf(workspace.id)}:st:${workspace.id}`;
  // Sets the highest expired sequence by hand, because the test does not wait 24 hours.
  await world.due.redis.command(state, ["HSET", state, "gone", String(kept - 10)]);
  const gaps = async () => {
    const cursors = [kept - 20, kept - 11, kept - 10, kept - 1, kept];
    return Promise.all(cursors.map(async (cursor) => (await page(world, workspace, `after=${cursor}`)).gap));
  };
  const before = await gaps();
  expect(before).toEqual([true, true, false, false, false]);
  return {
    async check() {
      expect(await gaps()).toEqual(before);
      expect((await page(world, workspace, "")).gap).toBe(false);
    },
  };
};

/** Checks that a workspace holds exactly these events, from its oldest event on and from each cursor on. */
function keeps(
  world: World,
  workspace: TestWorkspace,
  expected: Held[],
  cursors: readonly string[] = [],
  limit = 100,
): Contents {
  let adds = 0;
  return {
    async check() {
      const last = expected.at(-1)?.sequence ?? 0;
      for (const cursor of cursors) {
        const { held, next } = await readFrom(world, workspace, cursor, limit);
        expect(held).toEqual(expected.filter(({ sequence }) => sequence > Number(cursor)));
        expect(next).toBe(String(last));
      }
      expect((await readFrom(world, workspace, undefined, limit)).held).toEqual(expected);
      expect(await page(world, workspace, "after=latest")).toMatchObject({ events: [], next: String(last) });
    },
    async add() {
      const texts = [1, 2, 3].map((number) => `added ${adds} ${number}`);
      adds += 1;
      const added = await hold(
        world,
        texts.map((text) => textEvent(workspace.id, text)),
      );
      expect(added[0]?.sequence).toBeGreaterThan(expected.at(-1)?.sequence ?? 0);
      expected.push(...added);
    },
  };
}
