import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { isIP } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A certificate with its key, in PEM. */
export interface Certificate {
  readonly key: Buffer;
  readonly cert: Buffer;
  readonly keyPath: string;
  readonly certPath: string;
}

/** A certificate authority of a test's own, in a temporary folder. */
export interface TestCa {
  /** Its certificate, in PEM: what a client must trust. */
  readonly cert: Buffer;
  /** The file of it: a process trusts it with NODE_EXTRA_CA_CERTS. */
  readonly certPath: string;
  /** Where its files are: `openTestCa` takes it. */
  readonly folder: string;
  /** A certificate for DNS names and IP addresses, valid now. */
  issue(names: readonly string[]): Certificate;
  /** One that ended the moment it was made. */
  issueExpired(names: readonly string[]): Certificate;
  /** One that is right in all but its name, which nobody asks for. */
  issueForWrongName(): Certificate;
  /** One that nobody vouches for but itself. */
  selfSigned(names: readonly string[]): Certificate;
  /** Removes the folder. What was read of it stays usable. */
  close(): void;
}

const EC_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
const DAYS_VALID = "2";

/** Makes a CA. One made by another call is an unknown CA to those who trust this one. */
export function createTestCa(): TestCa {
  const folder = mkdtempSync(join(tmpdir(), "cb-ca-"));
  const ca = pathsIn(folder, "ca");
  openssl("req", "-x509", ...EC_KEY, ...output(ca), "-days", DAYS_VALID, "-subj", "/CN=Test CA");
  return openTestCa(folder);
}

/** A CA that `createTestCa` made, with a folder of its own for what it issues. */
export function openTestCa(caFolder: string): TestCa {
  const ca = pathsIn(caFolder, "ca");
  const folder = mkdtempSync(join(caFolder, "issued-"));
  let issued = 0;

  const pathsOf = (name: string) => pathsIn(folder, name);

  function issueFor(names: readonly string[], days: string): Certificate {
    const paths = pathsOf(`leaf-${++issued}`);
    const request = join(folder, `leaf-${issued}.csr`);
    openssl("req", "-new", ...EC_KEY, ...output({ ...paths, certPath: request }), ...described(names));
    const by = ["-CA", ca.certPath, "-CAkey", ca.keyPath, "-set_serial", String(issued)];
    const what = ["-in", request, "-out", paths.certPath, "-days", days, "-copy_extensions", "copy"];
    openssl("x509", "-req", ...by, ...what);
    return readCertificate(paths);
  }

  return {
    cert: readFileSync(ca.certPath),
    certPath: ca.certPath,
    folder: caFolder,
    issue: (names) => issueFor(names, DAYS_VALID),
    // A certificate counts as expired from its last second on, so that no wait is needed.
    issueExpired: (names) => issueFor(names, "0"),
    issueForWrongName: () => issueFor(["somebody-else.example"], DAYS_VALID),
    selfSigned(names) {
      const paths = pathsOf(`leaf-${++issued}`);
      openssl("req", "-x509", ...EC_KEY, ...output(paths), "-days", DAYS_VALID, ...described(names));
      return readCertificate(paths);
    },
    close() {
      rmSync(caFolder, { recursive: true, force: true });
    },
  };
}

function pathsIn(folder: string, name: string): { keyPath: string; certPath: string } {
  return { keyPath: join(folder, `${name}.key`), certPath: join(folder, `${name}.pem`) };
}

function output({ keyPath, certPath }: { keyPath: string; certPath: string }): readonly string[] {
  return ["-keyout", keyPath, "-out", certPath];
}

function described(names: readonly string[]): readonly string[] {
  const entries = names.map((name) => `${isIP(name) === 0 ? "DNS" : "IP"}:${name}`);
  return ["-subj", "/CN=Test bridge", "-addext", `subjectAltName=${entries.join(",")}`];
}

/** Reads the files of a certificate. */
export function readCertificate(paths: { keyPath: string; certPath: string }): Certificate {
  return { ...paths, key: readFileSync(paths.keyPath), cert: readFileSync(paths.certPath) };
}

function openssl(...args: readonly string[]): void {
  execFileSync("openssl", args, { stdio: ["ignore", "ignore", "pipe"] });
}
