import { until } from "../harness/wait";
import { endOf, type OddService, type OddWorkspace, type Seen } from "./odd-service";
import type { OddAnswer, Reaction } from "./rows";

/** A running program that polls the stand-in for the service, and reports events to it. */
export interface Running {
  /** Everything that the program has shown or printed so far. */
  output(): string;
  /** Makes the program report an event with this text. */
  send(text: string): void;
  /** Resolves to the exit code, or to null when a signal ended the program. */
  readonly exited: Promise<number | null>;
  stop(): Promise<unknown>;
}

/** Starts a program for a workspace of the stand-in for the service. */
export type Start = (baseUrl: string, workspace: OddWorkspace) => Promise<Running> | Running;

/** Time limit of an instance, in ms: a program may wait 30 seconds for an answer, and 30 seconds after a refusal. */
const LANE_MS = 100_000;
/** Milliseconds by which timers may fire early. */
const TIMER_SLACK_MS = 20;
/** Text of the last event of each run. */
const LAST = "the end";
/**
 * Answers to the event `LAST`, for tests in which the program must not poll again. The program's retries of this event
 * take so long that a program that ignored `Retry-After` would poll in the meantime.
 */
const REFUSALS: OddAnswer = {
  name: LAST,
  bytes: () =>
    Buffer.from("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
  times: 4,
};

/** The reactions of a program, by "poll: " or "send: " and the name of the answer. */
export type Verdicts = Readonly<Record<string, string>>;

/** Returns the verdicts on a program that reacts to each answer as required. */
export function expectedVerdicts(rows: readonly OddAnswer[]): Verdicts {
  const each = continuedOf(rows).flatMap(({ name, poll }) => [[`poll: ${name}`, poll ?? ""]]);
  const sent = rows.filter(({ send }) => send !== undefined);
  return Object.fromEntries([...each, ...sent.map(({ name, send }) => [`send: ${name}`, send ?? ""])]);
}

/** Returns the answers after which a program must soon poll again. */
const continuedOf = (rows: readonly OddAnswer[]) =>
  rows.filter(({ poll }) => poll === "ok" || poll === "retry");

/**
 * Starts `lanes` instances of a program, and divides the answers among them. An instance gets each of its answers
 * twice: once to a poll, and once to a reported event. Returns the observed reactions.
 */
export async function judge(
  service: OddService,
  rows: readonly OddAnswer[],
  { start, lanes, channel = () => "c1" }: { start: Start; lanes: number; channel?: (lane: number) => string },
): Promise<Verdicts> {
  const numbers = Array.from({ length: lanes }, (_, lane) => lane);
  const verdicts = await Promise.all(
    numbers.map((lane) =>
      judgeLane(
        service,
        rows.filter((_, index) => index % lanes === lane),
        start,
        channel(lane),
      ),
    ),
  );
  return Object.assign({}, ...verdicts) as Verdicts;
}

async function judgeLane(service: OddService, rows: readonly OddAnswer[], start: Start, channel: string) {
  const toPolls = continuedOf(rows);
  const toSends = rows.filter(({ send }) => send !== undefined);
  const byText = new Map(toSends.map((row) => [row.name, row]));
  const workspace = service.add({ toPolls, byText, channel });
  const program = await start(service.baseUrl, workspace);
  let hasExited = false;
  void program.exited.then(() => (hasExited = true));
  for (const { name } of toSends) program.send(name);
  if (toSends.length > 0) program.send(LAST);

  const isSettled = ({ name, send }: OddAnswer): boolean =>
    timesOf(workspace.posts, name).length >= (send === "retry" ? 2 : 1);
  const isOver = (): boolean =>
    program.output().includes(endOf(LAST)) &&
    toSends.every(isSettled) &&
    (toSends.length === 0 || timesOf(workspace.posts, LAST).length > 0);
  await until("the program has reacted to every answer", () => hasExited || isOver(), LANE_MS).catch(
    () => undefined,
  );

  const polled = toPolls.map((row, index) => {
    const times = workspace.polls.filter(({ what }) => cursorOf(what) === index).map(({ atMs }) => atMs);
    const isShown = program.output().includes(endOf(row.name));
    return [`poll: ${row.name}`, isShown ? reactionTo(row, row.poll, times) : "the next event is not shown"];
  });
  const sent = toSends.map((row) => [
    `send: ${row.name}`,
    idsOf(workspace.posts, row.name).size > 1
      ? "another id"
      : reactionTo(row, row.send, timesOf(workspace.posts, row.name)),
  ]);
  const faults = workspace.faults.map((fault) => [fault, "a fault"]);
  await program.stop();
  return Object.fromEntries([...polled, ...sent, ...faults]) as Verdicts;
}

/** Determines the reaction to an answer from the times at which the program made the same request. */
function reactionTo(
  row: OddAnswer,
  wanted: Reaction | undefined,
  [first, second, third]: readonly number[],
): string {
  if (first === undefined) return "no request";
  // A program that does not recognize an informational answer may repeat the request.
  if (second === undefined || wanted === "ok") return wanted === "retry" ? "no retry" : (wanted ?? "");
  if (second - first < (row.waitMs ?? 0) - TIMER_SLACK_MS) return "a retry that is too early";
  return third === undefined ? "retry" : "several retries";
}

const cursorOf = (query: string): number => Number(new URLSearchParams(query).get("after") ?? 0);

const postsOf = (posts: readonly Seen[], text: string) =>
  posts.filter(({ what }) => what.slice(0, what.lastIndexOf(" ")) === text);
const timesOf = (posts: readonly Seen[], text: string): readonly number[] =>
  postsOf(posts, text).map(({ atMs }) => atMs);
const idsOf = (posts: readonly Seen[], text: string) => new Set(postsOf(posts, text).map(({ what }) => what));

/**
 * Tests the answers after which a program must not poll again soon. For each of these answers, starts an instance whose
 * first poll gets the answer. Returns the observed reactions. A program that stops must print the status and exit with
 * a code other than 0. A program that waits must still report an event, and must not poll while it retries this event.
 */
export async function judgeStops(
  service: OddService,
  rows: readonly OddAnswer[],
  start: Start,
): Promise<Verdicts> {
  const each = rows
    .filter(({ poll }) => poll === "stop" || poll === "wait")
    .map(async (row) => [row.name, await reactionToStop(service, row, start)]);
  return Object.fromEntries(await Promise.all(each)) as Verdicts;
}

async function reactionToStop(service: OddService, row: OddAnswer, start: Start): Promise<string> {
  const workspace = service.add({ toPolls: [row], byText: new Map([[LAST, REFUSALS]]) });
  const program = await start(service.baseUrl, workspace);
  try {
    if (row.poll === "wait") {
      await until("the program has polled", () => workspace.polls.length > 0);
      program.send(LAST);
      await until("the program's event is accepted", () => workspace.posts.length > (REFUSALS.times ?? 0));
    } else {
      let code: number | null | undefined;
      void program.exited.then((exit) => (code = exit));
      await until("the program has exited", () => code !== undefined);
      const status = row.name.slice(0, 3);
      if (code === 0 || code === null) return `exit code ${code}`;
      if (!program.output().includes(status)) return `no ${status} in the output: ${program.output()}`;
    }
    if (workspace.faults.length > 0) return workspace.faults.join("; ");
    return workspace.polls.length === 1 ? (row.poll ?? "") : `${workspace.polls.length} polls`;
  } catch (error) {
    return (error as Error).message;
  } finally {
    await program.stop();
  }
}

/** Returns the verdicts that `judgeStops` returns for a program that reacts as required. */
export function expectedStops(rows: readonly OddAnswer[]): Verdicts {
  const stops = rows.filter(({ poll }) => poll === "stop" || poll === "wait");
  return Object.fromEntries(stops.map(({ name, poll }) => [name, poll ?? ""]));
}
