import { createHash, timingSafeEqual } from "node:crypto";
import {
  Metadata,
  ServerInterceptingCall,
  ServerListenerBuilder,
  status,
  type ServerInterceptor,
  type StatusObject,
} from "@grpc/grpc-js";

/** The roles of callers. `ROLE_OF_SERVICE` says which services a role may call. */
export const ROLES = ["edge", "game", "operator"] as const;
type CallerRole = (typeof ROLES)[number];

/** A token that core accepts. */
export interface KnownToken {
  readonly role: CallerRole;
  readonly token: string;
}

/** The local and the remote address of a connection. */
export type Connection = ReturnType<ServerInterceptingCall["getConnectionInfo"]>;

type Refusal = Pick<StatusObject, "code" | "details">;

const ROLE_OF_SERVICE: Readonly<Record<string, CallerRole | "any" | "no token">> = {
  "chatbridge.v1.BridgeService": "edge",
  "chatbridge.v1.GameService": "game",
  "chatbridge.v1.WorkspaceService": "operator",
  // Probes cannot send a token.
  "grpc.health.v1.Health": "no token",
  "grpc.reflection.v1.ServerReflection": "any",
  "grpc.reflection.v1alpha.ServerReflection": "any",
};

/** The full names of all services of core. */
export const SERVICES: readonly string[] = Object.keys(ROLE_OF_SERVICE);

/**
 * Returns an interceptor that accepts a call if its bearer token has the role that the service requires, or if the
 * service requires no token. Calls to services that are not in `ROLE_OF_SERVICE` are rejected.
 * @param onCall is called for each accepted call; `neededToken` says whether the service of the call requires a token
 */
export function createAuthorization(
  tokens: readonly KnownToken[],
  onCall: (connection: Connection, neededToken: boolean) => void,
): ServerInterceptor {
  // The digests of all tokens have the same length, so comparing digests does not reveal the length of a token.
  const known = tokens.map(({ role, token }) => ({ role, digest: digest(token) }));

  function judge(
    needed: (typeof ROLE_OF_SERVICE)[string] | undefined,
    metadata: Metadata,
  ): Refusal | undefined {
    if (needed === "no token") return undefined;
    const [header] = metadata.get("authorization");
    const token = /^Bearer +(\S+)$/i.exec(String(header ?? ""))?.[1];
    const sent = token === undefined ? undefined : digest(token);
    const roles = known
      .filter((each) => sent !== undefined && timingSafeEqual(each.digest, sent))
      .map(({ role }) => role);
    if (roles.length === 0) {
      const details =
        "the token is missing or unknown: send a token of CORE_TOKENS as metadata 'authorization: Bearer <token>'";
      return { code: status.UNAUTHENTICATED, details };
    }
    if (needed === "any" || (needed !== undefined && roles.includes(needed))) return undefined;
    const details = `this service accepts only the role ${needed ?? "(none)"}`;
    return { code: status.PERMISSION_DENIED, details };
  }

  return (method, call) =>
    new ServerInterceptingCall(call, {
      start(next) {
        const listener = new ServerListenerBuilder()
          .withOnReceiveMetadata((metadata, proceed) => {
            const needed = ROLE_OF_SERVICE[method.path.split("/")[1] ?? ""];
            const refused = judge(needed, metadata);
            if (refused !== undefined) {
              call.sendStatus(refused);
              return;
            }
            onCall(call.getConnectionInfo(), needed !== "no token");
            proceed(metadata);
          })
          .build();
        next(listener);
      },
    });
}

function digest(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}
