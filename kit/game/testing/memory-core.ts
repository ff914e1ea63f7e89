import { PUBLISH_BATCH_MAX } from "../../../core/domain/bounds";
import type { OutboundFault } from "../../../core/domain/outbound-rules";
import { parseWorkspaceId } from "../../../core/domain/workspace";
import type { InboundEvent } from "../../../proto/gen/chatbridge/v1/event";
import type { OutboundEvent, PublishResult } from "../../../proto/gen/chatbridge/v1/game";
import { inboundFault } from "../../check/inbound-fields";
import type { GameClock } from "../clock";
import { ChatView, type SentEvent, type ShownMessage } from "./chat-view";
import { Findings, type Finding, type Occurrence } from "./findings";
import {
  entryIdAt,
  FollowGroup,
  type End,
  type MemoryStream,
  type Send,
  type StreamOpen,
} from "./follow-group";
import { MemoryPublisher, type PublishedWorkspace } from "./memory-publisher";

export type { SentEvent, ShownMessage } from "./chat-view";
export type { Finding, Occurrence } from "./findings";
export { SHARDS, type End, type MemoryStream, type Send, type StreamOpen } from "./follow-group";

/** Maximum number of groups. If there are more, the group that has had no stream for the longest time is removed. */
const GROUPS_MAX = 64;
/** Milliseconds after which a group without a stream is removed. */
const GROUP_KEPT_MS = 86_400_000;
/** Maximum number of deliveries that `report` reports as unacked. */
const UNACKED_COUNTED_MAX = 10_000;

/** A workspace, and what its chat shows. */
export interface MemoryWorkspace {
  readonly id: string;
  /** The newest messages in their newest versions, oldest first. At most 2,000. */
  readonly messages: readonly ShownMessage[];
  /** The newest published events, oldest first. At most 1,000. */
  readonly outbound: readonly SentEvent[];
  find(messageId: string): ShownMessage | undefined;
  /** Makes a channel known, as an event from a member in the channel would. */
  addChannel(id: string): void;
}

/** Thrown by `publish` after `setUnavailable` was called. A real core returns UNAVAILABLE. */
export class CoreUnavailable extends Error {
  override readonly name = "CoreUnavailable";
  constructor() {
    super("core is unavailable");
  }
}

/** Thrown for an invalid call or event. A real core returns INVALID_ARGUMENT. */
export class InvalidCall extends Error {
  override readonly name = "InvalidCall";
}

/**
 * The service in memory, without a network: groups and streams, publishing with core's rules, and the chats of the
 * workspaces. Every call takes effect at once. The clock determines deadlines and delays.
 *
 * Memory is bounded. There are at most 64 groups with 10,000 unacked events each. Each workspace has at most 2,000
 * messages, 1,000 published events, 1,000 channels and 10,000 idempotency keys. The caller must limit the number of
 * workspaces.
 */
export class MemoryCore {
  readonly #clock: GameClock;
  readonly #findings: Findings;
  readonly #groups = new Map<string, FollowGroup>();
  readonly #workspaces = new Map<string, PublishedWorkspace>();
  readonly #publisher: MemoryPublisher;
  /** The number of streams that were opened. */
  #streams = 0;
  /** The number of events that members have sent. */
  #received = 0;
  #windowMax: number | undefined;
  #isUnavailable = false;
  #onAvailable: (() => void)[] = [];

  /** @param onFinding called for each broken rule and each piece of advice */
  constructor(clock: GameClock, onFinding?: (occurrence: Occurrence) => void) {
    this.#clock = clock;
    this.#findings = new Findings(onFinding);
    this.#publisher = new MemoryPublisher({
      clock,
      findings: this.#findings,
      workspace: (id) => this.#workspaces.get(id),
      group: (name) => this.#groups.get(name),
    });
  }

  /** Adds a workspace that is connected to a bridge. Throws `InvalidCall` if the id is not a UUID. */
  addWorkspace(id: string): MemoryWorkspace {
    const known = parseWorkspaceId(id);
    if (known === undefined) throw new InvalidCall(`the workspace id "${id}" is not a UUID`);
    const existing = this.#workspaces.get(known);
    if (existing) return workspaceOf(existing);
    const workspace = { view: new ChatView(known, this.#findings), keys: new Map(), lastSequence: 0 };
    this.#workspaces.set(known, workspace);
    return workspaceOf(workspace);
  }

  removeWorkspace(id: string): void {
    const known = id.toLowerCase();
    this.#workspaces.delete(known);
    for (const group of this.#groups.values()) group.forget(known);
  }

  workspace(id: string): MemoryWorkspace | undefined {
    const found = this.#workspaces.get(id.toLowerCase());
    return found && workspaceOf(found);
  }

  get workspaceIds(): readonly string[] {
    return [...this.#workspaces.keys()];
  }

  /** Opens a stream. `send` is first called with `opened`, before this method returns. */
  openStream(open: StreamOpen, send: Send, end: End): MemoryStream {
    this.#dropOldGroups();
    let group = this.#groups.get(open.group);
    if (group === undefined) {
      if (this.#groups.size >= GROUPS_MAX) this.#dropEmptiestGroup();
      group = new FollowGroup(open.group, {
        clock: this.#clock,
        findings: this.#findings,
        count: () => ++this.#streams,
        windowMax: () => this.#windowMax,
      });
      this.#groups.set(open.group, group);
    }
    return group.open(open, send, end);
  }

  /**
   * Receives an event of a member, as if a bridge reported it. Throws `InvalidCall` if the workspace does not exist, or
   * if core would reject the event.
   */
  receive(workspaceId: string, event: InboundEvent, traceparent = ""): void {
    const id = workspaceId.toLowerCase();
    const workspace = this.#workspaces.get(id);
    if (workspace === undefined) throw new InvalidCall(`no workspace has the id "${workspaceId}"`);
    const fault = inboundFault(jsonOf(event));
    if (fault) throw new InvalidCall(`${fault.field || "the event"} ${fault.says}`);
    this.#dropOldGroups();
    workspace.view.addChannel(event.channel?.id ?? "");
    const position = ++this.#received;
    if (event.kind?.$case === "message")
      workspace.view.noteTyped(entryIdAt(position), event.channel?.id ?? "", event.user?.id ?? "");
    const received = { workspaceId: id, receivedAt: new Date(this.#clock.now()), event };
    for (const group of this.#groups.values()) group.append(position, received, traceparent);
  }

  /** Publishes 1 to 100 events. Throws `CoreUnavailable` or `InvalidCall`. */
  publish(events: readonly OutboundEvent[]): PublishResult[] {
    if (this.#isUnavailable) throw new CoreUnavailable();
    if (events.length < 1 || events.length > PUBLISH_BATCH_MAX) {
      throw new InvalidCall(`events must have 1 to ${PUBLISH_BATCH_MAX} entries, not ${events.length}`);
    }
    return events.map((event) => this.#publisher.publish(event));
  }

  /** Returns the result of an event that could not be decoded, and reports the fault. */
  refuse(fault: OutboundFault): PublishResult {
    return this.#publisher.refuse(fault);
  }

  /** Ends every stream with UNAVAILABLE, as a lost connection would. */
  endStreams(): void {
    for (const group of this.#groups.values()) group.endStreams();
  }

  /**
   * Redelivers the newest delivered event of each group, even if the event was acked. Returns false if no event was
   * delivered.
   */
  redeliver(): boolean {
    return [...this.#groups.values()].map((group) => group.redeliver()).includes(true);
  }

  /** `setUnavailable(true)` makes `publish` fail until `setUnavailable(false)` is called. */
  setUnavailable(isUnavailable: boolean): void {
    this.#isUnavailable = isUnavailable;
    if (!isUnavailable) for (const run of this.#onAvailable.splice(0)) run();
  }

  /** Resolves when `publish` works. */
  async available(): Promise<void> {
    if (this.#isUnavailable) await new Promise<void>((resolve) => void this.#onAvailable.push(resolve));
  }

  /** Limits the window of every stream, to simulate a slow core; undefined for no limit. */
  setSlow(window: number | undefined): void {
    this.#windowMax = window;
    for (const group of this.#groups.values()) group.resume();
  }

  /** The groups, and the number of streams of each group. */
  get groups(): readonly { readonly name: string; readonly streams: number }[] {
    return [...this.#groups.values()].map(({ name, streams }) => ({ name, streams }));
  }

  /** The number of events that wait for an ack, in all groups. */
  get pending(): number {
    return [...this.#groups.values()].reduce((sum, group) => sum + group.pending, 0);
  }

  /**
   * Forgets messages, events, idempotency keys, findings and groups without a stream, and ends all faults. Keeps
   * streams and their groups. Later ids differ from all earlier ids.
   */
  reset(): void {
    for (const group of this.#groups.values()) {
      // Groups of stopped games are removed, because the next events would wait in them for acks.
      if (group.emptySinceMs === undefined) continue;
      group.stop();
      this.#groups.delete(group.name);
    }
    for (const id of this.workspaceIds) {
      this.removeWorkspace(id);
      this.addWorkspace(id);
    }
    this.setUnavailable(false);
    this.setSlow(undefined);
    this.#findings.clear();
  }

  /** Returns the findings: first the rules that the game broke, and then advice. */
  report(): readonly Finding[] {
    const unacked = [...this.#groups.values()]
      .flatMap((group) => group.unacked())
      .slice(0, UNACKED_COUNTED_MAX);
    const [first] = unacked;
    if (first === undefined) return this.#findings.list([]);
    const example = `delivery ${first.deliveryId} of workspace ${first.received.workspaceId}, attempt ${first.attempt}`;
    return this.#findings.list([{ code: "unacked", count: unacked.length, example }]);
  }

  /** Ends every stream, and cancels all timers. */
  close(): void {
    this.endStreams();
    for (const group of this.#groups.values()) group.stop();
  }

  #dropOldGroups(): void {
    for (const { name, emptySinceMs } of this.#groups.values()) {
      if (emptySinceMs !== undefined && this.#clock.now() - emptySinceMs >= GROUP_KEPT_MS)
        this.#groups.delete(name);
    }
  }

  #dropEmptiestGroup(): void {
    const since = (group: FollowGroup): number => group.emptySinceMs ?? Infinity;
    const [oldest] = [...this.#groups.values()].toSorted((a, b) => since(a) - since(b));
    if (oldest === undefined) return;
    oldest.endStreams();
    oldest.stop();
    this.#groups.delete(oldest.name);
  }
}

function workspaceOf({ view }: PublishedWorkspace): MemoryWorkspace {
  return {
    id: view.workspaceId,
    get messages() {
      return view.messages;
    },
    get outbound() {
      return view.outbound;
    },
    find: (messageId) => view.find(messageId),
    addChannel: (id) => view.addChannel(id),
  };
}

/** Returns the event in the form in which bridges report it, without the fields that are unset. */
function jsonOf({ id, channel, user, kind }: InboundEvent): object {
  const fields = kind && { type: kind.$case, ...kind.value };
  return JSON.parse(JSON.stringify({ ...fields, id, channel, user })) as object;
}
