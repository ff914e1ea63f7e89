import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../harness/compose-file";
import { docker, hasDocker } from "../harness/docker";

const IMAGE = `chat-bridge-image-test-${process.pid}`;
const COMMIT = "0123456789abcdef0123456789abcdef01234567";
const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string };
const [, BASE = ""] = /^ARG NODE_IMAGE=(.*)$/m.exec(readFileSync(join(ROOT, "Dockerfile"), "utf8")) ?? [];

const MEGABYTE = 1_000_000;
const MOST_ADDED_BYTES = 35 * MEGABYTE;
const BUILD_WITHIN_MS = 900_000;

const hasEngine = hasDocker("tests of the image");
const testImage = hasEngine ? test : test.skip;

interface Inspected {
  readonly Size: number;
  readonly Config: {
    readonly User: string;
    readonly Env: readonly string[];
    readonly Labels: Readonly<Record<string, string>>;
  };
}

const inspect = (image: string) => (JSON.parse(docker("image", "inspect", image)) as [Inspected])[0];
const LIMITS = "--rm --read-only --cap-drop ALL --security-opt no-new-privileges --network none".split(" ");
/** Runs a program in a container with the same restricted rights as the containers of docker-compose.yml. */
const run = (...args: readonly string[]) => docker("run", ...LIMITS, ...args);

beforeAll(() => {
  if (!hasEngine) return;
  const args = ["--build-arg", `VERSION=${version}`, "--build-arg", `COMMIT=${COMMIT}`];
  docker("build", "--quiet", "--tag", IMAGE, ...args, ROOT);
}, BUILD_WITHIN_MS);
afterAll(() => {
  if (hasEngine) docker("image", "rm", "--force", IMAGE);
});

testImage("the image adds at most 35 MB to its base image (skipped without a Docker engine)", () => {
  expect(inspect(IMAGE).Size - inspect(BASE).Size).toBeLessThan(MOST_ADDED_BYTES);
});

testImage(
  "the image has no sources, source maps, tests or package managers (skipped without a Docker engine)",
  () => {
    const files = run("--entrypoint", "find", IMAGE, "/app", "/usr/local", "/opt", "-type", "f").split("\n");
    expect(files).toEqual(expect.arrayContaining(["/app/dist/core/main.js", "/app/LICENSE"]));
    const folders = files.flatMap((path) => /^\/app\/([^/]+)\//.exec(path)?.[1] ?? []);
    expect(new Set(folders)).toEqual(new Set(["dist", "node_modules"]));
    const unwanted =
      /^\/app\/.*(\.(map|[cm]?ts|node)$|\.test\.)|\/node_modules\/.*\/tests?\/|\/(npm|corepack|yarn)\//;
    expect(files.filter((path) => unwanted.test(path))).toEqual([]);
  },
);

testImage(
  "the image runs as user 1000 on Node 24 or later, and its labels have the version and the commit (skipped without a Docker engine)",
  () => {
    const { User, Labels } = inspect(IMAGE).Config;
    expect(User).toBe("1000:1000");
    expect(run("--entrypoint", "id", IMAGE, "-u").trim()).toBe("1000");
    expect(Number(/^v(\d+)\./.exec(run(IMAGE, "--version"))?.[1])).toBeGreaterThanOrEqual(24);
    expect(Labels).toMatchObject({
      "org.opencontainers.image.title": "chat-bridge",
      "org.opencontainers.image.licenses": "MIT",
      "org.opencontainers.image.version": version,
      "org.opencontainers.image.revision": COMMIT,
    });
  },
);

testImage.each(["core", "edge", "cli", "deploy/compose", "demo/game", "demo/chat"])(
  "%s runs in the image with a read-only file system and without capabilities (skipped without a Docker engine)",
  (name) => {
    const commit = COMMIT.slice(0, 12);
    expect(run(IMAGE, `dist/${name}/main.js`, "--version")).toBe(
      `chat-bridge ${version} (commit ${commit})\n`,
    );
  },
);
