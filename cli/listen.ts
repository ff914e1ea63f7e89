import { createHttpClient } from "../kit/check/http-client";
import { cursorInMemory } from "../kit/cursor-store";
import type { EventPage } from "../kit/events";
import { createPoll, PollRefused } from "../kit/poll";
import { runPoller } from "../kit/poller";
import { PUSH_DEADLINE_MS } from "../contract/numbers";
import { joined, painted, type Line } from "./colour";
import { answer, DEFAULT_BASE_URL, type Cli, type CliCommand } from "./cli";
import { EXIT, type ExitCode } from "./exit-code";
import { CliFailure } from "./failure";
import { createForwarder, type Forwarded } from "./forward-events";
import { refusedPoll, unansweredPoll, type PolledAt } from "./poll-failure";
import { readSecrets, SECRET_FILE_OPTION, SECRETS_HELP } from "./signing-secret";

interface ListenOptions {
  readonly forwardTo: string;
  readonly workspace?: string;
  readonly baseUrl?: string;
  readonly secretFile?: string;
  readonly replay?: true;
  readonly ca?: string;
}

/**
 * `chat-bridge listen` polls a workspace, and forwards the workspace's events as pushes, e.g. to a bridge on this
 * machine.
 */
export function addListen(program: CliCommand, cli: Cli): void {
  program
    .command("listen")
    .description(
      "forward a workspace's events to a local URL as pushes, until Ctrl-C, for developing a bridge",
    )
    .requiredOption("--forward-to <url>", "http or https URL of the bridge")
    .option("--workspace <id>", "id of a workspace without a target URL, as in WORKSPACE_ID")
    .option("--base-url <url>", "base address of the service for bridges, as in BASE_URL")
    .option(...SECRET_FILE_OPTION)
    .option("--replay", "begin with the oldest held event, instead of the next new event")
    .option(
      "--ca <file>",
      "PEM file of an authority to trust; a certificate of a loopback address needs none",
    )
    .moreHelp(`${SECRETS_HELP}

The command polls every 2 seconds, and signs and retries each event as the service pushes it. Each line shows an
attempt: time, type, event id, number, result, status, duration, and the reason for a failure. After the result
"failed", a retry follows; after "dropped", none. An event that has expired is skipped, with the result "expired".

Examples:
  $ export SIGNING_SECRET=…
  $ chat-bridge listen --workspace <workspace> --forward-to http://127.0.0.1:3000/events
  $ chat-bridge listen --workspace <workspace> --forward-to http://127.0.0.1:3000/events --replay --json | jq .status`)
    .action(async (options: ListenOptions) => {
      const target = readUrl(options.forwardTo, "--forward-to", EXIT.USAGE);
      const polledAt = readPolledAt(cli, options);
      const secrets = await readSecrets(cli, options.secretFile);
      const ca =
        options.ca === undefined ? undefined : (await cli.terminal.read(options.ca)).toString("utf8");
      await listen(cli, { target, polledAt, secrets, ca, isReplay: options.replay === true });
    });
}

interface Listening {
  readonly target: URL;
  readonly polledAt: PolledAt;
  readonly secrets: readonly string[];
  readonly ca: string | undefined;
  readonly isReplay: boolean;
}

async function listen(cli: Cli, { target, polledAt, secrets, ca, isReplay }: Listening): Promise<void> {
  const { terminal } = cli;
  const signal = cli.interruption();
  const client = createHttpClient(target, {
    timeoutMs: PUSH_DEADLINE_MS,
    insecureLoopback: true,
    ...(ca === undefined ? {} : { ca }),
  });
  const show = (forwarded: Forwarded) => answer(cli, forwarded, [forwardedLine(forwarded)]);
  const forwarder = createForwarder({ target, client, secrets, signal, show });
  const handle = (page: EventPage): Promise<void> => {
    if (page.gap) terminal.tell("Some events expired before they were fetched.");
    return forwarder.forward(page);
  };
  try {
    // If the first poll returns no page, the command fails. Later, the poller retries until a poll returns a page.
    const newest = await createPoll({ ...polledAt, secrets })("latest", signal);
    if (signal.aborted) return;
    if ("problem" in newest) throw unansweredPoll(newest.problem, polledAt);
    const cursors = cursorInMemory();
    if (!isReplay && newest.page.next !== null) await cursors.save(newest.page.next);
    const which = isReplay ? "held and new" : "new";
    terminal.tell(`Forwarding ${which} events of workspace ${polledAt.workspaceId} to ${target.href}.`);
    const report = ({ message }: Error) => terminal.tell(message);
    await runPoller({ ...polledAt, secrets, cursors, signal, handle, report });
  } catch (error) {
    throw error instanceof PollRefused ? refusedPoll(error, polledAt) : error;
  } finally {
    await forwarder.idle();
    client.close();
  }
}

const RESULT_LOOKS = { success: "good", failed: "bad", dropped: "bad", expired: "warning" } as const;

function forwardedLine(forwarded: Forwarded): Line {
  const { at, eventType, eventId, attempt, result, status, latencyMs, detail } = forwarded;
  const number = attempt === 0 ? "" : `attempt ${attempt}`;
  const answered =
    result === "expired" ? [] : [status === 0 ? "" : String(status), `${latencyMs} ms`, detail];
  const shown = painted(RESULT_LOOKS[result], result);
  return joined([painted("dim", at), eventType, eventId, number, shown, ...answered]);
}

function readPolledAt({ environment }: Cli, options: ListenOptions): PolledAt {
  const workspaceId = options.workspace ?? environment["WORKSPACE_ID"];
  if (!workspaceId) {
    throw new CliFailure(
      EXIT.USAGE,
      "the workspace is missing: give its id with --workspace or WORKSPACE_ID",
    );
  }
  const given = options.baseUrl ?? (environment["BASE_URL"] || DEFAULT_BASE_URL);
  return { baseUrl: readUrl(given, "BASE_URL or --base-url", EXIT.SETTINGS).href, workspaceId };
}

/** Parses an http(s) URL. Throws a `CliFailure` that does not repeat the URL, which can contain a password. */
function readUrl(text: string, name: string, code: ExitCode): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isHttp = url?.protocol === "http:" || url?.protocol === "https:";
  if (isHttp && url.username === "" && url.password === "") return url;
  throw new CliFailure(
    code,
    `${name} must be an http or https URL without a user name or password, such as http://127.0.0.1:3000`,
  );
}
