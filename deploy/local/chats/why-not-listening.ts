import { connect } from "node:net";
import type { HostPort } from "../../../runtime/settings";

/** Resolves to the reason why a server does not accept connections; undefined if the server accepts them. */
export function whyNotListening({ host, port }: HostPort): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    socket.once("error", ({ message }) => resolve(message));
    socket.once("connect", () => {
      socket.destroy();
      resolve(undefined);
    });
  });
}
