import type { Settings } from "./settings";

/** The certificate of the authority that issued core's certificate, and the client's certificate and key, in PEM. */
export interface ClientTls {
  readonly ca: Buffer;
  readonly cert: Buffer | undefined;
  readonly key: Buffer | undefined;
}

/** The address of core, and the credentials for calls to core. */
export interface CoreConnection {
  /** A gRPC target. */
  readonly address: string;
  readonly token: string;
  readonly tls: ClientTls | undefined;
}

/** Reads the `CORE_…` settings of a process that calls core with a token of `role`. */
export function readCoreConnection(settings: Settings, role: string): CoreConnection {
  return {
    address: settings.parsed(
      "CORE_ADDRESS",
      "address of core: host:port, dns:///name:port, or ipv4:host:port,host:port",
      parseTarget,
      "127.0.0.1:50051",
    ),
    token: settings.parsed(
      "CORE_TOKEN",
      `a token of the role ${role}, one of core's CORE_TOKENS`,
      parseCoreToken,
    ),
    tls: readTls(settings),
  };
}

/**
 * Returns whether a string has the form of a token that core accepts. Tokens are sent in gRPC metadata and HTTP
 * headers, which accept only visible ASCII. gRPC rejects other text with an error that repeats the token. Therefore,
 * tokens are checked before they are passed to gRPC.
 */
export function isCoreToken(text: string): boolean {
  return /^[!-~]+$/.test(text);
}

/** Parses a token in the settings. The error says what is allowed, and never contains the token. */
export function parseCoreToken(text: string): string {
  if (!isCoreToken(text)) throw new Error("may contain only visible ASCII characters, and no spaces");
  return text;
}

/** gRPC accepts any string as an address and fails only later, so the form is checked here. */
const TARGET_FORM =
  /^(?:(?:dns:\/\/\/)?(?:\[[0-9a-fA-F:.]+\]|[^\s/:,[\]]+):\d{1,5}|ipv4(?:[:,][\d.]+:\d{1,5})+|ipv6(?:[:,]\[[0-9a-fA-F:.]+\]:\d{1,5})+)$/;

function parseTarget(text: string): string {
  if (!TARGET_FORM.test(text)) throw new Error("is not an address of core");
  return text;
}

function readTls(settings: Settings): ClientTls | undefined {
  const ca = settings.file("CORE_TLS_CA", "PEM certificate of the authority that issued core's certificate");
  const cert = settings.file("CORE_TLS_CERT", "PEM client certificate for calls to core");
  const key = settings.file("CORE_TLS_KEY", "PEM key of the client certificate");
  if (ca === undefined && (cert !== undefined || key !== undefined)) {
    settings.fault("CORE_TLS_CA is missing: CORE_TLS_CERT and CORE_TLS_KEY have no effect without it");
  }
  if ((cert === undefined) !== (key === undefined)) {
    settings.fault("CORE_TLS_CERT and CORE_TLS_KEY go together: set both or neither");
  }
  return ca === undefined ? undefined : { ca, cert, key };
}
