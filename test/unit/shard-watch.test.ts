import { watchShard, type ShardWatchContext } from "../../core/delivery/shard-watch";
import { MailRefused } from "../../core/ports/outside";
import type { OutageMail } from "../../core/ports/poll-watch";
import { StoreUnavailable } from "../../core/ports/store-faults";
import { newWorkspace } from "../harness/new-workspace";

const PAGE = 10;
const SINCE = { failingSinceMs: 1, oldestWaitingAtMs: 1 };

/**
 * Starts a watch that reads an outbox in memory. `sent`, `tried`, `faults` and `refused` list the workspace ids of
 * emails. In this test, the id of a workspace is also the address of its owner.
 */
function startWatch() {
  const outbox: OutageMail[] = [];
  const none: readonly string[] = [];
  const seen = { sent: [...none], tried: [...none], faults: [...none], refused: [...none] };
  const reports: unknown[] = [];
  /** Errors to throw when a workspace is read, by workspace id, and when an email is sent, by email address. */
  const unreadable = new Map<string, Error>();
  const unsendable = new Map<string, Error>();
  const fail = (error: Error | undefined): void => {
    if (error !== undefined) throw error;
  };
  const context = {
    pollWatch: {
      async findFailing() {
        if (lease.isStoreAway) throw new StoreUnavailable("the store is unavailable");
        const operator = { operatorEvents: 0, operatorEventsDropped: { expired: 0, full: 0 } };
        return { workspaceIds: [], mails: outbox.length, mailsDropped: 0, ...operator };
      },
      readMail: async (_shard: number, after = "0") =>
        outbox.filter(({ entryId }) => Number(entryId) > Number(after)).slice(0, PAGE),
      async removeMail(_shard: number, id: string) {
        const at = outbox.findIndex(({ entryId }) => entryId === id);
        outbox.splice(at, 1);
      },
    },
    workspaces: {
      async read(id: string) {
        fail(unreadable.get(id));
        return { version: 1, workspace: newWorkspace({ id, ownerEmail: id }) };
      },
    },
    mailer: {
      async send({ to }: { to: string }) {
        seen.tried.push(to);
        fail(unsendable.get(to));
        seen.sent.push(to);
      },
    },
    onFailing: () => undefined,
    onMailFault: (id: string) => seen.faults.push(id),
    onMailRefused: (id: string) => seen.refused.push(id),
    onMailsDropped: () => undefined,
    report: (_where: string, error: unknown) => reports.push(error),
  } as unknown as ShardWatchContext;
  const stopping = new AbortController();
  const signals = { stopping: stopping.signal, over: new AbortController().signal, state: "held" } as const;
  const lease = { isOver: false, isStoreAway: false };
  const running = watchShard(context, { shard: 0, token: "t", ...signals, isOver: () => lease.isOver });
  let entries = 0;
  const mailOf = (workspaceId: string, entryId = String(++entries)) => ({ ...SINCE, workspaceId, entryId });
  return {
    ...seen,
    reports,
    lease,
    unreadable,
    unsendable,
    left: () => outbox.map(({ workspaceId }) => workspaceId),
    /** Adds an email with a lower id than all others, as happens in a store whose clock is behind. */
    putFirst: (workspaceId: string) => void outbox.unshift(mailOf(workspaceId, "0.5")),
    put: (...workspaceIds: readonly string[]) => void outbox.push(...workspaceIds.map((id) => mailOf(id))),
    async close() {
      stopping.abort();
      await running;
      expect(jest.getTimerCount()).toBe(0);
    },
  };
}

const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);
const named = (what: string, count: number): string[] =>
  Array.from({ length: count }, (_, i) => `${what}${i}`);
const refusal = (isForGood: boolean): Error => new MailRefused(isForGood, new Error("no"));

let watch: ReturnType<typeof startWatch>;
beforeEach(() => {
  jest.useFakeTimers();
  watch = startWatch();
});
afterEach(async () => {
  await watch.close();
  jest.useRealTimers();
});

test("a permanently rejected email is removed from the outbox, and the other emails are sent", async () => {
  watch.unsendable.set("bad", refusal(true));
  watch.put("bad", "good", "better");
  await pass(2_000);
  const tried = ["bad", "good", "better"];
  expect(watch).toMatchObject({ sent: ["good", "better"], tried, refused: ["bad"] });
  expect([watch.left(), watch.faults]).toEqual([[], []]);
});

test("temporarily rejected emails do not delay other emails, even if there are more of them than one read returns", async () => {
  const bad = named("bad", 2 * PAGE);
  for (const id of bad) watch.unsendable.set(id, refusal(false));
  watch.put(...bad, "good");
  await pass(4_000);
  expect([watch.sent, watch.left()]).toEqual([["good"], bad]);
  watch.put("later");
  await pass(1_000);
  expect(watch.sent).toEqual(["good", "later"]);
});

// time: controlled
test("a temporarily rejected email is retried at growing intervals, up to a minute, until it is accepted", async () => {
  watch.unsendable.set("slow", refusal(false));
  watch.put("slow");
  await pass(15_500);
  expect(watch.tried).toHaveLength(4);
  await pass(600_000);
  expect(watch.tried.length).toBeGreaterThan(4 + 9);
  expect(watch.tried.length).toBeLessThan(4 + 16);
  watch.unsendable.clear();
  await pass(61_000);
  expect([watch.sent, watch.left()]).toEqual([["slow"], []]);
});

// time: controlled
test("while the mail server is down, core tries one email at a time, at growing intervals; later, all emails are sent", async () => {
  const mails = named("w", 25);
  for (const id of mails) watch.unsendable.set(id, new Error("connection refused"));
  watch.put(...mails);
  await pass(15_500);
  expect(watch.tried).toEqual(["w0", "w1", "w2", "w3"]);
  watch.unsendable.clear();
  await pass(70_000);
  expect([watch.sent.toSorted(), watch.left()]).toEqual([mails.toSorted(), []]);
});

test("an email whose attempts time out, or a workspace that cannot be read, does not delay other emails", async () => {
  watch.unsendable.set("hangs", new Error("timeout"));
  watch.unreadable.set("sealed", new Error("no key decrypts the secrets"));
  watch.put("hangs", "sealed", "good", "better");
  await pass(4_000);
  expect([watch.sent, watch.left(), watch.reports]).toEqual([["good", "better"], ["hangs", "sealed"], []]);
  expect(watch.faults).toContain("sealed");
});

test("while the store is unavailable, no email is sent, and no email counts as failed", async () => {
  watch.unreadable.set("w0", new StoreUnavailable("the store is unavailable"));
  watch.put("w0", "w1");
  await pass(5_000);
  expect(watch).toMatchObject({ tried: [], faults: [], reports: [] });
  watch.unreadable.clear();
  await pass(1_000);
  expect(watch.sent).toEqual(["w0", "w1"]);
});

test("an email is sent even if its id is lower than those of emails that were already tried, as after a failover", async () => {
  watch.unsendable.set("rests", refusal(false));
  watch.put("rests", "a");
  await pass(2_000);
  expect(watch.sent).toEqual(["a"]);
  watch.lease.isStoreAway = true;
  await pass(2_000);
  watch.lease.isStoreAway = false;
  watch.putFirst("b");
  await pass(3_000);
  expect(watch.sent).toEqual(["a", "b"]);
  expect(watch.left()).toEqual(["rests"]);
});
