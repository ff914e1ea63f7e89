import { once } from "node:events";
import { createBackground } from "../../background";
import { createKeycapReactions } from "../../chat/keycap-reactions";

const [OWN, ROOM] = ["@games:example.org", "!room:example.org"];

/** Returns keycaps for a homeserver that answers the first reaction only when `release` is called. */
function limitedKeycaps() {
  const requests: string[] = [];
  const [releasing, starting] = [new AbortController(), new AbortController()];
  const isReleased = once(releasing.signal, "abort");
  const started = once(starting.signal, "abort");
  const background = createBackground(new AbortController().signal, (error) => requests.push(String(error)));
  const api = {
    send: async (_room: string, _type: string, txnId: string) => {
      requests.push(txnId);
      starting.abort();
      await isReleased;
      return `$${txnId}`;
    },
    redact: async (_room: string, eventId: string) => void requests.push(`remove ${eventId}`),
    reactions: async () => (requests.push("read"), []),
  };
  const release = () => releasing.abort();
  return { requests, release, started, background, keycaps: createKeycapReactions(api, OWN, background) };
}

test("a message that is about to be closed gets no more keycaps", async () => {
  const { requests, release, started, background, keycaps } = limitedKeycaps();
  keycaps.want({ roomId: ROOM, eventId: "$first", count: 4, cause: "evt_1", before: 0 });
  await started;
  keycaps.stop("$first");
  release();
  await background.idle();
  expect(requests).toEqual(["evt_1.key1"]);
  keycaps.want({ roomId: ROOM, eventId: "$first", count: 0, cause: "evt_2", before: 4 });
  await background.idle();
  expect(requests).toEqual(["evt_1.key1", "remove $evt_1.key1"]);
});

test("for a message that is closed before its keycaps are added, the bridge makes no request", async () => {
  const { requests, release, background, keycaps } = limitedKeycaps();
  release();
  keycaps.want({ roomId: ROOM, eventId: "$first", count: 4, cause: "evt_1", before: 0 });
  keycaps.stop("$first");
  keycaps.want({ roomId: ROOM, eventId: "$first", count: 0, cause: "evt_2", before: 4 });
  await background.idle();
  expect(requests).toEqual([]);
});
