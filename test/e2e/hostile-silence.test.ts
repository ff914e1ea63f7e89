import { post, signatureOf } from "../harness/bridge";
import { expectQuiet } from "../harness/output";
import { exchange } from "../harness/raw-http";
import { expectRefusal } from "../harness/refusals";
import { createWorkspace, type TestWorkspace } from "../harness/service";
import { sharedService } from "../harness/shared-service";

const service = sharedService();
let workspace: TestWorkspace;
beforeAll(async () => {
  workspace = await createWorkspace(service.clients);
});

const EVENT = '{"type":"command","channel":"c1","user":{"id":"u1"},"text":""}';
const CHUNKED = "Transfer-Encoding: chunked";

function head(framing: string): string {
  const signature = signatureOf(workspace.secret, EVENT);
  return `POST /hooks/${workspace.id} HTTP/1.1\r\nHost: a\r\nService-Signature: ${signature}\r\n${framing}\r\n\r\n`;
}

/** Requests that fall silent before they are whole. */
const SILENT: readonly (readonly [string, () => string])[] = [
  ["a body that stops in the middle", () => head("Content-Length: 500") + EVENT],
  ["a body that never begins", () => head("Content-Length: 500")],
  ["a body that stops in the middle of a chunk", () => `${head(CHUNKED)}ff\r\n{`],
  ["a body that stops before its last chunk", () => `${head(CHUNKED)}3e\r\n${EVENT}\r\n`],
  ["a head that stops in the middle", () => `POST /hooks/${workspace.id} HTTP/1.1\r\nHost: a\r\nService-`],
  ["a request that stops after its method", () => "POST"],
];

test("whoever falls silent in the middle of a request is answered 408, and the connection ended, after about ten seconds", async () => {
  // All at once: each takes as long.
  const outcomes = await Promise.all(
    SILENT.map(async ([what, bytes]) => ({ what, ...(await exchange(service.url, bytes())) })),
  );
  for (const { what, answers, ms } of outcomes) {
    expect([what, answers.length]).toEqual([what, 1]);
    for (const answer of answers) expectRefusal({ ...answer, body: Buffer.from(answer.body) }, 408);
    expect(ms).toBeGreaterThan(8_000);
    expect(ms).toBeLessThan(18_000);
  }
}, 60_000);

test.each(SILENT)("%s does no harm when its sender hangs up", async (_what, bytes) => {
  await exchange(service.url, (socket) => socket.end(bytes()));
  await exchange(service.url, (socket) => {
    socket.write(bytes(), () => socket.resetAndDestroy());
  });
  expect((await post(service.url, workspace, EVENT)).status).toBe(202);
});

test("a sender that hangs up before its answer does no harm", async () => {
  await Promise.all(
    Array.from({ length: 20 }, () =>
      exchange(service.url, (socket) => {
        socket.write(`${head(`Content-Length: ${EVENT.length}`)}${EVENT}`, () => socket.resetAndDestroy());
      }),
    ),
  );
  expect((await post(service.url, workspace, EVENT)).status).toBe(202);
});

test("nothing of all that is logged", () => {
  expectQuiet([service.core, service.edge], [workspace.secret, "v1="]);
});
