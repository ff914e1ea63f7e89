import { testMainPaths } from "../harness/main-paths";
import { startTestCluster, type TestCluster } from "../harness/redis-cluster";

let redis: TestCluster;
beforeAll(async () => {
  redis = await startTestCluster();
}, 120_000);
afterAll(() => redis.close());

describe("on a Redis Cluster", () => testMainPaths(() => redis.url));
