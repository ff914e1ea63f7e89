import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { createTestCa } from "../../../../test/harness/test-ca";
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

test("if no homeserver answers with TLS, the error says how to specify a homeserver without TLS", async () => {
  await expect(findHomeserver("127.0.0.1:1")).rejects.toThrow(
    "for a homeserver without TLS, give http://127.0.0.1:1",
  );
});

test("a homeserver with a self-signed certificate is refused, and the reason says how to trust it", async () => {
  const ca = createTestCa();
  const { certPath, keyPath } = ca.selfSigned(["localhost"]);
  const server = createTlsServer({ cert: readFileSync(certPath), key: readFileSync(keyPath) });
  await once(server.listen(0, "localhost"), "listening");
  const { port } = server.address() as AddressInfo;
  await expect(findHomeserver(`localhost:${port}`)).rejects.toThrow(
    /SELF_SIGNED_CERT.*set the variable NODE_EXTRA_CA_CERTS/,
  );
  server.close();
  ca.close();
});
