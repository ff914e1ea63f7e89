import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { DAY_SECONDS } from "../../../contract/numbers";
import type { HostPort } from "../../../runtime/settings";
import { drawFlag } from "./flags";

/** Serves the pictures of questions, because a message holds only the URL of its image. */
export interface PictureListener {
  readonly port: number;
  close(): Promise<void>;
}

const PATH_FORM = /^\/([a-z]+)\.png$/;

/** Listens for `GET /<name>.png`. Resolves when it is listening. */
export async function listenForPictures(at: HostPort): Promise<PictureListener> {
  const server = createServer((request, response) => {
    request.resume();
    const [, name = ""] = PATH_FORM.exec(request.url ?? "") ?? [];
    const picture = drawFlag(name);
    if (picture === undefined) {
      response.writeHead(404, { "content-type": "text/plain" }).end("There is no such picture.\n");
      return;
    }
    response
      .writeHead(200, { "content-type": "image/png", "cache-control": `public, max-age=${DAY_SECONDS}` })
      .end(picture);
  });
  server.listen(at.port, at.host);
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      if (!server.listening) return;
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}
