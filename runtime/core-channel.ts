import {
  credentials,
  experimental,
  Metadata,
  type ChannelCredentials,
  type ChannelOptions,
  type Client,
  type ServiceError,
} from "@grpc/grpc-js";
import { Certificates } from "./certificates";
import type { ClientTls } from "./core-connection";

/** The class of a generated gRPC client. */
export type CoreClientClass<C extends Client> = new (
  address: string,
  credentials: ChannelCredentials,
  options: ChannelOptions,
) => C;

/**
 * Creates a gRPC client of core. The channel uses TLS, or no encryption when `tls` is undefined. The channel ignores
 * the environment variables `grpc_proxy`, `https_proxy` and `http_proxy`: a proxy for the internet cannot reach core.
 */
export function createGrpcClient<C extends Client>(
  Service: CoreClientClass<C>,
  address: string,
  tls?: ClientTls | Certificates,
  options: ChannelOptions = {},
): C {
  return new Service(address, channelCredentials(tls), { ...options, "grpc.enable_http_proxy": 0 });
}

function channelCredentials(tls: ClientTls | Certificates | undefined): ChannelCredentials {
  if (tls === undefined) return credentials.createInsecure();
  if (!(tls instanceof Certificates)) {
    return credentials.createSsl(tls.ca, tls.key ?? null, tls.cert ?? null);
  }
  const hasOwn = tls.files.cert !== undefined;
  return experimental.createCertificateProviderChannelCredentials(tls, hasOwn ? tls : null);
}

/**
 * Matches gRPC's description of a failed connection, e.g. `No connection established. Last error: <cause>. Resolution
 * note: `.
 */
const NO_CONNECTION =
  /^(?:(?:weighted_)?round_robin: )?No connection established\. Last error: (.*?)(?:\. Resolution note:(.*))?$/;

/**
 * Extracts the cause from the details of a failed call: one line, never empty. If gRPC describes a failed connection,
 * only the cause of this failure is returned. gRPC writes `undefined` or `null` if it does not know the cause.
 */
export function failureCause(details: string): string {
  const line = details.replaceAll(/\s+/g, " ").trim();
  const [, last, note = ""] = NO_CONNECTION.exec(line) ?? [];
  if (last === undefined) return line || "the call failed without a cause";
  const causes = [last, note.trim()].filter((text) => !["", "undefined", "null"].includes(text));
  return causes.join("; ") || "the connection failed without a cause";
}

/** Returns the metadata of a call to core, with `token` as its bearer token. */
export function bearer(token: string): Metadata {
  const metadata = new Metadata();
  metadata.set("authorization", `Bearer ${token}`);
  return metadata;
}

/** A method of a generated gRPC client, for calls with one request and one answer. */
export type UnaryMethod<Request, Response> = (
  request: Request,
  metadata: Metadata,
  options: { deadline: number },
  done: (error: ServiceError | null, response: Response) => void,
) => unknown;

/**
 * Calls a method of `client`. Rejects with a `ServiceError` if the call fails, or if core does not answer within
 * `withinMs`.
 */
export function callUnary<Request, Response>(
  client: Client,
  method: UnaryMethod<Request, Response>,
  request: Request,
  metadata: Metadata,
  withinMs: number,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    const options = { deadline: Date.now() + withinMs };
    method.call(client, request, metadata, options, (error, response) =>
      error === null ? resolve(response) : reject(error),
    );
  });
}
