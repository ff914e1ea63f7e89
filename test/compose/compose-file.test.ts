import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { NODE_FLAGS } from "../../deploy/local/children";
import { COMPOSE_TEXT, COMPOSE_VARIABLES, readComposeFile, ROOT } from "../harness/compose-file";

const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const file = readComposeFile();
const services = Object.entries(file.services);
const servers = services.filter(([, { restart }]) => restart !== undefined);

/** The keys that a service can have in both Compose 1.29 and Compose 2. */
const KEYS = [
  "build,cap_drop,command,cpus,depends_on,entrypoint,environment,healthcheck,image,logging,mem_limit,network_mode",
  "networks,pids_limit,ports,profiles,pull_policy,read_only,restart,scale,security_opt,stop_grace_period,stop_signal",
  "tmpfs,ulimits,user,volumes,working_dir",
].flatMap((line) => line.split(","));

/** Services whose secrets volume is not named after the service, each with the prefix of the volume's name. */
const OTHER_KINDS: Readonly<Record<string, string>> = {
  dashboard: "edge",
  backup: "redis",
  "backup-secrets": "kept",
};

test(".env.example lists variables of docker-compose.yml with their defaults", () => {
  const lines = read(".env.example")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
  const given = lines.map((line) => line.split(/=(.*)/, 2));
  expect(given.length).toBeGreaterThan(5);
  expect(given).toEqual(given.map(([name = ""]) => [name, COMPOSE_VARIABLES[name]]));
});

describe("Compose:", () => {
  test("docker-compose.yml has only keys that every Compose release since 1.29 supports", () => {
    for (const [name, service] of services) {
      const unknown = Object.keys(service).filter((key) => !KEYS.includes(key));
      expect({ name, unknown }).toEqual({ name, unknown: [] });
    }
    const keys = Object.keys(file).filter((key) => !key.startsWith("x-"));
    expect(keys).toEqual(["services", "networks", "volumes"]);
  });

  test("docker-compose.yml defines all services, networks and volumes that it names, and uses all volumes", () => {
    const mounted = services.flatMap(([, { volumes = [] }]) => volumes.map((volume) => volume.split(":")[0]));
    const used = mounted.filter((name) => !name?.startsWith("./"));
    expect(new Set(used)).toEqual(new Set(Object.keys(file.volumes)));
    for (const [, { depends_on = {}, networks = [] }] of services) {
      expect(Object.keys(file.services)).toEqual(expect.arrayContaining(Object.keys(depends_on)));
      expect(Object.keys(file.networks)).toEqual(expect.arrayContaining([...networks]));
    }
  });

  test.each(services)(
    "docker-compose.yml does not run %s as root, drops all capabilities, and makes the file system read-only",
    (_name, service) => {
      expect(service.user).not.toMatch(/^(?:0|root)\b/);
      const rights = { read_only: true, cap_drop: ["ALL"], security_opt: ["no-new-privileges:true"] };
      expect(service).toMatchObject({ user: expect.stringMatching(/./) as string, ...rights });
    },
  );

  const waitingFor = (name: string) =>
    services.flatMap(([, service]) => service.depends_on?.[name]?.condition ?? []);

  test.each(servers)("docker-compose.yml gives %s a health check", (name, service) => {
    const [how, ...check] = service.healthcheck?.test ?? [];
    expect(how).toMatch(/^CMD/);
    for (const argument of check) expect(typeof argument).toBe("string");
    for (const condition of waitingFor(name)) expect(condition).toMatch(/^service_(?:healthy|started)$/);
  });

  test.each(["secrets", "demo-workspace"])(
    "docker-compose.yml runs %s once, and starts its dependents only after it has succeeded",
    (name) => {
      expect(file.services[name]).not.toHaveProperty("restart");
      expect(new Set(waitingFor(name))).toEqual(new Set(["service_completed_successfully"]));
    },
  );

  test("docker-compose.yml publishes distinct ports on loopback only, and no port of Redis or SMTP", () => {
    const published = services.flatMap(([, { ports = [] }]) => ports);
    expect(published.length).toBeGreaterThan(0);
    for (const port of published) expect(port).toMatch(/^127\.0\.0\.1:[\d-]+:\d+$/);
    expect(file.services["redis"]).not.toHaveProperty("ports");
    expect(published.map((port) => port.split(":")[2])).not.toContain("1025");
    const taken = published.flatMap((port) => {
      const [from = 0, to = from] = (port.split(":")[1] ?? "").split("-").map(Number);
      return Array.from({ length: to - from + 1 }, (_, at) => from + at);
    });
    expect(new Set(taken).size).toBe(taken.length);
  });

  test.each(["core", "edge"])(
    "docker-compose.yml lets %s be scaled: the service has no fixed name, and only the proxy publishes its port",
    (name) => {
      expect(file.services[name]).not.toHaveProperty("container_name");
      expect(file.services[name]).not.toHaveProperty("ports");
      expect(file.services["proxy"]?.networks).toEqual(expect.arrayContaining(["inside"]));
    },
  );

  test("docker-compose.yml builds the image in one service, and no service looks for that image in a registry", () => {
    expect(services.filter(([, { build }]) => build !== undefined).map(([name]) => name)).toEqual([
      "secrets",
    ]);
    const image = file.services["secrets"]?.image;
    for (const [, service] of services.filter((each) => each[1].image === image))
      expect(service.pull_policy).toBe("never");
  });

  test.each(services)(
    "docker-compose.yml limits the memory, processor time and processes of %s",
    (_name, service) => {
      expect(service).toMatchObject({ mem_limit: expect.stringMatching(/^\d+[mg]$/) as string });
      // An engine rejects a CPU limit above the number of its processors, so the limit must not exceed 1.
      expect(Number(service.cpus)).toBeGreaterThan(0);
      expect(Number(service.cpus)).toBeLessThanOrEqual(1);
      expect(service.pids_limit).toBeLessThanOrEqual(256);
    },
  );

  test("docker-compose.yml limits the data of Redis to less than half of the memory of its container", () => {
    const { command = [], mem_limit = "" } = file.services["redis"] ?? {};
    const bytes = (text = ""): number => parseInt(text) * (text.includes("g") ? 1024 : 1);
    const limit = bytes(command[command.indexOf("--maxmemory") + 1]);
    expect(limit).toBeGreaterThan(0);
    expect(2 * limit).toBeLessThan(bytes(mem_limit));
  });

  test.each(["core", "edge", "dashboard"])(
    "docker-compose.yml gives %s time to drain and to stop",
    (name) => {
      const { environment = {}, stop_grace_period = "" } = file.services[name] ?? {};
      const drain = Number(environment["DRAIN_SECONDS"]);
      expect(drain).toBeGreaterThanOrEqual(3);
      expect(parseInt(stop_grace_period)).toBeGreaterThanOrEqual(drain + 15);
    },
  );

  test.each([
    ["store", ["backup", "core", "redis", "restore"]],
    ["metrics", ["core", "dashboard", "edge", "node-exporter", "prometheus"]],
  ])("docker-compose.yml connects the internal network %s only to %j", (network, names) => {
    const connected = services.filter(([, { networks = [] }]) => networks.includes(network));
    expect(connected.map(([name]) => name).toSorted()).toEqual(names);
    expect(file.networks[network]).toEqual({ internal: true });
  });

  test("docker-compose.yml mounts the data and the key in different containers, and keeps containers with backups off outside networks", () => {
    const mounting = (...volumes: readonly string[]) =>
      services
        .filter(([, each]) => each.volumes?.some((volume) => volumes.includes(volume.split(":")[0] ?? "")))
        .map(([name]) => name);
    const data = mounting("redis-data", "backups");
    const keys = mounting("kept-secrets", "core-secrets", "secrets-backups");
    expect(data.filter((name) => keys.includes(name))).toEqual([]);
    for (const name of mounting("backups", "secrets-backups")) {
      const { networks = ["none"] } = file.services[name] ?? {};
      expect([name, networks]).toEqual([name, [networks[0] === "none" ? "none" : "store"]]);
    }
  });

  test.each(servers)(
    "docker-compose.yml lets %s mount only one kind of secrets, read-only",
    (name, { volumes = [] }) => {
      const secrets = volumes.filter((volume) => /^[a-z]+-secrets:/.test(volume));
      expect(secrets.length).toBeLessThanOrEqual(1);
      const kind = OTHER_KINDS[name] ?? name;
      for (const volume of secrets) expect(volume).toBe(`${kind}-secrets:/secrets/${kind}:ro`);
    },
  );

  test("docker-compose.yml does not pass any secret in the environment", () => {
    const names = services.flatMap(([, { environment = {} }]) => Object.keys(environment)).join(" ");
    expect(names).not.toMatch(/SECRETS_KEY|TOKENS?\b|SECRET\b|PASSWORD|REDIS_URL/);
  });

  test("docker-compose.yml uses exactly the variables that docs/settings.md lists for .env", () => {
    const guide = read("docs/settings.md");
    const [, tables = ""] = /\n## Docker Compose\n(.*?)\n## /s.exec(guide) ?? [];
    const rows = [...tables.matchAll(/^\| `([A-Z_]+)` +\| (?:`([^`]*)`|none) /gm)];
    const listed = rows.map(([, name = "", fallback = ""]) => [name, fallback]);
    expect(Object.fromEntries(listed)).toEqual(COMPOSE_VARIABLES);
  });
});

describe("image:", () => {
  const text = read("Dockerfile");
  const copies = [...text.matchAll(/^COPY (?!--from)(.*) \S+$/gm)];
  const copied = copies.flatMap(([, from = ""]) => from.split(" "));
  const options = { cwd: ROOT, encoding: "utf8" } as const;

  test("the Dockerfile passes the same flags to Node as npm start and the commands in docs/settings.md", () => {
    expect(text).toContain(`NODE_OPTIONS=${NODE_FLAGS.join(" ")}\n`);
    const guide = read("docs/settings.md");
    for (const name of ["core", "edge"])
      expect(guide).toContain(`node ${NODE_FLAGS.join(" ")} dist/${name}/main.js`);
  });

  test("the Dockerfile copies only files that are in the repository and not excluded by .dockerignore", () => {
    const args = ["ls-files", "--cached", "--others", "--exclude-standard"];
    const known = execFileSync("git", args, options).split("\n");
    const letThrough = read(".dockerignore").split("\n");
    expect(copied.length).toBeGreaterThan(10);
    for (const path of copied) {
      expect(known.some((each) => each === path || each.startsWith(`${path}/`))).toBe(true);
      expect(letThrough).toContain(`!${path}`);
    }
  });

  test("the image contains the guides that the edge serves, although .dockerignore excludes other Markdown files", () => {
    const rules = read(".dockerignore").split("\n");
    for (const guides of [
      "!docs/*.md",
      "!docs/answers/*.md",
      "!docs/games/*.md",
      "!kit/README.md",
      "!kit/game/README.md",
      "!bridges/README.md",
      "!bridges/irc/README.md",
      "!bridges/matrix/README.md",
      "!bridges/xmpp/README.md",
    ]) {
      expect(rules.indexOf(guides)).toBeGreaterThan(rules.indexOf("**/*.md"));
    }
    expect(copied).toEqual(expect.arrayContaining(["docs", "kit"]));
  });

  test("the Dockerfile copies all compiled folders, except for the benchmarks", () => {
    const { include } = JSON.parse(read("tsconfig.build.json")) as { include: string[] };
    expect(include.filter((folder) => !copied.includes(folder))).toEqual(["bench"]);
  });

  test("the Dockerfile takes the base image as an argument, creates every mounted folder of secrets, and sets an unprivileged user", () => {
    expect(text.match(/^FROM .*/gm)).toEqual([
      "FROM --platform=${BUILDPLATFORM:-linux} ${NODE_IMAGE} AS build",
      "FROM ${NODE_IMAGE}",
    ]);
    expect(text).toMatch(/^ARG NODE_IMAGE=/m);
    expect(text).toMatch(/^USER 1000:1000$/m);
    const [, folders = ""] = /for each in ([a-z ]+); do mkdir/.exec(text) ?? [];
    const mounted = [...COMPOSE_TEXT.matchAll(/:\/secrets\/([a-z]+)/g)].map(([, name = ""]) => name);
    expect(folders.split(" ").toSorted()).toEqual([...new Set(mounted)].toSorted());
  });

  test("the image needs no development packages: the compiled code requires only packages in `dependencies`", () => {
    const { dependencies } = JSON.parse(read("package.json")) as { dependencies: object };
    // Each main.js is a bundle that contains the code of its libraries.
    const where = "-rhoE --include=*.js --exclude=main.js --exclude-dir=bench --exclude-dir=page".split(" ");
    const args = [...where, 'require\\("[^./"][^"]*"\\)', "dist"];
    const { stdout } = spawnSync("grep", args, options);
    const there = new Set(Object.keys(dependencies));
    const required = stdout.matchAll(/require\("(?!node:)((?:@[^/"]+\/)?[^/"]+)/g);
    const packages = [...required].map(([, name = ""]) => name);
    expect(packages.filter((name) => !there.has(name))).toEqual([]);
  });
});

const PROFILES = ["tools", "metrics", "backup"];
const hasCompose = spawnSync("docker", ["compose", "version"]).status === 0;
if (!hasCompose)
  process.stderr.write("SKIPPED: docker compose config (this machine has no docker compose)\n");

(hasCompose ? test : test.skip)(
  "docker compose accepts docker-compose.yml (skipped without docker compose)",
  () => {
    const { status, stderr } = spawnSync(
      "docker",
      ["compose", ...PROFILES.flatMap((name) => ["--profile", name]), "config", "--quiet"],
      {
        cwd: ROOT,
        encoding: "utf8",
      },
    );
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  },
);
