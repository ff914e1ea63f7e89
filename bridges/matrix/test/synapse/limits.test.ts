import { create, published, update } from "../../../../test/harness/contents";
import { sharedService } from "../../../../test/harness/shared-service";
import { MessageKind } from "../../../../proto/gen/chatbridge/v1/event";
import { startRig, type MatrixRig } from "../harness/matrix-rig";
import { startSynapse, SYNAPSE_WITHIN_MS, type TestSynapse } from "../harness/synapse";

const service = sharedService();
let synapse: TestSynapse;
let rig: MatrixRig;

beforeAll(async () => {
  synapse = await startSynapse({ rc_message: { per_second: 3, burst_count: 3 } });
  rig = await startRig(service, synapse, { account: "games" });
}, SYNAPSE_WITHIN_MS);
afterAll(async () => {
  await rig?.close();
  await synapse?.close();
});

// time: smoke
test("on a homeserver with a rate limit, every message is posted once, in order, and finally shows its last state", async () => {
  const ann = await synapse.member("ann");
  const room = await rig.room(ann);
  const card = (text: string) => ({ kind: MessageKind.CARD, text });
  const buttons = [{ label: "Yes", press: { $case: "action" as const, value: "yes" } }];
  const posts = Array.from({ length: 8 }, (_, i) =>
    create(room, { ...card(`Post ${i}`), rows: [{ buttons }] }),
  );
  const results = await rig.publish(...posts);
  const id = published(results[0]).messageId;
  await ann.sees(room, "the last post", ({ body }) => body.startsWith("Post 7"));
  for (let i = 1; i <= 6; i += 1) await rig.publish(update(room, { ...card(`Post 0, state ${i}`), id }));
  await ann.sees(room, "the last state", ({ body }) => body === "Post 0, state 6");
  const seen = await ann.sees(room, "the last keycap", ({ body, reactions }) => {
    return body.startsWith("Post 7") && reactions.length === 1;
  });
  expect(seen.reactions).toEqual([{ key: "1️⃣", sender: rig.id }]);
  const bodies = (await ann.messages(room)).map(({ body }) => body.split("\n")[0]);
  expect(bodies).toEqual(["Post 0, state 6", ...Array.from({ length: 7 }, (_, i) => `Post ${i + 1}`)]);
  const problems = rig.bridge.log.map(({ problem }) => String(problem));
  expect(problems.some((problem) => problem.includes("M_LIMIT_EXCEEDED"))).toBe(true);
});
