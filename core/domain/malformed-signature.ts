import type { SignatureCause } from "../../contract/requests";

/** Returns the first likely reason why a header does not have the form `t=<unix seconds>,v1=<hex>[,v1=<hex>…]`. */
export function malformedCause(header: string): SignatureCause {
  const text = header.slice(0, HEADER_MAX);
  if (text === "") return "missing";
  if (/^service-signature\s*:/i.test(text)) return "name-in-value";
  if ((text.match(/(?:^|[\s,])t=/g) ?? []).length > 1) return "repeated-header";
  if (/\s/.test(text)) return "spaces";
  const entries = text.split(",");
  const timestamp = entries.find((entry) => entry.startsWith("t="));
  if (timestamp === undefined) return "without-timestamp";
  if (!/^t=[0-9]+$/.test(timestamp)) return "timestamp-form";
  const digest = entries.find((entry) => entry.startsWith("v1="));
  if (digest === undefined || digest === "v1=") return "without-digest";
  if (!text.startsWith("t=")) return "order";
  return BASE64_DIGEST.test(digest) ? "base64-digest" : "digest-form";
}

/** Maximum number of characters of a header that are examined. */
const HEADER_MAX = 1_024;
/** A SHA-256 digest in base64 or base64url. */
const BASE64_DIGEST = /^v1=[0-9a-zA-Z+/_-]{43}=?$/;
