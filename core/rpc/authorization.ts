import type { ServerHttp2Stream } from "node:http2";
import {
  Metadata,
  ServerInterceptingCall,
  ServerListenerBuilder,
  status,
  type ServerInterceptor,
  type StatusObject,
} from "@grpc/grpc-js";
import { createRefusalPace } from "../../runtime/refusal-pace";
import {
  PROBE_REQUEST_MAX_BYTES,
  REFUSALS,
  STARTS_PER_TURN,
  WORKSPACE_REQUEST_MAX_BYTES,
} from "../domain/bounds";
import { CallEnd } from "../domain/end-signal";
import type { AcceptedCaller, AcceptedTokens } from "./accepted-tokens";
import { CANCELLED, leaveOf, setCaller } from "./call-caller";
import { isLimited, type CallPace } from "./call-pace";
import { createCallStarts } from "./call-starts";
import { createIncompleteRequests, streamOf, type IncompleteRequest } from "./incomplete-requests";
import type { CallerRole } from "./known-tokens";
import { createOpenCalls, findRevocation } from "./open-calls";
import { StatusError } from "./status";

/** The local and the remote address of a connection. */
export type Connection = ReturnType<ServerInterceptingCall["getConnectionInfo"]>;

type Refusal = Pick<StatusObject, "code" | "details">;

/** What a service requires of its callers: one role, a token of any role, or no token. */
type Needed = CallerRole | "any" | "no token";

const ROLE_OF_SERVICE: Readonly<Record<string, Needed>> = {
  "chatbridge.v1.BridgeService": "edge",
  "chatbridge.v1.GameService": "game",
  "chatbridge.v1.WorkspaceService": "operator",
  // Probes cannot send a token.
  "grpc.health.v1.Health": "no token",
  "grpc.reflection.v1.ServerReflection": "any",
  "grpc.reflection.v1alpha.ServerReflection": "any",
};

/**
 * Maximum size in bytes of one request, by the role that a service requires. Only gRPC's own limit applies to publish
 * requests. The requests of edges are not counted at all, because each edge bounds the bytes of its calls.
 */
const REQUEST_MAX_BYTES: Readonly<Record<Needed, number | "uncounted">> = {
  edge: "uncounted",
  game: Infinity,
  operator: WORKSPACE_REQUEST_MAX_BYTES,
  any: PROBE_REQUEST_MAX_BYTES,
  "no token": PROBE_REQUEST_MAX_BYTES,
};

/** The full names of all services of core. */
export const SERVICES: readonly string[] = Object.keys(ROLE_OF_SERVICE);

/**
 * Returns an interceptor that authenticates and authorizes calls. The interceptor accepts a call if the call's bearer
 * token has the role that the service requires, or if the service requires no token. Calls to services that are not in
 * `ROLE_OF_SERVICE` are rejected. Handlers get the caller from `callerOf`. Calls start at the pace of their token, and
 * the RESOURCE_EXHAUSTED answers to each token are sent at the pace of `REFUSALS`.
 * @param onCall is called for each accepted call; `neededToken` says whether the service of the call requires a token
 */
export function createAuthorization(
  tokens: AcceptedTokens,
  pace: CallPace,
  onCall: (connection: Connection, neededToken: boolean) => void,
): ServerInterceptor {
  const judge = createJudge(tokens);
  const track = createOpenCalls(tokens);
  const refusals = createRefusalPace(REFUSALS);
  const inTurn = createCallStarts(STARTS_PER_TURN);
  const bound = createIncompleteRequests();

  return (method, call) => {
    let caller: AcceptedCaller | undefined;
    let untrack: (() => void) | undefined;
    let incomplete: IncompleteRequest | undefined;
    return new ServerInterceptingCall(call, {
      start(next) {
        const over = new CallEnd();
        const listener = new ServerListenerBuilder()
          .withOnReceiveMetadata((metadata, proceed) => {
            const needed = ROLE_OF_SERVICE[method.path.split("/")[1] ?? ""];
            const judged = judge(needed, metadata);
            if (judged !== undefined && "code" in judged) {
              call.sendStatus(judged);
              return;
            }
            caller = judged;
            if (judged !== undefined) {
              setCaller(metadata, judged, over);
              if (method.requestStream || method.responseStream) {
                const end = (revoked: Refusal): void => call.sendStatus(revoked);
                untrack = track({ caller: judged, leave: () => leaveOf(metadata), end });
              }
            }
            const mostBytes = REQUEST_MAX_BYTES[needed ?? "any"];
            if (mostBytes !== "uncounted") incomplete = bound(call, judged, mostBytes);
            onCall(call.getConnectionInfo(), needed !== "no token");
            if (!isLimited(judged)) {
              proceed(metadata);
              return;
            }
            const begin = (): void => {
              const revoked = findRevocation(tokens, judged);
              if (revoked === undefined) proceed(metadata);
              else call.sendStatus(revoked);
            };
            pace.start(judged, over).then(
              () => begin(),
              (error: unknown) => {
                if (!(error instanceof StatusError)) return; // The call was cancelled.
                const refusal = { code: error.code, details: error.message };
                refusals.refuse(judged.name, () => call.sendStatus(refusal));
              },
            );
          })
          .withOnReceiveMessage((message, proceed) => {
            incomplete?.release();
            proceed(message);
          })
          // Despite the callback's name, gRPC also runs the callback for a call that was not cancelled, after the last
          // byte of the answer.
          .withOnCancel(() => {
            incomplete?.end();
            untrack?.();
            over.abort(CANCELLED);
          })
          .build();
        const stream = streamOf(call);
        releaseAfterClose(stream);
        inTurn(stream.session ?? call, () => next(listener));
      },
      sendStatus(answer, next) {
        if (answer.code !== status.RESOURCE_EXHAUSTED || caller === undefined) next(answer);
        else refusals.refuse(caller.name, () => next(answer));
      },
    });
  };
}

/**
 * Lets the garbage collector free a call when its stream has closed. The listeners of the stream refer to the call and
 * its request. Node's HTTP/2 session may keep a closed stream in memory until the next full garbage collection.
 */
function releaseAfterClose(stream: ServerHttp2Stream): void {
  stream.once("close", removeListeners);
}

function removeListeners(this: ServerHttp2Stream): void {
  this.removeAllListeners();
  this.on("error", ignore);
}
const ignore = (): void => undefined;

/**
 * Returns a function that returns the caller of a call, or the refusal of the call. That function returns undefined if
 * the service requires no token.
 */
function createJudge(tokens: AcceptedTokens) {
  return (needed: Needed | undefined, metadata: Metadata): AcceptedCaller | Refusal | undefined => {
    if (needed === "no token") return undefined;
    const [header] = metadata.get("authorization");
    const token = /^Bearer +(\S+)$/i.exec(String(header ?? ""))?.[1];
    const callers = token === undefined ? [] : tokens.callersWith(token);
    if (callers.length === 0) {
      const details =
        "the token is missing or unknown: send a token of CORE_TOKENS or CORE_TOKENS_FILE as metadata 'authorization: Bearer <token>'";
      return { code: status.UNAUTHENTICATED, details };
    }
    const caller = needed === "any" ? callers[0] : callers.find(({ role }) => role === needed);
    if (caller !== undefined) return caller;
    const details = `this service accepts only the role ${needed ?? "(none)"}`;
    return { code: status.PERMISSION_DENIED, details };
  };
}
