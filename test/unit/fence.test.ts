import { readFence } from "../../core/operations/fence";
import { shardOf } from "../../core/domain/shard";

const SHARDS = 16;
const WORKSPACE = "w1";
const SHARD = shardOf(WORKSPACE, SHARDS);
const TOKEN = "0b9f1b1e-6f0a-4d2e-9d53-0a4d5f6b7c81";
const GOOD = { streamId: `trivia/${TOKEN}`, deliveryId: `${SHARD}:17-0`, attempt: 2 };

test("a fence identifies a stream, and may also identify a delivery", () => {
  const stream = { group: "trivia", token: TOKEN };
  expect(readFence(GOOD, WORKSPACE, SHARDS)).toEqual({
    fence: { ...stream, delivery: { entryId: "17-0", attempt: 2 } },
  });
  expect(readFence({ ...GOOD, deliveryId: "", attempt: 0 }, WORKSPACE, SHARDS)).toEqual({
    fence: { ...stream, delivery: undefined },
  });
});

test.each([
  ["no stream", "stream_id", { streamId: "" }],
  ["a stream without a token", "stream_id", { streamId: "trivia" }],
  ["a malformed delivery", "delivery_id", { deliveryId: "17-0" }],
  ["a shard that does not exist", "delivery_id", { deliveryId: `${SHARDS}:17-0` }],
  ["a delivery of another shard", "delivery_id", { deliveryId: `${(SHARD + 1) % SHARDS}:17-0` }],
  ["a delivery without an attempt", "attempt", { attempt: 0 }],
  ["an attempt without a delivery", "attempt", { deliveryId: "" }],
])("%s is rejected, and the fault names the field fence.%s", (_what, name, wrong) => {
  const field = `fence.${name}`;
  expect(readFence({ ...GOOD, ...wrong }, WORKSPACE, SHARDS)).toEqual({
    fault: { field, message: expect.stringContaining(`${field} must be`) as string },
  });
});
