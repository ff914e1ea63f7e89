import { hostname } from "node:os";
import { InvalidArgumentError } from "commander";
import type { ReceivedEvent } from "../proto/gen/chatbridge/v1/event";
import { FollowRequest, type Delivery, type FollowResponse } from "../proto/gen/chatbridge/v1/game";
import { answer, type Cli, type CliCommand } from "./cli";
import { asGame } from "./core";
import { tailStream } from "./tail-stream";

const WINDOW = 100;
const GROUP = "chat-bridge-tail";

/**
 * `chat-bridge tail events` shows inbound events. The command follows events in its own group, so that games still
 * receive every event.
 */
export function addTailEvents(tail: CliCommand, cli: Cli): void {
  const consumer = `${hostname()}-${process.pid}`.replaceAll(/[^A-Za-z0-9._-]/g, "-").slice(-64);
  tail
    .command("events")
    .description("show inbound events: what members do")
    .argument("[workspace]", "id of a workspace; all workspaces by default")
    .option("--group <name>", "name of the tail's group", parseGroup, GROUP)
    .moreHelp(`
The tail follows events in its own group, so games miss none. The first tail of a group shows only new events.
A later tail resumes where the previous tail stopped, up to 24 hours back. Core removes a group that has had no tail
for 24 hours, and groups delete removes it at once. Tails of one group share the
events: to see all events in two tails, give each tail its own --group.

Examples:
  $ chat-bridge tail events
  $ chat-bridge tail events <workspace> --json | jq -r 'select(.event.type == "command") | .event.text'`)
    .action(async (wanted: string | undefined, { group }: { group: string }) => {
      const workspace = wanted?.toLowerCase();
      const show = ({ received }: Delivery): void => {
        if (received === undefined || (workspace ?? received.workspaceId) !== received.workspaceId) return;
        const shape = toShape(received);
        answer(cli, shape, [eventLine(shape)]);
      };
      await asGame(cli, ({ methods, metadata, called }) =>
        tailStream({
          cli,
          called,
          open() {
            const stream = methods.follow(metadata);
            const value = { group, consumer, window: WINDOW, ackDeadline: undefined };
            stream.write(FollowRequest.create({ say: { $case: "open", value } }));
            return stream;
          },
          take({ say }: FollowResponse, stream) {
            if (say?.$case === "opened") cli.terminal.tell("Following.");
            if (say?.$case !== "delivery") return;
            show(say.value);
            const value = { deliveryIds: [say.value.deliveryId] };
            if (stream.writable) stream.write(FollowRequest.create({ say: { $case: "ack", value } }));
          },
          // Unlike `cancel`, `end` sends pending acks before it closes the stream.
          leave: (stream) => void stream.end(),
        }),
      );
    });
}

/** An inbound event with its workspace and time of receipt. `event` has the contract's fields. */
interface ReceivedShape {
  readonly workspace: string;
  readonly receivedAt: string | null;
  readonly event: Readonly<Record<string, unknown>>;
}

function toShape({ workspaceId, receivedAt, event }: ReceivedEvent): ReceivedShape {
  const { $case: type, value } = event?.kind ?? { $case: "unknown", value: {} };
  const { id, channel, user } = event ?? {};
  return {
    workspace: workspaceId,
    receivedAt: receivedAt?.toISOString() ?? null,
    event: { type, id, channel, user, ...value },
  };
}

function eventLine({ workspace, receivedAt, event }: ReceivedShape): string {
  const { type, channel, user, text, action, messageId } = event;
  const said = type === "action" ? `${String(action)} on ${String(messageId)}` : JSON.stringify(text ?? "");
  return [receivedAt ?? "", workspace, String(type), named(channel), named(user), said].join("  ");
}

function named(of: unknown): string {
  const { id = "", name } = (of ?? {}) as { readonly id?: string; readonly name?: string };
  return name ? `${id} (${name})` : id;
}

function parseGroup(text: string): string {
  if (!/^[A-Za-z0-9._-]{1,64}$/.test(text)) {
    throw new InvalidArgumentError("It must be 1 to 64 characters of A-Z a-z 0-9 . _ -");
  }
  return text;
}
