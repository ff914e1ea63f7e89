import { status, type ServerDuplexStream } from "@grpc/grpc-js";
import { InboundEvent } from "../../proto/gen/chatbridge/v1/event";
import type {
  Assignment,
  FollowOpen,
  FollowRequest,
  FollowResponse,
} from "../../proto/gen/chatbridge/v1/game";
import { GROUP_IDLE_MS, GROUPS_MAX } from "../domain/bounds";
import { findGroupFault, followShareOf, type Caller } from "../domain/caller";
import { streamIdOf } from "../domain/stream-id";
import { enterGroup, follow, type Follower } from "../operations/follow";
import { deliveryId } from "../operations/in-flight";
import type { DeadLetter, FollowLog, GroupOpener, LogEntry } from "../ports/follow-log";
import type { Member } from "../ports/leases";
import type { Ids } from "../ports/outside";
import type { AcceptedTokens } from "./accepted-tokens";
import { createAssignments } from "./assignments";
import { callerOf, whenOver } from "./call-caller";
import { createFollowPlaces, type FollowPlace } from "./follow-places";
import { readNackDelay, readOpen, readReason } from "./follow-requests";
import { messageOf, type Decoded } from "./game-methods";
import { StatusError, toStatus, type ReportFault } from "./status";
import type { CallCounts } from "./call-counts";
import { createDeliverySpans, type DeliverySpans } from "./spans";
import type { Tracer } from "../../runtime/tracing/tracer";

export interface FollowContext {
  readonly followLog: FollowLog;
  readonly ids: Ids;
  readonly callCounts: CallCounts;
  readonly tokens: Pick<AcceptedTokens, "limitedGames" | "onReplaced">;
  /** Aborted when core stops. All open streams are then closed, so that clients open new streams on another core. */
  readonly stopping: AbortSignal;
  readonly tracer?: Tracer | undefined;
  /** Called when an event is acked as a dead letter. */
  onDeadLetter?(group: string, deliveryId: string, letter: DeadLetter): void;
}

export type FollowCall = ServerDuplexStream<Decoded<FollowRequest>, FollowResponse>;

/** Returns the handler of `GameService.Follow`. */
export function createFollowHandler(context: FollowContext, report: ReportFault): (call: FollowCall) => void {
  const enter = createFollowPlaces();
  return (call) => {
    try {
      void new FollowStream(context, call, report, enter(callerOf(call)));
    } catch (error) {
      call.emit("error", toStatus("Follow", error, report));
    }
  };
}

type State =
  | { readonly is: "waiting" }
  | { readonly is: "opening" }
  | { readonly is: "following"; readonly follower: Follower }
  | { readonly is: "closing"; readonly follower: Follower | undefined }
  | { readonly is: "over" };

const NEXT: Readonly<Record<State["is"], readonly State["is"][]>> = {
  waiting: ["opening", "over"],
  opening: ["following", "closing"],
  following: ["closing"],
  closing: ["over"],
  over: [],
};

type LaterRequest = Exclude<NonNullable<FollowRequest["say"]>, { readonly $case: "open" }>;

/**
 * One stream, and its place on this core.
 *
 *             open request               in the group
 *   waiting ────────────────▶ opening ────────────────▶ following
 *      │                         │                          │
 *      │    the group is full,   │                          │  the follower ended,
 *      │    or the client closes └───────▶ closing ◀────────┘  or the client closes
 *      │                                      │
 *      │ the client closes                    │ left the group
 *      └────────────────────────────────────▶ over
 *
 * An error also closes the stream. The stream is also closed when core stops; if the stream is following, its follower
 * finishes first.
 */
class FollowStream {
  readonly #context: FollowContext;
  readonly #call: FollowCall;
  readonly #report: ReportFault;
  readonly #place: FollowPlace;
  #state: State = { is: "waiting" };
  #spans: DeliverySpans | undefined;

  constructor(context: FollowContext, call: FollowCall, report: ReportFault, place: FollowPlace) {
    this.#context = context;
    this.#call = call;
    this.#report = report;
    this.#place = place;
    call.on("data", (request: Decoded<FollowRequest>) => this.#take(request));
    for (const event of ["end", "cancelled", "error"]) call.on(event, () => this.#close());
    if (context.stopping.aborted) this.#close();
    else context.stopping.addEventListener("abort", this.#onStopping, { once: true });
  }

  #take(request: Decoded<FollowRequest>): void {
    const state = this.#state;
    if (state.is === "over") return;
    try {
      const { say } = messageOf(request);
      if (say?.$case === "open" && state.is === "waiting") {
        this.#enter({ is: "opening" });
        void this.#open(say.value);
      } else if (say !== undefined && say.$case !== "open" && state.is !== "waiting") {
        this.#takeLater(say, "follower" in state ? state.follower : undefined);
      } else {
        throw new StatusError(
          status.INVALID_ARGUMENT,
          "the first request must be an open, and every later request an ack, extend, nack or dead_letter",
        );
      }
    } catch (error) {
      this.#fail(error);
    }
  }

  #takeLater(say: LaterRequest, follower: Follower | undefined): void {
    switch (say.$case) {
      case "ack":
        follower?.ack(say.value.deliveryIds);
        return this.#spans?.acked(say.value.deliveryIds);
      case "extend":
        return follower?.extend(say.value.deliveryIds);
      case "nack": {
        const delayMs = readNackDelay(say.value);
        return follower?.nack(say.value.deliveryIds, delayMs);
      }
      case "deadLetter": {
        const { deliveryId: id } = say.value;
        const reason = readReason(say.value);
        if (follower?.deadLetter(id, reason) === true) this.#spans?.acked([id]);
      }
    }
  }

  async #open(request: FollowOpen): Promise<void> {
    try {
      await this.#follow(readOpen(request));
      this.#end();
    } catch (error) {
      this.#fail(error);
    }
    this.#enter({ is: "over" });
  }

  /** Enters the group, and follows until the stream has left the group. Throws if the stream cannot be in the group. */
  async #follow(open: ReturnType<typeof readOpen>): Promise<void> {
    const { followLog, ids, callCounts, tracer } = this.#context;
    const { group, consumer } = open;
    const call = this.#call;
    const caller = callerOf(call);
    this.#watchGroup(caller, group);
    const member = { group, name: consumer, token: ids.token(), workspaces: caller.workspaces };
    const opener = { tokenName: caller.name, groupsMax: followShareOf(caller).groups };
    let enteredAt = 0;
    const entered = await this.#place.whenTurn(async () => {
      if (this.#state.is === "closing") return undefined;
      enteredAt = performance.now();
      return enterGroup(followLog, member, opener);
    });
    if (entered === undefined) return;
    if (entered === "full") throw groupIsFull(followLog);
    if (entered !== "opened") throw noMoreGroups(entered, opener);
    const opened = { streamId: streamIdOf(member), shards: followLog.shards };
    call.write({ say: { $case: "opened", value: opened } });
    this.#spans = tracer && createDeliverySpans(tracer, group);
    const follower = this.#startFollower(member, enteredAt, open);
    if (this.#state.is === "closing") follower.stop();
    else this.#enter({ is: "following", follower });
    call.on("drain", () => follower.resume());
    callCounts.followers.add(follower);
    const ended = await follower.ended.finally(() => callCounts.followers.delete(follower));
    if (ended === "replaced")
      throw new StatusError(status.ABORTED, "a newer stream of this consumer has replaced this one");
    if (ended === "full") throw groupIsFull(followLog);
  }

  /**
   * Throws if the caller must not follow the group. Closes the stream if a later change of core's tokens reserves the
   * group for another token.
   */
  #watchGroup(caller: Caller, group: string): void {
    const { tokens } = this.#context;
    const check = (): void => {
      const fault = findGroupFault(caller, group, tokens.limitedGames);
      if (fault !== undefined) throw new StatusError(status.PERMISSION_DENIED, fault);
    };
    check();
    const stopWatching = tokens.onReplaced(() => {
      try {
        check();
      } catch (error) {
        this.#fail(error);
      }
    });
    whenOver(this.#call, stopWatching);
  }

  #startFollower(
    member: Member,
    enteredAt: number,
    { group, window, ackDeadlineMs, assignments: isAsked }: ReturnType<typeof readOpen>,
  ): Follower {
    const assignments = isAsked ? createAssignments((assignment) => this.#assign(assignment)) : undefined;
    return follow(this.#context.followLog, {
      member,
      enteredAt,
      window,
      ackDeadlineMs,
      parking: this.#place.parking,
      deliver: (id, entry, shard) => {
        assignments?.flush();
        this.#deliver(id, entry, shard);
      },
      isBehind: () => this.#call.writableNeedDrain,
      onAssigned: (shard, change) => assignments?.add(shard, change),
      onDeadLetter: (letter) =>
        this.#context.onDeadLetter?.(group, deliveryId(letter.shard, letter.entryId), letter),
    });
  }

  #assign(assignment: Assignment): void {
    if (this.#state.is !== "following") return;
    this.#call.write({ say: { $case: "assignment", value: assignment } });
  }

  #deliver(id: string, entry: LogEntry, shard: number): void {
    if (this.#state.is !== "following") return;
    this.#context.callCounts.delivered[entry.attempt > 1 ? "again" : "first"] += 1;
    const traceparent = this.#spans?.begin(id, entry) ?? entry.traceparent;
    this.#call.write(toDelivery(id, entry, shard, traceparent));
  }

  readonly #onStopping = (): void => {
    if (this.#state.is === "following") this.#state.follower.finish();
    else this.#close();
  };

  /** Closes the stream with an error. Without the error, the stream would end with the status OK. */
  #fail(error: unknown): void {
    if (!this.#call.cancelled) this.#call.emit("error", toStatus("Follow", error, this.#report));
    this.#close();
  }

  #close(): void {
    const state = this.#state;
    if (state.is === "waiting") {
      this.#enter({ is: "over" });
      this.#end();
    } else if (state.is === "opening" || state.is === "following") {
      const follower = state.is === "following" ? state.follower : undefined;
      this.#enter({ is: "closing", follower });
      follower?.stop();
    }
  }

  #end(): void {
    if (this.#context.stopping.aborted) {
      this.#fail(new StatusError(status.UNAVAILABLE, "core is stopping: open the stream again"));
    } else this.#call.end();
  }

  #enter(next: State): void {
    const { is } = this.#state;
    if (!NEXT[is].includes(next.is)) throw new Error(`a stream that is ${is} cannot become ${next.is}`);
    this.#state = next;
    if (next.is !== "closing" && next.is !== "over") return;
    this.#context.stopping.removeEventListener("abort", this.#onStopping);
    this.#spans?.close();
    if (next.is === "over") this.#place.leave();
  }
}

function groupIsFull({ streamsMax }: FollowLog): StatusError {
  return new StatusError(
    status.RESOURCE_EXHAUSTED,
    `the group already has ${streamsMax} streams, which is the limit: close one of them, or retry later`,
  );
}

function noMoreGroups(full: "token-full" | "all-full", { tokenName, groupsMax }: GroupOpener): StatusError {
  const what =
    full === "token-full"
      ? `the token ${tokenName} already has ${groupsMax} groups, which is its share`
      : `there are already ${GROUPS_MAX} groups, which is the limit for all tokens`;
  const hours = GROUP_IDLE_MS / 3_600_000;
  const advice = `follow an existing group, let an operator delete a group (chat-bridge groups delete), or wait: core removes a group without streams after ${hours} hours`;
  return new StatusError(status.RESOURCE_EXHAUSTED, `${what}: ${advice}`);
}

function toDelivery(id: string, entry: LogEntry, shard: number, traceparent = ""): FollowResponse {
  return {
    say: {
      $case: "delivery",
      value: {
        deliveryId: id,
        attempt: entry.attempt,
        received: {
          workspaceId: entry.workspaceId,
          receivedAt: new Date(entry.receivedAtMs),
          event: InboundEvent.decode(entry.event),
        },
        traceparent,
        shard,
      },
    },
  };
}
