import type { EventPlaceName, EventShape } from "../proto/json/shapes";
import { toEventShape } from "../proto/json/workspace-json";
import { answer, WORKSPACE_ARGUMENT, type Cli, type CliCommand } from "./cli";
import { painted, type Line } from "./colour";
import { asOperator } from "./core";
import { resultText, summaryText } from "./delivery-text";
import { factLines, tableLines } from "./table";

const PLACES: Readonly<Record<EventPlaceName, Line>> = {
  held: "held, waits for a poll",
  fetched: painted("good", "fetched by a poll"),
  queued: "queued, waits for an attempt to push it",
  delivered: painted("good", "delivered"),
  failed: painted("bad", "failed, core makes no further attempt"),
  dropped: painted("warning", "dropped"),
  unknown: "unknown",
};

/** `chat-bridge event` prints what core stores about one event, as a timeline. */
export function addEvent(program: CliCommand, cli: Cli): void {
  program
    .command("event")
    .description("show one event: where it is, who published it, its attempts and the bridge's answers")
    .argument(...WORKSPACE_ARGUMENT)
    .argument("<event>", "id of the event")
    .moreHelp(`
Core knows an event while it is held, queued or kept as failed, and while the log of deliveries contains it: 7 days at
most. The JSON of the event is stored for 24 hours at most; --json prints it in event.json.

Examples:
  $ chat-bridge event <workspace> evt_01KE8H2V3W4X5Y6Z7A8B9C0D1E
  $ chat-bridge event <workspace> evt_01KE8H2V3W4X5Y6Z7A8B9C0D1E --json | jq -r .event.json`)
    .action((workspaceId: string, eventId: string) =>
      asOperator(cli, async ({ call, methods }) => {
        const event = toEventShape(await call(methods.getEvent, { workspaceId, eventId }));
        answer(cli, event, [...eventFacts(event), "", ...timelineRows(event)]);
      }),
    );
}

function eventFacts(event: EventShape): readonly Line[] {
  const { eventId, eventType, summary, place, publisher, expiresAt } = event;
  return factLines([
    ["event", eventId],
    ["type", eventType],
    ["message", summaryText(summary)],
    ["message id", summary?.messageId ?? ""],
    ["place", PLACES[place]],
    ["published by", publisher],
    ["expires", expiresAt ?? ""],
    ["can be sent again until", event.event?.sendAgainUntil ?? ""],
  ]);
}

/** A row of the timeline. The first cell is a time. */
type Row = readonly [at: string, what: string, result: Line, detail: string];

function timelineRows({ publishedAt, publisher, attempts, sentAgain }: EventShape): readonly Line[] {
  const published: readonly Row[] =
    publishedAt === null ? [] : [[publishedAt, "published", "", publisher && `by ${publisher}`]];
  const rows: readonly Row[] = [
    ...published,
    ...sentAgain.map(({ at, by }): Row => [at, "sent again", "", `by ${by}`]),
    ...attempts.map(attemptRow),
  ];
  return tableLines(
    ["at", "what", "result", "detail"],
    rows.toSorted(([a], [b]) => a.localeCompare(b, "en")),
  );
}

function attemptRow({ delivery, response }: EventShape["attempts"][number]): Row {
  const { at, attempt, polls, latencyMs, address } = delivery;
  if (polls > 0) return [at, "poll", painted("good", "Fetched"), ""];
  const answered = response === null ? "" : `${response.text}${response.truncated ? "…" : ""}`;
  const facts = [attempt === 0 ? "" : `${latencyMs} ms`, address, answered];
  const what = attempt === 0 ? "drop" : `attempt ${attempt}`;
  return [at, what, resultText(delivery), facts.filter((fact) => fact !== "").join("  ")];
}
