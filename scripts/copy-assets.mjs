// Copies the Redis functions into dist, since tsc does not.
import { cpSync } from "node:fs";

cpSync("core/store/functions", "dist/core/store/functions", { recursive: true });
