import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { credentials } from "@grpc/grpc-js";
import { MessageKind, type InboundEvent } from "../../proto/gen/chatbridge/v1/event";
import {
  FollowRequest,
  GameServiceClient,
  OutboundEvent,
  type Delivery,
  type FollowResponse,
  type PublishResult,
} from "../../proto/gen/chatbridge/v1/game";
import { bearer, callUnary } from "../../runtime/core-channel";
import { startConsumer, type Consumer } from "./consumer";
import type { ContentInit, EventInit, MessageInit } from "./contents";
import { HANG_MS, until } from "./wait";

const CLI_MAIN = join(__dirname, "../../dist/cli/main.js");
/** The default workspace of a fake core. */
export const WORKSPACE = "00000000-0000-4000-8000-000000000001";

export interface ControlAnswer {
  readonly status: number;
  readonly json: Readonly<Record<string, unknown>>;
}

export type FakeCore = Awaited<ReturnType<typeof startFakeCore>>;

/** Starts `chat-bridge fake-core` in a separate process, on free ports. Resolves when the fake core listens. */
export async function startFakeCore(...args: readonly string[]) {
  const free = ["--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"];
  const child = spawn(process.execPath, [CLI_MAIN, "fake-core", ...free, ...args], {
    env: { PATH: process.env["PATH"] },
  });
  const lines: string[] = [];
  let errors = "";
  createInterface({ input: child.stdout }).on("line", (line) => lines.push(line));
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  const exited = new Promise<number | null>((resolve) => child.once("close", resolve));
  const [, grpc = "", url = ""] = await until(`the fake core listens; it said: ${errors}`, () =>
    /gRPC on (\S+) .*control API on (\S+)|"grpc":"([^"]+)","http":"([^"]+)"/
      .exec(lines.join("\n"))
      ?.filter((part) => part !== undefined),
  );
  const games = new GameServiceClient(grpc, credentials.createInsecure());
  const follow = (open: Parameters<typeof startConsumer>[1] = {}, token = "any"): Consumer =>
    startConsumer(games, { group: "dice", ...open }, token);
  const publish = (events: readonly OutboundEvent[], token = "any"): Promise<readonly PublishResult[]> =>
    callUnary(games, games.publishEvents, { events: [...events] }, bearer(token), HANG_MS).then(
      ({ results }) => results,
    );
  return {
    grpc,
    url,
    lines,
    games,
    follow,
    publish,
    errors: () => errors,
    /** Types a command on stdin. */
    type: (line: string) => void child.stdin.write(`${line}\n`),
    endInput: () => void child.stdin.end(),
    says: (text: string) =>
      until(`the fake core prints ${text}`, () => lines.find((line) => line.includes(text))).catch(
        (error: unknown) => {
          throw new Error(`the fake core printed:\n${lines.join("\n")}`, { cause: error });
        },
      ),
    /** Publishes an event in the default workspace. */
    show: async (content: ContentInit, more: EventInit = {}) => (await publish([eventOf(content, more)]))[0],
    async control(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
      const sent = body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) };
      const response = await fetch(`${url}${path}`, { method, headers, ...sent });
      return { status: response.status, json: (await response.json()) as ControlAnswer["json"] };
    },
    /** Sends a signal, if any, and returns the exit code. */
    async stop(signal: NodeJS.Signals | "none" = "SIGTERM"): Promise<number | null> {
      if (signal !== "none") child.kill(signal);
      // The fake core must stop even while the client of the game is still connected.
      const code = await exited;
      games.close();
      return code;
    },
  };
}

/** Returns an event in the default workspace. */
export const eventOf = (content: ContentInit, more: EventInit = {}): OutboundEvent =>
  OutboundEvent.create({ workspaceId: WORKSPACE, content, ...more });

/** Nacks deliveries. */
export const nackOf = (ids: readonly string[]): FollowRequest =>
  FollowRequest.create({ say: { $case: "nack", value: { deliveryIds: [...ids], delay: undefined } } });

const DICE = [{ buttons: [{ label: "Again", press: { $case: "action" as const, value: "again" } }] }];

/** Returns the message with which the game of `playDice` answers an event. */
function answerTo({ channel, user, kind }: InboundEvent): ContentInit {
  const place = channel?.id ?? "";
  const card = (text: string, more: MessageInit = {}) => ({ kind: MessageKind.CARD, text, ...more });
  if (kind?.$case === "action") {
    const message = card("throws a 5", { id: kind.value.messageId, rows: DICE });
    return { $case: "messageUpdate", value: { channel: place, message } };
  }
  const text = kind?.value.text ?? "";
  if (place.startsWith("dm:")) {
    return { $case: "dmCreate", value: { user: user?.id ?? "", message: card(`you said ${text}`) } };
  }
  const message =
    text === "dice"
      ? card(`**${user?.name ?? ""}** throws a 4`, { rows: DICE })
      : text === "ask"
        ? card("which number?", { awaitsReply: true })
        : card(`heard ${text}`);
  return { $case: "messageCreate", value: { channel: place, message } };
}

/**
 * Starts a game that answers the command "dice" with a message that has the button "Again". A press edits the message. The
 * command "ask" asks for a reply. Resolves when the game follows.
 */
export async function playDice({ games, publish, control }: FakeCore): Promise<void> {
  const stream = games.follow(bearer("any"));
  let streamId = "";
  const play = async ({ deliveryId, attempt, received }: Delivery): Promise<void> => {
    if (received?.event === undefined) return;
    const { workspaceId, event } = received;
    const fence = { streamId, deliveryId, attempt };
    const content = answerTo(event);
    await publish([OutboundEvent.create({ workspaceId, content, fence, idempotencyKey: deliveryId })]);
    stream.write(FollowRequest.create({ say: { $case: "ack", value: { deliveryIds: [deliveryId] } } }));
  };
  stream.on("error", () => undefined);
  stream.on("data", ({ say }: FollowResponse) => {
    if (say?.$case === "opened") ({ streamId } = say.value);
    if (say?.$case === "delivery") void play(say.value);
  });
  const open = { group: "dice", consumer: "c", window: 100 };
  stream.write(FollowRequest.create({ say: { $case: "open", value: open } }));
  expect((await control("GET", "/ready?wait=30")).status).toBe(200);
}
