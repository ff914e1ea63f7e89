import { execFileSync } from "node:child_process";
import { nowSeconds, send, signatureOf } from "../harness/bridge";
import { expectQuiet } from "../harness/output";
import { expectRefusal } from "../harness/refusals";
import { freshWorkspace, sharedService } from "../harness/shared-service";

const service = sharedService();
const workspace = freshWorkspace(service);

const BODY = '{ "type": "command", "channel": "c1", "user": {"id": "u1"}, "text": "Ünï 🎲" }';
const WRONG = "0".repeat(64);

function postSigned(signature: string | readonly string[] | undefined, body: string | Buffer = BODY) {
  return send(service.url, `/hooks/${workspace.id}`, {
    method: "POST",
    body,
    headers: signature === undefined ? {} : { "Service-Signature": signature },
  });
}

/** The header that is right now, in its parts. */
function rightNow(body: string | Buffer = BODY) {
  const t = nowSeconds();
  const header = signatureOf(workspace.secret, body, t);
  return { t, mac: header.split("v1=")[1] ?? "", header };
}
type Right = ReturnType<typeof rightNow>;

// contract: signature-format, signature-hmac
test("a header made by openssl is accepted", async () => {
  const t = nowSeconds();
  const options = { input: `${t}.${BODY}` };
  const printed = execFileSync("openssl", ["dgst", "-sha256", "-hmac", workspace.secret, "-hex"], options);
  const mac = /= ([0-9a-f]{64})\s*$/.exec(printed.toString())?.[1];
  expect((await postSigned(`t=${t},v1=${mac}`)).status).toBe(202);
});

// contract: signature-any
test.each<[string, (right: Right) => string]>([
  ["in upper-case hex", ({ t, mac }) => `t=${t},v1=${mac.toUpperCase()}`],
  ["with a wrong entry before the right one", ({ t, mac }) => `t=${t},v1=${WRONG},v1=${mac}`],
  ["with entries of other lengths", ({ t, mac }) => `t=${t},v1=abc,v1=${mac}00,v1=${mac}`],
  ["whose timestamp has leading zeros", ({ t }) => signatureOf(workspace.secret, BODY, `000${t}`)],
])("a signature %s is accepted", async (_what, header) => {
  expect((await postSigned(header(rightNow()))).status).toBe(202);
});

// contract: check-4, signature-format
test.each<[string, (right: Right) => string | string[] | undefined]>([
  ["that is missing", () => undefined],
  ["that is empty", () => ""],
  ["without a timestamp", ({ mac }) => `v1=${mac}`],
  ["with an empty entry", ({ t }) => `t=${t},v1=`],
  ["with a zero that was not signed", ({ t, mac }) => `t=0${t},v1=${mac}`],
  ["of another version", ({ t, mac }) => `t=${t},v2=${mac}`],
  ["that is wrong", ({ t }) => `t=${t},v1=${WRONG}`],
  ["one byte short", ({ header }) => header.slice(0, -2)],
  ["under another timestamp", ({ t, mac }) => `t=${t - 1},v1=${mac}`],
  ["with 200 wrong entries", ({ t }) => `t=${t}${`,v1=${WRONG}`.repeat(200)}`],
  ["sent in two headers", ({ header }) => [header, header]],
])("a signature %s is refused", async (_what, header) => {
  expectRefusal(await postSigned(header(rightNow())), 401);
});

// contract: post-raw-bytes
test("a signature of anything but the exact bytes of the body, or with another secret, is refused", async () => {
  expectRefusal(await postSigned(rightNow(JSON.stringify(JSON.parse(BODY))).header), 401);
  expectRefusal(await postSigned(rightNow().header, `${BODY}\n`), 401);
  const { secret } = await service.workspaces.make();
  expectRefusal(await postSigned(signatureOf(secret, BODY)), 401);
});

// The exact five minutes: test/unit/signature.test.ts.
// time: smoke
// contract: check-5, order
test.each<[string, (now: number) => number | string, number]>([
  ["200 seconds old", (now) => now - 200, 202],
  ["200 seconds ahead", (now) => now + 200, 202],
  ["400 seconds old", (now) => now - 400, 409],
  ["400 seconds ahead", (now) => now + 400, 409],
  ["in milliseconds", (now) => now * 1_000, 409],
  ["of 30 digits", () => "9".repeat(30), 409],
])("a timestamp %s is checked after the signature", async (_what, at, status) => {
  const t = at(nowSeconds());
  const signed = await postSigned(signatureOf(workspace.secret, BODY, t));
  if (status === 202) expect(signed.status).toBe(202);
  else expectRefusal(signed, status);
  expectRefusal(await postSigned(`t=${t},v1=${WRONG}`), 401);
});

test("no secret and no signature is logged", () => {
  expectQuiet([service.core, service.edge], [workspace.secret, rightNow().mac, "v1=", WRONG]);
});
