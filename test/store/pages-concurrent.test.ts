import { setTimeout as sleep } from "node:timers/promises";
import * as fc from "fast-check";
import type { PageStart } from "../../core/ports/outbound-events";
import type { WorkspaceRecord } from "../../core/ports/workspaces";
import { many } from "../harness/for-all";
import { addWorkspace, publication, sequenceOf, testStore, type TestStore } from "../harness/store";

const store = testStore();
const stores = [store, testStore(store), testStore(store)] as const;

interface Seen {
  readonly label: string;
  readonly sequence: number;
}

/** Publishes batches of these sizes, one after the other, and returns the published events. */
async function write(store: TestStore, workspaceId: string, name: string, sizes: readonly number[]) {
  const written: Seen[] = [];
  for (const [batch, size] of sizes.entries()) {
    const publishing = Array.from({ length: size }, async (_, i) => {
      const label = `${name}/${batch}/${i}`;
      const published = await store.outboundEvents.publish(publication(workspaceId, label));
      return { label, sequence: sequenceOf(published) };
    });
    written.push(...(await Promise.all(publishing)));
  }
  return written;
}

/**
 * Polls from `first`, with each of `limits` in turn, until `isDone` returns true. Retries a poll that exceeds the request
 * limit.
 */
async function follow(
  store: TestStore,
  record: WorkspaceRecord,
  first: PageStart,
  limits: readonly number[],
  isDone: (cursor: string) => boolean,
): Promise<Seen[]> {
  const seen: Seen[] = [];
  let start = first;
  for (let turn = 0; ; turn++) {
    const limit = limits[turn % limits.length] ?? 1;
    const page = await store.heldEvents.page({ record, page: { start, limit } });
    if (page.outcome === "limited") {
      await sleep(20);
      continue;
    }
    if (page.outcome !== "page") throw new Error(page.outcome);
    page.release?.();
    expect(page.gap).toBe(false);
    seen.push(...(JSON.parse(`[${page.events.join(",")}]`) as Seen[]));
    if (page.last !== undefined) start = { from: "after", cursor: page.last };
    if (!page.hasMore && start.from === "after" && isDone(start.cursor)) return seen;
  }
}

const sizes = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 8 });
const limits = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 5 });

// contract: poll-no-skip
test("a bridge that follows `next` sees every event once and in order, while several cores publish", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(sizes, { minLength: 3, maxLength: 6 }),
      fc.array(limits, { minLength: 3, maxLength: 3 }),
      async (writers, readers) => {
        const record = await addWorkspace(stores[0]);
        const { id } = record.workspace;
        const core = (i: number): TestStore => stores[i % 3] ?? stores[0];
        let newest: string | undefined;
        const isDone = (cursor: string): boolean => cursor === newest;

        const writing = Promise.all(writers.map((batches, i) => write(core(i), id, `w${i}`, batches)));
        const reading = readers.map((turns, i) => follow(core(i), record, { from: "oldest" }, turns, isDone));
        const page = { start: { from: "latest" }, limit: 1 } as const;
        const late = await stores[2].heldEvents.page({ record, page });
        if (late.outcome !== "page") throw new Error(late.outcome);
        const joined = late.last ?? "";
        reading.push(follow(stores[1], record, { from: "after", cursor: joined }, [7], isDone));

        const written = (await writing).flat().toSorted((a, b) => a.sequence - b.sequence);
        newest = String(written.at(-1)?.sequence);
        const [lateReader, ...fromOldest] = (await Promise.all(reading)).toReversed();
        for (const seen of fromOldest) expect(seen).toEqual(written);
        expect(lateReader).toEqual(written.filter(({ sequence }) => sequence > Number(joined)));
      },
    ),
    { numRuns: many(12) },
  );
});
