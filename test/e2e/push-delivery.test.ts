import { DeliveryResult } from "../../proto/gen/chatbridge/v1/workspace";
import { holdAnswers, redirect, status } from "../harness/behaviours";
import { poll } from "../harness/bridge";
import { cardUpdate, sharedPush } from "../harness/push";
import { textEvent } from "../harness/service";
import { verifyPush } from "../harness/verify-push";

const push = sharedPush();

// contract: push-request, signature-hmac
test("each event is a POST of the envelope to the target URL, with only the headers of the contract and of HTTP", async () => {
  const bridge = await push.bridge();
  const path = "/events/a%20b?x=1&y=%C3%A9";
  await push.workspaces.setTargetUrl(bridge.workspaceId, bridge.urlOf(bridge.name, path));
  const [event] = await push.publish(textEvent(bridge.workspaceId, "héllo"));
  const request = await bridge.nth(1);
  const envelope = verifyPush(request, [bridge.secret]);
  expect([request.method, request.path, request.servername]).toEqual(["POST", path, bridge.name]);
  expect([envelope.id, envelope.sequence]).toEqual([event?.eventId, event?.sequence]);
  expect(request.headers).toMatchObject({
    host: `${bridge.name}:${bridge.port}`,
    "content-type": "application/json",
    "content-length": String(request.body.length),
    "service-event-id": event?.eventId,
    "service-workspace": bridge.workspaceId,
  });
  expect(Object.keys(request.headers).toSorted()).toEqual([
    "connection",
    "content-length",
    "content-type",
    "host",
    "service-event-id",
    "service-signature",
    "service-workspace",
  ]);
});

// contract: poll-oldest-first
test("a push contains the same bytes as a page would contain for the event", async () => {
  const bridge = await push.bridge();
  const poller = await push.bridge({ polls: true });
  const [pushed] = await push.publish(
    textEvent(bridge.workspaceId, 'say "hi" \u2028 \\ 🎲'),
    textEvent(poller.workspaceId, 'say "hi" \u2028 \\ 🎲'),
  );
  const { body } = await bridge.nth(1);
  const page = await poll(push.service.url, { id: poller.workspaceId, secret: poller.secret });
  const served = /^\{"events":\[(.*)\],"next"/s.exec(page.body.toString())?.[1] ?? "";
  // Removes ids, times and sequences, because they differ between the pushed event and the polled event.
  const plain = (text: string): string =>
    text
      .replace(/"id":"(evt|msg)_\w{26}"/g, '"id":"$1"')
      .replace(/"workspace":"[0-9a-f-]{36}"/, '"workspace":""')
      .replace(/"(createdAt|expiresAt)":"[^"]+"/g, '"$1":""')
      .replace(/"sequence":\d{16}/, '"sequence":0');
  expect(plain(body.toString())).toBe(plain(served));
  expect(plain(served)).toContain('"sequence":0,"createdAt":""');
  expect(body.toString()).toContain(`"sequence":${pushed?.sequence},`);
});

// contract: push-2xx, push-no-redirect
test("any 2xx answer is a success, any other answer is a failure, and redirects are not followed", async () => {
  const good = [200, 201, 202, 204, 206, 226, 299];
  const bad = [300, 301, 302, 303, 304, 307, 308, 400, 401, 404, 409, 410, 429, 500, 502, 503, 599];
  const elsewhere = await push.bridge();
  const codes = [...good, ...bad];
  await Promise.all(
    codes.map(async (code) => {
      const bridge = await push.bridge();
      bridge.behave(code < 400 && code >= 300 ? redirect(elsewhere.url, code) : status(code));
      await push.publish(cardUpdate(bridge.workspaceId));
      const [attempt] = await push.logged(bridge.workspaceId, 1);
      const isGood = good.includes(code);
      const result = isGood ? DeliveryResult.SUCCESS : DeliveryResult.STATUS;
      expect([code, attempt?.result, attempt?.status]).toEqual([code, result, code]);
    }),
  );
  expect(elsewhere.requests).toHaveLength(0);
  expect(elsewhere.connections).toHaveLength(0);
});

// time: ordering
// contract: rotation-outbound
test("each attempt uses the secrets and the target URL that the workspace has when the attempt is sent", async () => {
  const [bridge, other, held] = [await push.bridge(), await push.bridge(), holdAnswers()];
  bridge.behave(held);
  const published = Date.now();
  await push.publish(textEvent(bridge.workspaceId, "x"));
  const first = await bridge.nth(1);
  verifyPush(first, [bridge.secret]);
  const { signingSecret } = await push.workspaces.rotate(bridge.workspaceId);
  await push.workspaces.setTargetUrl(bridge.workspaceId, other.urlOf(other.name, "/new"));
  const failed = Date.now();
  held.release(500);
  const second = await other.nth(1);
  verifyPush(second, [signingSecret, bridge.secret]);
  expect([second.path, second.body]).toEqual(["/new", first.body]);
  // The service clock is the clock of this machine, so signed timestamps can be compared with the test's times.
  for (const [request, from] of [
    [first, published],
    [second, failed],
  ] as const) {
    const t = Number(/^t=(\d+)/.exec(String(request.headers["service-signature"]))?.[1]);
    expect(t).toBeGreaterThanOrEqual(Math.floor(from / 1000));
    expect(t).toBeLessThanOrEqual(request.atEpochMs / 1000);
  }
});
