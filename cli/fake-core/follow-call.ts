import { status, type ServerDuplexStream } from "@grpc/grpc-js";
import { readNackDelay, readOpen, readReason } from "../../core/rpc/follow-requests";
import { messageOf, type Decoded } from "../../core/rpc/game-methods";
import { StatusError, toStatus, type ReportFault } from "../../core/rpc/status";
import type { MemoryStream } from "../../kit/game/testing/memory-core";
import type { FollowRequest, FollowResponse } from "../../proto/gen/chatbridge/v1/game";
import type { FakeChat } from "./fake-chat";

type Call = ServerDuplexStream<Decoded<FollowRequest>, FollowResponse>;

/** Maximum number of streams per group, as in core. */
const STREAMS_MAX = 64;

/** Returns the handler of `GameService.Follow`. */
export function createFollowHandler(chat: FakeChat, report: ReportFault): (call: Call) => void {
  return (call) => void new FollowCall(chat, call, report);
}

type State =
  | { readonly is: "waiting" }
  | { readonly is: "following"; readonly stream: MemoryStream }
  | { readonly is: "over" };

const NEXT: Readonly<Record<State["is"], readonly State["is"][]>> = {
  waiting: ["following", "over"],
  following: ["over"],
  over: [],
};

/**
 * A stream of a game.
 *
 *             open request
 *   waiting ────────────────▶ following
 *      │                          │
 *      │ an error, or the client  │ an error, the client closes,
 *      │ closes                   │ or core ends the stream
 *      └──────────▶ over ◀────────┘
 */
class FollowCall {
  readonly #chat: FakeChat;
  readonly #call: Call;
  readonly #report: ReportFault;
  #state: State = { is: "waiting" };

  constructor(chat: FakeChat, call: Call, report: ReportFault) {
    this.#chat = chat;
    this.#call = call;
    this.#report = report;
    call.on("data", (request: Decoded<FollowRequest>) => this.#take(request));
    call.on("end", () => this.#end());
    for (const event of ["cancelled", "error"]) call.on(event, () => this.#close());
  }

  #take(request: Decoded<FollowRequest>): void {
    try {
      const { say } = messageOf(request);
      if (this.#state.is === "over") return;
      if (say?.$case === "open" && this.#state.is === "waiting") this.#open(readOpen(say.value));
      else if (say !== undefined && say.$case !== "open" && this.#state.is === "following")
        this.#takeLater(say, this.#state.stream);
      else {
        throw new StatusError(
          status.INVALID_ARGUMENT,
          "the first request must be an open, and every later request an ack, extend, nack or dead_letter",
        );
      }
    } catch (error) {
      this.#fail(error);
    }
  }

  #open(open: ReturnType<typeof readOpen>): void {
    const { core } = this.#chat;
    const { streams = 0 } = core.groups.find(({ name }) => name === open.group) ?? {};
    if (streams >= STREAMS_MAX) {
      throw new StatusError(
        status.RESOURCE_EXHAUSTED,
        `the group already has ${STREAMS_MAX} streams, which is the limit: close one of them, or retry later`,
      );
    }
    const stream = core.openStream(
      open,
      (say) => void this.#call.write({ say }),
      (code, details) => this.#fail(new StatusError(status[code], details)),
    );
    this.#enter({ is: "following", stream });
    this.#chat.changed();
  }

  #takeLater(
    say: Exclude<NonNullable<FollowRequest["say"]>, { readonly $case: "open" }>,
    stream: MemoryStream,
  ): void {
    switch (say.$case) {
      case "ack":
        stream.ack(say.value.deliveryIds);
        break;
      case "extend":
        stream.extend(say.value.deliveryIds);
        break;
      case "nack":
        stream.nack(say.value.deliveryIds, readNackDelay(say.value));
        break;
      case "deadLetter":
        stream.deadLetter(say.value.deliveryId, readReason(say.value));
    }
    this.#chat.changed();
  }

  /** Ends the stream with an error. */
  #fail(error: unknown): void {
    if (this.#state.is === "over") return;
    if (!this.#call.cancelled) this.#call.emit("error", toStatus("Follow", error, this.#report));
    this.#close();
  }

  /** Called when the client has sent its last request. */
  #end(): void {
    if (this.#state.is === "over") return;
    this.#close();
    this.#call.end();
  }

  #close(): void {
    const state = this.#state;
    if (state.is === "over") return;
    this.#enter({ is: "over" });
    if (state.is === "following") state.stream.close();
    this.#chat.changed();
  }

  #enter(next: State): void {
    const { is } = this.#state;
    if (!NEXT[is].includes(next.is)) throw new Error(`a stream that is ${is} cannot become ${next.is}`);
    this.#state = next;
  }
}
