/** Something that was seen while the service was under load, from outside it. */
export type Fact = { readonly at: number; readonly workspace: string } & (
  | { readonly saw: "accepted"; readonly request: string }
  | { readonly saw: "delivered"; readonly group: string; readonly request: string; readonly delivery: string }
  | {
      readonly saw: "published";
      readonly key: string;
      readonly event: string;
      readonly sequence: number;
      readonly way: "push" | "poll";
    }
  | {
      readonly saw: "served";
      readonly after: number;
      readonly next: number;
      readonly gap: boolean;
      readonly events: readonly SeenEvent[];
    }
  /** An attempt came to the bridge; `ok` when it answered a 2xx. */
  | ({ readonly saw: "pushed"; readonly ok: boolean } & SeenEvent)
  /** The log says that an event was given up. */
  | { readonly saw: "dropped"; readonly event: string; readonly reason: string }
  /** An answer that the contract does not allow here. */
  | { readonly saw: "wrong"; readonly what: string }
);

export interface SeenEvent {
  readonly event: string;
  readonly key: string;
  readonly sequence: number;
}

export interface Terms {
  /** Why events may be given up under this fault. */
  readonly drops?: readonly string[];
  /** The groups of followers that every accepted event must have come to. */
  readonly groups: readonly string[];
}

/** What became of everything. */
export interface Account {
  readonly accepted: number;
  /** Accepted events that came to every group. */
  readonly delivered: number;
  readonly published: number;
  readonly served: number;
  readonly pushed: number;
  readonly dropped: Readonly<Record<string, number>>;
  /** Deliveries and pushes that came again under their own id, as the contract allows. */
  readonly again: number;
  /** What came twice and cannot be told by its id. */
  readonly duplicated: readonly string[];
  readonly lost: readonly Lost[];
  /** Whatever else was wrong: sequences, cursors, order, drops, answers. */
  readonly wrong: readonly string[];
}

export interface Lost {
  readonly what: string;
  /** When it was answered as stored. */
  readonly at: number;
}

/** Accounts for every event. `facts` are in the order in which they were seen. */
export function account(facts: readonly Fact[], terms: Terms): Account {
  const inbound = accountInbound(facts, terms.groups);
  const outbound = accountOutbound(facts, terms.drops ?? []);
  const answers = facts.flatMap((fact) => (fact.saw === "wrong" ? [fact.what] : []));
  return {
    ...inbound,
    ...outbound,
    again: inbound.again + outbound.again,
    duplicated: [...inbound.duplicated, ...outbound.duplicated],
    lost: [...inbound.lost, ...outbound.lost],
    wrong: [...inbound.wrong, ...outbound.wrong, ...answers],
  };
}

function accountInbound(facts: readonly Fact[], groups: readonly string[]) {
  const [duplicated, lost, wrong]: [string[], Lost[], string[]] = [[], [], []];
  const accepted = new Map<string, { readonly at: number; readonly place: number }>();
  const deliveries = new Map<string, string>();
  const reached = new Map<string, number>();
  let again = 0;
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
      if (known === fact.delivery) again += 1;
      else duplicated.push(`request ${inGroup} as ${known} and ${fact.delivery}`);
      continue;
    }
    deliveries.set(inGroup, fact.delivery);
    const place = accepted.get(name)?.place;
    if (place === undefined) {
      wrong.push(`${name} was delivered and never accepted`);
      continue;
    }
    const lane = `${fact.group} ${fact.workspace}`;
    if (place < (reached.get(lane) ?? -1)) wrong.push(`${inGroup} was delivered out of order`);
    reached.set(lane, Math.max(place, reached.get(lane) ?? -1));
  }
  let delivered = 0;
  for (const [name, { at }] of accepted) {
    if (groups.every((group) => deliveries.has(`${group} ${name}`))) delivered += 1;
    else lost.push({ what: `request ${name}`, at });
  }
  return {
    accepted: accepted.size,
    delivered,
    again,
    duplicated,
    lost,
    wrong,
  };
}

type Published = Extract<Fact, { saw: "published" }>;

function accountOutbound(facts: readonly Fact[], drops: readonly string[]) {
  const [duplicated, lost, wrong]: [string[], Lost[], string[]] = [[], [], []];
  const published = new Map<string, Published>();
  const byWorkspace = new Map<string, Published[]>();
  for (const fact of facts) {
    if (fact.saw !== "published") continue;
    const before = byWorkspace.get(fact.workspace) ?? [];
    byWorkspace.set(fact.workspace, before);
    const last = before.at(-1);
    if (last !== undefined && fact.sequence <= last.sequence)
      wrong.push(`${fact.event} was published as ${fact.sequence} after ${last.sequence}`);
    before.push(fact);
    published.set(fact.event, fact);
  }

  const events = new Map<string, string>();
  const served = new Set<string>();
  const pushed = new Set<string>();
  const reasons = new Map<string, string>();
  const readTo = new Map<string, number>();
  let again = 0;

  function recognise({ workspace }: Fact, { event, key, sequence }: SeenEvent): void {
    const known = events.get(`${workspace} ${key}`) ?? event;
    events.set(`${workspace} ${key}`, known);
    if (known !== event) duplicated.push(`${key} as ${known} and ${event}`);
    const answered = published.get(event);
    if (answered === undefined) wrong.push(`${event} came and was never answered as published`);
    else if (answered.sequence !== sequence)
      wrong.push(`${event} was published as ${answered.sequence} and came as ${sequence}`);
  }
  function readPage(page: Extract<Fact, { saw: "served" }>): void {
    const { workspace, after, next } = page;
    let last = Math.max(after, readTo.get(workspace) ?? 0);
    if (page.gap) wrong.push(`there was a gap after ${after}`);
    for (const event of page.events) {
      recognise(page, event);
      if (served.has(event.event)) duplicated.push(`${event.event} was served twice`);
      else if (event.sequence <= last)
        wrong.push(`${event.event} was served as ${event.sequence} after ${last}`);
      served.add(event.event);
      last = Math.max(last, event.sequence);
    }
    if (next < last) wrong.push(`the cursor fell to ${next} after ${last}`);
    readTo.set(workspace, Math.max(last, next));
    for (const { event, sequence } of byWorkspace.get(workspace) ?? [])
      if (sequence > after && sequence <= next && !served.has(event))
        wrong.push(`the cursor went from ${after} to ${next} and skipped ${event} at ${sequence}`);
  }
  for (const fact of facts) {
    if (fact.saw === "served") readPage(fact);
    if (fact.saw === "pushed") {
      recognise(fact, fact);
      if (fact.ok && pushed.has(fact.event)) again += 1;
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
      wrong.push(`${event} was dropped as ${reason}, which nothing here allows`);
  }
  return {
    published: published.size,
    served: served.size,
    pushed: pushed.size,
    dropped,
    again,
    duplicated,
    lost,
    wrong,
  };
}
