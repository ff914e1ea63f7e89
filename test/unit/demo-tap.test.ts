import { createPoll } from "../../kit/poll";
import { startTap } from "../../demo/chat/wire/tap";
import { createWireLog } from "../../demo/chat/wire/wire-log";
import { status } from "../harness/behaviours";
import { freePort } from "../harness/processes";
import { startReceiver } from "../harness/receiver";
import { WORKSPACE } from "../harness/sample-events";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** Polls the service at `serviceUrl` through the demo chat's proxy. Returns the wire log. */
async function pollThroughTap(serviceUrl: string) {
  const wire = createWireLog(() => undefined);
  const tap = await startTap(serviceUrl, wire);
  closing.unshift(tap.close);
  const poll = createPoll({ baseUrl: tap.baseUrl, workspaceId: WORKSPACE, secrets: "s" });
  await poll(undefined, new AbortController().signal);
  return wire;
}

test.each(["", "/", "//", "/api/", "/api//"])("the service's base URL can end with %j", async (path) => {
  const receiver = await startReceiver();
  closing.push(receiver.close);
  receiver.behave(status(503));
  await pollThroughTap(receiver.urlOf("127.0.0.1", path));
  const [request] = receiver.requests;
  expect(request?.path).toBe(`${path.replace(/\/+$/, "")}/hooks/${WORKSPACE}/events`);
});

test("a recorded exchange without an answer contains the reason", async () => {
  const wire = await pollThroughTap(`http://127.0.0.1:${await freePort()}`);
  expect(wire.exchanges).toEqual([
    expect.objectContaining({ answer: null, failure: expect.stringMatching(/^no answer: .*ECONNREFUSED/) }),
  ]);
});
