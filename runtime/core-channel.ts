import { credentials, type ChannelCredentials } from "@grpc/grpc-js";
import type { ClientTls } from "./core-connection";

/** How a channel to core is secured. */
export function channelCredentials(tls: ClientTls | undefined): ChannelCredentials {
  return tls
    ? credentials.createSsl(tls.ca, tls.key ?? null, tls.cert ?? null)
    : credentials.createInsecure();
}
