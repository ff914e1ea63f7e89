import { fail, judged, type Finding } from "./finding";
import type { TlsFacts } from "./open-tls";

const DAY_MS = 86_400_000;
/**
 * The time before a certificate expires, in days and as a fraction of its lifetime. The shorter of the two times
 * counts.
 */
const WARN = { days: 21, part: 1 / 3 } as const;
const FAIL = { days: 3, part: 1 / 10 } as const;

const RENEW = {
  fix: "renew the certificate, and check the job that renews it",
  page: "docs/doctor.md#certificates",
} as const;
const PAGE = RENEW.page;

/** The fault of a certificate that clients reject, and its fix, keyed by OpenSSL's error code. */
const FAULTS: Readonly<Record<string, readonly [says: string, fix: string]>> = {
  CERT_HAS_EXPIRED: ["has expired", RENEW.fix],
  CERT_NOT_YET_VALID: ["is not valid yet", "check the clock of this machine, and the certificate"],
  ERR_TLS_CERT_ALTNAME_INVALID: [
    "is for other names",
    "request a certificate with this name, or correct the address",
  ],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: [
    "comes without the certificate of its issuer",
    "let the server send the whole chain (often fullchain.pem), or give the issuer's certificate",
  ],
};

/** Judges the certificates that a server sent. `server` is the server's name in the finding. */
export function judgeCertificate(
  check: string,
  server: string,
  { certificates, fault }: TlsFacts,
  nowMs: number,
): Finding {
  const [leaf] = certificates;
  if (fault !== undefined) {
    const [says, fix] = FAULTS[fault] ?? [
      `is not trusted (${fault})`,
      "give the authority's certificate (--ca, or CORE_TLS_CA for core), or use a certificate of a public authority",
    ];
    const names = fault === "ERR_TLS_CERT_ALTNAME_INVALID" ? ` (${leaf?.names ?? ""})` : "";
    const ended = fault === "CERT_HAS_EXPIRED" && leaf !== undefined ? ` (on ${day(leaf.toMs)})` : "";
    return fail(check, `the certificate of ${server} ${says}${names}${ended}`, { fix, page: PAGE });
  }
  const first = certificates.toSorted((a, b) => a.toMs - b.toMs)[0];
  if (first === undefined) return fail(check, `${server} sent no certificate`, RENEW);
  const leftMs = first.toMs - nowMs;
  const lifeMs = first.toMs - first.fromMs;
  const isWithin = ({ days, part }: typeof WARN | typeof FAIL): boolean =>
    leftMs < Math.min(days * DAY_MS, lifeMs * part);
  const level = isWithin(FAIL) ? "fail" : isWithin(WARN) ? "warn" : "ok";
  const says = `the certificate of ${server} is valid for ${Math.max(0, Math.floor(leftMs / DAY_MS))} more days, until ${day(first.toMs)}`;
  return judged(check, level, says, RENEW);
}

function day(ms: number): string {
  return Number.isFinite(ms) ? new Date(ms).toISOString().slice(0, 10) : "an unknown day";
}
