import { testMainPaths } from "../harness/main-paths";
import { startTestSentinel, type TestSentinel } from "../harness/redis-sentinel";

let redis: TestSentinel;
beforeAll(async () => {
  redis = await startTestSentinel();
}, 120_000);
afterAll(() => redis.close());

describe("on a master that Sentinel watches", () => testMainPaths(() => redis.url));
