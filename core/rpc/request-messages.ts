import { status } from "@grpc/grpc-js";
import { CAUSE_CODES, REQUEST_CODES } from "../../proto/codes";
import {
  SignatureCause,
  type BridgeRequests,
  type CheckSignatureRequest,
  type CheckSignatureResponse,
  type RefusedRequest as RefusedMessage,
} from "../../proto/gen/chatbridge/v1/workspace";
import { REQUEST_KINDS } from "../../contract/requests";
import type { RefusedRequest } from "../domain/refused-request";
import type { SignatureCheck, SignedPart } from "../operations/check-signature";
import type { WorkspaceRequests } from "../ports/hour-counts";
import { StatusError } from "./status";

const COUNT_MAX = 0xffff_ffff;

export function toRequestsMessage({ buckets, refusals }: WorkspaceRequests): BridgeRequests {
  const counts = REQUEST_KINDS.flatMap((kind) => {
    const count = buckets.reduce((sum, bucket) => sum + (bucket.counts[kind] ?? 0), 0);
    return count === 0 ? [] : [{ kind: REQUEST_CODES[kind], count: Math.min(count, COUNT_MAX) }];
  });
  return { counts, refusals: refusals.map(toRefusedMessage) };
}

function toRefusedMessage(refused: RefusedRequest): RefusedMessage {
  const { kind, atMs, method, address, field, message, clockSeconds, bytes, cause, signedText } = refused;
  return {
    kind: REQUEST_CODES[kind],
    at: new Date(atMs),
    isPoll: method === "GET",
    sourceAddress: address,
    field,
    message: message ?? "",
    clockSeconds: clockSeconds ?? 0,
    bytes: bytes ?? 0,
    cause: toCauseCode(cause),
    signedText: signedText ?? "",
    missingKey: refused.missingKey ?? "",
  };
}

/** A cause that only a newer release knows has no code in this release. */
function toCauseCode(cause: RefusedRequest["cause"]): SignatureCause {
  return (cause && CAUSE_CODES[cause]) ?? SignatureCause.UNSPECIFIED;
}

export function readSignedPart(signed: CheckSignatureRequest["signed"]): SignedPart {
  switch (signed?.$case) {
    case "body":
      return { body: signed.value };
    case "query":
      return { query: signed.value };
    case undefined:
      throw new StatusError(status.INVALID_ARGUMENT, "signed is missing: send a body or a query");
  }
}

export function toCheckMessage(check: SignatureCheck): CheckSignatureResponse {
  const { secretNumber, cause, signedText, signedBytes, clockSeconds, isStale } = check;
  return {
    valid: secretNumber > 0,
    secretNumber,
    cause: toCauseCode(cause),
    signedText,
    signedBytes,
    clockSeconds,
    stale: isStale,
  };
}
