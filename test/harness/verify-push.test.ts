import { signatureOf } from "./bridge";
import type { ReceivedRequest } from "./receiver";
import { verifyPush } from "./verify-push";

const BODY = '{"id":"evt_1","type":"ping","workspace":"w1","text":"é"}';
/** By openssl: printf '%s.%s' 1700000000 "$BODY" | openssl dgst -sha256 -hmac <secret> */
const BY_NEW = "7b2e9c9e35f8e6c2c4b4473999fdadb993e09e8c2d8e370b86611ae1d601ce3e";
const BY_OLD = "044dec16562b55656fc19a151fc036ef6252e3aaf54c16d10ae84d67fa46af24";
const SECRETS = ["new secret", "old secret"];
const HEADERS = {
  "content-type": "application/json",
  "service-signature": `t=1700000000,v1=${BY_NEW},v1=${BY_OLD}`,
  "service-event-id": "evt_1",
  "service-workspace": "w1",
};

function received(changes: Partial<ReceivedRequest> = {}): ReceivedRequest {
  return {
    at: 0,
    atEpochMs: 1_700_000_001_000,
    method: "POST",
    path: "/",
    headers: HEADERS,
    rawHeaders: [],
    body: Buffer.from(BODY),
    connection: 1,
    servername: undefined,
    attempt: 1,
    ...changes,
  };
}

test("a push that is signed with every secret, newest first, is right", () => {
  expect(verifyPush(received(), SECRETS)).toEqual(JSON.parse(BODY));
});

const headers = (changes: Record<string, string>) => ({ headers: { ...HEADERS, ...changes } });
const signed = (signature: string) => headers({ "service-signature": signature });
const T = "t=1700000000";
test.each<[string, Partial<ReceivedRequest>, string]>([
  ["another method", { method: "PUT" }, "'PUT'"],
  ["another content type", headers({ "content-type": "text/plain" }), "'text/plain'"],
  ["no signature", signed(""), "another form"],
  ["upper-case digits", signed(`${T},v1=${BY_NEW.toUpperCase()},v1=${BY_OLD}`), "another form"],
  ["one signature for two secrets", signed(`${T},v1=${BY_NEW}`), "not that of the secrets"],
  ["signatures in another order", signed(`${T},v1=${BY_OLD},v1=${BY_NEW}`), "not that of the secrets"],
  ["another timestamp", signed(`t=1700000001,v1=${BY_NEW},v1=${BY_OLD}`), "not that of the secrets"],
  ["a changed body", { body: Buffer.from(BODY.replace("ping", "pong")) }, "not that of the secrets"],
  ["a time more than 5 minutes away", { atEpochMs: 1_700_000_301_000 }, "301 s away"],
  ["another event's id", headers({ "service-event-id": "evt_2" }), "Service-Event-Id"],
  ["another workspace", headers({ "service-workspace": "w2" }), "Service-Workspace"],
])("a push with %s is wrong", (_title, changes, why) => {
  expect(() => verifyPush(received(changes), SECRETS)).toThrow(why);
});

test("a push whose body is not UTF-8 is wrong, signed or not", () => {
  const body = Buffer.from([0x22, 0xff, 0x22]);
  const changes = { body, ...signed(signatureOf("new secret", body, 1_700_000_000)) };
  expect(() => verifyPush(received(changes), ["new secret"])).toThrow("not valid for encoding utf-8");
});

test("a push with two signatures for one secret is wrong", () => {
  expect(() => verifyPush(received(), ["new secret"])).toThrow("not that of the secrets");
});
