import type { OutboundType } from "../contract/messages";
import type { DeliveryShape, FailedEventShape, SendAgainShape } from "../proto/json/shapes";
import { toFailedEventShape, toSendAgainShape } from "../proto/json/workspace-json";
import type { WorkspaceServiceClient } from "../proto/gen/chatbridge/v1/workspace";
import { painted, type Line } from "./colour";
import { answer, WORKSPACE_ARGUMENT, type Cli, type CliCommand } from "./cli";
import { asOperator, type Core } from "./core";
import { resultText, summaryText } from "./delivery-text";
import { EXIT } from "./exit-code";
import { CliFailure } from "./failure";
import { readDeliveries } from "./read-deliveries";
import { tableLines } from "./table";

/**
 * `chat-bridge failed` lists failed events (kept after their push failed), and `chat-bridge send-again` pushes them
 * again.
 */
export function addFailedEvents(program: CliCommand, cli: Cli): void {
  program
    .command("failed")
    .description("list the events whose pushes failed")
    .argument(...WORKSPACE_ARGUMENT)
    .moreHelp(`
Core keeps the events whose pushes failed in the last 24 hours: at most the last 100 events, with 1 MB in total. An event
that has expired cannot be sent again, and most messages expire 10 minutes after they were published. The last column
then says "expired". With --json, sendAgainUntil is null. WHY is the result of the last attempt. The event command
shows all attempts of an event.

Examples:
  $ chat-bridge failed 0b8c3a52-6f0e-4c9e-9d53-2f6a3d0c7b11
  $ chat-bridge failed <workspace> --json | jq -r '.[].eventId'`)
    .action((workspaceId: string) =>
      asOperator(cli, async (operator) => {
        const events = await listFailed(operator, workspaceId);
        if (events.length === 0) return answer(cli, events, ["No failed events are kept."]);
        const hasNever = events.some(({ sendAgainUntil }) => sendAgainUntil === null);
        const failures = await withLastResults(operator, workspaceId, events);
        answer(cli, failures, failedRows(failures, hasNever ? await whyNever(operator, workspaceId) : ""));
      }),
    );

  program
    .command("send-again")
    .description("push failed events again")
    .argument(...WORKSPACE_ARGUMENT)
    .argument("[events...]", "ids of the events, at most 100")
    .option("--all", "send all failed events that have not expired, except test events, oldest failure first")
    .option("--yes", "do not ask for confirmation before several events are sent")
    .moreHelp(`
Fix the bridge first: send-test shows whether a push succeeds. The events keep their ids, so the bridge ignores an
event that it already has. tail deliveries shows the new attempts. Exit code 1: an event was not queued.

Examples:
  $ chat-bridge send-again <workspace> evt_01KE8H2V3W4X5Y6Z7A8B9C0D1E
  $ chat-bridge send-again <workspace> --all
  $ chat-bridge send-again <workspace> --all --yes    # in a script`)
    .action(async (workspaceId: string, events: readonly string[], options: SendOptions) => {
      const { all, yes } = options;
      if ((events.length === 0) === (all === undefined)) {
        throw new CliFailure(EXIT.USAGE, "give either the ids of events or --all");
      }
      await asOperator(cli, async (operator) => {
        const eventIds = all ? await sendableIds(cli, operator, workspaceId) : events;
        if (eventIds.length === 0) {
          const lines = ["Nothing to send: no failed event is kept that can be sent again."];
          return answer(cli, { results: [] } satisfies SendAgainShape, lines);
        }
        const question = `Send ${eventIds.length} events again? The bridge posts their messages in its chat now.`;
        if (eventIds.length > 1 && !yes) await cli.terminal.confirm(question, "nothing was sent");
        const { call, methods } = operator;
        const sent = toSendAgainShape(
          await call(methods.sendAgain, { workspaceId, eventIds: [...eventIds] }),
        );
        const rows = sent.results.map(({ eventId, result }) => [
          eventId,
          painted(result === "queued" ? "good" : "bad", result),
        ]);
        answer(cli, sent, tableLines(["event", "result"], rows));
        if (sent.results.some(({ result }) => result !== "queued")) cli.endWith(EXIT.NO);
      });
    });
}

type Operator = Core<WorkspaceServiceClient>;

interface SendOptions {
  readonly all?: true;
  readonly yes?: true;
}

const TEST_EVENT: OutboundType = "ping";

async function listFailed(
  { call, methods }: Operator,
  workspaceId: string,
): Promise<readonly FailedEventShape[]> {
  return (await call(methods.listFailedEvents, { workspaceId })).events.map(toFailedEventShape);
}

/**
 * Returns the ids of the events that can be sent again, except test events, oldest failure first. Prints how many
 * events are not in the result.
 */
async function sendableIds(cli: Cli, operator: Operator, workspaceId: string): Promise<readonly string[]> {
  const events = await listFailed(operator, workspaceId);
  const live = events.filter(({ sendAgainUntil }) => sendAgainUntil !== null);
  const found = live.filter(({ eventType }) => eventType !== TEST_EVENT);
  const [lost, tests] = [events.length - live.length, live.length - found.length];
  if (lost > 0)
    cli.terminal.tell(
      `left out: ${lost} of ${events.length} events: ${await whyNever(operator, workspaceId)}`,
    );
  if (tests > 0) cli.terminal.tell(`left out: ${tests} of ${events.length} events: test events`);
  return found.map(({ eventId }) => eventId).toReversed();
}

/** Returns a text that says why some failed events of a workspace cannot be sent again. */
async function whyNever({ call, methods }: Operator, workspaceId: string): Promise<string> {
  const { workspace } = await call(methods.getWorkspace, { workspaceId });
  if (workspace?.connected !== true) return "the workspace is disconnected";
  return workspace.targetUrl === "" ? "the bridge polls" : "expired";
}

/** A failed event, with its last entry in the log of deliveries if the log still contains one. */
type Failure = FailedEventShape & Partial<Pick<DeliveryShape, "result" | "status" | "summary">>;

/** Adds to each event the reason why its last attempt failed, and a summary of its message. */
async function withLastResults(
  operator: Operator,
  workspaceId: string,
  events: readonly FailedEventShape[],
): Promise<readonly Failure[]> {
  const deliveries = await readDeliveries(operator, workspaceId);
  // The log is newest first. It is reversed, so that the newest entry of each event replaces the older entries.
  const last = new Map(deliveries.toReversed().map((delivery) => [delivery.eventId, delivery]));
  return events.map((event) => {
    const found = last.get(event.eventId);
    return found === undefined
      ? event
      : { ...event, result: found.result, status: found.status, summary: found.summary };
  });
}

function failedRows(events: readonly Failure[], whyNot: string): readonly Line[] {
  return tableLines(
    ["event", "type", "message", "why", "failed", "can be sent again until"],
    events.map(({ eventId, eventType, summary, result, status = 0, failedAt, sendAgainUntil }) => [
      eventId,
      eventType,
      summaryText(summary ?? null),
      result === undefined ? "" : resultText({ result, status }),
      failedAt,
      sendAgainUntil ?? painted("dim", whyNot),
    ]),
  );
}
