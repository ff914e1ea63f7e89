import { readFileSync } from "node:fs";
import type { Client, Metadata } from "@grpc/grpc-js";
import { GameServiceClient } from "../proto/gen/chatbridge/v1/game";
import { WorkspaceServiceClient } from "../proto/gen/chatbridge/v1/workspace";
import {
  bearer,
  callUnary,
  createGrpcClient,
  type CoreClientClass,
  type UnaryMethod,
} from "../runtime/core-channel";
import { readCoreConnection, type CoreConnection } from "../runtime/core-connection";
import { workspaceIdOf } from "./workspace-names";
import { readSettings, SettingsError } from "../runtime/settings";
import type { Cli } from "./cli";
import { EXIT } from "./exit-code";
import {
  callFailure,
  CliFailure,
  isReadMethod,
  isServiceError,
  settingsFailure,
  type Called,
  type Role,
} from "./failure";

/** Timeout of a call, ms. A test event can take 5 seconds, so the timeout is longer. */
const ANSWER_WITHIN_MS = 15_000;
/**
 * Maximum size of a response in bytes. It is enough for 1,000 workspaces whose fields all have their maximum length.
 */
const MESSAGE_MAX_BYTES = 8 * 1024 * 1024;
const CHANNEL = {
  "grpc.max_receive_message_length": MESSAGE_MAX_BYTES,
  // On an idle stream, only pings reveal that the connection to core was lost without being closed.
  "grpc.keepalive_time_ms": 10_000,
  "grpc.keepalive_timeout_ms": 5_000,
  // By default, the wait between two connection attempts grows up to 2 minutes. This is too long for `tail` commands,
  // which must reconnect soon after a restart of core.
  "grpc.max_reconnect_backoff_ms": 1_000,
};

/** A client for core that sends the token of one role. */
export interface Core<Methods> {
  readonly methods: Methods;
  /** Metadata for streams, with the token. */
  readonly metadata: Metadata;
  readonly called: Called;
  /** Calls one of `methods`. Rejects with a `CliFailure`. */
  call<Request, Response>(method: UnaryMethod<Request, Response>, request: Request): Promise<Response>;
}

/** A client for core that sends an operator's token. */
export interface OperatorCore extends Core<WorkspaceServiceClient> {
  /** Returns the id of the workspace with this id or unique name. Rejects with a `CliFailure`. */
  workspaceId(text: string): Promise<string>;
}

/**
 * Calls `work` with a client that has an operator's token. The field `workspaceId` of a request can contain the name of
 * the workspace instead of the id.
 */
export function asOperator<T>(cli: Cli, work: (operator: OperatorCore) => Promise<T>): Promise<T> {
  return withCore(cli, "operator", WorkspaceServiceClient, (core) => {
    const ids = new Map<string, Promise<string>>();
    function workspaceId(text: string): Promise<string> {
      const id = ids.get(text) ?? workspaceIdOf(text, core.methods, core.call);
      ids.set(text, id);
      return id;
    }
    return work({
      ...core,
      workspaceId,
      async call(method, request) {
        const { workspaceId: text } = request as { readonly workspaceId?: unknown };
        if (typeof text !== "string" || text === "") return core.call(method, request);
        return core.call(method, { ...request, workspaceId: await workspaceId(text) });
      },
    });
  });
}

/** Calls `work` with a client that has a game's token. */
export function asGame<T>(cli: Cli, work: (game: Core<GameServiceClient>) => Promise<T>): Promise<T> {
  return withCore(cli, "game", GameServiceClient, work);
}

async function withCore<Methods extends Client, T>(
  cli: Cli,
  role: Role,
  Service: CoreClientClass<Methods>,
  work: (core: Core<Methods>) => Promise<T>,
): Promise<T> {
  const { address, tls, token } = readConnection(role, cli);
  const methods = createGrpcClient(Service, address, tls, CHANNEL);
  const metadata = bearer(token);
  // No command opens a stream that changes anything.
  const called = { address, role, isRead: true };
  try {
    return await work({
      methods,
      metadata,
      called,
      call: (method, request) =>
        callUnary(methods, method, request, metadata, ANSWER_WITHIN_MS).catch((error: unknown) => {
          if (!isServiceError(error)) throw error;
          throw callFailure(error, { ...called, isRead: isReadMethod(method) });
        }),
    });
  } finally {
    methods.close();
  }
}

/** Returns the operator's token from the settings. Throws a `CliFailure`. */
export const operatorToken = (cli: Cli): string => readConnection("operator", cli).token;

/** Returns core's address and the command's credentials. Throws a `CliFailure`. */
export function readConnection(role: Role, cli: Pick<Cli, "environment" | "options">): CoreConnection {
  const { environment, options } = cli;
  const { core = environment["CORE_ADDRESS"] } = options();
  const CORE_TOKEN = readToken(role, cli);
  try {
    return readSettings(
      { ...environment, CORE_TOKEN, CORE_TOKEN_FILE: undefined, CORE_ADDRESS: core },
      (settings) => readCoreConnection(settings, role),
    );
  } catch (error) {
    throw error instanceof SettingsError ? settingsFailure(error) : error;
  }
}

/** Returns the path of the token file, or undefined if the token is in CORE_TOKEN. */
export function tokenPath({
  environment,
  options,
}: Pick<Cli, "environment" | "options">): string | undefined {
  return options().tokenFile ?? (environment["CORE_TOKEN"] ? undefined : environment["CORE_TOKEN_FILE"]);
}

/** Returns the token: from the file of --token-file if given, else CORE_TOKEN, else from the file of CORE_TOKEN_FILE. */
function readToken(role: Role, cli: Pick<Cli, "environment" | "options">): string | undefined {
  const path = tokenPath(cli);
  return path ? readTokenFile(role, path) : cli.environment["CORE_TOKEN"];
}

/** Returns the token of a role from a file. Throws a `CliFailure`. */
export function readTokenFile(role: Role, path: string): string {
  let text: string;
  try {
    text = readFileSync(path, "utf8").trim();
  } catch (error) {
    throw new CliFailure(EXIT.SETTINGS, `cannot read the token file: ${(error as Error).message}`);
  }
  return text.startsWith("{") ? tokenOfRole(path, text, role) : text;
}

/** Returns the role's token from a JSON file, e.g. the settings file that `npm start` writes. */
function tokenOfRole(path: string, text: string, role: Role): string {
  try {
    const { tokens } = JSON.parse(text) as { readonly tokens?: Readonly<Record<string, unknown>> };
    const token = tokens?.[role];
    if (typeof token === "string") return token;
  } catch {
    // The error below also covers invalid JSON.
  }
  throw new CliFailure(
    EXIT.SETTINGS,
    `${path} has no token with the role ${role}: give a file with only the token, or JSON like {"tokens":{"${role}":"…"}}`,
  );
}
