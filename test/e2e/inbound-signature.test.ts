import { execFileSync } from "node:child_process";
import { RotateSigningSecretRequest } from "../../proto/gen/chatbridge/v1/workspace";
import { nowSeconds, post, send, signatureOf } from "../harness/bridge";
import { expectQuiet } from "../harness/output";
import { expectRefusal } from "../harness/refusals";
import { call, createWorkspace, type TestWorkspace } from "../harness/service";
import { sharedService } from "../harness/shared-service";

const service = sharedService();
let workspace: TestWorkspace;
beforeAll(async () => {
  workspace = await createWorkspace(service.clients);
});

const BODY = '{ "type": "command", "channel": "c1", "user": {"id": "u1"}, "text": "Ünï 🎲" }';

function postSigned(signature: string | readonly string[] | undefined, body: string | Buffer = BODY) {
  return send(service.url, `/hooks/${workspace.id}`, {
    method: "POST",
    body,
    headers: signature === undefined ? {} : { "Service-Signature": signature },
  });
}

/** The header that is right now, in its parts. */
function rightNow(body: string | Buffer = BODY): { t: number; mac: string; header: string } {
  const t = nowSeconds();
  const header = signatureOf(workspace.secret, body, t);
  return { t, mac: header.split("v1=")[1] ?? "", header };
}

const WRONG = "0".repeat(64);

// contract: signature-format, signature-hmac
test("a header made by openssl is accepted", async () => {
  const t = nowSeconds();
  const printed = execFileSync("openssl", ["dgst", "-sha256", "-hmac", workspace.secret, "-hex"], {
    input: `${t}.${BODY}`,
  }).toString();
  const mac = /= ([0-9a-f]{64})\s*$/.exec(printed)?.[1];
  expect((await postSigned(`t=${t},v1=${mac}`)).status).toBe(202);
});

// contract: signature-any
test.each<[string, (right: { t: number; mac: string; header: string }) => string]>([
  ["upper-case hex", ({ t, mac }) => `t=${t},v1=${mac.toUpperCase()}`],
  ["blanks around the header", ({ header }) => `  ${header} \t`],
  ["a wrong entry before the right one", ({ t, mac }) => `t=${t},v1=${WRONG},v1=${mac}`],
  ["a wrong entry after the right one", ({ header }) => `${header},v1=${WRONG}`],
  ["the right entry twice", ({ header, mac }) => `${header},v1=${mac}`],
  ["the right entry as the last of 200", ({ t, mac }) => `t=${t}${`,v1=${WRONG}`.repeat(199)},v1=${mac}`],
  ["an entry of another length beside it", ({ t, mac }) => `t=${t},v1=abc,v1=${mac}00,v1=${mac}`],
])("a signature with %s is accepted", async (_what, header) => {
  expect((await postSigned(header(rightNow()))).status).toBe(202);
});

test("a timestamp with leading zeros is accepted when it was signed so", async () => {
  const t = `000${nowSeconds()}`;
  expect((await postSigned(signatureOf(workspace.secret, BODY, t))).status).toBe(202);
  expectRefusal(
    await postSigned(signatureOf(workspace.secret, BODY, nowSeconds()).replace("t=", "t=0")),
    401,
  );
});

// contract: check-4, signature-format
test.each<[string, (right: { t: number; mac: string; header: string }) => string | string[] | undefined]>([
  ["that is missing", () => undefined],
  ["that is empty", () => ""],
  ["that is no signature", () => "Bearer abc"],
  ["without a timestamp", ({ mac }) => `v1=${mac}`],
  ["without an entry", ({ t }) => `t=${t}`],
  ["with an empty entry", ({ t }) => `t=${t},v1=`],
  ["whose timestamp is no number", ({ mac }) => `t=now,v1=${mac}`],
  ["whose timestamp has a fraction", ({ t, mac }) => `t=${t}.0,v1=${mac}`],
  ["whose timestamp is negative", ({ t, mac }) => `t=-${t},v1=${mac}`],
  ["in base64", ({ t, mac }) => `t=${t},v1=${Buffer.from(mac, "hex").toString("base64")}`],
  ["of another version", ({ t, mac }) => `t=${t},v2=${mac}`],
  ["with a blank after the comma", ({ t, mac }) => `t=${t}, v1=${mac}`],
  ["with something after it", ({ header }) => `${header};`],
  ["that is wrong", ({ t }) => `t=${t},v1=${WRONG}`],
  ["one character short", ({ header }) => header.slice(0, -1)],
  ["one byte short", ({ header }) => header.slice(0, -2)],
  ["one byte long", ({ header }) => `${header}00`],
  ["under another timestamp", ({ t, mac }) => `t=${t - 1},v1=${mac}`],
  ["of 200 entries, none of them right", ({ t }) => `t=${t}${`,v1=${WRONG}`.repeat(200)}`],
  ["sent in two headers", ({ header }) => [header, header]],
  ["in the first of two headers", ({ header, t }) => [header, `t=${t},v1=${WRONG}`]],
])("a signature %s is refused", async (_what, header) => {
  expectRefusal(await postSigned(header(rightNow())), 401);
});

// contract: post-raw-bytes
test("a signature of anything but the exact bytes of the body is refused", async () => {
  const reserialised = JSON.stringify(JSON.parse(BODY));
  expectRefusal(await postSigned(rightNow(reserialised).header), 401);
  expectRefusal(await postSigned(rightNow().header, `${BODY}\n`), 401);
  expectRefusal(await postSigned(rightNow("").header), 401);
  const composed = '{"type":"command","channel":"\u00fc","user":{"id":"u1"},"text":""}';
  expectRefusal(await postSigned(rightNow(composed).header, composed.normalize("NFD")), 401);
});

test("a signature with the secret of another workspace is refused", async () => {
  const { secret } = await createWorkspace(service.clients);
  expectRefusal(await postSigned(signatureOf(secret, BODY)), 401);
});

// contract: check-5
test.each<[string, number]>([
  ["just inside five minutes ago", -295],
  ["just inside five minutes ahead", 298],
])("a timestamp %s is accepted", async (_what, offset) => {
  const header = signatureOf(workspace.secret, BODY, nowSeconds() + offset);
  expect((await postSigned(header)).status).toBe(202);
});

// contract: check-5, order
test.each<[string, (now: number) => number | string]>([
  ["just outside five minutes ago", (now) => now - 301],
  // It comes nearer for as long as the request takes.
  ["just outside five minutes ahead", (now) => now + 306],
  ["of zero", () => 0],
  ["in milliseconds", (now) => now * 1_000],
  ["of 30 digits", () => "9".repeat(30)],
  ["of 400 digits", () => "9".repeat(400)],
])("a timestamp %s is answered 409 when it was signed well, and 401 when not", async (_what, at) => {
  const t = at(nowSeconds());
  expectRefusal(await postSigned(signatureOf(workspace.secret, BODY, t)), 409);
  expectRefusal(await postSigned(`t=${t},v1=${WRONG}`), 401);
});

// contract: rotation-inbound
test("after a rotation the new and the old secret are accepted, and no other", async () => {
  const rotated = await createWorkspace(service.clients);
  const secrets = [rotated.secret];
  for (let rotation = 0; rotation < 3; rotation++) {
    const { workspaces } = service.clients;
    const { signingSecret } = await call(
      workspaces,
      workspaces.rotateSigningSecret,
      RotateSigningSecretRequest.create({ workspaceId: rotated.id }),
    );
    secrets.push(signingSecret);
    for (const secret of secrets) {
      expect((await post(service.url, { id: rotated.id, secret }, BODY)).status).toBe(202);
    }
  }
  expect(new Set(secrets).size).toBe(4);
  expectRefusal(await post(service.url, { id: rotated.id, secret: workspace.secret }, BODY), 401);
});

test("no secret and no signature is logged", () => {
  expectQuiet([service.core, service.edge], [workspace.secret, rightNow().mac, "v1=", WRONG]);
});
