import { status, type ServiceError } from "@grpc/grpc-js";
import {
  BridgeServiceClient,
  SealedKind,
  type PutSealedRequest,
  type SealedId,
} from "../../proto/gen/chatbridge/v1/bridge";
import { callUnary, createGrpcClient, type UnaryMethod } from "../../runtime/core-channel";
import type { CoreConnection } from "../../runtime/core-connection";
import { CoreCredentials } from "../../runtime/core-credentials";
import type { ErrorAnswer } from "../public/error-body";
import { CORE_AWAY, isServiceError } from "./core-answer";
import { CORE_CHANNEL } from "./workspace-client";

/** Milliseconds to wait for an answer. */
const DEADLINE_MS = 5_000;
/**
 * Maximum number of attempts to make a call that a core of an older release does not support. Each attempt goes to the
 * next core, so a new edge works as soon as one core has been upgraded.
 */
const ATTEMPTS_MAX = 4;

const CORE_IS_OLDER: ErrorAnswer = {
  status: 503,
  message: "This dashboard needs a newer release of core. Try again when the upgrade is complete.",
  retryAfterSeconds: 5,
};

/** Thrown when it is unknown whether there is a session, because core or its store does not answer. */
export class SessionsUnavailable extends Error {
  override readonly name = "SessionsUnavailable";
  constructor(readonly answer: ErrorAnswer) {
    super(answer.message);
  }
}

/** An entry that core stores for all edges. Only the edge can read it. */
export interface SealedEntry {
  readonly sealed: Uint8Array;
  readonly expiresAtMs: number;
}

export type SealedName = "session" | "link";
const KINDS = { session: SealedKind.SESSION, link: SealedKind.LINK } as const;

/** Stores sessions and sign-in links in core. All functions reject with `SessionsUnavailable` if core is unavailable. */
export interface SealedClient {
  /** Stores an entry. Returns undefined when the entries of other tokens use up all the room. */
  put(
    kind: SealedName,
    id: string,
    entry: Omit<PutSealedRequest, "id">,
  ): Promise<{ readonly expiresAtMs: number; readonly removedId: string } | undefined>;
  read(kind: SealedName, id: string, used: boolean): Promise<SealedEntry | undefined>;
  /** Removes an entry. Only one of several concurrent calls returns the entry. */
  take(kind: SealedName, id: string): Promise<Uint8Array | undefined>;
}

/** @param credentials the credentials of the connection; they can change */
export function createSealedClient(
  connection: CoreConnection,
  credentials: CoreCredentials = new CoreCredentials(connection),
) {
  const methods = createGrpcClient(BridgeServiceClient, connection.address, credentials.tls, CORE_CHANNEL);

  async function call<Request, Response>(
    method: UnaryMethod<Request, Response>,
    request: NoInfer<Request>,
  ): Promise<Response> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await credentials.call((metadata) =>
          callUnary(methods, method, request, metadata, DEADLINE_MS),
        );
      } catch (error) {
        if (!isServiceError(error)) throw error;
        if (error.code === status.UNIMPLEMENTED && attempt < ATTEMPTS_MAX) continue;
        throw unavailable(error) ?? error;
      }
    }
  }
  const idOf = (kind: SealedName, id: string): SealedId => ({ kind: KINDS[kind], id });

  const client: SealedClient = {
    async put(kind, id, entry) {
      try {
        const put = await call(methods.putSealed, { ...entry, id: idOf(kind, id) });
        return { expiresAtMs: put.expiresAt?.getTime() ?? 0, removedId: put.removedId };
      } catch (error) {
        if (isServiceError(error) && error.code === status.RESOURCE_EXHAUSTED) return undefined;
        throw error;
      }
    },
    async read(kind, id, used) {
      const { sealed, expiresAt } = await call(methods.readSealed, { id: idOf(kind, id), used });
      return sealed.length === 0 ? undefined : { sealed, expiresAtMs: expiresAt?.getTime() ?? 0 };
    },
    async take(kind, id) {
      const { sealed } = await call(methods.takeSealed, { id: idOf(kind, id) });
      return sealed.length === 0 ? undefined : sealed;
    },
  };
  return { ...client, close: () => methods.close() };
}

/** Returns the error to throw for a failed call; undefined when the failure is a bug. */
function unavailable({ code }: ServiceError): SessionsUnavailable | undefined {
  switch (code) {
    case status.UNIMPLEMENTED:
      return new SessionsUnavailable(CORE_IS_OLDER);
    case status.UNAVAILABLE:
    case status.DEADLINE_EXCEEDED:
    case status.CANCELLED:
    // Core rejects the edge's own token, which the edge logs. The person's session may still be valid.
    case status.UNAUTHENTICATED:
    case status.PERMISSION_DENIED:
      return new SessionsUnavailable(CORE_AWAY);
    default:
      return undefined;
  }
}
