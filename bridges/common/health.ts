import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { listening } from "../../runtime/listen-fault";
import { REQUEST_TIMEOUTS } from "../../runtime/request-timeouts";
import type { HostPort } from "../../runtime/settings";
import type { RoomState } from "./rooms";

/** Maximum number of open connections. Further connections are closed. Probes use a few connections. */
const CONNECTIONS_MAX = 64;
const ROOMS_SHOWN_MAX = 1_000;

/** The state of a bridge's connection to the service or to the chat. */
export interface ConnectionState {
  readonly isConnected: boolean;
  /** Reason why the connection is down, without secrets; undefined if the connection is up. */
  readonly problem?: string | undefined;
}

/**
 * Answers `GET /health` with the state of each connection and room as JSON: 200 if all connections are up, otherwise
 * 503. A room with a problem does not change the HTTP status, because a restart would not help.
 * `port` is the port of the listener.
 */
export async function listenForHealth(
  at: HostPort,
  states: () => Readonly<Record<string, ConnectionState>>,
  rooms: () => readonly RoomState[] = () => [],
): Promise<{ readonly port: number; close(): Promise<void> }> {
  const server = createServer(REQUEST_TIMEOUTS, (request, response) => {
    request.resume();
    const isHealth = request.url === "/health" && (request.method === "GET" || request.method === "HEAD");
    const connections = states();
    const ok = Object.values(connections).every(({ isConnected }) => isConnected);
    const status = !isHealth ? 404 : ok ? 200 : 503;
    const body = isHealth
      ? { ok, connections, rooms: rooms().slice(0, ROOMS_SHOWN_MAX) }
      : { message: "not found: the path is /health" };
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  server.maxConnections = CONNECTIONS_MAX;
  server.listen(at.port, at.host);
  await listening("HEALTH_LISTEN", once(server, "listening"));
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}
