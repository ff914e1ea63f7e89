import type { OlmMachine, RequestType as KeyRequestType } from "@matrix-org/matrix-sdk-crypto-wasm" with {
  "resolution-mode": "import",
};
import type { MatrixApi } from "../client/matrix-api";
import { isTransient } from "../client/matrix-error";
import type { CryptoLibrary } from "./load-library";

/** Milliseconds for which the homeserver waits for the keys of members of other servers. */
const OTHER_SERVERS_MS = 5_000;

/** A request that the library asks the bridge to send. */
export interface KeyRequest {
  readonly id: string | undefined;
  readonly type: KeyRequestType;
  readonly body: string;
  readonly event_type?: string;
  readonly txn_id?: string;
}

export type KeysApi = Pick<MatrixApi, "postKeys" | "sendToDevice">;

export interface KeyRequestParts {
  readonly sdk: CryptoLibrary;
  readonly machine: OlmMachine;
  readonly api: KeysApi;
  /** Resolves once all current keys would survive a crash. */
  save(): Promise<void>;
  /** Called with the error of a request that the homeserver rejected permanently. */
  onRejected(error: unknown): void;
}

export type KeyRequests = ReturnType<typeof createKeyRequests>;

/**
 * Sends the library's requests to the homeserver. Saves the keys before each request: keys that the homeserver or a
 * member knows must survive a crash.
 */
export function createKeyRequests({ sdk, machine, api, save, onRejected }: KeyRequestParts) {
  const { RequestType } = sdk;
  let sending: Promise<void> | undefined;

  function call(
    { type, body, event_type: eventType = "", txn_id: txnId = "" }: KeyRequest,
    signal: AbortSignal,
  ) {
    const content = JSON.parse(body) as object;
    switch (type) {
      case RequestType.KeysUpload:
        return api.postKeys("upload", content, signal);
      case RequestType.KeysQuery:
        return api.postKeys("query", { ...content, timeout: OTHER_SERVERS_MS }, signal);
      case RequestType.KeysClaim:
        return api.postKeys("claim", { ...content, timeout: OTHER_SERVERS_MS }, signal);
      case RequestType.SignatureUpload:
        return api.postKeys("signatures/upload", content, signal);
      case RequestType.ToDevice:
        return api.sendToDevice(eventType, txnId, content, signal);
      default:
        throw new Error(`cannot send a request of the type ${type}`);
    }
  }

  async function send(request: KeyRequest, signal: AbortSignal): Promise<void> {
    await save();
    const answer = await call(request, signal);
    if (request.id === undefined) return;
    await machine.markRequestAsSent(request.id, request.type, JSON.stringify(answer));
  }

  async function sendWaiting(signal: AbortSignal): Promise<void> {
    for (const request of (await machine.outgoingRequests()) as readonly KeyRequest[]) {
      try {
        await send(request, signal);
      } catch (error) {
        // The library returns the request again at the next call.
        if (isTransient(error)) throw error;
        onRejected(error);
      }
    }
  }

  return {
    send,
    /** Sends the waiting requests. Rejects if the homeserver does not answer: the next call sends the requests again. */
    sendWaiting(signal: AbortSignal): Promise<void> {
      // A pending call may have missed a new request, so this call sends the requests again after the pending call.
      const after = (sending ?? Promise.resolve()).catch(() => undefined).then(() => sendWaiting(signal));
      sending = after;
      return after;
    },
  };
}
