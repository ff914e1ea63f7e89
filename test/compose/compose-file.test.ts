import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Script } from "node:vm";
import { NODE_FLAGS } from "../../local/node-flags";
import { COMPOSE_TEXT, COMPOSE_VARIABLES, readComposeFile, ROOT } from "../harness/compose-file";

const file = readComposeFile();
const services = Object.entries(file.services);
const ours = services.filter(([, { build }]) => build !== undefined);
const servers = services.filter(([, { restart }]) => restart !== undefined);

/** Those that Compose 1.29 and Compose 2 both know, of what one may write in a service. */
const KEYS = [
  "build,cap_drop,command,depends_on,entrypoint,environment,healthcheck,image,logging,network_mode,networks",
  "ports,profiles,read_only,restart,security_opt,stop_grace_period,tmpfs,user,volumes",
].flatMap((line) => line.split(","));

describe("docker-compose.yml", () => {
  test("has only keys that every Compose since 1.29 knows", () => {
    for (const [name, service] of services) {
      expect({ name, unknown: Object.keys(service).filter((key) => !KEYS.includes(key)) }).toEqual({
        name,
        unknown: [],
      });
    }
    expect(Object.keys(file).filter((key) => !key.startsWith("x-"))).toEqual([
      "services",
      "networks",
      "volumes",
    ]);
  });

  test("names only services, networks and volumes that it defines", () => {
    for (const [name, { depends_on = {}, networks = [], volumes = [] }] of services) {
      const where = (what: string) => ({ name, what });
      for (const other of Object.keys(depends_on))
        expect(where(other)).toEqual(where(file.services[other] ? other : ""));
      for (const network of networks) expect(Object.keys(file.networks)).toContain(network);
      for (const volume of volumes) expect(Object.keys(file.volumes)).toContain(volume.split(":")[0]);
    }
    const used = services.flatMap(([, { volumes = [] }]) => volumes.map((volume) => volume.split(":")[0]));
    expect(Object.keys(file.volumes).filter((volume) => !used.includes(volume))).toEqual([]);
  });

  test.each(services)(
    "%s runs without rights: not as root, on a root file system that is read only",
    (_name, service) => {
      expect(service.user).not.toMatch(/^(?:0|root)\b/);
      expect(service).toMatchObject({
        user: expect.stringMatching(/./),
        read_only: true,
        cap_drop: ["ALL"],
        security_opt: ["no-new-privileges:true"],
      });
    },
  );

  test.each(servers)("%s says how it is, and what waits for it waits until it is well", (name, service) => {
    const [how, ...check] = service.healthcheck?.test ?? [];
    expect(how).toMatch(/^CMD/);
    for (const argument of check) expect(typeof argument).toBe("string");
    if (check[0] === "node") expect(() => new Script(check.at(-1) ?? "")).not.toThrow();
    const waiting = services.flatMap(([, { depends_on = {} }]) => depends_on[name]?.condition ?? []);
    for (const condition of waiting) expect(condition).toBe("service_healthy");
  });

  test("what runs once is waited for until it has done its work", () => {
    const once = ["secrets", "demo-workspace"];
    for (const name of once) {
      expect(file.services[name]).not.toHaveProperty("restart");
      const waiting = services.flatMap(([, { depends_on = {} }]) => depends_on[name]?.condition ?? []);
      expect(waiting).toEqual(["service_completed_successfully"]);
    }
  });

  test("publishes ports on loopback only, and neither Redis nor the port that mail comes in by", () => {
    const published = services.flatMap(([, { ports = [] }]) => ports);
    expect(published.length).toBeGreaterThan(0);
    for (const port of published) expect(port).toMatch(/^127\.0\.0\.1:[\d-]+:\d+$/);
    expect(file.services["redis"]).not.toHaveProperty("ports");
    expect(published.map((port) => port.split(":")[2])).not.toContain("1025");
  });

  test.each(["core", "edge"])("%s can be scaled: no fixed name, and a range of ports", (name) => {
    const { container_name, ports = [] } = file.services[name] ?? {};
    expect(container_name).toBeUndefined();
    for (const port of ports) {
      const [, from = 0, to = 0] = (/:(\d+)-(\d+):/.exec(port) ?? []).map(Number);
      expect(to - from).toBeGreaterThanOrEqual(3);
    }
  });

  test("published ports do not overlap", () => {
    const taken = services.flatMap(([, { ports = [] }]) =>
      ports.flatMap((port) => {
        const [from = 0, to = from] = (port.split(":")[1] ?? "").split("-").map(Number);
        return Array.from({ length: to - from + 1 }, (_, at) => from + at);
      }),
    );
    expect(new Set(taken).size).toBe(taken.length);
  });

  test("only core reaches Redis, over a network without a way out", () => {
    const onStore = services
      .filter(([, { networks = [] }]) => networks.includes("store"))
      .map(([name]) => name);
    expect(onStore.toSorted()).toEqual(["core", "redis"]);
    expect(file.networks["store"]).toEqual({ internal: true });
  });

  test.each(servers)(
    "%s mounts no secrets but its own, and cannot write them",
    (_name, { command = [], volumes = [] }) => {
      const secrets = volumes.filter((volume) => volume.includes("/secrets/"));
      expect(secrets.length).toBeLessThanOrEqual(1);
      for (const volume of secrets) {
        const [, folder = "", mode] = volume.split(":");
        expect(mode).toBe("ro");
        expect(command.some((argument) => argument.includes(`${folder}/`))).toBe(true);
      }
    },
  );

  test("has no secret in it: none is given by the environment", () => {
    const names = services.flatMap(([, { environment = {} }]) => Object.keys(environment));
    expect(names.filter((name) => /SECRETS_KEY|TOKENS?$|SECRET$|PASSWORD|REDIS_URL/.test(name))).toEqual([]);
  });

  test("every variable of .env is in the operator guide, and the other way round", () => {
    const guide = readFileSync(join(ROOT, "docs/operator-guide.md"), "utf8");
    const [, table = ""] = /What can be set in `\.env`:\n\n(.*?)\n\n/s.exec(guide) ?? [];
    const rows = [...table.matchAll(/^\| `([A-Z_]+)` +\| (?:`([^`]*)`|none) /gm)];
    const told = rows.map(([, name = "", fallback = ""]) => [name, fallback]);
    expect(Object.fromEntries(told)).toEqual(Object.fromEntries(COMPOSE_VARIABLES));
  });

  test("every program that it runs is built", () => {
    for (const [, { command = [], entrypoint = [] }] of ours) {
      const programs = [...entrypoint, ...command].filter((argument) => argument.endsWith(".js"));
      expect(programs).toHaveLength(1);
      for (const program of programs) expect(existsSync(join(ROOT, program))).toBe(true);
    }
  });
});

describe("the Dockerfile", () => {
  const text = readFileSync(join(ROOT, "Dockerfile"), "utf8");
  const copied = [...text.matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap(([, from = ""]) =>
    from.split(" "),
  );
  const known = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
    cwd: ROOT,
    encoding: "utf8",
  });

  test("tells Node what npm start tells it, and so does the operator's guide", () => {
    expect(text).toContain(`NODE_OPTIONS=${NODE_FLAGS.join(" ")}\n`);
    const guide = readFileSync(join(ROOT, "docs/operator-guide.md"), "utf8");
    for (const name of ["core", "edge"])
      expect(guide).toContain(`node ${NODE_FLAGS.join(" ")} dist/${name}/main.js`);
  });

  test("copies only what is in the repository and is let through by .dockerignore", () => {
    const letThrough = readFileSync(join(ROOT, ".dockerignore"), "utf8").split("\n");
    expect(copied.length).toBeGreaterThan(10);
    for (const path of copied) {
      expect(known.split("\n").some((each) => each === path || each.startsWith(`${path}/`))).toBe(true);
      expect(letThrough).toContain(`!${path}`);
    }
  });

  test("copies everything that is compiled, but for what runs on a developer's machine only", () => {
    const { include } = JSON.parse(readFileSync(join(ROOT, "tsconfig.build.json"), "utf8")) as {
      include: string[];
    };
    expect(include.filter((folder) => !copied.includes(folder))).toEqual(["bench"]);
  });

  test("takes its base image by an argument, has a folder for every secret, and runs as nobody in particular", () => {
    expect([...text.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image)).toEqual([
      "${NODE_IMAGE}",
      "${NODE_IMAGE}",
    ]);
    expect(text).toMatch(/^ARG NODE_IMAGE=/m);
    expect(text).toMatch(/^USER 1000:1000$/m);
    const [, folders = ""] = /for each in ([a-z ]+); do mkdir/.exec(text) ?? [];
    const mounted = [...COMPOSE_TEXT.matchAll(/:\/secrets\/([a-z]+)/g)].map(([, name = ""]) => name);
    expect(folders.split(" ").toSorted()).toEqual([...new Set(mounted)].toSorted());
  });

  test("needs no package at run time that its image leaves out", () => {
    const { dependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
      dependencies: object;
    };
    const { stdout } = spawnSync(
      "grep",
      [
        "-rhoE",
        "--include=*.js",
        "--exclude-dir=bench",
        "--exclude-dir=page",
        'require\\("[^./"][^"]*"\\)',
        "dist",
      ],
      { cwd: ROOT, encoding: "utf8" },
    );
    const packages = [...stdout.matchAll(/require\("(?!node:)((?:@[^/"]+\/)?[^/"]+)/g)].map(
      ([, name = ""]) => name,
    );
    // The kit reads message text for pages, which bundle the parser.
    expect(
      [...new Set(packages)].filter((name) => !(name in dependencies) && name !== "markdown-it"),
    ).toEqual([]);
  });
});

const hasCompose = spawnSync("docker", ["compose", "version"]).status === 0;
if (!hasCompose)
  process.stderr.write("SKIPPED: docker compose config (this machine has no docker compose)\n");

(hasCompose ? test : test.skip)(
  "docker compose takes the file as it is (skipped without docker compose)",
  () => {
    const { status, stderr } = spawnSync("docker", ["compose", "--profile", "tools", "config", "--quiet"], {
      cwd: ROOT,
      encoding: "utf8",
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  },
);
