import { InvalidArgumentError, Option } from "commander";
import { RESULT_MEANINGS, type DeliveryOutcome } from "../contract/deliveries";
import { OUTBOUND_TYPES } from "../contract/messages";
import type { DeliveryShape } from "../proto/json/shapes";
import { answer, WORKSPACE_ARGUMENT, type Cli, type CliCommand } from "./cli";
import { asOperator } from "./core";
import { deliveryLine } from "./delivery-text";
import { readDeliveries } from "./read-deliveries";

const OUTCOMES: readonly DeliveryOutcome[] = ["success", "failed", "dropped"];
const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** The options that select entries in the log of deliveries. */
export interface DeliveryFilter {
  /** Maximum age in ms. */
  readonly since?: number;
  readonly channel?: string;
  readonly message?: string;
  readonly text?: string;
  readonly outcome?: DeliveryOutcome;
  readonly type?: string;
}

/** `chat-bridge deliveries` prints the log of a workspace. */
export function addDeliveries(program: CliCommand, cli: Cli): void {
  program
    .command("deliveries")
    .description("print the log of push attempts, drops and polls of a workspace, oldest first")
    .argument(...WORKSPACE_ARGUMENT)
    .option("--since <time>", "only the last 30s, 15m, 1h or 2d", parseAge)
    .option("--channel <id>", "only events for this channel")
    .option("--message <id>", "only events about this message")
    .option("--text <text>", "only events whose shown text contains this text")
    .addOption(new Option("--outcome <outcome>", "only this outcome").choices(OUTCOMES))
    .addOption(new Option("--type <type>", "only this type of event").choices([...OUTBOUND_TYPES, "poll"]))
    .moreHelp(`
The log keeps the attempts, drops and polls of the last 7 days: at most the last 1,000 attempts and drops, and the last
500 entries for polls. The log contains the first 80 characters of each text. With --json, each line is one entry.

Examples:
  $ chat-bridge deliveries <workspace> --since 1h --outcome failed
  $ chat-bridge deliveries <workspace> --channel general --text 'Who is in'
  $ chat-bridge deliveries <workspace> --json > deliveries.jsonl`)
    .action((workspaceId: string, filter: DeliveryFilter) =>
      asOperator(cli, async (operator) => {
        const found = (await readDeliveries(operator, workspaceId)).filter(matcherOf(filter, Date.now()));
        for (const delivery of found.toReversed()) answer(cli, delivery, [deliveryLine(delivery)]);
        if (found.length === 0) cli.terminal.tell("The log has no such entry.");
      }),
    );
}

/** Returns a predicate that is true for log entries that match all options of the filter. */
export function matcherOf(
  { since = Infinity, channel, message, text, outcome, type }: DeliveryFilter,
  nowMs: number,
): (delivery: DeliveryShape) => boolean {
  const wanted = text?.toLowerCase();
  return ({ at, lastAt, summary, result, eventType }) =>
    Date.parse(lastAt ?? at) >= nowMs - since &&
    (channel === undefined || summary?.channel === channel) &&
    (message === undefined || summary?.messageId === message) &&
    (wanted === undefined || summary?.text.toLowerCase().includes(wanted) === true) &&
    (outcome === undefined || RESULT_MEANINGS[result].outcome === outcome) &&
    (type === undefined || eventType === type);
}

function parseAge(text: string): number {
  const [, number, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (number === undefined)
    throw new InvalidArgumentError("It must be a number with s, m, h or d, such as 1h.");
  return Number(number) * UNIT_MS[unit as keyof typeof UNIT_MS];
}
