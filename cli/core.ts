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

/** A test event alone may take 5 seconds. */
const ANSWER_WITHIN_MS = 15_000;
/** A page of 1,000 workspaces with everything at its longest. */
const MESSAGE_MAX_BYTES = 8 * 1024 * 1024;
const CHANNEL = {
  "grpc.max_receive_message_length": MESSAGE_MAX_BYTES,
  // A stream on which nothing happens: only pings tell that core has gone without a word.
  "grpc.keepalive_time_ms": 10_000,
  "grpc.keepalive_timeout_ms": 5_000,
  // A tail outlives restarts: by default the pause between connections grows to 2 minutes.
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

/** Core, as someone with a token of a role may use it. */
export interface Core<Methods> {
  readonly methods: Methods;
  readonly called: Called;
  /** Calls one of `methods`; rejects with a CliFailure. */
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
  /** These go before the environment. */
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

/** The token of the file that the flag names, of CORE_TOKEN, or of the file that CORE_TOKEN_FILE names. */
function readToken(role: Role, environment: Environment, flag: string | undefined): string | undefined {
  const own = environment["CORE_TOKEN"];
  if (flag === undefined && own) return own;
  const path = flag ?? environment["CORE_TOKEN_FILE"];
  if (!path) return undefined;
  let text: string;
  try {
    text = readFileSync(path, "utf8").trim();
  } catch (error) {
    throw new CliFailure(
      EXIT.SETTINGS,
      `the file of the token cannot be read (${(error as Error).message}).`,
    );
  }
  return text.startsWith("{") ? tokenOfRole(path, text, role) : text;
}

/** A token of what `npm start` keeps. */
function tokenOfRole(path: string, text: string, role: Role): string {
  try {
    const { tokens } = JSON.parse(text) as { readonly tokens?: Readonly<Record<string, unknown>> };
    const token = tokens?.[role];
    if (typeof token === "string") return token;
  } catch {
    // Told of below.
  }
  throw new CliFailure(
    EXIT.SETTINGS,
    `${path} has no token of the role ${role}: a file has just the token, or JSON like {"tokens":{"${role}":"…"}}.`,
  );
}
