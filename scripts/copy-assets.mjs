// Copies what tsc does not into dist: the Redis functions.
import { cpSync } from "node:fs";

cpSync("core/store/functions", "dist/core/store/functions", { recursive: true });
