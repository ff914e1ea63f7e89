import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { isIP } from "node:net";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

/** PEM files of a self-signed certificate and its key. */
export interface CertificateFiles {
  readonly certPath: string;
  readonly keyPath: string;
}

const DAYS_VALID = "3650";

/**
 * Makes a self-signed certificate for a host. The new files in `folder` replace the
 * files of an earlier run. Resolves to undefined when openssl is missing or fails.
 */
export async function makeCertificate(folder: string, host: string): Promise<CertificateFiles | undefined> {
  return make({ certPath: join(folder, "push.pem"), keyPath: join(folder, "push.key") }, host);
}

/**
 * Resolves to the self-signed certificate in `folder`, and makes the certificate if it does not exist. Members accept
 * the certificate in their clients once, so a restart must not replace it. Resolves to undefined when openssl is
 * missing or fails.
 */
export async function keptCertificate(folder: string, host: string): Promise<CertificateFiles | undefined> {
  const files = { certPath: join(folder, "server.pem"), keyPath: join(folder, "server.key") };
  return existsSync(files.certPath) ? files : make(files, host);
}

async function make(files: CertificateFiles, host: string): Promise<CertificateFiles | undefined> {
  const { certPath, keyPath } = files;
  mkdirSync(dirname(certPath), { recursive: true, mode: 0o700 });
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", keyPath];
  const name = `${isIP(host) === 0 ? "DNS" : "IP"}:${host}`;
  const what = ["-days", DAYS_VALID, "-subj", "/CN=Demo chat", "-addext", `subjectAltName=${name}`];
  try {
    await promisify(execFile)("openssl", ["req", "-x509", ...key, "-out", certPath, ...what]);
    return files;
  } catch {
    return undefined;
  }
}

/** Returns the path of a PEM file with the certificate and, if given, the root certificates in the file `others`. */
export function rootsWith({ certPath }: CertificateFiles, others: string | undefined): string {
  if (!others) return certPath;
  const path = join(dirname(certPath), "push-roots.pem");
  try {
    writeFileSync(path, `${readFileSync(others, "utf8")}\n${readFileSync(certPath, "utf8")}`);
    return path;
  } catch {
    // If the file `others` cannot be read, core reports this error at its start.
    return others;
  }
}
