import { status, type ClientDuplexStream, type ServiceError } from "@grpc/grpc-js";
import { ReceivedEvent } from "../../proto/gen/chatbridge/v1/event";
import {
  FollowAck,
  FollowOpen,
  FollowRequest,
  type FollowResponse,
  type GameServiceClient,
} from "../../proto/gen/chatbridge/v1/game";
import { post } from "./bridge";
import { TOKENS } from "./processes";
import { bearer, type TestWorkspace } from "./service";
import { until } from "./wait";

/** A delivery as tests look at it. */
export interface Seen {
  readonly id: string;
  readonly attempt: number;
  readonly workspaceId: string;
  /** The text of a command or of a typed message. */
  readonly text: string;
  /** All of it. */
  readonly received: ReceivedEvent;
}

/** One stream of Follow. */
export interface Consumer {
  /** Every delivery so far, in order. */
  readonly seen: readonly Seen[];
  readonly isOpen: boolean;
  /** The status the stream ended with, undefined while it is open. */
  readonly end: { readonly code: status; readonly details: string } | undefined;
  say(request: FollowRequest): void;
  ack(...deliveries: readonly Pick<Seen, "id">[]): void;
  /** From now on acks whatever comes, beginning with what has come. */
  ackAll(): void;
  /** Ends the client's side, as a client does that is done. */
  halfClose(): void;
  /** Drops the stream. */
  cancel(): void;
  /** Waits for `count` deliveries and answers all so far. */
  sees(count: number, withinMs?: number): Promise<readonly Seen[]>;
  /** Waits for the opening answer. */
  opened(): Promise<Consumer>;
  /** Waits for the end and answers the status. */
  ended(withinMs?: number): Promise<{ readonly code: status; readonly details: string }>;
}

/** Starts a stream without saying anything. */
export function startStream(games: GameServiceClient, token: string = TOKENS.game): Consumer {
  const stream: ClientDuplexStream<FollowRequest, FollowResponse> = games.follow(bearer(token));
  const seen: Seen[] = [];
  let isOpen = false;
  let end: Consumer["end"];
  let acksAll = false;

  function ack(...deliveries: readonly Pick<Seen, "id">[]): void {
    const value = FollowAck.create({ deliveryIds: deliveries.map(({ id }) => id) });
    stream.write(FollowRequest.create({ say: { $case: "ack", value } }));
  }

  stream.on("data", ({ say }: FollowResponse) => {
    if (say?.$case === "opened") isOpen = true;
    if (say?.$case !== "delivery") return;
    const { deliveryId, attempt, received } = say.value;
    const kind = received?.event?.kind;
    const text = kind === undefined || kind.$case === "action" ? "" : kind.value.text;
    seen.push({
      id: deliveryId,
      attempt,
      workspaceId: received?.workspaceId ?? "",
      text,
      received: received ?? ReceivedEvent.create(),
    });
    if (acksAll) ack({ id: deliveryId });
  });
  stream.on("error", ({ code, details }: ServiceError) => (end ??= { code, details }));
  stream.on("status", ({ code, details }: { code: status; details: string }) => (end ??= { code, details }));

  const consumer: Consumer = {
    seen,
    get isOpen() {
      return isOpen;
    },
    get end() {
      return end;
    },
    say: (request) => void stream.write(request),
    ack,
    ackAll() {
      acksAll = true;
      ack(...seen);
    },
    halfClose: () => void stream.end(),
    cancel: () => stream.cancel(),
    sees: (count, withinMs) =>
      until(`${count} deliveries, there are ${seen.length}`, () => seen.length >= count && seen, withinMs),
    async opened() {
      await until("the stream is open", () => isOpen);
      return consumer;
    },
    ended: (withinMs) => until("the stream has ended", () => end, withinMs),
  };
  return consumer;
}

/** Follows as consumer "c" of group "g" with a window of 100, unless the open says otherwise. */
export function startConsumer(
  games: GameServiceClient,
  open: Parameters<typeof FollowOpen.create>[0] = {},
): Consumer {
  const consumer = startStream(games);
  const value = FollowOpen.create({ group: "g", consumer: "c", window: 100, ...open });
  consumer.say(FollowRequest.create({ say: { $case: "open", value } }));
  return consumer;
}

let requests = 0;

/** Types a message in a workspace, through the edge at `url`; false when it was not accepted. No two are the same request. */
export async function type(url: string, workspace: TestWorkspace, text: string): Promise<boolean> {
  const event = { id: `r${++requests}`, type: "message", channel: "c1", user: { id: "u1" }, text };
  return (await post(url, workspace, event)).status === 202;
}
