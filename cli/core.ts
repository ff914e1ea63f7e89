import { readFileSync } from "node:fs";
import {
  Metadata,
  type ClientDuplexStream,
  type ClientReadableStream,
  type ServiceError,
} from "@grpc/grpc-js";
import { GameServiceClient, type FollowRequest, type FollowResponse } from "../proto/gen/chatbridge/v1/game";
import { WorkspaceServiceClient, type WatchWorkspaceResponse } from "../proto/gen/chatbridge/v1/workspace";
import { channelCredentials } from "../runtime/core-channel";
import { readCoreConnection, type CoreConnection } from "../runtime/core-connection";
import { readSettings, SettingsError } from "../runtime/settings";
import { EXIT } from "./exit-code";
import { callFailure, CliFailure, isServiceError, settingsFailure, type Called } from "./failure";

/** Longer than a test event, which may take 5 seconds. */
const ANSWER_WITHIN_MS = 15_000;
/** Room for a page of 1,000 workspaces with all fields at their maximum length. */
const MESSAGE_MAX_BYTES = 8 * 1024 * 1024;
const CHANNEL = {
  "grpc.max_receive_message_length": MESSAGE_MAX_BYTES,
  // On an idle stream, only pings reveal that core has disconnected without closing the connection.
  "grpc.keepalive_time_ms": 10_000,
  "grpc.keepalive_timeout_ms": 5_000,
  // A tail outlives restarts of core, and the default backoff between connections grows to 2 minutes.
  "grpc.max_reconnect_backoff_ms": 1_000,
};

export type Role = "operator" | "game";
export type Environment = Readonly<Record<string, string | undefined>>;

type Unary<Request, Response> = (
  request: Request,
  metadata: Metadata,
  options: { deadline: number },
  done: (error: ServiceError | null, response: Response) => void,
) => unknown;

/** A client of core with the token of one role. */
export interface Core<Methods> {
  readonly methods: Methods;
  readonly called: Called;
  /** Calls one of `methods`. Rejects with a `CliFailure`. */
  call<Request, Response>(method: Unary<Request, Response>, request: Request): Promise<Response>;
  close(): void;
}

export type Operator = Core<WorkspaceServiceClient> & {
  watch(workspaceId: string): ClientReadableStream<WatchWorkspaceResponse>;
};
export type Game = Core<GameServiceClient> & {
  follow(): ClientDuplexStream<FollowRequest, FollowResponse>;
};

export interface ConnectOptions {
  readonly environment: Environment;
  /** The options `core` and `tokenFile` override the environment. */
  readonly core?: string;
  readonly tokenFile?: string;
}

export function connectAsOperator(options: ConnectOptions): Operator {
  const connection = readConnection("operator", options);
  const methods = new WorkspaceServiceClient(connection.address, channelCredentials(connection.tls), CHANNEL);
  const core = createCore(methods, connection, "operator");
  return { ...core, watch: (workspaceId) => methods.watchWorkspace({ workspaceId }, bearer(connection)) };
}

export function connectAsGame(options: ConnectOptions): Game {
  const connection = readConnection("game", options);
  const methods = new GameServiceClient(connection.address, channelCredentials(connection.tls), CHANNEL);
  const core = createCore(methods, connection, "game");
  return { ...core, follow: () => methods.follow(bearer(connection)) };
}

function createCore<Methods extends { close(): void }>(
  methods: Methods,
  connection: CoreConnection,
  role: Role,
): Core<Methods> {
  const called = { address: connection.address, role };
  return {
    methods,
    called,
    call: (method, request) =>
      new Promise((resolve, reject) => {
        const options = { deadline: Date.now() + ANSWER_WITHIN_MS };
        method.call(methods, request, bearer(connection), options, (error, response) => {
          if (error === null) resolve(response);
          else reject(isServiceError(error) ? callFailure(error, called) : error);
        });
      }),
    close: () => methods.close(),
  };
}

function bearer({ token }: CoreConnection): Metadata {
  const metadata = new Metadata();
  metadata.set("authorization", `Bearer ${token}`);
  return metadata;
}

function readConnection(role: Role, { environment, core, tokenFile }: ConnectOptions): CoreConnection {
  const token = readToken(role, environment, tokenFile);
  const given = { ...environment, CORE_TOKEN: token, ...(core === undefined ? {} : { CORE_ADDRESS: core }) };
  try {
    return readSettings(given, (settings) => readCoreConnection(settings, role));
  } catch (error) {
    throw error instanceof SettingsError ? settingsFailure(error) : error;
  }
}

/** Returns the token from the file named by `flag`, from CORE_TOKEN, or from the file named by CORE_TOKEN_FILE. */
function readToken(role: Role, environment: Environment, flag: string | undefined): string | undefined {
  const own = environment["CORE_TOKEN"];
  if (flag === undefined && own) return own;
  const path = flag ?? environment["CORE_TOKEN_FILE"];
  if (!path) return undefined;
  let text: string;
  try {
    text = readFileSync(path, "utf8").trim();
  } catch (error) {
    throw new CliFailure(EXIT.SETTINGS, `cannot read the token file: ${(error as Error).message}`);
  }
  return text.startsWith("{") ? tokenOfRole(path, text, role) : text;
}

/** Returns the role's token from a settings file of `npm start`. */
function tokenOfRole(path: string, text: string, role: Role): string {
  try {
    const { tokens } = JSON.parse(text) as { readonly tokens?: Readonly<Record<string, unknown>> };
    const token = tokens?.[role];
    if (typeof token === "string") return token;
  } catch {
    // The error below covers invalid JSON too.
  }
  throw new CliFailure(
    EXIT.SETTINGS,
    `${path} has no token with the role ${role}: give a file with only the token, or JSON like {"tokens":{"${role}":"…"}}`,
  );
}
