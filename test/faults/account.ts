/** A fact about the service that a test observes from outside while the service is under load. */
export type Fact = { readonly at: number; readonly workspace: string } & (
  | { readonly saw: "accepted"; readonly request: string }
  | { readonly saw: "delivered"; readonly group: string; readonly request: string; readonly delivery: string }
  | ({ readonly saw: "published"; readonly way: "push" | "poll" } & SeenEvent)
  | ({ readonly saw: "served"; readonly events: readonly SeenEvent[] } & Cursor)
  /** An attempt reached the bridge. `ok` says whether the bridge answered with 2xx. */
  | ({ readonly saw: "pushed"; readonly ok: boolean } & SeenEvent)
  /** Core's log says that an event was dropped. */
  | { readonly saw: "dropped"; readonly event: string; readonly reason: string }
  /** An answer that the contract does not allow in this situation. */
  | { readonly saw: "wrong"; readonly what: string }
);

interface SeenEvent {
  readonly event: string;
  readonly key: string;
  readonly sequence: number;
}

/** The cursors before and after a page, and whether the page has a gap. */
interface Cursor {
  readonly after: number;
  readonly next: number;
  readonly gap: boolean;
}

export interface Terms {
  /** Reasons for which core may drop events during the fault. */
  readonly drops?: readonly string[];
  /** The groups of followers that every accepted event must reach. */
  readonly groups: readonly string[];
}

/** The number of events at each stage, and all violations that the facts show. */
export type Account = ReturnType<typeof account>;

/** All violations that the facts show, and the number of allowed repeats. */
interface Findings {
  /** The number of deliveries and pushes that were repeated under the same id, as the contract allows. */
  again: number;
  /** Events that arrived twice under different ids, or were served in two pages. */
  readonly duplicated: string[];
  /**
   * Lost requests and events. `at` is the time in ms when the service confirmed that it had stored the request or
   * event.
   */
  readonly lost: { readonly what: string; readonly at: number }[];
  /** All other violations, e.g. wrong sequences, cursors or answers, wrong order, and unexpected drops. */
  readonly wrong: string[];
}

/** Counts the events at each stage, and finds all violations. `facts` must be in the order of observation. */
export function account(facts: readonly Fact[], { groups, drops = [] }: Terms) {
  const found: Findings = { again: 0, duplicated: [], lost: [], wrong: [] };
  const inbound = accountInbound(facts, groups, found);
  const outbound = accountOutbound(facts, drops, found);
  for (const fact of facts) if (fact.saw === "wrong") found.wrong.push(fact.what);
  return { ...inbound, ...outbound, ...found };
}

function accountInbound(facts: readonly Fact[], groups: readonly string[], found: Findings) {
  const accepted = new Map<string, { readonly at: number; readonly place: number }>();
  const deliveries = new Map<string, string>();
  const reached = new Map<string, number>();
  for (const fact of facts) {
    if (fact.saw !== "accepted") continue;
    const name = `${fact.workspace} ${fact.request}`;
    if (!accepted.has(name)) accepted.set(name, { at: fact.at, place: accepted.size });
  }
  for (const fact of facts) {
    if (fact.saw !== "delivered" || !groups.includes(fact.group)) continue;
    const name = `${fact.workspace} ${fact.request}`;
    const inGroup = `${fact.group} ${name}`;
    const known = deliveries.get(inGroup);
    if (known !== undefined) {
      if (known === fact.delivery) found.again += 1;
      else found.duplicated.push(`request ${inGroup} was delivered as ${known} and ${fact.delivery}`);
      continue;
    }
    deliveries.set(inGroup, fact.delivery);
    const place = accepted.get(name)?.place;
    if (place === undefined) {
      found.wrong.push(`${name} was delivered but never accepted`);
      continue;
    }
    const lane = `${fact.group} ${fact.workspace}`;
    if (place < (reached.get(lane) ?? -1)) found.wrong.push(`${inGroup} was delivered out of order`);
    reached.set(lane, Math.max(place, reached.get(lane) ?? -1));
  }
  /** The number of accepted events that reached every group. */
  let delivered = 0;
  for (const [name, { at }] of accepted) {
    if (groups.every((group) => deliveries.has(`${group} ${name}`))) delivered += 1;
    else found.lost.push({ what: `request ${name}`, at });
  }
  return { accepted: accepted.size, delivered };
}

type Published = Extract<Fact, { saw: "published" }>;

function accountOutbound(facts: readonly Fact[], drops: readonly string[], found: Findings) {
  const { duplicated, lost, wrong } = found;
  const published = new Map<string, Published>();
  const byWorkspace = new Map<string, Published[]>();
  for (const fact of facts) {
    if (fact.saw !== "published") continue;
    const before = byWorkspace.get(fact.workspace) ?? [];
    byWorkspace.set(fact.workspace, before);
    const last = before.at(-1);
    if (last !== undefined && fact.sequence <= last.sequence)
      wrong.push(`${fact.event} was published with sequence ${fact.sequence} after ${last.sequence}`);
    before.push(fact);
    published.set(fact.event, fact);
  }

  const events = new Map<string, string>();
  const served = new Set<string>();
  const pushed = new Set<string>();
  const reasons = new Map<string, string>();
  const readTo = new Map<string, number>();

  function recognise({ workspace }: Fact, { event, key, sequence }: SeenEvent): void {
    const known = events.get(`${workspace} ${key}`) ?? event;
    events.set(`${workspace} ${key}`, known);
    if (known !== event) duplicated.push(`${key} arrived as ${known} and ${event}`);
    const answered = published.get(event);
    if (answered === undefined) wrong.push(`${event} arrived, but no publish call returned it`);
    else if (answered.sequence !== sequence)
      wrong.push(`${event} was published with sequence ${answered.sequence} and arrived with ${sequence}`);
  }
  function readPage(page: Extract<Fact, { saw: "served" }>): void {
    const { workspace, after, next } = page;
    let last = Math.max(after, readTo.get(workspace) ?? 0);
    if (page.gap) wrong.push(`the page after cursor ${after} has a gap`);
    for (const event of page.events) {
      recognise(page, event);
      if (served.has(event.event)) duplicated.push(`${event.event} was served twice`);
      else if (event.sequence <= last)
        wrong.push(`${event.event} was served with sequence ${event.sequence} after ${last}`);
      served.add(event.event);
      last = Math.max(last, event.sequence);
    }
    if (next < last) wrong.push(`the cursor went back to ${next} after ${last}`);
    readTo.set(workspace, Math.max(last, next));
    for (const { event, sequence } of byWorkspace.get(workspace) ?? [])
      if (sequence > after && sequence <= next && !served.has(event))
        wrong.push(`the cursor went from ${after} to ${next} and skipped ${event} with sequence ${sequence}`);
  }
  for (const fact of facts) {
    if (fact.saw === "served") readPage(fact);
    if (fact.saw === "pushed") {
      recognise(fact, fact);
      if (fact.ok && pushed.has(fact.event)) found.again += 1;
      if (fact.ok) pushed.add(fact.event);
    }
    if (fact.saw === "dropped") reasons.set(fact.event, fact.reason);
  }

  const dropped: Record<string, number> = {};
  for (const { event, at, key, way } of published.values()) {
    if (way === "poll" ? served.has(event) : pushed.has(event)) continue;
    const reason = reasons.get(event);
    if (reason === undefined) lost.push({ what: `${event} (${key})`, at });
    else dropped[reason] = (dropped[reason] ?? 0) + 1;
    if (reason !== undefined && !drops.includes(reason))
      wrong.push(`${event} was dropped as ${reason}, which this fault does not allow`);
  }
  return { published: published.size, served: served.size, pushed: pushed.size, dropped };
}
