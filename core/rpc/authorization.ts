import { createHash, timingSafeEqual } from "node:crypto";
import {
  Metadata,
  ServerInterceptingCall,
  ServerListenerBuilder,
  status,
  type ServerInterceptor,
  type StatusObject,
} from "@grpc/grpc-js";

/** A caller's role. Each has the services that ROLE_OF_SERVICE gives it. */
export type CallerRole = "edge" | "game" | "operator";

/** A token that core knows. */
export interface KnownToken {
  readonly role: CallerRole;
  readonly token: string;
}

/** The two ends of a connection. */
export type Connection = ReturnType<ServerInterceptingCall["getConnectionInfo"]>;

type Refusal = Pick<StatusObject, "code" | "details">;

const ROLE_OF_SERVICE: Readonly<Record<string, CallerRole | "any" | "no token">> = {
  "chatbridge.v1.BridgeService": "edge",
  "chatbridge.v1.GameService": "game",
  "chatbridge.v1.WorkspaceService": "operator",
  // What probes call, which can send none.
  "grpc.health.v1.Health": "no token",
  "grpc.reflection.v1.ServerReflection": "any",
  "grpc.reflection.v1alpha.ServerReflection": "any",
};

/** The names of all that core serves. */
export const SERVICES: readonly string[] = Object.keys(ROLE_OF_SERVICE);

/**
 * Lets calls through whose bearer token is of the service's role. A service that is not listed is for nobody.
 * @param onCall is called for each call that is let through, with its connection
 */
export function createAuthorization(
  tokens: readonly KnownToken[],
  onCall: (connection: Connection, neededToken: boolean) => void,
): ServerInterceptor {
  // Digests have one length, so that comparing tells nothing of a token's.
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
      return refuse(
        status.UNAUTHENTICATED,
        "send a token that core knows, as metadata 'authorization: Bearer <token>'",
      );
    }
    if (needed === "any" || (needed !== undefined && roles.includes(needed))) return undefined;
    return refuse(status.PERMISSION_DENIED, `this needs a token of the role ${needed ?? "that nobody has"}`);
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

function refuse(code: status, details: string): Refusal {
  return { code, details };
}
