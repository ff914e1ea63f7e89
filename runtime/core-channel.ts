import { credentials, type ChannelCredentials } from "@grpc/grpc-js";
import type { ClientTls } from "./core-connection";

/** The credentials of a channel to core: TLS, or none when `tls` is undefined. */
export function channelCredentials(tls: ClientTls | undefined): ChannelCredentials {
  return tls
    ? credentials.createSsl(tls.ca, tls.key ?? null, tls.cert ?? null)
    : credentials.createInsecure();
}
