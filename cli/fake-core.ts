import { InvalidArgumentError, Option } from "commander";
import { UUID_FORM } from "../contract/forms";
import { isLoopback, parseHostPort, type HostPort } from "../runtime/settings";
import type { Cli, CliCommand } from "./cli";
import { readTokenFile } from "./core";
import { EXIT } from "./exit-code";
import { CliFailure } from "./failure";

interface Options {
  readonly listen: HostPort;
  readonly http: HostPort;
  readonly httpHost?: readonly string[];
  readonly allowRemote?: true;
  readonly workspace?: readonly string[];
  readonly quiet?: true;
  readonly strict?: true;
}

const WORKSPACE = "00000000-0000-4000-8000-000000000001";

/** `chat-bridge fake-core` is a core in memory, for the development and the tests of games in any language. */
export function addFakeCore(program: CliCommand, cli: Cli): void {
  program
    .command("fake-core")
    .description("run a core in memory with a chat that you control, for developing and testing a game")
    .addOption(
      addressOption("--listen <host:port>", "address for games, gRPC without TLS", "127.0.0.1:50061"),
    )
    .addOption(addressOption("--http <host:port>", "address of the control API", "127.0.0.1:50062"))
    .option("--http-host <name>", "host name of the control API besides localhost; can be repeated", collect)
    .option("--allow-remote", "allow addresses that other machines can reach")
    .option(
      "--workspace <id>",
      `id of a workspace, a UUID; can be repeated (default: ${WORKSPACE})`,
      collectId,
    )
    .option("--quiet", "do not print what the chat shows")
    .option("--strict", "exit with 1 if the game broke a rule")
    .moreHelp(`
The fake core needs no Redis and no bridge. It accepts every token, or only the one in --token-file. Members act by
commands on stdin (type help) or by the control API, which docs/fake-core.md describes. "quit", Ctrl-C and SIGTERM print
a report of the rules that the game broke.

Examples:
  $ chat-bridge fake-core
  $ CORE_ADDRESS=127.0.0.1:50061 CORE_TOKEN=any my-game
  $ curl -d '{"text": "/play dice"}' http://127.0.0.1:50062/members/ada/types
  $ curl 'http://127.0.0.1:50062/messages?contains=throws&wait=5'`)
    .action(async (options: Options) => {
      const { listen, http, allowRemote = false } = options;
      for (const [option, { host }] of Object.entries({ "--listen": listen, "--http": http })) {
        if (!allowRemote && !isLoopback(host)) {
          throw new CliFailure(
            EXIT.USAGE,
            `other machines can reach ${option} ${host}, and a fake core protects nothing: use 127.0.0.1, or add --allow-remote`,
          );
        }
      }
      const { tokenFile } = cli.options();
      const token = tokenFile === undefined ? undefined : readTokenFile("game", tokenFile);
      // These files are loaded only now, because they take long to load and other commands do not need them.
      const { runFakeCore } = await import("./fake-core/run.js");
      await runFakeCore(cli, {
        listen,
        http,
        httpHosts: options.httpHost ?? [],
        token,
        workspaces: options.workspace ?? [WORKSPACE],
        isQuiet: options.quiet === true,
        isStrict: options.strict === true,
      });
    });
}

const addressOption = (flags: string, description: string, at: string): Option =>
  new Option(flags, description).default(parseAddress(at), at).argParser(parseAddress);

function parseAddress(text: string): HostPort {
  try {
    return parseHostPort(text);
  } catch {
    throw new InvalidArgumentError("It must be host:port, such as 127.0.0.1:50061.");
  }
}

const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];

function collectId(value: string, before: readonly string[] = []): readonly string[] {
  if (!UUID_FORM.test(value)) throw new InvalidArgumentError("It must be a UUID.");
  return collect(value, before);
}
