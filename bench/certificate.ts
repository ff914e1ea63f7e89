import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { UsageFault } from "./options";
import type { Scope } from "./scope";

/** A self-signed certificate for 127.0.0.1, in PEM. */
export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

export interface CertificateFile extends Certificate {
  /** Path of the certificate, for `PUSH_CA`. */
  readonly certPath: string;
}

export function makeCertificate({ folder }: Scope): CertificateFile {
  const [keyPath, certPath] = [join(folder, "receiver.key"), join(folder, "receiver.pem")];
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", keyPath];
  const names = ["-subj", "/CN=Benchmark", "-addext", "subjectAltName=IP:127.0.0.1"];
  try {
    execFileSync("openssl", ["req", "-x509", ...key, "-out", certPath, "-days", "2", ...names], {
      stdio: ["ignore", "ignore", "pipe"],
    });
  } catch (error) {
    throw new UsageFault(`cannot make a certificate with openssl: ${(error as Error).message}`);
  }
  return { key: readFileSync(keyPath, "utf8"), cert: readFileSync(certPath, "utf8"), certPath };
}
