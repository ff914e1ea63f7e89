import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { isIP } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export type Certificate = ReturnType<typeof readCertificate>;

/** A certificate authority for tests, in a temporary folder. */
export type TestCa = ReturnType<typeof openTestCa>;

const EC_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
/** Days for which a certificate of the CA is valid. */
export const DAYS_VALID = 2;
/** Days for which the CA is valid: long enough that a service does not report that the CA expires soon. */
export const CA_DAYS_VALID = 30;

/**
 * Creates a CA. Each call creates a different CA, so a client that trusts only one CA rejects the certificates of the
 * others.
 */
export function createTestCa() {
  const folder = mkdtempSync(join(tmpdir(), "cb-ca-"));
  const ca = pathsIn(folder, "ca");
  openssl("req", "-x509", ...EC_KEY, ...output(ca), "-days", String(CA_DAYS_VALID), "-subj", "/CN=Test CA");
  return openTestCa(folder);
}

/** Opens a CA that `createTestCa` created. Each call stores the certificates that it issues in a new folder. */
export function openTestCa(caFolder: string) {
  const ca = pathsIn(caFolder, "ca");
  const folder = mkdtempSync(join(caFolder, "issued-"));
  let issued = 0;

  function issueFor(names: readonly string[], days: number): Certificate {
    const paths = pathsIn(folder, `leaf-${++issued}`);
    const request = join(folder, `leaf-${issued}.csr`);
    openssl("req", "-new", ...EC_KEY, ...output({ ...paths, certPath: request }), ...described(names));
    const by = ["-CA", ca.certPath, "-CAkey", ca.keyPath, "-set_serial", String(issued)];
    const what = ["-in", request, "-out", paths.certPath, "-days", String(days), "-copy_extensions", "copy"];
    openssl("x509", "-req", ...by, ...what);
    return readCertificate(paths);
  }

  return {
    /** The certificate that a client must trust, in PEM. `certPath` is the path of the certificate's file. */
    cert: readFileSync(ca.certPath),
    certPath: ca.certPath,
    /** The argument for `openTestCa`. */
    folder: caFolder,
    issue: (names: readonly string[]) => issueFor(names, DAYS_VALID),
    // With a validity of 0 days, the certificate expires in the second in which it is issued. OpenSSL treats it as
    // expired immediately, so the test does not have to wait.
    issueExpired: (names: readonly string[]) => issueFor(names, 0),
    issueForWrongName: () => issueFor(["somebody-else.example"], DAYS_VALID),
    selfSigned(names: readonly string[]) {
      const paths = pathsIn(folder, `leaf-${++issued}`);
      openssl("req", "-x509", ...EC_KEY, ...output(paths), "-days", String(DAYS_VALID), ...described(names));
      return readCertificate(paths);
    },
    /** Removes the folder. Programs that have already read their certificates can still use them. */
    close: () => rmSync(caFolder, { recursive: true, force: true }),
  };
}

type Paths = Readonly<Record<"keyPath" | "certPath", string>>;

const pathsIn = (folder: string, name: string): Paths => ({
  keyPath: join(folder, `${name}.key`),
  certPath: join(folder, `${name}.pem`),
});
const output = ({ keyPath, certPath }: Paths) => ["-keyout", keyPath, "-out", certPath];

function described(names: readonly string[]): readonly string[] {
  const entries = names.map((name) => `${isIP(name) === 0 ? "DNS" : "IP"}:${name}`);
  return ["-subj", "/CN=Test bridge", "-addext", `subjectAltName=${entries.join(",")}`];
}

export function readCertificate(paths: Paths) {
  return { ...paths, key: readFileSync(paths.keyPath), cert: readFileSync(paths.certPath) };
}

function openssl(...args: readonly string[]): void {
  execFileSync("openssl", args, { stdio: ["ignore", "ignore", "pipe"] });
}
