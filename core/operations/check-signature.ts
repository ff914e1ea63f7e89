import { BODY_MAX_BYTES, TIMESTAMP_TOLERANCE_SECONDS } from "../../contract/numbers";
import type { SignatureCause } from "../../contract/requests";
import { startOfSignedText } from "../domain/refused-request";
import { parseSignature, signatureMatches } from "../domain/signature";
import { diagnoseSignature } from "../domain/signature-diagnosis";
import { activeKeys, hasHooks, knownSecrets, missingKey } from "../domain/workspace";
import type { Clock } from "../ports/outside";
import type { Workspaces } from "../ports/workspaces";
import { clockSeconds } from "./note-request";
import { NOT_FOUND, precondition, unreadable, type WorkspaceRefusal } from "./workspaces";

/** The signed part of a request: the exact body of a post, or the exact query string of a poll. */
export type SignedPart = { readonly body: Uint8Array } | { readonly query: string };

/**
 * The result of a check. It never contains a secret or an expected digest, so nobody can use the check to forge a
 * signature.
 */
export interface SignatureCheck {
  /**
   * The number of the active secret under which the digest is valid: 1 for the newest secret; 0 if the digest is
   * invalid.
   */
  readonly secretNumber: number;
  /** Undefined when the digest is valid. */
  readonly cause: SignatureCause | undefined;
  /** The start of the text that core expects to be signed; empty without a timestamp. */
  readonly signedText: string;
  readonly signedBytes: number;
  readonly clockSeconds: number;
  readonly isStale: boolean;
}

const SHOWN_MAX = 1_000;
const HEADER_MAX = 4_096;

/** Checks the signature of a request as `judgeCaller` does, and finds the likely reason if it is invalid. */
export async function checkSignature(
  { now, workspaces }: { readonly now: Clock; readonly workspaces: Workspaces },
  id: string,
  signed: SignedPart,
  header: string,
): Promise<SignatureCheck | WorkspaceRefusal> {
  const raw = "body" in signed ? signed.body : signed.query;
  if (Buffer.byteLength(raw) > BODY_MAX_BYTES)
    return { refused: "invalid", message: `signed: at most ${BODY_MAX_BYTES} bytes can be checked` };
  if (header.length > HEADER_MAX)
    return { refused: "invalid", message: `header must have at most ${HEADER_MAX} characters` };
  const workspace = (await workspaces.read(id))?.workspace;
  if (workspace === undefined) return NOT_FOUND;
  if (!hasHooks(workspace)) return precondition("the workspace is not connected: connect it first");
  const nowMs = now();
  const missing = missingKey(workspace, nowMs);
  if (missing !== undefined) return unreadable(missing);

  const parsed = parseSignature(header);
  const keys = activeKeys(workspace, nowMs);
  const place = parsed === undefined ? -1 : keys.findIndex((key) => signatureMatches(parsed, raw, [key]));
  const faulty = {
    header: header === "" ? undefined : header,
    raw,
    method: "body" in signed ? "POST" : "GET",
    workspaceId: id,
  } as const;
  const cause = place < 0 ? diagnoseSignature(faulty, knownSecrets(workspace, nowMs)).cause : undefined;
  const timestamp = parsed?.timestamp;
  const seconds = timestamp === undefined ? 0 : clockSeconds(Number(timestamp), nowMs);
  return {
    secretNumber: place + 1,
    cause,
    signedText: startOfSignedText(timestamp, raw, SHOWN_MAX) ?? "",
    signedBytes: timestamp === undefined ? 0 : timestamp.length + 1 + Buffer.byteLength(raw),
    clockSeconds: seconds,
    isStale: Math.abs(seconds) > TIMESTAMP_TOLERANCE_SECONDS,
  };
}
