import { status } from "@grpc/grpc-js";
import {
  SealedKind as KindCode,
  type PutSealedRequest,
  type ReadSealedRequest,
  type SealedId,
  type TakeSealedRequest,
} from "../../proto/gen/chatbridge/v1/bridge";
import { SEALED_MAX_BYTES } from "../domain/bounds";
import type { SealedEntries, SealedKind } from "../ports/sealed-entries";
import { TOKEN_NAME_FORM } from "./known-tokens";
import { StatusError, unary, type ReportFault } from "./status";

export interface SealedContext {
  readonly sealedEntries: SealedEntries;
}

const ID_FORM = /^[\w-]{43}$/;
const KINDS: Readonly<Partial<Record<KindCode, SealedKind>>> = {
  [KindCode.SESSION]: "session",
  [KindCode.LINK]: "link",
};
const NO_BYTES = Buffer.alloc(0);

/** Returns the handlers of the calls for sealed entries. */
export function sealedMethods({ sealedEntries }: SealedContext, report: ReportFault) {
  return {
    putSealed: unary("PutSealed", report, async (request: PutSealedRequest) => {
      const { kind, id } = readId(request.id);
      const { sealed, tokenName, limited } = request;
      if (sealed.length === 0 || sealed.length > SEALED_MAX_BYTES)
        throw invalid(`sealed must have 1 to ${SEALED_MAX_BYTES} bytes`);
      if (!TOKEN_NAME_FORM.test(tokenName)) throw invalid("token_name must be the name of a token");
      const put = await sealedEntries.put(kind, { id, sealed, tokenName, isLimited: limited });
      if (put === "full") {
        const details = "the entries of other tokens leave no room: wait until one of them expires";
        throw new StatusError(status.RESOURCE_EXHAUSTED, details);
      }
      return { expiresAt: new Date(put.expiresAtMs), removedId: put.removedId ?? "" };
    }),
    readSealed: unary("ReadSealed", report, async (request: ReadSealedRequest) => {
      const { kind, id } = readId(request.id);
      const entry = await sealedEntries.read(kind, id, request.used);
      return {
        sealed: entry?.sealed ?? NO_BYTES,
        expiresAt: entry === undefined ? undefined : new Date(entry.expiresAtMs),
      };
    }),
    takeSealed: unary("TakeSealed", report, async (request: TakeSealedRequest) => {
      const { kind, id } = readId(request.id);
      return { sealed: (await sealedEntries.take(kind, id))?.sealed ?? NO_BYTES };
    }),
  };
}

function readId(given: SealedId | undefined): { readonly kind: SealedKind; readonly id: string } {
  const kind = KINDS[given?.kind ?? KindCode.UNSPECIFIED];
  if (kind === undefined) throw invalid("id.kind must be a session or a link");
  if (given === undefined || !ID_FORM.test(given.id))
    throw invalid("id.id must be 43 characters of base64url");
  return { kind, id: given.id };
}

function invalid(details: string): StatusError {
  return new StatusError(status.INVALID_ARGUMENT, details);
}
