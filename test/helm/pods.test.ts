import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { ROOT } from "../harness/compose-file";
import { EXAMPLES, render, renderText, type Example } from "../harness/helm";
import { containerOf, matches, ofKind, one, type Manifest } from "../harness/manifests";

const rendered = new Map<Example, readonly Manifest[]>();
beforeAll(async () => {
  for (const example of EXAMPLES) rendered.set(example, await render(example));
}, 900_000);

const of = (example: Example): readonly Manifest[] => rendered.get(example) ?? [];
const componentsOf = (example: Example): readonly string[] =>
  example === "cluster" ? ["core", "edge"] : ["core", "edge", "dashboard"];

/** Returns the settings of a program, from its table in docs/settings.md. */
function settingsOf(program: "core" | "edge"): readonly string[] {
  const guide = readFileSync(join(ROOT, "docs/settings.md"), "utf8");
  const [, table = ""] = guide.split(new RegExp(`<!-- (?:end of )?settings of ${program} -->`));
  return [...table.matchAll(/^\| `([A-Z_]+)`/gm)].map(([, name = ""]) => name);
}

const SCHEMA = JSON.parse(readFileSync(join(ROOT, "deploy/helm/chat-bridge/values.schema.json"), "utf8")) as {
  properties: Record<string, { properties: { settings: { propertyNames: { enum: readonly string[] } } } }>;
};
const settable = (component: string): readonly string[] =>
  SCHEMA.properties[component]?.properties.settings.propertyNames.enum ?? [];

const programOf = (component: string) => (component === "core" ? "core" : "edge");

describe.each(EXAMPLES)("with the values of the example %s,", (example) => {
  test("each environment variable is set only once; it is a setting of its program, or part of another variable's value", () => {
    for (const component of componentsOf(example)) {
      const { env } = containerOf(of(example), component);
      const names = env.map(({ name }) => name);
      expect(new Set(names).size).toBe(names.length);
      const parts = env.flatMap(({ value = "" }) =>
        [...value.matchAll(/\$\((\w+)\)/g)].map(([, name]) => name),
      );
      // Kubernetes expands a reference only if the referenced variable is defined before the variable that uses it.
      for (const part of parts) expect(names.indexOf(String(part))).toBeLessThan(names.indexOf("REDIS_URL"));
      const known = [...settingsOf(programOf(component)), ...parts, "NODE_OPTIONS"];
      expect(names.filter((name) => !known.includes(name))).toEqual([]);
    }
  });

  test("all passwords, keys and tokens come from Secrets, and no other object contains any of them", () => {
    const secret = /^(?:SECRETS_KEY|CORE_TOKENS?|SMTP_URL|OPERATOR_EVENTS_SECRET|.*PASSWORD)$/;
    for (const component of componentsOf(example)) {
      const { env } = containerOf(of(example), component);
      const secrets = env.filter(({ name }) => secret.test(name));
      // Tokens are in files, not in the environment, because a process can read a file again when the Secret changes.
      expect(secrets.map(({ name }) => name)).not.toContainEqual(expect.stringMatching(/^CORE_TOKENS?$/));
      const { volumes } = one(of(example), "Deployment", component).spec.template.spec;
      const [, folder, file] = /^\/etc\/chat-bridge\/([a-z]+)\/([a-z-]+)$/.exec(tokenPathOf(env)) ?? [];
      const mounted = volumes.find(({ name }) => name === folder);
      expect(mounted).toMatchObject({
        secret: {
          secretName: expect.stringMatching(/./) as string,
          items: [{ path: file }],
        },
      });
      for (const { value, valueFrom } of secrets) {
        expect(value).toBeUndefined();
        expect(valueFrom?.secretKeyRef.name).toMatch(/./);
      }
      for (const { name, value = "" } of env) {
        expect({ name, value }).toEqual({ name, value: expect.not.stringMatching(/:[^/$@]+@/) });
      }
    }
    expect(ofKind(of(example), "Secret")).toEqual([]);
    expect(ofKind(of(example), "ConfigMap")).toEqual([]);
  });

  test("only core's pods get the secrets of core and the password of Redis", () => {
    for (const component of componentsOf(example).filter((each) => each !== "core")) {
      const pod = JSON.stringify(one(of(example), "Deployment", component));
      expect(pod).not.toMatch(/chat-bridge-core"|redis-password|redis-url|redis-ca|SECRETS_KEY|CORE_TOKENS/);
    }
    expect(JSON.stringify(one(of(example), "Deployment", "core"))).not.toContain("chat-bridge-edge");
  });

  test("each process listens on the ports of its pod, and its probes use the health listener", () => {
    for (const component of componentsOf(example)) {
      const { env, ports, args, startupProbe, livenessProbe, readinessProbe } = containerOf(
        of(example),
        component,
      );
      const listen = { core: "CORE_LISTEN", edge: "EDGE_LISTEN", dashboard: "DASHBOARD_LISTEN" }[component];
      const addresses = Object.fromEntries(env.map(({ name, value }) => [name, value]));
      const [port, health] = ports;
      expect(addresses[listen ?? ""]).toBe(`0.0.0.0:${port?.containerPort}`);
      expect(addresses["HEALTH_LISTEN"]).toBe(`0.0.0.0:${health?.containerPort}`);
      expect(health?.name).toBe("health");
      expect(args).toEqual([`dist/${programOf(component)}/main.js`]);
      expect(livenessProbe.httpGet).toEqual({ path: "/live", port: "health" });
      expect(startupProbe.httpGet).toEqual({ path: "/live", port: "health" });
      expect(readinessProbe.httpGet).toEqual({ path: "/ready", port: "health" });
    }
  });

  test("if the release of Kubernetes supports this, the spread of new pods over nodes does not count the pods that they replace", async () => {
    const keysIn = async (kubernetes: string) => {
      const text = await renderText(example, [], kubernetes);
      const all = parseAllDocuments(text).map((each) => each.toJS() as Manifest);
      const pods = [one(all, "Deployment", "core"), one(all, "Deployment", "edge")];
      return pods.flatMap(({ spec }) =>
        (spec.template.spec.topologySpreadConstraints ?? []).map(({ matchLabelKeys }) =>
          String(matchLabelKeys),
        ),
      );
    };
    expect(await keysIn("1.27")).toEqual(Array(4).fill("pod-template-hash"));
    expect(await keysIn("1.26")).toEqual(Array(4).fill("undefined"));
  });

  test("each selector matches the pods of one process, and each port of a Service is a port of the pods that it selects", () => {
    const deployments = ofKind(of(example), "Deployment");
    const selected = (selector: Record<string, string>) =>
      deployments.filter(({ spec }) => matches(selector, spec.template.metadata.labels));
    for (const { spec } of deployments) {
      expect(selected(spec.selector.matchLabels)).toHaveLength(1);
      for (const { labelSelector } of spec.template.spec.topologySpreadConstraints ?? []) {
        expect(labelSelector.matchLabels).toEqual(spec.selector.matchLabels);
      }
    }
    for (const { spec, metadata } of ofKind(of(example), "PodDisruptionBudget")) {
      expect(selected(spec.selector.matchLabels).map((each) => each.metadata.name)).toEqual([metadata.name]);
    }
    for (const { spec, metadata } of ofKind(of(example), "Service")) {
      const pods = selected(spec.selector);
      expect(pods).toHaveLength(metadata.name.endsWith("-metrics") ? deployments.length : 1);
      for (const pod of pods) {
        const names = pod.spec.template.spec.containers[0]?.ports.map(({ name }) => name);
        for (const { targetPort } of spec.ports) expect(names).toContain(targetPort);
      }
    }
  });

  test("each file that a setting names is in a mounted volume, and each mount has a volume", () => {
    for (const component of componentsOf(example)) {
      const { env, volumeMounts } = containerOf(of(example), component);
      const { volumes } = one(of(example), "Deployment", component).spec.template.spec;
      expect(volumeMounts.map(({ name }) => name)).toEqual(volumes.map(({ name }) => name));
      for (const { value = "" } of env.filter((each) => each.value?.startsWith("/etc/"))) {
        const mount = volumeMounts.find(({ mountPath }) => value.startsWith(`${mountPath}/`));
        expect({ value, mount: mount?.name }).toEqual({ value, mount: expect.any(String) });
      }
    }
  });

  test("no process runs as root, can write outside /tmp, has Linux capabilities, or gets a service account token", () => {
    for (const component of componentsOf(example)) {
      const { spec } = one(of(example), "Deployment", component).spec.template;
      expect(spec).toMatchObject({
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: "RuntimeDefault" } },
      });
      expect(containerOf(of(example), component).securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      });
    }
  });

  test("an update starts a new pod before it stops an old pod, and waits until a stopping pod has drained", () => {
    for (const component of ["core", "edge"]) {
      const { spec } = one(of(example), "Deployment", component);
      const { env } = containerOf(of(example), component);
      const drain = Number(env.find(({ name }) => name === "DRAIN_SECONDS")?.value);
      expect(drain).toBeGreaterThanOrEqual(10);
      expect(spec.strategy).toEqual({
        type: "RollingUpdate",
        rollingUpdate: { maxUnavailable: 0, maxSurge: 1 },
      });
      expect(spec.template.spec.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(drain + 15);
      expect(spec.minReadySeconds).toBeGreaterThanOrEqual(component === "core" ? 60 : 10);
    }
  });
});

test("there is one dashboard pod by default, and an update starts the new pod before it stops the old one", () => {
  const { replicas, strategy } = one(of("single"), "Deployment", "dashboard").spec;
  const rollingUpdate = { maxUnavailable: 0, maxSurge: 1 };
  expect({ replicas, strategy }).toEqual({ replicas: 1, strategy: { type: "RollingUpdate", rollingUpdate } });
  expect(one(of("everything"), "Deployment", "dashboard").spec.replicas).toBe(2);
});

test("if the values enable an autoscaler, the chart does not set the number of pods", () => {
  for (const component of ["core", "edge"]) {
    expect(one(of("single"), "Deployment", component).spec.replicas).toBe(2);
    expect(one(of("everything"), "Deployment", component).spec.replicas).toBeUndefined();
  }
  expect(ofKind(of("everything"), "HorizontalPodAutoscaler")).toHaveLength(2);
});

test("large numbers in settings are written without an exponent, and an image's digest replaces its tag", () => {
  const { env, image } = containerOf(of("everything"), "core");
  expect(env).toContainEqual({ name: "INBOUND_LOG_MAX_BYTES", value: "1073741824" });
  expect(image).toMatch(/^registry\.example\/chat-bridge@sha256:0{0,1}[0-9a-f]+$/);
  const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string };
  expect(containerOf(of("single"), "core").image).toBe(`registry.example/chat-bridge:${version}`);
});

test("edges connect to core with the name of the headless Service, which resolves to the addresses of all cores", () => {
  const service = one(of("single"), "Service", "core");
  const { env } = containerOf(of("single"), "edge");
  const address = env.find(({ name }) => name === "CORE_ADDRESS")?.value;
  expect(address).toBe(`dns:///${service.metadata.name}.chat.svc:${service.spec.ports[0]?.port}`);
  expect(service.spec).toMatchObject({ clusterIP: "None" });
});

function tokenPathOf(env: readonly { readonly name: string; readonly value?: string }[]): string {
  return env.find(({ name }) => /^CORE_TOKENS?_FILE$/.test(name))?.value ?? "";
}

// Every setting must have its own value in the chart. `extraEnv` is only for variables of Node and of libraries.
test("the chart has a value for every setting of core and of the edge", () => {
  const names = (component: string) =>
    EXAMPLES.flatMap((example) => {
      const isRendered = componentsOf(example).includes(component);
      return isRendered ? containerOf(of(example), component).env.map(({ name }) => name) : [];
    });
  const missing = (program: "core" | "edge", components: readonly string[]) => {
    const known = components.flatMap((each) => [...names(each), ...settable(each)]);
    // The chart mounts tokens as files, and sets e.g. CORE_TOKENS_FILE instead of CORE_TOKENS.
    return settingsOf(program).filter((name) => !known.includes(name) && !known.includes(`${name}_FILE`));
  };
  expect(missing("core", ["core"])).toEqual([]);
  expect(missing("edge", ["edge", "dashboard"])).toEqual([]);
  for (const component of ["core", "edge", "dashboard"]) {
    const real = settingsOf(programOf(component));
    expect(settable(component).filter((name) => !real.includes(name))).toEqual([]);
  }
});

test("with core.migrateTo, a job converts the data before the new pods start; without it, there is no job", async () => {
  expect(ofKind(of("cluster"), "Job")).toEqual([]);
  const manifests = await render("cluster", ["--set", "core.migrateTo=2"]);
  const job = one(manifests, "Job", "migrate");
  expect(job.metadata).toMatchObject({ annotations: { "helm.sh/hook": "pre-upgrade" } });
  const { image, env, volumeMounts } = containerOf(manifests, "core");
  const args = ["dist/core/main.js", "migrate", "--to", "2"];
  expect(job.spec.template.spec.containers).toMatchObject([{ args, image, env, volumeMounts }]);
  // The job needs the same volumes as core's pods, because its settings contain the paths of mounted files.
  expect(job.spec.template.spec.volumes).toEqual(
    one(manifests, "Deployment", "core").spec.template.spec.volumes,
  );
});
