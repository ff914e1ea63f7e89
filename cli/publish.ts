import { Argument, InvalidArgumentError, Option } from "commander";
import type { Button } from "../kit/events";
import { MESSAGE_KINDS } from "../contract/messages";
import { PublishRefusal, type PublishEventsResponse } from "../proto/gen/chatbridge/v1/game";
import { answer, type Cli, type CliCommand } from "./cli";
import { asGame } from "./core";
import { checkEvent, EVENT_TYPES, readEventJson, toOutboundEvent, type EventInput } from "./event-input";
import { EXIT } from "./exit-code";
import { CliFailure } from "./failure";
import { factLines } from "./table";

interface PublishOptions {
  readonly type?: string;
  readonly channel?: string;
  readonly user?: string;
  readonly messageId?: string;
  readonly kind?: string;
  readonly text?: string;
  readonly button?: readonly Button[];
  readonly image?: string;
  readonly awaitsReply?: boolean;
  readonly data?: unknown;
  readonly key?: string;
  readonly lifetime?: number;
}

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600 };

/** `chat-bridge publish` publishes one event, from options or from JSON. */
export function addPublish(program: CliCommand, cli: Cli): void {
  program
    .command("publish")
    .description("publish one event")
    .argument("<workspace>", "id of the workspace")
    .addArgument(new Argument("[file]", "file with the event as JSON, instead of the options; - is stdin"))
    .addOption(
      new Option("--type <type>", "type of the event (default: message.create)").choices(EVENT_TYPES),
    )
    .option("--channel <id>", "channel to show the message in")
    .option("--user <id>", "member who sees the message, for message.ephemeral and dm.create")
    .option("--message-id <id>", "message to replace, for message.update")
    .addOption(
      new Option(
        "--kind <kind>",
        "kind of message (default: card if the message has buttons or data, else text)",
      ).choices(MESSAGE_KINDS),
    )
    .option("--text <text>", "chat-flavoured Markdown")
    .option(
      "--button <label=action>",
      "a button, or a link with label=https://…; repeat the option for more buttons in the row",
      addButton,
    )
    .option("--image <url>", "image to show with the message")
    .option("--awaits-reply", "the member's next typed message is the answer to this message")
    .option("--data <json>", "view model for bridges that render messages themselves", parseJson)
    .option("--key <key>", "idempotency key; a repeat within 24 hours gets the result of the first event")
    .option("--lifetime <time>", "time until the event expires, such as 90s, 10m or 24h", parseSeconds)
    .moreHelp(`
Examples:
  $ chat-bridge publish <workspace> --channel general --text 'Hello, **all**'
  $ chat-bridge publish <workspace> --channel general --text 'Who is in?' --button Join=join
  $ chat-bridge publish <workspace> --type dm.create --user u1 --text 'It is your turn' --lifetime 1h
  $ chat-bridge publish <workspace> - <<'END'
    {"type": "message.update", "channel": "general",
     "message": {"id": "msg_…", "kind": "card", "text": "Done", "buttons": [[{"label": "Again", "action": "again"}]]}}
    END

The JSON has the fields of the event as bridges receive it, without those that core sets (id, workspace,
sequence, times), plus idempotencyKey and lifetimeSeconds. In message, only text is required.`)
    .action(async (workspaceId: string, file: string | undefined, options: PublishOptions) => {
      const input = await readEvent(cli, file, options);
      await asGame(cli, ({ call, methods }) =>
        publish(cli, call(methods.publishEvents, { events: [toOutboundEvent(workspaceId, input)] })),
      );
    });
}

async function publish(cli: Cli, publishing: Promise<PublishEventsResponse>): Promise<void> {
  const [result] = (await publishing).results;
  if (result?.outcome?.$case !== "published") {
    const { reason, message } = result?.outcome?.value ?? { reason: undefined, message: "no answer" };
    const isUnknown = reason === PublishRefusal.UNKNOWN_WORKSPACE;
    throw new CliFailure(isUnknown ? EXIT.NOT_FOUND : EXIT.DATA, `core rejected the event: ${message}`);
  }
  const { eventId, sequence, messageId, expiresAt, repeated } = result.outcome.value;
  const stale = expiresAt?.toISOString() ?? null;
  const lines = factLines([
    ["event", repeated ? `${eventId} (published before with this key)` : eventId],
    ["sequence", String(sequence)],
    ["message", messageId],
    ["expires", stale ?? "never"],
  ]);
  answer(cli, { eventId, sequence, messageId, expiresAt: stale, repeated }, lines);
}

async function readEvent(
  { terminal }: Cli,
  file: string | undefined,
  options: PublishOptions,
): Promise<EventInput> {
  if (file !== undefined) {
    if (Object.keys(options).length > 0)
      throw new CliFailure(EXIT.USAGE, "give the event either with options or as JSON, not both");
    return readEventJson((await terminal.read(file)).toString("utf8"));
  }
  if (options.text === undefined) {
    throw new CliFailure(
      EXIT.USAGE,
      "there is nothing to publish: give --text <text>, or - for JSON from stdin",
    );
  }
  const { type, channel, user, messageId: id, kind, text, button, image, awaitsReply, data } = options;
  const { key: idempotencyKey, lifetime: lifetimeSeconds } = options;
  const buttons = button === undefined ? undefined : [button];
  const message = { id, kind, text, buttons, image, awaitsReply, data };
  return checkEvent({ type, channel, user, message, idempotencyKey, lifetimeSeconds });
}

function addButton(text: string, before: readonly Button[] = []): readonly Button[] {
  const at = text.indexOf("=");
  if (at < 1) throw new InvalidArgumentError("It must be label=action, or label=https://…");
  const [label, press] = [text.slice(0, at), text.slice(at + 1)];
  return [...before, /^https?:\/\//i.test(press) ? { label, url: press } : { label, action: press }];
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new InvalidArgumentError("It must be JSON.");
  }
}

function parseSeconds(text: string): number {
  const [, count = "", unit = ""] = /^(\d{1,6})([smh])$/.exec(text) ?? [];
  const seconds = UNIT_SECONDS[unit];
  if (seconds === undefined)
    throw new InvalidArgumentError("It must be a number with s, m or h, such as 10m.");
  return Number(count) * seconds;
}
