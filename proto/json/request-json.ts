import { isRefusal } from "../../contract/requests";
import { CAUSE_WORDS, REQUEST_WORDS } from "../codes";
import type { BridgeRequests, CheckSignatureResponse, RefusedRequest } from "../gen/chatbridge/v1/workspace";
import type { RefusedShape, RequestsShape, SignatureCheckShape } from "./shapes";

/** Leaves out unknown kinds of request, which a newer release of core may send. */
export function toRequestsShape(requests: BridgeRequests | undefined): RequestsShape {
  const counts = (requests?.counts ?? []).flatMap(({ kind, count }) => {
    const word = REQUEST_WORDS.get(kind);
    return word === undefined ? [] : [[word, count] as const];
  });
  return {
    counts: Object.fromEntries(counts),
    refusals: (requests?.refusals ?? []).flatMap((each) => toRefusedShape(each) ?? []),
  };
}

function toRefusedShape(refused: RefusedRequest): RefusedShape | undefined {
  const { at, isPoll, sourceAddress, field, message, clockSeconds, bytes, cause, signedText } = refused;
  const kind = REQUEST_WORDS.get(refused.kind);
  if (kind === undefined || !isRefusal(kind) || at === undefined) return undefined;
  return {
    kind,
    at: at.toISOString(),
    method: isPoll ? "GET" : "POST",
    address: sourceAddress,
    field: field ?? null,
    message,
    clockSeconds,
    bytes,
    cause: CAUSE_WORDS.get(cause) ?? (kind === "signature" ? "unknown" : null),
    signedText,
    missingKey: refused.missingKey,
  };
}

export function toSignatureCheckShape(check: CheckSignatureResponse): SignatureCheckShape {
  const { valid, secretNumber, cause, signedText, signedBytes, clockSeconds, stale } = check;
  const word = valid ? null : (CAUSE_WORDS.get(cause) ?? "unknown");
  return { valid, secretNumber, cause: word, signedText, signedBytes, clockSeconds, stale };
}
