import type { Command } from "commander";
import type { FailedEventShape, SendAgainShape } from "../edge/dashboard/shapes";
import { toFailedEventShape, toSendAgainShape } from "../edge/dashboard/workspace-json";
import type { WorkspaceServiceClient } from "../proto/gen/chatbridge/v1/workspace";
import { answer, WORKSPACE_ARGUMENT, type Cli } from "./cli";
import { asOperator, type Core } from "./core";
import { EXIT } from "./exit-code";
import { CliFailure } from "./failure";
import { tableLines } from "./table";

/** `chat-bridge failed` lists the kept events whose pushes failed, and `chat-bridge send-again` pushes them again. */
export function addFailedEvents(program: Command, cli: Cli): void {
  program
    .command("failed")
    .description("list the events whose pushes failed (needs a token with the role operator)")
    .argument(...WORKSPACE_ARGUMENT)
    .addHelpText(
      "after",
      `
Core keeps the events whose pushes failed in the last 24 hours: at most the last 100 events, with 1 MB in total.

Examples:
  $ chat-bridge failed 0b8c3a52-6f0e-4c9e-9d53-2f6a3d0c7b11
  $ chat-bridge failed <workspace> --json | jq -r '.[].eventId'`,
    )
    .action((workspaceId: string) =>
      asOperator(cli, async (operator) => {
        const events = await listFailed(operator, workspaceId);
        answer(cli, events, events.length === 0 ? ["No failed events are kept."] : failedRows(events));
      }),
    );

  program
    .command("send-again")
    .description("push failed events again (needs a token with the role operator)")
    .argument(...WORKSPACE_ARGUMENT)
    .argument("[events...]", "ids of the events, at most 100")
    .option("--all", "send all failed events that have not expired, oldest failure first")
    .addHelpText(
      "after",
      `
Fix the bridge first: send-test shows whether a push succeeds. The events keep their ids, so the bridge ignores an
event that it already has. tail deliveries shows the new attempts. Exit code 1: an event was not queued.

Examples:
  $ chat-bridge send-again <workspace> evt_01KE8H2V3W4X5Y6Z7A8B9C0D1E
  $ chat-bridge send-again <workspace> --all`,
    )
    .action(async (workspaceId: string, events: readonly string[], { all }: { all?: true }) => {
      if ((events.length === 0) === (all === undefined)) {
        throw new CliFailure(EXIT.USAGE, "give either the ids of events or --all");
      }
      await asOperator(cli, async (operator) => {
        const eventIds = all ? await sendableIds(operator, workspaceId) : events;
        if (eventIds.length === 0) {
          const lines = ["Nothing to send: no failed event is kept that can be sent again."];
          return answer(cli, { results: [] } satisfies SendAgainShape, lines);
        }
        const { call, methods } = operator;
        const sent = toSendAgainShape(
          await call(methods.sendAgain, { workspaceId, eventIds: [...eventIds] }),
        );
        const rows = sent.results.map(({ eventId, result }) => [eventId, result]);
        answer(cli, sent, tableLines(["event", "result"], rows));
        if (sent.results.some(({ result }) => result !== "queued")) cli.endWith(EXIT.NO);
      });
    });
}

type Operator = Core<WorkspaceServiceClient>;

async function listFailed(
  { call, methods }: Operator,
  workspaceId: string,
): Promise<readonly FailedEventShape[]> {
  return (await call(methods.listFailedEvents, { workspaceId })).events.map(toFailedEventShape);
}

/** Returns the ids of the events that can be sent again, oldest failure first. */
async function sendableIds(operator: Operator, workspaceId: string): Promise<readonly string[]> {
  const events = await listFailed(operator, workspaceId);
  return events
    .filter(({ sendAgainUntil }) => sendAgainUntil !== null)
    .map(({ eventId }) => eventId)
    .toReversed();
}

function failedRows(events: readonly FailedEventShape[]): readonly string[] {
  return tableLines(
    ["event", "type", "failed", "can be sent again until"],
    events.map(({ eventId, eventType, failedAt, sendAgainUntil }) => [
      eventId,
      eventType,
      failedAt,
      sendAgainUntil ?? "-",
    ]),
  );
}
