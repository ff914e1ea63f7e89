import * as fc from "fast-check";
import {
  failedShardMaxBytes,
  findOverbooking,
  MEMORY_PARTS,
  planMemory,
  type ShardMemory,
} from "../../core/domain/memory-budget";
import { forAll } from "../harness/for-all";

const MB = 1024 * 1024;
const UNSET = { inboundLogMaxBytes: 0, pushQueueMaxBytes: 0, heldMaxBytes: 0 };
const memoryOf = (mb: number, shards: number): ShardMemory => ({
  ofMaster: mb * MB,
  ofShard: (mb * MB) / shards,
});

test("the parts of Redis's memory add up to the whole", () => {
  const sum = Object.values(MEMORY_PARTS).reduce((total, part) => total + part, 0);
  expect(sum).toBeCloseTo(1);
});

test("the bounds that core derives from Redis's memory fit in that memory", () => {
  forAll(fc.integer({ min: 64, max: 1_000_000 }), fc.integer({ min: 1, max: 16 }), (mb, shards) => {
    const memory = memoryOf(mb, shards);
    const { inboundLogMaxBytes, pushQueueMaxBytes, heldMaxBytes } = planMemory(memory, UNSET);
    const ofShards = shards * (inboundLogMaxBytes + pushQueueMaxBytes + failedShardMaxBytes(memory));
    expect(ofShards + MEMORY_PARTS.held * memory.ofMaster).toBeLessThanOrEqual(memory.ofMaster);
    expect(heldMaxBytes).toBeLessThanOrEqual(MEMORY_PARTS.held * memory.ofMaster);
    expect(findOverbooking(memory, { inboundLogMaxBytes, pushQueueMaxBytes, heldMaxBytes })).toBeUndefined();
  });
});

test("with 512 MB and 16 shards, the bounds are those of the table in docs/scaling.md", () => {
  const bounds = planMemory(memoryOf(512, 16), UNSET);
  expect(bounds.inboundLogMaxBytes / MB).toBeCloseTo(9.6);
  expect(bounds.pushQueueMaxBytes / MB).toBeCloseTo(4.8);
  expect(bounds.heldMaxBytes / MB).toBe(64);
});

test("a bound that is set in the settings does not depend on Redis's memory", () => {
  const set = { inboundLogMaxBytes: 1, pushQueueMaxBytes: 2, heldMaxBytes: 3 };
  for (const memory of [undefined, memoryOf(512, 16)]) expect(planMemory(memory, set)).toEqual(set);
});

test("bounds that add up to more than the memory cause a warning that shows the calculation", () => {
  const memory = memoryOf(512, 16);
  const bounds = planMemory(memory, { ...UNSET, inboundLogMaxBytes: 256 * MB, pushQueueMaxBytes: 64 * MB });
  expect(findOverbooking(memory, bounds)).toBe(
    "the bounds of a shard add up to 256 MB (INBOUND_LOG_MAX_BYTES) + 64 MB (PUSH_QUEUE_MAX_BYTES) + 1.6 MB (failed events) + 16 MB (held events, ids and other data) = 337.6 MB, but Redis has 32 MB for each shard: raise maxmemory, or lower or remove these settings",
  );
  const held = planMemory(memory, { ...UNSET, heldMaxBytes: 300 * MB });
  expect(findOverbooking(memory, held)).toMatch(
    /HELD_MAX_BYTES is 300 MB, more than half of a server's 512 MB/,
  );
  expect(findOverbooking(undefined, bounds)).toBeUndefined();
});
