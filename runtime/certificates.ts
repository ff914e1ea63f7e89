import { X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import type { experimental } from "@grpc/grpc-js";

/** PEM files of one end of a connection: the trusted authorities, and this end's certificate and key. */
export interface TlsFiles {
  readonly ca?: Buffer | undefined;
  readonly cert?: Buffer | undefined;
  readonly key?: Buffer | undefined;
}

type CaListener = experimental.CaCertificateUpdateListener;
type IdentityListener = experimental.IdentityCertificateUpdateListener;

/**
 * The certificates of one end of gRPC connections. After `replace`, new connections use the new certificates, and open
 * connections stay open.
 */
export class Certificates implements experimental.CertificateProvider {
  #files: TlsFiles;
  readonly #caListeners = new Set<CaListener>();
  readonly #identityListeners = new Set<IdentityListener>();

  constructor(files: TlsFiles) {
    this.#files = files;
  }

  get files(): TlsFiles {
    return this.#files;
  }

  replace(files: TlsFiles): void {
    this.#files = files;
    for (const listener of this.#caListeners) listener(this.#ca);
    for (const listener of this.#identityListeners) listener(this.#identity);
  }

  addCaCertificateListener(listener: CaListener): void {
    this.#caListeners.add(listener);
    // The listener is called later, because gRPC adds its own listeners only after this method returns.
    process.nextTick(() => listener(this.#ca));
  }

  removeCaCertificateListener(listener: CaListener): void {
    this.#caListeners.delete(listener);
  }

  addIdentityCertificateListener(listener: IdentityListener): void {
    this.#identityListeners.add(listener);
    process.nextTick(() => listener(this.#identity));
  }

  removeIdentityCertificateListener(listener: IdentityListener): void {
    this.#identityListeners.delete(listener);
  }

  get #ca(): experimental.CaCertificateUpdate | null {
    const { ca } = this.#files;
    return ca === undefined ? null : { caCertificate: ca };
  }

  get #identity(): experimental.IdentityCertificateUpdate | null {
    const { cert, key } = this.#files;
    return cert === undefined || key === undefined ? null : { certificate: cert, privateKey: key };
  }
}

/**
 * Throws if the files are not certificates, if the key does not belong to the certificate, or if a certificate has
 * expired. The message of the error completes the sentence "<setting> …", and contains no part of a file.
 */
export function checkCertificates(files: TlsFiles, nowMs: number): void {
  const expiries = [files.ca, files.cert].flatMap((pem) => (pem === undefined ? [] : [expiryOf(pem)]));
  if (expiries.includes(undefined))
    throw new Error(
      "is not valid: this file, or another one that is set with it, contains no valid certificate",
    );
  try {
    createSecureContext({ ...files });
  } catch (error) {
    const { code = "no code" } = error as NodeJS.ErrnoException;
    throw new Error(`is not valid, or does not fit the files beside it (${code})`, { cause: error });
  }
  if (expiries.some((atMs = 0) => atMs < nowMs))
    throw new Error(
      "is not valid: the certificate in this file, or in another one that is set with it, has expired",
    );
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/**
 * Returns the earliest expiry of the certificates in a PEM file, in Unix milliseconds; undefined if the file contains
 * no certificate, or an invalid one.
 */
export function expiryOf(pem: Buffer): number | undefined {
  const certificates = pem.toString("latin1").match(CERTIFICATE) ?? [];
  try {
    const times = certificates.map((each) => Date.parse(new X509Certificate(each).validTo));
    return times.length === 0 ? undefined : Math.min(...times);
  } catch {
    return undefined;
  }
}
