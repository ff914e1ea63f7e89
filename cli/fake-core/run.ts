import { formatHostPort, SettingsError, type HostPort } from "../../runtime/settings";
import { listening } from "../../runtime/listen-fault";
import { answer, type Cli } from "../cli";
import { EXIT } from "../exit-code";
import { CliFailure } from "../failure";
import { listenForControl, urlOf } from "./control-listener";
import { FakeChat } from "./fake-chat";
import { listenForGames } from "./game-listener";
import { messageJson, messageLine, type PlacedMessage } from "./message-lines";
import { Refused } from "./refused";
import { brokenOf, findingLine, reportJson, reportLines } from "./report-lines";
import { TypedCommands } from "./typed-commands";

export interface FakeCoreOptions {
  readonly listen: HostPort;
  readonly http: HostPort;
  readonly httpHosts: readonly string[];
  /** Undefined: every token is accepted. */
  readonly token: string | undefined;
  readonly workspaces: readonly string[];
  readonly isQuiet: boolean;
  readonly isStrict: boolean;
}

/** Seconds for which the fake core waits for the last acks before it stops. */
const SETTLE_SECONDS = 1;

/** Runs a fake core until `quit`, Ctrl-C or SIGTERM. */
export async function runFakeCore(cli: Cli, options: FakeCoreOptions): Promise<void> {
  const { terminal } = cli;
  const isJson = cli.options().json === true;
  const interrupted = cli.interruption();
  const chat = new FakeChat(options.workspaces, createPrinter(cli, options.isQuiet));
  const fault = (where: string, error: unknown): void =>
    terminal.tell(
      `chat-bridge: internal error in ${where}: ${error instanceof Error ? error.stack : String(error)}`,
    );
  const games = await started("--listen", listenForGames(chat, options.listen, options.token, fault));
  try {
    const control = await started("--http", listenForControl(chat, options.http, options.httpHosts));
    try {
      const grpc = formatHostPort({ ...options.listen, port: games.port });
      const http = urlOf(options.http, control.port);
      const { workspaceIds: workspaces } = chat.core;
      const ready = { type: "ready", grpc, http, workspaces };
      const token = options.token === undefined ? "any token" : "the token of --token-file";
      answer(cli, ready, [
        `Fake core for games: gRPC on ${grpc} with ${token}, control API on ${http}`,
        `Workspace: ${workspaces.join(", ")}`,
        'Type "help" for the commands.',
      ]);
      await acted(cli, chat, interrupted);
      await chat.until(() => chat.followers.length === 0 || chat.core.pending === 0, SETTLE_SECONDS);
    } finally {
      await control.close();
    }
  } finally {
    const findings = chat.core.report();
    chat.core.close();
    games.close();
    if (isJson) terminal.printJson({ type: "report", ...reportJson(findings) });
    else terminal.print(...reportLines(findings));
    if (options.isStrict && brokenOf(findings) > 0) cli.endWith(EXIT.NO);
  }
}

/** Runs the commands from stdin. Resolves at `quit` or when `interrupted` is aborted. */
function acted({ terminal, options }: Cli, chat: FakeChat, interrupted: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const commands = new TypedCommands(chat, options().json === true ? terminal.tell : terminal.print, end);
    const stop = terminal.eachLine((line) => {
      try {
        commands.run(line);
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        terminal.tell(error.message);
      }
    });
    function end(): void {
      stop();
      interrupted.removeEventListener("abort", end);
      resolve();
    }
    if (interrupted.aborted) end();
    else interrupted.addEventListener("abort", end);
  });
}

/** Prints each message that the chat shows, and the first finding of each kind. */
function createPrinter(cli: Cli, isQuiet: boolean) {
  const seen = new Set<string>();
  return {
    onShown(shown: PlacedMessage): void {
      if (!isQuiet) answer(cli, { type: "message", ...messageJson(shown) }, [messageLine(shown.message)]);
    },
    onFinding(finding: Parameters<typeof findingLine>[0]): void {
      if (isQuiet || seen.has(finding.code)) return;
      seen.add(finding.code);
      answer(cli, { type: "finding", ...finding }, [findingLine(finding)]);
    },
  };
}

async function started<T>(option: string, start: Promise<T>): Promise<T> {
  try {
    return await listening(option, start);
  } catch (error) {
    throw error instanceof SettingsError ? new CliFailure(EXIT.SETTINGS, error.faults.join("; ")) : error;
  }
}
