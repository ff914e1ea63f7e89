import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { findHomeserver } from "../../client/find-homeserver";

test("a homeserver without TLS on this machine is found by its name and port", async () => {
  const server = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ versions: ["v1.11"] }));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  try {
    expect(await findHomeserver(`127.0.0.1:${port}`)).toBe(`http://127.0.0.1:${port}`);
  } finally {
    server.close();
  }
});

test("if no homeserver answers with TLS, the fault says how to give one without TLS", async () => {
  await expect(findHomeserver("127.0.0.1:1")).rejects.toThrow(
    "for a homeserver without TLS, give http://127.0.0.1:1",
  );
});
