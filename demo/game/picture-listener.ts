import type { AddressInfo } from "node:net";
import { join } from "node:path";
import fastifyStatic from "@fastify/static";
import fastify from "fastify";
import type { HostPort } from "../../runtime/settings";

/** Serves the pictures of questions, because a message holds only the URL of its image. */
export interface PictureListener {
  readonly port: number;
  close(): Promise<void>;
}

/** Listens for `GET /<name>.png`. Resolves when it is listening. */
export async function listenForPictures(at: HostPort): Promise<PictureListener> {
  const app = fastify({ forceCloseConnections: true });
  await app.register(fastifyStatic, { root: join(__dirname, "pictures"), maxAge: "1d" });
  await app.listen(at);
  return { port: (app.server.address() as AddressInfo).port, close: () => app.close() };
}
