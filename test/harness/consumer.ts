import { status, type ClientDuplexStream, type ServiceError } from "@grpc/grpc-js";
import { ReceivedEvent } from "../../proto/gen/chatbridge/v1/event";
import {
  type Assignment,
  FollowAck,
  FollowOpen,
  FollowRequest,
  type FollowResponse,
  type GameServiceClient,
} from "../../proto/gen/chatbridge/v1/game";
import { post } from "./bridge";
import { bearer } from "../../runtime/core-channel";
import { TOKENS } from "./processes";
import type { TestWorkspace } from "./service";
import { until } from "./wait";

/** The parts of a delivery that tests read. */
export interface Seen {
  readonly id: string;
  readonly attempt: number;
  readonly workspaceId: string;
  /** The text of a command or of a typed message; empty for an action. */
  readonly text: string;
  readonly received: ReceivedEvent;
  readonly traceparent: string;
}

export interface Consumer extends ReturnType<typeof streamOf> {
  opened(): Promise<Consumer>;
}

/** Starts a stream without sending anything over it. */
export function startStream(games: GameServiceClient, token: string = TOKENS.game): Consumer {
  const stream = streamOf(games, token);
  const opened = () => until("the stream is open", () => stream.isOpen && consumer);
  const consumer: Consumer = Object.assign(stream, { opened });
  return consumer;
}

function streamOf(games: GameServiceClient, token: string) {
  const stream: ClientDuplexStream<FollowRequest, FollowResponse> = games.follow(bearer(token));
  const seen: Seen[] = [];
  const said: ("delivery" | Assignment)[] = [];
  let isOpen = false;
  let streamId = "";
  let shards = 0;
  let end: { readonly code: status; readonly details: string } | undefined;
  let acksAll = false;

  function ack(...deliveries: readonly Pick<Seen, "id">[]): void {
    const value = FollowAck.create({ deliveryIds: deliveries.map(({ id }) => id) });
    stream.write(FollowRequest.create({ say: { $case: "ack", value } }));
  }

  stream.on("data", ({ say }: FollowResponse) => {
    if (say?.$case === "opened") {
      isOpen = true;
      ({ streamId, shards } = say.value);
    }
    if (say?.$case === "assignment") said.push(say.value);
    if (say?.$case !== "delivery") return;
    said.push("delivery");
    const { deliveryId: id, attempt, received = ReceivedEvent.create(), traceparent } = say.value;
    const { workspaceId, event } = received;
    const text = event?.kind === undefined || event.kind.$case === "action" ? "" : event.kind.value.text;
    seen.push({ id, attempt, workspaceId, text, received, traceparent });
    if (acksAll) ack({ id });
  });
  stream.on("error", ({ code, details }: ServiceError) => (end ??= { code, details }));
  stream.on("status", ({ code, details }: { code: status; details: string }) => (end ??= { code, details }));

  return {
    seen: seen as readonly Seen[],
    get isOpen() {
      return isOpen;
    },
    /** The id from `FollowOpened`; empty until the stream is open. */
    get streamId() {
      return streamId;
    },
    /** The number of shards of the installation; 0 until the stream is open. */
    get shards() {
      return shards;
    },
    /** The status with which the stream ended, or undefined while the stream is open. */
    get end() {
      return end;
    },
    /** The received assignments, and the string "delivery" for each delivery, in the order of arrival. */
    said,
    say: (request: FollowRequest) => void stream.write(request),
    ack,
    /** Acks all deliveries that were already received, and all further deliveries. */
    ackAll() {
      acksAll = true;
      ack(...seen);
    },
    /** Stops reading until `resume` is called. */
    pause: () => void stream.pause(),
    resume: () => void stream.resume(),
    /** Closes the client's side of the stream, as a client does when it has nothing more to send. */
    halfClose: () => void stream.end(),
    cancel: () => stream.cancel(),
    sees: (count: number): Promise<readonly Seen[]> =>
      until(
        `${count} deliveries, of which ${seen.length} had arrived before`,
        () => seen.length >= count && seen,
      ),
    ended: () => until("the stream has ended", () => end),
  };
}

/** Follows events as consumer "c" of group "g" with a window of 100, unless `open` contains other values. */
export function startConsumer(
  games: GameServiceClient,
  open: Parameters<typeof FollowOpen.create>[0] = {},
  token?: string,
) {
  const consumer = startStream(games, token);
  const value = FollowOpen.create({ group: "g", consumer: "c", window: 100, ...open });
  consumer.say(FollowRequest.create({ say: { $case: "open", value } }));
  return consumer;
}

let requests = 0;

/** Sends a typed message with a new id through the edge at `url`. Returns whether the answer was 202. */
export async function type(url: string, workspace: TestWorkspace, text: string): Promise<boolean> {
  const event = { id: `r${++requests}`, type: "message", channel: "c1", user: { id: "u1" }, text };
  return (await post(url, workspace, event)).status === 202;
}
