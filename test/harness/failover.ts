import { setTimeout as sleep } from "node:timers/promises";
import { poll, post } from "./bridge";
import { startConsumer } from "./consumer";
import { startPair, type TestPair } from "./pair";
import type { RedisNode } from "./redis-node";
import { createWorkspace, publish, textEvent, type TestWorkspace } from "./service";
import { until } from "./wait";

const WORKSPACES = 12;
const BACK_MS = 90_000;
/** How much is answered before and after the master is killed. */
const ENOUGH = 300;

/** Something that was answered as stored. */
interface Answered {
  readonly name: string;
  readonly at: number;
}

interface Event {
  readonly id: string;
  readonly sequence: number;
  readonly message: { readonly text: string };
}

/** What a failover under load did. */
export interface FailoverReport {
  readonly accepted: number;
  readonly published: number;
  /** Answered as stored and not there afterwards, by how long before the kill they were answered, in ms. */
  readonly lostMs: readonly number[];
  /** From the kill until both cores say that they are ready, in ms. */
  readonly unreadyMs: number;
  /** From the kill until something is accepted, and published, in every workspace. */
  readonly downMs: number;
}

/** Kills a master once its replica has all that was answered before the call, however slow the two are. */
export async function killFollowed(master: RedisNode, replica: RedisNode | undefined): Promise<void> {
  const answered = Number(await master.info("master_repl_offset"));
  await until(
    "the replica has what was answered",
    async () => Number(await replica?.info("slave_repl_offset")) >= answered,
    BACK_MS,
  );
  await master.kill();
}

/**
 * Kills a master while bridges post and poll and games publish, and waits until
 * all goes on. Checks what holds whatever is lost: readiness tells of it, the
 * sequences of a workspace rise, a poller that follows its cursor skips nothing,
 * and no event is there twice.
 */
export async function failOverUnderLoad(
  redisUrl: string,
  environment: Readonly<Record<string, string>>,
  kill: () => Promise<void>,
  meanwhile: () => Promise<void>,
): Promise<FailoverReport> {
  const pair = await startPair(redisUrl, environment);
  try {
    return await underLoad(pair, kill, meanwhile);
  } finally {
    await pair.close();
  }
}

async function underLoad(
  pair: TestPair,
  kill: () => Promise<void>,
  meanwhile: () => Promise<void>,
): Promise<FailoverReport> {
  const workspaces = await Promise.all(
    Array.from({ length: WORKSPACES }, () => createWorkspace(pair.clients[0])),
  );
  const auditor = await startConsumer(pair.clients[0].games, { group: "audit" }).opened();
  auditor.cancel();
  const accepted: Answered[] = [];
  const published: Answered[] = [];
  const polled = new Map<string, Event[]>(workspaces.map(({ id }) => [id, []]));
  const stopping = new AbortController();
  const isOver = (): boolean => stopping.signal.aborted;

  async function postAlways(workspace: TestWorkspace, number: number): Promise<void> {
    for (let i = 0; !isOver(); i++) {
      const name = `${workspace.id} ${i}`;
      const event = { type: "message", id: name, channel: "c", user: { id: "u" }, text: name };
      const url = pair.urls[i % 2 === 0 ? 0 : 1];
      const { status } = await post(url, workspace, event, { from: `127.0.1.${number + 1}` });
      if (status === 202) accepted.push({ name, at: performance.now() });
      else expect([status, name]).toEqual([503, name]);
      if (status !== 202) await sleep(20);
    }
  }
  async function publishAlways({ id }: TestWorkspace): Promise<void> {
    let last = 0;
    for (let i = 0; !isOver(); i++) {
      const name = `${id} ${i}`;
      const event = { ...textEvent(id, name), idempotencyKey: name };
      const results = await publish(pair.clients[i % 2 === 0 ? 0 : 1], event).catch(() => undefined);
      const outcome = results?.[0]?.outcome;
      if (outcome?.$case !== "published") {
        await sleep(20);
        continue;
      }
      expect(outcome.value.sequence).toBeGreaterThan(last);
      last = outcome.value.sequence;
      published.push({ name, at: performance.now() });
    }
  }
  async function pollAlways(workspace: TestWorkspace, number: number): Promise<void> {
    let cursor = "0";
    for (let over = false; ; over = nothingComes) {
      const answer = await poll(pair.urls[1], workspace, `after=${cursor}`, {
        from: `127.0.2.${number + 1}`,
      });
      if (answer.status === 200) {
        const page = answer.json as { events: readonly Event[]; next: string; hasMore: boolean };
        polled.get(workspace.id)?.push(...page.events);
        cursor = page.next;
        if (over && !page.hasMore) return;
        if (page.hasMore) continue;
      } else expect([answer.status, "poll"]).toEqual([503, "poll"]);
      await sleep(50);
    }
  }
  /** Once it is true there is nothing that a last poll could miss. */
  let nothingComes = false;
  const writing = Promise.all(
    workspaces.flatMap((each, i) => [postAlways(each, i), publishAlways(each)]),
  ).finally(() => (nothingComes = true));
  const load = Promise.all([writing, ...workspaces.map(pollAlways)]);
  // A fault of the load fails the test below; until then it must not end the process.
  load.catch(() => stopping.abort());
  const answeredBy = (list: readonly Answered[], since: number): boolean =>
    workspaces.every(({ id }) => list.some(({ name, at }) => at > since && name.startsWith(id)));

  await until("the load is on", () => accepted.length >= ENOUGH && published.length >= ENOUGH, BACK_MS);
  const killedAt = performance.now();
  await kill();
  await until("a core is not ready", async () => !(await pair.areReady()), BACK_MS);
  const wentOn = meanwhile();
  await until("the cores are ready", () => pair.areReady(), BACK_MS);
  const unreadyMs = performance.now() - killedAt;
  const backAt = performance.now();
  await wentOn;
  await until(
    "every workspace is served",
    () => isOver() || (answeredBy(accepted, backAt) && answeredBy(published, backAt)),
    BACK_MS,
  );
  const downMs = performance.now() - killedAt;
  const [posts, events] = [accepted.length, published.length];
  await until(
    "it goes on",
    () => isOver() || (accepted.length > posts + ENOUGH && published.length > events + ENOUGH),
    BACK_MS,
  );
  stopping.abort();
  await load;
  const lastOf = (id: string): string => `${id} last`;
  for (const workspace of workspaces) {
    const text = lastOf(workspace.id);
    const event = { type: "message", id: text, channel: "c", user: { id: "u" }, text };
    await until(
      "a last event is accepted",
      async () => (await post(pair.urls[0], workspace, event, { from: "127.0.3.1" })).status === 202,
      BACK_MS,
    );
  }

  const stored = new Set<string>();
  for (const workspace of workspaces) {
    const seen = polled.get(workspace.id) ?? [];
    for (const [i, { sequence }] of seen.entries())
      expect(sequence).toBeGreaterThan(seen[i - 1]?.sequence ?? 0);
    const held = await pollAll(pair.urls[0], workspace);
    // Whoever followed the cursor has whatever the store has, and it has nothing twice.
    const ids = new Set(seen.map(({ id }) => id));
    expect(held.filter(({ id }) => !ids.has(id))).toEqual([]);
    expect(new Set(held.map(({ message }) => message.text)).size).toBe(held.length);
    for (const { message } of held) stored.add(`published ${message.text}`);
  }
  const audit = await startConsumer(pair.clients[1].games, { group: "audit", window: 1_000 }).opened();
  audit.ackAll();
  const missing = (): readonly Answered[] => {
    for (const { text } of audit.seen) stored.add(`accepted ${text}`);
    return accepted.filter(({ name }) => !stored.has(`accepted ${name}`));
  };
  // The events of a workspace come in order: what has not come before its last one is not in the log.
  await until(
    "all that is in the log has come",
    () => {
      const came = new Set(audit.seen.map(({ text }) => text));
      return workspaces.every(({ id }) => came.has(lastOf(id)));
    },
    BACK_MS,
  );
  audit.cancel();
  const lost = [...missing(), ...published.filter(({ name }) => !stored.has(`published ${name}`))];
  return {
    accepted: accepted.length,
    published: published.length,
    lostMs: lost.map(({ at }) => killedAt - at),
    unreadyMs,
    downMs,
  };
}

async function pollAll(url: string, workspace: TestWorkspace): Promise<readonly Event[]> {
  const held: Event[] = [];
  for (let query = ""; ;) {
    const answer = await poll(url, workspace, query, { from: "127.0.3.1" });
    expect(answer.status).toBe(200);
    const page = answer.json as { events: readonly Event[]; next: string; hasMore: boolean };
    held.push(...page.events);
    if (!page.hasMore) return held;
    query = `after=${page.next}`;
  }
}

/** The report in a line. */
export function reportLine(of: string, { lostMs, ...report }: FailoverReport): string {
  const ms = (value: number): string => `${Math.round(value)} ms`;
  const lost = lostMs.length === 0 ? "" : ` (answered at most ${ms(Math.max(...lostMs))} before the kill)`;
  return (
    `${of}: ${report.accepted} accepted, ${report.published} published, ${lostMs.length} lost${lost}; ` +
    `not ready for ${ms(report.unreadyMs)}, all served after ${ms(report.downMs)}\n`
  );
}
