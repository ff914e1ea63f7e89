import { resolveSrv } from "node:dns/promises";
import { formatHostPort, type HostPort } from "chat-bridge-runner";
import type { XmppSettings } from "../settings";

/** An address of the server. */
export interface ServerAddress extends HostPort {
  readonly encryption: "starttls" | "direct" | "off";
}

const STARTTLS_PORT = 5222;
const DIRECT_PORT = 5223;

/**
 * Returns the addresses of the server of a domain, the preferred address first. The addresses come from the settings or
 * from DNS (SRV records of RFC 6120 and XEP-0368). If neither gives an address, the address is the domain itself.
 */
export async function findServer(
  domain: string,
  { XMPP_SERVER: server, XMPP_TLS: mode }: Pick<XmppSettings, "XMPP_SERVER" | "XMPP_TLS">,
): Promise<readonly ServerAddress[]> {
  if (server !== undefined) {
    const automatic = server.port === DIRECT_PORT ? "direct" : "starttls";
    return [{ ...server, encryption: mode === "auto" ? automatic : mode }];
  }
  const [plain, direct] = await Promise.all([
    mode === "direct" ? [] : records("xmpp-client", domain),
    mode === "auto" || mode === "direct" ? records("xmpps-client", domain) : [],
  ]);
  const encryption = mode === "off" ? "off" : "starttls";
  const found = [
    ...direct.map((each) => ({ ...each, encryption: "direct" as const })),
    ...plain.map((each) => ({ ...each, encryption }) as const),
  ].toSorted((a, b) => a.priority - b.priority || b.weight - a.weight);
  if (found.length > 0) return found;
  return mode === "direct"
    ? [{ host: domain, port: DIRECT_PORT, encryption: "direct" }]
    : [{ host: domain, port: STARTTLS_PORT, encryption }];
}

/** Returns an address for the log. */
export function describe({ encryption, ...at }: ServerAddress): string {
  return `${formatHostPort(at)} (${encryption})`;
}

async function records(service: string, domain: string) {
  const found = await resolveSrv(`_${service}._tcp.${domain}`).catch(() => []);
  // The target "." means that the domain does not offer the service (RFC 2782).
  return found
    .filter(({ name }) => name !== "" && name !== ".")
    .map(({ name: host, port, priority, weight }) => ({ host, port, priority, weight }));
}
