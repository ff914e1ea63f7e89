import { checkCertificates } from "./certificates";
import type { FileSource } from "./read-file";
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
  /** The file that contains the token; undefined if the token is in the environment. */
  readonly tokenFile?: FileSource<string> | undefined;
  readonly tlsFiles?: FileSource<ClientTls> | undefined;
}

const TOKEN_FILE_MAX_BYTES = 4_096;

/** Reads the `CORE_…` settings of a process that calls core with a token of `role`. */
export function readCoreConnection(settings: Settings, role: string): CoreConnection {
  return {
    address: settings.parsed(
      "CORE_ADDRESS",
      "address of core: host:port, dns:///name:port, or ipv4:host:port,host:port",
      parseTarget,
      "127.0.0.1:50051",
    ),
    ...readToken(settings, role),
    ...readTls(settings),
  };
}

function readToken(settings: Settings, role: string): Pick<CoreConnection, "token" | "tokenFile"> {
  const file = settings.namedFile(
    "CORE_TOKEN_FILE",
    "a file that contains only the token; the process reads the file again when it changes",
    { maxBytes: TOKEN_FILE_MAX_BYTES, isSecret: true },
  );
  let inFile: string | undefined;
  try {
    inFile = file && parseTokenFile([file.bytes]);
  } catch (error) {
    settings.fault(`CORE_TOKEN_FILE ${error instanceof Error ? error.message : "is not valid"}`);
    return { token: "" };
  }
  const what = `a token of the role ${role} from core's CORE_TOKENS or CORE_TOKENS_FILE`;
  const token = settings.parsed("CORE_TOKEN", what, parseCoreToken, inFile);
  const isInFile = file !== undefined && token === inFile;
  return { token, tokenFile: isInFile ? { files: [file], parse: parseTokenFile } : undefined };
}

function parseTokenFile([bytes]: readonly Buffer[]): string {
  const text = bytes?.toString().trim() ?? "";
  if (text === "") throw new Error("names a file without a token");
  return parseCoreToken(text);
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

function readTls(settings: Settings): Pick<CoreConnection, "tls" | "tlsFiles"> {
  const ca = settings.namedFile(
    "CORE_TLS_CA",
    "PEM certificate of the authority that issued core's certificate",
  );
  const cert = settings.namedFile("CORE_TLS_CERT", "PEM client certificate for calls to core");
  const key = settings.namedFile("CORE_TLS_KEY", "PEM key of the client certificate", { isSecret: true });
  if (ca === undefined && (cert !== undefined || key !== undefined)) {
    settings.fault("CORE_TLS_CA is missing: CORE_TLS_CERT and CORE_TLS_KEY have no effect without it");
  }
  if ((cert === undefined) !== (key === undefined)) {
    settings.fault("CORE_TLS_CERT and CORE_TLS_KEY go together: set both or neither");
  }
  if (ca === undefined) return { tls: undefined };
  const files = [ca, ...(cert && key ? [cert, key] : [])];
  const tls = { ca: ca.bytes, cert: cert?.bytes, key: key?.bytes };
  return { tls, tlsFiles: { files, parse: parseTlsFiles } };
}

function parseTlsFiles([ca, cert, key]: readonly Buffer[]): ClientTls {
  if (ca === undefined) throw new Error("is missing");
  checkCertificates({ ca, cert, key }, Date.now());
  return { ca, cert, key };
}
