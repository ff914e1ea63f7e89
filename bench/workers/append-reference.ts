import { inBatches } from "../load/publishing";
import type { Measure } from "../slices";
import { connectToRedis } from "../store";
import { serveWorker } from "../worker";

/** The reference for publishing: a client that only appends the bytes of core's events to streams of core's Redis. */
export type AppendReference = typeof calls;

export interface AppendInput {
  readonly redisUrl: string;
  readonly streams: readonly string[];
  readonly value: string;
  readonly seconds: number;
}

let client: ReturnType<typeof connectToRedis> | undefined;

const calls = {
  /** Appends to the streams in turn, in pipelines. */
  async run({ redisUrl, streams, value, seconds }: AppendInput): Promise<Measure> {
    client ??= connectToRedis(redisUrl);
    const redis = await client;
    return inBatches({ seconds }, (numbers) => {
      // A pipeline needs one promise for all its commands, and no timeouts.
      const pipeline = redis.multi();
      for (const number of numbers)
        pipeline.addCommand(["XADD", streams[number % streams.length] ?? "", "*", "e", value]);
      return pipeline.execAsPipeline();
    });
  },
};

serveWorker(calls);
